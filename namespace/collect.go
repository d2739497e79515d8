package namespace

import (
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// collect takes the keys that an op, which is about to be one of the DAG, gives this
// node, and returns the new ones.
func (b *batch) collect(op *Op) (fresh []GroupKey) {
	if op.Signed == nil {
		return nil
	}
	gain := b.gaining(&fresh)
	if r := op.Root; r != nil && r.Kind == codec.RootKeyDelivery {
		b.c.openEnvelope(op.Version, GroupKey{r.GroupID, r.KeyID}, r.Envelopes, gain)
	} else if r != nil && r.Kind == codec.RootKeyDelivered {
		if _, own := b.c.introduces(KeyName{r.GroupID, r.KeyOp}); own != nil {
			b.c.openEnvelope(op.Version, GroupKey{r.GroupID, own.KeyID}, r.Envelopes, gain)
		}
	}
	for i := range op.Signed.Op.Keys {
		n := &op.Signed.Op.Keys[i]
		b.c.openEnvelope(op.Version, GroupKey{n.GroupID, n.KeyID}, n.Envelopes, gain)
		b.c.openCarried(op.Signed, n, gain)
	}
	for i := range op.Signed.Op.Rotations {
		r := &op.Signed.Op.Rotations[i]
		b.c.openEnvelope(op.Version, GroupKey{r.GroupID, r.NewKeyID}, r.Envelopes, gain)
		b.c.openPrevious(r, gain)
	}
	return fresh
}

// gaining returns what keeps a key that is new, and adds it to fresh.
func (b *batch) gaining(fresh *[]GroupKey) func(GroupKey, codec.Secret) {
	return func(k GroupKey, key codec.Secret) {
		if _, has := b.c.ring[k]; !has {
			b.c.keep(k, key)
			engine.Put(&b.rows, keys.GroupKeyEntry{Group: k.GroupID, Key: k.KeyID}, codec.GroupKeyValue{Key: key})
			*fresh = append(*fresh, k)
		}
	}
}

// use follows new keys to those before them, and opens what has waited for any; what this
// batch has no room for is opened by further ones.
func (b *batch) use(fresh []GroupKey) error {
	gain := b.gaining(&fresh)
	for len(fresh) > 0 {
		k := fresh[0]
		fresh = fresh[1:]
		if err := b.openEarlier(k, gain); err != nil {
			return err
		}
		b.c.openable = append(b.c.openable, b.c.locked[k]...)
		delete(b.c.locked, k)
	}
	return b.unlock()
}

func (c *loaded) keep(k GroupKey, key codec.Secret) {
	c.ringMu.Lock()
	defer c.ringMu.Unlock()
	c.ring[k] = key
}

// openEnvelope opens the envelope for this node, if there is one.
func (c *loaded) openEnvelope(v codec.OpVersion, k GroupKey, envelopes []codec.KeyEnvelope, gain func(GroupKey, codec.Secret)) {
	if _, has := c.ring[k]; has || !c.identity.Valid {
		return
	}
	for i := range envelopes {
		if envelopes[i].Recipient != c.self() {
			continue
		}
		if key, err := OpenKey(v, c.identity.V.PrivateKey, c.id, k.GroupID, k.KeyID, &envelopes[i]); err == nil {
			gain(k, key)
		}
	}
}

// isCheated reports whether the envelope for this node with which s introduces a key of g is
// not one of it. A key that is here may be so too, which isGood says.
func (c *loaded) isCheated(s *codec.SignedNamespaceOp, g codec.GroupID) bool {
	own := newKeyOf(s, g)
	if own == nil || !c.identity.Valid || !slices.ContainsFunc(own.Envelopes, func(e codec.KeyEnvelope) bool { return e.Recipient == c.self() }) {
		return false
	}
	id := GroupKey{g, own.KeyID}
	_, opened := c.ring[id]
	c.openEnvelope(codec.OpVersion2, id, own.Envelopes, func(GroupKey, codec.Secret) { opened = true })
	return !opened
}

// openPrevious opens the key before that of r.
func (c *loaded) openPrevious(r *codec.KeyRotation, gain func(GroupKey, codec.Secret)) {
	key, ok := c.ring[GroupKey{r.GroupID, r.NewKeyID}]
	if !ok || !r.Previous.Valid {
		return
	}
	before := GroupKey{r.GroupID, r.Previous.V.KeyID}
	if _, has := c.ring[before]; has {
		return
	}
	if previous, err := OpenPrevious(c.id, r, key); err == nil {
		gain(before, previous)
	}
}

// openCarried opens the keys that n, which s introduces, carries.
func (c *loaded) openCarried(s *codec.SignedNamespaceOp, n *codec.NewKey, gain func(GroupKey, codec.Secret)) {
	key, ok := c.ring[GroupKey{n.GroupID, n.KeyID}]
	if !ok {
		return
	}
	for i := range n.Carried {
		_, own := c.introduces(KeyName{n.GroupID, n.Carried[i].Op})
		if own == nil {
			continue
		}
		earlier, err := siteOf(s, n.GroupID).openCarried(key, &n.Carried[i])
		if err == nil && KeyID(earlier) == own.KeyID {
			gain(GroupKey{n.GroupID, own.KeyID}, earlier)
		}
	}
}

// openEarlier opens the keys before a new one, by all rotations to it.
func (b *batch) openEarlier(k GroupKey, gain func(GroupKey, codec.Secret)) error {
	for _, i := range b.c.handouts.of[k] {
		if own := b.c.keysOf(i, k.GroupID); len(own.Carried) == 0 {
			continue
		}
		op, err := b.stored(b.c.ledger.Op(i).ID)
		if err != nil {
			return err
		}
		if own := newKeyOf(op.Signed, k.GroupID); own != nil {
			b.c.openCarried(op.Signed, own, gain)
		}
	}
	for _, m := range b.c.holders.about[k] {
		op, err := b.stored(b.c.ledger.Op(m.op).ID)
		if err != nil {
			return err
		}
		if op.Signed == nil {
			continue
		}
		for i := range op.Signed.Op.Rotations {
			if r := &op.Signed.Op.Rotations[i]; r.GroupID == k.GroupID && r.NewKeyID == k.KeyID {
				b.c.openPrevious(r, gain)
			}
		}
	}
	return nil
}

// stored returns an op of the DAG as it was taken.
func (b *batch) stored(id codec.OpID) (*Op, error) {
	if op := b.fresh[id]; op != nil {
		return op, nil
	}
	return readOp(b.s.db, b.c.id, id)
}

// unlock opens ops whose key has come, until the batch is full: they act as late ones do.
func (b *batch) unlock() error {
	c := b.c
	for !b.Full() {
		if len(c.openable) == 0 {
			if err := b.decide(); err != nil || len(c.openable) == 0 {
				return err
			}
		}
		i := c.openable[0]
		c.openable = c.openable[1:]
		op, err := b.stored(c.ledger.Op(i).ID)
		if err != nil {
			return err
		}
		o, err := b.read(op)
		switch {
		case err != nil:
		case o != nil:
			err = b.unseal(i, op, o)
		case op.Signed != nil: // the key is here, and it is not known whether it is good
			k := c.keyOf(op)
			c.locked[k] = append(c.locked[k], i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) unseal(i int, op *Op, o *opened) error {
	c, f := b.c, &b.c.facts[i]
	f.fault = o.fault
	if o.body != nil {
		f.seq = c.nextSeq(op.GroupID)
		c.logged(op.GroupID, f.seq, i)
		engine.Put(&b.rows, keys.GroupOpLog{Group: op.GroupID, Seq: keys.NewSeq(f.seq)}, codec.OpLogValue{Op: o.inner})
	}
	b.putFact(i)
	c.ledger.Open(i, o.body, o.fault)
	c.contents.forget()
	if op.Version == codec.OpVersion1 {
		c.handouts.again = true
		c.shut.drop(op.GroupID, i)
	}
	clear(c.due)
	b.taken++ // its rows follow
	return nil
}

// collectAgain takes the keys of all ops once more, when this node has just got an identity:
// some are for it, and open what was sealed.
func (b *batch) collectAgain() error {
	for i := range b.c.ledger.Len() {
		op, err := b.stored(b.c.ledger.Op(i).ID)
		if err != nil {
			return err
		}
		if err := b.use(b.collect(op)); err != nil {
			return err
		}
	}
	return nil
}
