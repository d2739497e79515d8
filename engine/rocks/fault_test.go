//go:build cgo

package rocks

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// smallDisk mounts a file system of some MiB in memory, and returns it with what
// makes it larger.
func smallDisk(t *testing.T, mib int) (dir string, grow func(mib int)) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: only root may mount a small disk; run this as root")
	}
	dir = t.TempDir()
	mount := func(args ...string) {
		out, err := exec.Command("mount", args...).CombinedOutput()
		if err != nil {
			t.Skipf("SKIPPED: no small disk here: mount %v: %v: %s", args, err, out)
		}
	}
	mount("-t", "tmpfs", "-o", fmt.Sprintf("size=%dm,mode=0700", mib), "tmpfs", dir)
	t.Cleanup(func() { exec.Command("umount", "-l", dir).Run() })
	return dir, func(mib int) { mount("-o", fmt.Sprintf("remount,size=%dm", mib), dir) }
}

// fillDisk puts rows of 64 KiB until a write fails, and returns how many it has put.
func fillDisk(t *testing.T, e *Engine, from int) (n int, err error) {
	t.Helper()
	value := make([]byte, 64<<10)
	rand.Read(value)
	for n = from; n < from+10_000; n++ {
		var b engine.Batch
		b.Put(column.State, []byte(ctx(n)), value)
		if err := e.Apply(&b); err != nil {
			return n, err
		}
	}
	t.Fatal("the disk does not fill up")
	return
}

// requireAll demands that n rows are there, whole.
func requireAll(t *testing.T, r engine.Reader, n int) {
	t.Helper()
	for i := range n {
		v, err := r.Get(nil, column.State, []byte(ctx(i)))
		require.NoError(t, err, "row %d of %d", i, n)
		require.Len(t, v, 64<<10)
	}
}

func TestFullDiskMakesReadOnlyUntilReopened(t *testing.T) {
	dir, grow := smallDisk(t, 24)
	e := open(t, filepath.Join(dir, "db"), Options{MinFreeBytes: -1})
	n, err := fillDisk(t, e, 0)
	require.ErrorIs(t, err, engine.ErrNoSpace)
	require.ErrorIs(t, err, engine.ErrReadOnly)
	h := e.Health()
	require.False(t, h.Writable)
	require.Contains(t, h.Reason, "No space left")
	requireAll(t, e, n)
	it, err := e.Iterate(column.State, engine.Range{})
	require.NoError(t, err)
	require.True(t, it.Next())

	if err := e.Reopen(); err != nil { // still full
		require.ErrorIs(t, err, engine.ErrNoSpace)
		require.False(t, e.Health().Writable)
		requireAll(t, e, n)
	}
	for it.Next() {
	}
	require.ErrorIs(t, it.Err(), engine.ErrClosed)
	require.NoError(t, it.Close())

	grow(96)
	require.NoError(t, e.Reopen())
	require.True(t, e.Health().Writable, e.Health().Reason)
	requireAll(t, e, n)
	put(t, e, engine.Synced, column.Meta, "k", "v")
	require.NoError(t, e.Reopen(), "nothing to do")
	require.NoError(t, e.Close())
	requireAll(t, open(t, filepath.Join(dir, "db"), Options{MinFreeBytes: -1}), n)
}

// What failed in the background a moment ago, and nobody has noticed yet, is as good a
// reason to reopen as what a write has met.
func TestReopenLooksForFaultsThatNobodyHasNoticed(t *testing.T) {
	dir, grow := smallDisk(t, 24)
	e := open(t, filepath.Join(dir, "db"), Options{MinFreeBytes: -1})
	put(t, e, engine.Synced, column.State, ctx(0), "v")
	put(t, e, engine.Synced, column.Meta, ctx(0), "v")
	require.NoError(t, e.st.flush(column.Meta)) // a log ends, and gives back what was reserved, before the disk is full
	ballast, err := os.Create(filepath.Join(dir, "ballast"))
	require.NoError(t, err)
	for block := make([]byte, 4096); err == nil; {
		_, err = ballast.Write(block)
	}
	require.NoError(t, ballast.Close())
	require.Error(t, e.st.flush(column.State), "past the engine, as RocksDB itself does it")

	grow(96)
	require.NoError(t, e.Reopen())
	require.Zero(t, e.st.number("rocksdb.background-errors", 0))
	put(t, e, engine.Synced, column.State, ctx(1), "v")
	require.NoError(t, e.Flush())
	require.True(t, e.Health().Writable, e.Health().Reason)
}

