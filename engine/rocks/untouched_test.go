//go:build cgo

package rocks

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/rocks/diskfile"
)

// traces returns what tells of every file of dir whether it was touched: bytes,
// mode and time of the last change. The directory itself is among them.
func traces(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		var sum [32]byte
		if st.Mode().IsRegular() && d.Name() != lockName { // closing that would give up the lock of this process
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum = sha256.Sum256(b)
		}
		all[path] = fmt.Sprintf("%s %s %x", st.Mode(), st.ModTime().Format(time.RFC3339Nano), sum)
		return nil
	}))
	return all
}

// readAll reads every row, in every way that there is.
func readAll(t testing.TB, e *Engine) (rows int) {
	t.Helper()
	s, err := e.Snapshot()
	require.NoError(t, err)
	defer s.Close()
	for c := range column.All {
		for _, r := range []engine.Reader{e, s} {
			it, err := r.Iterate(c, engine.Range{})
			require.NoError(t, err)
			for it.Next() {
				lookups := []engine.Lookup{{Column: c, Key: it.Key()}, {Column: c, Key: []byte("no such key")}}
				_, err := r.MultiGet(nil, lookups)
				require.NoError(t, err)
				require.True(t, lookups[0].Found)
				require.False(t, lookups[1].Found)
				rows++
			}
			require.NoError(t, it.Err())
			require.NoError(t, it.Close())
		}
	}
	return rows
}

func TestReadingAClosedStoreTouchesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	e := open(t, dir, Options{})
	for i := range 50 {
		put(t, e, engine.WAL, column.State, ctx(i), "value")
		put(t, e, engine.WAL, column.Blobs, ctx(i), string(make([]byte, 40<<10)))
	}
	dead := crash(t, e) // its rows are in the log
	require.NoError(t, e.Close())
	for _, dir := range []string{dir, dead} {
		for _, scratch := range []string{"", t.TempDir()} {
			before := traces(t, dir)
			r, err := Open(dir, Options{ReadOnly: true, ScratchDir: scratch})
			require.NoError(t, err)
			require.False(t, r.Secondary())
			require.Equal(t, 200, readAll(t, r))
			_, err = r.Stats()
			require.NoError(t, err)
			var b engine.Batch
			b.Put(column.State, []byte("x"), nil)
			require.ErrorIs(t, r.Apply(&b), engine.ErrReadOnly)
			require.NoError(t, r.Close())
			require.Equal(t, before, traces(t, dir), "scratch %q", scratch)
		}
	}
}

// A store that a process holds is read as a secondary instance, which keeps what
// it has seen.
func TestReadingAHeldStoreTouchesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	e := open(t, dir, Options{WatermarkEvery: time.Hour})
	for i := range 50 {
		put(t, e, engine.WAL, column.State, ctx(i), "old")
	}
	require.NoError(t, e.Flush())
	for i := range 25 {
		put(t, e, engine.Synced, column.Meta, ctx(i), "old")
	}
	before := traces(t, dir)
	r, err := Open(dir, Options{ScratchDir: t.TempDir()})
	require.NoError(t, err)
	defer r.Close()
	require.True(t, r.Secondary())
	require.Equal(t, 150, readAll(t, r))
	require.Equal(t, before, traces(t, dir))

	for i := range 50 {
		put(t, e, engine.WAL, column.State, ctx(i), "new")
	}
	require.NoError(t, e.Flush())
	require.NoError(t, e.Compact(column.State, engine.Range{}))
	require.Equal(t, "old", get(t, r, column.State, ctx(3)))
	require.Equal(t, 150, readAll(t, r))
	before = traces(t, dir)
	require.NoError(t, r.Close())
	require.Equal(t, before, traces(t, dir))
	require.Equal(t, "new", get(t, e, column.State, ctx(3)))
}

