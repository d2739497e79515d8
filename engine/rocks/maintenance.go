//go:build cgo

package rocks

import (
	"errors"
	"fmt"

	"github.com/linxGnu/grocksdb"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// errReopening is what writes get while a store is being reopened.
var errReopening = fmt.Errorf("%w: being reopened; try again", engine.ErrReadOnly)

// Health says whether writes are taken; see [engine.Maintenance].
func (e *Engine) Health() engine.Health {
	if f := e.fault.Load(); f != nil {
		return engine.Health{Reason: f.err.Error()}
	}
	if err := e.why(); err != nil {
		return engine.Health{Reason: err.Error()}
	}
	return engine.Health{Writable: true}
}

// Reopen opens the storage again after a fault; see [engine.Maintenance]. The log may have
// a change whose write was refused: it is taken out, so that nobody who was told so, or who
// goes on with what was read before, meets it. If the storage cannot be opened for writing,
// or has lost what could be read, the engine stays read-only, and Reopen may be called again.
func (e *Engine) Reopen() error {
	e.life.Lock()
	defer e.life.Unlock()
	if err := e.why(); errors.Is(err, engine.ErrClosed) {
		return err
	}
	if e.o.ReadOnly || !e.faulty() {
		return nil
	}
	if err := e.moved(); err != nil {
		return err
	}
	e.commit.Stop(errReopening)
	defer e.commit.Resume()
	if e.keeper != nil {
		e.keeper.stop().close()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.o.until == 0 && e.st != nil { // else it was reopened to be read
		e.o.until = e.st.written.Load()
	}
	e.closeStore()
	err := e.start(false)
	if err == nil {
		e.o.until = 0
		return nil
	}
	e.fault.Store(&fault{fmt.Errorf("%w: reopen failed: %w", engine.ErrReadOnly, err)})
	e.log.Error("reopen failed", "error", err)
	if rerr := e.start(true); rerr != nil {
		e.down = fmt.Errorf("engine: %s is not open: reopen failed: %w", e.dir, err)
	}
	return err
}

// faulty reports whether there is a fault, one too that nobody has noticed yet.
func (e *Engine) faulty() bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.checkBackground(e.st) != nil
}

// moved returns ErrMoved if the path of the store does not lead to the directory that was
// opened: what is there is not to be opened in its stead.
func (e *Engine) moved() error {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.home == nil {
		return nil
	}
	if err := e.home.check(); err != nil {
		return fmt.Errorf("%w: %w", engine.ErrReadOnly, err)
	}
	return nil
}

// Flush writes what is in memory to tables; see [engine.Maintenance].
func (e *Engine) Flush() error {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if err := e.writable(); err != nil {
		return err
	}
	for c := range column.All {
		if err := e.st.flush(c); err != nil {
			return e.fail(err)
		}
	}
	return nil
}

// Compact rewrites the keys of a range; see [engine.Maintenance]. Close breaks it off.
func (e *Engine) Compact(col column.Column, r engine.Range) error {
	return e.compact(col, r, grocksdb.KIfHaveCompactionFilter)
}

// Rewrite is Compact for a whole column that leaves no table as it is: Compact takes
// those of the last level, which nothing lies over, for done, and does not read them.
// It fails at a damaged block, as engine.ErrCorrupt, after which the engine takes no
// writes; nothing of the column is lost then that could be read before.
func (e *Engine) Rewrite(col column.Column) error {
	err := e.compact(col, engine.Range{}, grocksdb.KForceOptimized)
	if !errors.Is(err, errBackground) {
		return err
	}
	// RocksDB keeps to itself what failed: reading the column tells.
	it, rerr := e.Iterate(col, engine.Range{})
	if rerr != nil {
		return errors.Join(err, rerr)
	}
	defer it.Close()
	for it.Next() {
	}
	if it.Err() != nil {
		return it.Err()
	}
	return err
}

// compact rewrites tables; last says of which kind those of the last level are that
// are rewritten too.
func (e *Engine) compact(col column.Column, r engine.Range, last grocksdb.BottommostLevelCompaction) error {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if err := e.ready(col); err != nil {
		return err
	}
	if err := e.writable(); err != nil {
		return err
	}
	if empty(r) {
		return nil
	}
	o := grocksdb.NewCompactRangeOptions()
	defer o.Destroy()
	o.SetBottommostLevelCompaction(last)
	e.st.db.CompactRangeCFOpt(e.st.families[col], grocksdb.Range{Start: r.Start, Limit: r.End}, o)
	return e.checkBackground(e.st)
}

// writable returns an error unless the store takes writes. The caller holds mu.
func (e *Engine) writable() error {
	if e.st == nil {
		return e.down
	}
	if e.keeper != nil {
		e.checkHome()
	}
	if f := e.fault.Load(); f != nil {
		return f.err
	}
	return nil
}

// flush writes what is in memory of a family to a table.
func (st *store) flush(c column.Column) error {
	opts := grocksdb.NewDefaultFlushOptions()
	defer opts.Destroy()
	if err := st.db.FlushCF(st.families[c], opts); err != nil {
		return st.h.files.classify("flush", err.Error())
	}
	return nil
}

// syncLog puts the write-ahead log on disk.
func (st *store) syncLog() error {
	seq := st.written.Load()
	if err := st.db.FlushWAL(true); err != nil {
		return st.h.files.classify("sync the log", err.Error())
	}
	for {
		synced := st.synced.Load()
		if seq <= synced || st.synced.CompareAndSwap(synced, seq) {
			return nil
		}
	}
}
