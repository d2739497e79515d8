package kv

import (
	"context"
	"time"
)

// Await calls look at once, and again whenever the space has changed, until it says that it
// has found what it looks for, or a moment has come, whichever is first; the zero time never
// comes. look may be called without need, and is called once where the moment has come
// already. Await returns the error of look; else that of ctx, ErrClosed or ErrSpaceNotFound
// if one of these ends it.
func (s *Space) Await(ctx context.Context, until time.Time, look func() (found bool, err error)) error {
	if !until.IsZero() {
		until = until.Add(time.Millisecond - 1).Truncate(time.Millisecond) // as Now is
	}
	w := watcher{space: s, ctx: ctx, topic: s.store.notifier.subscribe(s.scope)}
	defer s.store.notifier.leave(w.topic)
	for {
		turn := w.topic.next()
		if found, err := look(); found || err != nil {
			return err
		}
		if !until.IsZero() && !s.store.Now().Before(until) {
			return nil
		}
		if err := w.waitUntil(turn, until); err != nil {
			return err
		}
	}
}

// Wake has those look again who [Space.Await] something of the space, once the batch is
// written: for a change that wakes nobody by itself, as an acknowledgement.
func (tx *Tx) Wake() { tx.changed = true }

// waitUntil is wait up to a moment; the zero time never comes. It looks whether there is the space.
func (w *watcher) waitUntil(turn *turn, until time.Time) error {
	if _, err := w.space.Stats(); err != nil {
		return err
	}
	if until.IsZero() {
		return w.wait(turn)
	}
	fired, stop := w.space.store.Timer(until)
	defer stop()
	select {
	case <-w.ctx.Done():
		return w.ctx.Err()
	case <-w.space.store.closed:
		return closedError()
	case <-turn.over:
	case <-fired:
	}
	return nil
}
