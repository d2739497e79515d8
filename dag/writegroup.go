package dag

import (
	"errors"
	"fmt"
	"sync"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
)

// writeGroup is what requests of one context put into one batch.
type writeGroup struct {
	s *Store
	q *writeQueue
	c *loaded

	batch   engine.Batch
	view    view
	synced  bool
	meta    bool // root or heads have changed
	notify  bool // there is something for the background
	applied int  // deltas in the batch

	ready  []woken // what is to be judged because something else was
	judged int     // how many of them have been

	key, value []byte // buffers
	seqs       []uint64
	changes    []merkle.Change
}

// writeGroups lends memory to write groups.
var writeGroups = sync.Pool{New: func() any { return new(writeGroup) }}

func (s *Store) newWriteGroup(q *writeQueue) *writeGroup {
	g := writeGroups.Get().(*writeGroup)
	g.s, g.q = s, q
	g.view.base, g.view.batch = s.db, &g.batch
	g.begin()
	return g
}

// begin starts another batch.
func (g *writeGroup) begin() {
	g.c = g.q.state
	if g.batch.Size() > maxGroupBytes/4 {
		g.batch = engine.Batch{}
	}
	g.batch.Reset()
	g.view.reset()
	g.synced, g.meta, g.notify, g.applied = false, false, false, 0
}

func (g *writeGroup) free() {
	g.begin()
	g.s, g.q, g.c, g.view.base = nil, nil, nil, nil
	writeGroups.Put(g)
}

// maxGroupBytes is when a batch is full: it takes no further delta.
const maxGroupBytes = 8 << 20

func (g *writeGroup) full() bool { return g.batch.Size() >= maxGroupBytes || g.applied >= maxGroup }

// put stores a row of Generic. It keeps neither slice.
func (g *writeGroup) put(key, value []byte) { g.batch.Put(column.Generic, key, value) }

// delete removes a row of Generic.
func (g *writeGroup) delete(key []byte) { g.batch.Delete(column.Generic, key) }

// write makes the changes of the group. After an error the context is no longer
// loaded.
func (g *writeGroup) write() error {
	if g.c == nil {
		return nil
	}
	g.storeReady()
	if g.meta {
		g.value = g.c.appendMeta(g.value[:0])
		g.batch.Put(column.Meta, g.c.id[:], g.value)
		g.c.trie.Write(&g.batch)
	}
	if g.batch.Len() == 0 {
		return nil
	}
	g.batch.Durability = engine.WAL
	if g.synced {
		g.batch.Durability = engine.Synced
	}
	if err := g.s.db.Apply(&g.batch); err != nil {
		g.q.state = nil
		return fmt.Errorf("dag: context %s: %w", g.q.id, err)
	}
	if g.meta {
		g.c.trie.Written()
		g.q.applied()
	}
	return nil
}

// serve does what requests ask for: with one batch, and if that fails with one
// for each, so that only the guilty fail.
func (s *Store) serve(q *writeQueue, requests []*request) {
	g := s.newWriteGroup(q)
	defer g.free()
	for singly := 0; len(requests) > 0; {
		most := len(requests)
		if singly > 0 {
			most, singly = 1, singly-1
		}
		n, err := g.serve(requests[:most])
		switch {
		case err == nil:
		case n > 1:
			singly = n
			continue
		default:
			requests[0].err = err
		}
		requests = requests[n:]
	}
}

// serve serves the first of requests with one batch. It returns how many those
// are, at least one, and an error if none of them has had an effect.
func (g *writeGroup) serve(requests []*request) (n int, err error) {
	defer func() {
		if p := recover(); p != nil {
			// What is in memory may be half done.
			g.q.state, err = nil, fmt.Errorf("dag: context %s: panic while applying: %v", g.q.id, p)
			requests[n-1].panics = p
		}
	}()
	n = 1
	if requests[0].alone {
		g.q.state = nil
		g.begin()
		defer func() { g.q.state = nil }()
		return 1, requests[0].do(g)
	}
	if g.q.state == nil {
		g.q.state, err = load(g.s.db, g.s.options.Cache, g.q.id)
		if errors.Is(err, ErrNoContext) {
			if err = g.s.begin(g.q.id); err == nil {
				g.q.state, err = load(g.s.db, g.s.options.Cache, g.q.id)
			}
		}
		if err != nil {
			return 1, err
		}
	}
	g.begin()
	g.forget()
	for ; ; n++ {
		r := requests[n-1]
		r.err, r.panics = nil, nil
		g.synced = g.synced || r.synced
		before := g.batch.Len()
		switch err = r.do(g); {
		case err != nil && g.batch.Len() == before: // it has done nothing
			r.err, err = err, nil
		case err != nil:
			g.q.state = nil
			return n, err
		}
		if n == len(requests) || g.full() {
			break
		}
	}
	if err = g.write(); err != nil {
		return n, err
	}
	g.goOn()
	return n, nil
}

// goOn judges what one batch had no room for, batch after batch. What fails is
// left to the background: the requests have had their effect.
func (g *writeGroup) goOn() {
	kick, synced := g.notify, g.synced
	for len(g.ready) > 0 {
		g.begin()
		g.synced = synced
		err := g.drain()
		if err == nil {
			kick = kick || g.notify
			err = g.write()
		}
		if err != nil {
			g.s.options.Log.Error("dag: a cascade was interrupted", "context", g.q.id, "error", err)
			g.q.state, kick = nil, true
			break
		}
	}
	g.forget()
	if kick {
		g.s.work.notify()
	}
}

// forget lets go of what has been woken.
func (g *writeGroup) forget() {
	clear(g.ready)
	g.ready, g.judged = g.ready[:0], 0
}
