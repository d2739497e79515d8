package rocks

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/stoadb/stoa/engine"
)

// errStuck marks an opening that was given up.
var errStuck = errors.New("RocksDB does not come back")

// stuckAfter is how much processor time a thread that opens a database may take
// without reading or writing a byte. RocksDB reads logs and manifests in blocks of
// 32 KiB and does a block in milliseconds; it is no time of day, so that neither a
// slow disk nor a busy machine is taken for one that does not end.
const stuckAfter = time.Minute

// lookEvery is how often that is looked at.
const lookEvery = time.Second

// watched returns what f does, which calls RocksDB on a directory that may hold
// anything. Where f takes limit of processor time on end without any reading or
// writing, watched returns an ErrCorrupt and leaves f and its thread behind: a call
// of C can't be broken off. The process should end then. What f returns after all is
// given to drop.
func watched[T any](dir string, limit, every time.Duration, f func() (T, error), drop func(T)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	thread := make(chan meter, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		thread <- meterOfThisThread()
		value, err := f()
		done <- result{value, err}
	}()
	m := <-thread
	tick := time.NewTicker(every)
	defer tick.Stop()
	var since time.Duration // the processor time when a byte was moved last
	var moved uint64
	for {
		select {
		case r := <-done:
			return r.value, r.err
		case <-tick.C:
		}
		used, bytes, ok := m.read()
		switch {
		case !ok: // there is no way to tell
		case bytes != moved:
			since, moved = used, bytes
		case used-since >= limit:
			go func() {
				if r := <-done; r.err == nil {
					drop(r.value)
				}
			}()
			var none T
			return none, fmt.Errorf("%w: open %s: %w: it has computed for %v without reading or writing anything, over files that are damaged in a way that it does not expect; end this process, and %s",
				engine.ErrCorrupt, dir, errStuck, limit, salvageHint(dir))
		}
	}
}
