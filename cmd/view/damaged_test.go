//go:build cgo

package view

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks"
)

// stored puts the rows of a sample into a directory.
func (s *sample) stored(t *testing.T) (dir string) {
	dir = t.TempDir()
	e, err := rocks.Open(dir, rocks.Options{})
	require.NoError(t, err)
	var b engine.Batch
	for col := range column.All {
		it, err := s.store.Iterate(col, engine.Range{})
		require.NoError(t, err)
		for it.Next() {
			b.Put(col, it.Key(), it.Value())
		}
		require.NoError(t, it.Err())
		require.NoError(t, it.Close())
	}
	require.NoError(t, e.Apply(&b))
	require.NoError(t, e.Close())
	return dir
}

// damageLargest flips a bit in the middle of the largest table of a directory, and
// returns its name.
func damageLargest(t *testing.T, dir string) string {
	tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	require.NoError(t, err)
	size := func(path string) int64 {
		st, err := os.Stat(path)
		require.NoError(t, err)
		return st.Size()
	}
	largest := slices.MaxFunc(tables, func(a, b string) int { return int(size(a) - size(b)) })
	b, err := os.ReadFile(largest)
	require.NoError(t, err)
	b[len(b)/2] ^= 0x10
	require.NoError(t, os.WriteFile(largest, b, 0o600))
	return filepath.Base(largest)
}

// A block of a table is damaged on the disk: the page opens, names it, and shows all
// rows but those that were in it, from both ends.
func TestADirectoryWithADamagedBlockIsShown(t *testing.T) {
	const rows = 4000
	sample := newSample(t, 1)
	sample.put(t, func(b *engine.Batch) {
		for i := range rows {
			key := idNamed(fmt.Sprint("row ", i))
			b.Put(column.State, append(sample.context[:len(sample.context):len(sample.context)], key[:]...), key[:])
		}
	})
	all := sample.keysOf(t, column.State, nil)
	dir := sample.stored(t)
	table := damageLargest(t, dir)
	s, err := New(Options{Open: func() (*inspect.Source, error) { return inspect.OpenDir(dir, inspect.Options{}) }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })

	for _, reverse := range []string{"0", "1"} {
		seen, told, after := 0, false, ""
		last := ""
		for {
			page := ask[pageDoc](t, s, "rows", "column", "State", "reverse", reverse, "limit", "500", "after", after)
			require.Empty(t, page.Fault)
			seen += len(page.Rows)
			for _, place := range page.Places {
				require.Contains(t, place.Reason, table)
				told = true
			}
			if len(page.Rows) > 0 {
				last = page.Rows[len(page.Rows)-1].At
			}
			if page.Next == "" {
				break
			}
			require.NotEqual(t, after, page.Next, "a dead end")
			after = page.Next
		}
		require.True(t, told)
		require.Less(t, seen, len(all))
		require.Greater(t, seen, len(all)*9/10)
		end := all[len(all)-1]
		if reverse == "1" {
			end = all[0]
		}
		require.Equal(t, hex.EncodeToString(end), last)
	}

	found := ended(t, s, "findings", "start", "1")
	require.Equal(t, "done", found.State)
	require.Equal(t, map[string]uint64{"table": 1, "unreadable": 1}, map[string]uint64{"table": found.Verdict.Codes["table"], "unreadable": found.Verdict.Codes["unreadable"]})
	for _, f := range found.Findings {
		if f.Code == "table" {
			require.Equal(t, "State", f.Column)
			require.Contains(t, f.Reason, table)
		}
	}
	for _, list := range []string{"contexts", "namespaces"} {
		require.NotEmpty(t, ask[struct {
			Items []struct{} `json:"items"`
		}](t, s, list).Items, list)
	}
}
