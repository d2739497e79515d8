//go:build cgo

package rocks

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// spread returns the directory of a store with three tables in the lowest level of
// a column, of one row each, and their paths.
func spread(t *testing.T) (dir string, tables []string) {
	t.Helper()
	dir = t.TempDir()
	e := open(t, dir, Options{})
	for i := range 3 {
		put(t, e, engine.Synced, column.Config, ctx(i), fmt.Sprint(i))
		require.NoError(t, e.st.flush(column.Config))
		tables = append(tables, newest(t, dir, ".sst"))
	}
	require.NoError(t, e.Compact(column.Config, engine.Range{}))
	for _, table := range tables {
		require.FileExists(t, table, "they are moved as they are")
	}
	require.NoError(t, e.Close())
	return dir, tables
}

func TestScanReportsADamagedTableInItsMidst(t *testing.T) {
	dir, tables := spread(t)
	for i, table := range tables {
		hurt := copyDir(t, dir)
		flip(t, hurt+table[len(dir):], 3)
		for _, o := range []Options{{ReadOnly: true}, {}} {
			e := open(t, hurt, o)
			for _, reverse := range []bool{false, true} {
				it, err := e.Iterate(column.Config, engine.Range{Reverse: reverse})
				require.NoError(t, err)
				n := 0
				for it.Next() {
					n++
				}
				want := i
				if reverse {
					want = len(tables) - 1 - i
				}
				require.ErrorIs(t, it.Err(), engine.ErrCorrupt, "table %d, reverse %t", i, reverse)
				require.LessOrEqual(t, n, want)
			}
			require.NoError(t, e.Close())
		}
	}
}

// Wherever the deletion of a range is, in memory, in a log or in a table, its rows
// are gone for every iterator.
func TestDeletedRangeIsGoneWhereverItIs(t *testing.T) {
	dir, _ := spread(t)
	e := open(t, dir, Options{})
	require.False(t, e.st.ranged[column.Config].Load())
	old, err := e.Iterate(column.Config, engine.Range{})
	require.NoError(t, err)
	var b engine.Batch
	b.DeleteRange(column.Config, []byte(ctx(0)), []byte(ctx(2)))
	require.NoError(t, e.Apply(&b))
	n := 0
	for old.Next() {
		n++
	}
	require.Equal(t, 3, n, "it was opened before")
	left := []string{ctx(2) + "=2"}
	gone := func(dir string, o Options) {
		t.Helper()
		e := open(t, dir, o)
		require.Equal(t, left, list(t, e, column.Config, engine.Range{}))
		require.NoError(t, e.Close())
	}
	require.Equal(t, left, list(t, e, column.Config, engine.Range{}))
	logged := crash(t, e)
	pattern := filepath.Join(t.TempDir(), "a*[b]?")
	require.NoError(t, os.Rename(crash(t, e), pattern))
	gone(logged, Options{ReadOnly: true})
	gone(pattern, Options{ReadOnly: true}) // which is a name, whatever it looks like
	gone(logged, Options{})
	gone(logged, Options{})
	gone(e.dir, Options{ReadOnly: true})
	gone(e.dir, Options{ReadOnly: true, ScratchDir: t.TempDir()})
	require.NoError(t, e.st.flush(column.Config))
	require.Equal(t, left, list(t, e, column.Config, engine.Range{}))
	tabled := crash(t, e)
	gone(tabled, Options{ReadOnly: true})
	gone(tabled, Options{})
	require.NoError(t, e.Close())
	gone(dir, Options{ReadOnly: true})
	gone(dir, Options{})
}

// Ranges that are deleted and rows beside them, of keys that begin alike, come into
// one memtable by turns, as rows of a context do when it is deleted and made again.
func TestRowsAreThereBesideDeletedRangesInMemory(t *testing.T) {
	for _, col := range []column.Column{column.Generic, column.State} {
		e := open(t, t.TempDir(), Options{})
		key := func(i int) string { return fmt.Sprintf("%0100d", i) }
		var want []string
		for i := range 20 {
			var b engine.Batch
			b.Put(col, []byte(key(10*i+5)), []byte("kept"))
			b.Put(col, []byte(key(10*i+7)), []byte("deleted"))
			b.DeleteRange(col, []byte(key(10*i+6)), []byte(key(10*i+9)))
			b.Put(col, []byte(key(10*i+8)), []byte("kept"))
			require.NoError(t, e.Apply(&b))
			want = append(want, key(10*i+5)+"=kept", key(10*i+8)+"=kept")
			require.Equal(t, want, list(t, e, col, engine.Range{}))
		}
		require.NoError(t, e.Flush())
		require.Equal(t, want, list(t, e, col, engine.Range{}))
		require.NoError(t, e.Close())
	}
}

// Iterators that are opened while ranges are deleted see a state that was.
func TestScansBesideDeletionsOfRanges(t *testing.T) {
	for range 20 {
		e := open(t, t.TempDir(), Options{})
		for i := range 50 {
			put(t, e, engine.WAL, column.Config, ctx(i), "x")
		}
		done := make(chan error)
		go func() {
			var b engine.Batch
			b.DeleteRange(column.Config, []byte(ctx(0)), []byte(ctx(40)))
			b.Put(column.Config, []byte(ctx(99)), []byte("x"))
			done <- e.Apply(&b)
		}()
		for finished := false; !finished; {
			select {
			case err := <-done:
				require.NoError(t, err)
				finished = true
			default:
			}
			require.Contains(t, []int{50, 11}, len(list(t, e, column.Config, engine.Range{})))
		}
		require.NoError(t, e.Close())
	}
}
