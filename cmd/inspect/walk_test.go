//go:build cgo

package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/engine/rocks/diskfile"
	"github.com/stoadb/stoa/keys"
)

// holed returns a store of one column in one table, with damage in blocks of it, how
// many rows are outside of them, and the path of the table.
func holed(t *testing.T, rows int, places []float64) (dir string, left int) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "db")
	e, err := rocks.Open(dir, rocks.Options{})
	require.NoError(t, err)
	apply(t, e, func(b *engine.Batch) {
		for i := range rows {
			value := make([]byte, 200)
			copy(value, fmt.Sprint(i*i))
			engine.Put(b, keys.ContextState{Context: codec.ContextID{byte(i % 3), 1}, AppKey: keys.NewBytes(fmt.Appendf(nil, "%08d", i))}, codec.Raw(value))
		}
	})
	require.NoError(t, e.Close())
	m, err := diskfile.ReadManifest(dir)
	require.NoError(t, err)
	for _, f := range m.Families {
		if f.Name != column.State.String() {
			continue
		}
		numbers := slices.Collect(maps.Keys(f.Tables))
		require.Len(t, numbers, 1)
		path := diskfile.TablePath(dir, numbers[0])
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, at := range places {
			content[int(at*float64(len(content)))] ^= 1
		}
		require.NoError(t, os.WriteFile(path, content, 0o600))
		table, err := diskfile.OpenListedTable(path)
		require.NoError(t, err)
		defer table.Close()
		require.Greater(t, table.Blocks(), 10)
		for i := range table.Blocks() {
			err := table.Read(i, func(diskfile.Change) error { left++; return nil })
			if err != nil {
				require.ErrorIs(t, err, diskfile.ErrDamaged)
			}
		}
	}
	require.Less(t, left, rows)
	require.NotZero(t, left)
	return dir, left
}

// Whatever blocks of a column cannot be read, all rows of the others are looked at.
func TestDamagedBlocksAreWalkedAround(t *testing.T) {
	for _, places := range [][]float64{{0}, {0.3}, {0.2, 0.5, 0.7}, {0, 0.1, 0.4, 0.41, 0.42}} {
		dir, left := holed(t, 6000, places)
		s, err := OpenDir(dir, Options{})
		require.NoError(t, err)
		gaps := 0
		verdict, err := Verify(context.Background(), s, VerifyOptions{}, func(f Finding) error {
			if f.Code == "unreadable" {
				gaps++
				require.Regexp(t, "rows (after this key and )?before ", f.Reason)
			}
			return nil
		})
		require.NoError(t, err)
		require.EqualValues(t, left, verdict.Rows, "%v", places)
		require.NotZero(t, gaps)
		require.LessOrEqual(t, gaps, len(places))
		require.NotZero(t, verdict.Codes["table"])
		overview, err := Survey(context.Background(), s, SurveyOptions{Contexts: 9})
		require.NoError(t, err)
		require.Len(t, overview.Findings, gaps)
		var rows uint64
		for _, c := range overview.Columns {
			rows += c.Rows
		}
		require.EqualValues(t, left, rows)
		require.NoError(t, s.Close())
	}
}

// Where the ends of blocks are not known, the next key that can be read is felt for.
func TestDamagedBlockIsWalkedAroundWithoutItsTable(t *testing.T) {
	for _, place := range []float64{0, 0.3, 0.6} {
		dir, left := holed(t, 2000, []float64{place})
		s, err := OpenDir(dir, Options{})
		require.NoError(t, err)
		verdict, err := Verify(context.Background(), From(s.Reader, s.Facts), VerifyOptions{}, func(Finding) error { return nil })
		require.NoError(t, err)
		require.EqualValues(t, left, verdict.Rows)
		require.EqualValues(t, map[string]uint64{"unreadable": 1}, verdict.Codes)
		require.NoError(t, s.Close())
	}
}

func TestDamageAtTheEndOfAColumnEndsIt(t *testing.T) {
	dir, left := holed(t, 300*30, []float64{0.9}) // followed by the filter and the index
	s, err := OpenDir(dir, Options{})
	require.NoError(t, err)
	defer s.Close()
	verdict, err := Verify(context.Background(), s, VerifyOptions{}, func(Finding) error { return nil })
	require.NoError(t, err)
	require.EqualValues(t, left, verdict.Rows)
}

