package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv/kvtest"
)

// did is what workers have done.
type did struct {
	mu   sync.Mutex
	jobs []string
}

func (d *did) add(tenant string, j Job) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.jobs = append(d.jobs, tenant+"/"+j.ID)
}

func (d *did) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.jobs)
}

func TestA87BuiltInWorkersDoJobsOfAllTenants(t *testing.T) {
	var d did
	workers := map[string]Worker{}
	for _, queue := range QueueNames() {
		workers[queue] = func(_ context.Context, tenant string, j Job) error {
			require.Equal(t, queue, j.Queue)
			d.add(tenant, j)
			return nil
		}
	}
	h := newHost(t, Options{Workers: workers})
	var tenants []*Queues
	for _, tenant := range []string{"t", "u"} {
		q, err := h.store.Open(ctx, tenant)
		require.NoError(t, err)
		tenants = append(tenants, q)
		for _, queue := range QueueNames() {
			_, _, err := q.Add(ctx, engine.WAL, Job{ID: "now " + queue, Queue: queue})
			require.NoError(t, err)
			require.NoError(t, q.Put(ctx, engine.WAL, Job{ID: "then " + queue, Queue: queue, Due: h.clock.Now().Add(time.Minute)}))
		}
	}
	// idle says that n jobs are done and that no worker holds one: a job whose lease ends
	// in a worker's hands is done again.
	idle := func(n int) func() bool {
		return func() bool {
			for _, q := range tenants {
				for _, queue := range QueueNames() {
					for _, state := range []State{Ready, Leased} {
						list, _, err := q.List(ctx, ListOptions{Queue: queue, State: state})
						require.NoError(t, err)
						if len(list) > 0 {
							return false
						}
					}
				}
			}
			return d.count() == n
		}
	}
	require.Eventually(t, idle(10), time.Minute, time.Millisecond)
	h.clock.Pass(time.Minute)
	require.Eventually(t, idle(20), time.Minute, time.Millisecond)
	seen := map[string]bool{}
	for _, j := range d.jobs {
		require.False(t, seen[j], "%s: twice", j)
		seen[j] = true
	}
}

func TestA87WorkersThatAreSwitchedOff(t *testing.T) {
	var d did
	do := func(_ context.Context, tenant string, j Job) error { d.add(tenant, j); return nil }
	h := newHost(t, Options{Workers: map[string]Worker{Archive: do, LockCleanup: do}, Off: []string{Archive}})
	h.add("a")
	_, _, err := h.Add(ctx, engine.WAL, Job{ID: "l", Queue: LockCleanup})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return d.count() == 1 }, time.Minute, time.Millisecond)
	require.Equal(t, "a", ids(h.lease("outside", 1)), "an outside worker is given it")
}

// What was ready when the process began is done, and what one before it did not end.
func TestA87WorkersFindWhatIsThere(t *testing.T) {
	db, clock := mem.New(), kvtest.New()
	defer func() { require.NoError(t, db.Close()) }()
	h := openHost(t, db, clock, Options{})
	h.add("a", "b")
	h.lease("who dies", 1)
	h.end()
	var d did
	h = openHost(t, db, clock, Options{Workers: map[string]Worker{Archive: func(_ context.Context, tenant string, j Job) error { d.add(tenant, j); return nil }}})
	defer h.end()
	require.Eventually(t, func() bool { return d.count() == 1 }, time.Minute, time.Millisecond)
	h.clock.Pass(10 * time.Second)
	require.Eventually(t, func() bool { return d.count() == 2 }, time.Minute, time.Millisecond)
}

