//go:build cgo

package rocks

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// patience is how long something may take that is bound to happen.
const patience = time.Minute

// moving is a store whose directory is moved while it is open, with another directory
// put in its place.
type moving struct {
	*Engine
	old, at string
	rows    int // that were acknowledged
}

func move(t *testing.T, o Options) *moving {
	t.Helper()
	root := t.TempDir()
	m := &moving{old: filepath.Join(root, "old"), at: filepath.Join(root, "new")}
	o.WatermarkEvery = 10 * time.Millisecond
	e, err := Open(m.old, o)
	require.NoError(t, err)
	t.Cleanup(func() { e.Close() }) // most tests have closed it
	m.Engine = e
	for range 20 {
		require.NoError(t, m.put())
	}
	require.NoError(t, e.Flush())
	for range 20 {
		require.NoError(t, m.put())
	}
	require.NoError(t, os.Rename(m.old, m.at))
	require.NoError(t, os.Mkdir(m.old, 0o700))
	return m
}

func (m *moving) put() error {
	b := engine.Batch{Durability: engine.Synced}
	b.Put(column.State, []byte(ctx(m.rows)), make([]byte, 1000))
	err := m.Apply(&b)
	if err == nil {
		m.rows++
	}
	return err
}

// putUntilRefused returns why a write was refused at last.
func (m *moving) putUntilRefused(t *testing.T) (err error) {
	t.Helper()
	require.Eventually(t, func() bool {
		err = m.put()
		return err != nil
	}, patience, time.Microsecond)
	return err
}

// whole closes the store and demands that what was acknowledged is in the directory
// that was moved, and nothing in the other. By path the store is left as by a kill, and
// held until the process ends.
func (m *moving) whole(t *testing.T, clean bool) {
	t.Helper()
	at := m.at
	err := m.Close()
	if clean {
		require.NoError(t, err)
	} else {
		require.ErrorIs(t, err, ErrMoved)
		require.ErrorContains(t, err, m.old)
		_, err := Open(at, Options{MustExist: true})
		require.ErrorIs(t, err, engine.ErrLocked)
		at = copyDir(t, at)
	}
	require.Empty(t, fileNames(t, m.old))
	e, err := Open(at, Options{MustExist: true})
	require.NoError(t, err)
	defer e.Close()
	r := e.Recovery()
	require.Equal(t, clean, r.Clean)
	require.False(t, r.Damaged())
	for i := range m.rows {
		_, err := e.Get(nil, column.State, []byte(ctx(i)))
		require.NoError(t, err)
	}
}

// RocksDB and the marks are given a path that the system has made up: nobody is told it.
func TestErrorsNameTheDirectoryThatWasOpened(t *testing.T) {
	named := func(t *testing.T, dir, file, text string) {
		t.Helper()
		require.Contains(t, text, filepath.Join(dir, file))
		require.NotContains(t, text, "/proc/")
	}
	t.Run("opening", func(t *testing.T) {
		dir := t.TempDir()
		require.NoError(t, open(t, dir, Options{}).Close())
		require.NoError(t, os.Remove(filepath.Join(dir, formatName)))
		require.NoError(t, os.Mkdir(filepath.Join(dir, formatName+".tmp"), 0o700)) // in the way
		_, err := Open(dir, Options{})
		require.ErrorIs(t, err, syscall.EISDIR)
		named(t, dir, formatName, err.Error())
	})
	t.Run("the watermark", func(t *testing.T) {
		dir := t.TempDir()
		var said bytes.Buffer
		e := open(t, dir, Options{WatermarkEvery: time.Hour, Logger: slog.New(slog.NewTextHandler(&said, nil))})
		require.NoError(t, e.keeper.mark.file.Close())
		put(t, e, engine.Synced, column.State, ctx(1), "1")
		said.Reset()
		e.keeper.raise()
		require.Contains(t, said.String(), "watermark not written")
		named(t, dir, watermarkName, said.String())
		err := e.Close()
		require.ErrorIs(t, err, fs.ErrClosed)
		named(t, dir, watermarkName, err.Error())
	})
	t.Run("the marker", func(t *testing.T) {
		dir := t.TempDir()
		e := open(t, dir, Options{})
		require.NoError(t, os.Mkdir(filepath.Join(dir, markerName+".tmp"), 0o700))
		err := e.Close()
		require.ErrorIs(t, err, syscall.EISDIR)
		named(t, dir, markerName, err.Error())
	})
}

