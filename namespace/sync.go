package namespace

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/stoadb/stoa/codec"
)

// Peer is a store, here or elsewhere, that can be brought level with another.
type Peer interface {
	// Heads returns the ops of a namespace that no other names as its parent; none
	// where the namespace is not known.
	Heads(ctx context.Context, ns codec.GroupID) ([]codec.OpID, error)
	// OpsSince yields the ops that are not among heads and their ancestors, parents
	// first, those after cursor.
	OpsSince(ctx context.Context, ns codec.GroupID, heads []codec.OpID, cursor uint64) iter.Seq2[Sent, error]
	// ApplyMany takes ops in, and yields an answer to each, in order.
	ApplyMany(ctx context.Context, ops iter.Seq[[]byte]) iter.Seq2[Answer, error]
}

// ErrUneven is returned where two stores can't be brought level: one refuses what the
// other has, or has forgotten what the other lacks.
var ErrUneven = errors.New("namespace: the stores could not be brought level")

// Exchange is what went one way.
type Exchange struct {
	Stored     int // ops that were new, with those that had waited for them
	Duplicates int
	Pending    int // ops that wait for what the other side has forgotten
	Refused    int
	Refusal    *Refusal // the first
}

// SyncReport is what Sync did.
type SyncReport struct {
	ToB, ToA Exchange
	Heads    []codec.OpID // of both, when it succeeded
}

// syncRounds is how often Sync begins anew, while ops go on being made.
const syncRounds = 16

// Sync exchanges the ops of a namespace between two stores until both have the same: each
// gets what its heads say it lacks. A store that has not begun the namespace gets all of
// it, if it follows it ([Store.FollowNamespace]), and else refuses all. Where both have ops that the other lacks, those of a are sent whole, and b says
// which it has. It returns [ErrNoNamespace] where neither has it, [ErrUneven], or the
// error of a store.
func Sync(ctx context.Context, ns codec.GroupID, a, b Peer) (r SyncReport, err error) {
	for range syncRounds {
		ofA, err := headsOf(ctx, a, ns)
		if err != nil {
			return r, err
		}
		ofB, err := headsOf(ctx, b, ns)
		if err != nil {
			return r, err
		}
		switch {
		case len(ofA) == 0 && len(ofB) == 0:
			return r, fmt.Errorf("%w: %s", ErrNoNamespace, ns)
		case slices.Equal(ofA, ofB):
			r.Heads = ofA
			return r, nil
		}
		before := r.ToA.Stored + r.ToB.Stored
		if len(ofA) > 0 {
			if err := send(ctx, ns, a, b, ofB, &r.ToB); err != nil {
				return r, err
			}
		}
		if ofB, err = headsOf(ctx, b, ns); err != nil {
			return r, err
		}
		if !slices.Equal(ofA, ofB) {
			if err := send(ctx, ns, b, a, ofA, &r.ToA); err != nil {
				return r, err
			}
		}
		if r.ToA.Stored+r.ToB.Stored == before {
			return r, uneven(ns, &r)
		}
	}
	return r, fmt.Errorf("%w: %s: ops go on being made", ErrUneven, ns)
}

func uneven(ns codec.GroupID, r *SyncReport) error {
	for _, x := range []Exchange{r.ToA, r.ToB} {
		if x.Refusal != nil {
			return fmt.Errorf("%w: %s: %w", ErrUneven, ns, x.Refusal)
		}
	}
	return fmt.Errorf("%w: %s: %d ops wait for others that can't be had", ErrUneven, ns, r.ToA.Pending+r.ToB.Pending)
}

// headsOf returns the heads of a namespace, none where it has not begun.
func headsOf(ctx context.Context, p Peer, ns codec.GroupID) ([]codec.OpID, error) {
	heads, err := p.Heads(ctx, ns)
	if errors.Is(err, ErrNoNamespace) {
		return nil, nil
	}
	return heads, err
}

// send has to apply what it lacks, which has these heads.
func send(ctx context.Context, ns codec.GroupID, from, to Peer, heads []codec.OpID, x *Exchange) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var reading error // written before ops ends, and so before the answers do
	ops := func(yield func([]byte) bool) {
		for sent, err := range from.OpsSince(ctx, ns, heads, 0) {
			if err != nil {
				reading = err
				return
			}
			if !yield(sent.Wire) {
				return
			}
		}
	}
	for answer, err := range to.ApplyMany(ctx, ops) {
		if err != nil {
			return err
		}
		x.count(&answer)
	}
	return reading
}

func (x *Exchange) count(a *Answer) {
	switch a.Kind {
	case Stored:
		x.Stored++
	case Duplicate:
		x.Duplicates++
	case Pending:
		x.Pending++
	case Refused:
		if x.Refused++; x.Refusal == nil {
			x.Refusal = a.Refusal
		}
	}
	for i := range a.Cascade {
		x.count(&a.Cascade[i])
	}
}
