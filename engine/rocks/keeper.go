//go:build cgo

package rocks

import (
	"errors"
	"time"
)

// errBackground is the fault of an engine whose storage failed outside of any
// call.
var errBackground = errors.New("a flush or a compaction failed; RocksDB's LOG says why")

// pollEvery is how often RocksDB is asked whether its work in the background has
// failed.
const pollEvery = time.Second

// keeper is the goroutine beside a store that is open for writing: it syncs what
// is not synced yet, moves the watermark, looks for faults, and keeps room for
// RocksDB's LOG.
type keeper struct {
	engine *Engine
	store  *store
	mark   *watermark
	info   *infoLog
	quit   chan struct{}
	done   chan struct{}
}

// keep starts a keeper of st, which owns mark until it is stopped.
func (e *Engine) keep(st *store, mark *watermark) *keeper {
	k := &keeper{engine: e, store: st, mark: mark, info: newInfoLog(st.home.path), quit: make(chan struct{}), done: make(chan struct{})}
	k.info.reserve()
	go k.run()
	return k
}

// stop ends the keeper, waits for it, and returns its watermark.
func (k *keeper) stop() *watermark {
	close(k.quit)
	<-k.done
	return k.mark
}

func (k *keeper) run() {
	defer close(k.done)
	raise := time.NewTicker(k.engine.o.WatermarkEvery)
	defer raise.Stop()
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for {
		select {
		case <-k.quit:
			return
		case <-raise.C:
			k.raise()
		case <-poll.C:
			k.poll()
		}
	}
}

// raise moves the watermark to what is on disk, after syncing what is not.
func (k *keeper) raise() {
	e := k.engine
	e.checkHome()
	if e.fault.Load() != nil {
		return
	}
	seq, err := k.sync()
	if err != nil {
		e.fail(err)
		return
	}
	if err := errors.Join(k.mark.takeMissed(), raiseTo(k.mark, k.store.home.path, seq)); err != nil { // RocksDB may be about to begin a new manifest
		e.log.Warn("watermark not written; it is tried again", "error", k.store.home.renamed().say(err))
	}
}

// sync returns a sequence up to which everything is on disk.
func (k *keeper) sync() (uint64, error) {
	k.engine.mu.RLock()
	defer k.engine.mu.RUnlock()
	seq := k.store.written.Load() // before the sync, which covers no later one
	if seq > k.store.synced.Load() {
		if err := k.store.syncLog(); err != nil {
			return 0, err
		}
	}
	return max(seq, k.store.synced.Load()), nil
}

// poll makes the engine read-only if RocksDB's work in the background failed.
func (k *keeper) poll() {
	k.engine.mu.RLock()
	defer k.engine.mu.RUnlock()
	k.engine.checkHome()
	k.engine.checkBackground(k.store)
	if f := k.engine.fault.Load(); f == nil || !errors.Is(f.err, ErrMoved) {
		k.info.reserve()
	}
}

// checkHome makes the engine read-only if its directory was moved.
func (e *Engine) checkHome() {
	if err := e.home.check(); err != nil && e.fault.Load() == nil {
		e.fail(err)
	}
}

// checkBackground returns the fault that work in the background has left. The
// caller holds mu.
func (e *Engine) checkBackground(st *store) error {
	if f := e.fault.Load(); f != nil {
		return f.err
	}
	if st.number("rocksdb.background-errors", 0) > 0 {
		return e.fail(errBackground)
	}
	return nil
}
