//go:build cgo

package inspect

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/engine/rocks/diskfile"
	"github.com/stoadb/stoa/keys"
)

func salvaged(t testing.TB, dir string) (*mem.Engine, *Salvaged) {
	e := mem.New()
	t.Cleanup(func() { e.Close() })
	out, err := Salvage(context.Background(), dir, e)
	require.NoError(t, err)
	return e, out
}

// churn makes changes of all kinds to e, in tables, in blob files, and in the log.
// Iterators that stay open keep tables on disk which compactions have replaced.
func churn(e *rocks.Engine, r *rand.Rand) error {
	for round := range 6 {
		for range 5 {
			b := &engine.Batch{}
			for range 60 {
				id := codec.ContextID{byte(r.IntN(6))}
				k := keys.ContextState{Context: id, AppKey: keys.NewBytes([]byte{byte(r.IntN(30))})}
				switch r.IntN(10) {
				case 0:
					engine.Delete(b, k)
				case 1:
					b.DeleteRange(column.State, append(id[:], byte(r.IntN(15))), append(id[:], byte(15+r.IntN(15))))
				default:
					engine.Put(b, k, codec.Raw(bytes.Repeat([]byte{byte(r.Uint32()), 7}, r.IntN(3000))))
				}
			}
			b.Put(column.Blobs, append(bytes.Repeat([]byte{byte(r.IntN(4))}, 32), 0, 0, 0, 0), bytes.Repeat([]byte{byte(r.Uint32()), 2, 3}, 20<<10))
			engine.Put(b, keys.GroupAlias{Group: codec.GroupID{byte(r.IntN(9))}}, codec.AliasName(fmt.Sprint("name", r.IntN(99))))
			if err := e.Apply(b); err != nil {
				return err
			}
		}
		if _, err := e.Iterate(column.State, engine.Range{}); err != nil {
			return err
		}
		if round == 5 {
			break
		}
		if err := e.Flush(); err != nil {
			return err
		}
		if r.IntN(3) > 0 {
			if err := e.Compact(column.State, engine.Range{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// churnAndWait makes a store in dir, says what its digests are, and waits for its
// end.
func churnAndWait(dir string, w io.Writer) error {
	e, err := rocks.Open(dir, rocks.Options{})
	if err != nil {
		return err
	}
	if err := churn(e, rand.New(rand.NewPCG(enginetest.Seed(), 1))); err != nil {
		return err
	}
	d, err := Hash(context.Background(), From(e, Facts{}), nil)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(w).Encode(d); err != nil {
		return err
	}
	select {}
}

// killedInChurn returns the directory of a process that was killed, and the digests
// of what it had written.
func killedInChurn(t *testing.T) (dir, digest string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "killed")
	cmd := enginetest.EndWithParent(exec.Command(os.Args[0]))
	cmd.Env = append(os.Environ(), churnEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, errors.Join(err, cmd.Process.Kill()))
	_ = cmd.Wait()
	return dir, strings.TrimSpace(line)
}

// What is whole comes out as it is: overwritten, deleted, deleted by range; and
// tables that were replaced, and not removed yet, bring nothing back.
func TestSalvageOfAWholeStoreIsTheStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	e, err := rocks.Open(dir, rocks.Options{})
	require.NoError(t, err)
	require.NoError(t, churn(e, enginetest.Random(t)))
	want := digests(t, e)
	require.NoError(t, e.Close())
	got, out := salvaged(t, dir)
	require.Empty(t, out.Losses)
	require.Empty(t, out.Notes)
	require.NotZero(t, out.Tables)
	require.Equal(t, want, digests(t, got))

	for range 3 {
		dir, digest := killedInChurn(t)
		got, out := salvaged(t, dir)
		require.Empty(t, out.Losses)
		require.Empty(t, out.Notes)
		tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
		require.NoError(t, err)
		require.Less(t, out.Tables, len(tables), "no replaced table was left")
		d, err := Hash(context.Background(), From(got, Facts{}), nil)
		require.NoError(t, err)
		text, err := json.Marshal(d)
		require.NoError(t, err)
		require.Equal(t, digest, string(text))
	}
}

// Whatever is damaged, salvage ends, reports it, and brings no row that never was;
// and of a damaged block of a table everything outside comes out.
func TestSalvageLosesOnlyWhatIsDamaged(t *testing.T) {
	closed, killed := makeStores(t, 30)
	whole := map[string]map[string]string{}
	for _, dir := range []string{closed, killed} {
		e, out := salvaged(t, dir)
		require.Empty(t, out.Losses)
		whole[dir] = rowsOf(t, e)
		require.Greater(t, len(whole[dir]), 180)
	}
	require.Equal(t, whole[closed], whole[killed])
	r := enginetest.Random(t)
	opened, refused := 0, 0
	for i := range damages(t) / 2 {
		from := []string{closed, killed}[i%2]
		name := pick(t, from, r)
		content, err := os.ReadFile(filepath.Join(from, name))
		require.NoError(t, err)
		if len(content) == 0 {
			continue
		}
		dir := filepath.Join(t.TempDir(), "damaged")
		link(t, from, dir, name)
		at := r.IntN(len(content))
		content[at] ^= 1 << r.IntN(8)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
		e, out := salvaged(t, dir)
		got := rowsOf(t, e)
		missing := 0
		for k, v := range got {
			require.Equal(t, whole[from][k], v, "%s byte %d: a row that never was", name, at)
		}
		for k := range whole[from] {
			if _, ok := got[k]; !ok {
				missing++
			}
		}
		if missing > 0 {
			text, err := json.Marshal(out)
			require.NoError(t, err)
			require.NotEmpty(t, out.Losses, "%s byte %d: %d rows are missing: %s", name, at, missing, text)
		}
		if kindOf(name) == ".sst" || kindOf(name) == ".blob" {
			require.LessOrEqual(t, missing, 100, "%s byte %d", name, at)
		}
		if kindOf(name) == "MANIFEST" || kindOf(name) == "CURRENT" {
			require.Zero(t, missing, "%s byte %d", name, at)
			refused++
		}
		opened++
	}
	require.NotZero(t, refused)
	require.NotZero(t, opened)
}

// A record of the manifest that is too long for its file looks like one that was being
// written: whatever families and tables it and those behind it name, no row is missing.
func TestSalvageOfAManifestThatSeemsToEnd(t *testing.T) {
	const header = 7 // checksum, length u16, kind
	_, killed := makeStores(t, 30)
	e, _ := salvaged(t, killed)
	whole := rowsOf(t, e)
	manifests, err := filepath.Glob(filepath.Join(killed, "MANIFEST-*"))
	require.NoError(t, err)
	require.Len(t, manifests, 1)
	content, err := os.ReadFile(manifests[0])
	require.NoError(t, err)
	records := 0
	for at := 0; at+header <= len(content); records++ {
		size := int(binary.LittleEndian.Uint16(content[at+4:]))
		dir, name := filepath.Join(t.TempDir(), "damaged"), filepath.Base(manifests[0])
		link(t, killed, dir, name)
		bad := bytes.Clone(content)
		bad[at+5] ^= 0x80
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), bad, 0o600))
		e, _ := salvaged(t, dir)
		require.Equal(t, whole, rowsOf(t, e), "record at byte %d", at)
		at += header + size
	}
	require.Greater(t, records, 10)
}

