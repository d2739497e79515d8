package engine

import (
	"bytes"

	"github.com/stoadb/stoa/column"
)

// overlay is the store as the requests of a group so far leave it: their
// changes on top of what is written. It belongs to one goroutine.
type overlay struct {
	base   Getter
	rows   map[string]row // column byte and key
	ranges []Op           // deleted ranges, in force for keys without a row
	key    []byte         // scratch: column byte and key
	got    []byte         // scratch: the value of an expectation
}

type row struct {
	value   []byte // a part of the bytes of a batch of the group
	deleted bool
}

// Get returns what the group so far leaves under key.
func (v *overlay) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	if len(v.rows) > 0 {
		if r, ok := v.rows[string(v.at(col, key))]; ok {
			if r.deleted {
				return dst, ErrNotFound
			}
			return append(dst, r.value...), nil
		}
	}
	for _, op := range v.ranges {
		if op.covers(col, key) {
			return dst, ErrNotFound
		}
	}
	return v.base.Get(dst, col, key)
}

// apply puts the changes of b, which is well formed, on top.
func (v *overlay) apply(b *Batch) {
	if v.rows == nil {
		v.rows = make(map[string]row)
	}
	for op := range b.Ops {
		switch op.Kind {
		case KindPut:
			v.rows[string(v.at(op.Column, op.Key))] = row{value: op.Value}
		case KindDelete:
			v.rows[string(v.at(op.Column, op.Key))] = row{deleted: true}
		case KindDeleteRange:
			v.ranges = append(v.ranges, op)
			for at := range v.rows {
				if op.covers(column.Column(at[0]), []byte(at[1:])) {
					delete(v.rows, at)
				}
			}
		}
	}
}

func (v *overlay) reset() {
	clear(v.rows)
	v.ranges = v.ranges[:0]
}

func (v *overlay) at(col column.Column, key []byte) []byte {
	v.key = append(append(v.key[:0], byte(col)), key...)
	return v.key
}

// covers reports whether a range deletion takes key in col.
func (op Op) covers(col column.Column, key []byte) bool {
	return op.Column == col && bytes.Compare(op.Key, key) <= 0 && bytes.Compare(key, op.Value) < 0
}
