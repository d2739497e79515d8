//go:build cgo

package rocks

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks/rows"
)

// reading returns who reads the rows that an engine shares.
func reading(t *testing.T, e *Engine) *rows.Reader {
	share, err := e.SharedRows()
	require.NoError(t, err)
	defer share.Close()
	r, err := rows.Map(share)
	require.NoError(t, err)
	return r
}

// TestWhoOpensAStoreEndsTheReadingOfItsRows opens it with and without rows to share, behind an
// engine that was closed, and behind one of which nobody knows.
func TestWhoOpensAStoreEndsTheReadingOfItsRows(t *testing.T) {
	sharing := Options{MinFreeBytes: -1, SharedRowBytes: 1 << 20}
	dir := filepath.Join(t.TempDir(), "store")
	open := func(o Options) *Engine {
		e, err := Open(dir, o)
		require.NoError(t, err)
		return e
	}
	e := open(Options{MinFreeBytes: -1})
	require.NoFileExists(t, filepath.Join(dir, rows.TermName), "nothing was ever shared")
	_, err := e.SharedRows()
	require.ErrorIs(t, err, engine.ErrUnsupported)
	require.NoError(t, e.Close())

	e = open(sharing)
	r := reading(t, e)
	require.True(t, r.Current())
	require.NoError(t, e.Close())
	require.False(t, r.Current(), "it is closed")
	_, err = e.SharedRows()
	require.ErrorIs(t, err, engine.ErrClosed)

	for name, next := range map[string]Options{"sharing": sharing, "not": {MinFreeBytes: -1}} {
		t.Run(name, func(t *testing.T) {
			killed, err := rows.BeginTerm(dir, false) // of a process that could do nothing at its end
			require.NoError(t, err)
			table, err := rows.NewShared(1 << 20)
			require.NoError(t, err)
			defer table.Close()
			file, err := table.File()
			require.NoError(t, err)
			terms, err := killed.Reading()
			require.NoError(t, err)
			r, err := rows.Map(rows.Share{Table: file, Terms: terms, Term: killed.Now()})
			require.NoError(t, err)
			require.True(t, r.Current())
			view, err := Open(dir, Options{ReadOnly: true})
			require.NoError(t, err)
			require.True(t, r.Current(), "who only reads ends nothing")
			_, err = view.SharedRows()
			require.ErrorIs(t, err, engine.ErrUnsupported)
			require.NoError(t, view.Close())
			e := open(next)
			require.False(t, r.Current())
			require.NoError(t, e.Close())
		})
	}
}

// TestAStoreWhoseTermCannotBeEndedIsNotOpened has something in place of the file.
func TestAStoreWhoseTermCannotBeEndedIsNotOpened(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	e, err := Open(dir, Options{MinFreeBytes: -1})
	require.NoError(t, err)
	require.NoError(t, e.Close())
	require.NoError(t, os.Mkdir(filepath.Join(dir, rows.TermName), 0o700))
	_, err = Open(dir, Options{MinFreeBytes: -1})
	require.ErrorContains(t, err, "rows: term")
	require.NoError(t, os.Remove(filepath.Join(dir, rows.TermName)))
	e, err = Open(dir, Options{MinFreeBytes: -1})
	require.NoError(t, err)
	require.NoError(t, e.Close())
}

// TestNoSecretIsShared reads a secret, a row of a tenant, and one that is neither.
func TestNoSecretIsShared(t *testing.T) {
	e, err := Open(filepath.Join(t.TempDir(), "store"), Options{MinFreeBytes: -1, RowCacheBytes: 1 << 20, SharedRowBytes: 1 << 20})
	require.NoError(t, err)
	defer e.Close()
	r := reading(t, e)
	for _, c := range []struct {
		col   column.Column
		key   string
		share bool
	}{
		{column.State, "state", true}, {column.Delta, "delta", true}, {column.Group, "\x20group", true},
		{column.Generic, "tenant", false}, {column.Identity, "key", false}, {column.Group, "\x25key", false}, {column.Group, "\x37key", false}, {column.Group, "\x3Akey", false},
	} {
		var b engine.Batch
		b.Put(c.col, []byte(c.key), []byte("value"))
		require.NoError(t, e.Apply(&b))
		for range 2 {
			v, err := e.Get(nil, c.col, []byte(c.key))
			require.NoError(t, err)
			require.Equal(t, "value", string(v))
		}
		_, ok := r.Get(nil, c.col, []byte(c.key))
		require.Equal(t, c.share, ok, "%s %q", c.col, c.key)
		var g engine.Batch
		g.Put(c.col, []byte(c.key), []byte("other"))
		require.NoError(t, e.Apply(&g))
		v, ok := r.Get(nil, c.col, []byte(c.key))
		require.Equal(t, c.share, ok)
		require.Equal(t, c.share, string(v) == "other")
	}
	var b engine.Batch
	b.DeleteRange(column.State, []byte("a"), []byte("z"))
	require.NoError(t, e.Apply(&b))
	_, ok := r.Get(nil, column.State, []byte("state"))
	require.False(t, ok)
}
