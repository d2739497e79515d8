package rocks

import (
	"fmt"
	"hash/maphash"
	"slices"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

const (
	rowShards = 64
	rowMarks  = 4096
	// rowsWritten is how many rows that were kept a write keeps on.
	rowsWritten = 64
)

// rowCache holds rows that were read, so that reading one again does not go
// through RocksDB. It answers what the database would: whoever writes takes the
// rows out before the write can be seen, and nothing that was read before the
// write is over is put in. Its memory is not the collector's.
//
// All methods are safe for concurrent use, but begin and end, which belong to
// the one who writes.
type rowCache struct {
	memory []byte
	shards [rowShards]rowShard
	seed   maphash.Seed

	// marks are counters, by the hash of a row, and epochs by column: odd while a
	// write changes such a row, or removes a range of the column. A row that is
	// kept has the epoch of its column with it: a range is removed by counting.
	marks  [rowMarks]atomic.Uint64
	epochs [column.Count + 1]atomic.Uint64
	writes atomic.Uint64 // odd while a write is under way

	// Of the write under way.
	changed []uint16
	ranged  []column.Column
	kept    []uint64 // the hashes of rows that it took out,
	last    []takenRow
}

// takenRow is a row that a write took out: where it was, and the last change of it.
type takenRow struct {
	at uint64
	op engine.Op
}

// newRowCache returns a cache of that many bytes, which are taken from the system
// as they fill.
func newRowCache(size int64) (*rowCache, error) {
	each := int(size/rowShards) &^ 7
	memory, err := unix.Mmap(-1, 0, each*rowShards, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("engine: %d bytes for the row cache: %w", size, err)
	}
	c := &rowCache{memory: memory, seed: maphash.MakeSeed()}
	for i := range c.shards {
		c.shards[i].init(memory[i*each : (i+1)*each])
	}
	return c, nil
}

// close gives the memory back. Nobody uses the cache then.
func (c *rowCache) close() {
	if c != nil {
		unix.Munmap(c.memory) // it fails only for what was not mapped
	}
}

// rowVersion says which row, and what its mark and its column's epoch were when it was
// looked for: if they have not changed, it has not been written since.
type rowVersion struct{ hash, mark, epoch uint64 }

// find appends the value of a row to dst, if it is kept. If not, the version lets
// add keep what the database is asked for after.
func (c *rowCache) find(dst []byte, col column.Column, key []byte) ([]byte, rowVersion, bool) {
	h := c.hash(col, key)
	p := rowVersion{h, c.marks[h%rowMarks].Load(), c.epochs[col].Load()}
	dst, ok := c.shard(h).find(dst, row{p, col, key})
	return dst, p, ok
}

// add keeps a row that was read from the database after find, unless it has been
// written since, or is being written.
func (c *rowCache) add(p rowVersion, col column.Column, key, value []byte) {
	if p.mark&1 != 0 || p.epoch&1 != 0 || len(key)+len(value) > maxRow {
		return
	}
	s := c.shard(p.hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.marks[p.hash%rowMarks].Load() == p.mark {
		s.put(row{p, col, key}, value)
	}
}

// begin is called before changes are written, and end after, whether or not they
// were. ops must stay as they are until then.
func (c *rowCache) begin(ops []byte) {
	c.writes.Add(1)
	for op, err := range engine.Changes(ops) {
		switch {
		case err != nil: // not the committer's: of the family default, which is not kept
			return
		case op.Kind == engine.KindDeleteRange:
			if e := &c.epochs[op.Column]; e.Load()&1 == 0 {
				e.Add(1)
				c.ranged = append(c.ranged, op.Column)
			}
		default:
			h := c.hash(op.Column, op.Key)
			if m := &c.marks[h%rowMarks]; m.Load()&1 == 0 {
				m.Add(1)
				c.changed = append(c.changed, uint16(h%rowMarks))
			}
			if at, ok := c.shard(h).remove(row{rowVersion{hash: h}, op.Column, op.Key}); !ok {
				if i := slices.Index(c.kept, h); i >= 0 {
					c.last[i].op = op
				}
			} else if len(c.kept) < rowsWritten {
				c.kept, c.last = append(c.kept, h), append(c.last, takenRow{at, op})
			}
		}
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
		c.epochs[col].Add(1)
	}
	c.changed, c.ranged = c.changed[:0], c.ranged[:0]
	c.writes.Add(1)
}

// keepOn keeps the rows of kept as the last change of each leaves them: what comes
// before it is nothing that a read may find.
func (c *rowCache) keepOn() {
	for i := range c.last {
		op, h := &c.last[i].op, c.kept[i]
		if op.Kind != engine.KindPut || len(op.Key)+len(op.Value) > maxRow {
			continue // begin took it out
		}
		s := c.shard(h)
		s.mu.Lock()
		s.putBack(row{rowVersion{hash: h, epoch: c.epochs[op.Column].Load()}, op.Column, op.Key}, op.Value, c.last[i].at)
		s.mu.Unlock()
	}
}

// writeCount counts the beginnings and the ends of writes: it is odd while one is under
// way.
func (c *rowCache) writeCount() uint64 { return c.writes.Load() }

// unchanged reports whether nothing has been written since the count was that, and no
// write was under way then.
func (c *rowCache) unchanged(since uint64) bool { return since&1 == 0 && c.writes.Load() == since }

func (c *rowCache) shard(hash uint64) *rowShard { return &c.shards[hash>>32%rowShards] }

func (c *rowCache) hash(col column.Column, key []byte) uint64 {
	const odd = 0x9E3779B97F4A7C15
	return maphash.Bytes(c.seed, key) ^ uint64(col)*odd
}
