package rpc

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/stoadb/stoa/kv"
)

// resuming is a watch that goes on where it was cut off.
type resuming[E any] struct {
	begin func(ctx context.Context, from kv.WatchStart, after uint64) iter.Seq2[E, error]
	about func(*E) (kv.EventKind, uint64) // what it says, and the revision
	wants func(*E) bool                   // whether the receiver is told; nil: of all
	again E                               // of EventResync
	start kv.WatchStart
	after uint64
	once  bool // it ends with the connection
}

// How long a watch that has lost its daemon waits before it looks for it again.
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = 2 * time.Second
)

// events yields what happens until ctx ends.
func (r resuming[E]) events(ctx context.Context) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		var none E
		w := watch[E]{resuming: r, from: r.start, last: r.after}
		for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
			heard := false
			err := w.follow(ctx, func(e E) bool { heard = true; return yield(e, nil) })
			switch {
			case err == nil:
				return
			case r.once || !w.begun || ctx.Err() != nil || !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrBusy):
				yield(none, err)
				return
			case heard:
				wait = firstRetry
			}
			if !w.lost(yield) {
				return
			}
			select {
			case <-ctx.Done():
				yield(none, ctx.Err())
				return
			case <-time.After(wait):
			}
		}
	}
}

// watch is how far a watch has come.
type watch[E any] struct {
	resuming[E]
	from   kv.WatchStart // where it goes on
	last   uint64
	begun  bool
	within bool // what was there is being told: where it is cut off, it can't go on
}

// follow passes on what a stream yields until that ends, with its error, or tell has
// enough.
func (w *watch[E]) follow(ctx context.Context, tell func(E) bool) error {
	w.within = w.from == kv.FromState
	for e, err := range w.begin(ctx, w.from, w.last) {
		if err != nil {
			return err
		}
		w.begun = true
		kind, revision := w.about(&e)
		switch kind {
		case EventResync:
			w.within = true
		case EventSynced:
			w.within = false
		}
		if !w.within {
			w.from, w.last = kv.FromRevision, revision
		}
		if w.wants != nil && !w.wants(&e) {
			continue
		}
		if !tell(e) {
			return nil
		}
	}
	return nil
}

// lost has the next stream begin where the last one was cut off, and reports whether the
// receiver goes on.
func (w *watch[E]) lost(yield func(E, error) bool) bool {
	if !w.within {
		return true
	}
	w.from, w.last = kv.FromState, 0
	return yield(w.again, nil)
}
