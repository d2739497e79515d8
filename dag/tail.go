package dag

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// The rows of a trie are not written with every delta: of many deltas nearly each writes to the same pages.
// The last deltas of a context are its tail, of which the rows do not know; dag-tail says behind which
// number it begins. What the trie of the present is follows from the rows and from what the deltas of the tail
// write, and is proved by the root in Meta.

// A tail has at most Options.MaxTail deltas. Tests change the others.
var (
	tailBytes  = 4 << 20         // what the rows of its deltas take, and what the pages that they have changed
	tailsBytes = int64(64 << 20) // what such pages of all contexts take, about: where it is more, the context that is written to ends its tail
)

// tailScope is that of the rows that say where tails begin. It is never written to.
var tailScope = keys.MustScope("dag-tail")

// tail is what was applied to a context after the rows of its trie were written.
type tail struct {
	after  uint64     // the number of the last delta before it
	root   codec.Hash // of the rows
	stored bool       // dag-tail says so
	deltas int
	bytes  int // of their rows
}

// long reports whether a tail of most deltas, whose pages take that much, is to end.
func (t *tail) long(most, pages int) bool {
	return t.deltas >= most || t.bytes >= tailBytes || pages >= tailBytes
}

// tailKey appends the key of the row of a context.
func tailKey(dst []byte, context *codec.ContextID) []byte {
	return contextPrefix(dst, tailScope, context)
}

// appendBinary appends
//
//	after u64 LE ‖ root 32
func (t *tail) appendBinary(dst []byte) []byte {
	return append(binary.LittleEndian.AppendUint64(dst, t.after), t.root[:]...)
}

// readTail returns where the tail of a context begins; one that is not stored is none.
func readTail(r engine.Getter, id *codec.ContextID) (t tail, err error) {
	key := tailKey(nil, id)
	b, err := r.Get(nil, column.Generic, key)
	if errors.Is(err, engine.ErrNotFound) {
		return t, nil
	}
	if err != nil {
		return t, err
	}
	if len(b) != 8+32 {
		return t, damagedRow(column.Generic, key, "not the beginning of a tail")
	}
	return tail{after: binary.LittleEndian.Uint64(b), root: codec.Hash(b[8:]), stored: true}, nil
}

// endStored puts into b what ends the tail of a context, as it is stored; nothing if there is none. It returns
// engine.ErrCorrupt where the tail does not make the root in Meta.
func endStored(r engine.Reader, cache *merkle.Cache, id codec.ContextID, b *engine.Batch) error {
	t, err := readTail(r, &id)
	if err != nil || !t.stored {
		return err
	}
	meta, err := readMeta(r, id)
	if err != nil {
		return err
	}
	trie := merkle.OpenMarked(cache, r, id, t.root)
	past := history{r: r, context: id}
	changes, err := past.writtenAfter(t.after, trie)
	if err != nil {
		return err
	}
	if err := trie.Update(changes); err != nil {
		return err
	}
	key := tailKey(nil, &id)
	if trie.Root() != meta.RootHash {
		return damagedRow(column.Generic, key, fmt.Sprintf("the deltas after number %d make the root %s instead of %s", t.after, trie.Root(), meta.RootHash))
	}
	trie.Write(b)
	b.Delete(column.Generic, key)
	return nil
}

// withoutTail returns what reads a context as it is in r when its tail has been ended. It is for one goroutine.
func withoutTail(r engine.Reader, cache *merkle.Cache, id codec.ContextID) (engine.Reader, error) {
	b := new(engine.Batch)
	if err := endStored(r, cache, id, b); err != nil || b.Len() == 0 {
		return r, err
	}
	o := new(engine.Overlay)
	o.Reset(r, b)
	return o, nil
}

