package dag

import (
	"errors"

	"github.com/google/btree"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// view is the store with the changes of a batch that is being made on top, of the
// columns that deltas are read from: Delta and Generic. A batch that nobody reads
// costs nothing: its changes are looked through when the first read comes. It is
// for one goroutine.
type view struct {
	base  engine.Reader
	batch *engine.Batch // nil: none
	seen  int           // bytes of the batch that are in rows

	deltas  map[string]row
	generic map[string]row
	ordered *btree.BTreeG[string] // the keys of generic

	buf []byte
}

// row is a row as the batch leaves it.
type row struct {
	value   []byte // a part of the bytes of the batch
	deleted bool
}

// reset goes to the beginning of another batch.
func (v *view) reset() {
	v.seen = 0
	clear(v.deltas)
	clear(v.generic)
	if v.ordered != nil {
		v.ordered.Clear(true)
	}
}

// update takes in what the batch has got since the last time.
func (v *view) update() error {
	if v.batch == nil || v.batch.Len() == 0 {
		return nil
	}
	ops := v.batch.Bytes()
	if v.seen == len(ops) {
		return nil
	}
	if v.generic == nil {
		v.deltas, v.generic = make(map[string]row), make(map[string]row)
		v.ordered = btree.NewOrderedG[string](16)
	}
	// A header before what is new makes it the bytes of a batch.
	from := max(v.seen, engine.BatchHeader)
	for op, err := range engine.Changes(ops[from-engine.BatchHeader:]) {
		if err != nil {
			return err
		}
		switch op.Column {
		case column.Delta:
			v.deltas[string(op.Key)] = row{op.Value, op.Kind == engine.KindDelete}
		case column.Generic:
			key := string(op.Key)
			v.generic[key] = row{op.Value, op.Kind == engine.KindDelete}
			v.ordered.ReplaceOrInsert(key)
		}
	}
	v.seen = len(ops)
	return nil
}

// Get appends the value of a row of column Delta or Generic, the changes of the batch
// included. It returns engine.ErrNotFound where there is none.
func (v *view) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	if err := v.update(); err != nil {
		return dst, err
	}
	rows := v.generic
	if col == column.Delta {
		rows = v.deltas
	}
	if v.seen > 0 {
		if r, ok := rows[string(key)]; ok {
			if r.deleted {
				return dst, engine.ErrNotFound
			}
			return append(dst, r.value...), nil
		}
	}
	return v.base.Get(dst, col, key)
}

// has reports whether there is a row of Generic under key.
func (v *view) has(key []byte) (bool, error) {
	var err error
	v.buf, err = v.Get(v.buf[:0], column.Generic, key)
	if errors.Is(err, engine.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// errStop ends a scan that has seen enough.
var errStop = errors.New("dag: enough")

// scan calls fn with the rows of Generic from start on whose keys begin with
// prefix, in order, until it returns an error; errStop is none. fn must not change
// the batch; key and value are valid during the call.
func (v *view) scan(prefix, start []byte, fn func(key, value []byte) error) error {
	if err := v.update(); err != nil {
		return err
	}
	rg := engine.Prefixed(prefix)
	rg.Start = start
	var err error
	if v.seen == 0 {
		err = each(v.base, rg, fn)
	} else {
		err = v.merge(rg, fn)
	}
	if err == errStop {
		return nil
	}
	return err
}

// merge is scan where the batch has changes.
func (v *view) merge(rg engine.Range, fn func(key, value []byte) error) error {
	it, err := v.base.Iterate(column.Generic, rg)
	if err != nil {
		return err
	}
	defer it.Close()
	more := it.Next()
	// stored calls fn with what is stored before key and has no row here.
	stored := func(key string, all bool) error {
		for more && (all || string(it.Key()) < key) {
			if err := fn(it.Key(), it.Value()); err != nil {
				return err
			}
			more = it.Next()
		}
		if more && !all && string(it.Key()) == key {
			more = it.Next()
		}
		return it.Err()
	}
	visit := func(key string) bool {
		if err = stored(key, false); err == nil {
			if r := v.generic[key]; !r.deleted {
				err = fn([]byte(key), r.value)
			}
		}
		return err == nil
	}
	if rg.End == nil {
		v.ordered.AscendGreaterOrEqual(string(rg.Start), visit)
	} else {
		v.ordered.AscendRange(string(rg.Start), string(rg.End), visit)
	}
	if err != nil {
		return err
	}
	return stored("", true)
}