func TestAGapSaysWhichRowsCannotBeRead(t *testing.T) {
	a, b := []byte{0xAA}, []byte{0xBB}
	for _, c := range []struct {
		after, before []byte
		which         string
	}{
		{nil, nil, "all of its rows"},
		{nil, b, "rows before bb"},
		{a, b, "rows after this key and before bb"},
		{a, nil, "rows after this key"},
	} {
		require.Equal(t, "damage; "+c.which+" cannot be read", gap(c.after, c.before, errors.New("damage")))
	}
}

// What compares, digests or copies a store goes on behind damage, too, and says so.
func TestDamageIsPassedByWhateverReads(t *testing.T) {
	dir, left := holed(t, 6000, []float64{0, 0.2, 0.5, 0.7})
	s, err := OpenDir(dir, Options{})
	require.NoError(t, err)
	defer s.Close()
	ctx := context.Background()

	d, err := Hash(ctx, s, nil)
	require.NoError(t, err)
	require.NotEmpty(t, d.Findings)
	gaps := len(d.Findings)
	require.Empty(t, d.State)
	for _, c := range d.Columns {
		require.Equal(t, c.Column == column.State.String(), c.Unreadable)
		require.Empty(t, c.Digest) // there are no rows in the others
	}

	var out bytes.Buffer
	done, err := Export(ctx, s, &out, ExportOptions{})
	require.NoError(t, err)
	require.EqualValues(t, left, done.Rows)
	require.Equal(t, d.Findings, done.Findings)
	copied := mem.New()
	defer copied.Close()
	got, err := Import(ctx, &out, copied, ImportOptions{})
	require.NoError(t, err)
	require.EqualValues(t, left, got.Rows)
	require.Equal(t, gaps, got.Gaps)

	other := From(copied, Facts{})
	same := func(Difference) error { return errors.New("a row that can be read differs") }
	for name, pair := range map[string][2]*Source{"A": {s, other}, "B": {other, s}} {
		c, err := Diff(ctx, pair[0], pair[1], same, nil)
		require.NoError(t, err)
		require.False(t, c.Equal)
		require.Empty(t, c.Columns)
		require.Len(t, c.Findings, gaps)
		for i, f := range c.Findings {
			require.Equal(t, "in "+name+": "+d.Findings[i].Reason, f.Reason)
			require.Equal(t, d.Findings[i].Key, f.Key)
		}
	}
}

// A range is read around damage in both directions, and its ends hold.
func TestARangeIsReadAroundDamage(t *testing.T) {
	dir, left := holed(t, 6000, []float64{0, 0.2, 0.5, 0.7})
	s, err := OpenDir(dir, Options{})
	require.NoError(t, err)
	defer s.Close()
	read := func(rg engine.Range) (found [][]byte, gaps []Finding) {
		for more := true; more; {
			var last []byte
			it, err := s.Iterate(column.State, rg)
			require.NoError(t, err)
			for it.Next() {
				last = bytes.Clone(it.Key())
				found = append(found, last)
			}
			damage := it.Err()
			require.NoError(t, it.Close())
			if damage == nil {
				break
			}
			require.ErrorIs(t, damage, engine.ErrCorrupt)
			var f Finding
			rg, more, f, err = s.Around(column.State, rg, last, damage)
			require.NoError(t, err)
			gaps = append(gaps, f)
		}
		return found, gaps
	}
	all, gaps := read(engine.Range{})
	require.Len(t, all, left)
	require.NotEmpty(t, gaps)
	for i := range gaps {
		require.Equal(t, "unreadable", gaps[i].Code)
		require.Regexp(t, "rows (after this key and )?before ", gaps[i].Reason)
	}

	// Down, each gap takes the row behind it with it.
	down, back := read(engine.Range{Reverse: true})
	require.Len(t, back, len(gaps))
	slices.Reverse(down)
	require.Len(t, down, left-len(gaps))
	at := 0
	for _, key := range all {
		if at < len(down) && bytes.Equal(key, down[at]) {
			at++
		}
	}
	require.Equal(t, len(down), at, "a row that is not there, or not in its place")

	part, _ := read(engine.Range{Start: all[100], End: all[left-100]})
	require.Equal(t, all[100:left-100], part)
	part, back = read(engine.Range{Start: all[100], End: all[left-100], Reverse: true})
	require.Len(t, part, left-200-len(back))
	require.Equal(t, all[left-101], part[0])
	require.Equal(t, all[100], part[len(part)-1])
}