// A RocksDB with assertions ends the process when it cannot write its LOG.
func TestFullDiskIsRefusedWithNothingChanged(t *testing.T) {
	dir, _ := smallDisk(t, 24)
	e := open(t, filepath.Join(dir, "clean"), Options{MinFreeBytes: -1})
	put(t, e, engine.Synced, column.State, ctx(1), "v")
	killed := filepath.Join(dir, "killed")
	require.NoError(t, os.CopyFS(killed, os.DirFS(e.dir)))
	require.NoError(t, e.Close())
	ballast, err := os.Create(filepath.Join(dir, "ballast"))
	require.NoError(t, err)
	for block := make([]byte, 4096); err == nil; {
		_, err = ballast.Write(block)
	}
	require.NoError(t, ballast.Close())

	for _, db := range []string{e.dir, killed} {
		before, names := files(t, db), fileNames(t, db)
		_, err := Open(db, Options{MinFreeBytes: -1})
		require.ErrorIs(t, err, engine.ErrNoSpace)
		require.ErrorContains(t, err, db)
		require.Equal(t, names, fileNames(t, db))
		require.Equal(t, before, files(t, db))
		require.Equal(t, "v", get(t, open(t, db, Options{ReadOnly: true}), column.State, ctx(1)))
	}
	_, err = Open(filepath.Join(dir, "new"), Options{MinFreeBytes: -1})
	require.ErrorIs(t, err, engine.ErrNoSpace)
	require.NoDirExists(t, filepath.Join(dir, "new"))
}

func TestWritesStopBeforeTheDiskIsFullAndResume(t *testing.T) {
	dir, _ := smallDisk(t, 64)
	ballast := filepath.Join(dir, "ballast")
	require.NoError(t, os.WriteFile(ballast, make([]byte, 36*mib), 0o600))
	now := time.Now()
	e := open(t, filepath.Join(dir, "db"), Options{MinFreeBytes: 16 * mib, Now: func() time.Time { return now }})
	n, err := fillDisk(t, e, 0)
	require.ErrorIs(t, err, engine.ErrNoSpace)
	require.NotErrorIs(t, err, engine.ErrReadOnly)
	require.True(t, e.Health().Writable)

	var b engine.Batch
	b.Delete(column.State, []byte(ctx(n-1)))
	b.DeleteRange(column.State, []byte(ctx(n-2)), []byte(ctx(n-1)))
	require.NoError(t, e.Apply(&b), "deletions are let through")
	require.NoError(t, e.Flush())
	requireAll(t, e, n-2)

	require.NoError(t, os.Remove(ballast))
	now = now.Add(spaceEvery)
	_, err = fillDisk(t, e, n-2)
	require.ErrorIs(t, err, engine.ErrNoSpace)
	require.NoError(t, os.WriteFile(ballast, make([]byte, 14*mib), 0o600))
	now = now.Add(spaceEvery)
	require.ErrorIs(t, e.Apply(&b), engine.ErrNoSpace, "below a quarter not even deletions")
	require.True(t, e.Health().Writable)
	require.NoError(t, os.Remove(ballast))
}

// A failed write is the first sign of a fault. What the engine does from then on
// is the same whatever the fault is.
func TestFirstFaultStaysAndReopenClearsIt(t *testing.T) {
	e := open(t, t.TempDir(), Options{})
	put(t, e, engine.Synced, column.Meta, "k", "v")
	s, err := e.Snapshot()
	require.NoError(t, err)
	fault := errors.New("the disk burns")
	e.fail(fault)
	e.fail(errors.New("and so does the house"))
	require.Contains(t, e.Health().Reason, "the disk burns")
	for what, err := range map[string]error{
		"Apply":   e.Apply(onePut()),
		"Update":  e.Update(func(_ engine.Getter, b *engine.Batch) error { b.Delete(column.Meta, nil); return nil }),
		"Flush":   e.Flush(),
		"Compact": e.Compact(column.Meta, engine.Range{}),
	} {
		require.ErrorIs(t, err, engine.ErrReadOnly, what)
		require.ErrorIs(t, err, fault, what)
	}
	require.Equal(t, "v", get(t, e, column.Meta, "k"))
	require.NoError(t, e.Reopen())
	require.True(t, e.Health().Writable)
	require.False(t, e.Recovery().Clean)
	_, err = s.Get(nil, column.Meta, []byte("k"))
	require.ErrorIs(t, err, engine.ErrClosed)
	require.ErrorIs(t, s.Close(), engine.ErrClosed)
	require.NoError(t, e.Apply(onePut()))
	require.Equal(t, "v", get(t, e, column.Meta, "k"))
}

func TestReopenMakesNoNewStore(t *testing.T) {
	e := open(t, t.TempDir(), Options{})
	put(t, e, engine.Synced, column.Meta, "k", "v")
	e.fail(errors.New("the disk burns"))
	for name := range files(t, e.dir) {
		require.NoError(t, os.Remove(filepath.Join(e.dir, name)))
	}
	require.Error(t, e.Reopen())
	// RocksDB 9.10 writes its manifest anew as it closes; what makes a store is ours.
	require.NoFileExists(t, filepath.Join(e.dir, watermarkName))
	require.False(t, e.Health().Writable)
}

