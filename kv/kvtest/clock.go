// Package kvtest has what tests of package kv, and of the systems on top of it,
// share: a clock that they move, what processes did until they were killed and whether
// that is linearizable, and the rows of a README with their tests. It imports nothing of kv.
package kvtest

import (
	"sync"
	"time"
)

// Clock is a clock in the hands of a test. Any number of goroutines may use it
// at once.
type Clock struct {
	mu      sync.Mutex
	day     time.Time
	elapsed time.Duration
	timers  map[*timer]bool
	slept   chan struct{} // of capacity 1: somebody has gone to sleep
}

type timer struct {
	at    time.Duration
	fired chan time.Time
}

// New returns a clock that stands at noon of some day.
func New() *Clock {
	return &Clock{day: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), timers: map[*timer]bool{}, slept: make(chan struct{}, 1)}
}

// Now returns the time of day, which Set changes.
func (c *Clock) Now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.day }

// Elapsed returns how much time has passed since New.
func (c *Clock) Elapsed() time.Duration { c.mu.Lock(); defer c.mu.Unlock(); return c.elapsed }

// Timer sends once when Elapsed is at, at once if it is or was; stop ends it.
func (c *Clock) Timer(at time.Duration) (<-chan time.Time, func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{at, make(chan time.Time, 1)}
	if at <= c.elapsed {
		t.fired <- c.day
	} else {
		c.timers[t] = true
		select {
		case c.slept <- struct{}{}:
		default:
		}
	}
	return t.fired, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		was := c.timers[t]
		delete(c.timers, t)
		return was
	}
}

// Pass lets time pass.
func (c *Clock) Pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pass(d)
}

// pass is Pass. The caller holds mu.
func (c *Clock) pass(d time.Duration) {
	c.day, c.elapsed = c.day.Add(d), c.elapsed+d
	for t := range c.timers {
		if t.at <= c.elapsed {
			t.fired <- c.day
			delete(c.timers, t)
		}
	}
}

// patience is how long Until waits, in time that really passes, for whoever is
// awake to go to sleep or to be done.
const patience = time.Minute

// Until lets time pass from the moment at which one sleeper wakes to that of the
// next until done, and returns false if that is never so. Who was woken is given
// the time to do what it does: time stands still until somebody sleeps.
func (c *Clock) Until(done func() bool) bool {
	for begun := time.Now(); !done(); {
		select {
		case <-c.slept: // all that it woke for is done
			begun = time.Now()
			if done() {
				return true
			}
		case <-time.After(time.Millisecond): // what is awake may be done without sleeping again
			if time.Since(begun) > patience {
				return false
			}
		}
		c.wakeNext()
	}
	return true
}

// wakeNext lets time pass until somebody wakes, if somebody sleeps.
func (c *Clock) wakeNext() {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := time.Duration(-1)
	for t := range c.timers {
		if next < 0 || t.at < next {
			next = t.at
		}
	}
	if next >= 0 {
		c.pass(next - c.elapsed)
	}
}

// Set sets the time of day, as an operator does.
func (c *Clock) Set(d time.Duration) { c.mu.Lock(); defer c.mu.Unlock(); c.day = c.day.Add(d) }

// Oversleep lets time pass without waking anybody, as a machine does that is busy.
func (c *Clock) Oversleep(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.day, c.elapsed = c.day.Add(d), c.elapsed+d
}

// Awaited returns true once somebody sleeps until Elapsed is at, whom Oversleep then does not
// wake, and false if that is never so.
func (c *Clock) Awaited(at time.Duration) bool {
	for begun := time.Now(); time.Since(begun) < patience; time.Sleep(time.Millisecond) {
		if c.sleeps(at) {
			return true
		}
	}
	return false
}

func (c *Clock) sleeps(at time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for t := range c.timers {
		if t.at == at {
			return true
		}
	}
	return false
}
