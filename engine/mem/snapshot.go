package mem

import (
	"bytes"
	"sync"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// snapshot is clones of the engine's trees.
type snapshot struct {
	engine *Engine
	scan   bool // made for one iterator over the engine

	mu     sync.RWMutex // guards what follows
	view   view
	closed bool
}

func (s *snapshot) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return dst, engine.ErrClosed
	}
	return s.view.get(dst, col, key)
}

func (s *snapshot) MultiGet(buf []byte, lookups []engine.Lookup) ([]byte, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return buf, engine.ErrClosed
	}
	return s.view.multiGet(buf, lookups)
}

func (s *snapshot) Iterate(col column.Column, r engine.Range) (*engine.Iterator, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, engine.ErrClosed
	}
	if err := engine.CheckColumn(col); err != nil {
		return nil, err
	}
	return engine.NewIterator(newPager(s, false, col, r), r.Limit), nil
}

// Close gives the trees back. Iterators over them end with ErrClosed.
func (s *snapshot) Close() error {
	s.engine.mu.Lock()
	delete(s.engine.open, s)
	s.engine.mu.Unlock()
	if !s.drop() {
		return engine.ErrClosed
	}
	return nil
}

func (s *snapshot) drop() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.closed = true
	s.view = view{}
	return true
}

// pager hands out the entries of a range of a snapshot.
type pager struct {
	from   *snapshot
	owned  bool // closes the snapshot
	col    column.Column
	rng    engine.Range
	after  []byte // the last key handed out; nil at first
	ended  bool
	closed bool
}

func newPager(from *snapshot, owned bool, col column.Column, r engine.Range) *pager {
	r.Start, r.End = bytes.Clone(r.Start), bytes.Clone(r.End)
	return &pager{from: from, owned: owned, col: col, rng: r}
}

func (p *pager) Page(dst []byte, maxEntries, maxBytes int) ([]byte, int, error) {
	if p.closed {
		return dst, 0, engine.ErrClosed
	}
	if p.ended {
		return dst, 0, nil
	}
	p.from.mu.RLock()
	defer p.from.mu.RUnlock()
	if p.from.closed {
		return dst, 0, engine.ErrClosed
	}
	n, full := 0, len(dst)+maxBytes
	more := false
	p.from.view.walk(p.col, p.rng, p.after, func(i item) bool {
		if n > 0 && (n >= maxEntries || len(dst) >= full) {
			more = true
			return false
		}
		dst = engine.AppendEntry(dst, i.key, i.value)
		p.after = i.key
		n++
		return true
	})
	p.ended = !more
	return dst, n, nil
}

func (p *pager) Close() error {
	if p.closed {
		return nil
	}
	p.closed = true
	if p.owned {
		_ = p.from.Close() // ErrClosed if the engine has been closed, which is no matter here
	}
	return nil
}
