//go:build cgo

package rocks

import (
	"fmt"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// Get is engine.Getter's.
func (e *Engine) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if err := e.ready(col); err != nil {
		return dst, err
	}
	return e.st.h.get(nil, dst, col, key)
}

// MultiGet is engine.Reader's.
func (e *Engine) MultiGet(buf []byte, lookups []engine.Lookup) ([]byte, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.st == nil {
		return buf, e.down
	}
	v := e.st.h.openView()
	defer e.st.h.closeView(&v)
	return e.multiGet(&v, buf, lookups)
}

// ready returns an error unless col can be read. The caller holds mu.
func (e *Engine) ready(col column.Column) error {
	if e.st == nil {
		return e.down
	}
	if !col.Valid() {
		return fmt.Errorf("%w: no column %d", engine.ErrBatch, uint8(col))
	}
	if !e.st.h.has(col) {
		return fmt.Errorf("%w: %s has no column family %q", engine.ErrSchema, e.dir, col)
	}
	return nil
}

// packed is the memory that a MultiGet passes its keys and lengths in.
type packed struct {
	keys []byte
	lens []int64
}

// keepPacked is how much of it is kept for the next.
const keepPacked = mib

func (e *Engine) multiGet(v *view, buf []byte, lookups []engine.Lookup) ([]byte, error) {
	p := e.scratch.Get().(*packed)
	defer func() {
		if cap(p.keys)+8*cap(p.lens) <= keepPacked {
			e.scratch.Put(p)
		}
	}()
	p.keys, p.lens = p.keys[:0], p.lens[:0]
	for i := range lookups {
		l := &lookups[i]
		if err := e.ready(l.Column); err != nil {
			return buf, err
		}
		p.keys = packKey(p.keys, l.Column, l.Key)
		p.lens = append(p.lens, -1)
	}
	at := len(buf)
	grown, err := e.st.h.multiGet(v, buf, p.keys, p.lens)
	if err != nil {
		return buf, err
	}
	for i, n := range p.lens {
		l := &lookups[i]
		l.Value, l.Found = nil, n >= 0
		if l.Found {
			l.Value = grown[at : at+int(n) : at+int(n)]
			at += int(n)
		}
	}
	return grown, nil
}
