//go:build cgo

package rocks

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/linxGnu/grocksdb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/rocks/diskfile"
)

func TestCreatesPrivateDirectoryWithSchemaAndNode(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "db")
	seed := append(bytes.Repeat([]byte{0}, 16), bytes.Repeat([]byte{1, 2}, 8)...)
	e := open(t, dir, Options{Rand: bytes.NewReader(seed)})
	st, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o700), st.Mode().Perm())

	id := codec.NodeID{Hi: 0x0201020102010201, Lo: 0x0201020102010201} // the first that is not zero
	require.Equal(t, id, e.NodeID())
	require.EqualValues(t, SchemaVersion, e.SchemaVersion())
	require.False(t, e.Sealed())
	require.Empty(t, e.Unknown())
	require.True(t, e.Recovery().Created)
	require.NoError(t, e.Close())

	plain(t, dir, schemaFamilies(), func(db *grocksdb.DB, families map[string]*grocksdb.ColumnFamilyHandle) {
		ro := grocksdb.NewDefaultReadOptions()
		defer ro.Destroy()
		for key, want := range map[string][]byte{schemaKey: {1, 0, 0, 0}, nodeKey: seed[16:]} {
			got, err := db.GetBytes(ro, []byte(key))
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
		for c := range column.All {
			require.EqualValues(t, c, families[c.String()].ID())
		}
	})
	require.NoError(t, removeMarker(dir)) // of which plain RocksDB knows nothing

	e = open(t, dir, Options{MustExist: true})
	require.Equal(t, id, e.NodeID())
	require.False(t, e.Recovery().Created)
}

func TestNewStoreIsClosedToOthersInAnyDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.Chmod(dir, 0o755))
	require.NoError(t, open(t, dir, Options{}).Close())
	mode := func() fs.FileMode {
		st, err := os.Stat(dir)
		require.NoError(t, err)
		return st.Mode().Perm()
	}
	require.Equal(t, fs.FileMode(0o700), mode())
	require.NoError(t, os.Chmod(dir, 0o750))
	require.NoError(t, open(t, dir, Options{}).Close())
	require.Equal(t, fs.FileMode(0o750), mode(), "that of a store is its owner's affair")
}

func TestSealIsNoticed(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, open(t, dir, Options{}).Close())
	setRow(t, dir, schemaFamilies(), sealKey, "x")
	require.True(t, open(t, dir, Options{}).Sealed())
}

// A crash while a store is being made leaves some of its families and no rows.
func TestFinishesACreationThatWasBrokenOff(t *testing.T) {
	t.Parallel()
	for n := range schemaFamilies() {
		dir := t.TempDir()
		plain(t, dir, schemaFamilies()[:n+1], nil)
		_, err := Open(dir, Options{MustExist: true})
		require.ErrorIs(t, err, engine.ErrNotDatabase)
		e := open(t, dir, Options{})
		require.True(t, e.Recovery().Created)
		put(t, e, engine.Synced, column.Group, "k", "v")
		require.NoError(t, e.Close())
		e = open(t, dir, Options{})
		require.Equal(t, "v", get(t, e, column.Group, "k"))
		require.NoError(t, e.Close())
	}
}

func TestFinishesACreationThatHadNoManifestYet(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"LOCK", "LOG", "IDENTITY", "MANIFEST-000001", "000001.dbtmp", "stoa.toml"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	require.True(t, open(t, dir, Options{}).Recovery().Created)
}

// refusal is a path that Open does not take.
type refusal struct {
	name string
	make func(t *testing.T, dir string)
	o    Options
	want error
	text []string // what the error says
}

