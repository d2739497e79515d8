package dag

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
)

// ErrPosition is returned for a position in the order of application at which
// there is another delta now, or none: the context has been seeded, or deleted,
// in the meantime. Begin anew.
var ErrPosition = errors.New("dag: the order of application is another one")

// Position is a place in the order in which this node has applied the deltas of a
// context. Nodes have different ones. The zero Position is before the first.
type Position struct {
	Seq   uint64        // 1, 2, 3 and so on
	Delta codec.DeltaID // which delta is there; as the zero id it is not looked at
}

// AppliedDelta is a delta at its place in the order of application. The Delta is
// the receiver's.
type AppliedDelta struct {
	Position
	*Delta
	// Base says that the context begins with this delta: it came with a snapshot
	// of the state, of which no other deltas tell.
	Base bool
	// Withdrawn says that the delta of that id is no longer applied, if it was here: the
	// number has no delta, and Delta is nil. Only Follow yields it.
	Withdrawn bool
}

// A page of deltas is read in one state of the store.
const (
	pageDeltas = 256
	pageBytes  = 1 << 20 // about; more only for a single delta
)

// reel reads applied deltas of a context in pages, each in one state of the store
// that is given back before anyone sees the page: whoever takes the deltas
// slowly does not hold back the space of what is overwritten meanwhile.
type reel struct {
	store  *Store
	past   history
	heads  []codec.DeltaID // when the reel began
	base   codec.DeltaID   // when the reel began
	anchor Position        // what must still be there; zero: nothing
	limit  int             // the most deltas; 0: all
	gone   bool            // numbers without a delta are wanted too
	taken  int             // of these
	page   []AppliedDelta
}

// openReel begins with a state of the store, in which fn looks around.
func (s *Store) openReel(context codec.ContextID, fn func(*reel) error) (*reel, error) {
	r := &reel{store: s, past: history{context: context}}
	err := r.in(func(meta *codec.ContextMetaValue, row *contextRow) error {
		r.heads, r.base = meta.DagHeads, row.base.id
		return fn(r)
	})
	return r, err
}

// in calls fn while r.past reads a state of the store, with what is stored of the
// context. It returns ErrNoContext if there is no such context.
func (r *reel) in(fn func(*codec.ContextMetaValue, *contextRow) error) error {
	return r.store.view(func(state engine.Reader) error {
		r.past.r = state
		meta, row, err := r.past.open()
		if err != nil {
			return err
		}
		return fn(&meta, &row)
	})
}

// at returns an ErrPosition unless p is a place in the order.
func (r *reel) at(p Position) error {
	if p.Seq == 0 {
		return nil
	}
	last, err := r.past.last()
	if err != nil {
		return err
	}
	if p.Seq > last {
		return fmt.Errorf("%w: context %s has applied %d deltas, not %d", ErrPosition, r.past.context, last, p.Seq)
	}
	row, err := r.past.order(p.Seq)
	if err != nil {
		return r.store.beside(err)
	}
	if !p.Delta.IsZero() && row.id != p.Delta {
		err = fmt.Errorf("%w: number %d of context %s is %s, not %s", ErrPosition, p.Seq, r.past.context, row.id, p.Delta)
	}
	return err
}

// still returns an ErrPosition if the order is no longer the one in which the reel has come to
// its anchor.
func (r *reel) still(row *contextRow) error {
	if row.base.id != r.base {
		return fmt.Errorf("%w: context %s has been seeded", ErrPosition, r.past.context)
	}
	return r.at(r.anchor)
}

// fill reads a page of the deltas that next returns the seqs of, until it returns
// 0. r.page is empty only if there are none.
func (r *reel) fill(next func() (uint64, error)) error {
	r.page = r.page[:0]
	return r.in(func(_ *codec.ContextMetaValue, row *contextRow) error {
		if err := r.still(row); err != nil {
			return err
		}
		for size := 0; len(r.page) < pageDeltas && size < pageBytes && (r.limit == 0 || r.taken < r.limit); {
			seq, err := next()
			if err != nil || seq == 0 {
				return err
			}
			a, n, err := r.past.applied(seq, r.base)
			if err == nil && a.Withdrawn && !r.gone {
				continue
			}
			if err == nil {
				r.page = append(r.page, a)
				size += n
				r.taken++
			} else if err = r.store.beside(err); err != nil {
				return err
			}
		}
		return nil
	})
}

// run yields all deltas that next returns the seqs of. It reports whether the
// receiver wants more.
func (r *reel) run(ctx context.Context, next func() (uint64, error), yield func(AppliedDelta, error) bool) bool {
	for {
		err := r.store.ended(ctx)
		if err == nil {
			err = r.fill(next)
		}
		if err != nil {
			yield(AppliedDelta{}, err)
			return false
		}
		if len(r.page) == 0 {
			return true
		}
		for _, a := range r.page {
			if !yield(a, nil) {
				return false
			}
		}
	}
}

// applied returns the delta that was applied as number seq, and about its bytes.
func (h *history) applied(seq uint64, base codec.DeltaID) (a AppliedDelta, size int, err error) {
	row, err := h.order(seq)
	if err != nil {
		return a, 0, err
	}
	a = AppliedDelta{Position: Position{Seq: seq, Delta: row.id}, Base: row.id == base}
	if a.Withdrawn = row.gone(); a.Withdrawn {
		return a, len(row.id), nil
	}
	if a.Delta, err = h.delta(row.id); err != nil {
		return a, 0, err
	}
	return a, a.Delta.size(), nil
}

// size returns about how many bytes the delta takes.
func (d *Delta) size() int {
	n := 128 + 32*len(d.Parents)
	for i := range d.Actions {
		n += len(d.Actions[i].Key) + len(d.Actions[i].Value) + 16
	}
	for i := range d.Events {
		n += len(d.Events[i].Kind) + len(d.Events[i].Data) + 16
	}
	return n
}
