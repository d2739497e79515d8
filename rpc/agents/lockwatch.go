package agents

import (
	"context"
	"iter"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// lockWatching are the arguments of Watch.
type lockWatching struct {
	op.OfTenant
	lock.WatchOptions
}

var lockWatch = op.NewStream(op.Method{Number: 1011, Name: "Lock.Watch", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *lock.Store, a *lockWatching) iter.Seq2[lock.Event, error] {
		return s.Watch(ctx, a.Tenant, a.WatchOptions)
	}, func(e *lock.Event) int { return 96 + len(e.Name) + len(e.Agent) }, op.StreamQueue)

// Watch yields what happens to locks, in order and once, until ctx ends; see
// [lock.Store.Watch]. When the connection is lost it waits for the daemon and goes on behind
// what it has yielded, with another [lock.EventSynced] when it has caught up, after
// [lock.EventMissed] where the daemon no longer has what came between. A watch that does not
// begin returns its error.
func (l *Locks) Watch(ctx context.Context, o lock.WatchOptions) iter.Seq2[lock.Event, error] {
	w := lockWatcher{l: l, o: o}
	r := caller.Resuming[lock.Event]{Begin: w.begin, About: func(e *lock.Event) (kv.EventKind, uint64) {
		if e.Kind == lock.EventSynced || e.Kind == lock.EventMissed {
			return kv.EventSynced, e.Revision
		}
		return kv.EventPut, e.Revision
	}}
	if r.Start = kv.FromNow; o.Resume {
		r.Start, r.After = kv.FromRevision, o.After
	}
	return r.Events(ctx)
}

// lockWatcher is how far a watch has come. Several events may have one revision, so it
// goes on within one.
type lockWatcher struct {
	l    *Locks
	o    lock.WatchOptions
	at   uint64 // the revision of the last event
	told int    // how many of that revision were told; 0: all that there are
}

func (w *lockWatcher) begin(ctx context.Context, from kv.WatchStart, after uint64) iter.Seq2[lock.Event, error] {
	o, skip := w.o, 0
	if from == kv.FromRevision {
		if o.Resume, o.After = true, after; w.told > 0 && w.at == after {
			o.After, skip = after-1, w.told
		}
	}
	return func(yield func(lock.Event, error) bool) {
		for e, err := range caller.Stream(ctx, w.l.c, lockWatch, lockWatching{op.Of(w.l.tenant), o}) {
			switch {
			case err != nil:
			case e.Kind == lock.EventSynced || e.Kind == lock.EventMissed:
				w.at, w.told, skip = e.Revision, 0, 0
			case e.Revision == w.at && skip > 0:
				skip--
				continue
			case e.Revision == w.at:
				w.told++
			default:
				w.at, w.told, skip = e.Revision, 1, 0
			}
			if !yield(e, err) {
				return
			}
		}
	}
}
