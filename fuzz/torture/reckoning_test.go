package torture

import (
	"sync"
	"time"
)

// reckoning knows between which times the one must be by which a daemon has values
// expire. That time is the time of day as long as that does not go back; it goes on
// at the rate of what elapses where it does. Which steps of the time of day the
// daemon has seen depends on when it looked, so that there is a first and a last time
// that it can be. All times are since 1970.
type reckoning struct {
	clock *simClock

	mu          sync.Mutex
	up          bool          // a daemon serves, or begins to
	opening     bool          // it begins to: its time does not go on yet
	first, last time.Duration // of the daemon's time at
	at          time.Duration // what had elapsed then
	outlives    time.Duration // the latest time at which a sweep has removed something
	highest     time.Duration // of all times of day
	steps       int
}

// moment is a reading of the clock before a call.
type moment struct {
	elapsed, day time.Duration
	first        time.Duration // of the daemon's time, if it sees the time of day
	unseen       time.Duration // the same, if it does not
	steps        int
}

// times are what a call may have read: the daemon's time, and the time of day.
type times struct {
	first, last    time.Duration // of the daemon's time
	day, end       time.Duration // of the time of day, before the call and after it
	steady         bool          // the time of day was not stepped meanwhile
	elapsed, since time.Duration // before it, and what has elapsed meanwhile
}

// goOn is called, with mu held, before anything of the clock is changed, and to read.
func (r *reckoning) goOn(elapsed, day time.Duration) {
	if r.up && !r.opening {
		r.first += elapsed - r.at
	}
	if r.up {
		r.last = max(r.last+elapsed-r.at, day)
	}
	r.at = elapsed
	r.highest = max(r.highest, day)
}

// step changes the time of day.
func (r *reckoning) step(by time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock.change(func(elapsed, day time.Duration, w *[5]uint64) {
		r.goOn(elapsed, day)
		w[wordOffset] += uint64(by)
		r.highest = max(r.highest, day+by)
		if r.up {
			r.last = max(r.last, day+by)
		}
		r.steps++
	})
}

// pass lets time elapse at once, while no daemon serves.
func (r *reckoning) pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock.change(func(elapsed, day time.Duration, w *[5]uint64) {
		r.goOn(elapsed, day)
		w[wordElapsed] += uint64(d)
		r.at += d
	})
}

// swept says that a sweep has removed what was due at a time.
func (r *reckoning) swept(at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outlives = max(r.outlives, at)
}

// begins says that a daemon starts, on what the last one has left: its time is not
// before the time of day or that at which something was swept, and not after what the
// last one's was, or the time of day.
func (r *reckoning) begins() {
	r.mu.Lock()
	defer r.mu.Unlock()
	elapsed, day, _ := r.clock.read()
	r.goOn(elapsed, day)
	r.up, r.opening, r.first, r.last = true, true, r.outlives, max(r.last, day)
}

// serves says that the daemon has begun.
func (r *reckoning) serves() {
	r.mu.Lock()
	defer r.mu.Unlock()
	elapsed, day, _ := r.clock.read()
	r.goOn(elapsed, day)
	r.opening = false
}

// ended says that the daemon has ended.
func (r *reckoning) ended() {
	r.mu.Lock()
	defer r.mu.Unlock()
	elapsed, day, _ := r.clock.read()
	r.goOn(elapsed, day)
	r.up = false
}

// before is called before a call.
func (r *reckoning) before() moment {
	r.mu.Lock()
	defer r.mu.Unlock()
	elapsed, day, _ := r.clock.read()
	r.goOn(elapsed, day)
	return moment{elapsed: elapsed, day: day, first: max(r.first, day), unseen: r.first, steps: r.steps}
}

// after is called after a call, and returns between which times it was.
func (r *reckoning) after(m moment) times {
	r.mu.Lock()
	defer r.mu.Unlock()
	elapsed, day, _ := r.clock.read()
	r.goOn(elapsed, day)
	t := times{first: m.first, last: max(r.last, day), day: m.day, end: day, steady: r.steps == m.steps, elapsed: m.elapsed, since: elapsed - m.elapsed}
	if !t.steady {
		t.first = m.unseen
	}
	return t
}

// was says that the daemon's time was one during a call, to the ms: it is not before
// that from now on, and, if the clock was not stepped, hardly after it.
func (r *reckoning) was(at time.Duration, m moment) {
	r.mu.Lock()
	defer r.mu.Unlock()
	elapsed, day, _ := r.clock.read()
	r.goOn(elapsed, day)
	r.first = max(r.first, at)
	if r.steps == m.steps {
		r.last = min(r.last, max(at+time.Millisecond+elapsed-m.elapsed, day))
	}
}

// latest is the latest time of day that there was.
func (r *reckoning) latest() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, day, _ := r.clock.read()
	return max(r.highest, day)
}