func onePut() *engine.Batch {
	b := new(engine.Batch)
	b.Put(column.Meta, []byte("one"), nil)
	return b
}

func TestStoreWithAFaultIsNotMarkedClean(t *testing.T) {
	dir := t.TempDir()
	e := open(t, dir, Options{})
	put(t, e, engine.Synced, column.Meta, "k", "v")
	fault := errors.New("the disk burns")
	e.fail(fault)
	require.ErrorIs(t, e.Close(), fault)
	require.NoFileExists(t, filepath.Join(dir, markerName))
	require.Equal(t, "v", get(t, open(t, dir, Options{}), column.Meta, "k"))
}

func TestFailuresNameTheDirectoryAsPeopleKnowIt(t *testing.T) {
	e := open(t, t.TempDir(), Options{})
	put(t, e, engine.Synced, column.Meta, "k", "v")
	for n := range 200 {
		_ = os.Mkdir(filepath.Join(e.dir, fmt.Sprintf("%06d.sst", n)), 0o700) // some are tables
	}
	err := e.Flush()
	require.ErrorContains(t, err, e.dir)
	require.NotContains(t, err.Error(), "/proc/")
	require.ErrorIs(t, e.Close(), engine.ErrReadOnly)
}

func TestErrorsOfRocksDBAreClassified(t *testing.T) {
	for text, want := range map[string]error{
		"Corruption: block checksum mismatch: stored = 1":                                                    engine.ErrCorrupt,
		"IO error: No space left on device: While appending to file: /d/000012.log: No space left on device": engine.ErrNoSpace,
		"IO error: No such file or directory: While open a file for random read: /d/000012.sst":              engine.ErrCorrupt,
		"IO error: lock hold by current process, acquire time 1 acquiring thread 2: /d/LOCK":                 engine.ErrLocked,
		"IO error: While lock file: /d/LOCK: Resource temporarily unavailable":                               errHeld,
		"IO error: While open a file for appending: /d/LOG: Permission denied":                               os.ErrPermission,
		"Invalid argument: Column families not opened: Zebra":                                                errRefused,
		"Not implemented: Not supported operation in read only mode.":                                        engine.ErrReadOnly,
	} {
		err := classify("try", text)
		require.ErrorIs(t, err, want, text)
		require.ErrorContains(t, err, text)
	}
	require.ErrorContains(t, classify("try", "Shutdown in progress: "), "try: Shutdown")
}

// A write that was refused may be in the log all the same, where only its sync failed. Whoever
// was told so, and has gone on with what is there, does not find it after a reopening, nor later.
func TestWhatWasRefusedIsNotThereAfterAReopening(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	e := open(t, dir, Options{})
	put(t, e, engine.Synced, column.Meta, "synced", "v")
	put(t, e, engine.WAL, column.Meta, "buffered", "v")
	refuse := func() {
		var b engine.Batch
		b.Put(column.Meta, []byte("refused"), []byte("v"))
		b.Put(column.Group, []byte("refused"), []byte("v"))
		_, err := e.st.h.write(e.st.ids.translate(b.Bytes()), false) // past the engine, as if RocksDB had failed behind the log
		require.NoError(t, err)
		require.ErrorIs(t, e.fail(engine.ErrNoSpace), engine.ErrReadOnly)
	}
	there := func(key string) error {
		_, err := e.Get(nil, column.Meta, []byte(key))
		return err
	}
	for range 2 {
		refuse()
		require.NoError(t, e.Reopen())
		require.ErrorIs(t, there("refused"), engine.ErrNotFound)
		require.Empty(t, e.Recovery().Left, "nothing is wrong with what is there")
		require.NoError(t, there("synced"))
		require.NoError(t, there("buffered"))
		put(t, e, engine.WAL, column.Meta, "later", "v")
	}
	require.NoError(t, e.Close())
	e = open(t, dir, Options{})
	require.ErrorIs(t, there("refused"), engine.ErrNotFound)
	require.NoError(t, there("later"))
	require.NoError(t, e.Close())
}

// Where what was read before is gone with the fault, only a start anew lets everybody know.
func TestAReopeningThatLosesWhatWasReadIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	e := open(t, dir, Options{})
	put(t, e, engine.Synced, column.Meta, "k", "v")
	e.st.written.Add(3) // as if the log had had three more
	require.ErrorIs(t, e.fail(engine.ErrNoSpace), engine.ErrReadOnly)
	for range 2 {
		err := e.Reopen()
		require.ErrorIs(t, err, engine.ErrReadOnly)
		require.ErrorContains(t, err, "3 changes of "+dir+" that were not on disk yet are lost with what failed; stop, and open it again")
		require.False(t, e.Health().Writable)
		_, err = e.Get(nil, column.Meta, []byte("k"))
		require.NoError(t, err)
	}
	require.Error(t, e.Close())
	require.NoError(t, open(t, dir, Options{}).Close())
}
