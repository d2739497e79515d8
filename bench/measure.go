package bench

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// sampleEvery is how many operations there are to one whose latency is taken,
// so that reading the clock does not weigh on short ones.
const sampleEvery = 8

// turn is what one subject did in one slice. Times are per unit.
type turn struct {
	Units     int           `json:"units"`
	Wall      time.Duration `json:"-"`
	WallNanos float64       `json:"wall_ns"`
	CPUNanos  float64       `json:"cpu_ns"`       // of the calling thread, of the process if there are more workers, and of the other process
	Elsewhere float64       `json:"elsewhere_ns"` // the part of CPUNanos that is the other process's
	Allocs    float64       `json:"allocs"`
	Others    float64       `json:"others,omitempty"`  // the share of the machine's processors that others had
	Written   float64       `json:"written,omitempty"` // bytes that went to the disk, for each of the rows' that were written
	latencies []time.Duration
}

// measure lets all subjects take turns at w.
func measure(o Options, w workload, subjects []*Subject) (Result, error) {
	var crews []*crew
	for _, s := range subjects {
		if !s.has(w) {
			continue
		}
		c, err := hire(o, w, s)
		if err != nil {
			releaseAll(crews)
			return Result{}, fmt.Errorf("bench: %s of %s: %w", w.name, s.Name, err)
		}
		crews = append(crews, c)
	}
	return takeTurns(o, Result{Workload: w.name, About: w.about, Unit: w.unit}, crews)
}

// takeTurns lets crews take turns, and releases them.
func takeTurns(o Options, result Result, crews []*crew) (Result, error) {
	defer releaseAll(crews)
	for _, c := range crews {
		result.Measures = append(result.Measures, Measure{Subject: c.name})
	}
	for round := -1; round < o.Rounds; round++ { // round -1 warms up
		for i, c := range crews {
			length := o.Slice
			if round < 0 {
				length /= 2
			}
			t, err := c.work(length)
			if err != nil {
				return result, fmt.Errorf("bench: %s of %s: %w", result.Workload, c.name, err)
			}
			if round >= 0 {
				result.Measures[i].turns = append(result.Measures[i].turns, t)
			}
		}
	}
	for i := range result.Measures {
		result.Measures[i].sum()
	}
	return result, nil
}

// crew is the goroutines that work for one subject at one workload.
type crew struct {
	name  string
	hands []func() (units int, err error) // one of each goroutine, called again and again
	whole func(d time.Duration) share     // Subject.Turn, in place of hands

	writes    float64                       // bytes of rows that a unit writes
	server    int                           // Subject.Server
	elsewhere func() (time.Duration, error) // Subject.Elsewhere
	settle    func() error                  // Subject.Settle
	release   func()
}

func releaseAll(crews []*crew) {
	for _, c := range crews {
		c.release()
	}
}

func hire(o Options, w workload, s *Subject) (*crew, error) {
	actors, err := s.hire(w)
	c := &crew{name: s.Name, elsewhere: s.Elsewhere, settle: s.Settle, server: s.Server, writes: w.rows * (KeyBytes + ValueBytes), release: func() {
		for _, a := range actors {
			a.Release()
		}
	}}
	if err != nil {
		c.release()
		return nil, err
	}
	if s.Turn != nil {
		c.whole = func(d time.Duration) (done share) {
			done.units, done.calling, done.latencies, done.err = s.Turn(w.name, w.workers, d)
			if w.workers > 1 {
				done.calling = 0
			}
			return done
		}
	}
	for i, a := range actors {
		worker := &worker{
			Actor: a, data: &Dataset{Rows: o.Rows}, rows: make([]int, lookups),
			rand: rand.New(rand.NewPCG(uint64(i), 20)),
		}
		c.hands = append(c.hands, func() (int, error) { return w.do(worker) })
	}
	return c, nil
}

