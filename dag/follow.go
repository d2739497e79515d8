package dag

import (
	"context"
	"iter"

	"github.com/stoadb/stoa/codec"
)

// FollowOptions say where a follower begins, and whether it stays.
type FollowOptions struct {
	Cursor string // the name of a cursor: begin after what it has acknowledged; empty: none
	From   uint64 // begin after this number in the order of application; a cursor that has come further counts
	Live   bool   // wait for further deltas instead of ending with the last one
}

// Follow yields the applied deltas of a context with their events, in the order
// in which this node has applied them, its own among them. With Live it then
// waits for more, without polling, until ctx ends or the store is closed.
//
// Where deltas are withdrawn (Store.Withdraw) their numbers, and further ones, are yielded with
// Withdrawn set.
//
// A follower acknowledges with [Store.Ack] what it is done with, and after a
// restart gets what came after: every delta at least once. When the context has
// been seeded, its cursors stand at the beginning again; a Follow that was under
// way ends with ErrPosition, and the next one begins with the delta that has Base
// set, at which the state is to be read anew. Other errors, after which it ends
// too: ErrNoContext, ErrCursor, ErrPosition if From is not in the order, ErrClosed,
// that of ctx, engine.ErrCorrupt or the store's.
func (s *Store) Follow(ctx context.Context, id codec.ContextID, o FollowOptions) iter.Seq2[AppliedDelta, error] {
	return func(yield func(AppliedDelta, error) bool) {
		at := o.From
		r, err := s.openReel(id, func(r *reel) error {
			if o.Cursor != "" {
				seq, err := readCursor(r.past.r, &id, o.Cursor)
				if err != nil {
					return err
				}
				at = max(at, seq)
			}
			r.anchor, r.gone = Position{Seq: at}, true
			return r.at(r.anchor)
		})
		if err != nil {
			yield(AppliedDelta{}, err)
			return
		}
		for r.onward(ctx, yield) && o.Live {
			if err := r.wait(ctx); err != nil {
				yield(AppliedDelta{}, err)
				return
			}
		}
	}
}

// onward yields what has been applied after the anchor, which goes along.
func (r *reel) onward(ctx context.Context, yield func(AppliedDelta, error) bool) bool {
	var last uint64
	read := r.anchor.Seq
	return r.run(ctx, func() (seq uint64, err error) {
		if read >= last {
			if last, err = r.past.last(); err != nil || read >= last {
				return 0, err
			}
		}
		read++
		return read, nil
	}, func(a AppliedDelta, err error) bool {
		if err == nil {
			r.anchor = a.Position
		}
		return yield(a, err)
	})
}

// wait returns once there may be something after the anchor.
func (r *reel) wait(ctx context.Context) error {
	// The watch begins before the look: what comes in between is not missed.
	wake, stop, err := r.store.watch(r.past.context)
	if err != nil {
		return err
	}
	defer stop()
	var last uint64
	err = r.in(func(_ *codec.ContextMetaValue, row *contextRow) (err error) {
		if err = r.still(row); err == nil { // a seeding may come to as many deltas as there were
			last, err = r.past.last()
		}
		return err
	})
	if err != nil || last != r.anchor.Seq {
		return err
	}
	select {
	case <-wake:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-r.store.ctx.Done():
		return ErrClosed
	}
}

// ended returns why a stream is not to go on: ErrClosed, the error of ctx, or nil.
func (s *Store) ended(ctx context.Context) error {
	if s.ctx.Err() != nil {
		return ErrClosed
	}
	return ctx.Err()
}
