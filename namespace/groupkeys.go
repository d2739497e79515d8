package namespace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/group"
)

// ErrNotDue is returned where a group has a key that exactly its members hold.
var ErrNotDue = errors.New("namespace: no rotation is due")

// KeyInfo is what is known of a key of a group; never the key.
type KeyInfo struct {
	ID        codec.KeyID
	Op        codec.OpID // that introduces it
	Height    int
	Current   bool   // this node seals under it
	Here      bool   // this node has it
	Abandoned bool   // an Admin's rotation has left it behind: what is sealed under it has no effect
	Fault     string // why it is not good; empty: nothing is known against it

	Holders []codec.Identity // by identity
	Lacking []codec.Identity // members who were never sent it, by identity
	Cheated []codec.Identity // who were sent something else, as far as this node can tell, by identity
}

// Keys returns the keys of a group, by (height, op).
func (s *Store) Keys(g codec.GroupID) (found []KeyInfo, err error) {
	ns, err := s.home(g)
	if err != nil {
		return nil, err
	}
	r := &request{Task: func(b *batch) error { // what is found out of keys is kept in mind
		b.settle()
		found, err = b.keys(g)
		return err
	}}
	if err := s.submit(ns, r); err != nil && (found == nil || !errors.Is(err, engine.ErrReadOnly)) {
		return nil, err
	}
	return found, r.Err
}

func (b *batch) keys(g codec.GroupID) (found []KeyInfo, err error) {
	c := b.c
	old, has, err := c.here().current(g, -1)
	if err != nil {
		return nil, err
	}
	for _, r := range c.holders.groups[g] {
		info := c.keyInfo(r.op, GroupKey{g, r.key})
		info.Current = has && r.key == old && c.newest() == codec.OpVersion1
		c.holders.all(GroupKey{g, r.key}, c.everything(), func(id codec.Identity) bool {
			info.Holders = append(info.Holders, id)
			return true
		})
		found = append(found, info)
	}
	current, _, err := b.sealingKey(g)
	if err != nil {
		return nil, err
	}
	for _, i := range c.handouts.introduced[g] {
		own, name := c.keysOf(i, g), KeyName{g, c.ledger.Op(i).ID}
		info := c.keyInfo(i, GroupKey{g, own.KeyID})
		info.Current, info.Abandoned, info.Lacking = name == current.name, c.ledger.Abandoned(g, name.Op), c.lacking(name)
		if err := b.explain(&info, name, i); err != nil {
			return nil, err
		}
		c.eachHolder(name, c.everything(), func(id codec.Identity) bool {
			info.Holders = append(info.Holders, id)
			return true
		})
		found = append(found, info)
	}
	for i := range found {
		slices.SortFunc(found[i].Holders, codec.CompareID)
		found[i].Holders = slices.Compact(found[i].Holders)
	}
	slices.SortStableFunc(found, func(a, b KeyInfo) int {
		return cmp.Or(a.Height-b.Height, codec.CompareID(a.Op, b.Op))
	})
	return found, nil
}

func (c *loaded) keyInfo(i int, k GroupKey) KeyInfo {
	info := KeyInfo{ID: k.KeyID, Op: c.ledger.Op(i).ID, Height: c.ledger.Height(i)}
	_, info.Here = c.ring[k]
	return info
}

// explain says what is wrong with a key, which op i introduces.
func (b *batch) explain(info *KeyInfo, name KeyName, i int) error {
	if _, _, err := b.isGood(name); err != nil {
		return err
	}
	switch *b.c.state(i, name.GroupID) {
	case keyUnjudged:
		info.Fault = "ops of version 1 are not opened here that may say to whom it was to be given"
	case keyWrong:
		info.Fault = "it was not given to exactly the members"
	case keyBad:
		op, err := b.stored(name.Op)
		if err != nil {
			return err
		}
		var carries bool
		info.Cheated, carries = b.c.faulty(name.GroupID, op, b.c.ring[GroupKey{name.GroupID, info.ID}])
		if info.Fault = "not all can open it"; !carries {
			info.Fault = "it does not carry the keys that it says"
		}
	case keyClear: // and not here
		op, err := b.stored(name.Op)
		if err != nil {
			return err
		}
		if b.c.isCheated(op.Signed, name.GroupID) {
			info.Fault, info.Cheated = "what this node was sent does not open it", []codec.Identity{b.c.self()}
		}
	}
	return nil
}

