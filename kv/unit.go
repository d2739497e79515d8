package kv

import (
	"bytes"
	"errors"
	"math"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// unit is one batch in the making, over any spaces, as a function that
// engine.Update calls sees it: the store, and on top of it what the function has
// changed so far.
type unit struct {
	store  *Store
	getter engine.Getter
	batch  *engine.Batch
	now    uint64 // ms

	arena   []byte // what has been read, and keys
	scratch []byte // a value on its way into the batch
	read    read   // the last row that was read from the store
	changes []change
	index   map[string]int // into changes, once there are many
	ranges  []engine.Range // deleted, in force for rows without a change
	spaces  []*Tx
	armed   uint64 // the earliest moment that became due; MaxUint64: none
}

// change is a row that the unit has written: in the batch already, kept here for
// those who read it later.
type change struct {
	key, value []byte
	deleted    bool
}

// read is what the store has under a key, so that a row that is looked at twice
// in a row is read once.
type read struct {
	key, value []byte
	err        error
}

// manyChanges is how many changes are searched one by one.
const manyChanges = 16

// reset makes u a unit without changes, and keeps its memory.
func (u *unit) reset(g engine.Getter, b *engine.Batch) {
	u.getter, u.batch, u.armed = g, b, math.MaxUint64
	u.arena, u.index, u.spaces = u.arena[:0], nil, u.spaces[:0]
	u.read = read{}
	clear(u.changes)
	u.changes, u.ranges = u.changes[:0], u.ranges[:0]
}

func (u *unit) find(key []byte) *change {
	if u.index != nil {
		if i, ok := u.index[string(key)]; ok {
			return &u.changes[i]
		}
		return nil
	}
	for i := range u.changes {
		if bytes.Equal(u.changes[i].key, key) {
			return &u.changes[i]
		}
	}
	return nil
}

// get returns the value of a row as the unit leaves it, or engine.ErrNotFound.
// The value is valid until the unit ends; it must not be changed.
func (u *unit) get(key []byte) ([]byte, error) {
	if c := u.find(key); c != nil {
		if c.deleted {
			return nil, engine.ErrNotFound
		}
		return c.value, nil
	}
	for _, r := range u.ranges {
		if bytes.Compare(r.Start, key) <= 0 && bytes.Compare(key, r.End) < 0 {
			return nil, engine.ErrNotFound
		}
	}
	if u.read.key == nil || !bytes.Equal(u.read.key, key) {
		u.read.key, u.read.value = u.keep(key), nil
		start := len(u.arena)
		var grown []byte
		if grown, u.read.err = u.getter.Get(u.arena, column.Generic, key); u.read.err == nil {
			u.arena = grown
			u.read.value = grown[start:len(grown):len(grown)]
		}
	}
	return u.read.value, u.read.err
}

// key returns the bytes of a row's key, valid until the unit ends.
func (u *unit) key(r Row) []byte {
	start := len(u.arena)
	u.arena = r.AppendKey(u.arena)
	return u.arena[start:len(u.arena):len(u.arena)]
}

// keep returns a copy of b that is valid until the unit ends.
func (u *unit) keep(b []byte) []byte {
	start := len(u.arena)
	u.arena = append(u.arena, b...)
	return u.arena[start:len(u.arena):len(u.arena)]
}

func (u *unit) put(key, value []byte) {
	u.batch.Put(column.Generic, key, value)
	u.note(change{u.keep(key), u.keep(value), false})
}

func (u *unit) delete(key []byte) {
	u.batch.Delete(column.Generic, key)
	u.note(change{u.keep(key), nil, true})
}

// deleteAll removes the rows whose keys begin with prefix.
func (u *unit) deleteAll(prefix []byte) {
	r := engine.Prefixed(u.keep(prefix))
	u.batch.DeleteRange(column.Generic, r.Start, r.End)
	for i := range u.changes {
		if bytes.HasPrefix(u.changes[i].key, prefix) {
			u.changes[i].value, u.changes[i].deleted = nil, true
		}
	}
	u.ranges = append(u.ranges, r)
}

func (u *unit) note(c change) {
	if old := u.find(c.key); old != nil {
		*old = c
		return
	}
	u.changes = append(u.changes, c)
	switch {
	case u.index != nil:
		u.index[string(c.key)] = len(u.changes) - 1
	case len(u.changes) > manyChanges:
		u.index = make(map[string]int, 4*manyChanges)
		for i := range u.changes {
			u.index[string(u.changes[i].key)] = i
		}
	}
}

// tx returns the transaction of a space within the unit, or ErrSpaceNotFound.
func (u *unit) tx(scope keys.Scope, t *Type) (*Tx, error) {
	for _, tx := range u.spaces {
		if tx.scope == scope {
			return tx, nil
		}
	}
	row := u.key(Row{Scope: scope, Shape: ShapeMeta})
	value, err := u.get(row)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, noSpace()
	}
	if err != nil {
		return nil, err
	}
	meta, err := parseMeta(row, value)
	if err != nil {
		return nil, err
	}
	tx := &Tx{u: u, scope: scope, typ: t, row: row, before: meta, meta: meta}
	u.spaces = append(u.spaces, tx)
	return tx, nil
}

// finish puts the counters of the spaces into the batch, and refuses what is
// beyond a quota.
func (u *unit) finish() error {
	for _, tx := range u.spaces {
		if err := tx.finish(); err != nil {
			return err
		}
	}
	return nil
}

// due puts a row into the line of what is due.
func (u *unit) due(r Row) {
	u.put(u.key(r), nil)
	u.armed = min(u.armed, r.Due)
}
