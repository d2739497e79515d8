package dag

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// head is a delta that no applied delta names as its parent.
type head struct {
	stamp
	seq uint64
}

// loaded is what is in memory of a context while it is written. It belongs to
// whoever leads its queue.
type loaded struct {
	id         codec.ContextID
	app        []byte // the first bytes of Meta
	heads      heads
	tips       tips
	whole      bool   // Meta has all of many heads, as builds before dag-head wrote it
	next       uint64 // the seq of the next delta
	trie       *merkle.Trie
	tail       tail
	gone, late bool // there are, or were, rows of dag-gone, and of dag-late
	row        contextRow

	waiting      int    // pending deltas
	waitingBytes int64  // and what they take
	oldest       uint64 // none has an arrival before this
	arrival      uint64 // of the next one

	recent recent

	firstRefusal, nextRefusal uint64 // what is remembered is from first up to next
}

// load reads a context that has no tail. It returns ErrNoContext, ErrAdopting, engine.ErrCorrupt,
// or the error of the engine.
func load(r engine.Reader, cache *merkle.Cache, id codec.ContextID) (*loaded, error) {
	meta, err := engine.Get(r, keys.ContextMeta{Context: id})
	if errors.Is(err, engine.ErrNotFound) {
		return nil, fmt.Errorf("%w: %s", ErrNoContext, id)
	}
	if err != nil {
		return nil, fmt.Errorf("dag: load: %w", err)
	}
	c := &loaded{id: id, trie: merkle.OpenMarked(cache, r, id, meta.RootHash)}
	if c.app, err = meta.Application.AppendBinary(nil); err != nil {
		return nil, err
	}
	if c.row, err = readContextRow(r, id); err != nil {
		return nil, err
	}
	if c.row.phase == adopting {
		return nil, fmt.Errorf("%w: %s", ErrAdopting, id)
	}
	if c.next, err = lastSeq(r, id); err != nil {
		return nil, err
	}
	c.next++
	c.tail = tail{after: c.next - 1, root: meta.RootHash}
	if c.gone, err = anyIn(r, contextPrefix(nil, goneScope, &id)); err != nil {
		return nil, err
	}
	if c.late, err = anyIn(r, contextPrefix(nil, lateScope, &id)); err != nil {
		return nil, err
	}
	ids, err := HeadsOf(r, id, meta.DagHeads)
	if err != nil {
		return nil, err
	}
	list, err := readHeads(r, id, ids, func(err error) error { return err })
	if err != nil {
		return nil, err
	}
	c.heads, c.whole = newHeads(list), wholeInMeta(meta.DagHeads)
	if err := c.loadPending(r); err != nil {
		return nil, err
	}
	if err := c.loadRefused(r); err != nil {
		return nil, err
	}
	return c, nil
}

func readContextRow(r engine.Getter, id codec.ContextID) (contextRow, error) {
	key := contextRowKey(nil, &id)
	b, err := r.Get(nil, column.Generic, key)
	if errors.Is(err, engine.ErrNotFound) {
		return contextRow{}, nil
	}
	if err != nil {
		return contextRow{}, err
	}
	row, ok := parseContextRow(b)
	if !ok {
		return row, damagedRow(column.Generic, key, "not a context's row")
	}
	return row, nil
}

// lastSeq returns the number of the delta that was applied last, 0 if none was.
func lastSeq(r engine.Reader, id codec.ContextID) (uint64, error) {
	var seq uint64
	rg := engine.Prefixed(contextPrefix(nil, orderScope, &id))
	rg.Reverse, rg.Limit = true, 1
	err := each(r, rg, func(key, _ []byte) error {
		var ok bool
		if seq, ok = orderSeq(key); !ok {
			return damagedRow(column.Generic, key, "not a place in the order")
		}
		return nil
	})
	return seq, err
}

