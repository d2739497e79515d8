package content

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/namespace"
)

// Envelope returns the envelope of a delta, as it travels: also one that is set aside, for whoever has
// something that descends from it. It returns [ErrNoEnvelope].
func (s *Store) Envelope(_ context.Context, id codec.ContextID, envelope codec.EnvelopeID) (b []byte, err error) {
	err = s.in(id, func(c *state) error {
		if h := c.held[envelope]; h != nil {
			b = h.Bytes()
			return nil
		}
		delta, found, err := readDelta(s.db, id, envelope)
		if err == nil && !found {
			err = fmt.Errorf("%w: %s in context %s", ErrNoEnvelope, envelope, id)
		}
		if err == nil {
			b, err = c.envelopeOf(delta)
		}
		return err
	})
	return b, err
}

// envelopeOf returns the envelope of a delta that counts.
func (c *state) envelopeOf(delta codec.DeltaID) ([]byte, error) {
	v, found, err := readSigned(c.s.db, c.id, delta)
	if err == nil && !found {
		err = fmt.Errorf("%w: of delta %s in context %s", ErrNoEnvelope, delta, c.id)
	}
	if err != nil {
		return nil, err
	}
	d, _, err := c.s.dag.Get(c.id, delta)
	if err != nil {
		return nil, err
	}
	e, err := c.rebuild(&v, d)
	if err != nil {
		return nil, err
	}
	return e.Bytes(), nil
}

// EnvelopeOf returns the envelope of a delta that counts. It returns [ErrNoEnvelope].
func (s *Store) EnvelopeOf(_ context.Context, id codec.ContextID, delta codec.DeltaID) (b []byte, err error) {
	err = s.in(id, func(c *state) error {
		b, err = c.envelopeOf(delta)
		return err
	})
	return b, err
}

// Heads returns the envelopes of the heads of a context, in the order of their deltas.
func (s *Store) Heads(_ context.Context, id codec.ContextID) ([]codec.EnvelopeID, error) {
	heads, _, err := s.heads(id)
	return heads, err
}

// heads also returns the number of the head that was applied last.
func (s *Store) heads(id codec.ContextID) (heads []codec.EnvelopeID, last uint64, err error) {
	err = s.in(id, func(c *state) error {
		list, _, err := s.dag.Heads(id)
		for _, h := range list {
			v, found, err := readSigned(s.db, id, h.ID)
			if err != nil {
				return err
			}
			if found {
				heads, last = append(heads, v.id), max(last, h.Seq)
			}
		}
		return err
	})
	if errors.Is(err, namespace.ErrNoContext) { // nothing is of one that no group has
		err = s.dag.There(id)
	}
	return heads, last, err
}

// Haves returns envelopes that count, so that who has others sees what both have: the heads, and of
// what was applied here before some, ever further back.
func (s *Store) Haves(ctx context.Context, id codec.ContextID) ([]codec.EnvelopeID, error) {
	haves, last, err := s.heads(id)
	if err != nil {
		return nil, err
	}
	for back := uint64(1); back < last; back *= 2 {
		for a, err := range s.dag.Follow(ctx, id, dag.FollowOptions{From: last - back - 1}) {
			if err != nil {
				return nil, err
			}
			if v, found, err := readSigned(s.db, id, a.Position.Delta); err != nil {
				return nil, err
			} else if found {
				haves = append(haves, v.id)
			}
			break
		}
	}
	return haves, nil
}

// Since yields the envelopes of what counts and is neither among heads nor what they descend from,
// parents first. Heads that are not here are left out of account. It ends after an error.
func (s *Store) Since(ctx context.Context, id codec.ContextID, heads []codec.EnvelopeID) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var deltas []codec.DeltaID
		err := s.in(id, func(*state) error {
			for _, h := range heads {
				delta, found, err := readDelta(s.db, id, h)
				if err != nil {
					return err
				}
				if found {
					deltas = append(deltas, delta)
				}
			}
			return nil
		})
		if err != nil {
			yield(nil, err)
			return
		}
		for a, err := range s.dag.Since(ctx, id, deltas, dag.SinceOptions{}) {
			var b []byte
			if err == nil {
				b, err = s.EnvelopeOf(ctx, id, a.Position.Delta)
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// Held is an envelope that is set aside.
type Held struct {
	ID      codec.EnvelopeID
	Delta   codec.DeltaID
	Author  codec.Identity
	Parents []codec.EnvelopeID
	Time    uint64 // of its stamp, NTP64
	Size    int    // bytes
}

// Held returns what is set aside in a context, the oldest first.
func (s *Store) Held(_ context.Context, id codec.ContextID) (list []Held, err error) {
	err = s.in(id, func(c *state) error {
		for _, h := range sortedHeld(c.held) {
			list = append([]Held{{h.ID, h.delta, h.Author, h.Parents, h.time, len(h.Bytes())}}, list...)
		}
		return nil
	})
	if errors.Is(err, namespace.ErrNoContext) { // nothing is of one that no group has
		err = s.dag.There(id)
	}
	return list, err
}
