//go:build cgo

package rocks

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/rocks/diskfile"
)

// tabled returns the directory of a store that was killed: with tables of three
// columns, made by flushes and compactions, and rows in its log; all covered by the
// watermark. The last records of its manifest are those of flushes: behind a compaction
// no column has so many tables that RocksDB would begin another one by itself, whose
// record may be the last, and without which no earlier part of the manifest fits the
// tables that are there.
func tabled(t *testing.T) string {
	t.Helper()
	e := open(t, t.TempDir(), Options{WatermarkEvery: 10 * time.Millisecond})
	columns := []column.Column{column.State, column.Delta, column.Meta}
	for round := range 6 {
		for _, c := range columns {
			for i := range 20 {
				put(t, e, engine.Synced, c, ctx(100*(round%2)+i), fmt.Sprint(round, i))
			}
			if round < 5 {
				require.NoError(t, e.st.flush(c))
			}
		}
		for _, c := range columns {
			if round == 2 {
				require.NoError(t, e.Compact(c, engine.Range{}))
			}
		}
	}
	require.Eventually(t, func() bool {
		s, err := e.Stats()
		require.NoError(t, err)
		w, _ := readWatermark(e.dir)
		m, err := markManifest(e.dir, manifestMark{})
		require.NoError(t, err)
		return w.level == level{s.Sequence, m}
	}, 5*time.Minute, time.Millisecond)
	return crash(t, e)
}

// rowsOf returns all rows of a store.
func rowsOf(t *testing.T, e *Engine) (rows []string) {
	t.Helper()
	for c := range column.All {
		for _, row := range list(t, e, c, engine.Range{}) {
			rows = append(rows, c.String()+row)
		}
	}
	return rows
}

// boundaries returns where the records of the manifest of dir end.
func boundaries(t *testing.T, path string) (ends []int64) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	for r, err := range diskfile.Log(f) {
		require.NoError(t, err)
		ends = append(ends, r.End)
	}
	return ends
}

// unmark makes the watermark of dir say nothing of the manifest, as if that had
// been cut off before it was moved.
func unmark(t *testing.T, dir string) {
	t.Helper()
	w, problem := readWatermark(dir)
	require.Empty(t, problem)
	require.NoError(t, writeWatermark(dir, level{sequence: w.sequence}, w.generation))
}

// Wherever a manifest is cut off, the cut is reported, even if the watermark does
// not know of its end yet: then if rows are missing.
func TestCutManifestIsReported(t *testing.T) {
	t.Parallel()
	random := enginetest.Random(t)
	dir := tabled(t)
	path, _, err := diskfile.CurrentManifest(dir)
	require.NoError(t, err)
	ends := boundaries(t, path)
	whole := rowsOf(t, open(t, copyDir(t, dir), Options{ReadOnly: true}))
	cuts := map[int64]bool{ends[len(ends)-1] - 1: true}
	for _, end := range ends[len(ends)-12 : len(ends)-1] { // those whose tables are all there
		cuts[end] = true
	}
	for range enginetest.Scale(20) {
		cuts[ends[random.IntN(len(ends)-1)]] = true
		cuts[random.Int64N(ends[len(ends)-1])] = true
	}
	found := map[string]int{}
	for _, cut := range slices.Sorted(maps.Keys(cuts)) {
		for _, marked := range []bool{true, false} {
			hurt := copyDir(t, dir)
			path, _, err := diskfile.CurrentManifest(hurt)
			require.NoError(t, err)
			require.NoError(t, os.Truncate(path, cut))
			if !marked {
				unmark(t, hurt)
			}
			found[checkCut(t, hurt, whole, marked, cut)]++
		}
	}
	t.Log(found)
	require.NotZero(t, found["unlisted"])
	require.NotZero(t, found["cut"])
}

// checkCut demands that a store whose manifest was cut off reports what it lacks,
// and is not opened for writing if it does. It returns what it reports.
func checkCut(t *testing.T, dir string, whole []string, marked bool, cut int64) string {
	t.Helper()
	before := files(t, dir)
	if l, err := List(dir); err == nil && l.Cut != "" {
		require.Zero(t, l.Chain, "nobody knows where the logs of it begin")
	}
	refused := func() {
		_, err := Open(dir, Options{})
		require.ErrorIs(t, err, engine.ErrCorrupt, "cut at %d", cut)
		require.ErrorContains(t, err, "stoa salvage")
		require.Equal(t, before, files(t, dir), "cut at %d", cut)
	}
	e, err := Open(dir, Options{ReadOnly: true})
	if err != nil {
		require.ErrorIs(t, err, engine.ErrCorrupt)
		refused()
		return "refused"
	}
	r, rows := e.Recovery(), rowsOf(t, e)
	require.NoError(t, e.Close())
	require.Equal(t, marked, r.Cut != "", "cut at %d: %+v", cut, r)
	if !r.Damaged() {
		require.Equal(t, whole, rows, "cut at %d", cut)
		e := open(t, dir, Options{})
		require.Equal(t, whole, rowsOf(t, e))
		require.NoError(t, e.Close())
		return "harmless"
	}
	refused()
	e = open(t, dir, Options{AcceptLoss: true})
	require.Equal(t, r.Unlisted, e.Recovery().Unlisted)
	require.NoError(t, e.Close())
	require.Empty(t, open(t, dir, Options{}).Recovery().Unlisted, "accepted once")
	if marked {
		return "cut"
	}
	require.NotEmpty(t, r.Unlisted)
	return "unlisted"
}
