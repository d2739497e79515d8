//go:build cgo

package rocks

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/rocks/diskfile"
)

// unsynced returns the directory of a store whose machine lost its power with rows in
// its log that were synced, as its watermark knows, and after them rows that were not,
// and where these begin.
func unsynced(t *testing.T, synced int, sizes ...int) (dir string, tail int) {
	t.Helper()
	e := open(t, t.TempDir(), Options{WatermarkEvery: time.Hour})
	for i := range synced {
		put(t, e, engine.Synced, column.State, ctx(i), fmt.Sprint(i))
	}
	tail = size(t, newest(t, e.dir, ".log"))
	for i, n := range sizes {
		put(t, e, engine.WAL, column.State, ctx(synced+i), strings.Repeat("x", n))
	}
	return crash(t, e), tail
}

// zero puts zeros over bytes of a file.
func zero(t *testing.T, path string, from, to int) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteAt(make([]byte, to-from), int64(from))
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// Some of what was not synced has reached the disk, and what was before it has not: the
// store goes on before the hole, says what it has left, and keeps that.
func TestHoleInWhatWasNotSyncedIsLeft(t *testing.T) {
	t.Parallel()
	dir, tail := unsynced(t, 3, 40<<10, 100, 100)
	log := newest(t, dir, ".log")
	whole := size(t, log)
	for from := (tail/4096 + 1) * 4096; from+4096 < whole; from += 4096 {
		hurt := copyDir(t, dir)
		log := filepath.Join(hurt, filepath.Base(log))
		zero(t, log, from, from+4096)
		damaged, err := os.ReadFile(log)
		require.NoError(t, err)
		before, names := files(t, hurt), fileNames(t, hurt)

		ro := open(t, hurt, Options{ReadOnly: true})
		require.Len(t, list(t, ro, column.State, engine.Range{}), 3)
		left := ro.Recovery().Left
		require.Len(t, left, 1)
		require.Contains(t, left[0], fmt.Sprintf("%s from byte %d on", filepath.Base(log), tail))
		found := "whole records behind it: 2, sequences "
		if from >= 32<<10 { // they are in the same block
			found = "whole records behind it: 0"
		}
		require.Contains(t, left[0], fmt.Sprintf("%d bytes; %s", whole-tail, found))
		require.NoError(t, ro.Close())
		require.Equal(t, before, files(t, hurt))
		require.Equal(t, names, fileNames(t, hurt))

		e := open(t, hurt, Options{})
		require.Len(t, list(t, e, column.State, engine.Range{}), 3)
		r := e.Recovery()
		require.False(t, r.Damaged())
		require.Equal(t, left[0], r.Left[0])
		require.Contains(t, r.Left[1], leavePrefix+filepath.Base(log))
		kept, err := os.ReadFile(filepath.Join(hurt, leavePrefix+filepath.Base(log)))
		require.NoError(t, err)
		require.Equal(t, damaged[diskfile.BlockStart(int64(tail)):], kept)
		put(t, e, engine.Synced, column.State, ctx(3), "3")
		again := open(t, crash(t, e), Options{})
		require.Empty(t, again.Recovery().Left)
		require.Len(t, list(t, again, column.State, engine.Range{}), 4)
		require.NoError(t, again.Close())
		require.NoError(t, e.Close())
	}
}

// Everything that was synced is in tables, and the log behind them, which nobody synced,
// has lost its beginning: there is nothing to refuse.
func TestHoleAtTheBeginningOfAnUnsyncedLogIsLeft(t *testing.T) {
	t.Parallel()
	e := open(t, t.TempDir(), Options{WatermarkEvery: time.Hour})
	put(t, e, engine.Synced, column.State, ctx(0), "0")
	require.NoError(t, e.Flush())
	for i := range 3 {
		put(t, e, engine.WAL, column.State, ctx(1+i), strings.Repeat("x", 40<<10))
	}
	dir := crash(t, e)
	log := newest(t, dir, ".log")
	zero(t, log, 0, 32<<10)
	e = open(t, dir, Options{})
	require.Len(t, list(t, e, column.State, engine.Range{}), 1)
	require.Contains(t, e.Recovery().Left[0], filepath.Base(log)+" from byte 0 on")
}