func rowsOf(t testing.TB, e engine.Reader) map[string]string {
	rows := map[string]string{}
	for c := range column.All {
		it, err := e.Iterate(c, engine.Range{})
		require.NoError(t, err)
		for it.Next() {
			rows[c.String()+string(it.Key())] = string(it.Value())
		}
		require.NoError(t, it.Err())
		require.NoError(t, it.Close())
	}
	return rows
}

// Each block that is lost is named, with its file and the keys between which rows are.
func TestSalvageNamesWhatIsLost(t *testing.T) {
	dir, left := holed(t, 6000, []float64{0, 0.5})
	s, err := OpenDir(dir, Options{})
	require.NoError(t, err)
	defer s.Close()
	to := mem.New()
	defer to.Close()
	out, err := Salvage(context.Background(), dir, to)
	require.NoError(t, err)
	require.EqualValues(t, left, out.Rows)
	require.Len(t, out.Losses, 2)
	require.Empty(t, out.Losses[0].Key)
	require.Regexp(t, `^[0-9]+\.sst: block 1 of [0-9]+: .*; rows up to [0-9a-f]+$`, out.Losses[0].Reason)
	require.Regexp(t, `^[0-9]+\.sst: block [0-9]+ of [0-9]+: .*; rows after this key and up to [0-9a-f]+$`, out.Losses[1].Reason)
	after, err := hex.DecodeString(out.Losses[1].Key)
	require.NoError(t, err)
	end, err := hex.DecodeString(out.Losses[1].Reason[strings.LastIndex(out.Losses[1].Reason, " ")+1:])
	require.NoError(t, err)
	it, err := to.Iterate(column.State, engine.Range{Start: append(after, 0), End: append(end, 0)})
	require.NoError(t, err)
	require.False(t, it.Next(), "rows between these keys are what is lost")
	require.NoError(t, it.Close())
}

