package faulty

import (
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// reader passes reads on, to the wrapped engine or a snapshot of it.
type reader struct {
	engine *Engine
	inner  engine.Reader
	life   uint64
}

func (e *Engine) reader() reader { return reader{e, e.inner, e.now()} }

// Get is engine.Getter's.
func (e *Engine) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	return e.reader().Get(dst, col, key)
}

// MultiGet is engine.Reader's.
func (e *Engine) MultiGet(buf []byte, lookups []engine.Lookup) ([]byte, error) {
	return e.reader().MultiGet(buf, lookups)
}

// Iterate is engine.Reader's.
func (e *Engine) Iterate(col column.Column, r engine.Range) (*engine.Iterator, error) {
	return e.reader().Iterate(col, r)
}

func (r reader) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	return getter{r.engine, r.inner, r.life}.Get(dst, col, key)
}

// getter passes the reads of single keys on.
type getter struct {
	engine *Engine
	inner  engine.Getter
	life   uint64
}

func (g getter) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	c := g.engine.begin(Reads, g.life)
	if err := c.before(); err != nil {
		return dst, err
	}
	got, err := g.inner.Get(dst, col, key)
	if err = c.end(err); err != nil {
		return dst, err
	}
	return got, nil
}

func (r reader) MultiGet(buf []byte, lookups []engine.Lookup) ([]byte, error) {
	c := r.engine.begin(Reads, r.life)
	if err := c.before(); err != nil {
		return buf, err
	}
	got, err := r.inner.MultiGet(buf, lookups)
	if err = c.end(err); err != nil {
		return buf, err
	}
	return got, nil
}

func (r reader) Iterate(col column.Column, rg engine.Range) (*engine.Iterator, error) {
	c := r.engine.begin(Reads, r.life)
	if err := c.before(); err != nil {
		return nil, err
	}
	it, err := r.inner.Iterate(col, rg)
	if failed := c.end(err); failed != nil {
		if err == nil {
			_ = it.Close()
		}
		return nil, failed
	}
	return engine.NewIterator(&pager{r.engine, it, r.life}, 0), nil
}

// pager passes the pages of an iterator on.
type pager struct {
	engine *Engine
	inner  *engine.Iterator
	life   uint64
}

func (p *pager) Page(dst []byte, maxEntries, maxBytes int) ([]byte, int, error) {
	c := p.engine.begin(Reads, p.life)
	if err := c.before(); err != nil {
		return dst, 0, err
	}
	grown := p.inner.Page(dst, maxEntries, maxBytes)
	n := 0
	if len(grown) > len(dst) {
		n = p.inner.PageEntries()
	}
	if err := c.end(p.inner.Err()); err != nil {
		return dst, 0, err
	}
	return grown, n, nil
}

func (p *pager) Close() error { return p.inner.Close() }

// Snapshot is engine.Engine's.
func (e *Engine) Snapshot() (engine.Snapshot, error) {
	c := e.begin(Reads, e.now())
	if err := c.before(); err != nil {
		return nil, err
	}
	s, err := e.inner.Snapshot()
	if failed := c.end(err); failed != nil {
		if err == nil {
			_ = s.Close()
		}
		return nil, failed
	}
	return &snapshot{reader{e, s, c.life}, s}, nil
}

type snapshot struct {
	reader
	inner engine.Snapshot
}

// Close gives the wrapped snapshot back in any case. It is not counted.
func (s *snapshot) Close() error { return s.inner.Close() }
