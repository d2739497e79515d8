package bench

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
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
	CPUNanos  float64       `json:"cpu_ns"` // of the calling thread, of the process if there are more workers, and of the other process
	Allocs    float64       `json:"allocs"`
	latencies []time.Duration
}

// measure lets all subjects take turns at w.
func measure(o Options, w workload, subjects []*Subject) (Result, error) {
	result := Result{Workload: w.name, About: w.about, Unit: w.unit}
	crews := make([]*crew, 0, len(subjects))
	defer func() {
		for _, c := range crews {
			c.release()
		}
	}()
	for _, s := range subjects {
		if !s.has(w) {
			continue
		}
		c, err := hire(o, w, s)
		if err != nil {
			return result, fmt.Errorf("bench: %s of %s: %w", w.name, s.Name, err)
		}
		crews = append(crews, c)
		result.Measures = append(result.Measures, Measure{Subject: s.Name})
	}
	for round := -1; round < o.Rounds; round++ { // round -1 warms up
		for i, c := range crews {
			length := o.Slice
			if round < 0 {
				length /= 2
			}
			t, err := c.work(length)
			if err != nil {
				return result, fmt.Errorf("bench: %s of %s: %w", w.name, c.subject.Name, err)
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

// crew is the workers of one subject at one workload.
type crew struct {
	subject  *Subject
	workload workload
	workers  []*worker
}

func hire(o Options, w workload, s *Subject) (*crew, error) {
	c := &crew{subject: s, workload: w}
	for i := range w.workers {
		a, err := s.Actor()
		if err != nil {
			c.release()
			return nil, err
		}
		c.workers = append(c.workers, &worker{
			Actor: a, data: &Dataset{Rows: o.Rows}, rows: make([]int, lookups),
			rand: rand.New(rand.NewPCG(uint64(i), 20)),
		})
	}
	return c, nil
}

func (c *crew) release() {
	for _, w := range c.workers {
		w.Release()
	}
}

// work lets the crew work for about d.
func (c *crew) work(d time.Duration) (turn, error) {
	if c.subject.Settle != nil {
		if err := c.subject.Settle(); err != nil {
			return turn{}, err
		}
	}
	runtime.GC()
	before, err := c.usage()
	if err != nil {
		return turn{}, err
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	allocs, start := mem.Mallocs, time.Now()

	shares := make([]share, len(c.workers))
	if len(c.workers) == 1 {
		runtime.LockOSThread()
		cpu := threadCPU()
		shares[0] = c.run(c.workers[0], start.Add(d))
		before.calling = threadCPU() - cpu
		runtime.UnlockOSThread()
	} else {
		var wg sync.WaitGroup
		for i, w := range c.workers {
			wg.Go(func() { shares[i] = c.run(w, start.Add(d)) })
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
	t.CPUNanos = float64(c.spent(before, after)) / n
	t.Allocs = float64(mem.Mallocs-allocs) / n
	return t, err
}

// share is what one worker did.
type share struct {
	units     int
	latencies []time.Duration
	err       error
}

func (c *crew) run(w *worker, until time.Time) share {
	s := share{latencies: make([]time.Duration, 0, 1<<16)}
	for i := 0; ; i++ {
		sample := i%sampleEvery == 0
		var start time.Time
		if sample {
			if start = time.Now(); i > 0 && !start.Before(until) {
				return s
			}
		}
		n, err := c.workload.do(w)
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
type usage struct{ process, elsewhere, calling time.Duration }

func (c *crew) usage() (u usage, err error) {
	u.process = cpu(unix.RUSAGE_SELF)
	if c.subject.Elsewhere != nil {
		u.elsewhere, err = c.subject.Elsewhere()
	}
	return u, err
}

// spent is the CPU time between two usages: that of the calling thread where
// all work is done on it, else that of the process, and what another process
// used.
func (c *crew) spent(before, after usage) time.Duration {
	if c.subject.Elsewhere == nil && len(c.workers) == 1 {
		return before.calling
	}
	return after.process - before.process + after.elsewhere - before.elsewhere
}

func threadCPU() time.Duration { return cpu(unix.RUSAGE_THREAD) }

func cpu(who int) time.Duration {
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
