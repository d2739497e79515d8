//go:build cgo

package rocks

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/linxGnu/grocksdb"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// levels is how many levels of tables a family has.
const levels = 7

// Stats returns counts and sizes; see [engine.Maintenance]. The two rows that every
// store is made with count in Sequence.
func (e *Engine) Stats() (engine.Stats, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.st == nil {
		return engine.Stats{}, e.down
	}
	st := e.st
	s := engine.Stats{
		Sequence:      st.db.GetLatestSequenceNumber(),
		WALBytes:      logBytes(e.dir),
		CacheBytes:    st.cache.GetUsage(),
		CacheCapacity: st.cache.GetCapacity(),
		Snapshots:     uint64(e.snapshots.Load()),
		Stopped:       st.number("rocksdb.is-write-stopped", 0) > 0,
	}
	if slow := e.slow.Load(); slow != nil {
		s.SlowWrite = *slow
	}
	for c := range column.All {
		if st.families[c] == nil {
			continue
		}
		cs := engine.ColumnStats{
			Column:            c,
			Keys:              st.number("rocksdb.estimate-num-keys", c),
			TableBytes:        st.number("rocksdb.live-sst-files-size", c),
			BlobBytes:         st.number("rocksdb.live-blob-file-size", c),
			MemtableBytes:     st.number("rocksdb.cur-size-all-mem-tables", c),
			PendingCompaction: st.number("rocksdb.estimate-pending-compaction-bytes", c),
		}
		for level := range levels {
			cs.Tables += st.number("rocksdb.num-files-at-level"+strconv.Itoa(level), c)
		}
		s.MemtableBytes += cs.MemtableBytes
		s.Columns = append(s.Columns, cs)
	}
	return s, nil
}

// number returns a property of a family that is a number, 0 if there is none.
func (st *store) number(property string, c column.Column) uint64 {
	n, err := strconv.ParseUint(st.db.GetPropertyCF(property, st.families[c]), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// stalls reports whether writes wait for compaction.
func (st *store) stalls() bool {
	return st.number("rocksdb.is-write-stopped", 0) > 0 || st.number("rocksdb.actual-delayed-write-rate", 0) > 0
}

// numberOfBlobFiles returns how many files of large values the store has.
func (st *store) numberOfBlobFiles() (n uint64) {
	for c := range column.All {
		if st.families[c] != nil {
			n += st.number("rocksdb.num-blob-files", c)
		}
	}
	return n
}

// logBytes returns the size of the write-ahead log of dir.
func logBytes(dir string) (n uint64) {
	for _, name := range numbered(dir, ".log") {
		if st, err := os.Stat(filepath.Join(dir, name)); err == nil {
			n += uint64(st.Size())
		}
	}
	return n
}

// ApproximateSize returns about how many bytes a range takes on disk; see
// [engine.Maintenance]. Of a column with blob files it takes these to be spread as the
// tables are.
func (e *Engine) ApproximateSize(col column.Column, r engine.Range) (uint64, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if err := e.ready(col); err != nil || empty(r) {
		return 0, err
	}
	if r.End == nil {
		r.End = bytes.Repeat([]byte{0xFF}, engine.MaxKey+1)
	}
	sizes, err := e.st.db.GetApproximateSizesCF(e.st.families[col], []grocksdb.Range{{Start: r.Start, Limit: r.End}})
	if err != nil {
		return 0, fmt.Errorf("engine: approximate size: %w", err)
	}
	tables, blobs := e.st.number("rocksdb.live-sst-files-size", col), e.st.number("rocksdb.live-blob-file-size", col)
	if tables == 0 || blobs == 0 {
		return sizes[0], nil
	}
	share := min(float64(sizes[0])/float64(tables), 1)
	return sizes[0] + uint64(share*float64(blobs)), nil
}
