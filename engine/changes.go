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

// changes are the changes of batches, one after the other, and what they leave under a
// key, without what is stored. The zero changes are none. They are for one goroutine,
// except that any number may get once indexAll was called, until the next change.
type changes struct {
	rows    []row
	ranges  []droppedRange
	indexes [column.Count + 1]index
}

// row is what a change leaves under a key. Key and value are parts of the bytes of a
// batch.
type row struct {
	column  column.Column
	deleted bool
	key     []byte
	value   []byte
}

// droppedRange is a deleted range, which takes the rows before at.
type droppedRange struct {
	Op
	at int
}

// index says where the rows of a column are, as far as somebody has asked for it.
type index struct {
	last   map[string]int32 // the last row of a key
	seen   int              // so many of the rows of all columns are in last
	tree   *btree.BTreeG[sortedRow]
	sorted int // so many are in the tree
}

// sortedRow is the last row of a key.
type sortedRow struct {
	key []byte
	row int32
}

func (c *changes) none() bool { return len(c.rows) == 0 && len(c.ranges) == 0 }

// take makes a change, whose bytes are to stay as they are.
func (c *changes) take(op Op) {
	if op.Kind == KindDeleteRange {
		c.ranges = append(c.ranges, droppedRange{op, len(c.rows)})
		return
	}
	c.rows = append(c.rows, row{op.Column, op.Kind == KindDelete, op.Key, op.Value})
}

// get returns what is under a key; known is false where that is for the store to say.
func (c *changes) get(col column.Column, key []byte) (value []byte, deleted, known bool) {
	i := c.find(col, key)
	if c.dropped(col, key, i) {
		return nil, true, true
	}
	if i < 0 {
		return nil, false, false
	}
	return c.rows[i].value, c.rows[i].deleted, true
}

// find returns the last row of a key, or -1.
func (c *changes) find(col column.Column, key []byte) int {
	if len(c.rows) <= fewChanges {
		for i := len(c.rows) - 1; i >= 0; i-- {
			if r := &c.rows[i]; r.column == col && bytes.Equal(r.key, key) {
				return i
			}
		}
		return -1
	}
	if !col.Valid() {
		return -1
	}
	x := &c.indexes[col]
	for ; x.seen < len(c.rows); x.seen++ {
		if r := &c.rows[x.seen]; r.column == col {
			x.note(r.key, x.seen)
		}
	}
	if i, ok := x.last[string(key)]; ok {
		return int(i)
	}
	return -1
}

// note puts a row into the index, by the bytes of the batch, which stay as they are
// until the changes are emptied.
func (x *index) note(key []byte, row int) {
	if x.last == nil {
		x.last = make(map[string]int32)
	}
	x.last[unsafe.String(unsafe.SliceData(key), len(key))] = int32(row)
}

// indexAll has all rows in the indexes.
func (c *changes) indexAll() {
	if len(c.rows) <= fewChanges {
		return
	}
	for i := c.indexes[0].seen; i < len(c.rows); i++ { // there is no column 0
		if x := &c.indexes[c.rows[i].column]; x.seen <= i {
			x.note(c.rows[i].key, i)
		}
	}
	for i := range c.indexes {
		c.indexes[i].seen = len(c.rows)
	}
}

// dropped reports whether a key, whose last row is row, lies in a range that was deleted
// after that; -1: it has none.
func (c *changes) dropped(col column.Column, key []byte, row int) bool {
	for i := range c.ranges {
		if d := &c.ranges[i]; d.at > row && d.Column == col && d.covers(key) {
			return true
		}
	}
	return false
}

// drops reports whether a deleted range has keys of r.
func (c *changes) drops(col column.Column, r *Range) bool {
	for i := range c.ranges {
		d := &c.ranges[i]
		if d.Column == col && bytes.Compare(r.Start, d.Value) < 0 && (r.End == nil || bytes.Compare(d.Key, r.End) < 0) {
			return true
		}
	}
	return false
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
	for i := range c.indexes {
		x := &c.indexes[i]
		if x.seen > 0 {
			clear(x.last)
		}
		if x.sorted > 0 {
			x.tree.Clear(true)
		}
		x.seen, x.sorted = 0, 0
	}
	clear(c.rows)
	clear(c.ranges)
	c.rows, c.ranges = c.rows[:0], c.ranges[:0]
}

// sort returns the last rows of the keys of a column in order.
func (c *changes) sort(col column.Column) *btree.BTreeG[sortedRow] {
	x := &c.indexes[col]
	if x.tree == nil {
		x.tree = btree.NewG(16, func(a, b sortedRow) bool { return bytes.Compare(a.key, b.key) < 0 })
	}
	for ; x.sorted < len(c.rows); x.sorted++ {
		if r := &c.rows[x.sorted]; r.column == col {
			x.tree.ReplaceOrInsert(sortedRow{r.key, int32(x.sorted)})
		}
	}
	return x.tree
}

// visit calls fn with the rows of a range, in its order, until it returns false.
func (c *changes) visit(col column.Column, r *Range, fn func(sortedRow) bool) {
	tree := c.sort(col)
	within := func(s sortedRow) bool {
		switch {
		case r.End != nil && bytes.Compare(s.key, r.End) >= 0:
			return r.Reverse // which begins there, and without it
		case bytes.Compare(s.key, r.Start) < 0:
			return false
		}
		return fn(s)
	}
	switch {
	case !r.Reverse:
		tree.AscendGreaterOrEqual(sortedRow{key: r.Start}, within)
	case r.End != nil:
		tree.DescendLessOrEqual(sortedRow{key: r.End}, within)
	default:
		tree.Descend(within)
	}
}

// covers reports whether a range deletion takes key, in its column.
func (op *Op) covers(key []byte) bool {
	return bytes.Compare(op.Key, key) <= 0 && bytes.Compare(key, op.Value) < 0
}
