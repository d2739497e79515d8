package namespace

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/keys"
)

// Finding is something that is not as it must be.
type Finding struct {
	Column column.Column
	Key    []byte
	What   string         // for people
	By     codec.Identity // who has signed what is bad, and all nodes keep; zeros: the store is damaged
}

// fewOps is up to how many ops are evaluated by the definition itself.
const fewOps = 2000

// Verify takes all ops of a namespace in again, in memory, and returns every difference
// between what follows from them and what is stored: signatures, ids, nonces, verdicts
// and rows. Up to 2,000 ops are evaluated by [group.Evaluate] too. After these come the bad
// keys that members have given their groups, which are no difference. It returns [ErrRules]
// for rows that other rules have made than those of this build.
func (s *Store) Verify(ctx context.Context, ns codec.GroupID) (found []Finding, err error) {
	err = s.view(ns, func(c *loaded) error {
		made, err := rulesOf(s.db, ns)
		if err == nil {
			err = olderRules(ns, made)
		}
		if err != nil {
			return err
		}
		v := &verifying{s: s, c: c, ctx: ctx}
		if err := v.replay(); err != nil {
			return err
		}
		if err := v.compareRows(); err != nil {
			return err
		}
		found = append(v.found, v.signed...)
		return nil
	})
	return found, err
}

type verifying struct {
	s     *Store
	c     *loaded // as it is
	again *loaded // as it should be
	ctx   context.Context
	read  []group.Op
	found []Finding

	signed []Finding // what somebody is to blame for
}

func (v *verifying) find(col column.Column, key []byte, format string, args ...any) {
	v.found = append(v.found, Finding{Column: col, Key: key, What: fmt.Sprintf(format, args...)})
}

// replay takes all ops in again.
func (v *verifying) replay() error {
	c := v.c
	again := newLoaded(c.id)
	again.identity, again.ring, again.ledger = c.identity, c.ring, group.NewLedger(c.id, c.self())
	again.ledger.Hold()
	v.again = again
	for i := range c.ledger.Len() {
		if err := v.ctx.Err(); err != nil {
			return err
		}
		id := c.ledger.Op(i).ID
		key, err := keys.NamespaceGovOp{Namespace: c.id, Delta: id}.AppendBinary(nil)
		if err != nil {
			return err
		}
		op, err := readOp(v.s.db, c.id, id)
		if err != nil {
			return err
		}
		if op.Signed != nil {
			if op, err = Check(op.Signed); err != nil {
				v.find(column.Group, key, "%v", err)
				return nil
			}
		}
		if op.ID != id {
			v.find(column.Group, key, "the op has id %s", op.ID)
			return nil // others may stand on the one that is not there
		}
		refusal, err := again.admit(op)
		if err != nil {
			return err
		}
		if refusal != nil && refusal.Reason != UnknownGroup { // which is void, and no damage
			v.find(column.Group, key, "%v", refusal)
		}
		if err := v.retake(i, op); err != nil {
			return err
		}
	}
	again.ledger.Settle()
	for i := range c.ledger.Len() {
		if have, want := c.ledger.Verdict(i), again.ledger.Verdict(i); have != want {
			v.find(column.Group, nil, "op %s is %s, and should be %s", c.ledger.Op(i).ID, have, want)
		}
	}
	return nil
}

// retake adds op i, as it can be read, and looks at its row in the log.
func (v *verifying) retake(i int, op *Op) error {
	f := v.c.facts[i]
	o, err := v.opened(op)
	if err != nil {
		return err
	}
	read, stray := op.asRead(o.body, o.fault), v.again.isStray(op)
	if !stray && ((read.Body != nil) != (f.seq > 0) || read.Fault != f.fault) {
		v.find(column.Generic, numbered(opScope, v.c.id, uint64(i)), "op %s is readable: %t, fault: %s; stored as number %d, fault: %s",
			op.ID, read.Body != nil, read.Fault, f.seq, f.fault)
	}
	if read.Body != nil && f.seq > 0 {
		key := keys.GroupOpLog{Group: op.GroupID, Seq: keys.NewSeq(f.seq)}
		row, err := engine.Get(v.s.db, key)
		if err != nil {
			return err
		}
		if !bytes.Equal(o.inner, row.Op) {
			b, _ := key.AppendBinary(nil)
			v.find(column.Group, b, "it is not what op %s says", op.ID)
		}
	}
	if stray {
		read.Body, read.Fault = nil, group.NoGroup
	}
	v.read = append(v.read, *read)
	if _, err := v.again.add(op, fact{id: op.ID, seq: f.seq, fault: read.Fault}, read.Body, op.Signed != nil); err != nil {
		return err
	}
	return v.rejudge(i, op)
}

