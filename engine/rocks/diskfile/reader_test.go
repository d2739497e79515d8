package diskfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// foreignDir is what RocksDB 9.8.4 has left when it was killed, by its own defaults
// (format version 6) with Snappy: testdata/make.py.
const foreignDir = "testdata/rocksdb-9.8.4"

// foreignRows are the rows of foreignDir.
func foreignRows() (rows []Row) {
	for i := range 600 {
		value := bytes.Repeat(fmt.Appendf(nil, "value %04d ", i), 12)
		switch {
		case i >= 300 && i < 320, i%50 == 1:
			continue
		case i == 2:
			value = []byte("only in the log")
		case i%3 == 0:
			value = fmt.Appendf(nil, "newer %04d", i)
		}
		rows = append(rows, Row{fmt.Appendf(nil, "key%04d", i), value})
	}
	return rows
}

func (r Row) equal(o Row) bool { return bytes.Equal(r.Key, o.Key) && bytes.Equal(r.Value, o.Value) }

// readRows returns copies of rows that are read, up to an error.
func readRows(r *Reader, family string, start, end []byte) (rows []Row, err error) {
	for row, err := range r.Rows(family, start, end) {
		if err != nil {
			return rows, err
		}
		rows = append(rows, Row{bytes.Clone(row.Key), bytes.Clone(row.Value)})
	}
	return rows, nil
}

func TestADirectoryOfAnotherRocksDBIsRead(t *testing.T) {
	r, err := OpenReader(foreignDir)
	require.NoError(t, err)
	require.Equal(t, []string{"Meta", "State", "default"}, r.Families())
	want := foreignRows()
	rows, err := readRows(r, "State", nil, nil)
	require.NoError(t, err)
	require.Equal(t, want, rows)
	rows, err = readRows(r, "Meta", nil, nil)
	require.NoError(t, err)
	require.Equal(t, []Row{{[]byte("logged"), []byte("only in the log")}}, rows)
	rows, err = readRows(r, "default", nil, nil)
	require.NoError(t, err)
	require.Empty(t, rows)
	_, err = readRows(r, "Delta", nil, nil)
	require.ErrorContains(t, err, `there is no column family "Delta"`)
	rapid.Check(t, func(t *rapid.T) {
		bound := rapid.Custom(func(t *rapid.T) []byte {
			return fmt.Appendf(nil, "key%04d%s", rapid.IntRange(0, 620).Draw(t, "n"), rapid.SampledFrom([]string{"", "a"}).Draw(t, "behind"))
		})
		start, end := bound.Draw(t, "start"), bound.Draw(t, "end")
		rows, err := readRows(r, "State", start, end)
		require.NoError(t, err)
		var within []Row
		for _, row := range want {
			if bytes.Compare(row.Key, start) >= 0 && bytes.Compare(row.Key, end) < 0 {
				within = append(within, row)
			}
		}
		require.Equal(t, within, rows)
	})
}

// Whatever bit of a table is another than it was, the rows that are read are right, up to
// an error: but for bits that nothing of what is read hangs on.
func TestADamagedTableOfFormat6GivesNoOtherRows(t *testing.T) {
	want := foreignRows()
	const name = "000015.sst"
	whole, err := os.ReadFile(filepath.Join(foreignDir, name))
	require.NoError(t, err)
	seen := 0
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		require.NoError(rt, os.CopyFS(dir, os.DirFS(foreignDir)))
		b := bytes.Clone(whole)
		at := rapid.IntRange(0, len(b)-1).Draw(rt, "at")
		b[at] ^= 1 << rapid.IntRange(0, 7).Draw(rt, "bit")
		require.NoError(rt, os.WriteFile(filepath.Join(dir, name), b, 0o600))
		r, err := OpenReader(dir)
		require.NoError(rt, err)
		rows, err := readRows(r, "State", nil, nil)
		require.True(rt, slices.EqualFunc(want[:len(rows)], rows, Row.equal))
		if err == nil {
			require.Len(rt, rows, len(want))
			return
		}
		seen++
		require.ErrorIs(rt, err, ErrDamaged)
		require.ErrorContains(rt, err, name)
	})
	require.Positive(t, seen)
}