// each calls fn with the rows of Generic in a range, until it returns an error.
// Key and value are valid during the call.
func each(r engine.Reader, rg engine.Range, fn func(key, value []byte) error) error {
	return engine.Each(r, column.Generic, rg, fn)
}

// anyIn reports whether there is a row of Generic whose key begins with prefix.
func anyIn(r engine.Reader, prefix []byte) (is bool, err error) {
	rg := engine.Prefixed(prefix)
	rg.Limit = 1
	err = each(r, rg, func([]byte, []byte) error {
		is = true
		return nil
	})
	return is, err
}

func readHead(r engine.Getter, context codec.ContextID, id *codec.DeltaID) (head, error) {
	seq, ok, err := readSeq(r, &context, id)
	if err == nil && !ok {
		err = damagedRow(column.Generic, seqKey(nil, &context, id), "a head without a place in the order")
	}
	if err != nil {
		return head{}, err
	}
	row, err := readOrder(r, &context, seq)
	return head{stamp{row.hlc, *id}, seq}, err
}

// readSeq returns the number of an applied delta; ok is false if it is not
// applied.
func readSeq(r engine.Getter, context *codec.ContextID, id *codec.DeltaID) (seq uint64, ok bool, err error) {
	var array [contextPrefixLen + 32]byte
	key := seqKey(array[:0], context, id)
	b, err := r.Get(nil, column.Generic, key)
	if errors.Is(err, engine.ErrNotFound) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	if seq, ok = parseU64(b); !ok {
		return 0, false, damagedRow(column.Generic, key, "not a number")
	}
	return seq, true, nil
}

// readOrder returns the delta that was applied as number seq. That there is none
// is damage.
func readOrder(r engine.Getter, context *codec.ContextID, seq uint64) (orderRow, error) {
	var array [contextPrefixLen + 8]byte
	key := orderKey(array[:0], context, seq)
	b, err := r.Get(nil, column.Generic, key)
	if errors.Is(err, engine.ErrNotFound) {
		return orderRow{}, damagedRow(column.Generic, key, "a gap in the order")
	}
	if err != nil {
		return orderRow{}, err
	}
	row, ok := parseOrder(b)
	if !ok {
		return row, damagedRow(column.Generic, key, "not a place in the order")
	}
	return row, nil
}

func (c *loaded) loadPending(r engine.Reader) error {
	c.arrival, c.oldest = 1, 1
	return each(r, engine.Prefixed(kindPrefix(nil, pendingScope, arrivalRow, &c.id)), func(key, value []byte) error {
		arrival, _, size, ok := parseArrival(key, value)
		if !ok {
			return damagedRow(column.Generic, key, "not an arrival")
		}
		if c.waiting == 0 {
			c.oldest = arrival
		}
		c.waiting, c.waitingBytes, c.arrival = c.waiting+1, c.waitingBytes+int64(size), arrival+1
		return nil
	})
}

func (c *loaded) loadRefused(r engine.Reader) error {
	c.firstRefusal, c.nextRefusal = 1, 1
	for _, reverse := range []bool{false, true} {
		rg := engine.Prefixed(kindPrefix(nil, refusedScope, refusalRow, &c.id))
		rg.Reverse, rg.Limit = reverse, 1
		err := each(r, rg, func(key, _ []byte) error {
			if len(key) != kindPrefixLen+8 {
				return damagedRow(column.Generic, key, "not a refusal's key")
			}
			seq := binary.BigEndian.Uint64(key[kindPrefixLen:])
			if !reverse {
				c.firstRefusal = seq
			}
			c.nextRefusal = seq + 1
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// refusals returns how many refusals are remembered.
func (c *loaded) refusals() int { return int(c.nextRefusal - c.firstRefusal) }

// appendMeta appends the row of Meta.
func (c *loaded) appendMeta(dst []byte) []byte {
	root := c.trie.Root()
	return c.heads.appendMeta(append(append(dst, c.app...), root[:]...))
}
