package namespace

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
)

// ErrStated is returned where nothing of version 1 is left that this node could state.
var ErrStated = errors.New("namespace: nothing of version 1 is left that this node may state")

// Upgrade has a namespace of version 1 go on in version 2: it states what stands in the groups
// of which this node is an Admin, in clear and for all to see, and the ops of everybody that
// descend from that are of version 2. What version 1 has of those groups besides has no effect
// any more. It returns [ErrStated] where nothing is left to do.
//
// Who began a group states it best: everybody sees that they may. Where another Admin does, a
// node counts keys of the group only once it has opened all ops of version 1.
func (s *Store) Upgrade(ctx context.Context, ns codec.GroupID) (done Proposed, stated []codec.GroupID, err error) {
	err = s.change(ctx, ns, &done, func(p *proposing) error {
		stated = nil
		var all []codec.RootOp
		for _, g := range p.c.ledger.Groups() {
			if r, ok := p.c.ledger.Statement(g, p.c.self()); ok {
				all, stated = append(all, r), append(stated, g)
			}
		}
		if len(all) == 0 {
			return fmt.Errorf("%w in namespace %s", ErrStated, ns)
		}
		a := &done.Answer
		for _, r := range all {
			if err := p.root(r, a); err != nil {
				return err
			}
			a = &Answer{}
		}
		return nil
	})
	return done, stated, err
}

// version returns the version that an op on a cut has: that of the op that creates the
// namespace, or the second where authority was stated.
func (c *loaded) version(cut group.Cut) codec.OpVersion {
	if slices.ContainsFunc(c.statements, cut.Has) {
		return codec.OpVersion2
	}
	return c.ops[0].version
}

// newest returns the newest version of its ops.
func (c *loaded) newest() codec.OpVersion {
	if len(c.statements) > 0 {
		return codec.OpVersion2
	}
	return c.ops[0].version
}

// isOfVersion1 reports whether an op that introduces a key does so as version 1 has it.
func (c *loaded) isOfVersion1(i int) bool { return c.ops[i].version == codec.OpVersion1 }

// shut are the ops of version 1 that are not opened here, by their group.
type shut map[codec.GroupID]map[int]bool

func (s shut) add(g codec.GroupID, i int) {
	if s[g] == nil {
		s[g] = map[int]bool{}
	}
	s[g][i] = true
}

func (s shut) drop(g codec.GroupID, i int) {
	if delete(s[g], i); len(s[g]) == 0 {
		delete(s, g)
	}
}

// isDecided reports whether it is known who the members of the groups are of which op hands out
// keys; at is the state at the cut of its parents. It is not where an op of version 1 may say so
// that is not opened here: what is found out of a key is for good, and the same on all nodes.
func (c *loaded) isDecided(op *group.Op, at *group.Ledger, cut group.Cut) bool {
	if op.Root != nil {
		return c.isSettled(op.Root.GroupID, at, cut)
	}
	return !slices.ContainsFunc(op.Keys, func(k group.Key) bool { return !c.isSettled(k.Group, at, cut) })
}

// isSettled reports whether it is known at a cut who the members of a group are: of it, of the
// namespace, and of all groups below which any op of the cut has put it.
func (c *loaded) isSettled(g codec.GroupID, at *group.Ledger, cut group.Cut) bool {
	if len(c.shut) == 0 {
		return true
	}
	asked := []codec.GroupID{c.id, g}
	for i := 0; i < len(asked); i++ {
		if !c.isClear(asked[i], at, cut) {
			return false
		}
		for _, k := range c.holders.placed[asked[i]] {
			if parent := c.ledger.Op(k).Root.ParentID; cut.Has(k) && !slices.Contains(asked, parent) {
				asked = append(asked, parent)
			}
		}
	}
	return true
}

// isClear reports whether no op of version 1 that is not opened here has a say in a group at a
// cut. Where who created it has stated it, all else that version 1 has of it ranks below, and
// counts no longer: then only what they have done themselves has to be opened.
func (c *loaded) isClear(g codec.GroupID, at *group.Ledger, cut group.Cut) bool {
	created := c.holders.created[g] // by the same one, of whom its id is made
	if len(c.shut[g]) == 0 || len(created) == 0 {
		return true
	}
	founder := c.ledger.Op(created[0]).Signer
	stated := c.isStatedBy(founder, g, at, cut)
	for i := range c.shut[g] {
		if cut.Has(i) && (!stated || c.ledger.Op(i).Signer == founder) {
			return false
		}
	}
	return true
}

// isStatedBy reports whether who has stated a group as its admin identity, with effect at a cut.
func (c *loaded) isStatedBy(who codec.Identity, g codec.GroupID, at *group.Ledger, cut group.Cut) bool {
	return slices.ContainsFunc(c.statements, func(i int) bool {
		op := c.ledger.Op(i)
		if !cut.Has(i) || op.Signer != who || op.Root.GroupID != g || op.Root.AdminIdentity != who {
			return false
		}
		there, ok := at.Find(op.ID)
		return ok && at.Verdict(there).Outcome == group.Effective
	})
}

// decide has it found out again what could not be of the keys that were handed out, where more
// of version 1 was opened since.
func (b *batch) decide() error {
	c, h := b.c, &b.c.handouts
	if !h.again || len(h.undecided) == 0 {
		return nil
	}
	h.again = false
	c.past = past{}
	h.unjudged, h.undecided = append(h.undecided, h.unjudged...), nil
	slices.Sort(h.unjudged)
	waited := slices.Clone(h.unjudged)
	if err := b.judge(); err != nil {
		return err
	}
	for _, i := range waited {
		if slices.Contains(h.undecided, i) {
			continue
		}
		for _, key := range c.ops[i].keys {
			k := GroupKey{key.GroupID, key.KeyID}
			c.openable = append(c.openable, c.locked[k]...)
			delete(c.locked, k)
		}
	}
	return nil
}

// previous returns the keys of version 1 that the first one of version 2 is to carry, by the
// ops that introduce them: those that this node has and that no other one opens.
func (p *proposing) previous(g codec.GroupID, all []usable) (map[codec.OpID]codec.Secret, error) {
	found, opened := map[codec.OpID]codec.Secret{}, map[GroupKey]bool{}
	carried := map[codec.OpID]bool{}
	for _, k := range all {
		for _, earlier := range k.carries {
			carried[earlier] = true
		}
	}
	for _, r := range p.c.holders.groups[g] {
		key, has := p.c.ring[GroupKey{g, r.key}]
		if !has {
			continue
		}
		found[p.c.ledger.Op(r.op).ID] = key
		if op, err := p.stored(p.c.ledger.Op(r.op).ID); err != nil {
			return nil, err
		} else if op.Signed == nil {
			continue
		} else {
			for i := range op.Signed.Op.Rotations {
				if by := &op.Signed.Op.Rotations[i]; by.GroupID == g && by.Previous.Valid {
					if before, err := OpenPrevious(p.c.id, by, key); err == nil && KeyID(before) == by.Previous.V.KeyID {
						opened[GroupKey{g, by.Previous.V.KeyID}] = true
					}
				}
			}
		}
	}
	for _, r := range p.c.holders.groups[g] {
		if id := p.c.ledger.Op(r.op).ID; carried[id] || opened[GroupKey{g, r.key}] {
			delete(found, id)
		}
	}
	return found, nil
}
