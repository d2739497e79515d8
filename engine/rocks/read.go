//go:build cgo

package rocks

import (
	"fmt"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// Get appends the value of a key to dst; see [engine.Getter].
func (e *Engine) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if err := e.ready(col); err != nil {
		return dst, err
	}
	return e.st.get(nil, dst, col, key)
}

// MultiGet looks up keys in one state; see [engine.Reader].
func (e *Engine) MultiGet(buf []byte, lookups []engine.Lookup) ([]byte, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.st == nil {
		return buf, e.down
	}
	s := e.st.openState()
	defer e.st.h.closeView(&s.view)
	return e.multiGet(&s, buf, lookups)
}

// ready returns an error unless col can be read. The caller holds mu.
func (e *Engine) ready(col column.Column) error {
	if e.st == nil {
		return e.down
	}
	if err := engine.CheckColumn(col); err != nil {
		return err
	}
	if !e.st.h.has(col) {
		return fmt.Errorf("%w: %s has no column family %q", engine.ErrSchema, e.dir, col)
	}
	return nil
}

func (e *Engine) multiGet(s *state, buf []byte, lookups []engine.Lookup) ([]byte, error) {
	for i := range lookups {
		if err := e.ready(lookups[i].Column); err != nil {
			return buf, err
		}
	}
	p := e.scratch.Get().(*packed)
	defer func() {
		if cap(p.keys)+40*cap(p.sizes) <= keepPacked {
			e.scratch.Put(p)
		}
	}()
	return e.st.multiGet(s, p, buf, lookups)
}
