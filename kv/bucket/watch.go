package bucket

import (
	"context"
	"iter"

	"github.com/stoadb/stoa/kv"
)

// EventKind says what an [Event] tells.
type EventKind uint8

const (
	// EventEntry is a revision of a key.
	EventEntry EventKind = 1 + iota
	// EventInitDone says that all has been told that there was when the watch began, or began
	// anew: what follows are changes as they come.
	EventInitDone
	// EventResync says that changes after the last one that the watch has told are no longer
	// known. What there is now follows, and EventInitDone: what the watcher knows besides is gone.
	EventResync
	// EventError is a value that does not hold to the bucket's schema, of a watch of typed values.
	EventError
)

// String is the kind as clients spell it.
func (k EventKind) String() string {
	names := [...]string{"none", "entry", "init_done", "resync", "error"}
	if int(k) < len(names) {
		return names[k]
	}
	return names[0]
}

// Event is something that a watch tells.
type Event struct {
	Kind     EventKind
	Revision uint64 // up to which all has been told; of an entry, its own
	Entry    Entry  // of EventEntry and EventError; other watchers may have its bytes too: they are not changed
	Err      error  // of EventError
}

// WatchOptions say what a watch tells. The zero WatchOptions are the newest revision of each
// key first, markers too, in order of the revisions, and then what comes.
type WatchOptions struct {
	Filters       []string // of keys, up to subject.MaxFilters; none: all
	History       bool     // begin with all revisions that are kept
	UpdatesOnly   bool     // begin with what comes
	Resume        bool     // begin with what came after the revision After
	After         uint64
	IgnoreDeletes bool // leave out markers, and that a value has expired
	MetaOnly      bool // leave out values
	Typed         bool // values are to hold to the bucket's schema: one that does not is an EventError
}

func (o *WatchOptions) check() error {
	n := 0
	for _, begins := range []bool{o.History, o.UpdatesOnly, o.Resume} {
		if begins {
			n++
		}
	}
	if n > 1 {
		return invalid("history", "a watch begins with the history, with what comes, or behind a revision: one of them")
	}
	return nil
}

// Watch yields what happens to keys, in order of the revisions, until ctx ends, the store is
// closed or the bucket is dropped, whose errors are the last thing it yields. A slow watcher
// holds up nobody: it reads the bucket's log, and where that no longer has what comes next it is
// told so, and what there is then. Of values longer than 4 KiB those may be left out that were
// overtaken. That a value has expired is told always, within 10 ms as a rule.
func (b *Bucket) Watch(ctx context.Context, o WatchOptions) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		err := o.check()
		var filters matched
		if err == nil {
			filters, err = parse(o.Filters)
		}
		w := watch{b: b, o: &o, filters: filters, yield: yield}
		if err == nil {
			err = w.run(ctx)
		}
		if err != nil && !w.stopped {
			yield(Event{}, b.told(err, ""))
		}
	}
}

type watch struct {
	b       *Bucket
	o       *WatchOptions
	filters matched
	yield   func(Event, error) bool
	stopped bool // the receiver wants no more
}

func (w *watch) run(ctx context.Context) error {
	from := kv.WatchOptions{Start: kv.FromRevision, After: w.o.After}
	if w.o.UpdatesOnly {
		from = kv.WatchOptions{Start: kv.FromNow}
	}
	state := !w.o.Resume && !w.o.UpdatesOnly
	for {
		if state {
			at, err := w.state(ctx)
			if err != nil || w.stopped {
				return err
			}
			from = kv.WatchOptions{Start: kv.FromRevision, After: at}
		}
		resync, err := w.changes(ctx, from, state)
		if err != nil || !resync {
			return err
		}
		state = true
	}
}

// changes tells what comes, and returns true once the state is to be told anew. Where that has
// been told, so has been that it is complete.
func (w *watch) changes(ctx context.Context, from kv.WatchOptions, told bool) (resync bool, err error) {
	for e, err := range w.b.space.Watch(ctx, from) {
		if err != nil {
			return false, err
		}
		switch e.Kind {
		case kv.EventSynced:
			if !told {
				w.emit(Event{Kind: EventInitDone, Revision: e.Revision})
			}
		case kv.EventResync:
			w.emit(Event{Kind: EventResync, Revision: e.Revision})
			resync = true
		default:
			if w.filters.set.Match(e.Record.Key) {
				w.tell(e.Record)
			}
		}
		if resync || w.stopped {
			return resync && !w.stopped, nil
		}
	}
	return false, nil
}

func (w *watch) emit(e Event) { w.stopped = w.stopped || !w.yield(e, nil) }

// tell tells a revision of a key, unless it is one that nobody asked for.
func (w *watch) tell(r kv.Record) {
	e := entryOf(r)
	if e.Op == OpExpire && isMarker(r.Form) || w.o.IgnoreDeletes && e.Op != OpPut { // that a marker is gone changes nothing
		return
	}
	event := Event{Kind: EventEntry, Revision: e.Revision, Entry: e}
	if w.o.Typed {
		if event.Err = w.b.Valid(&e); event.Err != nil {
			event.Kind = EventError
		}
	}
	if w.o.MetaOnly {
		event.Entry.Value = nil
	}
	w.emit(event)
}
