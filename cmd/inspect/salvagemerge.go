package inspect

import (
	"bytes"
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine/rocks/diskfile"
)

// merge is the entries of the tables and logs of a column in the order of their
// keys, the newest of a key first.
type merge struct {
	s    *salvage
	runs []*run // a heap, by the entry that comes next
	last []byte
	any  bool
}

// Of each table that is merged the entries of one block are held: all together at most
// heldLeast bytes and heldPerByte for each byte of the files. A few bytes of a file that
// was made up may stand for a block of 64 MiB.
const (
	heldLeast   = 256 << 20
	heldPerByte = 16
	heldEntry   = 96 // what an entry costs besides its bytes

	// mostBlocks is how many damaged blocks of a table are losses of their own.
	mostBlocks = 1000
)

var errHeld = fmt.Errorf("%w: its entries take, with those of other tables, more than the sizes of the files allow", diskfile.ErrDamaged)

// run is the entries of one file, block by block.
type run struct {
	s       *salvage
	col     column.Column
	table   *diskfile.Table // nil: those of the logs
	block   int             // the next one
	entries []diskfile.Change
	at      int
	held    int64 // bytes of entries
	damaged int   // blocks
}

// hold counts an entry that is held.
func (r *run) hold(c diskfile.Change) error {
	n := int64(len(c.Key)+len(c.Value)) + heldEntry
	if r.s.held+n > r.s.most {
		return errHeld
	}
	r.held, r.s.held = r.held+n, r.s.held+n
	return nil
}

// drop lets go of all entries.
func (r *run) drop() {
	r.s.held -= r.held
	r.entries, r.at, r.held = nil, 0, 0
}

func (s *salvage) merge(col column.Column) (*merge, error) {
	m := &merge{s: s}
	logged := &run{s: s, col: col}
	for _, k := range slices.Sorted(maps.Keys(s.logged[col])) {
		logged.entries = append(logged.entries, s.logged[col][k])
	}
	runs := []*run{logged}
	for _, t := range s.files {
		if t.Family == col.String() {
			runs = append(runs, &run{s: s, col: col, table: t})
		}
	}
	for _, r := range runs {
		if r.ready() {
			m.runs = append(m.runs, r)
		}
	}
	heap.Init(m)
	return m, s.ctx.Err()
}

// next returns the newest entry of the next key. It is valid until the call after.
func (m *merge) next() (c diskfile.Change, ok bool) {
	for len(m.runs) > 0 {
		r := m.runs[0]
		c := r.entries[r.at]
		if r.at++; r.ready() {
			heap.Fix(m, 0)
		} else {
			heap.Pop(m)
		}
		if m.any && bytes.Equal(c.Key, m.last) {
			continue // an older one
		}
		m.last, m.any = append(m.last[:0], c.Key...), true
		return c, true
	}
	return c, false
}

// ready reports whether there is an entry, after reading blocks until there is.
// Those that cannot be read are losses.
func (r *run) ready() bool {
	for r.at == len(r.entries) {
		r.drop()
		if r.table == nil || r.block == r.table.Blocks() {
			r.more()
			return false
		}
		err := r.table.Read(r.block, func(c diskfile.Change) error {
			if err := r.hold(c); err != nil {
				return err
			}
			c.Key, c.Value = bytes.Clone(c.Key), bytes.Clone(c.Value)
			r.entries = append(r.entries, c)
			return nil
		})
		r.block++
		if err != nil {
			if errors.Is(err, errHeld) {
				r.drop()
			}
			if r.damaged++; r.damaged <= mostBlocks {
				r.s.out.Losses = append(r.s.out.Losses, r.lost(err))
			}
			if !errors.Is(err, diskfile.ErrDamaged) {
				r.block = r.table.Blocks() // the file cannot be read
			}
		}
	}
	return true
}

// more is the loss of the blocks that are no losses of their own.
func (r *run) more() {
	if n := r.damaged - mostBlocks; n > 0 {
		r.damaged = 0
		r.s.out.Losses = append(r.s.out.Losses, NewFinding("block", r.col, nil, fmt.Sprintf("%s: %d more blocks of %d", r.table.Name(), n, r.table.Blocks())))
	}
}

// lost is the loss of the block before the next one: of the rows behind the key of the
// finding.
func (r *run) lost(err error) Finding {
	at := r.block - 1
	reason := fmt.Sprintf("%s: block %d of %d: %s", r.table.Name(), at+1, r.table.Blocks(), err)
	var after []byte
	which := "rows"
	if at > 0 && r.table.End(at-1) != nil {
		after, which = r.table.End(at-1), "rows after this key and"
	}
	if end := r.table.End(at); end != nil {
		reason += "; " + which + " up to " + KeyText(end)
	}
	return NewFinding("block", r.col, after, reason)
}

// Len returns how many there are; see [heap.Interface].
func (m *merge) Len() int { return len(m.runs) }

// Less reports whether i comes out before j; see [heap.Interface].
func (m *merge) Less(i, j int) bool {
	a, b := m.runs[i].entries[m.runs[i].at], m.runs[j].entries[m.runs[j].at]
	return cmp.Or(bytes.Compare(a.Key, b.Key), cmp.Compare(b.Sequence, a.Sequence)) < 0
}

// Swap swaps i and j; see [heap.Interface].
func (m *merge) Swap(i, j int) { m.runs[i], m.runs[j] = m.runs[j], m.runs[i] }

// Push adds one at the end; see [heap.Interface].
func (m *merge) Push(x any) { m.runs = append(m.runs, x.(*run)) }

// Pop takes the last; see [heap.Interface].
func (m *merge) Pop() any {
	last := m.runs[len(m.runs)-1]
	m.runs = m.runs[:len(m.runs)-1]
	return last
}
