//go:build cgo

package rocks

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
)

func TestCheckpointOpensAndIsEqual(t *testing.T) {
	e := open(t, t.TempDir(), Options{})
	var b engine.Batch
	for c := range column.All {
		for i := range 50 {
			b.Put(c, []byte(ctx(i)), bytes.Repeat([]byte{byte(i)}, 2000*i))
		}
	}
	require.NoError(t, e.Apply(&b))
	require.NoError(t, e.Flush())
	put(t, e, engine.WAL, column.State, "only in the log", "x")
	before, err := e.Stats()
	require.NoError(t, err)

	dir := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, e.Checkpoint(dir))
	after, err := e.Stats()
	require.NoError(t, err)
	require.Equal(t, before.MemtableBytes, after.MemtableBytes, "nothing was flushed")
	st, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o700), st.Mode().Perm())
	require.Equal(t, []string{"copy"}, fileNames(t, filepath.Dir(dir)))

	put(t, e, engine.Synced, column.State, "later", "x")
	c := open(t, dir, Options{})
	require.Equal(t, e.NodeID(), c.NodeID())
	require.Equal(t, before.Sequence, c.Recovery().Watermark)
	require.Equal(t, before.Sequence, c.Recovery().Sequence)
	require.Empty(t, c.Recovery().Problems)
	b.Reset()
	b.Delete(column.State, []byte("later"))
	require.NoError(t, e.Apply(&b))
	for col := range column.All {
		require.Equal(t, entries(t, e, col, engine.Range{}), entries(t, c, col, engine.Range{}), col)
	}
}

func TestCheckpointTailIsBounded(t *testing.T) {
	e := open(t, t.TempDir(), Options{})
	put(t, e, engine.Synced, column.State, "a", "x")
	put(t, e, engine.Synced, column.State, "b", "x")
	dir := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, e.Checkpoint(dir))
	log := newest(t, dir, ".log")
	require.NoError(t, os.Truncate(log, int64(size(t, log)-1)))
	_, err := Open(dir, Options{})
	require.ErrorIs(t, err, engine.ErrCorrupt)
	require.ErrorContains(t, err, "1 changes are lost")
}

// RocksDB links closed logs into the copy as they are.
func TestCheckpointIsOnDiskUpToItsWatermark(t *testing.T) {
	e := open(t, t.TempDir(), Options{WatermarkEvery: time.Hour})
	put(t, e, engine.WAL, column.State, "k", "v")
	require.Less(t, e.st.synced.Load(), e.st.written.Load())
	dir := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, e.Checkpoint(dir))
	require.Equal(t, e.st.written.Load(), e.st.synced.Load())
	at, _ := readWatermark(dir)
	require.Equal(t, e.st.written.Load(), at.sequence)
}

func TestCheckpointRefusesWhatIsThere(t *testing.T) {
	e := open(t, t.TempDir(), Options{})
	dir := t.TempDir()
	require.ErrorIs(t, e.Checkpoint(dir), fs.ErrExist)
	require.ErrorIs(t, e.Checkpoint(filepath.Join(dir, "no", "parent")), fs.ErrNotExist)
	require.ErrorIs(t, e.Checkpoint(""), ErrOptions)
	require.Empty(t, fileNames(t, dir))
}