var refusals = []refusal{
	{"a file", func(t *testing.T, dir string) {
		require.NoError(t, os.Remove(dir))
		require.NoError(t, os.WriteFile(dir, []byte("x"), 0o600))
	}, Options{}, engine.ErrNotDatabase, []string{"no directory"}},
	{"other files", func(t *testing.T, dir string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "letter.txt"), []byte("x"), 0o600))
	}, Options{}, engine.ErrNotDatabase, []string{"letter.txt"}},
	{"nothing, and must exist", func(*testing.T, string) {}, Options{MustExist: true}, engine.ErrNotDatabase, nil},
	{"nothing, and read-only", func(*testing.T, string) {}, Options{ReadOnly: true}, engine.ErrNotDatabase, nil},
	{"a RocksDB of others", func(t *testing.T, dir string) {
		setRow(t, dir, []string{defaultFamily, "users"}, "k", "v")
	}, Options{}, engine.ErrNotDatabase, []string{"stoa.schema"}},
	{"a RocksDB of others, read-only", func(t *testing.T, dir string) {
		setRow(t, dir, []string{defaultFamily}, "k", "v")
	}, Options{ReadOnly: true}, engine.ErrNotDatabase, []string{"stoa.schema"}},
	{"another schema", func(t *testing.T, dir string) {
		require.NoError(t, open(t, dir, Options{}).Close())
		setRow(t, dir, schemaFamilies(), schemaKey, "\x07\x00\x00\x00")
	}, Options{}, engine.ErrSchema, []string{"version 7", "knows 1"}},
	{"a schema of another size", func(t *testing.T, dir string) {
		require.NoError(t, open(t, dir, Options{}).Close())
		setRow(t, dir, schemaFamilies(), schemaKey, "\x01")
	}, Options{}, engine.ErrCorrupt, []string{schemaKey, "1 bytes"}},
	{"no node", func(t *testing.T, dir string) {
		require.NoError(t, open(t, dir, Options{}).Close())
		setRow(t, dir, schemaFamilies(), nodeKey, string(make([]byte, 16)))
	}, Options{}, engine.ErrCorrupt, []string{nodeKey}},
	{"an unknown family", func(t *testing.T, dir string) {
		require.NoError(t, open(t, dir, Options{}).Close())
		plain(t, dir, append(schemaFamilies(), "Zebra"), nil)
	}, Options{}, engine.ErrSchema, []string{`"Zebra"`, "stoa serve --drop-empty-families"}},
	{"an unknown family with rows", func(t *testing.T, dir string) {
		require.NoError(t, open(t, dir, Options{}).Close())
		plain(t, dir, append(schemaFamilies(), "Empty", "Zebra"), func(db *grocksdb.DB, f map[string]*grocksdb.ColumnFamilyHandle) {
			o := grocksdb.NewDefaultWriteOptions()
			defer o.Destroy()
			require.NoError(t, db.PutCF(o, f["Zebra"], []byte("secret key"), []byte("v")))
		})
	}, Options{DropEmptyFamilies: true}, engine.ErrSchema, []string{`"Zebra"`, "it has rows", "a key of 10 bytes"}},
	{"an unknown family of which nobody knows", func(t *testing.T, dir string) {
		require.NoError(t, open(t, dir, Options{}).Close())
		plain(t, dir, append(schemaFamilies(), "Zebra"), func(db *grocksdb.DB, f map[string]*grocksdb.ColumnFamilyHandle) {
			o, fo := grocksdb.NewDefaultWriteOptions(), grocksdb.NewDefaultFlushOptions()
			defer o.Destroy()
			defer fo.Destroy()
			require.NoError(t, db.PutCF(o, f["Zebra"], []byte("k"), []byte("v")))
			require.NoError(t, db.FlushCF(f["Zebra"], fo))
		})
		m, err := diskfile.ReadManifest(dir)
		require.NoError(t, err)
		for _, family := range m.Families {
			for number := range family.Tables {
				if family.Name == "Zebra" {
					b, err := os.ReadFile(diskfile.TablePath(dir, number))
					require.NoError(t, err)
					b[2] ^= 1
					require.NoError(t, os.WriteFile(diskfile.TablePath(dir, number), b, 0o600))
				}
			}
		}
	}, Options{DropEmptyFamilies: true}, engine.ErrCorrupt, []string{`"Zebra"`, "cannot be told"}},
	{"a missing family", func(t *testing.T, dir string) {
		require.NoError(t, open(t, dir, Options{}).Close())
		plain(t, dir, schemaFamilies(), func(db *grocksdb.DB, f map[string]*grocksdb.ColumnFamilyHandle) {
			require.NoError(t, db.DropColumnFamily(f["Delta"]))
		})
	}, Options{}, engine.ErrSchema, []string{`"Delta"`}},
	{"no CURRENT", func(t *testing.T, dir string) {
		require.NoError(t, open(t, dir, Options{}).Close())
		require.NoError(t, os.Remove(filepath.Join(dir, "CURRENT")))
	}, Options{}, engine.ErrCorrupt, []string{"CURRENT", "stoa salvage"}},
	{"a CURRENT that lies", func(t *testing.T, dir string) {
		require.NoError(t, open(t, dir, Options{}).Close())
		require.NoError(t, os.WriteFile(filepath.Join(dir, "CURRENT"), []byte("MANIFEST-000001\n"), 0o600))
	}, Options{}, engine.ErrCorrupt, []string{"MANIFEST-000001", "stoa salvage"}},
	{"too little space", func(*testing.T, string) {}, Options{MinFreeBytes: 1 << 60}, engine.ErrNoSpace, []string{"MiB free"}},
}

