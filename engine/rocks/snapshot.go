//go:build cgo

package rocks

import (
	"sync"
	"sync/atomic"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// snapshot is a snapshot of RocksDB. Whoever uses its view holds the engine's mu
// and then its own, both for reading.
type snapshot struct {
	engine *Engine
	store  *store
	place  opened

	mu     sync.RWMutex
	state  state
	closed atomic.Bool
}

// Snapshot returns the store as it is now; see [engine.Engine].
func (e *Engine) Snapshot() (engine.Snapshot, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.st == nil {
		return nil, e.down
	}
	s := &snapshot{engine: e, store: e.st, state: e.st.openState()}
	s.place.release = s
	e.st.open.add(&s.place)
	e.snapshots.Add(1)
	return s, nil
}

func (s *snapshot) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	s.lock()
	defer s.unlock()
	if err := s.alive(); err != nil {
		return dst, err
	}
	if err := s.engine.ready(col); err != nil {
		return dst, err
	}
	return s.store.get(&s.state, dst, col, key)
}

func (s *snapshot) MultiGet(buf []byte, lookups []engine.Lookup) ([]byte, error) {
	s.lock()
	defer s.unlock()
	if err := s.alive(); err != nil {
		return buf, err
	}
	return s.engine.multiGet(&s.state, buf, lookups)
}

func (s *snapshot) Iterate(col column.Column, r engine.Range) (*engine.Iterator, error) {
	s.lock()
	defer s.unlock()
	if err := s.alive(); err != nil {
		return nil, err
	}
	return s.engine.iterate(s, col, r)
}

// Close gives the snapshot back. Iterators over it end with ErrClosed.
func (s *snapshot) Close() error {
	s.engine.mu.RLock()
	defer s.engine.mu.RUnlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() {
		return engine.ErrClosed
	}
	s.store.open.remove(&s.place)
	s.release(s.store)
	return nil
}

// lock locks the engine and the snapshot for reading.
func (s *snapshot) lock() {
	s.engine.mu.RLock()
	s.mu.RLock()
}

func (s *snapshot) unlock() {
	s.mu.RUnlock()
	s.engine.mu.RUnlock()
}

// alive returns ErrClosed if the snapshot is closed.
func (s *snapshot) alive() error {
	if s.closed.Load() {
		return engine.ErrClosed
	}
	return nil
}

// release gives the snapshot back to st.
func (s *snapshot) release(st *store) {
	s.closed.Store(true)
	st.h.closeView(&s.state.view)
	s.engine.snapshots.Add(-1)
}
