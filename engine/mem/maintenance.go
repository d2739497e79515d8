package mem

import (
	"fmt"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// Health says whether writes are taken; see [engine.Maintenance].
func (e *Engine) Health() engine.Health {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.closed {
		return engine.Health{Reason: "closed"}
	}
	return engine.Health{Writable: true}
}

// Reopen opens the storage again after a fault; see [engine.Maintenance]. Memory does
// not fail, so there is nothing to do.
func (e *Engine) Reopen() error { return e.alive() }

// Flush writes what is in memory to tables; see [engine.Maintenance]. There is nothing
// to flush to.
func (e *Engine) Flush() error { return e.alive() }

// Compact rewrites the keys of a range; see [engine.Maintenance]. There is nothing to
// rewrite.
func (e *Engine) Compact(col column.Column, _ engine.Range) error {
	if err := engine.CheckColumn(col); err != nil {
		return err
	}
	return e.alive()
}

// Checkpoint returns engine.ErrUnsupported.
func (e *Engine) Checkpoint(string) error {
	if err := e.alive(); err != nil {
		return err
	}
	return fmt.Errorf("%w: a checkpoint of an engine in memory", engine.ErrUnsupported)
}

// ApproximateSize returns about how many bytes a range takes on disk; see
// [engine.Maintenance]. It is exact here.
func (e *Engine) ApproximateSize(col column.Column, r engine.Range) (uint64, error) {
	if err := engine.CheckColumn(col); err != nil {
		return 0, err
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.closed {
		return 0, engine.ErrClosed
	}
	return e.view.size(col, r), nil
}

// Stats returns counts and sizes; see [engine.Maintenance]. Counts are exact here.
func (e *Engine) Stats() (engine.Stats, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.closed {
		return engine.Stats{}, engine.ErrClosed
	}
	s := engine.Stats{Sequence: e.sequence}
	for o := range e.open {
		if !o.scan {
			s.Snapshots++
		}
	}
	for c := range column.All {
		size := e.view.size(c, engine.Range{})
		s.Columns = append(s.Columns, engine.ColumnStats{Column: c, Keys: uint64(e.view[c].Len()), MemtableBytes: size})
		s.MemtableBytes += size
	}
	return s, nil
}

func (v *view) size(col column.Column, r engine.Range) (n uint64) {
	v.walk(col, r, nil, func(i item) bool {
		n += uint64(len(i.key) + len(i.value))
		return true
	})
	return n
}

func (e *Engine) alive() error {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.closed {
		return engine.ErrClosed
	}
	return nil
}