func TestMovedDirectoryTakesNoWritesAndLosesNone(t *testing.T) {
	for name, o := range map[string]Options{"followed": {}, "by path": {plain: true}} {
		t.Run(name, func(t *testing.T) {
			follows := !o.plain
			t.Run("writes", func(t *testing.T) {
				m := move(t, o)
				err := m.putUntilRefused(t)
				require.ErrorIs(t, err, ErrMoved)
				require.ErrorIs(t, err, engine.ErrReadOnly)
				h := m.Health()
				require.False(t, h.Writable)
				require.Contains(t, h.Reason, m.old)
				if follows {
					require.Contains(t, h.Reason, "is at "+m.at)
				}
				m.whole(t, follows)
			})
			t.Run("no writes", func(t *testing.T) {
				m := move(t, o)
				require.Eventually(t, func() bool { return !m.Health().Writable }, patience, time.Millisecond)
				m.whole(t, follows)
			})
			t.Run("closed at once", func(t *testing.T) {
				move(t, o).whole(t, follows)
			})
			t.Run("flushed at once", func(t *testing.T) {
				m := move(t, o)
				require.ErrorIs(t, m.Flush(), ErrMoved)
				require.ErrorIs(t, m.Compact(column.State, engine.Range{}), ErrMoved)
				require.ErrorIs(t, m.put(), ErrMoved)
				m.whole(t, follows)
			})
			t.Run("copied at once", func(t *testing.T) {
				m := move(t, o)
				dir := filepath.Join(t.TempDir(), "copy")
				err := m.Checkpoint(dir)
				if !follows {
					require.ErrorIs(t, err, ErrMoved)
					m.whole(t, follows)
					return
				}
				require.NoError(t, err)
				c := open(t, dir, Options{MustExist: true})
				_, err = c.Get(nil, column.State, []byte(ctx(m.rows-1)))
				require.NoError(t, err)
				require.NoError(t, c.Close())
				m.whole(t, follows)
			})
			t.Run("reopened", func(t *testing.T) {
				m := move(t, o)
				require.Eventually(t, func() bool { return !m.Health().Writable }, patience, time.Millisecond)
				require.ErrorIs(t, m.Reopen(), ErrMoved, "another directory is there")
				require.NoError(t, os.Remove(m.old))
				require.ErrorIs(t, m.Reopen(), ErrMoved, "nothing is there")
				require.NoError(t, os.Rename(m.at, m.old))
				require.NoError(t, m.Reopen())
				require.NoError(t, m.put())
				require.NoError(t, os.Rename(m.old, m.at))
				require.NoError(t, os.Mkdir(m.old, 0o700))
				m.whole(t, follows)
			})
		})
	}
}

// What RocksDB writes by itself goes into the directory that was opened, before anybody
// has noticed that it was moved.
func TestTablesFollowAMovedDirectory(t *testing.T) {
	m := move(t, Options{})
	require.NoError(t, m.st.flush(column.State))
	require.NoError(t, m.st.flush(0))
	m.whole(t, true)
}

func TestStoreInThePlaceOfAMovedOneIsLeftAlone(t *testing.T) {
	for _, first := range []string{"old", "new"} {
		t.Run("closed first: "+first, func(t *testing.T) {
			m := move(t, Options{})
			other := open(t, m.old, Options{})
			b := engine.Batch{}
			b.Put(column.State, []byte(ctx(1_000_000)), []byte("other"))
			require.NoError(t, other.Apply(&b))
			m.putUntilRefused(t)
			require.ErrorIs(t, m.Reopen(), ErrMoved)
			if first == "old" {
				require.NoError(t, m.Close())
				require.NoError(t, other.Close())
			} else {
				require.NoError(t, other.Close())
				require.NoError(t, m.Close())
			}
			other = open(t, m.old, Options{MustExist: true})
			require.Equal(t, []string{ctx(1_000_000) + "=other"}, list(t, other, column.State, engine.Range{}))
			require.NoError(t, other.Close())
			require.NoError(t, os.Rename(m.old, m.old+".other"))
			require.NoError(t, os.Mkdir(m.old, 0o700))
			e := open(t, m.at, Options{MustExist: true})
			require.Len(t, list(t, e, column.State, engine.Range{}), m.rows)
		})
	}
}

func TestRemovedDirectoryIsSaidSo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	e := open(t, dir, Options{WatermarkEvery: 10 * time.Millisecond})
	put(t, e, engine.Synced, column.State, ctx(1), "1")
	require.NoError(t, os.RemoveAll(dir))
	require.Eventually(t, func() bool { return !e.Health().Writable }, patience, time.Millisecond)
	err := e.Flush()
	require.ErrorIs(t, err, ErrMoved)
	require.ErrorContains(t, err, dir+" was removed while it was open")
	require.ErrorIs(t, e.Close(), ErrMoved, "what was written is not there any more")
	require.NoDirExists(t, dir)
}

func TestDirectoryIsOpenedOnceByWhateverPath(t *testing.T) {
	root := t.TempDir()
	dir, link := filepath.Join(root, "dir"), filepath.Join(root, "link")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.Symlink(dir, link))
	open(t, dir, Options{})
	_, err := Open(link, Options{})
	require.ErrorIs(t, err, engine.ErrLocked)
	_, err = openHome(link, false)
	require.ErrorIs(t, err, engine.ErrLocked)
	require.False(t, errors.Is(err, ErrMoved))
}

// A process that starts a child has it for a moment with all files that are open.
func TestWhatAChildHasOpenLocksNoClosedStore(t *testing.T) {
	t.Parallel()
	e := open(t, t.TempDir(), Options{})
	child, err := syscall.Dup(int(e.home.file.Fd()))
	require.NoError(t, err)
	defer syscall.Close(child)
	require.NoError(t, e.Close())
	open(t, e.dir, Options{})
}