// Whatever is left of what was not synced, the store opens with what was, and with some
// of the rest in order.
func TestAnySubsetOfUnsyncedSectorsOpens(t *testing.T) {
	t.Parallel()
	random := enginetest.Random(t)
	const synced = 5
	var sizes []int
	for range 60 {
		sizes = append(sizes, []int{0, 30, 300, 3000, 40_000}[random.IntN(5)])
	}
	dir, tail := unsynced(t, synced, sizes...)
	log := newest(t, dir, ".log")
	holes := 0
	for range enginetest.Scale(60) {
		hurt := copyDir(t, dir)
		log := filepath.Join(hurt, filepath.Base(log))
		unit, lost := []int{512, 4096}[random.IntN(2)], random.IntN(100)
		whole := size(t, log)
		for at := tail / unit * unit; at < whole; at += unit {
			if random.IntN(100) < lost {
				zero(t, log, max(at, tail), min(at+unit, whole))
			}
		}
		if random.IntN(2) == 0 {
			require.NoError(t, os.Truncate(log, int64(tail+random.IntN(whole-tail))))
		}
		e, err := Open(hurt, Options{})
		require.NoError(t, err)
		rows := list(t, e, column.State, engine.Range{})
		require.GreaterOrEqual(t, len(rows), synced)
		for i, row := range rows {
			require.True(t, strings.HasPrefix(row, ctx(i)+"="), "row %d is %.80s", i, row)
		}
		if len(e.Recovery().Left) > 0 {
			holes++
		}
		require.NoError(t, e.Close())
	}
	require.NotZero(t, holes)
}

// What the watermark covers is damage, wherever the hole is, whatever the options.
func TestHoleInWhatWasSyncedIsDamage(t *testing.T) {
	t.Parallel()
	random := enginetest.Random(t)
	dir, tail := unsynced(t, 300, 20, 20)
	log := newest(t, dir, ".log")
	for from := 512; from+512 < tail; from += 512 * (1 + random.IntN(20)) {
		for _, o := range []Options{{}, {AcceptLoss: true}, {ReadOnly: true}} {
			hurt := copyDir(t, dir)
			zero(t, filepath.Join(hurt, filepath.Base(log)), from, from+512)
			before, names := files(t, hurt), fileNames(t, hurt)
			_, err := Open(hurt, o)
			require.ErrorIs(t, err, engine.ErrCorrupt, "zeros from %d", from)
			require.ErrorContains(t, err, "stoa salvage "+hurt)
			require.ErrorContains(t, err, "nothing was changed")
			require.Equal(t, before, files(t, hurt))
			require.Equal(t, names, fileNames(t, hurt))
		}
	}
	none := copyDir(t, dir)
	require.NoError(t, os.Remove(filepath.Join(none, watermarkName)))
	zero(t, filepath.Join(none, filepath.Base(log)), 512, 1024)
	_, err := Open(none, Options{})
	require.ErrorIs(t, err, engine.ErrCorrupt)
}

// RocksDB passes over zeros to the end of a block: where whole records stood there, and
// the next one begins with the next block, it takes their absence for nothing.
func TestZerosInPlaceOfWholeRecordsAreNoticed(t *testing.T) {
	e := open(t, t.TempDir(), Options{WatermarkEvery: time.Hour})
	log := newest(t, e.dir, ".log")
	put(t, e, engine.Synced, column.State, "first", "1")
	from := size(t, log)
	put(t, e, engine.WAL, column.State, "probe", strings.Repeat("x", 200))
	around := size(t, log) - from - 200
	for size(t, log) < 32<<10 {
		n := 32<<10 - size(t, log) - around
		if n > 3000 {
			n = 1000
		}
		put(t, e, engine.WAL, column.State, "probe", strings.Repeat("x", n))
	}
	require.Equal(t, 32<<10, size(t, log), "a record ends with the block")
	put(t, e, engine.WAL, column.State, "behind", "2")
	dir := crash(t, e)
	zero(t, newest(t, dir, ".log"), from, 32<<10)
	after := open(t, copyDir(t, dir), Options{})
	require.Len(t, after.Recovery().Left, 2)
	require.Contains(t, after.Recovery().Left[0], "zeros")
	require.Equal(t, []string{"first=1"}, list(t, after, column.State, engine.Range{}))

	require.NoError(t, writeWatermark(dir, level{sequence: e.st.written.Load()}, 1))
	_, err := Open(dir, Options{})
	require.ErrorIs(t, err, engine.ErrCorrupt)
	require.ErrorContains(t, err, "zeros")
}

// Every record that is there is whole, and one is not there.
func TestARecordThatIsGoneFromTheMiddleIsDamage(t *testing.T) {
	e := open(t, t.TempDir(), Options{WatermarkEvery: time.Hour})
	log := newest(t, e.dir, ".log")
	put(t, e, engine.Synced, column.State, "first", "1")
	from := size(t, log)
	put(t, e, engine.Synced, column.State, "gone", "2")
	to := size(t, log)
	put(t, e, engine.Synced, column.State, "behind", "3")
	dir := crash(t, e)
	b, err := os.ReadFile(log)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(newest(t, dir, ".log"), append(b[:from:from], b[to:]...), 0o600))
	for _, o := range []Options{{}, {AcceptLoss: true}, {ReadOnly: true}} {
		_, err := Open(dir, o)
		require.ErrorIs(t, err, engine.ErrCorrupt)
		require.ErrorContains(t, err, "in what was on disk")
		require.ErrorContains(t, err, "is due")
	}
}

