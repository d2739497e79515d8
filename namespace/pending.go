package namespace

import (
	"slices"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// pending is the ops that wait for ancestors. Their bytes stay on disk.
type pending struct {
	ops      map[codec.OpID]*waiting
	children map[codec.OpID][]codec.OpID // by parent that is not here
	next     uint64                      // arrival of the next
	oldest   []codec.OpID                // by arrival, with some that wait no longer
	bytes    int64
	ready    []codec.OpID // those that wait no longer, but were not judged
}

type waiting struct {
	arrival uint64
	size    int
	parents []codec.OpID
	answer  *Answer // of the op that it waited for last, whose cascade it belongs to
}

// loadPending reads what waits.
func (c *loaded) loadPending(r engine.Reader) error {
	c.pending = pending{ops: map[codec.OpID]*waiting{}, children: map[codec.OpID][]codec.OpID{}}
	return each(r, scoped(nil, pendingScope, c.id), func(key, value []byte) error {
		n, err := numberOf(key)
		if err != nil {
			return c.beside(column.Generic, key, err)
		}
		op, _, err := parseWire(value)
		if err != nil {
			return c.beside(column.Generic, key, damaged(key, err.Error()))
		}
		c.pending.next = max(c.pending.next, n)
		if c.wait(op, len(value)) == nil {
			c.pending.ready = append(c.pending.ready, op.ID)
		}
		c.pending.ops[op.ID].arrival = n
		c.pending.next = n + 1
		return nil
	})
}

// wait notes that op waits and returns for whom.
func (c *loaded) wait(op *Op, size int) []codec.OpID {
	p := &c.pending
	p.ops[op.ID] = &waiting{arrival: p.next, size: size, parents: op.Parents}
	p.next++
	p.oldest = append(p.oldest, op.ID)
	p.bytes += int64(size)
	missing := c.missing(op.Parents)
	for _, id := range missing {
		p.children[id] = append(p.children[id], op.ID)
	}
	return missing
}

// missing returns which of parents are not in the DAG.
func (c *loaded) missing(parents []codec.OpID) (missing []codec.OpID) {
	for _, id := range parents {
		if _, ok := c.ledger.Find(id); !ok {
			missing = append(missing, id)
		}
	}
	return missing
}

// forget has op wait no longer.
func (c *loaded) forget(id codec.OpID) {
	p := &c.pending
	w := p.ops[id]
	delete(p.ops, id)
	p.bytes -= int64(w.size)
	for _, parent := range w.parents {
		if rest := slices.DeleteFunc(p.children[parent], func(o codec.OpID) bool { return o == id }); len(rest) > 0 {
			p.children[parent] = rest
		} else {
			delete(p.children, parent)
		}
	}
	if len(p.oldest) > 64 && len(p.oldest) > 2*len(p.ops) {
		p.oldest = slices.DeleteFunc(p.oldest, func(o codec.OpID) bool { return p.ops[o] == nil })
	}
}

// crowded returns the op that has waited longest, if there are more than the limits
// allow.
func (p *pending) crowded(o *Options) (codec.OpID, bool) {
	if len(p.ops) <= o.MaxPending && (p.bytes <= o.MaxPendingBytes || len(p.ops) == 1) {
		return codec.OpID{}, false
	}
	for p.ops[p.oldest[0]] == nil {
		p.oldest = p.oldest[1:]
	}
	return p.oldest[0], true
}
