package faulty

import (
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// maintenance counts as none of Writes and Reads.
const maintenance = All

// Health is engine.Maintenance's. It is not counted.
func (e *Engine) Health() engine.Health {
	if e.Crashed() {
		return engine.Health{Reason: ErrCrashed.Error()}
	}
	return e.inner.Health()
}

// Reopen is engine.Maintenance's. It is no Restart.
func (e *Engine) Reopen() error { return e.do(maintenance, e.inner.Reopen) }

// Stats is engine.Maintenance's.
func (e *Engine) Stats() (s engine.Stats, err error) {
	err = e.do(maintenance, func() error {
		s, err = e.inner.Stats()
		return err
	})
	if err != nil {
		return engine.Stats{}, err
	}
	return s, nil
}

// ApproximateSize is engine.Maintenance's.
func (e *Engine) ApproximateSize(col column.Column, r engine.Range) (n uint64, err error) {
	err = e.do(maintenance, func() error {
		n, err = e.inner.ApproximateSize(col, r)
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// Flush is engine.Maintenance's.
func (e *Engine) Flush() error { return e.do(maintenance, e.inner.Flush) }

// Compact is engine.Maintenance's.
func (e *Engine) Compact(col column.Column, r engine.Range) error {
	return e.do(maintenance, func() error { return e.inner.Compact(col, r) })
}

// Checkpoint is engine.Maintenance's.
func (e *Engine) Checkpoint(dir string) error {
	return e.do(maintenance, func() error { return e.inner.Checkpoint(dir) })
}
