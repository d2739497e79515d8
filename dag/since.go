package dag

import (
	"context"
	"errors"
	"iter"

	"github.com/stoadb/stoa/codec"
)

// SinceOptions say where a stream goes on, and who hears of unknown heads.
type SinceOptions struct {
	// After is the position of the last delta that was received of a stream with
	// the same heads; zero: from the first.
	After Position
	// Unknown is called once, before the first delta, with those heads that are
	// not applied here, if there are any; nil: nobody wants to know.
	Unknown func([]codec.DeltaID)
}

// Since yields the applied deltas of a context that are neither among heads nor
// ancestors of them, parents first: what a node with these heads lacks. Heads that
// are not applied here are left out of account. What is applied while the stream
// is under way is not in it.
//
// It costs a walk over what is yielded and what was applied meanwhile, and two
// bits of memory for each delta of these, and a page. It pins no state of the
// store. It ends after an error: ErrNoContext, ErrPosition, ErrClosed, that of ctx,
// engine.ErrCorrupt or the store's.
func (s *Store) Since(ctx context.Context, id codec.ContextID, heads []codec.DeltaID, o SinceOptions) iter.Seq2[AppliedDelta, error] {
	return func(yield func(AppliedDelta, error) bool) {
		var set difference
		var unknown []codec.DeltaID
		r, err := s.openReel(id, func(r *reel) (err error) {
			if err = r.at(o.After); err == nil {
				set, unknown, err = r.since(ctx, heads)
			}
			return err
		})
		if err != nil {
			yield(AppliedDelta{}, err)
			return
		}
		if len(unknown) > 0 && o.Unknown != nil {
			o.Unknown(unknown)
		}
		at := o.After.Seq
		r.run(ctx, func() (uint64, error) {
			next := set.after(at)
			if next != 0 {
				at = next
			}
			return next, nil
		}, yield)
	}
}

// difference is a set of seqs: those up to last, without what a lineage leaves
// out.
type difference struct {
	last uint64
	line *lineage // nil: all
}

// after returns the least member that is greater than seq, 0 if there is none.
func (d *difference) after(seq uint64) uint64 {
	if d.line == nil {
		if seq < d.last {
			return seq + 1
		}
		return 0
	}
	for {
		if seq = d.line.want.after(seq); seq == 0 || !d.line.have.has(seq) {
			return seq
		}
	}
}

// since finds what the holder of heads lacks.
func (r *reel) since(ctx context.Context, heads []codec.DeltaID) (set difference, unknown []codec.DeltaID, err error) {
	if set.last, err = r.past.last(); err != nil || set.last == 0 {
		return set, heads, err
	}
	top, err := r.past.order(set.last)
	if err = r.store.beside(err); err != nil {
		return set, nil, err
	}
	r.anchor = Position{Seq: set.last, Delta: top.id}
	line := newLineage(&r.past)
	known := false
	for _, id := range heads {
		seq, err := r.past.seqOf(id)
		if errors.Is(err, ErrNoDelta) {
			unknown = append(unknown, id)
			continue
		}
		if err == nil {
			line.had(seq)
			known = true
		} else if err = r.store.beside(err); err != nil {
			return set, nil, err
		}
	}
	if !known {
		return set, unknown, nil
	}
	if err := r.wantAll(line, set.last); err != nil {
		return set, nil, err
	}
	set.line = line
	return set, unknown, line.finish(ctx)
}

// wantAll adds the heads to be returned by a lineage, and so all that was applied up
// to number last. Where damage hides what is before a delta, each number is wanted for
// itself.
func (r *reel) wantAll(line *lineage, last uint64) error {
	upTo := func(seq uint64) {
		for ; seq > 0; seq-- {
			line.wanted(seq)
		}
	}
	line.lost = func(seq uint64, had bool, err error) error {
		if !had {
			upTo(seq - 1)
		}
		return r.store.beside(err)
	}
	heads, err := readHeads(r.past.r, r.past.context, r.heads, r.store.beside)
	for _, h := range heads {
		line.wanted(h.seq)
	}
	if len(heads) < len(r.heads) {
		upTo(last)
	}
	return err
}

// want adds deltas to be returned by a lineage. It returns ErrNoDelta for one
// that is not applied.
func (h *history) want(line *lineage, ids []codec.DeltaID) error {
	for _, id := range ids {
		seq, err := h.seqOf(id)
		if err != nil {
			return err
		}
		line.wanted(seq)
	}
	return nil
}

// finish walks to the end.
func (l *lineage) finish(ctx context.Context) error {
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if seq, err := l.next(); err != nil || seq == 0 {
			return err
		}
	}
}
