package inspect

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine/rocks/diskfile"
)

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

// run is the entries of one table, block by block: a [diskfile.Run] that goes on behind
// blocks that cannot be read.
type run struct {
	s       *salvage
	col     column.Column
	table   *diskfile.Table
	block   int // the next one
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

// merge returns the rows that the tables and the logs of a column make together.
func (s *salvage) merge(col column.Column) *diskfile.Merge {
	logged := &s.logged[col]
	runs := []diskfile.Run{logged.Run()}
	for _, t := range s.files {
		if t.Family == col.String() {
			runs = append(runs, &run{s: s, col: col, table: t})
		}
	}
	return diskfile.NewMerge(runs, slices.Concat(s.ranges[col], logged.Deletes))
}

// Head returns the next entry.
func (r *run) Head() *diskfile.Change { return &r.entries[r.at] }

// Pass goes behind the next entry.
func (r *run) Pass() { r.at++ }

// Ready reports whether there is an entry, after reading blocks until there is.
// Those that cannot be read are losses.
func (r *run) Ready() bool {
	for r.at == len(r.entries) {
		r.drop()
		if r.block == r.table.Blocks() {
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
