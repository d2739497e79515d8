package diskfile

import (
	"errors"
	"fmt"
	"os"
)

// Chain is the logs that a directory needs, read as the one that they are: the changes
// of each continue those of the one before, without a gap in their sequences.
type Chain struct {
	// Last is the sequence of the last change up to which nothing is missing; 0: there is
	// none. It is that of the tables where the logs begin with a hole.
	Last uint64
	// Hole is what it ends before. nil: nothing is behind its end, but perhaps the
	// beginning of a record, which a kill leaves too, or space that was reserved.
	Hole *Hole
}

// Chain reads the logs of dir, whose manifest m is and which nobody has open. RocksDB
// would not notice that a whole log is missing that nobody has synced, nor that zeros
// have taken the place of records, and refuses all logs for one other hole. What comes
// after the sequence until, unless that is 0, was refused: the chain ends before it.
func (m *Manifest) Chain(dir string, until uint64) (Chain, error) {
	logs, err := Files(dir, ".log")
	if err != nil {
		return Chain{}, err
	}
	c := chainReader{due: m.LastSequence + 1, until: until}
	first := uint64(0)
	for i, log := range logs {
		if !m.needs(log.Number) {
			continue
		}
		if first == 0 {
			first = log.Number
		}
		if err := c.log(log); err != nil {
			return c.chain, err
		}
		if c.chain.Hole != nil && c.chain.Hole.Number == log.Number {
			c.chain.Hole.Later = logs[i+1:]
		}
	}
	if h := c.chain.Hole; h != nil && c.cut { // nothing came behind it
		c.chain.Hole = nil
	} else if h != nil {
		h.Bytes, err = bytesBehind(h)
		if c.chain.Last == 0 && m.tabledBefore(first) {
			c.chain.Last = m.Tabled()
		}
	}
	return c.chain, err
}

// tabledBefore reports whether the tables have nothing of the logs from one on: then
// there is nothing in these that is as old as what the tables have.
func (m *Manifest) tabledBefore(log uint64) bool {
	for _, f := range m.Families {
		if f.Log > log {
			return false
		}
	}
	return true
}

// chainReader follows a chain.
type chainReader struct {
	chain Chain
	// due is the sequence that the next record begins with. Before the first one it is
	// the greatest that may be: the logs before that are gone, since their changes are in
	// tables.
	due   uint64
	cut   bool   // the hole is, so far, only that a log ends too early
	until uint64 // what comes after it was refused; 0: nothing was
}

// log reads the next log.
func (c *chainReader) log(log File) error {
	f, err := Open(log.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	end := int64(0)
	for r, err := range Log(f) {
		var damage *Damage
		switch {
		case errors.As(err, &damage):
			c.broken(log, end, damage.Reason, damage.Cut())
			continue
		case err != nil:
			return err
		}
		b, err := ParseBatch(r.Data)
		switch {
		case r.Recycled:
			c.broken(log, end, recycledRecord, false)
		case err != nil:
			c.broken(log, end, err.Error(), false)
		case c.until > 0 && b.Count > 0 && b.Sequence > c.until:
			c.broken(log, end, refusedRecord, false)
			c.chain.Hole.behind(b)
		case c.continues(b):
			end = r.End
		default:
			c.broken(log, end, fmt.Sprintf("sequence %d is due, and %d comes", c.due, b.Sequence), false)
			c.chain.Hole.behind(b)
		}
	}
	return nil
}

// continues takes a batch that continues the chain.
func (c *chainReader) continues(b Batch) bool {
	first := c.chain.Last == 0 && c.chain.Hole == nil && b.Sequence <= c.due
	if c.chain.Hole != nil && !c.cut || !first && b.Sequence != c.due {
		return false
	}
	c.chain.Hole, c.cut = nil, false
	c.due = b.Sequence + uint64(b.Count)
	if b.Count > 0 {
		c.chain.Last = c.due - 1
	}
	return true
}

// broken notes that the chain does not go on at a place, unless it has ended before.
func (c *chainReader) broken(log File, at int64, reason string, cut bool) {
	if c.chain.Hole == nil {
		c.chain.Hole, c.cut = &Hole{File: log, Offset: at, Reason: reason, Refused: reason == refusedRecord}, cut
	}
	c.cut = c.cut && cut
}

// bytesBehind returns how many bytes the files of a hole have from it on.
func bytesBehind(h *Hole) (int64, error) {
	n := -h.Offset
	for _, f := range append([]File{h.File}, h.Later...) {
		st, err := os.Stat(f.Path)
		if err != nil {
			return 0, err
		}
		n += st.Size()
	}
	return n, nil
}
