package torture

import (
	"bytes"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What the model of a disk leaves of a few calls, over many cuts: each of these is
// seen, and nothing else.
func TestDiskLeavesWhatACutMay(t *testing.T) {
	at := func(d *disk, name string) place { return place{d.top, name} }
	create := func(d *disk, name, content string) *node {
		n := &node{}
		d.change(entryChange{at(d, name): n})
		n.edit(edit{0, []byte(content)})
		return n
	}
	for name, tc := range map[string]struct {
		calls func(*disk)
		leave []string // the files and their contents, of each outcome
	}{
		"nothing synced":   {func(d *disk) { create(d, "a", "xy") }, []string{"", "a=\x00\x00 ", "a= ", "a=x ", "a=xy "}},
		"file synced":      {func(d *disk) { d.sync(create(d, "a", "xy")) }, []string{"", "a=xy "}},
		"directory synced": {func(d *disk) { create(d, "a", "xy"); d.sync(d.top) }, []string{"a=\x00\x00 ", "a= ", "a=x ", "a=xy "}},
		"both synced":      {func(d *disk) { d.sync(create(d, "a", "xy")); d.sync(d.top) }, []string{"a=xy "}},
		"sync failed": {func(d *disk) {
			n := create(d, "a", "x")
			n.failSync()
			d.sync(n)
			d.sync(d.top)
		}, []string{"a= "}},
		"appended": {func(d *disk) {
			n := create(d, "a", "xy")
			d.sync(n)
			d.sync(d.top)
			n.edit(edit{2, []byte("z")})
			n.edit(edit{3, []byte("z")})
		}, []string{"a=xy\x00\x00 ", "a=xy\x00 ", "a=xy ", "a=xyz\x00 ", "a=xyz ", "a=xyzz "}},
		"cut short": {func(d *disk) {
			n := create(d, "a", "xy")
			d.sync(n)
			d.sync(d.top)
			n.edit(edit{at: 1})
		}, []string{"a=x ", "a=xy "}},
		"replaced": {func(d *disk) {
			d.sync(create(d, "a", "old"))
			d.sync(d.top)
			n := create(d, "b", "new")
			d.sync(n)
			d.change(entryChange{at(d, "b"): nil, at(d, "a"): n})
		}, []string{"a=new ", "a=old ", "a=old b=new "}},
		"moved, and only that synced": {func(d *disk) {
			sub := newDir()
			d.change(entryChange{at(d, "s"): sub})
			d.sync(d.top)
			n := create(d, "a", "x")
			d.sync(n)
			d.change(entryChange{at(d, "a"): nil, place{sub, "b"}: n})
			d.sync(sub)
		}, []string{"s/b=x "}},
	} {
		t.Run(name, func(t *testing.T) {
			top, seen := t.TempDir(), map[string]bool{}
			for seed := range uint64(200) {
				d := &disk{top: newDir()}
				tc.calls(d)
				require.NoError(t, os.RemoveAll(top))
				require.NoError(t, os.Mkdir(top, 0o700))
				require.NoError(t, newCut(rand.New(rand.NewPCG(seed, 0))).do(d, top))
				seen[contents(t, top)] = true
			}
			require.Equal(t, tc.leave, slices.Sorted(maps.Keys(seen)))
		})
	}
}

// Of a file each sector or page is there or not, whatever became of those before it; of
// each directory what was last is not.
func TestDiskLeavesAnySectorsAndTheFirstNames(t *testing.T) {
	sectors, names := map[string]bool{}, map[string]bool{}
	for seed := range uint64(400) {
		d := &disk{top: newDir()}
		dirs := []*node{newDir(), newDir()}
		for i, name := range []string{"s", "t"} {
			d.change(entryChange{place{d.top, name}: dirs[i]})
		}
		d.sync(d.top)
		n := &node{}
		for i := range 6 {
			d.change(entryChange{place{dirs[i%2], string(rune('a' + i))}: n})
		}
		for _, c := range "123" {
			n.edit(edit{int64(len(n.now)), bytes.Repeat([]byte{byte(c)}, sector)})
		}
		c := newCut(rand.New(rand.NewPCG(seed, 0)))
		c.names, c.data = apart, apart
		b := c.content(n)
		kept := ""
		for ; len(b) >= sector; b = b[sector:] {
			kept += string(b[0])
		}
		sectors[strings.ReplaceAll(kept, "\x00", ".")] = true
		c.cutNames(d)
		names[strings.Join(slices.Sorted(maps.Keys(dirs[0].sure)), "")+"|"+strings.Join(slices.Sorted(maps.Keys(dirs[1].sure)), "")] = true
	}
	for _, want := range []string{"123", "12.", "1.3", ".23", "1..", ".2.", "..3", "...", "12", ".2", "1", ""} {
		require.Contains(t, sectors, want)
	}
	require.Len(t, names, 16) // each directory has none, or the first one, two or three
	require.Contains(t, names, "|bdf")
	require.Contains(t, names, "ace|b")
}

// contents lists the files below top.
func contents(t *testing.T, top string) (list string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(top, path) // it is below
		list += name + "=" + string(b) + " "
		return err
	}))
	return list
}
