package dag

import (
	"encoding/binary"
	"errors"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// refusal returns why a delta was refused, nil if that is not remembered.
func (g *group) refusal(id *codec.DeltaID) (*Refusal, error) {
	if g.c.refusals() == 0 {
		return nil, nil
	}
	key := refusalIndexKey(nil, &g.c.id, id)
	b, err := g.view.Get(nil, column.Generic, key)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	seq, ok := parseU64(b)
	if !ok {
		return nil, damagedRow(column.Generic, key, "not a number")
	}
	return g.refusalAt(seq)
}

func (g *group) refusalAt(seq uint64) (*Refusal, error) {
	key := refusalKey(nil, &g.c.id, seq)
	b, err := g.view.Get(nil, column.Generic, key)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, damagedRow(column.Generic, key, "a refusal is missing")
	}
	if err != nil {
		return nil, err
	}
	r, ok := parseRefusal(b)
	if !ok {
		return nil, damagedRow(column.Generic, key, "not a refusal")
	}
	return &r, nil
}

// refuse remembers a refusal in place of the oldest, if there are many, and leaves
// what waits for the delta to drain.
func (g *group) refuse(x *candidate, r *Refusal, a *Answer) error {
	c := g.c
	for c.refusals() >= g.s.options.MaxRefused {
		old, err := g.refusalAt(c.firstRefusal)
		if err != nil {
			return err
		}
		g.key = refusalKey(g.key[:0], &c.id, c.firstRefusal)
		g.delete(g.key)
		g.key = refusalIndexKey(g.key[:0], &c.id, &old.Delta)
		g.delete(g.key)
		c.firstRefusal++
	}
	g.key, g.value = refusalKey(g.key[:0], &c.id, c.nextRefusal), r.appendBinary(g.value[:0])
	g.put(g.key, g.value)
	g.key, g.value = refusalIndexKey(g.key[:0], &c.id, &r.Delta), appendU64(g.value[:0], c.nextRefusal)
	g.put(g.key, g.value)
	c.nextRefusal++

	if x.waited {
		if err := g.unwait(x); err != nil {
			return err
		}
		g.key = deltaKey(g.key[:0], &c.id, &r.Delta)
		g.batch.Delete(column.Delta, g.key)
	}
	if err := g.dropWaiting(x); err != nil {
		return err
	}
	if a.Kind == 0 {
		a.Kind, a.Refusal = Refused, r
	} else {
		a.Refused = append(a.Refused, *r)
	}
	return g.wake(&r.Delta, true, a)
}

func appendU64(dst []byte, n uint64) []byte { return binary.LittleEndian.AppendUint64(dst, n) }
