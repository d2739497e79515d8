package engine

import (
	"bytes"
	"errors"
	"maps"

	"github.com/stoadb/stoa/column"
)

// What an overlay may hold before it is full, so that neither its memory nor the
// time that deleted ranges cost grows with the batches of a group.
const (
	maxOverlayChanges = 1 << 14
	maxOverlayRanges  = 64
	keepOverlayRows   = 1 << 10 // of one column, between groups
)

// overlay is the store as the requests of a group so far leave it: their
// changes on top of what is written. Any number of goroutines may read it at
// once; only one changes it, while nobody reads.
type overlay struct {
	base    Getter
	changes int // applied
	rows    [column.Count + 1]map[string]row
	ranges  []Op   // deleted ranges, in force for keys without a row
	got     []byte // scratch of check: the value of an expectation
}

type row struct {
	value   []byte // a part of the bytes of a batch of the group
	deleted bool
}

// Get returns what the group so far leaves under key.
func (v *overlay) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	if v.changes == 0 || !col.Valid() {
		return v.base.Get(dst, col, key)
	}
	if r, ok := v.rows[col][string(key)]; ok {
		if r.deleted {
			return dst, ErrNotFound
		}
		return append(dst, r.value...), nil
	}
	for _, op := range v.ranges {
		if op.Column == col && op.covers(key) {
			return dst, ErrNotFound
		}
	}
	return v.base.Get(dst, col, key)
}

// full reports whether changes may be missing, so that v is not to be read any
// more before it is reset.
func (v *overlay) full() bool {
	return v.changes >= maxOverlayChanges || len(v.ranges) >= maxOverlayRanges
}

// apply puts the changes of b, which is well formed, on top, until v is full.
func (v *overlay) apply(b *Batch) {
	for op := range b.Ops {
		if v.full() {
			return
		}
		v.changes++
		if op.Kind == KindDeleteRange {
			v.ranges = append(v.ranges, op)
			maps.DeleteFunc(v.rows[op.Column], func(key string, _ row) bool { return op.covers([]byte(key)) })
			continue
		}
		if v.rows[op.Column] == nil {
			v.rows[op.Column] = make(map[string]row)
		}
		v.rows[op.Column][string(op.Key)] = row{op.Value, op.Kind == KindDelete}
	}
}

// reset empties v and lets go of the batches that it refers to.
func (v *overlay) reset() {
	if cap(v.got) > keepBytes {
		v.got = nil
	}
	if v.changes == 0 {
		return
	}
	for col, rows := range v.rows {
		if len(rows) > keepOverlayRows { // clearing costs what the map once grew to
			v.rows[col] = nil
		}
		clear(rows)
	}
	clear(v.ranges)
	v.changes, v.ranges = 0, v.ranges[:0]
}

// covers reports whether a range deletion takes key, in its column.
func (op Op) covers(key []byte) bool {
	return bytes.Compare(op.Key, key) <= 0 && bytes.Compare(key, op.Value) < 0
}

// check returns a *Conflict if an expectation of b does not hold in v.
func (v *overlay) check(b *Batch) error {
	for e, err := range b.Expected {
		if err != nil {
			return err
		}
		v.got, err = v.Get(v.got[:0], e.Column, e.Key)
		absent := errors.Is(err, ErrNotFound)
		if err != nil && !absent {
			return err
		}
		if absent != e.Absent || string(v.got) != string(e.Want) {
			return &Conflict{Column: e.Column, Key: bytes.Clone(e.Key), Absent: e.Absent}
		}
	}
	return nil
}