// The watermark may be behind: the manifest knows of the logs that were closed since.
func TestHoleBeforeWhatTheManifestKnowsIsDamage(t *testing.T) {
	hole := diskfile.Hole{File: diskfile.File{Number: 3}, Offset: 100, Later: []diskfile.File{{Number: 5}, {Number: 7}}}
	chain := diskfile.Chain{Last: 10, Hole: &hole}
	for _, c := range []struct {
		logs  map[uint64]uint64
		known bool
	}{
		{nil, false}, {map[uint64]uint64{3: 100}, false}, {map[uint64]uint64{3: 101}, true},
		{map[uint64]uint64{3: 100, 5: 1}, true}, {map[uint64]uint64{7: 1}, true}, {map[uint64]uint64{9: 1}, false},
	} {
		err := admitHole("dir", chain, &diskfile.Manifest{Logs: c.logs}, chain.Last)
		if !c.known {
			require.NoError(t, err, "%v", c.logs)
			continue
		}
		require.ErrorIs(t, err, engine.ErrCorrupt, "%v", c.logs)
		require.ErrorContains(t, err, "as its manifest knows", "%v", c.logs)
	}
	require.ErrorContains(t, admitHole("dir", chain, &diskfile.Manifest{}, chain.Last+1), "up to sequence 11")
}

// Records of a manifest that nobody waited for are in part on the disk: what they were
// to say is still in the logs.
func TestHoleInTheUnsyncedManifestIsLeft(t *testing.T) {
	random := enginetest.Random(t)
	e := open(t, t.TempDir(), Options{WatermarkEvery: time.Hour})
	columns := []column.Column{column.State, column.Delta, column.Meta}
	for i := range 50 {
		for _, c := range columns {
			put(t, e, engine.Synced, c, ctx(i), fmt.Sprint(i))
		}
	}
	before := crash(t, e)
	for _, c := range columns {
		require.NoError(t, e.st.flush(c))
	}
	path, _, err := diskfile.CurrentManifest(e.dir)
	require.NoError(t, err)
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	whole := rowsOf(t, open(t, copyDir(t, before), Options{ReadOnly: true}))

	tables := files(t, e.dir) // which are on disk before they are listed
	for name := range tables {
		if filepath.Ext(name) != ".sst" {
			delete(tables, name)
		}
	}
	manifest := filepath.Join(before, filepath.Base(path))
	from := size(t, manifest)
	for range enginetest.Scale(20) {
		dir := copyDir(t, before)
		manifest := filepath.Join(dir, filepath.Base(path))
		require.NoError(t, os.WriteFile(manifest, after, 0o600))
		for name, table := range tables {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(table), 0o600))
		}
		at := from + random.IntN(max(1, len(after)-from-120))
		zero(t, manifest, at, min(at+40, len(after)))
		names := fileNames(t, dir)
		ro := open(t, dir, Options{ReadOnly: true})
		require.Equal(t, whole, rowsOf(t, ro))
		require.Len(t, ro.Recovery().Left, 1)
		require.Equal(t, names, fileNames(t, dir))
		opened := open(t, dir, Options{})
		require.Equal(t, whole, rowsOf(t, opened))
		require.Len(t, opened.Recovery().Left, 2)
		require.Contains(t, opened.Recovery().Left[1], leavePrefix+filepath.Base(path))
		require.NoError(t, opened.Close())
	}

	dir := copyDir(t, before)
	zero(t, filepath.Join(dir, filepath.Base(path)), from/2, from/2+40)
	unchanged := files(t, dir)
	for _, o := range []Options{{}, {AcceptLoss: true}, {ReadOnly: true}} {
		_, err = Open(dir, o)
		require.ErrorIs(t, err, engine.ErrCorrupt)
		require.ErrorContains(t, err, "stoa salvage "+dir)
		require.Equal(t, unchanged, files(t, dir))
	}
	// The tables are there, and the logs whose place they have taken are not.
	dir = crash(t, e)
	zero(t, filepath.Join(dir, filepath.Base(path)), from+5, from+45)
	_, err = Open(dir, Options{})
	require.ErrorIs(t, err, engine.ErrCorrupt)
}
