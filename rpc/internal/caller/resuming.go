package caller

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/rpc/internal/fault"
)

// WatchOptions say what is watched, from where on.
type WatchOptions struct {
	kv.WatchOptions
	Once bool // the watch ends with the connection
}

// WatchOption sets one.
type WatchOption func(*WatchOptions)

// Watched returns options as they are set.
func Watched(with []WatchOption) (o WatchOptions) {
	for _, set := range with {
		set(&o)
	}
	return o
}

// Resuming is a watch that goes on where it was cut off.
type Resuming[E any] struct {
	Begin func(ctx context.Context, from kv.WatchStart, after uint64) iter.Seq2[E, error]
	About func(*E) (kv.EventKind, uint64) // what it says, and the revision
	Wants func(*E) bool                   // whether the receiver is told; nil: of all
	Again E                               // of EventResync
	WatchOptions
}

// How long a watch that has lost its daemon waits before it looks for it again.
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = 2 * time.Second
)

// Events yields what happens until ctx ends.
func (r Resuming[E]) Events(ctx context.Context) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		var none E
		w := watch[E]{Resuming: r, from: r.Start, last: r.After}
		for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
			heard := false
			err := w.follow(ctx, func(e E) bool { heard = true; return yield(e, nil) })
			switch {
			case err == nil:
				return
			case ctx.Err() != nil && !errors.Is(err, ctx.Err()): // it ended while the daemon was looked for
				yield(none, ctx.Err())
				return
			case r.Once || !w.begun || ctx.Err() != nil || !errors.Is(err, fault.ErrUnavailable) && !errors.Is(err, fault.ErrBusy):
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
	Resuming[E]
	from   kv.WatchStart // where it goes on
	last   uint64
	begun  bool
	within bool // what was there is being told: where it is cut off, it can't go on
}

// follow passes on what a stream yields until that ends, with its error, or tell has
// enough.
func (w *watch[E]) follow(ctx context.Context, tell func(E) bool) error {
	w.within = w.from == kv.FromState
	for e, err := range w.Begin(ctx, w.from, w.last) {
		if err != nil {
			return err
		}
		w.begun = true
		kind, revision := w.About(&e)
		switch kind {
		case kv.EventResync:
			w.within = true
		case kv.EventSynced:
			w.within = false
		}
		if !w.within {
			w.from, w.last = kv.FromRevision, revision
		}
		if w.Wants != nil && !w.Wants(&e) {
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
	return yield(w.Again, nil)
}