// Blob files are read beside the process that holds the store, too, and after it has
// removed them.
func TestReadingAHeldStoreKeepsItsBlobFiles(t *testing.T) {
	dir, scratch := filepath.Join(t.TempDir(), "db"), t.TempDir()
	e := open(t, dir, Options{WatermarkEvery: time.Hour})
	large := func(i int) string { return strings.Repeat(ctx(i), 2000) }
	for i := range 20 {
		put(t, e, engine.WAL, column.Blobs, ctx(i), large(i))
		if i == 9 {
			require.NoError(t, e.Flush())
		}
	}
	require.NoError(t, e.Flush())
	put(t, e, engine.WAL, column.Blobs, ctx(20), large(20)) // in the log
	put(t, e, engine.WAL, column.State, ctx(0), "old")
	blobs := func() []string {
		names, err := filepath.Glob(filepath.Join(dir, "*.blob"))
		require.NoError(t, err)
		return names
	}
	there := blobs()
	require.NotEmpty(t, there)

	before := traces(t, dir)
	r, err := Open(dir, Options{ScratchDir: scratch})
	require.NoError(t, err)
	defer r.Close()
	require.True(t, r.Secondary())
	require.Equal(t, 44, readAll(t, r))
	late, err := Open(dir, Options{ScratchDir: scratch}) // reads nothing before they are gone
	require.NoError(t, err)
	defer late.Close()
	require.Equal(t, before, traces(t, dir))

	for i := range 21 {
		b := engine.Batch{Durability: engine.WAL}
		b.Delete(column.Blobs, []byte(ctx(i)))
		require.NoError(t, e.Apply(&b))
	}
	put(t, e, engine.WAL, column.State, ctx(0), "new")
	require.NoError(t, e.Flush())
	require.NoError(t, e.Compact(column.Blobs, engine.Range{}))
	require.Eventually(t, func() bool { return len(blobs()) == 0 }, 5*time.Minute, 10*time.Millisecond)
	for _, r := range []*Engine{r, late} {
		require.Equal(t, 44, readAll(t, r))
		require.Equal(t, large(3), get(t, r, column.Blobs, ctx(3)))
		require.Equal(t, large(20), get(t, r, column.Blobs, ctx(20)))
		require.Equal(t, "old", get(t, r, column.State, ctx(0)))
	}
	before = traces(t, dir)
	require.NoError(t, r.Close())
	require.NoError(t, late.Close())
	require.Equal(t, before, traces(t, dir))
	left, err := filepath.Glob(filepath.Join(scratch, "view-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// What is wrong with the files of a held store is said of the store, and not of the
// directory that shows it to whoever reads.
func TestErrorsOfAHeldStoreNameIt(t *testing.T) {
	dir, scratch := filepath.Join(t.TempDir(), "db"), t.TempDir()
	e := open(t, dir, Options{})
	put(t, e, engine.WAL, column.Blobs, ctx(0), strings.Repeat("blob", 10_000))
	put(t, e, engine.WAL, column.State, ctx(1), strings.Repeat("state", 100))
	require.NoError(t, e.Flush())
	m, err := diskfile.ReadManifest(dir)
	require.NoError(t, err)
	var tables []string
	for _, f := range m.Families {
		if f.Name == column.State.String() {
			for number := range f.Tables {
				tables = append(tables, diskfile.TablePath(dir, number))
			}
		}
	}
	require.NotEmpty(t, tables)
	named := func(err error) {
		t.Helper()
		require.ErrorIs(t, err, engine.ErrCorrupt)
		require.ErrorContains(t, err, dir+"/")
		require.NotContains(t, err.Error(), scratch)
	}
	damage := func(path string, at int) {
		t.Helper()
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		content[(at+len(content))%len(content)] ^= 1
		require.NoError(t, os.WriteFile(path, content, 0o600))
	}
	for _, path := range tables {
		damage(path, 20)
	}
	r, err := Open(dir, Options{ScratchDir: scratch})
	require.NoError(t, err)
	defer r.Close()
	_, err = r.Get(nil, column.State, []byte(ctx(1)))
	named(err)
	_, err = r.MultiGet(nil, []engine.Lookup{{Column: column.State, Key: []byte(ctx(1))}})
	named(err)
	it, err := r.Iterate(column.State, engine.Range{})
	require.NoError(t, err)
	require.False(t, it.Next())
	named(it.Err())
	require.NoError(t, it.Close())

	for _, path := range tables {
		damage(path, -3)
	}
	_, err = Open(dir, Options{ScratchDir: scratch})
	named(err)
}

// A view is of one state, however much is written while it is opened.
func TestReadingAHeldStoreWithBlobFilesBesideABusyWriter(t *testing.T) {
	e := open(t, filepath.Join(t.TempDir(), "db"), Options{})
	put(t, e, engine.WAL, column.Blobs, "first", strings.Repeat("blob", 10_000))
	require.NoError(t, e.Flush())
	var stop atomic.Bool
	var group sync.WaitGroup
	group.Go(func() {
		for i := 0; !stop.Load(); i++ {
			b := engine.Batch{Durability: engine.WAL}
			for _, c := range []column.Column{column.Blobs, column.State, column.Meta} {
				b.Put(c, []byte("count"), binary.BigEndian.AppendUint64(nil, uint64(i)))
			}
			b.Put(column.Blobs, []byte(ctx(i%50)), make([]byte, 40<<10))
			if err := errors.Join(e.Apply(&b), e.st.flush([]column.Column{column.Blobs, column.State, column.Meta}[i%3])); err != nil {
				t.Error(err)
				return
			}
			if i%10 == 9 {
				if err := e.Compact(column.Blobs, engine.Range{}); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	for range enginetest.Scale(20) {
		r, err := Open(e.dir, Options{ScratchDir: t.TempDir()})
		if !assert.NoError(t, err) {
			break
		}
		require.True(t, r.Secondary())
		readAll(t, r)
		lookups := []engine.Lookup{{Column: column.Blobs, Key: []byte("count")}, {Column: column.State, Key: []byte("count")}, {Column: column.Meta, Key: []byte("count")}}
		_, err = r.MultiGet(nil, lookups)
		assert.NoError(t, err)
		assert.Equal(t, lookups[0].Value, lookups[1].Value)
		assert.Equal(t, lookups[0].Value, lookups[2].Value)
		assert.NoError(t, r.Close())
	}
	stop.Store(true)
	group.Wait()
}