// Two columns always get the same value, so every checkpoint must have it so.
func TestCheckpointsUnderLoadAreConsistent(t *testing.T) {
	e := open(t, t.TempDir(), Options{})
	var stop atomic.Bool
	var group sync.WaitGroup
	group.Go(func() {
		for i := 0; !stop.Load(); i++ {
			b := engine.Batch{Durability: engine.WAL}
			b.Put(column.Meta, []byte("k"), []byte(ctx(i)))
			b.Put(column.State, []byte("k"), []byte(ctx(i)))
			if err := e.Apply(&b); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range enginetest.Scale(5) {
		dir := filepath.Join(t.TempDir(), "copy")
		require.NoError(t, e.Checkpoint(dir))
		c := open(t, dir, Options{ReadOnly: true})
		meta, err := c.Get(nil, column.Meta, []byte("k"))
		if err == nil {
			require.Equal(t, string(meta), get(t, c, column.State, "k"))
		}
		require.NoError(t, c.Close())
	}
	stop.Store(true)
	group.Wait()
}

func TestSizesFollowTheData(t *testing.T) {
	e := open(t, t.TempDir(), Options{})
	all, err := e.ApproximateSize(column.Blobs, engine.Range{})
	require.NoError(t, err)
	require.Zero(t, all)
	value := make([]byte, 100<<10)
	var b engine.Batch
	for i := range 100 {
		for j := range value {
			value[j] = byte(j * (j + i) >> 8)
		}
		b.Put(column.Blobs, []byte(ctx(i)), value)
		b.Put(column.State, []byte(ctx(i)), value[:100])
	}
	require.NoError(t, e.Apply(&b))
	s, err := e.Stats()
	require.NoError(t, err)
	require.EqualValues(t, 202, s.Sequence)
	require.Greater(t, s.WALBytes, uint64(9*mib))
	require.Greater(t, s.MemtableBytes, uint64(9*mib))
	require.EqualValues(t, defaultCacheBytes, s.CacheCapacity)
	require.Len(t, s.Columns, column.Count)

	require.NoError(t, e.Flush())
	require.NoError(t, e.Compact(column.State, engine.Range{}))
	s, err = e.Stats()
	require.NoError(t, err)
	require.False(t, s.Stopped)
	blobs, state := s.Columns[column.Blobs-1], s.Columns[column.State-1]
	require.Greater(t, blobs.BlobBytes, uint64(mib))
	require.EqualValues(t, 100, blobs.Keys)
	require.EqualValues(t, 1, blobs.Tables)
	require.Zero(t, state.BlobBytes)
	require.NotZero(t, state.TableBytes)
	all, err = e.ApproximateSize(column.Blobs, engine.Range{})
	require.NoError(t, err)
	require.InEpsilon(t, blobs.BlobBytes+blobs.TableBytes, all, 0.5)
	none, err := e.ApproximateSize(column.Blobs, engine.Range{Start: []byte("b"), End: []byte("a")})
	require.NoError(t, err)
	require.Zero(t, none)

	b.Reset()
	b.DeleteRange(column.State, nil, []byte{0xFF})
	require.NoError(t, e.Apply(&b))
	require.NoError(t, e.Compact(column.State, engine.Range{Start: []byte("0")}))
	s, err = e.Stats()
	require.NoError(t, err)
	require.Zero(t, s.Columns[column.State-1].TableBytes)
}

// A table that nothing lies over is left alone by Compact; Rewrite reads all of it, and
// says what it finds.
func TestARewriteLeavesNoTableAsItIs(t *testing.T) {
	dir := t.TempDir()
	e := open(t, dir, Options{})
	var b engine.Batch
	for i := range 1000 {
		b.Put(column.State, []byte(ctx(i)), make([]byte, 200))
	}
	require.NoError(t, e.Apply(&b))
	require.NoError(t, e.Flush())
	tables := func() []string {
		found, err := filepath.Glob(filepath.Join(dir, "*.sst"))
		require.NoError(t, err)
		return found
	}
	require.NoError(t, e.Compact(column.State, engine.Range{}))
	first := tables()
	require.NoError(t, e.Compact(column.State, engine.Range{}))
	require.Equal(t, first, tables())
	require.NoError(t, e.Rewrite(column.State))
	second := tables()
	require.NotEqual(t, first, second)
	require.NoError(t, e.Rewrite(column.Meta)) // nothing is there
	require.NoError(t, e.Close())

	for _, path := range second {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		if !bytes.Contains(content, []byte(column.State.String())) {
			continue
		}
		content[20] ^= 1
		require.NoError(t, os.WriteFile(path, content, 0o600))
	}
	e = open(t, dir, Options{})
	require.NoError(t, e.Compact(column.State, engine.Range{}))
	require.ErrorIs(t, e.Rewrite(column.State), engine.ErrCorrupt)
	require.False(t, e.Health().Writable)
	require.ErrorIs(t, e.Rewrite(column.Meta), engine.ErrReadOnly)
	require.Equal(t, second, tables())
}
