//go:build cgo

package rocks

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/linxGnu/grocksdb"
	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// TestMain runs the tests, or, in a process that a test has started, what that
// test wants of it.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		os.Exit(child(dir))
	}
	os.Exit(m.Run())
}

func open(t testing.TB, dir string, o Options) *Engine {
	t.Helper()
	e, err := Open(dir, o)
	require.NoError(t, err)
	t.Cleanup(func() { e.Close() })
	return e
}

func put(t testing.TB, w engine.Writer, d engine.Durability, col column.Column, key, value string) {
	t.Helper()
	b := engine.Batch{Durability: d}
	b.Put(col, []byte(key), []byte(value))
	require.NoError(t, w.Apply(&b))
}

func get(t testing.TB, r engine.Reader, col column.Column, key string) string {
	t.Helper()
	v, err := r.Get(nil, col, []byte(key))
	require.NoError(t, err)
	return string(v)
}

// list returns the entries of a range as "key=value".
func list(t testing.TB, r engine.Reader, col column.Column, rg engine.Range) (entries []string) {
	t.Helper()
	it, err := r.Iterate(col, rg)
	require.NoError(t, err)
	for it.Next() {
		entries = append(entries, fmt.Sprintf("%s=%s", it.Key(), it.Value()))
	}
	require.NoError(t, it.Err())
	require.NoError(t, it.Close())
	return entries
}

// plain opens dir with RocksDB alone, its families in the given order, makes
// those that are not there, calls fn, and closes it.
func plain(t testing.TB, dir string, names []string, fn func(*grocksdb.DB, map[string]*grocksdb.ColumnFamilyHandle)) {
	t.Helper()
	opts := grocksdb.NewDefaultOptions()
	defer opts.Destroy()
	opts.SetCreateIfMissing(true)
	opts.SetCreateIfMissingColumnFamilies(true)
	all := make([]*grocksdb.Options, len(names))
	for i := range all {
		all[i] = opts
	}
	db, handles, err := grocksdb.OpenDbColumnFamilies(opts, dir, names, all)
	require.NoError(t, err)
	byName := make(map[string]*grocksdb.ColumnFamilyHandle)
	for i, h := range handles {
		byName[names[i]] = h
	}
	if fn != nil {
		fn(db, byName)
	}
	for _, h := range handles {
		h.Destroy()
	}
	db.Close()
}

// schemaFamilies are the families of the schema, default first.
func schemaFamilies() []string {
	names := []string{defaultFamily}
	for c := range column.All {
		names = append(names, c.String())
	}
	return names
}

// setRow stores a row of the default family without the engine.
func setRow(t testing.TB, dir string, names []string, key, value string) {
	t.Helper()
	plain(t, dir, names, func(db *grocksdb.DB, _ map[string]*grocksdb.ColumnFamilyHandle) {
		wo := grocksdb.NewDefaultWriteOptions()
		defer wo.Destroy()
		require.NoError(t, db.Put(wo, []byte(key), []byte(value)))
	})
}

// files returns the content of every file of dir but RocksDB's own logs, to tell
// whether anything changed.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	m := make(map[string]string)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "LOG") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		m[e.Name()] = string(b)
	}
	return m
}

// copyDir returns a copy of a store that nobody has open.
func copyDir(t testing.TB, dir string) string {
	t.Helper()
	to := t.TempDir()
	require.NoError(t, os.CopyFS(to, os.DirFS(dir)))
	return to
}

// crash returns a copy of the directory of a live engine: what a kill would
// leave.
func crash(t testing.TB, e *Engine) string {
	t.Helper()
	return copyDir(t, e.dir)
}

// newest returns the file of dir with the greatest number and the extension.
func newest(t testing.TB, dir, ext string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "[0-9]*"+ext))
	require.NoError(t, err)
	require.NotEmpty(t, names)
	return names[len(names)-1]
}