// Rotate gives a group a key, where this node has none that only members hold, and sends
// that one to the members who lack it. With now it makes one in any case, which is for the
// Admin of a group whose key somebody may have. It returns [ErrNotDue] where neither is due.
// What carries it does nothing else.
func (s *Store) Rotate(ctx context.Context, g codec.GroupID, now bool) (done Proposed, err error) {
	ns, err := s.home(g)
	if err != nil {
		return done, err
	}
	err = s.change(ctx, ns, &done, func(p *proposing) error {
		if p.c.version(p.c.everything()) == codec.OpVersion1 {
			return p.rotateDue(g, &done.Answer)
		}
		key, has, err := p.sealingKey(g)
		if err != nil {
			return err
		}
		if !has || now {
			return p.rotate(g, &done.Answer)
		}
		if sent, err := p.deliver(g, &done.Answer); err != nil || sent {
			return err
		}
		return fmt.Errorf("%w in group %s: key %s of op %s is current", ErrNotDue, g, KeyID(key.key), key.name.Op)
	})
	return done, err
}

// rotateDue is Rotate of a namespace of version 1, in which a rotation that is not due
// makes no key current.
func (p *proposing) rotateDue(g codec.GroupID, a *Answer) error {
	here := p.c.here()
	id, has, err := here.current(g, -1)
	if err != nil {
		return err
	}
	if has && len(here.without(GroupKey{g, id}, p.c.ledger)) == 0 {
		return fmt.Errorf("%w in group %s: key %s is current", ErrNotDue, g, id)
	}
	return p.group(g, codec.GroupOp{Kind: codec.OpKeyRotated}, a)
}

// usable is a key of a group under which this node may seal, as far as it is not held by
// somebody who is no member: it has it, it is good, and no Admin has left it behind.
type usable struct {
	name    KeyName
	op      int // that introduces it
	key     codec.Secret
	carries []codec.OpID
}

// usable returns such keys of g, those that an Admin has made first, and of these the one
// first that was introduced last by (height, id); of the many that one who is no Admin may have
// made, the last, and those that somebody else has used. The ledger must be settled.
func (b *batch) usable(g codec.GroupID) (found []usable, err error) {
	c := b.c
	for _, i := range c.candidates(g) {
		own, name := c.keysOf(i, g), KeyName{g, c.ledger.Op(i).ID}
		key, has := c.ring[GroupKey{g, own.KeyID}]
		if !has || c.ledger.Abandoned(g, name.Op) {
			continue
		}
		good, _, err := b.isGood(name)
		if err != nil {
			return nil, err
		}
		if good {
			found = append(found, usable{name, i, key, own.Carried})
		}
	}
	slices.SortFunc(found, func(x, y usable) int {
		if a, b := b.byAdmin(x), b.byAdmin(y); a != b {
			if a {
				return -1
			}
			return 1
		}
		return cmp.Or(c.ledger.Height(y.op)-c.ledger.Height(x.op), codec.CompareID(y.name.Op, x.name.Op))
	})
	return found, nil
}

// byAdmin reports whether an Admin who stands has made a key.
func (b *batch) byAdmin(k usable) bool {
	return b.c.ledger.IsAdmin(k.name.GroupID, b.c.ledger.Op(k.op).Signer)
}

// everything is the cut of all ops.
func (c *loaded) everything() group.Cut {
	cut, _ := c.ledger.Cut(c.ledger.Heads()) // the heads are there
	return cut
}

// within reports whether all who hold a key are members, as of now.
func (c *loaded) within(name KeyName) bool {
	return c.eachHolder(name, c.everything(), func(id codec.Identity) bool { return c.ledger.IsMember(name.GroupID, id) })
}

// sealingKey returns the key of g under which this node seals: the first that is usable
// and which only members hold; ok is false where there is none.
func (b *batch) sealingKey(g codec.GroupID) (key usable, ok bool, err error) {
	all, err := b.usable(g)
	if err != nil {
		return key, false, err
	}
	for _, k := range all {
		if b.c.within(k.name) {
			return k, true, nil
		}
	}
	return key, false, nil
}

// latest returns the usable keys that no other one carries: who holds them reads all that
// they and those that they carry are for.
func latest(all []usable) (found []usable) {
	carried := map[codec.OpID]bool{}
	for _, k := range all {
		for _, earlier := range k.carries {
			carried[earlier] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(k usable) bool { return carried[k.name.Op] })
}

// lacking returns the members of its group who do not hold a key, by identity.
func (c *loaded) lacking(name KeyName) []codec.Identity {
	held := map[codec.Identity]bool{}
	c.eachHolder(name, c.everything(), func(id codec.Identity) bool { held[id] = true; return true })
	return lacking(c.ledger.Members(name.GroupID), held)
}

// lacking returns those of members who do not hold a key.
func lacking(members []codec.Identity, holders map[codec.Identity]bool) (without []codec.Identity) {
	for _, m := range members {
		if !holders[m] {
			without = append(without, m)
		}
	}
	return without
}
