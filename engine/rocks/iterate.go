//go:build cgo

package rocks

import (
	"slices"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// Iterate returns an iterator over a range of a column; see [engine.Reader].
func (e *Engine) Iterate(col column.Column, r engine.Range) (*engine.Iterator, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.iterate(nil, col, r)
}

// iterate opens an iterator over the store, or over a snapshot. The caller holds
// mu.
func (e *Engine) iterate(s *snapshot, col column.Column, r engine.Range) (*engine.Iterator, error) {
	if err := e.ready(col); err != nil {
		return nil, err
	}
	p := &pager{engine: e, store: e.st, snapshot: s, col: col, ended: empty(r)}
	if !p.ended {
		var v *view
		if s != nil {
			v = s.state.snapshot()
		}
		p.cursor = e.st.openCursor(v, col, r)
		p.place.release = p
		e.st.open.add(&p.place)
	}
	return engine.NewIterator(p, r.Limit), nil
}

// pager hands out the entries of a range. It is not safe for concurrent use,
// other than with the closing of its engine or snapshot.
type pager struct {
	engine   *Engine
	store    *store
	snapshot *snapshot // nil: it reads the store
	col      column.Column
	cursor   cursor // gone once it has ended
	place    opened
	ended    bool
	closed   bool
	err      error // what the entries already handed out ended with
}

// What one page gives at most, whatever it was asked for, so that no product of
// sizes overflows or reserves memory without end.
const (
	mostEntries = 1 << 20
	mostBytes   = engine.MaxValue
)

// Page appends the next entries to dst; see [engine.Pager]. An error comes alone, after
// the entries before it.
func (p *pager) Page(dst []byte, maxEntries, maxBytes int) ([]byte, int, error) {
	p.engine.mu.RLock()
	defer p.engine.mu.RUnlock()
	if err := p.alive(); err != nil {
		return dst, 0, err
	}
	if p.ended {
		return dst, 0, p.err
	}
	start, n := len(dst), 0
	maxEntries = min(max(maxEntries, 1), mostEntries)
	maxBytes = min(max(maxBytes, 0), mostBytes)
	dst = slices.Grow(dst, p.guess(maxEntries, maxBytes))
	for !p.ended && n < maxEntries && (n == 0 || len(dst)-start < maxBytes) {
		var did pageOf
		var err error
		dst, did, err = p.cursor.page(dst, maxEntries-n, max(maxBytes-(len(dst)-start), 0))
		n += did.entries
		if did.end {
			p.err = err
			p.end()
		} else if did.needed > 0 {
			dst = p.grow(dst, start, n, did.needed, maxEntries, maxBytes)
		}
	}
	if n == 0 {
		return dst, 0, p.err
	}
	p.engine.entry[p.col].Store(uint32((len(dst)-start)/n + 1))
	return dst, n, nil
}

// alive returns ErrClosed if what the pager reads is gone.
func (p *pager) alive() error {
	switch {
	case p.closed:
		return engine.ErrClosed
	case p.engine.st != p.store:
		if p.engine.down != nil {
			return p.engine.down
		}
		return engine.ErrClosed
	case p.snapshot != nil:
		return p.snapshot.alive()
	}
	return nil
}

// guess returns how much room a page needs if its entries are of the size that
// those of the column were last.
func (p *pager) guess(entries, bytes int) int {
	each := max(int(p.engine.entry[p.col].Load()), 64)
	return min(each*entries+each/2, bytes+each)
}

// grow makes room for the entry that did not fit, and for as many as may follow.
func (p *pager) grow(dst []byte, start, n, needed, entries, bytes int) []byte {
	room := needed
	if n > 0 {
		have := len(dst) - start
		room = max(room, min(max(have, have/n*(entries-n)), bytes-have))
	}
	return slices.Grow(dst, room)
}

// end gives the cursor back. The caller holds the engine's mu.
func (p *pager) end() {
	if !p.ended {
		p.ended = true
		p.store.open.remove(&p.place)
		p.cursor.close()
	}
}

// Close gives back what the pager holds; see [engine.Pager].
func (p *pager) Close() error {
	p.engine.mu.RLock()
	defer p.engine.mu.RUnlock()
	p.closed = true
	if p.engine.st == p.store {
		p.end()
	}
	return nil
}

// release gives the cursor back while the store is being closed.
func (p *pager) release(*store) {
	p.ended = true
	p.cursor.close()
}