func TestRefusesWithNothingChanged(t *testing.T) {
	for _, r := range refusals {
		t.Run(r.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "db")
			require.NoError(t, os.Mkdir(dir, 0o700))
			r.make(t, dir)
			state := func() any {
				if st, err := os.Stat(dir); err != nil || !st.IsDir() {
					b, _ := os.ReadFile(dir)
					return string(b)
				}
				return files(t, dir)
			}
			before := state()
			_, err := Open(dir, r.o)
			require.ErrorIs(t, err, r.want)
			for _, part := range append(r.text, dir) {
				require.ErrorContains(t, err, part)
			}
			require.Equal(t, before, state())
		})
	}
}

func TestDoesNotMakeADirectoryWithoutSpace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	_, err := Open(dir, Options{MinFreeBytes: 1 << 60})
	require.ErrorIs(t, err, engine.ErrNoSpace)
	require.NoDirExists(t, filepath.Dir(dir))
}

func TestRefusesBadOptions(t *testing.T) {
	for _, o := range []Options{{CacheBytes: 1}, {CacheBytes: -1}, {RowCacheBytes: 7}, {RowCacheBytes: -1}, {MaxWALBytes: 7}, {WatermarkEvery: 1}, {WatermarkEvery: -1}, {BackgroundJobs: -1}, {BackgroundJobs: 65}} {
		_, err := Open(t.TempDir(), o)
		require.ErrorIs(t, err, ErrOptions, "%+v", o)
	}
	for _, dir := range []string{"", "a\x00b"} {
		_, err := Open(dir, Options{})
		require.ErrorIs(t, err, ErrOptions)
	}
	failed := errors.New("no dice")
	_, err := Open(t.TempDir(), Options{Rand: io.MultiReader(bytes.NewReader([]byte{1}), failing{failed})})
	require.ErrorIs(t, err, failed)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestRefusesWithoutPermission(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("SKIPPED: root may open everything; run this as another user")
	}
	dir := t.TempDir()
	require.NoError(t, open(t, dir, Options{}).Close())
	require.NoError(t, os.Chmod(dir, 0))
	defer os.Chmod(dir, 0o700)
	_, err := Open(dir, Options{})
	require.ErrorIs(t, err, fs.ErrPermission)
}

func TestOpensAnEmptyDirectoryWhoseParentCannotBeRead(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("SKIPPED: root may read everything; run this as another user")
	}
	parent := t.TempDir()
	dir := filepath.Join(parent, "db")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.Chmod(parent, 0o100))
	defer os.Chmod(parent, 0o700)
	require.NoError(t, open(t, dir, Options{}).Close())
}

func TestIsLockedInThisProcess(t *testing.T) {
	dir := t.TempDir()
	e := open(t, dir, Options{})
	log, err := os.Stat(filepath.Join(dir, "LOG"))
	require.NoError(t, err)
	for range 2 { // a try must not give the lock up
		_, err := Open(dir, Options{})
		require.ErrorIs(t, err, engine.ErrLocked)
		require.ErrorContains(t, err, "in this process")
	}
	again, err := os.Stat(filepath.Join(dir, "LOG"))
	require.NoError(t, err)
	require.True(t, os.SameFile(log, again), "LOG was set aside")
	put(t, e, engine.Synced, column.Meta, "k", "v")
	require.NoError(t, e.Close())
	require.NoError(t, open(t, dir, Options{}).Close())
}

func TestIsLockedByAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	cmd, in := startChild(t, "hold", dir)
	for what, try := range map[string]func() error{
		"Open":            func() error { _, err := Open(dir, Options{}); return err },
		"RocksDB's words": func() error { return openError(dir, openPlainly(dir)) },
	} {
		err := try()
		require.ErrorIs(t, err, engine.ErrLocked, what)
		require.ErrorContains(t, err, fmt.Sprintf("process %d ", cmd.Process.Pid), what)
	}
	ro := open(t, dir, Options{ReadOnly: true})
	require.Equal(t, "held", get(t, ro, column.Meta, "k"))
	require.NoError(t, in.Close())
	require.NoError(t, cmd.Wait())
	require.NoError(t, open(t, dir, Options{}).Close())
}

// openPlainly returns the error of RocksDB for a directory that is locked.
func openPlainly(dir string) error {
	opts := grocksdb.NewDefaultOptions()
	defer opts.Destroy()
	_, err := grocksdb.OpenDb(opts, dir)
	return err
}

