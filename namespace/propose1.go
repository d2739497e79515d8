package namespace

import (
	"fmt"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
)

// group1 proposes an op of a group in a namespace of version 1, with what has to be done
// about its key.
func (p *proposing) group1(s *codec.SignedNamespaceOp, g codec.GroupID, body codec.GroupOp, a *Answer) error {
	if body.Kind == codec.OpMembersRemoved {
		return fmt.Errorf("%w: a namespace of version 1 removes members one by one", ErrNotEffective)
	}
	here := p.c.here()
	id, has, err := here.current(g, -1)
	if err != nil {
		return err
	}
	stays := false
	after := map[codec.GroupID][]codec.Identity{}
	if err := p.try(s, group.Op{Group: g, Body: &body}, func() {
		stays = has && here.within(GroupKey{g, id}, p.c.ledger)
		for _, below := range p.c.ledger.Groups() {
			if below == g || g == p.c.id && body.Kind == codec.OpMemberRemoved {
				after[below] = p.c.ledger.Members(below)
			}
		}
	}); err != nil {
		return err
	}
	if err := p.contest(g, &body); err != nil {
		return err
	}
	s.Op = codec.NamespaceOp{Kind: codec.NamespaceGroup, GroupID: g}
	var sealing codec.Option[codec.Secret]
	if has {
		key, ok := p.c.ring[GroupKey{g, id}]
		if !ok {
			return fmt.Errorf("%w: %s", ErrNoKey, id)
		}
		sealing = codec.Some(key)
	}
	if !stays && len(after[g]) > 0 {
		fresh, err := p.rotate1(s, g, sealing, after[g])
		if err != nil {
			return err
		}
		if !sealing.Valid {
			sealing = codec.Some(fresh)
		}
	}
	if g == p.c.id && body.Kind == codec.OpMemberRemoved {
		if err := p.rotateBelow(s, body.Member, after); err != nil {
			return err
		}
	}
	inner, err := p.seal1(s, &body, sealing.V)
	if err != nil {
		return err
	}
	if err := p.signAndTake(s, &body, inner, a); err != nil {
		return err
	}
	return p.deliver1(g) // to nobody, where the key is new
}

// rotate1 adds a rotation of g to exactly these members, and returns the key, which this
// node keeps even if it is not one of them: it has made it, and its op can be sealed under
// it.
func (p *proposing) rotate1(s *codec.SignedNamespaceOp, g codec.GroupID, previous codec.Option[codec.Secret], to []codec.Identity) (codec.Secret, error) {
	key, err := NewKey(p.random())
	if err != nil {
		return key, err
	}
	if !previous.Valid {
		previous = p.latest(g)
	}
	r, err := NewRotation(p.random(), p.c.id, g, key, previous, to)
	if err != nil {
		return key, err
	}
	s.Op.Rotations = append(s.Op.Rotations, r)
	slices.SortFunc(s.Op.Rotations, func(a, b codec.KeyRotation) int { return codec.CompareID(a.GroupID, b.GroupID) })
	var fresh []GroupKey // nothing has waited for it
	p.gaining(&fresh)(GroupKey{g, r.NewKeyID}, key)
	return key, nil
}

// latest returns the key of g introduced last of those that are here.
func (p *proposing) latest(g codec.GroupID) (found codec.Option[codec.Secret]) {
	last := -1
	for _, r := range p.c.holders.groups[g] {
		key, ok := p.c.ring[GroupKey{g, r.key}]
		if ok && (last < 0 || p.c.ledger.Before(last, r.op)) {
			found, last = codec.Some(key), r.op
		}
	}
	return found
}

// rotateBelow adds to a removal from the namespace rotations of the groups below that
// lose their current key by it, as far as this node has that key.
func (p *proposing) rotateBelow(s *codec.SignedNamespaceOp, gone codec.Identity, after map[codec.GroupID][]codec.Identity) error {
	here := p.c.here()
	for _, below := range p.c.ledger.Groups() {
		if below == p.c.id || !p.c.ledger.IsMember(below, gone) || !slices.Contains(after[below], p.c.self()) {
			continue
		}
		id, has, err := here.current(below, -1)
		if err != nil {
			return err
		}
		k := GroupKey{below, id}
		key, ok := p.c.ring[k]
		if !has || !ok || p.c.holders.all(k, here.cut, func(id codec.Identity) bool { return slices.Contains(after[below], id) }) {
			continue // who has it, or next acts there, mends it
		}
		if _, err := p.rotate1(s, below, codec.Some(key), after[below]); err != nil {
			return err
		}
	}
	return nil
}

// seal1 signs and seals body into s under key, and returns what is sealed.
func (p *proposing) seal1(s *codec.SignedNamespaceOp, body *codec.GroupOp, key codec.Secret) ([]byte, error) {
	inner, err := p.sign(s, body)
	if err != nil {
		return nil, err
	}
	plain, err := inner.AppendBinary(nil)
	if err != nil {
		return nil, err
	}
	s.Op.KeyID = KeyID(key)
	return plain, SealOp(p.random(), s, key, plain)
}

// deliver1 sends the current key of g to the members who lack it. It returns ErrNoKey
// where this node lacks it too.
func (p *proposing) deliver1(g codec.GroupID) error {
	here := p.c.here()
	id, has, err := here.current(g, -1)
	if err != nil || !has {
		return err
	}
	k := GroupKey{g, id}
	to := here.without(k, p.c.ledger)
	if len(to) == 0 {
		return nil
	}
	key, ok := p.c.ring[k]
	if !ok {
		return fmt.Errorf("%w: %s", ErrNoKey, id)
	}
	s, err := p.carrier()
	if err != nil {
		return err
	}
	if err := deliver(p.random(), p.c.identity.V.PrivateKey, s, k, key, to); err != nil {
		return err
	}
	return p.signAndTake(s, nil, nil, &Answer{})
}
