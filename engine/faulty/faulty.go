// Package faulty is an engine that fails, or ends as a killed process does, at a
// call that a test chooses.
//
// Start at New. A test that nothing is left half done whatever call the process
// dies at runs what it tests once for each:
//
//	for n := 1; ; n++ {
//		inner := mem.New()
//		f := faulty.New(inner, faulty.Options{At: n, Fault: faulty.CrashAfter})
//		err := operation(f)
//		if !f.Tripped() {
//			break // the operation makes less than n calls
//		}
//		check(f.Restart()) // what a process that starts now finds
//		inner.Close()
//	}
//
// Calls are counted in the order in which they begin, so that a test whose
// calls come from one goroutine fails at the same one each time.
package faulty

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/stoadb/stoa/engine"
)

var (
	// ErrCrashed is returned by every call from a crash on, by snapshots and
	// iterators too.
	ErrCrashed = errors.New("faulty: crashed")
	// ErrInjected is what a call fails with if Options.Err is nil.
	ErrInjected = errors.New("faulty: injected failure")
)

// Calls is which calls are counted.
type Calls uint8

const (
	// Writes are calls of Apply and Update.
	Writes Calls = iota
	// Reads are calls of Get, MultiGet, Iterate and Snapshot, of the engine and of
	// its snapshots, those of Get in an update, and each page of an iterator.
	Reads
)

// Fault is what happens at the chosen call.
type Fault uint8

const (
	// Fail makes the call return an error and have no effect; later ones work.
	Fail Fault = iota
	// CrashBefore is the end of the process before the call has its effect.
	CrashBefore
	// CrashAfter is the end of the process once the call has had its effect, but
	// before the caller learns of it.
	CrashAfter
)

// Options are which call goes wrong, and how. The zero Options are no fault.
type Options struct {
	At    int   // the number of the call, from 1; 0: none
	Calls Calls // what is counted
	Fault Fault
	Err   error // what Fail returns; nil: ErrInjected
}

// Engine is an engine.Engine with a fault. Any number of goroutines may use it
// at once.
type Engine struct {
	inner   engine.Engine
	options Options

	mu      sync.Mutex // guards what follows
	counts  [2]int     // by Calls
	tripped bool

	crashed atomic.Bool
}

var (
	_ engine.Engine   = (*Engine)(nil)
	_ engine.Snapshot = (*snapshot)(nil)
)

// New returns an engine that passes every call on to inner but the one that o
// names. Closing it closes inner. It panics if o names no fault that there is.
func New(inner engine.Engine, o Options) *Engine {
	if o.At < 0 || o.Calls > Reads || o.Fault > CrashAfter {
		panic(fmt.Sprintf("faulty: no such fault: %+v", o))
	}
	if o.Err == nil {
		o.Err = ErrInjected
	}
	return &Engine{inner: inner, options: o}
}

// Count returns how many calls of a kind have begun, the failed one included.
func (e *Engine) Count(c Calls) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.counts[c]
}

// Tripped reports whether the chosen call has come.
func (e *Engine) Tripped() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.tripped
}

// Restart returns what the next process sees: an engine without a fault on the
// same inner engine. For e it is a crash, if it has not had one: whoever still
// holds it gets ErrCrashed.
func (e *Engine) Restart() *Engine {
	e.crashed.Store(true)
	return New(e.inner, Options{})
}

// effect is what becomes of a call.
type effect uint8

const (
	pass   effect = iota // it is passed on
	fail                 // it is not, and returns Options.Err
	before               // it is not, and the process ends
	after                // it is passed on, and then the process ends
	gone                 // the process has ended
)

// begin counts a call and decides on it.
func (e *Engine) begin(c Calls) effect {
	if e.crashed.Load() {
		return gone
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.counts[c]++
	if c != e.options.Calls || e.counts[c] != e.options.At {
		return pass
	}
	e.tripped = true
	return fail + effect(e.options.Fault)
}

// fault returns the error of a call that is not passed on.
func (e *Engine) fault(what effect) error {
	switch what {
	case fail:
		return e.options.Err
	case before, gone:
		return ErrCrashed
	}
	return nil
}

// end returns what the caller of a call learns that returned err: nothing if the
// process has ended meanwhile.
func (e *Engine) end(what effect, err error) error {
	if what == before || what == after {
		e.crashed.Store(true)
	}
	if e.crashed.Load() {
		return ErrCrashed
	}
	return err
}

// do makes a call, or what becomes of it.
func (e *Engine) do(c Calls, call func() error) error {
	what := e.begin(c)
	err := e.fault(what)
	if err == nil {
		err = call()
	}
	return e.end(what, err)
}

// alive makes a call that is not counted.
func (e *Engine) alive(call func() error) error {
	if e.crashed.Load() {
		return ErrCrashed
	}
	return e.end(pass, call())
}
