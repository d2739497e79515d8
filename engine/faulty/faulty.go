// Package faulty wraps an engine and lets a test choose the call at which it
// fails, or at which the process dies, before or after the call has had its
// effect. It is how a test kills its subject at every point where it touches
// the store:
//
//	for n := uint64(1); ; n++ {
//		db := faulty.New(mem.New(), faulty.Options{At: n, Fault: faulty.CrashAfter})
//		operate(db)             // ends with ErrCrashed at some call
//		crashed := db.Crashed()
//		db.Restart()            // what the next process finds
//		check(db)               // all of the operation is there, or nothing
//		if !crashed {
//			break           // it has fewer than n calls
//		}
//	}
//
// What happens depends on nothing but the options and the order of the calls.
// Start at Options.
package faulty

import (
	"errors"
	"sync"

	"github.com/stoadb/stoa/engine"
)

var (
	// ErrFault is what a call returns that was to fail, unless Options say
	// otherwise.
	ErrFault = errors.New("faulty: the call was to fail")
	// ErrCrashed is returned by the call at which the engine crashed, by those
	// under way at that moment, by all later ones until Restart, and by the
	// snapshots and iterators from before for ever.
	ErrCrashed = errors.New("faulty: crashed")
)

// Calls says which calls are counted. The zero Calls is Writes.
type Calls uint8

const (
	// Writes are Apply and Update.
	Writes Calls = iota
	// Reads are Get, MultiGet, Iterate, Snapshot, each page that an iterator
	// fetches, the reads of a snapshot, and those of the Getter of an Update.
	Reads
	// All are Writes, Reads, and the calls of engine.Maintenance but Health.
	All
)

// Fault says what becomes of a call. The zero Fault is Fail.
type Fault uint8

const (
	// Fail makes the call return an error, without effect.
	Fail Fault = iota
	// CrashBefore crashes just before the call has its effect.
	CrashBefore
	// CrashAfter crashes just after the call has had its effect, so that nobody
	// is told of it.
	CrashAfter
)

// Options say which call is hit, and how. The zero Options hit none.
//
// An Update that is hit calls its function first, which may have effects
// outside the store, and is hit before or after its changes are made.
type Options struct {
	// At is the number of the call, among those that Calls says, counting from
	// 1. 0: none.
	At uint64
	// Times is how many calls from At on are hit. 0: one; negative: all. After a
	// crash there are none left.
	Times int
	// Calls are those that are counted.
	Calls Calls
	// Fault is what becomes of the call.
	Fault Fault
	// Err is what a call returns that fails. nil: ErrFault.
	Err error
}

// Counts are the calls since New or Arm, those included that were hit, but not
// those of a crashed engine.
type Counts struct {
	Reads, Writes, Maintenance uint64
}

// Engine is an engine.Engine whose calls reach another one, unless they are
// hit. Any number of goroutines may use it at once.
type Engine struct {
	inner engine.Engine

	mu      sync.Mutex // guards what follows
	o       Options
	counts  Counts
	crashed bool
	life    uint64 // restarts so far
}

var _ engine.Engine = (*Engine)(nil)

// New returns an engine that passes its calls on to inner, and hits those that
// o says. Closing it closes inner.
func New(inner engine.Engine, o Options) *Engine {
	return &Engine{inner: inner, o: o}
}

// Arm replaces the options and counts from zero again.
func (e *Engine) Arm(o Options) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.o, e.counts = o, Counts{}
}

// Counts returns how many calls there were.
func (e *Engine) Counts() Counts {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.counts
}

// Crashed reports whether the engine has crashed and was not restarted.
func (e *Engine) Crashed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.crashed
}

// Crash crashes now.
func (e *Engine) Crash() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.crashed = true
}

// Restart makes a crashed engine take calls again, as a new process would find
// it, and hits none until Arm. Snapshots and iterators from before stay
// crashed, whether or not the engine was. What the wrapped engine kept is
// there: to lose what was not synced, wrap one that is opened anew.
func (e *Engine) Restart() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.o, e.crashed = Options{}, false
	e.life++
}

// Close closes the wrapped engine. It is not counted. While crashed it does
// nothing and returns ErrCrashed, so that a test's subject that closes on its
// way out does not take the data along.
func (e *Engine) Close() error {
	if e.Crashed() {
		return ErrCrashed
	}
	return e.inner.Close()
}
