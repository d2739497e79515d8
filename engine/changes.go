package engine

import (
	"bytes"
	"unsafe"

	"github.com/google/btree"

	"github.com/stoadb/stoa/column"
)

// What changes keep of their memory when they are emptied: clearing costs what has
// once been there.
const keepChanges = 1 << 12

// fewChanges is how many changes are looked through one by one.
const fewChanges = 12

// changes are rows as batches leave them, without what is stored. The zero changes
// are none. Any number of goroutines may read them at once; only one takes more,
// while nobody reads.
type changes struct {
	rows   []row
	index  [column.Count + 1]map[string]int32 // where a key is among rows, once there are more than few
	ranges []Op                               // deleted ranges, in force for keys without a row
	sorted [column.Count + 1]*sortedRows
}

// row is what is under a key once a batch is applied.
type row struct {
	column  column.Column
	deleted bool
	key     []byte // it and value are parts of the bytes of a batch
	value   []byte
}

func (c *changes) none() bool { return len(c.rows) == 0 && len(c.ranges) == 0 }

// find returns the index of a row, or -1.
func (c *changes) find(col column.Column, key []byte) int32 {
	if !col.Valid() {
		return -1
	}
	if len(c.rows) <= fewChanges {
		for i := range c.rows {
			if r := &c.rows[i]; r.column == col && bytes.Equal(r.key, key) {
				return int32(i)
			}
		}
		return -1
	}
	if i, ok := c.index[col][string(key)]; ok {
		return i
	}
	return -1
}

// get returns what is under a key; known is false where that is for the store to say.
func (c *changes) get(col column.Column, key []byte) (value []byte, deleted, known bool) {
	if i := c.find(col, key); i >= 0 {
		return c.rows[i].value, c.rows[i].deleted, true
	}
	deleted = c.dropped(col, key)
	return nil, deleted, deleted
}

// dropped reports whether a key without a row lies in a deleted range.
func (c *changes) dropped(col column.Column, key []byte) bool {
	for _, op := range c.ranges {
		if op.Column == col && op.covers(key) {
			return true
		}
	}
	return false
}

// drops reports whether a deleted range has keys of r.
func (c *changes) drops(col column.Column, r *Range) bool {
	for _, op := range c.ranges {
		if op.Column == col && bytes.Compare(r.Start, op.Value) < 0 && (r.End == nil || bytes.Compare(op.Key, r.End) < 0) {
			return true
		}
	}
	return false
}

// take makes a change, whose bytes are to stay as they are.
func (c *changes) take(op Op) {
	if op.Kind == KindDeleteRange {
		for i := range c.rows {
			if r := &c.rows[i]; r.column == op.Column && op.covers(r.key) {
				r.value, r.deleted = nil, true
			}
		}
		c.ranges = append(c.ranges, op)
		return
	}
	if i := c.find(op.Column, op.Key); i >= 0 {
		c.rows[i].value, c.rows[i].deleted = op.Value, op.Kind == KindDelete
		return
	}
	c.rows = append(c.rows, row{op.Column, op.Kind == KindDelete, op.Key, op.Value})
	switch n := len(c.rows); {
	case n == fewChanges+1:
		for i := range c.rows {
			c.enter(i)
		}
	case n > fewChanges:
		c.enter(n - 1)
	}
}

// enter puts a row into the index, by the bytes of the batch, which stay as they are
// until c is emptied.
func (c *changes) enter(i int) {
	r := &c.rows[i]
	if c.index[r.column] == nil {
		c.index[r.column] = make(map[string]int32)
	}
	c.index[r.column][unsafe.String(unsafe.SliceData(r.key), len(r.key))] = int32(i)
}

// reset empties c and lets go of the batches that it refers to.
func (c *changes) reset() {
	if c.none() {
		return
	}
	if len(c.rows) > keepChanges {
		*c = changes{}
		return
	}
	if len(c.rows) > fewChanges {
		for _, index := range c.index {
			clear(index)
		}
	}
	clear(c.rows)
	clear(c.ranges)
	c.rows, c.ranges = c.rows[:0], c.ranges[:0]
	for _, s := range c.sorted {
		if s != nil {
			s.tree.Clear(true)
			s.seen = 0
		}
	}
}

// sortedRows are the rows of a column in the order of their keys, as far as somebody
// has asked for it.
type sortedRows struct {
	tree *btree.BTreeG[sortedRow]
	seen int // so many of the rows of all columns
}

type sortedRow struct {
	key []byte
	row int32
}

// sort returns the rows of a column in order.
func (c *changes) sort(col column.Column) *btree.BTreeG[sortedRow] {
	s := c.sorted[col]
	if s == nil {
		s = &sortedRows{tree: btree.NewG(16, func(a, b sortedRow) bool { return bytes.Compare(a.key, b.key) < 0 })}
		c.sorted[col] = s
	}
	for ; s.seen < len(c.rows); s.seen++ {
		if r := &c.rows[s.seen]; r.column == col {
			s.tree.ReplaceOrInsert(sortedRow{r.key, int32(s.seen)})
		}
	}
	return s.tree
}

// appendRows appends to dst the rows of a range, in its order, as long as there is
// room.
func (c *changes) appendRows(dst []sortedRow, col column.Column, r *Range) []sortedRow {
	tree := c.sort(col)
	visit := func(s sortedRow) bool {
		switch {
		case r.End != nil && bytes.Compare(s.key, r.End) >= 0:
			return r.Reverse // which begins there, and without it
		case bytes.Compare(s.key, r.Start) < 0:
			return false
		}
		dst = append(dst, s)
		return len(dst) < cap(dst)
	}
	switch {
	case !r.Reverse:
		tree.AscendGreaterOrEqual(sortedRow{key: r.Start}, visit)
	case r.End != nil:
		tree.DescendLessOrEqual(sortedRow{key: r.End}, visit)
	default:
		tree.Descend(visit)
	}
	return dst
}

// covers reports whether a range deletion takes key, in its column.
func (op Op) covers(key []byte) bool {
	return bytes.Compare(op.Key, key) <= 0 && bytes.Compare(key, op.Value) < 0
}
