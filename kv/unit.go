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
	store *Store
	view  engine.Overlay
	batch *engine.Batch
	now   uint64 // ms

	arena   []byte // what has been read, and keys
	scratch []byte // a value on its way into the batch
	read    read   // the last row that was read
	spaces  []*Tx
	armed   uint64 // the earliest moment that became due; MaxUint64: none
}

// read is what was under a key, so that a row that is looked at twice in a row, without
// a change of it in between, is read once.
type read struct {
	key, value []byte
	changes    int // of the batch when this was so
	err        error
}

// reset makes u a unit without changes, and keeps its memory.
func (u *unit) reset(g engine.Getter, b *engine.Batch) {
	u.view.Reset(g, b)
	u.batch, u.armed = b, math.MaxUint64
	u.arena, u.spaces, u.read = u.arena[:0], u.spaces[:0], read{}
}

// get returns the value of a row as the unit leaves it, or engine.ErrNotFound.
// The value is valid until the unit ends; it must not be changed.
func (u *unit) get(key []byte) ([]byte, error) {
	if u.read.key == nil || u.read.changes != u.batch.Len() || !bytes.Equal(u.read.key, key) {
		u.read = read{key: u.keep(key), changes: u.batch.Len()}
		start := len(u.arena)
		var grown []byte
		if grown, u.read.err = u.view.Get(u.arena, column.Generic, key); u.read.err == nil {
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
	u.changes(key)
	u.batch.Put(column.Generic, key, value)
}

func (u *unit) delete(key []byte) {
	u.changes(key)
	u.batch.Delete(column.Generic, key)
}

// changes is called before a change of one row.
func (u *unit) changes(key []byte) {
	if u.read.changes == u.batch.Len() && !bytes.Equal(u.read.key, key) {
		u.read.changes++
	}
}

// deleteAll removes the rows whose keys begin with prefix.
func (u *unit) deleteAll(prefix []byte) {
	u.batch.DeleteRange(column.Generic, prefix, engine.Successor(prefix))
}

// tx returns the transaction of a space within the unit, or ErrSpaceNotFound.
func (u *unit) tx(scope keys.Scope, t *Type) (*Tx, error) {
	tx := u.known(scope, t)
	return tx, tx.load()
}

// known returns the transaction of a space within the unit, whose counters may not have been
// read yet.
func (u *unit) known(scope keys.Scope, t *Type) *Tx {
	for _, tx := range u.spaces {
		if tx.scope == scope {
			return tx
		}
	}
	tx := &Tx{u: u, scope: scope, typ: t}
	u.spaces = append(u.spaces, tx)
	return tx
}

// load reads the counters of a space, once, or returns ErrSpaceNotFound.
func (tx *Tx) load() error {
	if tx.row != nil {
		return nil
	}
	row := tx.u.key(Row{Scope: tx.scope, Shape: ShapeMeta})
	value, err := tx.u.get(row)
	if errors.Is(err, engine.ErrNotFound) {
		return noSpace()
	}
	if err != nil {
		return err
	}
	meta, err := parseMeta(row, value)
	if err != nil {
		return err
	}
	tx.row, tx.before, tx.meta = row, meta, meta
	return nil
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
