//go:build cgo

package rocks

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

func open(t testing.TB, dir string, o Options) *Engine {
	t.Helper()
	e, err := Open(dir, o)
	require.NoError(t, err)
	t.Cleanup(func() { e.Close() })
	return e
}

func put(t testing.TB, e engine.Engine, d engine.Durability, col column.Column, key, value string) {
	t.Helper()
	b := engine.Batch{Durability: d}
	b.Put(col, []byte(key), []byte(value))
	require.NoError(t, e.Apply(&b))
}

func get(t testing.TB, r engine.Reader, col column.Column, key string) string {
	t.Helper()
	v, err := r.Get(nil, col, []byte(key))
	require.NoError(t, err)
	return string(v)
}

func TestSmoke(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "db")
	t0 := time.Now()
	e := open(t, dir, Options{})
	t.Log("create", time.Since(t0))
	for i := range 100 {
		put(t, e, engine.WAL, column.Meta, fmt.Sprintf("%032d", i), "v")
	}
	require.Equal(t, "v", get(t, e, column.Meta, fmt.Sprintf("%032d", 7)))
	it, err := e.Iterate(column.Meta, engine.Range{Reverse: true})
	require.NoError(t, err)
	n := 0
	for it.Next() {
		n++
	}
	require.NoError(t, it.Err())
	require.NoError(t, it.Close())
	require.Equal(t, 100, n)
	s, err := e.Stats()
	require.NoError(t, err)
	t.Logf("%+v", s)
	t0 = time.Now()
	require.NoError(t, e.Close())
	t.Log("close", time.Since(t0))
	t0 = time.Now()
	e = open(t, dir, Options{})
	t.Log("open", time.Since(t0))
	t.Logf("%+v", e.Recovery())
	require.True(t, e.Recovery().Clean)
	require.Equal(t, "v", get(t, e, column.Meta, fmt.Sprintf("%032d", 7)))
	es, _ := os.ReadDir(dir)
	for _, f := range es {
		i, _ := f.Info()
		t.Log(f.Name(), i.Size(), i.Mode())
	}
}
