package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/job"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/rpc"
)

// remoteJobs is the queues of a tenant of a daemon that has a clock of its own.
type remoteJobs struct {
	*rpc.Jobs
	t      *testing.T
	clock  *kvtest.Clock
	daemon *testDaemon
}

// jobsOverBoth runs a test in both framings, each with a daemon of its own.
func jobsOverBoth(t *testing.T, o job.Options, test func(*testing.T, *remoteJobs)) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		eng, clock := mem.New(), kvtest.New()
		store, err := kv.Open(eng, kv.Options{Clock: clock, Log: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		o.Log = slog.New(slog.DiscardHandler)
		jobs, err := job.New(store, o)
		require.NoError(t, err)
		d := start(t, eng, Options{Jobs: jobs})
		t.Cleanup(func() {
			d.stop()
			jobs.Close()
			require.NoError(t, store.Close())
		})
		test(t, &remoteJobs{d.dialAs(t, f).Jobs("acme"), t, clock, d})
	})
}

// add enqueues jobs of some ids.
func (j *remoteJobs) add(ids ...string) {
	j.t.Helper()
	for _, id := range ids {
		got, made, err := j.Enqueue(j.t.Context(), rpc.WAL, rpc.Job{ID: id, Queue: job.Archive})
		require.NoError(j.t, err)
		require.Equal(j.t, []any{id, true}, []any{got, made})
	}
}

// lease leases jobs, for 10 s.
func (j *remoteJobs) lease(worker string, limit int) []rpc.JobInfo {
	j.t.Helper()
	list, err := j.Lease(j.t.Context(), rpc.JobLeaseOptions{Queue: job.Archive, Worker: worker, For: 10 * time.Second, Limit: limit, Durability: rpc.WAL})
	require.NoError(j.t, err)
	return list
}

// jobIDs are those of jobs, in a line.
func jobIDs(list []rpc.JobInfo) string {
	var all []string
	for _, i := range list {
		all = append(all, i.ID)
	}
	return strings.Join(all, " ")
}

// in are the jobs of a state.
func (j *remoteJobs) in(state rpc.JobState) string {
	j.t.Helper()
	var list []rpc.JobInfo
	for i, err := range j.All(j.t.Context(), rpc.JobListOptions{Queue: job.Archive, State: state}) {
		require.NoError(j.t, err)
		list = append(list, i)
	}
	return jobIDs(list)
}

// until lets time pass until something is so.
func (j *remoteJobs) until(done func() bool) {
	j.t.Helper()
	require.True(j.t, j.clock.Until(done))
}

func TestA84QueuesOverTheSocket(t *testing.T) {
	jobsOverBoth(t, job.Options{}, func(t *testing.T, j *remoteJobs) {
		ctx := t.Context()
		j.add("c", "a", "b")
		require.Equal(t, "c a b", j.in(job.Ready))
		first := j.lease("w1", 2)
		require.Equal(t, "c a", jobIDs(first))
		require.Equal(t, "b", jobIDs(j.lease("w2", 5)))
		require.Empty(t, j.lease("w3", 1))
		require.NoError(t, j.Complete(ctx, rpc.WAL, "c", first[0].Token))
		_, err := j.Get(ctx, "c")
		require.ErrorIs(t, err, job.ErrNotFound, "done is gone")
		for _, queue := range job.QueueNames() {
			id, made, err := j.Enqueue(ctx, rpc.WAL, rpc.Job{Queue: queue, Payload: json.RawMessage(`{"b":1,"a":2}`), MaxAttempts: 3})
			require.NoError(t, err)
			require.True(t, made)
			i, err := j.Get(ctx, id)
			require.NoError(t, err)
			now := j.clock.Now().UTC()
			require.Equal(t, rpc.JobInfo{Job: rpc.Job{ID: id, Queue: queue, Due: now, Payload: json.RawMessage(`{"a":2,"b":1}`), MaxAttempts: 3}, State: job.Ready, Made: now}, i)
		}
		// What is not done in its lease comes back, and late completion is fenced.
		j.clock.Pass(10 * time.Second)
		j.until(func() bool { return j.in(job.Leased) == "" })
		again := j.lease("w4", 1)[0]
		require.Equal(t, []any{"a", 2, "its lease was over before it was done"}, []any{again.ID, again.Attempts, again.Failure})
		require.Equal(t, j.clock.Now().Add(10*time.Second).UTC(), again.Until)
		err = j.Complete(ctx, rpc.WAL, "a", first[1].Token)
		var e *job.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, []any{job.CodeFenced, again.Token}, []any{e.Code, e.Token})
		until, err := j.Extend(ctx, rpc.WAL, "a", again.Token, time.Minute)
		require.NoError(t, err)
		require.Equal(t, j.clock.Now().Add(time.Minute).UTC(), until)
		require.NoError(t, j.Complete(ctx, rpc.WAL, "a", again.Token))
		existed, err := j.Cancel(ctx, rpc.WAL, "a")
		require.NoError(t, err)
		require.False(t, existed)
	})
}

