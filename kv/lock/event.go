package lock

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/stoadb/stoa/kv"
)

// EventKind is what has happened to a lock.
type EventKind uint8

// The kinds of events. Those up to EventDowngraded are stored by their numbers.
const (
	EventAcquired   EventKind = 1 + iota // it was free, or shared, or its agent has upgraded
	EventPromoted                        // given to who waited for it
	EventRenewed                         // held for longer
	EventReleased                        // by its holder
	EventExpired                         // a holder's time was over
	EventQueued                          // somebody waits for it
	EventDowngraded                      // it is shared from now on
	// EventSynced says that everything has been told that there was when the watch began.
	EventSynced
	// EventMissed says that the log no longer has what came next: what a watcher knows of
	// locks it is to read again. A watch goes on from Revision.
	EventMissed
)

// String is the kind as clients spell it.
func (k EventKind) String() string {
	names := [...]string{"none", "acquired", "promoted", "renewed", "released", "expired", "queued", "downgraded", "synced", "missed"}
	if int(k) < len(names) {
		return names[k]
	}
	return names[0]
}

// Event is something that has happened to a lock.
type Event struct {
	Kind     EventKind
	Revision uint64 // to go on after; those of holders whose time was over at once have the same
	At       time.Time
	Name     string
	Agent    string // whom it is about
	Token    uint64 // of the grant, of acquired, promoted, renewed and downgraded
	Mode     Mode   // of the lock from then on
	Holders  int    // from then on
}

// WatchOptions say what is watched. The zero WatchOptions are all locks from now on.
type WatchOptions struct {
	Name   string // one lock; "": all
	Prefix string // of names, as resource:database:
	// Renewals has them told too.
	Renewals bool
	// Resume begins with what came after a revision.
	Resume bool
	After  uint64
}

// Watch yields what happens to locks of a tenant, in order and once, until ctx ends, whose
// error is the last thing it yields, or the kv.Store is closed or the tenant dropped: that
// is ErrCancelled. A
// slow watcher holds up nobody. Queued is told where somebody holds the lock.
func (s *Store) Watch(ctx context.Context, tenant string, o WatchOptions) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		t, err := s.enter(ctx, tenant) // so that there is something to watch
		if err != nil {
			yield(Event{}, told(err))
			return
		}
		defer s.leave(t)
		if err := o.check(); err != nil {
			yield(Event{}, err)
			return
		}
		skip := false // what stands for a state that was read again
		for e, err := range t.space.Watch(ctx, o.options()) {
			if errors.Is(err, kv.ErrSpaceNotFound) {
				err = refuse(CodeCancelled, "tenant", "the tenant was dropped")
			}
			if err != nil {
				yield(Event{}, told(err))
				return
			}
			switch e.Kind {
			case kv.EventResync:
				skip = true
				continue
			case kv.EventSynced:
				kind := EventSynced
				if skip {
					kind = EventMissed
				}
				skip = false
				if !yield(Event{Kind: kind, Revision: e.Revision, At: s.kv.Now()}, nil) {
					return
				}
				continue
			}
			if skip || !o.wants(string(e.Record.Key)) {
				continue
			}
			events, err := eventsOf(&e.Record)
			if err != nil {
				yield(Event{}, err)
				return
			}
			for _, event := range events {
				if (event.Kind != EventRenewed || o.Renewals) && !yield(event, nil) {
					return
				}
			}
		}
	}
}

func (o *WatchOptions) check() error {
	if o.Name == "" {
		return nil
	}
	_, _, err := ParseName(o.Name)
	return err
}

func (o *WatchOptions) options() kv.WatchOptions {
	w := kv.WatchOptions{Start: kv.FromNow, Prefix: []byte(o.Prefix)}
	if o.Name != "" {
		w.Prefix = []byte(o.Name)
	}
	if o.Resume {
		w.Start, w.After = kv.FromRevision, o.After
	}
	return w
}

func (o *WatchOptions) wants(key string) bool {
	return !agentKey([]byte(key)) && (o.Name == "" || o.Name == key) && strings.HasPrefix(key, o.Prefix)
}

// eventsOf are what a change of a lock's record tells.
func eventsOf(r *kv.Record) ([]Event, error) {
	name := string(r.Key)
	state, err := parseState(name, r.Value)
	if err != nil {
		return nil, err
	}
	e := Event{Kind: state.event, Revision: r.Revision, At: r.Written, Name: name, Agent: state.agent, Mode: state.mode, Holders: len(state.holders)}
	switch r.Kind {
	case kv.Put:
		if h := state.holder(e.Agent); h != nil && e.Kind != EventQueued {
			e.Token = h.token
		}
		return []Event{e}, nil
	case kv.Deleted:
		e.Kind = EventReleased
	case kv.Expired:
		e.Kind = EventExpired
	}
	var list []Event
	for i := range state.holders {
		e.Agent, e.Mode, e.Holders = state.holders[i].agent, state.mode, len(state.holders)-1-i
		if e.Holders == 0 {
			e.Mode = Free
		}
		list = append(list, e)
	}
	return list, nil
}