// holdOpen has dir open until its standard input ends.
func holdOpen(dir string) error {
	e, err := Open(dir, Options{})
	if err != nil {
		return err
	}
	var b engine.Batch
	b.Put(column.Meta, []byte("k"), []byte("held"))
	if err := e.Apply(&b); err != nil {
		return err
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
	return e.Close()
}

func TestReadOnlyShowsWhatItDoesNotKnow(t *testing.T) {
	dir := t.TempDir()
	e := open(t, dir, Options{})
	put(t, e, engine.Synced, column.Meta, "k", "v")
	require.NoError(t, e.Close())
	plain(t, dir, append(schemaFamilies(), "Zebra"), func(db *grocksdb.DB, f map[string]*grocksdb.ColumnFamilyHandle) {
		require.NoError(t, db.DropColumnFamily(f["Delta"]))
	})
	setRow(t, dir, append(withoutFamily("Delta"), "Zebra"), schemaKey, string(binary.LittleEndian.AppendUint32(nil, 9)))

	e = open(t, dir, Options{ReadOnly: true})
	require.Equal(t, []string{"schema version 9 (this build knows 1)", `column family "Zebra"`, `no column family "Delta"`}, e.Unknown())
	require.EqualValues(t, 9, e.SchemaVersion())
	require.Equal(t, "v", get(t, e, column.Meta, "k"))
	_, err := e.Get(nil, column.Delta, []byte("k"))
	require.ErrorIs(t, err, engine.ErrSchema)
	_, err = e.Iterate(column.Delta, engine.Range{})
	require.ErrorIs(t, err, engine.ErrSchema)
	_, err = e.Stats()
	require.NoError(t, err)
}

func withoutFamily(name string) (names []string) {
	for _, n := range schemaFamilies() {
		if n != name {
			names = append(names, n)
		}
	}
	return names
}

func TestReadOnlyWritesNothing(t *testing.T) {
	dir := t.TempDir()
	e := open(t, dir, Options{})
	for i := range 50 {
		put(t, e, engine.Synced, column.State, ctx(i), "v")
	}
	for name, from := range map[string]string{"crashed": crash(t, e), "live": dir} {
		before, names := files(t, from), fileNames(t, from)
		ro := open(t, from, Options{ReadOnly: true})
		require.Len(t, list(t, ro, column.State, engine.Range{}), 50, name)
		var b engine.Batch
		b.Put(column.Meta, []byte("k"), nil)
		require.ErrorIs(t, ro.Apply(&b), engine.ErrReadOnly)
		require.ErrorIs(t, ro.Update(func(_ engine.Getter, b *engine.Batch) error { b.Delete(column.Meta, nil); return nil }), engine.ErrReadOnly)
		require.ErrorIs(t, ro.Flush(), engine.ErrReadOnly)
		require.ErrorIs(t, ro.Compact(column.Meta, engine.Range{}), engine.ErrReadOnly)
		require.ErrorIs(t, ro.Checkpoint(filepath.Join(t.TempDir(), "c")), engine.ErrUnsupported)
		require.False(t, ro.Health().Writable)
		require.Contains(t, ro.Health().Reason, "read-only")
		require.NoError(t, ro.Reopen())
		require.NoError(t, ro.Close())
		require.Equal(t, before, files(t, from), name)
		require.Equal(t, names, fileNames(t, from), name)
	}
}

// Tables and logs come and go while they are being looked at.
func TestReadOnlyOpensBesideABusyWriter(t *testing.T) {
	e := open(t, t.TempDir(), Options{})
	var stop atomic.Bool
	var group sync.WaitGroup
	group.Go(func() {
		for i := 0; !stop.Load(); i++ {
			b := engine.Batch{Durability: engine.WAL}
			for c := range column.All {
				b.Put(c, []byte(ctx(i)), make([]byte, 300))
			}
			if err := errors.Join(e.Apply(&b), e.st.flush(column.Column(1+i%4))); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range enginetest.Scale(20) {
		ro, err := Open(e.dir, Options{ReadOnly: true})
		if assert.NoError(t, err) {
			assert.NoError(t, ro.Close())
		}
	}
	stop.Store(true)
	group.Wait()
}

func fileNames(t *testing.T, dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// startChild runs this binary as another process that does what it is told in
// dir, and waits until it says that it is ready.
func startChild(t *testing.T, what, dir string) (*exec.Cmd, io.WriteCloser) {
	t.Helper()
	cmd := enginetest.EndWithParent(exec.Command(os.Args[0]))
	cmd.Env = append(os.Environ(), childEnv+"="+dir, childTask+"="+what)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill() })
	ready := make([]byte, 6)
	_, err = io.ReadFull(out, ready)
	require.NoError(t, err)
	return cmd, in
}
