package namespace

import (
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/group"
)

// arrival is an op that has passed [Check], on its way into the DAG.
type arrival struct {
	op    *Op
	read  *opened // as it was read before its turn came; nil: no key for it was here
	waits bool    // it is one of those that wait
}

// accept judges whether an op can be taken, and takes it, has it wait, or refuses it.
func (b *batch) accept(x *arrival, a *Answer) error {
	c, op := b.c, x.op
	a.Namespace, a.ID = c.id, op.ID
	if !x.waits { // what came before it, and has waited, comes first
		if err := b.drain(); err != nil {
			return err
		}
	}
	if i, known := c.ledger.Find(op.ID); known {
		a.Kind = Duplicate
		a.Verdict = c.ledger.Verdict(i)
		b.answers = append(b.answers, a)
		return nil
	}
	if gone, refused := c.refused.among(op.Parents); refused {
		if x.waits {
			b.release(op.ID)
		}
		b.refuse(orphaned(op.ID, gone), a)
		return nil
	}
	if w := c.pending.ops[op.ID]; w != nil && !x.waits {
		if a.Kind, a.Missing = Pending, c.missing(op.Parents); len(a.Missing) > 0 || c.isFork(op.Signer, op.Nonce, op.Parents) {
			return nil
		}
		x.waits = true // for nothing any more
	}
	if missing := c.missing(op.Parents); len(missing) > 0 {
		a.Kind, a.Missing = Pending, missing
		if err := b.hold(x, a); err != nil || len(c.pending.ready) == 0 {
			return err
		}
		return b.vouch(op, a)
	}
	refusal, err := c.admit(op)
	if err != nil {
		return err
	}
	if refusal == nil && (c.isFork(op.Signer, op.Nonce, op.Parents) || c.isCostly(op)) && !c.pending.isWanted(op.ID, op.Signer) {
		a.Kind = Pending
		if x.waits {
			return nil
		}
		return b.hold(x, a)
	}
	if x.waits {
		b.release(op.ID)
	}
	if refusal != nil {
		b.refuse(refusal, a)
		return nil
	}
	return b.take(op, x.read, a)
}

// take takes an op that is admissible into the DAG, with the keys that it brings and what
// they open. read is what it seals, if that is known.
func (b *batch) take(op *Op, read *opened, a *Answer) error {
	c := b.c
	fresh := b.collect(op)
	if read == nil {
		var err error
		if read, err = b.read(op); err != nil {
			return err
		}
	} else if op.sealed() && op.Version == codec.OpVersion2 { // what was known before is found out of what is loaded now
		if _, _, err := b.keyFor(op); err != nil {
			return err
		}
	}
	if err := b.put(op, read, a); err != nil {
		return err
	}
	if err := b.use(fresh); err != nil {
		return err
	}
	for _, child := range c.pending.childrenOf(op.ID) {
		if w := c.pending.ops[child]; len(c.missing(w.parents)) == 0 {
			w.answer = a
			c.pending.ready = append(c.pending.ready, child)
		}
	}
	return nil
}

// read reads an op of a group as far as this node can: nil if its key is not here.
func (b *batch) read(op *Op) (*opened, error) {
	switch {
	case op.Clear != nil:
		inner, err := innerOf(op.Signed)
		return &opened{body: op.Clear, inner: inner}, err
	case !op.sealed() || op.Signed == nil:
		return nil, nil
	case op.Version == codec.OpVersion2:
		key, fault, err := b.keyFor(op)
		if key == nil || err != nil {
			return fault, err
		}
		return b.s.openWith(op, *key), nil
	}
	key, ok := b.c.ring[GroupKey{op.GroupID, op.KeyID}]
	if !ok {
		return nil, nil
	}
	return openWith(op, key, &b.s.verifier), nil
}

// keyFor returns the key under which an op of version 2 is sealed, if it is here and good;
// else nil, with what the op is for good where it is not.
func (b *batch) keyFor(op *Op) (*codec.Secret, *opened, error) {
	name := KeyName{op.GroupID, op.KeyOp}
	if key, ok := b.c.good[name]; ok {
		return &key, nil, nil
	}
	good, known, err := b.isGood(name)
	switch {
	case err != nil || !known:
		return nil, nil, err
	case !good:
		return nil, &opened{fault: group.BadKey}, nil
	}
	key := b.c.good[name]
	return &key, nil, nil
}

// hold has an op wait for its ancestors, and makes room.
func (b *batch) hold(x *arrival, a *Answer) error {
	c := b.c
	wire := x.op.wire()
	c.wait(x.op, len(wire), b.s.options.Now())
	b.rows.Put(column.Generic, numbered(pendingScope, c.id, c.pending.ops[x.op.ID].arrival), wire)
	a.Dropped = b.makeRoom()
	return nil
}

// vouch takes forks that an op builds on, for which it waits, and the op.
func (b *batch) vouch(op *Op, a *Answer) error {
	if err := b.drain(); err != nil {
		return err
	}
	if i, taken := b.c.ledger.Find(op.ID); taken {
		a.Kind, a.Missing = Stored, nil
		b.note(i, a)
	}
	return nil
}

// release takes an op from those that wait.
func (b *batch) release(id codec.OpID) {
	b.rows.Delete(column.Generic, numbered(pendingScope, b.c.id, b.c.pending.ops[id].arrival))
	b.c.forget(id)
}

