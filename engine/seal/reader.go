package seal

import (
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// Reader returns r with its secrets opened. It returns ErrWrongKey, or
// engine.ErrCorrupt for a row stoa.seal that is none.
func Reader(r engine.Reader, row []byte, k Key) (engine.Reader, error) {
	ring, err := unwrap(row, k)
	if err != nil {
		return nil, err
	}
	return reader{r, ring}, nil
}

// reader opens what it reads.
type reader struct {
	engine.Reader
	ring *ring
}

// Get appends the value of a key to dst; see [engine.Getter].
func (r reader) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	return get(r.Reader, r.ring, dst, col, key)
}

func get(g engine.Getter, ring *ring, dst []byte, col column.Column, key []byte) ([]byte, error) {
	if !keys.Sealed(col, key) {
		return g.Get(dst, col, key)
	}
	n := len(dst)
	got, err := g.Get(dst, col, key)
	if err != nil {
		return got, err
	}
	value, err := ring.open(col, key, got[n:])
	if err != nil {
		clear(got[n:])
		return got[:n], err
	}
	return append(got[:n], value...), nil // which stands further on in got
}

// MultiGet looks up keys in one state; see [engine.Reader].
func (r reader) MultiGet(buf []byte, lookups []engine.Lookup) ([]byte, error) {
	got, err := r.Reader.MultiGet(buf, lookups)
	if err != nil {
		return got, err
	}
	for i := range lookups {
		l := &lookups[i]
		if !l.Found || !keys.Sealed(l.Column, l.Key) {
			continue
		}
		if l.Value, err = r.ring.open(l.Column, l.Key, l.Value); err != nil {
			return got, err
		}
	}
	return got, nil
}

// Iterate returns an iterator over a range of a column; see [engine.Reader].
func (r reader) Iterate(col column.Column, rg engine.Range) (*engine.Iterator, error) {
	it, err := r.Reader.Iterate(col, rg)
	if err != nil || !hasSecrets(col, rg) {
		return it, err
	}
	return engine.NewIterator(&pager{it: it, ring: r.ring, col: col}, 0), nil
}

// pager opens the secrets of pages. It is not safe for concurrent use.
type pager struct {
	it   *engine.Iterator
	ring *ring
	col  column.Column
	page []byte
	err  error
}

// Page appends the next entries to dst; see [engine.Pager]. A row that does not open
// ends it, after those before.
func (p *pager) Page(dst []byte, maxEntries, maxBytes int) ([]byte, int, error) {
	if p.err != nil {
		return dst, 0, p.err
	}
	p.page = p.it.Page(p.page[:0], maxEntries, maxBytes)
	n := 0
	for rest := p.page; len(rest) > 0; n++ {
		key, value, after, ok := engine.CutEntry(rest)
		if !ok {
			p.err = engine.ErrCorrupt
			break
		}
		if keys.Sealed(p.col, key) {
			if value, p.err = p.ring.open(p.col, key, value); p.err != nil {
				break
			}
		}
		dst = engine.AppendEntry(dst, key, value)
		rest = after
	}
	if n == 0 && p.err == nil {
		p.err = p.it.Err()
	}
	if n == 0 {
		return dst, 0, p.err
	}
	return dst, n, nil
}

// Close gives back what the pager holds; see [engine.Pager].
func (p *pager) Close() error {
	clear(p.page)
	return p.it.Close()
}
