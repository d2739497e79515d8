package content

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
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
		delta, found, err := DeltaOf(s.db, id, envelope)
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
	err = s.in(id, func(*state) (err error) {
		heads, last, err = s.readHeads(id)
		return err
	})
	if errors.Is(err, namespace.ErrNoContext) { // nothing is of one that no group has
		err = s.dag.There(id)
	}
	return heads, last, err
}

// readHeads is heads, of whatever is there while a change may be under way.
func (s *Store) readHeads(id codec.ContextID) (heads []codec.EnvelopeID, last uint64, err error) {
	list, _, err := s.dag.Heads(id)
	for _, h := range list {
		v, found, err := readSigned(s.db, id, h.ID)
		if err != nil {
			return nil, 0, err
		}
		if found {
			heads, last = append(heads, v.id), max(last, h.Seq)
		}
	}
	return heads, last, err
}

// Digest returns the hash of the envelopes of the heads of a context: with the same ones it is the
// same everywhere. ok is false where there are none.
func (s *Store) Digest(id codec.ContextID) (digest codec.Hash, ok bool, err error) {
	heads, _, err := s.readHeads(id)
	if errors.Is(err, dag.ErrNoContext) {
		return digest, false, nil
	}
	slices.SortFunc(heads, codec.CompareID)
	sum := sha256.New()
	for _, h := range heads {
		sum.Write(h[:])
	}
	return codec.Hash(sum.Sum(nil)), len(heads) > 0, err
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

// Known returns how many of some envelopes count here.
func (s *Store) Known(id codec.ContextID, envelopes []codec.EnvelopeID) (int, error) {
	deltas, err := s.deltasOf(id, envelopes)
	return len(deltas), err
}

// Lacks returns those of some envelopes that are not here, neither counting nor set aside.
func (s *Store) Lacks(id codec.ContextID, envelopes []codec.EnvelopeID) (lacks []codec.EnvelopeID, err error) {
	err = s.in(id, func(c *state) error {
		for _, e := range envelopes {
			has, err := c.has(e)
			if err != nil {
				return err
			}
			if !has {
				lacks = append(lacks, e)
			}
		}
		return nil
	})
	return lacks, err
}

// CountSince returns how many envelopes Since yields, or most if there are at least as many.
func (s *Store) CountSince(ctx context.Context, id codec.ContextID, heads []codec.EnvelopeID, most int) (count int, err error) {
	deltas, err := s.deltasOf(id, heads)
	if err != nil {
		return 0, err
	}
	for _, err := range s.dag.Since(ctx, id, deltas, dag.SinceOptions{}) {
		if err != nil {
			return 0, err
		}
		if count++; count >= most {
			break
		}
	}
	return count, nil
}

// IDs yields the ids of envelopes that count, in ascending order from one on.
func (s *Store) IDs(id codec.ContextID, from codec.EnvelopeID) iter.Seq2[codec.EnvelopeID, error] {
	return func(yield func(codec.EnvelopeID, error) bool) {
		rg := engine.Prefixed(prefixOf(envelopeScope, id))
		rg.Start = rowKey(envelopeScope, id, from)
		err := engine.Each(s.db, column.Generic, rg, func(key, _ []byte) error {
			if len(key) != prefixLen+len(from) {
				return damage(key, "not an envelope")
			}
			if !yield(codec.EnvelopeID(key[prefixLen:]), nil) {
				return errStop
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(codec.EnvelopeID{}, err)
		}
	}
}

// Named returns the envelopes whose ids begin with some bytes, as they travel, parents first: also such
// that are set aside. Each of names is 16 bytes.
func (s *Store) Named(ctx context.Context, id codec.ContextID, names [][16]byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		type one struct {
			id   codec.EnvelopeID
			time uint64
		}
		var all []one
		err := s.in(id, func(c *state) error {
			for _, name := range names {
				ids, err := c.named(name[:])
				if err != nil {
					return err
				}
				for _, e := range ids {
					time, err := c.timeOf(e)
					if err != nil {
						return err
					}
					all = append(all, one{e, time})
				}
			}
			return nil
		})
		if err != nil {
			yield(nil, err)
			return
		}
		slices.SortFunc(all, func(a, b one) int { return newest(b.time, a.time, b.id, a.id) })
		for _, e := range all {
			b, err := s.Envelope(ctx, id, e.id)
			if errors.Is(err, ErrNoEnvelope) {
				continue // it was here until now
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// named returns the ids of envelopes that begin with some bytes.
func (c *state) named(begins []byte) (ids []codec.EnvelopeID, err error) {
	for _, scope := range []keys.Scope{envelopeScope, heldScope} {
		err := engine.Each(c.s.db, column.Generic, engine.Prefixed(append(prefixOf(scope, c.id), begins...)), func(key, _ []byte) error {
			if len(key) != prefixLen+len(codec.EnvelopeID{}) {
				return damage(key, "not an envelope")
			}
			ids = append(ids, codec.EnvelopeID(key[prefixLen:]))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// timeOf returns the time of the stamp of an envelope that is here, 0 of another.
func (c *state) timeOf(id codec.EnvelopeID) (uint64, error) {
	if h := c.held[id]; h != nil {
		return h.time, nil
	}
	delta, found, err := DeltaOf(c.s.db, c.id, id)
	if err != nil || !found {
		return 0, err
	}
	v, err := c.signedOf(delta)
	return v.time, err
}

// deltasOf returns the deltas of those envelopes that count here.
func (s *Store) deltasOf(id codec.ContextID, envelopes []codec.EnvelopeID) (deltas []codec.DeltaID, err error) {
	for _, e := range envelopes {
		delta, found, err := DeltaOf(s.db, id, e)
		if err != nil {
			return nil, err
		}
		if found {
			deltas = append(deltas, delta)
		}
	}
	return deltas, nil
}

// Since yields the envelopes of what counts and is neither among heads nor what they descend from,
// parents first. Heads that are not here are left out of account. It ends after an error.
func (s *Store) Since(ctx context.Context, id codec.ContextID, heads []codec.EnvelopeID) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		deltas, err := s.deltasOf(id, heads)
		if err != nil {
			yield(nil, err)
			return
		}
		for a, err := range s.dag.Since(ctx, id, deltas, dag.SinceOptions{}) {
			var b []byte
			if err == nil {
				b, err = s.EnvelopeOf(ctx, id, a.Position.Delta)
			}
			if errors.Is(err, ErrNoEnvelope) && s.isGone(id, a.Position.Delta) {
				continue // it counted until now, and so did what descends from it
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// isGone reports whether a delta does not count, which did.
func (s *Store) isGone(id codec.ContextID, delta codec.DeltaID) bool {
	_, _, err := s.dag.Get(id, delta)
	return errors.Is(err, dag.ErrNoDelta)
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
		list = listHeld(c.held)
		return nil
	})
	if errors.Is(err, namespace.ErrNoContext) { // nothing is of one that no group has
		err = s.dag.There(id)
	}
	return list, err
}

// HeldIn returns what rows say that is set aside in a context, the oldest first.
func HeldIn(r engine.Reader, id codec.ContextID) ([]Held, error) {
	all, err := readHeld(r, id)
	return listHeld(all), err
}

func listHeld(all map[codec.EnvelopeID]*held) (list []Held) {
	for _, h := range slices.Backward(sortedHeld(all)) {
		list = append(list, Held{h.ID, h.delta, h.Author, h.Parents, h.time, len(h.Bytes())})
	}
	return list
}

// Author returns who has signed a delta that counts; zero where nobody has.
func (s *Store) Author(id codec.ContextID, delta codec.DeltaID) (codec.Identity, error) {
	who, _, err := AuthorOf(s.db, id, delta)
	return who, err
}

// AuthorOf returns who has signed a delta that counts, by its row; found is false where nobody has.
func AuthorOf(r engine.Getter, context codec.ContextID, delta codec.DeltaID) (who codec.Identity, found bool, err error) {
	s, found, err := readSigned(r, context, delta)
	return s.Author, found, err
}
