package content

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/namespace/envelope"
)

// Committed is what became of a commit.
type Committed struct {
	dag.Committed          // of a signed context without Deltas
	Envelopes     [][]byte // what to send to peers, parents first
	Ops           [][]byte // ops of governance that it took: these go first
}

// Commit is [dag.Store.Commit], signed where a group has the context: by this node's identity in the
// namespace, and sealed for the group. It returns namespace.ErrNotWriter or namespace.ErrNoIdentity
// too. In a context whose deltas are not signed ([ErrUnsigned]) it signs none either.
func (s *Store) Commit(ctx context.Context, what dag.Commit) (done Committed, err error) {
	err = s.in(what.Context, func(c *state) error {
		done, err = c.commit(ctx, what)
		return err
	})
	if errors.Is(err, namespace.ErrNoContext) || errors.Is(err, ErrUnsigned) || errors.Is(err, namespace.ErrVersion) {
		done = Committed{}
		done.Committed, err = s.dag.Commit(ctx, what)
	}
	return done, err
}

func (c *state) commit(ctx context.Context, what dag.Commit) (done Committed, err error) {
	if err := c.begins(); err != nil {
		return done, err
	}
	if err := c.look(ctx); err != nil {
		return done, err
	}
	by, err := c.s.gov.Author(ctx, c.ns, c.id)
	if err != nil {
		return done, err
	}
	done.Ops = by.Made.Wire
	var made []*envelope.Envelope
	ids := map[codec.DeltaID]codec.EnvelopeID{} // of those that it made
	var at envelope.Place                       // of the delta that is being made
	what.MostHeads = envelope.MaxParents
	what.Author = func(parents []codec.DeltaID) (codec.NodeID, error) {
		at = envelope.Place{Cut: by.Cut, KeyOp: by.KeyOp}
		for _, p := range parents {
			id, own := ids[p]
			if !own {
				v, err := c.signedOf(p)
				if err != nil {
					return codec.NodeID{}, err
				}
				id = v.id
			}
			at.Parents = append(at.Parents, id)
		}
		slices.SortFunc(at.Parents, codec.CompareID)
		return envelope.Node(by.Author, c.id, at)
	}
	what.Beside = func(d *dag.Delta, id codec.DeltaID, b *engine.Batch) error {
		e, err := envelope.Seal(d, at, by.Key, by.Seed)
		if err != nil {
			return err
		}
		made = append(made, e)
		ids[id] = e.ID
		return c.beside(b, e, d, id)
	}
	if done.Committed, err = c.s.dag.Commit(ctx, what); err != nil {
		return done, err
	}
	for _, e := range made[len(made)-len(done.Deltas):] { // a batch that fails is made again
		done.Envelopes = append(done.Envelopes, e.Bytes())
	}
	done.Deltas = nil
	before := len(c.cuts)
	c.cuts[idOfCut(by.Cut)] = by.Cut
	return done, c.grown(ctx, before)
}

// Vouch writes a delta without actions on top of all that counts, if this node may: for what it
// holds, and against whom the ops that it knows of have made write no more.
func (s *Store) Vouch(ctx context.Context, id codec.ContextID) (done Committed, err error) {
	err = s.in(id, func(c *state) error {
		done, err = c.vouch(ctx)
		return err
	})
	return done, err
}

func (c *state) vouch(ctx context.Context) (Committed, error) {
	_, root, err := c.s.dag.Heads(c.id)
	if err != nil {
		return Committed{}, err
	}
	return c.commit(ctx, dag.Commit{Context: c.id, ReadRoot: root})
}

// Adopt has envelopes count that were set aside, with those that they descend from, by a delta without
// actions on top of them. It returns [ErrNoEnvelope] for one that is not set aside, or an error as
// [Store.Commit] has it: then they stay where they are.
func (s *Store) Adopt(ctx context.Context, id codec.ContextID, envelopes []codec.EnvelopeID) (done Committed, err error) {
	err = s.in(id, func(c *state) error {
		if err := c.look(ctx); err != nil {
			return err
		}
		for _, e := range envelopes {
			if c.held[e] == nil {
				return fmt.Errorf("%w: %s is not set aside in context %s", ErrNoEnvelope, e, id)
			}
		}
		var wanted []*held
		seen := map[codec.EnvelopeID]bool{}
		for open := slices.Clone(envelopes); len(open) > 0; {
			h := c.held[open[len(open)-1]]
			open = open[:len(open)-1]
			if h != nil && !seen[h.ID] {
				seen[h.ID] = true
				wanted = append(wanted, h)
				open = append(open, h.Parents...)
			}
		}
		if _, err := c.s.gov.Author(ctx, c.ns, c.id); err != nil { // before anything is done
			return err
		}
		slices.SortFunc(wanted, func(a, b *held) int { return newest(b.time, a.time, b.ID, a.ID) })
		fell, err := c.takeBack(ctx, wanted)
		if err == nil && fell {
			err = fmt.Errorf("%w: what was to be adopted does not follow from what is before it", ErrNoEnvelope)
		}
		if err == nil {
			done, err = c.vouch(ctx)
		}
		return errors.Join(err, c.judge(ctx))
	})
	return done, err
}
