package namespace

import (
	"context"
	"errors"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/group"
)

// Voided is an op of this node that a revocation voided which it had not seen, and that
// was not proposed again.
type Voided struct {
	ID   codec.OpID
	Root *codec.RootOp  // of a root op
	Body *codec.GroupOp // of a group op
}

// Voided returns such ops of a group, oldest first; of a namespace also its root ops.
func (s *Store) Voided(g codec.GroupID) (found []Voided, err error) {
	ns, err := s.home(g)
	if err != nil {
		return nil, err
	}
	err = s.view(ns, func(c *loaded) (err error) {
		found, err = c.voided(s.db, g)
		return err
	})
	return found, err
}

func (c *loaded) voided(r engine.Getter, g codec.GroupID) (found []Voided, err error) {
	for i := range c.ledger.Len() {
		op := c.ledger.Op(i)
		v := c.ledger.Verdict(i)
		if op.Signer != c.self() || v.Outcome != group.Void || v.Reason != group.Revoked && v.Reason != group.Abandoned || !again(op, g, c.id) {
			continue
		}
		_, err := r.Get(nil, column.Generic, reissuedKey(c.id, op.ID))
		if errors.Is(err, engine.ErrNotFound) {
			found = append(found, Voided{op.ID, op.Root, op.Body})
		} else if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// again reports whether op is of the group and says something that could be said again.
func again(op *group.Op, g, ns codec.GroupID) bool {
	if op.Root == nil {
		return op.Group == g
	}
	return g == ns && op.Root.Kind != codec.RootMerge && op.Root.Kind != codec.RootKeyDelivery && op.Root.Kind != codec.RootKeyDelivered
}

func reissuedKey(ns codec.GroupID, id codec.OpID) []byte {
	return append(scoped(nil, reissuedScope, ns), id[:]...)
}

// Reissued is an op that was proposed again.
type Reissued struct {
	Old codec.OpID
	New Proposed
	Err error // why it was not: mostly [ErrNotEffective]
}

// Reissue proposes again what [Store.Voided] lists, each in a batch of its own with the
// note that it was. It goes on after one that would have no effect.
func (s *Store) Reissue(ctx context.Context, g codec.GroupID) (done []Reissued, err error) {
	ns, err := s.home(g)
	if err != nil {
		return nil, err
	}
	left, err := s.Voided(g)
	if err != nil {
		return nil, err
	}
	for _, v := range left {
		r := Reissued{Old: v.ID}
		r.Err = s.change(ctx, ns, &r.New, func(p *proposing) error {
			var err error
			if v.Root != nil {
				err = p.root(*v.Root, &r.New.Answer)
			} else {
				err = p.group(g, *v.Body, &r.New.Answer)
			}
			if err == nil {
				p.rows.Put(column.Generic, reissuedKey(ns, v.ID), r.New.Answer.ID[:])
			}
			return err
		})
		if r.Err != nil && !errors.Is(r.Err, ErrNotEffective) && !errors.Is(r.Err, ErrNoKey) {
			return done, r.Err
		}
		done = append(done, r)
	}
	return done, nil
}