// drain judges ops that have waited and wait no longer, until the batch is full.
func (b *batch) drain() error {
	p := &b.c.pending
	for len(p.ready) > 0 && !b.Full() {
		id := p.ready[0]
		p.ready = p.ready[1:]
		w := p.ops[id]
		if w == nil {
			continue
		}
		wire, err := b.view.Get(nil, column.Generic, numbered(pendingScope, b.c.id, w.arrival))
		if err != nil {
			return err
		}
		op, _, err := parseWire(wire)
		if err != nil {
			return damaged(numbered(pendingScope, b.c.id, w.arrival), err.Error())
		}
		a := &Answer{}
		if w.answer != nil {
			w.answer.cascade(a)
		}
		if err := b.accept(&arrival{op: op, waits: true}, a); err != nil {
			return err
		}
	}
	return nil
}

// cascade adds the answer to an op that has waited. It stays where it is, so that it can
// still be completed.
func (a *Answer) cascade(of *Answer) {
	if a.root != nil {
		a = a.root
	}
	of.root = a
	a.later = append(a.later, of)
}

// complete copies the answers of the cascade.
func (a *Answer) complete() {
	for _, of := range a.later {
		done := *of
		done.root = nil
		a.Cascade = append(a.Cascade, done)
	}
	a.later = nil
}

// admit returns why an op that passed [Check] may not stand on its ancestors, or nil. It
// asks only what is clear of them, so that every node decides alike, whatever keys it has:
// the signer is known, has the next nonce, and the groups and keys it names exist. So
// nothing that is signed in one namespace reaches a row of another's group.
func (c *loaded) admit(op *Op) (*Refusal, error) {
	if len(op.Parents) == 0 {
		if c.ledger.Len() > 0 {
			return &Refusal{op.ID, BadForm, "the namespace has been created by op " + c.ledger.Op(0).ID.String()}, nil
		}
		return nonceFault(op, 1), nil
	}
	cut, err := c.ledger.Cut(op.Parents)
	if err != nil {
		return nil, err
	}
	states := op.Root != nil && op.Root.Kind == codec.RootAuthorityStated
	if v := c.version(cut); op.Version != v && !states {
		return &Refusal{op.ID, BadForm, fmt.Sprintf("version %d, on ops of a namespace of version %d", op.Version+1, v+1)}, nil
	}
	if !c.holders.isKnown(op.Signer, cut) {
		return &Refusal{op.ID, Stranger, "signed by " + op.Signer.String()}, nil
	}
	if r := nonceFault(op, cut.LastNonce(op.Signer)+1); r != nil {
		return r, nil
	}
	for _, g := range op.groups() {
		if !c.holders.isCreated(g, cut) {
			return &Refusal{op.ID, UnknownGroup, "no ancestor creates group " + g.String() + " in this namespace"}, nil
		}
	}
	if detail := c.keyFault(op, cut); detail != "" {
		return &Refusal{op.ID, UnknownKey, detail}, nil
	}
	return nil, nil
}

func nonceFault(op *Op, next uint64) *Refusal {
	detail := fmt.Sprintf("nonce %d, the next is %d", op.Nonce, next)
	switch {
	case op.Nonce < next:
		return &Refusal{op.ID, Replay, detail}
	case op.Nonce > next:
		return &Refusal{op.ID, BadNonce, detail}
	default:
		return nil
	}
}

func (c *loaded) keyFault(op *Op, cut group.Cut) string {
	if op.Version == codec.OpVersion2 {
		return c.nameFault(op, cut)
	}
	if op.Root != nil {
		k := GroupKey{op.Root.GroupID, op.Root.KeyID}
		if op.Root.Kind == codec.RootKeyDelivery && !c.holders.holds(k, cut, op.Signer) {
			return fmt.Sprintf("the signer delivers key %s, which it was never sent", k.KeyID)
		}
		return ""
	}
	introduced := c.holders.hasKey(GroupKey{op.GroupID, op.KeyID}, cut)
	for _, r := range op.Rotations {
		if c.holders.hasKey(GroupKey{r.GroupID, r.NewKeyID}, cut) {
			return fmt.Sprintf("the new key %s is not new", r.NewKeyID)
		}
		if r.Previous.Valid && !c.holders.hasKey(GroupKey{r.GroupID, r.Previous.V}, cut) {
			return fmt.Sprintf("no ancestor introduces the previous key %s", r.Previous.V)
		}
		introduced = introduced || r.GroupID == op.GroupID && r.NewKeyID == op.KeyID
	}
	if !introduced {
		return fmt.Sprintf("no ancestor introduces %s", op.KeyID)
	}
	return ""
}

// nameFault is keyFault of version 2: an op names keys that its ancestors introduce.
func (c *loaded) nameFault(op *Op, cut group.Cut) string {
	var named []KeyName
	switch {
	case op.Root != nil && op.Root.Kind == codec.RootKeyDelivered:
		named = append(named, KeyName{op.Root.GroupID, op.Root.KeyOp})
	case op.Root != nil:
	case op.Clear == nil:
		named = append(named, KeyName{op.GroupID, op.KeyOp})
	}
	for _, k := range op.Keys {
		for _, earlier := range k.Carried {
			named = append(named, KeyName{k.GroupID, earlier})
		}
	}
	for _, name := range named {
		if !c.isIntroduced(name, cut) {
			return fmt.Sprintf("no ancestor introduces a key of group %s by op %s", name.GroupID, name.Op)
		}
	}
	return ""
}
