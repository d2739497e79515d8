package kv

import (
	"encoding/binary"
	"math"
	"sync"
	"time"
)

// Clock tells the time and wakes. Any number of goroutines may use it at once.
type Clock interface {
	// Now is the time of day. It may jump, both ways.
	Now() time.Time
	// Elapsed is the time since some moment. It never goes back, and does not jump
	// with Now.
	Elapsed() time.Duration
	// Timer sends once on fired when Elapsed is at, at once if it is or was. stop
	// ends it, and may be called at any time.
	Timer(at time.Duration) (fired <-chan time.Time, stop func() bool)
}

// SystemClock returns the clock of the machine.
func SystemClock() Clock { return &systemClock{start: time.Now()} }

type systemClock struct{ start time.Time }

func (c *systemClock) Now() time.Time         { return time.Now() }
func (c *systemClock) Elapsed() time.Duration { return time.Since(c.start) }
func (c *systemClock) Timer(at time.Duration) (<-chan time.Time, func() bool) {
	t := time.NewTimer(at - c.Elapsed())
	return t.C, t.Stop
}

// timeline is the time that expiry goes by, in ms since 1970. It never goes
// back: where the time of day does, it goes on from where it was at the rate of
// Elapsed, so that what has expired stays so and what is to expire is not late.
type timeline struct {
	clock Clock

	mu      sync.Mutex
	at      time.Duration // since 1970
	elapsed time.Duration // when at was found
}

// begin sets the time that no later one is before, in ms.
func (t *timeline) begin(ms uint64) {
	t.at = time.Duration(min(max(ms, 1), maxTime)) * time.Millisecond
	t.elapsed = t.clock.Elapsed()
}

func (t *timeline) now() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	// The time of day is read first: time that passes between the two must not be
	// counted twice, which would let rows expire early.
	day := time.Duration(t.clock.Now().UnixNano())
	elapsed := t.clock.Elapsed()
	if elapsed > t.elapsed {
		t.at += elapsed - t.elapsed
		t.elapsed = elapsed
	}
	t.at = max(t.at, day)
	return uint64(t.at / time.Millisecond)
}

// after is the moment that is ttl after now, rounded up, so that nothing expires
// early.
func after(now uint64, ttl time.Duration) uint64 {
	return now + 1 + uint64((ttl+time.Millisecond-1)/time.Millisecond)
}

// momentOf is a time as rows have it, rounded up, within those that there are.
func momentOf(at time.Time) uint64 {
	return min(uint64(max(at.Add(time.Millisecond-1).UnixMilli(), 1)), maxTime)
}

// Moment is when a record expires that is put to expire at a time: a whole millisecond, not
// before it. The zero time stands for never.
func Moment(at time.Time) time.Time {
	if at.IsZero() {
		return at
	}
	return timeOf(momentOf(at))
}

// maxTime is the last moment that there is, in ms since 1970; the first is 1.
const maxTime = math.MaxInt64 / uint64(time.Millisecond)

// isTime tells whether the 8 bytes that b begins with are a moment.
func isTime(b []byte) bool {
	ms := binary.LittleEndian.Uint64(b)
	return ms > 0 && ms <= maxTime
}

// msOf is the opposite of timeOf.
func msOf(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(t.UnixMilli())
}

// timeOf is a moment as people read it. The zero time stands for none.
func timeOf(ms uint64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(min(ms, maxTime))).UTC()
}
