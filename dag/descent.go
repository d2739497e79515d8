package dag

import (
	"context"
	"iter"

	"github.com/stoadb/stoa/codec"
)

// WalkOptions say where a walk begins and ends.
type WalkOptions struct {
	From   []codec.DeltaID // applied deltas; none: the heads
	Before Position        // the last delta that was received of a walk from the same deltas; zero: from the newest
	Limit  int             // the most deltas; 0: all
}

// Walk yields applied deltas and all their ancestors, newest first: against the
// order in which this node applied them. Its cost and its errors are those of
// [Store.Since]; it returns ErrNoDelta too.
func (s *Store) Walk(ctx context.Context, id codec.ContextID, o WalkOptions) iter.Seq2[AppliedDelta, error] {
	return func(yield func(AppliedDelta, error) bool) {
		var next func() (uint64, error)
		r, err := s.openReel(id, func(r *reel) (err error) {
			next, err = r.descent(ctx, &o)
			return err
		})
		if err != nil {
			yield(AppliedDelta{}, err)
			return
		}
		r.limit = o.Limit
		r.run(ctx, next, yield)
	}
}

// descent returns what returns the seqs of a walk one after the other, and 0 from
// its end on.
func (r *reel) descent(ctx context.Context, o *WalkOptions) (func() (uint64, error), error) {
	at, err := r.past.last()
	if err != nil {
		return nil, err
	}
	if o.Before.Seq > 0 {
		if err := r.at(o.Before); err != nil {
			return nil, err
		}
		r.anchor, at = o.Before, o.Before.Seq-1
	}
	if len(o.From) == 0 {
		return func() (uint64, error) {
			seq := at
			at = max(at, 1) - 1
			return seq, nil
		}, nil
	}
	line := newLineage(&r.past)
	line.lost = func(_ uint64, _ bool, err error) error { return r.store.beside(err) }
	return func() (uint64, error) {
		for {
			seq, err := line.next()
			if err != nil || seq <= at {
				return seq, err
			}
			if err := ctx.Err(); err != nil {
				return 0, err
			}
		}
	}, r.past.want(line, o.From)
}

// IsAncestor reports whether the applied delta a is an ancestor of the applied
// delta b, which no delta is of itself. It costs a walk over the ancestors of b
// that were applied after a. Its errors are those of [Store.Walk].
func (s *Store) IsAncestor(ctx context.Context, id codec.ContextID, a, b codec.DeltaID) (found bool, err error) {
	_, err = s.openReel(id, func(r *reel) error {
		older, err := r.past.seqOf(a)
		if err != nil {
			return err
		}
		line := newLineage(&r.past)
		if err := r.past.want(line, []codec.DeltaID{b}); err != nil || a == b {
			return err
		}
		for !line.want.has(older) && line.open > 0 && line.at > older {
			if _, err := line.next(); err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		found = line.want.has(older)
		return nil
	})
	return found && err == nil, err
}
