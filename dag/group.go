package dag

import (
	"errors"
	"fmt"
	"sync"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
)

// group is what requests of one context put into one batch.
type group struct {
	s *Store
	p *slot
	c *loaded

	batch   engine.Batch
	view    view
	synced  bool
	meta    bool // root or heads have changed
	kick    bool // there is something for the background
	applied int  // deltas in the batch

	ready  []woken // what is to be judged because something else was
	judged int     // how many of them have been

	key, value []byte // buffers
	seqs       []uint64
	changes    []merkle.Change
}

// groups lends memory to groups.
var groups = sync.Pool{New: func() any { return new(group) }}

func (s *Store) newGroup(p *slot) *group {
	g := groups.Get().(*group)
	g.s, g.p = s, p
	g.view.base, g.view.batch = s.db, &g.batch
	g.begin()
	return g
}

// begin starts another batch.
func (g *group) begin() {
	g.c = g.p.state
	if g.batch.Size() > maxGroupBytes/4 {
		g.batch = engine.Batch{}
	}
	g.batch.Reset()
	g.view.reset()
	g.synced, g.meta, g.kick, g.applied = false, false, false, 0
}

func (g *group) free() {
	g.begin()
	g.s, g.p, g.c, g.view.base = nil, nil, nil, nil
	groups.Put(g)
}

// maxGroupBytes is when a batch is full: it takes no further delta.
const maxGroupBytes = 8 << 20

func (g *group) full() bool { return g.batch.Size() >= maxGroupBytes || g.applied >= maxGroup }

// put stores a row of Generic. It keeps neither slice.
func (g *group) put(key, value []byte) { g.batch.Put(column.Generic, key, value) }

// delete removes a row of Generic.
func (g *group) delete(key []byte) { g.batch.Delete(column.Generic, key) }

// write makes the changes of the group. After an error the context is no longer
// loaded.
func (g *group) write() error {
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
		g.p.state = nil
		return fmt.Errorf("dag: context %s: %w", g.p.id, err)
	}
	if g.meta {
		g.c.trie.Written()
		g.p.applied()
	}
	return nil
}

// serve does what requests ask for: with one batch, and if that fails with one
// for each, so that only the guilty fail.
func (s *Store) serve(p *slot, requests []*request) {
	g := s.newGroup(p)
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
func (g *group) serve(requests []*request) (n int, err error) {
	defer func() {
		if p := recover(); p != nil {
			// What is in memory may be half done.
			g.p.state, err = nil, fmt.Errorf("dag: context %s: panic while applying: %v", g.p.id, p)
			requests[n-1].panics = p
		}
	}()
	n = 1
	if requests[0].alone {
		g.p.state = nil
		g.begin()
		defer func() { g.p.state = nil }()
		return 1, requests[0].do(g)
	}
	if g.p.state == nil {
		g.p.state, err = load(g.s.db, g.s.options.Cache, g.p.id)
		if errors.Is(err, ErrNoContext) {
			if err = g.s.begin(g.p.id); err == nil {
				g.p.state, err = load(g.s.db, g.s.options.Cache, g.p.id)
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
			g.p.state = nil
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
func (g *group) goOn() {
	kick, synced := g.kick, g.synced
	for len(g.ready) > 0 {
		g.begin()
		g.synced = synced
		err := g.drain()
		if err == nil {
			kick = kick || g.kick
			err = g.write()
		}
		if err != nil {
			g.s.options.Log.Error("dag: a cascade was interrupted", "context", g.p.id, "error", err)
			g.p.state, kick = nil, true
			break
		}
	}
	g.forget()
	if kick {
		g.s.lane.kick()
	}
}

// forget lets go of what has been woken.
func (g *group) forget() {
	clear(g.ready)
	g.ready, g.judged = g.ready[:0], 0
}
