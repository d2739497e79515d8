package mem_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
)

func put(t testing.TB, db engine.Writer, col column.Column, key, value string) {
	t.Helper()
	var b engine.Batch
	b.Put(col, []byte(key), []byte(value))
	require.NoError(t, db.Apply(&b))
}

func TestCountsAndSizesAreExact(t *testing.T) {
	db := mem.New()
	defer db.Close()
	put(t, db, column.State, "a", "12345")
	put(t, db, column.State, "bb", "")
	put(t, db, column.Meta, "c", "1")
	put(t, db, column.Meta, "c", "22")
	s, err := db.Stats()
	require.NoError(t, err)
	require.EqualValues(t, 4, s.Sequence)
	require.EqualValues(t, 6+2+3, s.MemtableBytes)
	require.Len(t, s.Columns, column.Count)
	require.Equal(t, engine.ColumnStats{Column: column.State, Keys: 2, MemtableBytes: 8}, s.Columns[column.State-1])

	n, err := db.ApproximateSize(column.State, engine.Range{Start: []byte("b"), Reverse: true})
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
}

func TestOpenSnapshotsAreCountedAndNoOthers(t *testing.T) {
	db := mem.New()
	defer db.Close()
	open := func() uint64 {
		s, err := db.Stats()
		require.NoError(t, err)
		return s.Snapshots
	}
	s, err := db.Snapshot()
	require.NoError(t, err)
	require.EqualValues(t, 1, open())
	it, err := s.Iterate(column.State, engine.Range{})
	require.NoError(t, err)
	require.NoError(t, it.Close())
	it, err = db.Iterate(column.State, engine.Range{})
	require.NoError(t, err)
	require.EqualValues(t, 1, open())
	require.NoError(t, it.Close())
	require.NoError(t, s.Close())
	require.Zero(t, open())
	require.ErrorIs(t, s.Close(), engine.ErrClosed)
}

func TestRowsAreNotTheCallersMemory(t *testing.T) {
	db := mem.New()
	defer db.Close()
	var made engine.Batch
	made.Put(column.State, []byte("k"), []byte("v"))
	ops := append([]byte(nil), made.Bytes()...)
	b, err := engine.ParseBatch(ops, nil, engine.Synced)
	require.NoError(t, err)
	require.NoError(t, db.Apply(b))
	clear(ops)
	v, err := db.Get(nil, column.State, []byte("k"))
	require.NoError(t, err)
	require.Equal(t, "v", string(v))
	v[0] = 'x'
	v, err = db.Get(nil, column.State, []byte("k"))
	require.NoError(t, err)
	require.Equal(t, "v", string(v))
}

func TestMemoryHasNoCheckpoints(t *testing.T) {
	db := mem.New()
	require.ErrorIs(t, db.Checkpoint(t.TempDir()+"/copy"), engine.ErrUnsupported)
	require.Equal(t, engine.Health{Writable: true}, db.Health())
	require.NoError(t, db.Close())
	require.Equal(t, engine.Health{Reason: "closed"}, db.Health())
	require.ErrorIs(t, db.Checkpoint(""), engine.ErrClosed)
}
