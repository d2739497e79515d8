//go:build cgo

package rocks

import (
	"path/filepath"
	"testing"

	"github.com/linxGnu/grocksdb"
	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// A merod that has opened a store leaves a column family there. What was in the store stays.
func TestEmptyFamiliesAreDropped(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	e := open(t, dir, Options{})
	var b engine.Batch
	b.Put(column.Generic, []byte("stoa.test\x00\x00\x00\x00\x00\x00\x00k"), []byte("v"))
	require.NoError(t, e.Apply(&b))
	node := e.NodeID()
	require.NoError(t, e.Close())
	plain(t, dir, append(schemaFamilies(), "ContextLocal", "SortedIndex"), func(db *grocksdb.DB, f map[string]*grocksdb.ColumnFamilyHandle) {
		o := grocksdb.NewDefaultWriteOptions()
		defer o.Destroy()
		require.NoError(t, db.PutCF(o, f["SortedIndex"], []byte("k"), []byte("v")))
		require.NoError(t, db.DeleteCF(o, f["SortedIndex"], []byte("k")))
	})
	_, err := Open(dir, Options{})
	require.ErrorIs(t, err, engine.ErrSchema)
	require.ErrorContains(t, err, "--drop-empty-families")
	ro := open(t, dir, Options{ReadOnly: true})
	require.NotEmpty(t, ro.Unknown())
	require.NoError(t, ro.Close())
	e = open(t, dir, Options{DropEmptyFamilies: true})
	require.Empty(t, e.Unknown())
	require.Equal(t, node, e.NodeID())
	require.NoError(t, e.Close())
	e = open(t, dir, Options{})
	got, err := e.Get(nil, column.Generic, []byte("stoa.test\x00\x00\x00\x00\x00\x00\x00k"))
	require.NoError(t, err)
	require.Equal(t, "v", string(got))
	require.True(t, e.Recovery().Clean)
	require.NoError(t, e.Close())
}
