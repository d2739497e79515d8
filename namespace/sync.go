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
	// Resume has it sign again in a namespace, if its store was restored from a copy.
	Resume(ctx context.Context, ns codec.GroupID) error
}

// ErrUneven is returned where two stores can't be brought level: one refuses what the
// other has, or has forgotten what the other lacks.
var ErrUneven = errors.New("namespace: the stores could not be brought level")

// Exchange is what went one way.
type Exchange struct {
	Stored     int // ops that were new, with those that had waited for them
	Duplicates int
	Pending    int // ops that wait for what the other side has forgotten
	Forks      int // ops that wait for somebody to build on them, as more of their signer are beside them than are taken
	Refused    int
	Refusal    *Refusal // the first
}

// SyncReport is what Sync did.
type SyncReport struct {
	ToB, ToA Exchange
	Heads    []codec.OpID // when it succeeded: of both, or, where forks wait, of a
}

// syncRounds is how often Sync begins anew, while ops go on being made.
const syncRounds = 16

// Sync exchanges the ops of a namespace between two stores until both have the same: each
// gets what its heads say it lacks; but for forks, of which each keeps those that it has
// taken ([Options]). A store that has not begun the namespace gets all of
// it, if it follows it ([Store.FollowNamespace]), and else refuses all. Where both have ops that the other lacks, those of a are sent whole, and b says
// which it has. Where both had ops of it before, both are resumed after that
// ([Store.Resume]). It returns [ErrNoNamespace] where neither has it, [ErrUneven], or the
// error of a store.
func Sync(ctx context.Context, ns codec.GroupID, a, b Peer) (r SyncReport, err error) {
	both := false
	for round := range syncRounds {
		ofA, err := headsOf(ctx, a, ns)
		if err != nil {
			return r, err
		}
		ofB, err := headsOf(ctx, b, ns)
		if err != nil {
			return r, err
		}
		if round == 0 {
			both = len(ofA) > 0 && len(ofB) > 0
		}
		switch {
		case len(ofA) == 0 && len(ofB) == 0:
			return r, fmt.Errorf("%w: %s", ErrNoNamespace, ns)
		case slices.Equal(ofA, ofB):
			r.Heads, r.ToA.Forks, r.ToB.Forks = ofA, 0, 0
			return r, resume(ctx, ns, both, a, b)
		}
		var toA, toB Exchange
		if len(ofA) > 0 {
			if err := send(ctx, ns, a, b, ofB, &toB); err != nil {
				return r, err
			}
		}
		if ofB, err = headsOf(ctx, b, ns); err != nil {
			return r, err
		}
		if !slices.Equal(ofA, ofB) {
			if err := send(ctx, ns, b, a, ofA, &toA); err != nil {
				return r, err
			}
		}
		r.ToA.add(&toA)
		r.ToB.add(&toB)
		switch {
		case toA.Stored+toB.Stored > 0:
		case toA.Refused+toB.Refused+toA.Pending+toB.Pending == 0: // what differs is forks
			r.Heads = ofA
			return r, resume(ctx, ns, both, a, b)
		default:
			return r, uneven(ns, &r)
		}
	}
	return r, fmt.Errorf("%w: %s: ops go on being made", ErrUneven, ns)
}

// resume has both sign again, if each has heard from another.
func resume(ctx context.Context, ns codec.GroupID, both bool, a, b Peer) error {
	if !both {
		return nil
	}
	return errors.Join(a.Resume(ctx, ns), b.Resume(ctx, ns))
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
		x.Count(&answer)
	}
	return reading
}

// add adds what went in another round. What waits is what waits after it.
func (x *Exchange) add(o *Exchange) {
	x.Stored, x.Duplicates, x.Pending, x.Forks, x.Refused = x.Stored+o.Stored, x.Duplicates+o.Duplicates, x.Pending+o.Pending, o.Forks, x.Refused+o.Refused
	if x.Refusal == nil {
		x.Refusal = o.Refusal
	}
}

// Count counts an answer, and those of what had waited for its op.
func (x *Exchange) Count(a *Answer) {
	switch a.Kind {
	case Stored:
		x.Stored++
	case Duplicate:
		x.Duplicates++
	case Pending:
		if len(a.Missing) == 0 {
			x.Forks++
		} else {
			x.Pending++
		}
	case Refused:
		if x.Refused++; x.Refusal == nil {
			x.Refusal = a.Refusal
		}
	}
	for i := range a.Cascade {
		x.Count(&a.Cascade[i])
	}
}
