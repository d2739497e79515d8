//go:build cgo

package rocks

import (
	"errors"

	"github.com/stoadb/stoa/engine"
)

// SealRow returns the row stoa.seal, which says how the secrets of the store are
// sealed; nil if they are not. It belongs to the caller.
func (e *Engine) SealRow() ([]byte, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.st == nil {
		return nil, e.down
	}
	row, err := e.st.h.get(nil, nil, 0, []byte(sealKey))
	if errors.Is(err, engine.ErrNotFound) {
		return nil, nil
	}
	return row, err
}

// SetSealRow replaces the row stoa.seal, and returns when it is in a table on
// disk. Other writes wait meanwhile. It returns the errors of Apply.
func (e *Engine) SetSealRow(row []byte) error {
	var b engine.Batch
	b.Put(0, []byte(sealKey), row)
	return e.commit.Update(func(engine.Getter, *engine.Batch) error {
		if err := (*sink)(e).Write(b.Bytes(), true); err != nil {
			return err
		}
		e.mu.RLock()
		defer e.mu.RUnlock()
		if e.st == nil {
			return e.down
		}
		if err := e.st.flush(0); err != nil {
			return e.fail(err)
		}
		return nil
	})
}
