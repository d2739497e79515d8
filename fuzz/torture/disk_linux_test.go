package torture

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// disk is a directory as its processes see it, and what of that a power cut is sure
// to leave. It is told of every call that changes something, in order:
//
//   - what was written to a file is sure to be there once the file was synced;
//   - that a file was made, renamed or removed is sure once the directory was synced.
//     Syncing the file does not do that, though some file systems are so kind.
//
// Before, the cut decides; see cut.
type disk struct {
	top     *node
	nodes   map[uint64]*node // by inode number; a number may be used again
	pending []entryChange    // of directories, not synced, in order
}

// node is a file or a directory.
type node struct {
	entries map[string]*node // of a directory; nil: it is a file
	sure    map[string]*node // those that a power cut leaves

	now      []byte // of a file; never changed in place
	synced   []byte
	unsynced []edit
	failed   bool // a sync has: what was written before it is on disk never
}

// edit is a write, or a change of the size to at if data is nil.
type edit struct {
	at   int64
	data []byte
}

func (e edit) apply(b []byte) []byte {
	end := e.at + int64(len(e.data))
	if e.data == nil && e.at <= int64(len(b)) {
		return b[:e.at:e.at]
	}
	if e.data != nil && e.at == int64(len(b)) {
		return append(b, e.data...)
	}
	b = slices.Clone(b)
	if end > int64(len(b)) {
		b = append(b, make([]byte, end-int64(len(b)))...)
	}
	copy(b[e.at:], e.data)
	return b
}

// place is an entry of a directory.
type place struct {
	dir  *node
	name string
}

// entryChange puts nodes at places, nil to remove what is there: all or none.
type entryChange map[place]*node

// dirs returns the directories that a change is in, in the order of the names.
func (c entryChange) dirs() (dirs []*node) {
	at := slices.SortedFunc(maps.Keys(c), func(a, b place) int { return strings.Compare(a.name, b.name) })
	for _, p := range at {
		if !slices.Contains(dirs, p.dir) {
			dirs = append(dirs, p.dir)
		}
	}
	return dirs
}

// clone returns a disk to cut that is as d is at this moment. It shares the bytes of
// files, which are never changed in place.
func (d *disk) clone() *disk {
	made := map[*node]*node{}
	var copied func(n *node) *node
	copied = func(n *node) *node {
		if n == nil || made[n] != nil {
			return made[n]
		}
		c := *n
		c.unsynced = slices.Clone(n.unsynced)
		made[n] = &c
		if n.entries != nil {
			c.entries, c.sure = map[string]*node{}, map[string]*node{}
			for name, m := range n.entries {
				c.entries[name] = copied(m)
			}
			for name, m := range n.sure {
				c.sure[name] = copied(m)
			}
		}
		return &c
	}
	to := &disk{top: copied(d.top)}
	for _, change := range d.pending {
		c := entryChange{}
		for at, n := range change {
			c[place{copied(at.dir), at.name}] = copied(n)
		}
		to.pending = append(to.pending, c)
	}
	return to
}

// touches reports whether two changes are of one place.
func (c entryChange) touches(d entryChange) bool {
	for at := range d {
		if _, both := c[at]; both {
			return true
		}
	}
	return false
}

func newDir() *node { return &node{entries: map[string]*node{}, sure: map[string]*node{}} }

// readDisk returns a disk that holds what top does, but for names that skip wants to
// be left out; all of it is sure.
func readDisk(top string, skip func(name string) bool) (*disk, error) {
	d := &disk{nodes: map[uint64]*node{}}
	made := map[string]*node{}
	err := filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path != top && skip(e.Name()) || !e.IsDir() && !e.Type().IsRegular() {
			return err
		}
		n := newDir()
		if !e.IsDir() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			n = &node{now: b[:len(b):len(b)]}
			n.synced = n.now
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		d.nodes[inode(info)] = n
		made[path] = n
		if path == top {
			d.top = n
			return nil
		}
		parent := made[filepath.Dir(path)]
		parent.entries[e.Name()], parent.sure[e.Name()] = n, n
		return nil
	})
	return d, err
}

// at returns the place of a path below the top, which begins with no slash.
func (d *disk) at(path string) (place, error) {
	dir, name := d.top, path
	for {
		first, rest, more := strings.Cut(name, "/")
		if !more {
			return place{dir, name}, nil
		}
		next := dir.entries[first]
		if next == nil || next.entries == nil {
			return place{}, fmt.Errorf("no directory %s of %s was ever made", first, path)
		}
		dir, name = next, rest
	}
}

// change makes changes of directories.
func (d *disk) change(c entryChange) {
	for at, to := range c {
		if to == nil {
			delete(at.dir.entries, at.name)
		} else {
			at.dir.entries[at.name] = to
		}
	}
	d.pending = append(d.pending, c)
}

func (n *node) edit(e edit) {
	n.now = e.apply(n.now)
	n.unsynced = append(n.unsynced, e)
}

// last is what would be on disk after a sync.
func (n *node) last() []byte {
	if !n.failed {
		return n.now[:len(n.now):len(n.now)]
	}
	b := n.synced
	for _, e := range n.unsynced {
		b = e.apply(b)
	}
	return b[:len(b):len(b)]
}

// failSync is a sync of a file that fails: what was to be written then is thrown
// away, while all who read the file go on seeing it. Another sync does not notice.
func (n *node) failSync() {
	if n.entries == nil {
		n.failed, n.unsynced = true, nil
	}
}

// sync makes sure of a file, or of the entries of a directory.
func (d *disk) sync(n *node) {
	if n.entries == nil {
		n.synced, n.unsynced = n.last(), nil
		return
	}
	keep := make([]bool, len(d.pending))
	for i, c := range d.pending {
		for at := range c {
			keep[i] = keep[i] || at.dir == n
		}
	}
	for i := len(d.pending) - 1; i >= 0; i-- { // what a change builds on comes with it
		for j := range i {
			keep[j] = keep[j] || keep[i] && d.pending[i].touches(d.pending[j])
		}
	}
	rest := d.pending[:0:0]
	for i, c := range d.pending {
		if keep[i] {
			c.persist()
		} else {
			rest = append(rest, c)
		}
	}
	d.pending = rest
}

func (c entryChange) persist() {
	for at, to := range c {
		if to == nil {
			delete(at.dir.sure, at.name)
		} else {
			at.dir.sure[at.name] = to
		}
	}
}

// differs says where what is at top is not what the disk was told of. Then calls
// were missed, and what follows from them means nothing.
func (d *disk) differs(top string, skip func(name string) bool) error {
	is, err := readDisk(top, skip)
	if err != nil {
		return err
	}
	return differ(is.top, d.top, top)
}

func inode(info fs.FileInfo) uint64 { return info.Sys().(*syscall.Stat_t).Ino }

func differ(is, told *node, path string) error {
	if (is.entries == nil) != (told.entries == nil) {
		return fmt.Errorf("%s is a directory, or was thought to be one", path)
	}
	if is.entries == nil {
		if !bytes.Equal(is.now, told.now) {
			return fmt.Errorf("%s has %d bytes, and was told to have %d others", path, len(is.now), len(told.now))
		}
		return nil
	}
	if names, want := slices.Sorted(maps.Keys(is.entries)), slices.Sorted(maps.Keys(told.entries)); !slices.Equal(names, want) {
		return fmt.Errorf("%s has %q, and was told to have %q", path, names, want)
	}
	for name, n := range is.entries {
		if err := differ(n, told.entries[name], filepath.Join(path, name)); err != nil {
			return err
		}
	}
	return nil
}
