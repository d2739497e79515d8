package torture

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// sector is what a disk writes at once.
const sector = 512

// cut is how one power cut chooses among what is not sure.
type cut struct {
	rand  *rand.Rand
	names fate // of changes of directories
	data  fate // of writes to files
	losses
}

// losses is what cuts took.
type losses struct {
	undone  int // changes of directories
	dropped int // writes to files
	torn    int // writes that are there in part
}

func (l *losses) add(m losses) {
	l.undone += m.undone
	l.dropped += m.dropped
	l.torn += m.torn
}

// fate is what becomes of what was not synced.
type fate uint8

const (
	lost    fate = iota // all of it
	kept                // nothing
	ordered             // what came last
	mixed               // any of the changes of directories, and what was last of each file
	fates
)

func newCut(r *rand.Rand) *cut {
	return &cut{rand: r, names: fate(r.IntN(int(fates))), data: fate(r.IntN(int(fates)))}
}

func (c *cut) String() string {
	return fmt.Sprintf("names %d, data %d: %d changes of directories undone, %d writes dropped, %d torn", c.names, c.data, c.undone, c.dropped, c.torn)
}

// do makes the directories of d as they are after the cut, and puts them in place of
// top.
func (c *cut) do(d *disk, top string) error {
	c.cutNames(d)
	entries, err := os.ReadDir(top)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if d.top.entries[e.Name()] != nil || d.top.sure[e.Name()] != nil {
			if err := os.RemoveAll(filepath.Join(top, e.Name())); err != nil {
				return err
			}
		}
	}
	return c.write(d.top, top, map[*node][]byte{})
}

// cutNames settles which changes of directories are kept. One goes with all those
// before it that it builds on.
func (c *cut) cutNames(d *disk) {
	upTo := c.rand.IntN(len(d.pending) + 1)
	var gone []entryChange
	for i, change := range d.pending {
		drop := false
		switch c.names {
		case lost:
			drop = true
		case ordered:
			drop = i >= upTo
		case mixed:
			drop = c.rand.IntN(2) == 0
		}
		for _, g := range gone {
			drop = drop || change.touches(g)
		}
		if drop {
			gone = append(gone, change)
			continue
		}
		change.persist()
	}
	c.undone += len(gone)
}

// write makes what is left of a directory. A file with two names gets the same bytes
// at both.
func (c *cut) write(n *node, path string, left map[*node][]byte) error {
	if n.entries == nil {
		b, done := left[n]
		if !done {
			b = c.content(n)
			left[n] = b
		}
		return os.WriteFile(path, b, 0o600)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(n.sure)) { // in order, for the choices to be the same
		if err := c.write(n.sure[name], filepath.Join(path, name), left); err != nil {
			return err
		}
	}
	return nil
}

// content is what is left of a file: what was synced, and perhaps the first of what
// was written since, the last of these in part.
func (c *cut) content(n *node) []byte {
	how, count := c.data, len(n.unsynced)
	if how == mixed { // each file as it comes
		how = []fate{lost, kept, ordered}[c.rand.IntN(3)]
	}
	if how == kept || count == 0 {
		return n.last()
	}
	upTo := 0
	if how == ordered {
		upTo = c.rand.IntN(count + 1)
	}
	b := n.synced
	for _, e := range n.unsynced[:upTo] {
		b = e.apply(b)
	}
	if upTo == count {
		return b
	}
	c.dropped += count - upTo
	next := n.unsynced[upTo]
	if how != ordered || len(next.data) < 2 {
		return b
	}
	part := c.rand.IntN(len(next.data))
	if c.rand.IntN(2) == 0 { // a disk that tears at sectors only
		part = int(max((next.at+int64(part))/sector*sector-next.at, 0))
	}
	if part > 0 {
		c.torn++
		b = edit{next.at, next.data[:part]}.apply(b)
	}
	return b
}
