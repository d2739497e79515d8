package kv

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"
)

// EventKind is what an [Event] says.
type EventKind uint8

const (
	// EventPut is a record: of the initial state, or put since.
	EventPut EventKind = 1 + iota
	// EventDelete is a key that was deleted.
	EventDelete
	// EventExpire is a key whose record expired.
	EventExpire
	// EventSynced says that everything up to Revision has been told, and that what
	// follows are the changes since. It ends a state. A watch from now on begins with
	// it; one from a revision tells it once, behind the changes that there were when
	// it began.
	EventSynced
	// EventResync says that the log does not go on from the last revision that the
	// watcher has seen: changes after it are no longer kept, or a power loss took it
	// with writes that were not synced. An initial state follows, and what the
	// watcher knows that is not in it is gone.
	EventResync
)

// String is the kind as clients spell it.
func (k EventKind) String() string {
	names := [...]string{"none", "put", "delete", "expire", "synced", "resync"}
	if int(k) < len(names) {
		return names[k]
	}
	return names[0]
}

// Event is something that a watcher is told.
type Event struct {
	Kind     EventKind
	Revision uint64 // to resume after; of a record of an initial state, the record's
	Record   Record // of the first three kinds; other watchers may have its bytes too: they are not changed
}

// WatchStart is where a watch begins.
type WatchStart uint8

const (
	// FromState begins with the records that there are and EventSynced.
	FromState WatchStart = iota
	// FromNow begins with the next change.
	FromNow
	// FromRevision begins with the change after a revision.
	FromRevision
)

// WatchOptions say what is watched. The zero WatchOptions are all keys, their
// present state first.
type WatchOptions struct {
	Prefix   []byte   // keys that begin with it
	Prefixes [][]byte // of those, the ones that begin with one of these, at most MaxPrefixes; none: all
	Start    WatchStart
	After    uint64 // with FromRevision: the last revision that the watcher has seen
}

// MaxPrefixes is how many prefixes one watch has at most.
const MaxPrefixes = 64

// Matches reports whether changes of a key are watched.
func (o *WatchOptions) Matches(key []byte) bool {
	return bytes.HasPrefix(key, o.Prefix) &&
		(len(o.Prefixes) == 0 || slices.ContainsFunc(o.Prefixes, func(prefix []byte) bool { return bytes.HasPrefix(key, prefix) }))
}

// ranges are the prefixes that together are those of the options, in order, none
// of which another begins with.
func (o *WatchOptions) ranges() (list [][]byte) {
	if len(o.Prefixes) == 0 {
		return [][]byte{o.Prefix}
	}
	for _, p := range slices.SortedFunc(slices.Values(o.Prefixes), bytes.Compare) {
		if bytes.HasPrefix(o.Prefix, p) {
			return [][]byte{o.Prefix}
		}
		if n := len(list); bytes.HasPrefix(p, o.Prefix) && (n == 0 || !bytes.HasPrefix(p, list[n-1])) {
			list = append(list, p)
		}
	}
	return list
}

// Watch yields what happens to the keys that begin with a prefix, in order of
// the revisions, without gap and without repetition, until ctx ends, the store
// is closed or the space is dropped, whose errors are the last thing it yields.
//
// A watcher reads the log at its own speed: a slow one holds up nobody and
// costs no memory but a page of changes. If it falls behind what the log keeps
// it is told so by EventResync. While the initial state is read the room of what
// is overwritten is held back. Of a key whose values are longer than those that the log holds itself,
// changes that were overtaken may be left out; the last one never is.
func (s *Space) Watch(ctx context.Context, o WatchOptions) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		w := watcher{space: s, ctx: ctx, options: o, yield: yield, topic: s.store.notifier.subscribe(s.scope)}
		defer s.store.notifier.leave(w.topic)
		if err := w.run(); err != nil {
			yield(Event{}, err)
		}
	}
}

type watcher struct {
	space   *Space
	ctx     context.Context
	topic   *topic
	options WatchOptions
	yield   func(Event, error) bool
	seen    uint64 // revision up to which everything has been told
	begun   uint64 // revision of the space when the watch began
	synced  bool   // the receiver knows that it was told everything up to begun
	stopped bool   // the receiver wants no more
}

func (w *watcher) run() error {
	if len(w.options.Prefixes) > MaxPrefixes {
		return invalid("prefixes", "a watch has at most %d prefixes", MaxPrefixes)
	}
	stats, err := w.space.Stats()
	if err != nil {
		return err
	}
	w.begun = stats.Revision
	switch w.options.Start {
	case FromState:
		err = w.state()
	case FromNow:
		w.seen = stats.Revision
	case FromRevision:
		if w.seen = w.options.After; w.seen > stats.Revision {
			err = w.resync()
		}
	default:
		err = invalid("start", "no such start of a watch")
	}
	if err == nil {
		w.catchUp()
	}
	for err == nil && !w.stopped {
		turn := w.topic.next()
		var more bool
		if more, err = w.changes(turn.number); err == nil && !more && !w.stopped {
			err = w.wait(turn)
		}
	}
	return err
}

// wait returns once the space has changed since the turn was taken. A drop that came
// before that has no change to be found: who waits has looked for it since.
func (w *watcher) wait(turn *turn) error {
	select {
	case <-w.ctx.Done():
		return w.ctx.Err()
	case <-w.space.store.closed:
		return closedError()
	case <-turn.over:
		return nil
	}
}

func (w *watcher) emit(e Event) bool {
	w.stopped = w.stopped || !w.yield(e, nil)
	return !w.stopped
}

// catchUp tells, once, that everything has been told that there was when the
// watch began.
func (w *watcher) catchUp() {
	if !w.synced && w.seen >= w.begun {
		w.synced = true
		w.emit(Event{Kind: EventSynced, Revision: w.seen})
	}
}

// state tells the records that there are.
func (w *watcher) state() error {
	view, err := w.space.View()
	if err != nil {
		return err
	}
	defer func() { _ = view.Close() }()
	stats, err := view.Stats()
	if err != nil {
		return err
	}
	// The records that have expired and are not swept yet are told all the same:
	// the event that they expired is still to come.
	view.at = 0
	for _, prefix := range w.options.ranges() {
		for r, err := range view.All(w.ctx, prefix) {
			if err != nil {
				return err
			}
			if !w.emit(Event{EventPut, r.Revision, r}) {
				return nil
			}
		}
	}
	w.seen, w.synced = stats.Revision, true
	w.emit(Event{Kind: EventSynced, Revision: w.seen})
	return nil
}

// resync tells that the log does not go on from what the watcher has seen, and
// the state.
func (w *watcher) resync() error {
	if !w.emit(Event{Kind: EventResync, Revision: w.seen}) {
		return nil
	}
	return w.state()
}

// changes tells what the log has at a turn, or a page of it, and returns whether there may be more.
func (w *watcher) changes(turn uint64) (more bool, err error) {
	list, more, err := w.topic.after(w.ctx, w.space.now(), w.seen, turn)
	if errors.Is(err, ErrTrimmed) {
		return true, w.resync()
	}
	for i := range list {
		c := &list[i]
		w.seen = c.Revision
		if w.options.Matches(c.Key) && !c.Overtaken {
			w.emit(Event{c.event(), c.Revision, c.Record})
		}
		if w.catchUp(); w.stopped {
			return false, nil
		}
	}
	return more, err
}
