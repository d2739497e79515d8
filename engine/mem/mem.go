// Package mem is an engine that keeps everything in memory. It is what tests
// and `stoa serve --engine mem` use, and the model that engine/rocks is compared
// with. Nothing is durable: closing it loses everything.
package mem

import (
	"bytes"
	"sync"

	"github.com/google/btree"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// Engine is an engine.Engine in memory; see New.
type Engine struct {
	mu       sync.RWMutex // guards what follows
	view     view
	index    index
	closed   bool
	sequence uint64
	open     map[*snapshot]struct{} // snapshots that are not closed

	commit *engine.Committer
}

// view is the trees of all columns, indexed by column.
type view [column.Count + 1]*btree.BTreeG[item]

// item is one entry. Neither slice is ever changed.
type item struct{ key, value []byte }

func less(a, b item) bool { return bytes.Compare(a.key, b.key) < 0 }

const degree = 32

var (
	_ engine.Engine   = (*Engine)(nil)
	_ engine.Snapshot = (*snapshot)(nil)
)

// New returns an empty engine.
func New() *Engine {
	e := &Engine{open: make(map[*snapshot]struct{})}
	for c := range column.All {
		e.view[c] = btree.NewG(degree, less)
		e.index[c] = make(map[string][]byte)
	}
	e.commit = engine.NewCommitter((*sink)(e))
	return e
}

// Get appends the value of a key to dst; see [engine.Getter].
func (e *Engine) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.closed {
		return dst, engine.ErrClosed
	}
	return e.index.get(dst, col, key)
}

// MultiGet looks up keys in one state; see [engine.Reader].
func (e *Engine) MultiGet(buf []byte, lookups []engine.Lookup) ([]byte, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.closed {
		return buf, engine.ErrClosed
	}
	return e.view.multiGet(buf, lookups)
}

// Iterate returns an iterator over a range of a column; see [engine.Reader].
func (e *Engine) Iterate(col column.Column, r engine.Range) (*engine.Iterator, error) {
	if err := engine.CheckColumn(col); err != nil {
		return nil, err
	}
	s, err := e.snapshot(col)
	if err != nil {
		return nil, err
	}
	return engine.NewIterator(newPager(s, true, col, r), r.Limit), nil
}

// Apply makes all changes of a batch, or none; see [engine.Writer].
func (e *Engine) Apply(b *engine.Batch) error { return e.commit.Apply(b) }

// Update lets fn read and write with no other write in between; see [engine.Engine].
func (e *Engine) Update(fn func(engine.Getter, *engine.Batch) error) error {
	return e.commit.Update(fn)
}

// Snapshot returns the store as it is now; see [engine.Engine]. It copies nothing: trees
// are copied on write.
func (e *Engine) Snapshot() (engine.Snapshot, error) {
	s, err := e.snapshot(0)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Close ends the engine, iterators and snapshots included; see [engine.Engine].
func (e *Engine) Close() error {
	e.commit.Stop(engine.ErrClosed)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return engine.ErrClosed
	}
	e.closed = true
	e.view, e.index = view{}, index{}
	for s := range e.open {
		s.drop()
	}
	clear(e.open)
	return nil
}

// snapshot clones the tree of one column, or those of all if only is 0.
func (e *Engine) snapshot(only column.Column) (*snapshot, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, engine.ErrClosed
	}
	s := &snapshot{engine: e, scan: only != 0}
	for c := range column.All {
		if only == 0 || only == c {
			s.view[c] = e.view[c].Clone()
		}
	}
	e.open[s] = struct{}{}
	return s, nil
}

// sink is the side of the engine that its committer writes to.
type sink Engine

func (s *sink) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	return (*Engine)(s).Get(dst, col, key)
}

func (s *sink) MultiGet(buf []byte, lookups []engine.Lookup) ([]byte, error) {
	return (*Engine)(s).MultiGet(buf, lookups)
}

func (s *sink) Iterate(col column.Column, r engine.Range) (*engine.Iterator, error) {
	return (*Engine)(s).Iterate(col, r)
}

// Write makes the changes of a batch that the committer has checked.
func (s *sink) Write(ops []byte, _ bool) error {
	ops = bytes.Clone(ops) // rows keep parts of it
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return engine.ErrClosed
	}
	for op, err := range engine.Changes(ops) {
		if err != nil {
			return err
		}
		s.view.apply(op, &s.index)
		s.sequence++
	}
	return nil
}