func TestA87AWorkerThatFailsIsGivenTheJobAgainLater(t *testing.T) {
	var d did
	failing := errors.New("the printer is on fire")
	h := newHost(t, Options{Workers: map[string]Worker{Archive: func(_ context.Context, tenant string, j Job) error {
		d.add(tenant, j)
		return failing
	}}})
	_, _, err := h.Add(ctx, engine.WAL, Job{ID: "a", Queue: Archive, MaxAttempts: 3})
	require.NoError(t, err)
	// Time stands still while the worker has the job: its lease does not end.
	var i Info
	failed := func(attempts int, state State) {
		require.Eventually(t, func() bool {
			i, err = h.Get("a")
			return err == nil && i.Attempts == attempts && i.State == state
		}, time.Minute, time.Millisecond)
	}
	for attempt, delay := range []time.Duration{time.Second, 2 * time.Second} {
		failed(attempt+1, Scheduled)
		require.Equal(t, h.clock.Now().Add(delay), i.Due)
		h.clock.Pass(delay)
	}
	failed(3, Dead)
	require.Equal(t, 3, d.count())
	require.Equal(t, failing.Error(), i.Failure)
}

// A worker may do with its job what anybody may: it is not done once more for that.
func TestA87AWorkerSchedulesItsJobAnew(t *testing.T) {
	var h *host
	opened := make(chan struct{})
	var d did
	h = newHost(t, Options{Workers: map[string]Worker{Archive: func(ctx context.Context, tenant string, j Job) error {
		<-opened
		d.add(tenant, j)
		return h.Put(ctx, engine.WAL, Job{ID: j.ID, Queue: Archive, Due: h.clock.Now().Add(time.Hour), Payload: json.RawMessage(`{"n":2}`)})
	}}})
	close(opened)
	h.add("a")
	require.Eventually(t, func() bool { return h.in(Scheduled) == "a" }, time.Minute, time.Millisecond)
	require.Equal(t, 1, d.count())
	h.clock.Pass(time.Hour)
	require.Eventually(t, func() bool { return d.count() == 2 && h.in(Scheduled) == "a" }, time.Minute, time.Millisecond)
}

// The lease of a worker ends its context, and the store's end has the job ready for the
// next process at once, without an attempt.
func TestA87WorkersEndWithTheirLeaseAndTheirProcess(t *testing.T) {
	ends := make(chan error, 10)
	begun := make(chan struct{}, 10)
	db, clock := mem.New(), kvtest.New()
	defer func() { require.NoError(t, db.Close()) }()
	h := openHost(t, db, clock, Options{Workers: map[string]Worker{Archive: func(ctx context.Context, _ string, _ Job) error {
		begun <- struct{}{}
		<-ctx.Done()
		ends <- ctx.Err()
		return ctx.Err()
	}}})
	h.add("a")
	<-begun
	h.clock.Pass(crewLease)
	require.Error(t, <-ends)
	<-begun // it came back
	i, err := h.Get("a")
	require.NoError(t, err)
	require.Equal(t, 2, i.Attempts)
	h.store.Close()
	i, err = h.Get("a")
	require.NoError(t, err)
	require.Equal(t, []any{Ready, 1}, []any{i.State, i.Attempts})
	h.end()
}

// One tenant with many jobs does not keep others from theirs: whoever comes is next but one.
func TestA87TenantsTakeTurns(t *testing.T) {
	const jobs = 20
	begun := make(chan string, jobs+1)
	gate := make(chan struct{})
	h := newHost(t, Options{Workers: map[string]Worker{Archive: func(_ context.Context, tenant string, _ Job) error {
		begun <- tenant
		<-gate
		return nil
	}}})
	for n := range jobs {
		h.add(fmt.Sprint("a", n))
	}
	for range crewSize {
		require.Equal(t, "t", <-begun)
	}
	// All wait at the gate. From here on one at a time is let through, and takes the next job.
	other, err := h.store.Open(ctx, "u")
	require.NoError(t, err)
	_, _, err = other.Add(ctx, engine.WAL, Job{ID: "one", Queue: Archive})
	require.NoError(t, err)
	var order []string
	for range jobs + 1 - crewSize {
		gate <- struct{}{}
		order = append(order, <-begun)
	}
	close(gate)
	require.Equal(t, []string{"t", "u", "t"}, order[:3])
}
