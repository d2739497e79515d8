package rocks

import (
	"slices"
	"sync/atomic"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks/rows"
	"github.com/stoadb/stoa/keys"
)

const (
	rowMarks = 4096
	// rowsWritten is how many rows that were kept a write keeps on.
	rowsWritten = 64
)

// rowCache holds rows that were read, so that reading one again does not go
// through RocksDB. It answers what the database would: whoever writes takes the
// rows out before the write can be seen, and nothing that was read before the
// write is over is put in.
//
// All methods are safe for concurrent use, but begin and end, which belong to
// the one who writes.
type rowCache struct {
	own    *rows.Table // nil: there is none
	shared *rows.Table // of rows that other processes may read; nil: there is none

	// marks are counters, by the hash of a row: odd while a write changes such a row.
	// So are the epochs of columns in tables while a write removes a range of one. A row that
	// is kept has the epoch of its column with it: a range is removed by counting.
	marks  [rowMarks]atomic.Uint64
	writes atomic.Uint64 // odd while a write is under way

	// Of the write under way.
	changed []uint16
	ranged  []column.Column
	kept    []uint64 // the hashes of rows that it took out,
	last    []takenRow
}

// takenRow is a row that a write took out: where it was, and the last change of it.
type takenRow struct {
	from *rows.Table
	at   uint64
	op   engine.Op
}

// newRowCache returns a cache of that many bytes, and as many of rows that other processes
// may read; 0 bytes: none.
func newRowCache(own, shared int64) (*rowCache, error) {
	c := &rowCache{}
	var err error
	if own > 0 {
		c.own, err = rows.New(own)
	}
	if err == nil && shared > 0 {
		c.shared, err = rows.NewShared(shared)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// close gives the memory back. Nobody uses the cache then.
func (c *rowCache) close() {
	if c != nil {
		c.own.Close()
		c.shared.Close()
	}
}

// table is where a row is kept; nil: it is not. What is secret, and what tenants have, is in
// no memory that others may read.
func (c *rowCache) table(col column.Column, key []byte) *rows.Table {
	if c.shared == nil || col == column.Generic || keys.Secret(col, key) {
		return c.own
	}
	return c.shared
}

// rowVersion says which row, and what its mark and its column's epoch were when it was
// looked for: if they have not changed, it has not been written since. Its table is nil if it
// is not to be kept.
type rowVersion struct {
	table             *rows.Table
	hash, mark, epoch uint64
}

// find appends the value of a row to dst, if it is kept. If not, the version lets
// add keep what the database is asked for after.
func (c *rowCache) find(dst []byte, col column.Column, key []byte) ([]byte, rowVersion, bool) {
	t := c.table(col, key)
	if t == nil {
		return dst, rowVersion{}, false
	}
	h := t.Hash(col, key)
	p := rowVersion{t, h, c.marks[h%rowMarks].Load(), t.Epoch(col).Load()}
	dst, ok := t.Find(dst, h, col, key)
	return dst, p, ok
}

// add keeps a row that was read from the database after find, unless it has been
// written since, or is being written.
func (c *rowCache) add(p rowVersion, col column.Column, key, value []byte) {
	if p.table == nil || p.mark&1 != 0 || p.epoch&1 != 0 {
		return
	}
	p.table.Put(p.hash, p.epoch, col, key, value, func() bool { return c.marks[p.hash%rowMarks].Load() == p.mark })
}

// begin is called before changes are written, and end after, whether or not they
// were. ops must stay as they are until then.
func (c *rowCache) begin(ops []byte) {
	c.count()
	for op, err := range engine.Changes(ops) {
		switch {
		case err != nil: // not the committer's: of the family default, which is not kept
			return
		case op.Kind == engine.KindDeleteRange:
			if !slices.Contains(c.ranged, op.Column) {
				c.ranged = append(c.ranged, op.Column)
				c.countEpoch(op.Column)
			}
		default:
			c.takeOut(op)
		}
	}
}

// takeOut takes out the row that a change is of.
func (c *rowCache) takeOut(op engine.Op) {
	t := c.table(op.Column, op.Key)
	if t == nil {
		return
	}
	h := t.Hash(op.Column, op.Key)
	if m := &c.marks[h%rowMarks]; m.Load()&1 == 0 {
		m.Add(1)
		c.changed = append(c.changed, uint16(h%rowMarks))
	}
	if at, ok := t.Remove(h, op.Column, op.Key); !ok {
		if i := slices.Index(c.kept, h); i >= 0 {
			c.last[i].op = op
		}
	} else if len(c.kept) < rowsWritten {
		c.kept, c.last = append(c.kept, h), append(c.last, takenRow{t, at, op})
	}
}

// Rows that were kept and are written are kept on, as they are now: a counter is
// read each time that it is written.
func (c *rowCache) end(written bool) {
	if written && len(c.ranged) == 0 {
		c.keepOn()
	}
	clear(c.last)
	c.kept, c.last = c.kept[:0], c.last[:0]
	for _, i := range c.changed {
		c.marks[i].Add(1)
	}
	for _, col := range c.ranged {
		c.countEpoch(col)
	}
	c.changed, c.ranged = c.changed[:0], c.ranged[:0]
	c.count()
}

// keepOn keeps the rows of kept as the last change of each leaves them: what comes
// before it is nothing that a read may find.
func (c *rowCache) keepOn() {
	for i := range c.last {
		taken := &c.last[i]
		if op := &taken.op; op.Kind == engine.KindPut { // else begin took it out
			taken.from.PutBack(c.kept[i], taken.at, taken.from.Epoch(op.Column).Load(), op.Column, op.Key, op.Value)
		}
	}
}

// count counts the beginning or the end of a write, here and for those who share rows.
func (c *rowCache) count() {
	c.writes.Add(1)
	if c.shared != nil {
		c.shared.Writes().Add(1)
	}
}

// countEpoch counts the beginning or the end of a removal from a column, of which both tables
// may have rows.
func (c *rowCache) countEpoch(col column.Column) {
	for _, t := range []*rows.Table{c.own, c.shared} {
		if t != nil {
			t.Epoch(col).Add(1)
		}
	}
}

// writeCount counts the beginnings and the ends of writes: it is odd while one is under
// way.
func (c *rowCache) writeCount() uint64 { return c.writes.Load() }

// unchanged reports whether nothing has been written since the count was that, and no
// write was under way then.
func (c *rowCache) unchanged(since uint64) bool { return since&1 == 0 && c.writes.Load() == since }
