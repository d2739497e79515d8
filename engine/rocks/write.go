//go:build cgo

package rocks

import (
	"errors"
	"fmt"
	"time"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// Apply makes all changes of a batch, or none; see [engine.Writer].
func (e *Engine) Apply(b *engine.Batch) error { return e.commit.Apply(b) }

// Update lets fn read and write with no other write in between; see [engine.Engine].
func (e *Engine) Update(fn func(engine.Getter, *engine.Batch) error) error {
	return e.commit.Update(fn)
}

// slowWrite is from when on a write is slow.
const slowWrite = 100 * time.Millisecond

// sink is the side of the engine that its committer writes to.
type sink Engine

func (s *sink) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	return (*Engine)(s).Get(dst, col, key)
}

func (s *sink) MultiGet(buf []byte, lookups []engine.Lookup) ([]byte, error) {
	return (*Engine)(s).MultiGet(buf, lookups)
}

func (s *sink) Iterate(col column.Column, r engine.Range) (*engine.Iterator, error) {
	return (*Engine)(s).Iterate(col, r)
}

// Write makes the changes of batches that the committer has checked. Only one
// goroutine is in it at a time.
func (s *sink) Write(ops []byte, sync bool) error {
	e := (*Engine)(s)
	e.mu.RLock()
	defer e.mu.RUnlock()
	if f := e.fault.Load(); f != nil {
		return f.err
	}
	if e.st == nil {
		return e.down
	}
	if err := e.space.admit(ops); err != nil {
		return err
	}
	begun := e.o.Now()
	err := e.st.write(ops, sync)
	if took := e.o.Now().Sub(begun); took >= slowWrite {
		e.slow.Store(&engine.SlowWrite{Ended: begun.Add(took), Took: took, Stalled: e.st.stalls()})
	}
	if err == nil && sync {
		e.keeper.mark.note(e.st.synced.Load())
	}
	if err == nil || errors.Is(err, errRefused) {
		return err
	}
	return e.fail(err)
}

// fail makes the engine read-only: after an error of its storage RocksDB takes no
// more writes until it is opened anew, and on a disk that keeps failing it must
// not be asked to. It returns the error that writes get from now on; the first
// fault stays.
func (e *Engine) fail(err error) error {
	remedy := "; repair what it names, then reopen"
	if errors.Is(err, ErrMoved) {
		remedy = "" // it has its own
	}
	f := &fault{fmt.Errorf("%w since %s: %w%s", engine.ErrReadOnly, e.o.Now().UTC().Format("2006-01-02 15:04:05"), err, remedy)}
	if !e.fault.CompareAndSwap(nil, f) {
		return e.fault.Load().err
	}
	e.log.Error("store is read-only", "error", err)
	return f.err
}
