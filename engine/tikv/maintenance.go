package tikv

import (
	"encoding/binary"
	"fmt"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// Health says whether writes are taken; see [engine.Maintenance]. A cluster that can't be reached
// says so of each write, and takes the next as soon as it can.
func (e *Engine) Health() engine.Health {
	if err := e.use(); err != nil {
		return engine.Health{Reason: "closed"}
	}
	e.done()
	return engine.Health{Writable: true}
}

// Reopen opens the storage again after a fault; see [engine.Maintenance]. There is nothing to do:
// connections are made again by themselves.
func (e *Engine) Reopen() error { return e.alive() }

// Flush writes what is in memory to tables; see [engine.Maintenance]. TiKV does that by itself, and
// what is acknowledged is on its disks.
func (e *Engine) Flush() error { return e.alive() }

// Compact deletes the parts of values of the column that are not there any more; see
// [engine.Maintenance]. TiKV rewrites its tables by itself.
func (e *Engine) Compact(col column.Column, _ engine.Range) error {
	if err := engine.CheckColumn(col); err != nil {
		return err
	}
	return e.sweep(col)
}

// Checkpoint returns engine.ErrUnsupported.
func (e *Engine) Checkpoint(string) error {
	if err := e.alive(); err != nil {
		return err
	}
	return fmt.Errorf("%w: a checkpoint of a cluster: use tikv-br, or stoa export", engine.ErrUnsupported)
}

// ApproximateSize returns how many bytes a range takes; see [engine.Maintenance]. Of more than 10,000
// keys it is the size of the regions in which they lie, which others may share.
func (e *Engine) ApproximateSize(col column.Column, r engine.Range) (uint64, error) {
	if err := engine.CheckColumn(col); err != nil {
		return 0, err
	}
	_, size, err := e.measure(col, r)
	return size, err
}

// Stats returns counts and sizes; see [engine.Maintenance]. Those of columns are up to a minute old.
func (e *Engine) Stats() (engine.Stats, error) {
	sequence, err := e.sequence()
	if err != nil {
		return engine.Stats{}, err
	}
	columns, err := e.columns()
	if err != nil {
		return engine.Stats{}, err
	}
	return engine.Stats{Sequence: sequence, Snapshots: uint64(e.snapshots.Load()), Columns: columns}, nil
}

// sequence returns how many changes all engines of the store have made.
func (e *Engine) sequence() (n uint64, err error) {
	err = e.eachOwn(e.own(ownWriter), func(_, v []byte) error {
		if len(v) == 16 {
			n += binary.LittleEndian.Uint64(v)
		}
		return nil
	})
	return n, err
}

func (e *Engine) alive() error {
	if err := e.use(); err != nil {
		return err
	}
	e.done()
	return nil
}
