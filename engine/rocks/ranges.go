//go:build cgo

package rocks

import (
	"strings"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// Before 8.7, a RocksDB iterator that looks for deletions of ranges ends without an
// error where the first block of the next table of a level cannot be read
// (facebook/rocksdb#11782), as if there were no more entries. One that does not look
// for them reports it. So they are looked for only in columns that may have some,
// which is cheaper, too.

// noRanges is in the properties of a family whose tables delete no ranges.
const noRanges = "# range deletions=0;"

// findRanges finds the columns that may have deletions of ranges: in tables, or, if
// logged is set, in what a log has put in memory.
func (st *store) findRanges(logged bool) {
	for c := range column.All {
		if st.families[c] == nil {
			continue
		}
		properties := st.db.GetPropertyCF("rocksdb.aggregated-table-properties", st.families[c])
		st.ranged[c].Store(logged || !strings.Contains(properties, noRanges))
	}
}

// noteRanges notes the columns of which a batch deletes ranges. It comes before the
// batch is written.
func (st *store) noteRanges(ops []byte) {
	for op, err := range engine.Changes(ops) {
		if err != nil {
			return // the committer has checked them
		}
		if op.Kind == engine.KindDeleteRange {
			st.ranged[op.Column].Store(true)
		}
	}
}

// openCursor opens an iterator. A range that is deleted meanwhile is noted before
// anybody can see that it is, so that looking again behind the opening suffices.
func (st *store) openCursor(v *view, col column.Column, r engine.Range) cursor {
	ranged := st.ranged[col].Load()
	c := st.h.openCursor(v, col, r, ranged)
	if !ranged && st.ranged[col].Load() {
		c.close()
		c = st.h.openCursor(v, col, r, true)
	}
	return c
}