// opened reads an op again, as far as the keys that are here go.
func (v *verifying) opened(op *Op) (*opened, error) {
	switch {
	case op.Clear != nil:
		inner, err := innerOf(op.Signed)
		return &opened{body: op.Clear, inner: inner}, err
	case !op.sealed() || op.Signed == nil:
		return &opened{}, nil
	case op.Version == codec.OpVersion1:
		if key, ok := v.again.ring[GroupKey{op.GroupID, op.KeyID}]; ok {
			return openWith(op, key, nil), nil
		}
		return &opened{}, nil
	}
	name := KeyName{op.GroupID, op.KeyOp}
	good, known, err := v.again.isGood(name, v.stored)
	switch {
	case err != nil || !known:
		return &opened{}, err
	case !good:
		return &opened{fault: group.BadKey}, nil
	}
	return openWith(op, v.again.good[name], nil), nil
}

func (v *verifying) stored(id codec.OpID) (*Op, error) { return readOp(v.s.db, v.c.id, id) }

// rejudge looks at what was found out of the keys that op i hands out.
func (v *verifying) rejudge(i int, op *Op) error {
	if _, err := v.again.judgeHandouts(); err != nil {
		return err
	}
	for k, have := range v.c.facts[i].keys {
		want := v.again.facts[i].keys[k]
		if (have == keyWrong) != (want == keyWrong) {
			v.find(column.Generic, numbered(opScope, v.c.id, uint64(i)), "key %d of op %s was given to those who were to have it: %t; stored otherwise", k, op.ID, want != keyWrong)
		}
	}
	blame := func(g codec.GroupID, what string) {
		v.signed = append(v.signed, Finding{Column: column.Group, By: op.Signer, What: fmt.Sprintf("op %s by %s %s", op.ID, op.Signer, fmt.Sprintf(what, g))})
	}
	if r := op.Root; r != nil && op.handsOut() > 0 && v.again.facts[i].keys[0] == keyWrong {
		blame(r.GroupID, "sends a key of group %s to somebody who is no member, or was sent by who does not hold it")
	}
	for _, k := range op.Keys {
		if _, _, err := v.again.isGood(KeyName{k.GroupID, op.ID}, v.stored); err != nil {
			return err
		}
		switch state := *v.again.state(i, k.GroupID); {
		case state == keyWrong:
			blame(k.GroupID, "gives group %s a key that is not for exactly its members")
		case state == keyBad:
			blame(k.GroupID, "gives group %s a key that not all can open for whom it is, or that does not open what it says")
		case v.again.isCheated(op.Signed, k.GroupID):
			blame(k.GroupID, "gives group %s a key that does not open with what it sends this node")
		}
	}
	return nil
}

// compareRows compares the rows of the Group column that follow from the ops.
func (v *verifying) compareRows() error {
	rows, _, err := v.again.ledger.Rows()
	if err != nil {
		return err
	}
	want := wanted{}
	want.add(rows)
	defined := maps.Clone(want)
	if len(v.read) <= fewOps && len(v.read) == v.c.ledger.Len() {
		result, err := group.Evaluate(v.read, v.c.self())
		if err != nil {
			return err
		}
		if len(result.Rows) != len(defined) {
			v.find(column.Group, nil, "%d rows follow from the definition, %d from the ledger", len(result.Rows), len(defined))
		}
		for _, r := range result.Rows {
			if have, ok := defined[string(r.Key)]; !ok || !bytes.Equal(have, r.Value) {
				v.find(column.Group, r.Key, "by the definition it is %x, by the ledger %x", r.Value, have)
			}
		}
	}
	if err := v.compareHomes(want); err != nil {
		return err
	}
	return v.compareStored(want)
}

// compareStored looks at all rows of the groups of the namespace.
func (v *verifying) compareStored(want wanted) error {
	return differing(v.s.db, v.again.follows(), want, func(key, have, due []byte) error {
		switch {
		case due == nil:
			v.find(column.Group, slices.Clone(key), "it should not be there")
		case have == nil:
			v.find(column.Group, slices.Clone(key), "it is missing")
		default:
			v.find(column.Group, slices.Clone(key), "it is %x, and should be %x", have, due)
		}
		return nil
	})
}