// What is in column families of another build is a loss, and the version of the schema
// that the store has is noted.
func TestSalvageOfAnotherSchemaSaysWhatItPassesBy(t *testing.T) {
	s := &salvage{out: &Salvaged{}}
	s.sort(&diskfile.Table{Family: "Zebra"}, "000007.sst")
	for range 3 {
		s.change(diskfile.Change{Kind: diskfile.Put, Key: []byte("k"), Value: []byte("v")}, "Zebra")
	}
	s.change(diskfile.Change{Kind: diskfile.Put, Key: []byte("k"), Value: []byte("v")}, "") // of one that was dropped
	s.strangers()
	require.Equal(t, []Finding{
		{Code: "table", Reason: `000007.sst: this build does not know its column family "Zebra": all of it`},
		{Code: "log", Reason: `3 changes in column family "Zebra", which this build does not know`},
	}, s.out.Losses)

	schema := func(version byte, sequence uint64) diskfile.Change {
		return diskfile.Change{Kind: diskfile.Put, Key: []byte("stoa.schema"), Value: []byte{version, 0, 0, 0}, Sequence: sequence}
	}
	s.change(schema(9, 5), "default")
	s.change(schema(3, 2), "default") // an older one
	require.EqualValues(t, 9, s.schema)
	dir := filepath.Join(t.TempDir(), "db")
	e, err := rocks.Open(dir, rocks.Options{})
	require.NoError(t, err)
	require.NoError(t, e.Close())
	to := mem.New()
	defer to.Close()
	out, err := Salvage(context.Background(), dir, to)
	require.NoError(t, err)
	require.Empty(t, out.Losses)
	require.Empty(t, out.Notes)

	s = newSalvage(context.Background(), dir, to)
	s.strange = map[string]uint64{"Zebra": 2} // as its logs have them
	out, err = s.run()
	require.NoError(t, err)
	require.Len(t, out.Losses, 1)
	require.Contains(t, out.Losses[0].Reason, `2 changes in column family "Zebra"`)
}

// A table that another RocksDB has written, of another format version, is not called
// damaged.
// A few bytes of a table may stand for many: of hundreds no more is held at once than
// allowed, and what is passed over is a loss.
func TestSalvageHoldsNoMoreOfManyTablesThanTheirSizesAllow(t *testing.T) {
	made, dir := t.TempDir(), t.TempDir()
	e, err := rocks.Open(made, rocks.Options{})
	require.NoError(t, err)
	var b engine.Batch
	engine.Put(&b, keys.ContextState{Context: codec.ContextID{7}, AppKey: keys.NewBytes([]byte("row"))}, codec.Raw(make([]byte, 1<<20)))
	require.NoError(t, e.Apply(&b))
	require.NoError(t, e.Close())
	tables, err := filepath.Glob(filepath.Join(made, "*.sst"))
	require.NoError(t, err)
	const copies = 300
	allowed := 10 << 20 // bytes of entries in "some"
	for _, path := range tables {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		if len(content) > 64<<10 || !bytes.Contains(content, []byte("State")) {
			continue
		}
		allowed += copies * heldPerByte * len(content)
		for i := range copies {
			require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%06d.sst", 100+i)), content, 0o600))
		}
	}
	for name, c := range map[string]struct {
		most int64
		lost int
	}{"all": {most: 310 << 20}, "some": {most: 10 << 20, lost: copies - allowed>>20}} {
		t.Run(name, func(t *testing.T) {
			to := mem.New()
			defer to.Close()
			s := newSalvage(t.Context(), dir, to)
			s.most = c.most
			out, err := s.run()
			require.NoError(t, err)
			require.Equal(t, copies, out.Tables)
			require.EqualValues(t, 1, out.Rows)
			require.Zero(t, s.held)
			blocks := 0
			for _, f := range out.Losses {
				if f.Code == "block" {
					require.Contains(t, f.Reason, "more than the sizes of the files allow")
					blocks++
				}
			}
			require.InDelta(t, c.lost, blocks, 2)
		})
	}
}

