package torture

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// simClock is a clock that processes share: it runs a number of times faster than
// the machine's, and its time of day is stepped. It is what the file that it maps
// says; one process changes it, others read it. It is a kv.Clock.
type simClock struct {
	mu    sync.Mutex // of those who change it
	words *[5]uint64 // as the constants below have them
}

// What the words of a clock are.
const (
	wordChanges = iota // how often it has been changed, twice; odd while it is
	wordMachine        // a reading of the machine's clock, in ns
	wordElapsed        // what has elapsed on this one then, in ns
	wordRate           // how many times faster it has been since
	wordOffset         // the time of day less what has elapsed, in ns since 1970
)

// newSimClock makes a clock that begins with a time of day, and stands.
func newSimClock(path string, day time.Time) (*simClock, error) {
	if err := os.WriteFile(path, make([]byte, unsafe.Sizeof([5]uint64{})), 0o600); err != nil {
		return nil, err
	}
	c, err := openSimClock(path)
	if err == nil {
		c.change(func(_, _ time.Duration, w *[5]uint64) { w[wordOffset] = uint64(day.UnixNano()) })
	}
	return c, err
}

// openSimClock returns a clock that there is.
func openSimClock(path string) (*simClock, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := unix.Mmap(int(f.Fd()), 0, int(unsafe.Sizeof([5]uint64{})), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", path, err)
	}
	return &simClock{words: (*[5]uint64)(unsafe.Pointer(&b[0]))}, nil
}

// machine is the clock of the machine that all its processes read alike.
func machine() uint64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // there is one
	}
	return uint64(t.Nano())
}

// read returns what has elapsed, the time of day since 1970, and how often the clock
// has been changed.
func (c *simClock) read() (elapsed, day time.Duration, changes uint64) {
	elapsed, day, changes, _ = c.readAll()
	return elapsed, day, changes
}

func (c *simClock) readAll() (elapsed, day time.Duration, changes, rate uint64) {
	for {
		var w [5]uint64
		for i := range w {
			w[i] = atomic.LoadUint64(&c.words[i])
		}
		now := machine()
		if w[wordChanges]%2 == 1 || atomic.LoadUint64(&c.words[wordChanges]) != w[wordChanges] {
			continue
		}
		elapsed = time.Duration(w[wordElapsed] + (now-w[wordMachine])*w[wordRate])
		return elapsed, elapsed + time.Duration(w[wordOffset]), w[wordChanges], w[wordRate]
	}
}

// change changes the words, which are made those of this moment before.
func (c *simClock) change(fn func(elapsed, day time.Duration, w *[5]uint64)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changes := atomic.AddUint64(&c.words[wordChanges], 1)
	w := *c.words
	now := machine()
	w[wordElapsed] += (now - w[wordMachine]) * w[wordRate]
	w[wordMachine] = now
	fn(time.Duration(w[wordElapsed]), time.Duration(w[wordElapsed]+w[wordOffset]), &w)
	for i := 1; i < len(w); i++ {
		atomic.StoreUint64(&c.words[i], w[i])
	}
	atomic.StoreUint64(&c.words[wordChanges], changes+1)
}

// run has the clock go on at a rate; 0: it stands.
func (c *simClock) run(rate uint64) {
	c.change(func(_, _ time.Duration, w *[5]uint64) { w[wordRate] = rate })
}

// Now is the time of day.
func (c *simClock) Now() time.Time {
	_, day, _ := c.read()
	return time.Unix(0, int64(day))
}

// Elapsed is what has elapsed.
func (c *simClock) Elapsed() time.Duration {
	elapsed, _, _ := c.read()
	return elapsed
}

// Timer is kv.Clock's. It looks at the clock again and again, as the rate changes.
func (c *simClock) Timer(at time.Duration) (fired <-chan time.Time, stop func() bool) {
	ring, ended := make(chan time.Time, 1), make(chan struct{})
	var once sync.Once
	go func() {
		for {
			elapsed, day, _, rate := c.readAll()
			if elapsed >= at {
				ring <- time.Unix(0, int64(day))
				return
			}
			const most = 2 * time.Millisecond
			wait := most
			if rate > 0 {
				wait = min(most, (at-elapsed)/time.Duration(rate)+time.Microsecond)
			}
			select {
			case <-ended:
				return
			case <-time.After(wait):
			}
		}
	}()
	return ring, func() bool {
		stopped := false
		once.Do(func() { close(ended); stopped = true })
		return stopped
	}
}