func TestA84FailuresOverTheSocket(t *testing.T) {
	jobsOverBoth(t, job.Options{Quota: kv.Quota{Keys: 1}}, func(t *testing.T, j *remoteJobs) {
		ctx := t.Context()
		_, _, err := j.Enqueue(ctx, rpc.WAL, rpc.Job{ID: "a", Queue: job.Archive, MaxAttempts: 2})
		require.NoError(t, err)
		i := j.lease("w", 1)[0]
		dead, err := j.Fail(ctx, rpc.WAL, "a", i.Token, "no room", time.Minute)
		require.NoError(t, err)
		require.False(t, dead)
		require.Equal(t, "a", j.in(job.Scheduled))
		j.clock.Pass(time.Minute)
		j.until(func() bool { return j.in(job.Ready) == "a" })
		dead, err = j.Fail(ctx, rpc.WAL, "a", j.lease("w", 1)[0].Token, "still no room", 0)
		require.NoError(t, err)
		require.True(t, dead)
		got, err := j.Get(ctx, "a")
		require.NoError(t, err)
		require.Equal(t, []any{job.Dead, "still no room"}, []any{got.State, got.Failure})
		dead, err = j.Retry(ctx, rpc.WAL, "a")
		require.NoError(t, err)
		require.True(t, dead)
		require.Equal(t, "a", j.in(job.Ready))

		require.ErrorIs(t, j.Schedule(ctx, rpc.WAL, rpc.Job{ID: "b", Queue: job.Archive}), job.ErrTooMany)
		require.ErrorIs(t, j.Schedule(ctx, rpc.WAL, rpc.Job{ID: "b", Queue: "other"}), job.ErrInvalidArgument)
		_, _, err = j.Enqueue(ctx, rpc.WAL, rpc.Job{ID: "b", Queue: job.Archive, Due: j.clock.Now()})
		require.ErrorIs(t, err, job.ErrInvalidArgument)
		_, err = j.Lease(ctx, rpc.JobLeaseOptions{Queue: job.Archive, Worker: "w", Wait: -1})
		require.ErrorIs(t, err, job.ErrInvalidArgument)
		_, _, err = j.List(ctx, rpc.JobListOptions{Queue: job.Archive})
		require.ErrorIs(t, err, job.ErrInvalidArgument)
		_, err = j.Retry(ctx, rpc.WAL, "none")
		require.ErrorIs(t, err, job.ErrNotFound)
	})
}

func TestA84AWorkerWaitsOverTheSocket(t *testing.T) {
	jobsOverBoth(t, job.Options{}, func(t *testing.T, j *remoteJobs) {
		got := make(chan string)
		wait := func() {
			list, err := j.Lease(t.Context(), rpc.JobLeaseOptions{Queue: job.Archive, Worker: "w", Wait: job.MaxWait, Durability: rpc.WAL})
			if err != nil {
				got <- err.Error()
				return
			}
			got <- jobIDs(list)
		}
		go wait()
		j.add("a")
		require.Equal(t, "a", <-got)
		go wait() // a daemon that stops does not wait for who waits
		j.daemon.stop()
		require.NotEmpty(t, <-got)
	})
}

