package torture

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// What a disk writes at once, and what a system writes back at once.
const (
	sector = 512
	page   = 4096
)

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
	holes   int // sectors and pages that are not there, or not as they were last
}

func (l *losses) add(m losses) {
	l.undone += m.undone
	l.dropped += m.dropped
	l.torn += m.torn
	l.holes += m.holes
}

// fate is what becomes of what was not synced.
type fate uint8

const (
	lost    fate = iota // all of it
	kept                // nothing
	ordered             // what came last
	mixed               // any of the changes of directories; each file has a fate of its own
	apart               // what came last of each directory; any of the sectors or pages of each file
	fates
)

func newCut(r *rand.Rand) *cut {
	return &cut{rand: r, names: fate(r.IntN(int(fates))), data: fate(r.IntN(int(fates)))}
}

func (c *cut) String() string {
	return fmt.Sprintf("names %d, data %d: %d changes of directories undone, %d writes dropped, %d torn, %d sectors or pages lost", c.names, c.data, c.undone, c.dropped, c.torn, c.holes)
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
	ends := map[*node]int{} // which change is the first that its directory loses
	var gone []entryChange
	for i, change := range d.pending {
		drop := false
		switch c.names {
		case apart:
			for _, dir := range change.dirs() {
				if _, drawn := ends[dir]; !drawn {
					ends[dir] = i + c.rand.IntN(len(d.pending)-i+1)
				}
				drop = drop || i >= ends[dir]
			}
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
		how = []fate{lost, kept, ordered, apart}[c.rand.IntN(4)]
	}
	if how == kept || count == 0 {
		return n.last()
	}
	if how == apart {
		return c.scattered(n)
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

// scattered is what is left of a file of which each sector, or each page, has reached the
// disk by itself: as it was last, as it was when something less was written, or as it was
// synced; zeros where it was not there then. So has its size.
func (c *cut) scattered(n *node) []byte {
	unit := []int{sector, page}[c.rand.IntN(2)]
	lost := []int{1, 10, 50, 90}[c.rand.IntN(4)] // of 100
	between := n.synced
	for _, e := range n.unsynced[:c.rand.IntN(len(n.unsynced)+1)] {
		between = e.apply(between)
	}
	last := n.last()
	b := make([]byte, []int{len(last), len(between)}[c.rand.IntN(2)])
	once := min(len(n.synced), len(b)) / unit // at least one of those that were written is not there
	once += c.rand.IntN(len(b)/unit - once + 1)
	for i, at := 0, 0; at < len(b); i, at = i+1, at+unit {
		from := last
		if i == once || c.rand.IntN(100) < lost {
			from = [][]byte{n.synced, between}[c.rand.IntN(2)]
		}
		end := min(at+unit, len(b))
		if at < len(from) {
			copy(b[at:end], from[at:min(end, len(from))])
		}
		if at >= len(last) || !bytes.Equal(b[at:end], last[at:min(end, len(last))]) {
			c.holes++
		}
	}
	return b
}
