package content

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
	// Heads returns the envelopes of the heads of a context.
	Heads(ctx context.Context, id codec.ContextID) ([]codec.EnvelopeID, error)
	// Haves returns the heads, and envelopes below them ever further back.
	Haves(ctx context.Context, id codec.ContextID) ([]codec.EnvelopeID, error)
	// Since yields the envelopes of what counts and does not lie below some, parents first.
	Since(ctx context.Context, id codec.ContextID, heads []codec.EnvelopeID) iter.Seq2[[]byte, error]
	// Envelope returns an envelope, also one that is set aside, or [ErrNoEnvelope].
	Envelope(ctx context.Context, id codec.ContextID, envelope codec.EnvelopeID) ([]byte, error)
	// Offer takes envelopes in.
	Offer(ctx context.Context, id codec.ContextID, envelopes [][]byte) ([]Answer, error)
}

// ErrUneven is returned where two stores can't be brought level: one takes not what the other has.
var ErrUneven = errors.New("content: the contexts could not be brought level")

// Exchange is what went one way.
type Exchange struct {
	Counts     int // deltas that are part of the state now
	SetAside   int
	Duplicates int
	Waits      int // for a key, or for ops of governance
	Early      int
	Refused    int
	NoRoom     int
	Reason     string // why the first was refused
}

// SyncReport is what Sync did.
type SyncReport struct {
	ToB, ToA Exchange
	Heads    []codec.EnvelopeID // of both, or of a where they could not be brought level
}

// Limits of an exchange: how often it begins anew, how many envelopes go at once, of how many bytes, and
// how many that the other side needs are fetched by their ids for one.
const (
	syncRounds   = 16
	offeredOnce  = 256
	offeredBytes = 8 << 20
	fetchedMost  = 4096
)

// Sync exchanges the envelopes of a context between two stores, whose governance is level, until both
// have the same heads. It returns [ErrUneven], or the error of a store.
func Sync(ctx context.Context, id codec.ContextID, a, b Peer) (r SyncReport, err error) {
	for range syncRounds {
		ofA, err := a.Heads(ctx, id)
		if err != nil {
			return r, err
		}
		ofB, err := b.Heads(ctx, id)
		if err != nil {
			return r, err
		}
		r.Heads = ofA
		if slices.Equal(ofA, ofB) {
			return r, nil
		}
		before := r.ToA.Counts + r.ToB.Counts
		if err := give(ctx, id, a, b, &r.ToB); err != nil {
			return r, err
		}
		if err := give(ctx, id, b, a, &r.ToA); err != nil {
			return r, err
		}
		if r.ToA.Counts+r.ToB.Counts == before {
			break
		}
	}
	return r, r.uneven(id)
}

// uneven returns ErrUneven, with what is known of why.
func (r *SyncReport) uneven(id codec.ContextID) error {
	all := r.ToA
	all.Waits, all.Early, all.Refused, all.NoRoom = r.ToA.Waits+r.ToB.Waits, r.ToA.Early+r.ToB.Early, r.ToA.Refused+r.ToB.Refused, r.ToA.NoRoom+r.ToB.NoRoom
	why := "one has what the other does not count"
	switch {
	case all.Refused > 0:
		if why = r.ToB.Reason; why == "" {
			why = all.Reason
		}
		why = "an envelope was refused: " + why
	case all.Waits > 0:
		why = "one side lacks a key of the group: it is no member, or a member who has the key gives it with the next op"
	case all.Early > 0:
		why = "the clocks of the two differ by more than 5 s"
	}
	return fmt.Errorf("%w: context %s: %s", ErrUneven, id, why)
}

// give offers to what from has and to lacks.
func give(ctx context.Context, id codec.ContextID, from, to Peer, x *Exchange) error {
	haves, err := to.Haves(ctx, id)
	if err != nil {
		return err
	}
	var batch [][]byte
	size := 0
	flush := func() error {
		err := offer(ctx, id, from, to, batch, x)
		batch, size = batch[:0], 0
		return err
	}
	for b, err := range from.Since(ctx, id, haves) {
		if err != nil {
			return err
		}
		if len(batch) > 0 && (len(batch) >= offeredOnce || size+len(b) > offeredBytes) {
			if err := flush(); err != nil {
				return err
			}
		}
		batch, size = append(batch, slices.Clone(b)), size+len(b)
	}
	return flush()
}

// offer offers a batch, and those that lie below and are needed.
func offer(ctx context.Context, id codec.ContextID, from, to Peer, batch [][]byte, x *Exchange) error {
	if len(batch) == 0 {
		return nil
	}
	answers, err := to.Offer(ctx, id, batch)
	if err != nil {
		return err
	}
	for i := range answers {
		a := &answers[i]
		if a.Kind == Waits && len(a.Parents) > 0 {
			if a, err = fetch(ctx, id, from, to, batch[i]); err != nil {
				return err
			}
		}
		x.add(a)
	}
	return nil
}

// fetch offers an envelope with those that it lies above and that are not there, as far as from has
// them, and returns the answer to it.
func fetch(ctx context.Context, id codec.ContextID, from, to Peer, b []byte) (*Answer, error) {
	stack, seen := [][]byte{b}, map[codec.EnvelopeID]bool{}
	for {
		top := stack[len(stack)-1]
		answers, err := to.Offer(ctx, id, [][]byte{top})
		if err != nil {
			return nil, err
		}
		a := &answers[0]
		var below []byte
		if a.Kind == Waits && len(seen) < fetchedMost {
			for _, p := range a.Parents {
				if seen[p] {
					continue
				}
				seen[p] = true
				below, err = from.Envelope(ctx, id, p)
				if err == nil {
					break
				}
				if below = nil; !errors.Is(err, ErrNoEnvelope) {
					return nil, err
				}
			}
		}
		switch {
		case below != nil:
			stack = append(stack, below)
		case len(stack) == 1:
			return a, nil
		default:
			stack = stack[:len(stack)-1]
		}
	}
}

// add counts an answer.
func (x *Exchange) add(a *Answer) {
	switch a.Kind {
	case Counts:
		x.Counts++
	case SetAside:
		x.SetAside++
	case Duplicate:
		x.Duplicates++
	case Waits:
		x.Waits++
	case TooEarly:
		x.Early++
	case NoRoom:
		x.NoRoom++
	default:
		if x.Refused++; x.Reason == "" {
			x.Reason = a.Reason
		}
	}
}

var _ Peer = (*Store)(nil)