// work lets the crew work for about d.
func (c *crew) work(d time.Duration) (turn, error) {
	if c.settle != nil {
		if err := c.settle(); err != nil {
			return turn{}, err
		}
	}
	runtime.GC()
	had, err := c.written()
	if err != nil {
		return turn{}, err
	}
	before, err := c.usage()
	if err != nil {
		return turn{}, err
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	allocs, start := mem.Mallocs, time.Now()

	shares := make([]share, max(len(c.hands), 1))
	switch len(c.hands) {
	case 0:
		shares[0] = c.whole(d)
	case 1:
		runtime.LockOSThread()
		cpu := threadCPU()
		shares[0] = run(c.hands[0], start.Add(d))
		if c.elsewhere == nil {
			shares[0].calling = threadCPU() - cpu
		}
		runtime.UnlockOSThread()
	default:
		var wg sync.WaitGroup
		for i, hand := range c.hands {
			wg.Go(func() { shares[i] = run(hand, start.Add(d)) })
		}
		wg.Wait()
	}

	t := turn{Wall: time.Since(start)}
	after, err := c.usage()
	runtime.ReadMemStats(&mem)
	for _, s := range shares {
		t.Units += s.units
		t.latencies = append(t.latencies, s.latencies...)
		if err == nil {
			err = s.err
		}
	}
	n := float64(max(t.Units, 1))
	t.WallNanos = float64(t.Wall) / n
	t.CPUNanos = float64(cmp.Or(shares[0].calling, after.process-before.process+after.elsewhere-before.elsewhere)) / n
	if c.writes == 0 { // else the kernel works for it, on threads of its own
		t.Others = others(after.machine-before.machine, after.process-before.process+after.elsewhere-before.elsewhere, t.Wall)
	}
	t.Elsewhere = float64(after.elsewhere-before.elsewhere) / n
	t.Allocs = float64(mem.Mallocs-allocs) / n
	if err == nil && c.writes > 0 {
		t.Written, err = c.wrote(had, n*c.writes)
	}
	return t, err
}

// wrote returns how many bytes went to the disk since it were had, for each of
// those of rows. What is to be written because of them, and is not yet, is written.
func (c *crew) wrote(had, rows float64) (float64, error) {
	if c.settle != nil {
		if err := c.settle(); err != nil {
			return 0, err
		}
	}
	has, err := c.written()
	return (has - had) / rows, err
}

// written returns how many bytes the crew's process has sent to the disk so far.
func (c *crew) written() (float64, error) {
	if c.writes == 0 {
		return 0, nil
	}
	n, err := writtenBy(cmp.Or(c.server, os.Getpid()))
	return float64(n), err
}

// share is what one worker did.
type share struct {
	units     int
	calling   time.Duration // CPU time of the thread, where all work is done on it; else 0
	latencies []time.Duration
	err       error
}

func run(hand func() (int, error), until time.Time) share {
	s := share{latencies: make([]time.Duration, 0, 1<<16)}
	for i := 0; ; i++ {
		sample := i%sampleEvery == 0
		var start time.Time
		if sample {
			if start = time.Now(); i > 0 && !start.Before(until) {
				return s
			}
		}
		n, err := hand()
		if err != nil {
			s.err = err
			return s
		}
		s.units += n
		if sample {
			s.latencies = append(s.latencies, time.Since(start))
		}
	}
}

// usage is CPU time used so far.
type usage struct{ process, elsewhere, machine time.Duration }

func (c *crew) usage() (u usage, err error) {
	u.process = CPU(unix.RUSAGE_SELF)
	u.machine, _ = busy() // 0 twice, where it is not told
	if c.elsewhere != nil {
		u.elsewhere, err = c.elsewhere()
	}
	return u, err
}

func threadCPU() time.Duration { return CPU(unix.RUSAGE_THREAD) }

// CPU returns the CPU time that the process or the thread has used: who is one of RUSAGE_SELF and its
// like; 0 if it is not known.
func CPU(who int) time.Duration {
	var r unix.Rusage
	if err := unix.Getrusage(who, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// quantile returns the q-th quantile of d, which it sorts; 0 if there is none.
func quantile(d []time.Duration, q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return d[min(int(q*float64(len(d))), len(d)-1)]
}

// tick is what /proc/stat counts in: USER_HZ, which is 100 everywhere.
const tick = 10 * time.Millisecond

// busy returns for how long the processors of the machine were busy so far, all together, with
// what the hypervisor gave to other machines meanwhile; false where the system does not tell.
func busy() (time.Duration, bool) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, false
	}
	return parseBusy(text)
}

// parseBusy reads the first line of /proc/stat (proc_stat(5)): user, nice, system, idle, iowait,
// irq, softirq and steal; what comes after is in user already.
func parseBusy(text []byte) (time.Duration, bool) {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	fields := bytes.Fields(line)
	if len(fields) < 9 || string(fields[0]) != "cpu" {
		return 0, false
	}
	var sum time.Duration
	for _, i := range []int{1, 2, 3, 6, 7, 8} {
		n, err := strconv.ParseInt(string(fields[i]), 10, 64)
		if err != nil {
			return 0, false
		}
		sum += time.Duration(n) * tick
	}
	return sum, true
}

// others is the share of the machine's processors that others had while a turn took wall, in
// which they were busy for all, and the subject and who measures had own of that.
func others(all, own, wall time.Duration) float64 {
	rest := all - own
	if rest < 2*tick*time.Duration(runtime.NumCPU()) { // as little is not told from nothing
		return 0
	}
	return float64(rest) / float64(wall) / float64(runtime.NumCPU())
}