func TestAMissingFileIsAnError(t *testing.T) {
	for name, want := range map[string]string{
		"000013.sst": "000013.sst", "MANIFEST-000005": "MANIFEST", "CURRENT": "CURRENT",
	} {
		dir := t.TempDir()
		require.NoError(t, os.CopyFS(dir, os.DirFS(foreignDir)))
		require.NoError(t, os.Remove(filepath.Join(dir, name)))
		r, err := OpenReader(dir)
		if err == nil {
			_, err = readRows(r, "State", nil, nil)
		}
		require.ErrorContains(t, err, want)
	}
}

// A log may end within a record: a kill leaves that. A log before it may not, and none may
// have damage.
func TestOnlyTheLastLogMayBeCut(t *testing.T) {
	log, err := os.ReadFile(filepath.Join(foreignDir, "000014.log"))
	require.NoError(t, err)
	for name, c := range map[string]struct {
		content []byte
		later   bool
		logged  bool
		damaged bool
	}{
		"cut":           {content: log[:len(log)-3]},
		"cut, no last":  {content: log[:len(log)-3], later: true, damaged: true},
		"a flipped bit": {content: append(bytes.Clone(log[:20]), append([]byte{log[20] ^ 1}, log[21:]...)...), damaged: true},
		"whole":         {content: log, later: true, logged: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.CopyFS(dir, os.DirFS(foreignDir)))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "000014.log"), c.content, 0o600))
			if c.later {
				require.NoError(t, os.WriteFile(filepath.Join(dir, "000099.log"), nil, 0o600))
			}
			r, err := OpenReader(dir)
			if c.damaged {
				require.ErrorIs(t, err, ErrDamaged)
				require.ErrorContains(t, err, "000014.log")
				return
			}
			require.NoError(t, err)
			rows, err := readRows(r, "State", []byte("key0002"), []byte("key0003"))
			require.NoError(t, err)
			require.Len(t, rows, 1)
			require.Equal(t, c.logged, string(rows[0].Value) == "only in the log")
		})
	}
}

func TestSnappyRefusesWhatItIsNot(t *testing.T) {
	got, err := unpackSnappy(nil, snappy.Encode(nil, bytes.Repeat([]byte("a"), 300)))
	require.NoError(t, err)
	require.Equal(t, bytes.Repeat([]byte("a"), 300), got)
	_, err = unpackSnappy(nil, append(binary.AppendUvarint(nil, maxBlock+1), 0))
	require.ErrorIs(t, err, ErrDamaged)
	rapid.Check(t, func(t *rapid.T) {
		if _, err := unpackSnappy(nil, rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(t, "src")); err != nil {
			require.ErrorIs(t, err, ErrDamaged)
		}
	})
}

// A merge is what applying all changes in the order of their sequences is.
func TestAMergeIsTheChangesInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.Custom(func(t *rapid.T) []byte {
			return bytes.Repeat([]byte{'k'}, rapid.IntRange(0, 6).Draw(t, "length"))
		})
		rows := map[string][]byte{}
		var deletes []Change
		runs := make([]Logged, 3)
		for seq := range uint64(rapid.IntRange(0, 40).Draw(t, "changes")) {
			c := Change{Sequence: seq + 1, Key: key.Draw(t, "key"), Kind: rapid.SampledFrom([]Kind{Put, Put, Put, Delete, DeleteRange}).Draw(t, "kind")}
			switch c.Kind {
			case Put:
				c.Value = []byte{byte(seq)}
				rows[string(c.Key)] = c.Value
			case Delete:
				delete(rows, string(c.Key))
			case DeleteRange:
				c.Value = key.Draw(t, "end")
				for k := range rows {
					if k >= string(c.Key) && k < string(c.Value) {
						delete(rows, k)
					}
				}
			}
			runs[rapid.IntRange(0, 2).Draw(t, "run")].Add(c)
		}
		var all []Run
		for i := range runs {
			all, deletes = append(all, runs[i].Run()), append(deletes, runs[i].Deletes...)
		}
		m := NewMerge(all, deletes)
		got := map[string][]byte{}
		var order []string
		for c, ok := m.Next(); ok; c, ok = m.Next() {
			got[string(c.Key)] = c.Value
			order = append(order, string(c.Key))
		}
		require.Equal(t, rows, got)
		require.True(t, slices.IsSorted(order))
		require.Len(t, order, len(rows), "each once")
		_, ok := m.Next()
		require.False(t, ok)
	})
}
