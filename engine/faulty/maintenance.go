package faulty

import (
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// Health says whether writes are taken; see [engine.Maintenance]. It is not counted.
func (e *Engine) Health() engine.Health {
	if e.crashed.Load() {
		return engine.Health{Reason: "crashed; Restart"}
	}
	return e.inner.Health()
}

// Reopen opens the storage again after a fault; see [engine.Maintenance]. It is not
// counted.
func (e *Engine) Reopen() error { return e.alive(e.inner.Reopen) }

// Flush writes what is in memory to tables; see [engine.Maintenance]. It is not counted.
func (e *Engine) Flush() error { return e.alive(e.inner.Flush) }

// Compact rewrites the keys of a range; see [engine.Maintenance]. It is not counted.
func (e *Engine) Compact(col column.Column, r engine.Range) error {
	return e.alive(func() error { return e.inner.Compact(col, r) })
}

// Checkpoint copies the store into a directory; see [engine.Maintenance]. It is not
// counted.
func (e *Engine) Checkpoint(dir string) error {
	return e.alive(func() error { return e.inner.Checkpoint(dir) })
}

// ApproximateSize returns about how many bytes a range takes on disk; see
// [engine.Maintenance]. It is not counted.
func (e *Engine) ApproximateSize(col column.Column, r engine.Range) (n uint64, err error) {
	err = e.alive(func() (err error) {
		n, err = e.inner.ApproximateSize(col, r)
		return err
	})
	return n, err
}

// Stats returns counts and sizes; see [engine.Maintenance]. It is not counted.
func (e *Engine) Stats() (s engine.Stats, err error) {
	err = e.alive(func() (err error) {
		s, err = e.inner.Stats()
		return err
	})
	return s, err
}

// Close closes the inner engine. After a crash it does not: the inner engine is
// what the next process opens.
func (e *Engine) Close() error { return e.alive(e.inner.Close) }
