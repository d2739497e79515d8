package dag

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
)

// writeGroup is what requests of one context put into one batch.
type writeGroup struct {
	s *Store
	q *writeQueue
	c *loaded

	batch    engine.Batch
	view     view
	synced   bool
	meta     bool // root or heads have changed
	endsTail bool // the rows of the trie are written, and so is the end of the tail
	notify   bool // there is something for the background
	applied  int  // deltas in the batch
	bytes    int  // of their rows

	ready  []woken // what is to be judged because something else was
	judged int     // how many of them have been

	key, value []byte // buffers
	seqs       []uint64
	changes    []merkle.Change

	lasts map[codec.Hash]uint64 // in a withdrawal: as past has them
}

// writeGroups lends memory to write groups.
var writeGroups = sync.Pool{New: func() any { return new(writeGroup) }}

func (s *Store) newWriteGroup(q *writeQueue) *writeGroup {
	g := writeGroups.Get().(*writeGroup)
	g.s, g.q = s, q
	g.begin()
	return g
}

// begin starts another batch.
func (g *writeGroup) begin() {
	g.c = g.q.state
	if g.batch.Size() > maxGroupBytes/2 { // that of the end of a tail is used again
		g.batch = engine.Batch{}
	}
	g.batch.Reset()
	g.view.Reset(g.s.db, &g.batch)
	g.lasts = nil
	g.synced, g.meta, g.endsTail, g.notify, g.applied, g.bytes = false, false, false, false, 0, 0
}

func (g *writeGroup) free() {
	g.begin()
	g.forget()
	g.view.Reset(nil, nil)
	g.s, g.q, g.c = nil, nil, nil
	writeGroups.Put(g)
}

// maxGroupBytes is when a batch is full: it takes no further delta.
const maxGroupBytes = 8 << 20

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
		if g.c.whole {
			g.putHeads()
		}
		g.value = g.c.appendMeta(g.value[:0])
		g.batch.Put(column.Meta, g.c.id[:], g.value)
	}
	changes := g.meta || g.endsTail
	if changes {
		g.writeTrie()
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
	if changes {
		g.wroteTrie()
	}
	if g.meta {
		g.q.applied()
	}
	return nil
}

// serve is what the queue of a context does with its requests. Where it is not
// brought to its end, what is in memory may be half done, and is let go of.
func (s *Store) serve(q *writeQueue, group []*request) (n int, err error) {
	g := s.newWriteGroup(q)
	defer g.free()
	whole := false
	defer func() {
		if !whole || err != nil {
			q.state = nil
		}
		s.counts(q)
	}()
	if group[0].Task.alone {
		n, err = g.serveAlone(group)
	} else {
		n, err = g.serveTogether(group)
	}
	whole = true
	return n, err
}

// serveAlone serves the first of group, which writes by itself. The context is not
// loaded meanwhile, nor afterwards.
func (g *writeGroup) serveAlone(group []*request) (int, error) {
	_ = g.endTailLoaded()
	g.q.state = nil
	g.begin()
	return engine.Together(g, group[:1])
}

// serveTogether serves the first of group with one batch.
func (g *writeGroup) serveTogether(group []*request) (n int, err error) {
	if i := slices.IndexFunc(group, func(r *request) bool { return r.Task.alone }); i > 0 {
		group = group[:i]
	}
	if err := g.load(); err != nil {
		return 1, err
	}
	g.begin()
	if n, err = engine.Together(g, group); err != nil {
		return n, err
	}
	if err = g.write(); err != nil {
		return n, err
	}
	g.goOn()
	return n, nil
}

// load has the context in memory; one that a group has named begins. A tail that was left is ended, so
// that nobody makes it anew twice.
func (g *writeGroup) load() (err error) {
	if g.q.state != nil {
		return nil
	}
	if err := g.endTailStored(); err != nil {
		return fmt.Errorf("dag: context %s: %w", g.q.id, err)
	}
	g.q.state, err = load(g.s.db, g.s.options.Cache, g.q.id)
	if errors.Is(err, ErrNoContext) {
		if err = g.s.begin(g.q.id); err == nil {
			g.q.state, err = load(g.s.db, g.s.options.Cache, g.q.id)
		}
	}
	return err
}

// Do puts the changes of a task into the batch.
func (g *writeGroup) Do(t task) error {
	g.synced = g.synced || t.synced
	return t.do(g)
}

// Changes is the number of changes in the batch.
func (g *writeGroup) Changes() int { return g.batch.Len() }

// Full reports whether the batch takes no further request.
func (g *writeGroup) Full() bool { return g.batch.Size() >= maxGroupBytes || g.applied >= maxGroup }

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

// view is the store with the changes of a batch that is being made on top. It is for
// one goroutine.
type view struct {
	engine.Overlay
	buf []byte
}

// has reports whether there is a row of Generic under key.
func (v *view) has(key []byte) (bool, error) {
	var err error
	v.buf, err = v.Get(v.buf[:0], column.Generic, key)
	if errors.Is(err, engine.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// errStop ends a scan that has seen enough.
var errStop = errors.New("dag: enough")

// scan calls fn with the rows of Generic from start on whose keys begin with
// prefix, in order, until it returns an error; errStop is none. fn must not change
// the batch; key and value are valid during the call.
func (v *view) scan(prefix, start []byte, fn func(key, value []byte) error) error {
	rg := engine.Prefixed(prefix)
	rg.Start = start
	if err := each(v, rg, fn); err != errStop {
		return err
	}
	return nil
}
