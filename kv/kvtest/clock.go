// Package kvtest has what tests of package kv, and of the systems on top of it,
// share: a clock that they move. It imports nothing of kv.
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
}

type timer struct {
	at    time.Duration
	fired chan time.Time
}

// New returns a clock that stands at noon of some day.
func New() *Clock {
	return &Clock{day: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), timers: map[*timer]bool{}}
}

// Now is kv.Clock's.
func (c *Clock) Now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.day }

// Elapsed is kv.Clock's.
func (c *Clock) Elapsed() time.Duration { c.mu.Lock(); defer c.mu.Unlock(); return c.elapsed }

// Timer is kv.Clock's.
func (c *Clock) Timer(at time.Duration) (<-chan time.Time, func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{at, make(chan time.Time, 1)}
	if at <= c.elapsed {
		t.fired <- c.day
	} else {
		c.timers[t] = true
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
	c.day, c.elapsed = c.day.Add(d), c.elapsed+d
	for t := range c.timers {
		if t.at <= c.elapsed {
			t.fired <- c.day
			delete(c.timers, t)
		}
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