// Of a block that is told as lost no rows are taken, not those before its largest
// either: what is lost is what the loss says.
func TestABlockThatIsPassedOverIsPassedOverWhole(t *testing.T) {
	dir := t.TempDir()
	e, err := rocks.Open(dir, rocks.Options{})
	require.NoError(t, err)
	var b engine.Batch
	for key, size := range map[string]int{"a": 1, "b": 1 << 20} {
		engine.Put(&b, keys.ContextState{Context: codec.ContextID{7}, AppKey: keys.NewBytes([]byte(key))}, codec.Raw(make([]byte, size)))
	}
	require.NoError(t, e.Apply(&b))
	require.NoError(t, e.Close())
	for most, rows := range map[int64]int{0: 0, 2 << 20: 2} {
		to := mem.New()
		s := newSalvage(t.Context(), dir, to)
		s.most = most
		out, err := s.run()
		require.NoError(t, err)
		require.Len(t, rowsOf(t, to), rows)
		require.Equal(t, rows == 0, slices.ContainsFunc(out.Losses, func(f Finding) bool { return f.Code == "block" }))
		require.NoError(t, to.Close())
	}
}

// Without its deletions of ranges a table brings rows back; without its properties
// nobody knows of which column its rows are.
func TestTablesWhosePropertiesOrDeletionsCannotBeReadAreReported(t *testing.T) {
	id := codec.ContextID{7}
	end := append(id[:], "the end of what is deleted"...)
	for part, c := range map[string]struct{ is, lost string }{
		"deletions of ranges": {string(end), "its deletions of ranges cannot be read: .*; rows that it deleted may come back"},
		"properties":          {"leveldb.BytewiseComparator", "the name of its column family cannot be read: all of it"},
	} {
		t.Run(part, func(t *testing.T) {
			dir := t.TempDir()
			e, err := rocks.Open(dir, rocks.Options{})
			require.NoError(t, err)
			var b engine.Batch
			engine.Put(&b, keys.ContextState{Context: id, AppKey: keys.NewBytes([]byte("row"))}, codec.Raw("v"))
			require.NoError(t, e.Apply(&b))
			require.NoError(t, e.Flush())
			b.Reset()
			b.DeleteRange(column.State, id[:], end)
			require.NoError(t, e.Apply(&b))
			require.NoError(t, e.Close())

			tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
			require.NoError(t, err)
			damaged := ""
			for _, path := range tables {
				content, err := os.ReadFile(path)
				require.NoError(t, err)
				if !bytes.Contains(content, end) {
					continue
				}
				damaged = filepath.Base(path)
				content[bytes.Index(content, []byte(c.is))] ^= 1
				require.NoError(t, os.WriteFile(path, content, 0o600))
			}
			require.NotEmpty(t, damaged)
			if out := look(dir); out.Err == "" { // RocksDB refuses some
				require.Len(t, out.Findings, 1)
				require.Equal(t, "table", out.Findings[0].Code)
				require.Contains(t, out.Findings[0].Reason, damaged+": its "+part+" cannot be read: ")
			}
			_, saved := salvaged(t, dir)
			require.Len(t, saved.Losses, 1)
			require.Equal(t, "table", saved.Losses[0].Code)
			require.Regexp(t, damaged+": "+c.lost, saved.Losses[0].Reason)
		})
	}
}

func TestSalvageNamesAnUnknownFormat(t *testing.T) {
	dir, _ := makeStores(t, 3)
	tables, err := diskfile.Files(dir, ".sst")
	require.NoError(t, err)
	b, err := os.ReadFile(tables[0].Path)
	require.NoError(t, err)
	clear(b[:len(b)-53])                            // no block of it is one of ours
	binary.LittleEndian.PutUint32(b[len(b)-12:], 6) // the format version
	require.NoError(t, os.Remove(tables[0].Path))   // it may be linked
	require.NoError(t, os.WriteFile(tables[0].Path, b, 0o600))
	_, out := salvaged(t, dir)
	require.Len(t, out.Losses, 1)
	require.Equal(t, "format", out.Losses[0].Code)
	require.Contains(t, out.Losses[0].Reason, "unknown format: a table of format version 6")
	require.NotContains(t, out.Losses[0].Reason, "damaged")
}