// writtenAfter returns what the deltas after a number change of the trie before them, by key, with the versions that
// they made as marks. It reads nothing of State: what is wrong there is no reason not to go on.
func (h *history) writtenAfter(after uint64, trie *merkle.Trie) (changes []merkle.Change, err error) {
	rg := engine.Prefixed(contextPrefix(nil, orderScope, &h.context))
	rg.Start = orderKey(nil, &h.context, after+1)
	type write struct {
		stamp
		merkle.Change
	}
	newest := map[codec.Hash]write{}
	p := past{v: new(view), id: h.context}
	p.v.Reset(h.r, nil)
	err = each(h.r, rg, func(at, order []byte) error {
		seq, is := orderSeq(at)
		o, ok := parseOrder(order)
		switch {
		case !is || !ok:
			return damagedRow(column.Generic, at, "not a place in the order")
		case o.gone():
			return nil
		}
		mine := stamp{o.hlc, o.id}
		return p.readDelta(&o.id, func(appKey, value []byte, put bool) {
			c := merkle.Change{Key: merkle.HashKey(appKey), Delete: !put, Mark: seq}
			if of, seen := newest[c.Key]; seen && of.after(&mine) {
				return
			}
			if put {
				c.Value = merkle.HashValue(value)
			}
			newest[c.Key] = write{mine, c}
		})
	})
	if err != nil {
		return nil, err
	}
	for hash, w := range newest {
		before, found, err := trie.Mark(hash)
		if err == nil && !found {
			// The rows of what is deleted are of the present.
			if before, err = p.gone(&hash); before > after {
				before = 0
			}
		}
		if err != nil {
			return nil, err
		}
		if before != 0 {
			o, err := readOrder(h.r, &h.context, before)
			if err != nil {
				return nil, err
			}
			if of := (stamp{o.hlc, o.id}); of.after(&w.stamp) {
				continue
			}
		}
		changes = append(changes, w.Change)
	}
	merkle.SortChanges(changes)
	return changes, nil
}

// writeTrie puts the rows of the trie into the batch, or leaves its deltas to the tail.
func (g *writeGroup) writeTrie() {
	c := g.c
	c.tail.deltas += g.applied
	c.tail.bytes += g.bytes
	pages := c.trie.Unwritten()
	g.endsTail = g.endsTail || c.tail.long(g.s.options.MaxTail, pages) || g.s.tails.Load()+int64(pages-g.q.unwritten) > tailsBytes
	g.key = tailKey(g.key[:0], &c.id)
	switch {
	case g.endsTail:
		c.trie.Write(&g.batch)
		if c.tail.stored {
			g.delete(g.key)
		}
	case !c.tail.stored:
		g.value = c.tail.appendBinary(g.value[:0])
		g.put(g.key, g.value)
	}
}

// wroteTrie is called when the batch has been written.
func (g *writeGroup) wroteTrie() {
	c := g.c
	if c.tail.stored = true; g.endsTail {
		c.trie.Written()
		c.tail = tail{after: c.next - 1, root: c.trie.Root()}
	}
}

// endTail ends the tail with this batch.
func (g *writeGroup) endTail() { g.endsTail = g.endsTail || g.c.tail.stored }

// endTailLoaded ends the tail of the context if it is loaded. What is not written is made anew when it is
// loaded again.
func (g *writeGroup) endTailLoaded() error {
	if g.q.state == nil || !g.q.state.tail.stored {
		return nil
	}
	g.begin()
	g.endsTail = true
	return g.write()
}

// endTailStored ends the tail that a process has left that was killed, or that had no room for the context any more.
func (g *writeGroup) endTailStored() error {
	g.batch.Reset()
	g.batch.Durability = engine.WAL
	err := endStored(g.s.db, g.s.options.Cache, g.q.id, &g.batch)
	if err == nil && g.batch.Len() > 0 {
		err = g.s.db.Apply(&g.batch)
	}
	return err
}

// endTail ends the tail of a context, for readers: they would have to make anew what it makes. Where it can't be
// done, they do.
func (s *Store) endTail(ctx context.Context, id codec.ContextID) {
	if s.viewing || s.enter() != nil {
		return
	}
	t, err := readTail(s.db, &id)
	if s.calls.Done(); err != nil || !t.stored {
		return
	}
	r := &request{}
	r.Task.do = func(g *writeGroup) error {
		g.endTail()
		return nil
	}
	_ = s.submit(ctx, id, r)
}

// endTails ends the tails of all contexts that are loaded. Nobody uses the store any more.
func (s *Store) endTails() {
	for _, q := range s.queues.all {
		g := s.newWriteGroup(q)
		if err := g.endTailLoaded(); err != nil {
			s.options.Log.Warn("dag: the rows of a trie were not written: its context takes longer to load", "context", q.id, "error", err)
		}
		g.free()
	}
}

// counts has the pages of the queue's context count, or count no more.
func (s *Store) counts(q *writeQueue) {
	n := 0
	if q.state != nil {
		n = q.state.trie.Unwritten()
	}
	s.tails.Add(int64(n - q.unwritten))
	q.unwritten = n
}
