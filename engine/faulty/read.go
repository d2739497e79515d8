package faulty

import (
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// Get appends the value of a key to dst; see [engine.Getter]. It is a counted read.
func (e *Engine) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	return reader{e, e.inner}.Get(dst, col, key)
}

// MultiGet looks up keys in one state; see [engine.Reader]. It is one counted read.
func (e *Engine) MultiGet(buf []byte, lookups []engine.Lookup) ([]byte, error) {
	return reader{e, e.inner}.MultiGet(buf, lookups)
}

// Iterate returns an iterator over a range of a column; see [engine.Reader]. It is a
// counted read; each page that the iterator asks for is another.
func (e *Engine) Iterate(col column.Column, r engine.Range) (*engine.Iterator, error) {
	return reader{e, e.inner}.Iterate(col, r)
}

// Snapshot returns the store as it is now; see [engine.Engine]. It is a counted read.
func (e *Engine) Snapshot() (engine.Snapshot, error) {
	var s engine.Snapshot
	err := e.do(Reads, func() (err error) {
		s, err = e.inner.Snapshot()
		return err
	})
	if err != nil {
		if s != nil {
			_ = s.Close() // nobody will
		}
		return nil, err
	}
	return &snapshot{reader{e, s}, s}, nil
}

// snapshot is a snapshot of the inner engine.
type snapshot struct {
	reader
	inner engine.Snapshot
}

// Close gives the inner snapshot back even after a crash.
func (s *snapshot) Close() error { return s.reader.engine.end(pass, s.inner.Close()) }

// reader reads the inner engine, a snapshot of it, or what an update sees.
type reader struct {
	engine *Engine
	inner  engine.Reader
}

func (r reader) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	got := dst
	err := r.engine.do(Reads, func() (err error) {
		got, err = r.inner.Get(dst, col, key)
		return err
	})
	if err != nil {
		return dst, err
	}
	return got, nil
}

func (r reader) MultiGet(buf []byte, lookups []engine.Lookup) ([]byte, error) {
	got := buf
	err := r.engine.do(Reads, func() (err error) {
		got, err = r.inner.MultiGet(buf, lookups)
		return err
	})
	if err != nil {
		return buf, err
	}
	return got, nil
}

func (r reader) Iterate(col column.Column, rg engine.Range) (*engine.Iterator, error) {
	var it *engine.Iterator
	err := r.engine.do(Reads, func() (err error) {
		it, err = r.inner.Iterate(col, rg)
		return err
	})
	if err != nil {
		if it != nil {
			_ = it.Close() // nobody will
		}
		return nil, err
	}
	return engine.NewIterator(&pager{r.engine, it}, rg.Limit), nil
}

// pager hands out the pages of an iterator of the inner engine.
type pager struct {
	engine *Engine
	inner  *engine.Iterator
}

func (p *pager) Page(dst []byte, maxEntries, maxBytes int) ([]byte, int, error) {
	grown := dst
	err := p.engine.do(Reads, func() error {
		grown = p.inner.Page(dst, maxEntries, maxBytes)
		return p.inner.Err()
	})
	if err != nil || len(grown) == len(dst) {
		return dst, 0, err
	}
	return grown, p.inner.PageEntries(), nil
}

// Close gives the inner iterator back even after a crash.
func (p *pager) Close() error { return p.inner.Close() }