func TestA85ScheduledJobsOverTheSocket(t *testing.T) {
	jobsOverBoth(t, job.Options{}, func(t *testing.T, j *remoteJobs) {
		ctx := t.Context()
		due := j.clock.Now().Add(time.Minute)
		for range 2 {
			require.NoError(t, j.Schedule(ctx, rpc.WAL, rpc.Job{ID: "a", Queue: job.Archive, Due: due, Payload: json.RawMessage(`{"target":"x"}`)}))
		}
		shown, err := j.Lookup(ctx, "ade:{job:scheduled}")
		require.NoError(t, err)
		require.JSONEq(t, fmt.Sprintf(`[[{"id":"a","type":"archive","target":"x"},%d]]`, due.Unix()), string(shown))
		j.clock.Pass(time.Minute - time.Millisecond)
		require.Empty(t, j.lease("w", 1))
		j.until(func() bool { return j.in(job.Ready) == "a" })
		require.LessOrEqual(t, j.clock.Now().Sub(due), time.Second)
		require.Equal(t, "a", jobIDs(j.lease("w", 5)), "once")

		due = j.clock.Now().Add(time.Hour)
		for n := range 1000 {
			require.NoError(t, j.Schedule(ctx, rpc.WAL, rpc.Job{ID: fmt.Sprintf("%04d", n), Queue: job.TaskTimeout, Due: due}))
		}
		j.clock.Pass(time.Hour + time.Second)
		seen := map[string]bool{}
		require.Eventually(t, func() bool { // while time stands still
			list, err := j.Lease(ctx, rpc.JobLeaseOptions{Queue: job.TaskTimeout, Worker: "w", Limit: job.MaxBatch, Durability: rpc.WAL})
			require.NoError(t, err)
			for _, i := range list {
				require.False(t, seen[i.ID])
				seen[i.ID] = true
				require.NoError(t, j.Complete(ctx, rpc.WAL, i.ID, i.Token))
			}
			return len(seen) == 1000
		}, time.Minute, time.Millisecond)
	})
}

func TestA86JobLocksOverTheSocket(t *testing.T) {
	jobsOverBoth(t, job.Options{}, func(t *testing.T, j *remoteJobs) {
		ctx := t.Context()
		j.add("first", "a")
		one := func(worker string) []rpc.JobInfo {
			list, err := j.Lease(ctx, rpc.JobLeaseOptions{Queue: job.Archive, ID: "a", Worker: worker, For: time.Minute})
			require.NoError(t, err)
			return list
		}
		a := one("w1")[0]
		require.Empty(t, one("w2"))
		shown, err := j.Lookup(ctx, "ade:job:lock:a")
		require.NoError(t, err)
		require.Equal(t, json.RawMessage(`"w1"`), shown)
		j.clock.Oversleep(time.Minute)
		_, err = j.Lookup(ctx, "ade:job:lock:a")
		require.ErrorIs(t, err, job.ErrNotFound, "from that millisecond on")
		j.until(func() bool { return j.in(job.Leased) == "" })
		again := one("w2")[0]
		require.Greater(t, again.Token, a.Token)
		require.ErrorIs(t, j.Complete(ctx, rpc.WAL, "a", a.Token), job.ErrFenced)
		require.NoError(t, j.Complete(ctx, rpc.WAL, "a", again.Token))
	})
}

func TestA87BuiltInWorkersOverTheSocket(t *testing.T) {
	did, workers := make(chan string), map[string]job.Worker{}
	for _, queue := range job.QueueNames() {
		workers[queue] = func(ctx context.Context, tenant string, j job.Job) error {
			select {
			case did <- tenant + " " + j.ID:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	jobsOverBoth(t, job.Options{Workers: workers, Off: []string{job.Archive}}, func(t *testing.T, j *remoteJobs) {
		var want, got []string
		for _, queue := range job.QueueNames() {
			_, _, err := j.Enqueue(t.Context(), rpc.WAL, rpc.Job{ID: "of-" + queue, Queue: queue})
			require.NoError(t, err)
			if queue != job.Archive {
				want = append(want, "acme of-"+queue)
			}
		}
		for range want {
			got = append(got, <-did)
		}
		require.ElementsMatch(t, want, got)
		require.Eventually(t, func() bool {
			_, err := j.Get(t.Context(), "of-"+job.LockCleanup)
			return errors.Is(err, job.ErrNotFound)
		}, time.Minute, time.Millisecond, "done is gone")
		require.Equal(t, "of-archive", jobIDs(j.lease("outside", 5)), "it is left to workers outside")
	})
}
