package inspect

import (
	"encoding/binary"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/keys"
)

// checkContextHeads checks that the heads of a context are applied deltas.
func checkContextHeads(v *verifier) check {
	return rowCheck(func(r row) error {
		meta, err := codec.ContextMetaValue{}.Decode(r.value)
		id := codec.ContextID(r.key)
		if err != nil || v.moving(id) {
			return err
		}
		for _, h := range meta.DagHeads {
			if h.IsZero() {
				continue // there are more, in dag-head
			}
			d, ok, err := get(v, keys.ContextDagDelta{Context: id, Delta: h})
			if err != nil {
				return err
			}
			switch {
			case !ok:
				err = v.found("head-missing", column.Meta, r.key, "the head %s is no delta of the context", h)
			case !d.Applied:
				err = v.found("head-pending", column.Meta, r.key, "the head %s is not applied", h)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// contextScope is the scope of what dag knows of a seeded context.
const contextScope = "dag-context"

// seeded returns the base of a context, zero if it was not seeded, and whether its
// rows are just being replaced by those of a snapshot.
func (v *verifier) seeded(id codec.ContextID) (base codec.DeltaID, moving bool) {
	s, err := keys.NewScope(contextScope)
	if err != nil {
		return base, false
	}
	b, ok, err := get(v, keys.Generic{Scope: s, Fragment: keys.NewBytes(id[:])})
	if err != nil || !ok || len(b) < len(base)+1 {
		return base, false
	}
	return codec.DeltaID(b), b[len(b)-1] != 0
}

func (v *verifier) moving(id codec.ContextID) bool {
	_, moving := v.seeded(id)
	return moving
}

// seqScope is the scope of the numbers of applied deltas, by their ids.
const seqScope = "dag-seq"

// deltas checks that deltas stand under their id, and that what an applied one names
// as parents is applied; but for that which a snapshot began with.
type deltas struct {
	v       *verifier
	numbers keys.Scope

	context codec.ContextID // of the last row; how it began follows
	base    codec.DeltaID
	moving  bool
	some    bool
}

func checkDeltas(v *verifier) check {
	s, _ := keys.NewScope(seqScope) // it is a name
	return &deltas{v: v, numbers: s}
}

func (c *deltas) row(r row) error {
	d, err := codec.ContextDagDeltaValue{}.Decode(r.value)
	if err != nil {
		return err
	}
	id := codec.ContextID(r.key)
	if d.DeltaID != codec.DeltaID(r.key[len(id):]) {
		return c.v.found("delta-id", column.Delta, r.key, "the delta says that it is %s", d.DeltaID)
	}
	if !d.Applied || len(d.Parents) == 0 {
		return nil
	}
	if !c.some || id != c.context {
		c.some, c.context = true, id
		c.base, c.moving = c.v.seeded(id)
	}
	if c.moving || c.base == d.DeltaID {
		return nil
	}
	for _, p := range d.Parents {
		if err := c.parent(r.key, id, p); err != nil {
			return err
		}
	}
	return nil
}

// parent checks that p is applied: it has a number, which is a smaller row than the
// delta, and of which the replay finds whether it has a delta; else the delta says
// what is wrong.
func (c *deltas) parent(key []byte, id codec.ContextID, p codec.DeltaID) error {
	numbered, err := has(c.v, keys.Generic{Scope: c.numbers, Fragment: keys.NewBytes(append(id[:], p[:]...))})
	if numbered || err != nil {
		return err
	}
	parent, ok, err := get(c.v, keys.ContextDagDelta{Context: id, Delta: p})
	switch {
	case err != nil:
		return err
	case !ok:
		return c.v.found("delta-parent", column.Delta, key, "its parent %s is not there", p)
	case !parent.Applied:
		return c.v.found("delta-parent", column.Delta, key, "its parent %s is not applied", p)
	}
	return nil
}

func (*deltas) end() error { return nil }

// orderScope is the scope of the applied deltas in the order of application.
const orderScope = "dag-order"

// order checks that the places of a context's deltas have no gaps.
type order struct {
	v       *verifier
	context codec.ContextID
	next    uint64
}

func checkOrder(v *verifier) check { return &order{v: v} }

func (o *order) row(r row) error {
	s := keys.Scope(r.key)
	if s.String() != orderScope {
		return nil
	}
	at := r.key[len(s):]
	id, seq := codec.ContextID(at), binary.BigEndian.Uint64(at[contextBytes:])
	if id != o.context || o.next == 0 {
		o.context, o.next = id, 1
	}
	want := o.next
	o.next = seq + 1
	if seq != want && !o.v.moving(id) {
		return o.v.found("order-gap", column.Generic, r.key, "place %d instead of %d in the order of application", seq, want)
	}
	return nil
}

func (*order) end() error { return nil }
