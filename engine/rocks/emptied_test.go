//go:build cgo

package rocks

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// killedWithAnEmptiedLog returns what a kill leaves after write, with its newest log
// emptied.
func killedWithAnEmptiedLog(t *testing.T, write func(e *Engine)) string {
	t.Helper()
	e := open(t, t.TempDir(), Options{})
	for _, value := range []string{"1", "2"} { // tables to compact
		put(t, e, engine.Synced, column.State, ctx(1), value)
		require.NoError(t, e.st.flush(column.State))
	}
	write(e)
	dir := crash(t, e)
	require.NoError(t, os.Truncate(newest(t, dir, ".log"), 0))
	return dir
}

// What RocksDB writes to its manifest says the sequence of the last change that is in a
// table, and not that of one that is in the log only.
func TestEmptiedLogOfWhatIsInNoTableIsNoticed(t *testing.T) {
	dir := killedWithAnEmptiedLog(t, func(e *Engine) {
		put(t, e, engine.Synced, column.Meta, "k", "v")
		require.NoError(t, e.Compact(column.State, engine.Range{}))
	})
	_, err := Open(dir, Options{})
	require.ErrorIs(t, err, engine.ErrCorrupt)
	require.ErrorContains(t, err, "1 changes are lost")
	e := open(t, dir, Options{AcceptLoss: true})
	require.EqualValues(t, 1, e.Recovery().Lost)
}

// A flush of one family begins a new log, and puts on disk how long the one before is
// that another family needs.
func TestLogEmptiedRightAfterAFlushOfAnotherFamilyIsNoticed(t *testing.T) {
	e := open(t, t.TempDir(), Options{WatermarkEvery: time.Hour})
	put(t, e, engine.Synced, column.Group, "cold", "v")
	put(t, e, engine.WAL, column.Meta, "k", "v")
	log := newest(t, e.dir, ".log")
	require.NoError(t, e.st.flush(column.Meta))
	dir := crash(t, e)
	require.NotEqual(t, filepath.Base(log), filepath.Base(newest(t, dir, ".log")))
	require.NoError(t, os.Truncate(filepath.Join(dir, filepath.Base(log)), 0))
	_, err := Open(dir, Options{})
	require.ErrorIs(t, err, engine.ErrCorrupt)
}

// What was in a log that is emptied is not lost if it is in tables.
func TestEmptiedLogOfWhatIsInTablesLosesNothing(t *testing.T) {
	for name, write := range map[string]func(e *Engine){
		"rows": func(e *Engine) { put(t, e, engine.Synced, column.Meta, "k", "v") },
		"deletions": func(e *Engine) {
			put(t, e, engine.Synced, column.Meta, "k", "v")
			var b engine.Batch
			b.Delete(column.State, []byte(ctx(1)))
			b.DeleteRange(column.Delta, []byte("a"), []byte("b"))
			require.NoError(t, e.Apply(&b))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := killedWithAnEmptiedLog(t, func(e *Engine) {
				write(e)
				require.NoError(t, e.Flush())
				require.NoError(t, e.st.flush(0))
			})
			e := open(t, dir, Options{})
			r := e.Recovery()
			require.False(t, r.Damaged(), r.Lost)
			require.Equal(t, "v", get(t, e, column.Meta, "k"))
			require.NoError(t, e.Close())
			require.Zero(t, open(t, dir, Options{}).Recovery().Lost)
		})
	}
}
