package job

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
	"go.uber.org/goleak"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ctx = context.Background()

// tester is a test, or a case of a property.
type tester interface {
	require.TestingT
	Helper()
}

// host is the queues of tenant t on an engine in memory with a clock by hand.
type host struct {
	t     tester
	db    engine.Engine
	clock *kvtest.Clock
	kv    *kv.Store
	store *Store
	ended bool
	*Queues
}

func newHost(t testing.TB, o Options) *host {
	db := mem.New()
	h := openHost(t, db, kvtest.New(), o)
	t.Cleanup(func() {
		h.end()
		_ = db.Close()
	})
	return h
}

func openHost(t tester, db engine.Engine, clock *kvtest.Clock, o Options) *host {
	store, err := kv.Open(db, kv.Options{Clock: clock, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	o.Log = slog.New(slog.DiscardHandler)
	s, err := New(store, o)
	require.NoError(t, err)
	q, err := s.Open(ctx, "t")
	require.NoError(t, err)
	return &host{t: t, db: db, clock: clock, kv: store, store: s, Queues: q}
}

// end checks and closes everything but the engine, once.
func (h *host) end() {
	if h.ended {
		return
	}
	h.ended = true
	h.store.Close()
	for f, err := range h.kv.Check(ctx) {
		require.NoError(h.t, err)
		require.Fail(h.t, "the check finds", f.String())
	}
	for r, err := range h.space.All(ctx, nil) {
		if errors.Is(err, kv.ErrSpaceNotFound) {
			break
		}
		require.NoError(h.t, err)
		require.Empty(h.t, Fault(&r))
	}
	require.NoError(h.t, h.kv.Close())
}

// reopen is the next process.
func (h *host) reopen() {
	h.end()
	*h = *openHost(h.t, h.db, h.clock, h.store.o)
}

// add enqueues jobs of some ids.
func (h *host) add(ids ...string) {
	h.t.Helper()
	for _, id := range ids {
		_, made, err := h.Add(ctx, engine.WAL, Job{ID: id, Queue: Archive})
		require.NoError(h.t, err)
		require.True(h.t, made)
	}
}

// lease leases jobs of the queue of the tests, for 10 s.
func (h *host) lease(worker string, limit int) []Info {
	h.t.Helper()
	list, err := h.Lease(ctx, LeaseOptions{Queue: Archive, Worker: worker, For: 10 * time.Second, Limit: limit, Durability: engine.WAL})
	require.NoError(h.t, err)
	return list
}

// ids are those of jobs, in a line.
func ids(list []Info) string {
	var all []string
	for _, i := range list {
		all = append(all, i.ID)
	}
	return strings.Join(all, " ")
}

// in are the jobs of a state.
func (h *host) in(state State) string {
	h.t.Helper()
	list, next, err := h.List(ctx, ListOptions{Queue: Archive, State: state})
	require.NoError(h.t, err)
	require.Empty(h.t, next)
	return ids(list)
}

// until lets time pass until something is so.
func (h *host) until(done func() bool) {
	h.t.Helper()
	require.True(h.t, h.clock.Until(done))
}

func TestA84FirstInFirstOut(t *testing.T) {
	h := newHost(t, Options{})
	h.add("c", "a", "b")
	require.Equal(t, "c a b", h.in(Ready))
	first := h.lease("w1", 2)
	require.Equal(t, "c a", ids(first))
	require.Equal(t, "b", ids(h.lease("w2", 5)))
	require.Empty(t, h.lease("w3", 1))
	require.Equal(t, "a b c", h.in(Leased), "by when the lease is over")
	require.NoError(t, h.Done(ctx, engine.WAL, "c", first[0].Token))
	require.Equal(t, "a b", h.in(Leased))
	_, err := h.Get("c")
	require.ErrorIs(t, err, ErrNotFound)
	// Queues are apart.
	_, _, err = h.Add(ctx, engine.WAL, Job{ID: "other", Queue: LockCleanup})
	require.NoError(t, err)
	require.Empty(t, h.lease("w", 1))
	// An id is made where none is given.
	id, made, err := h.Add(ctx, engine.WAL, Job{Queue: Archive, Payload: json.RawMessage(`{"b":1,"a":2}`)})
	require.NoError(t, err)
	require.True(t, made)
	i, err := h.Get(id)
	require.NoError(t, err)
	require.Equal(t, Job{id, Archive, h.clock.Now(), json.RawMessage(`{"a":2,"b":1}`), PlainAttempts}, i.Job)
}

func TestA84WhatIsNotDoneInItsLeaseComesBack(t *testing.T) {
	h := newHost(t, Options{})
	h.add("a", "b")
	lost := h.lease("w1", 1)[0]
	require.Equal(t, h.clock.Now().Add(10*time.Second), lost.Until)
	h.clock.Pass(10*time.Second - time.Millisecond)
	require.Equal(t, "a", h.in(Leased))
	begun := h.clock.Now()
	h.until(func() bool { return h.in(Leased) == "" })
	require.LessOrEqual(t, h.clock.Now().Sub(begun), time.Second)
	require.Equal(t, "a b", h.in(Ready), "at its place")
	again := h.lease("w2", 1)[0]
	require.Equal(t, []any{"a", 2, "its lease was over before it was done"}, []any{again.ID, again.Attempts, again.Failure})
	require.Greater(t, again.Token, lost.Token)
	for _, err := range []error{
		h.Done(ctx, engine.WAL, "a", lost.Token),
		func() error { _, err := h.Extend(ctx, engine.WAL, "a", lost.Token, 0); return err }(),
		func() error { _, err := h.Fail(ctx, engine.WAL, "a", lost.Token, "x", 0); return err }(),
	} {
		var e *Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, []any{CodeFenced, again.Token}, []any{e.Code, e.Token})
	}
	// A lease that is extended lasts from then on.
	h.clock.Pass(9 * time.Second)
	until, err := h.Extend(ctx, engine.WAL, "a", again.Token, 10*time.Second)
	require.NoError(t, err)
	require.Equal(t, h.clock.Now().Add(10*time.Second), until)
	h.clock.Pass(9 * time.Second)
	require.NoError(t, h.Done(ctx, engine.WAL, "a", again.Token))
	require.ErrorIs(t, h.Done(ctx, engine.WAL, "a", again.Token), ErrFenced)
	// A lease is over from its moment on, whether or not anybody has looked.
	b := h.lease("w", 1)[0]
	h.clock.Oversleep(10 * time.Second)
	require.ErrorIs(t, h.Done(ctx, engine.WAL, "b", b.Token), ErrFenced)
}

func TestA84AttemptsAreCountedAndBounded(t *testing.T) {
	h := newHost(t, Options{})
	_, _, err := h.Add(ctx, engine.WAL, Job{ID: "a", Queue: Archive, MaxAttempts: 3})
	require.NoError(t, err)
	h.add("b")
	fail := func(delay time.Duration) bool {
		t.Helper()
		i := h.lease("w", 1)[0]
		require.Equal(t, "a", i.ID)
		dead, err := h.Fail(ctx, engine.WAL, "a", i.Token, "no room", delay)
		require.NoError(t, err)
		return dead
	}
	require.False(t, fail(0))
	require.Equal(t, "a b", h.in(Ready))
	require.False(t, fail(time.Minute))
	require.Equal(t, "a", h.in(Scheduled))
	b := h.lease("w", 1)[0]
	require.Equal(t, "b", b.ID)
	require.NoError(t, h.Done(ctx, engine.WAL, "b", b.Token))
	h.clock.Pass(time.Minute)
	h.until(func() bool { return h.in(Ready) == "a" })
	require.True(t, fail(time.Minute))
	require.Equal(t, "a", h.in(Dead))
	require.Empty(t, h.lease("w", 1))
	i, err := h.Get("a")
	require.NoError(t, err)
	require.Equal(t, []any{Dead, 3, "no room", h.clock.Now()}, []any{i.State, i.Attempts, i.Failure, i.Until})
	// It is tried again when somebody says so.
	dead, err := h.Retry(ctx, engine.WAL, "a")
	require.NoError(t, err)
	require.True(t, dead)
	dead, err = h.Retry(ctx, engine.WAL, "a")
	require.NoError(t, err)
	require.False(t, dead)
	_, err = h.Retry(ctx, engine.WAL, "none")
	require.ErrorIs(t, err, ErrNotFound)
	for n := range 3 { // who is silent uses up attempts too
		require.Equal(t, n+1, h.lease("w", 1)[0].Attempts)
		h.clock.Pass(10 * time.Second)
		h.until(func() bool { return h.in(Leased) == "" })
	}
	require.Equal(t, "a", h.in(Dead))
	h.clock.Pass(DeadFor)
	h.until(func() bool { return h.in(Dead) == "" })
}

func TestA85NotBeforeItIsDueAndOnce(t *testing.T) {
	h := newHost(t, Options{})
	due := h.clock.Now().Add(time.Minute)
	for range 2 {
		require.NoError(t, h.Put(ctx, engine.WAL, Job{ID: "a", Queue: Archive, Due: due, Payload: json.RawMessage(`{"target":"x"}`)}))
	}
	require.Equal(t, "a", h.in(Scheduled))
	h.clock.Pass(time.Minute - time.Millisecond)
	require.Empty(t, h.lease("w", 1))
	require.Equal(t, "a", h.in(Scheduled))
	h.until(func() bool { return h.in(Ready) == "a" })
	require.LessOrEqual(t, h.clock.Now().Sub(due), time.Second)
	a := h.lease("w", 5)
	require.Equal(t, "a", ids(a), "once")
	// One that is scheduled anew while it is done is another: the worker is fenced.
	require.NoError(t, h.Put(ctx, engine.WAL, Job{ID: "a", Queue: Archive, Due: due.Add(time.Hour)}))
	require.ErrorIs(t, h.Done(ctx, engine.WAL, "a", a[0].Token), ErrFenced)
	// The last due time holds, also where it is sooner.
	require.NoError(t, h.Put(ctx, engine.WAL, Job{ID: "a", Queue: Archive, Due: h.clock.Now().Add(time.Second)}))
	h.clock.Pass(time.Second)
	h.until(func() bool { return h.in(Ready) == "a" })
	require.NoError(t, h.Put(ctx, engine.WAL, Job{ID: "past", Queue: Archive, Due: h.clock.Now().Add(-time.Hour)}))
	require.Equal(t, "a past", h.in(Ready))
	existed, err := h.Remove(ctx, engine.WAL, "a")
	require.NoError(t, err)
	require.True(t, existed)
	existed, err = h.Remove(ctx, engine.WAL, "a")
	require.NoError(t, err)
	require.False(t, existed)
	_, made, err := h.Add(ctx, engine.WAL, Job{ID: "past", Queue: LockCleanup})
	require.NoError(t, err)
	require.False(t, made, "an id is of one job")
	require.Equal(t, "past", h.in(Ready))
}

func TestA85AThousandDueInTheSameSecond(t *testing.T) {
	h := newHost(t, Options{})
	due := h.clock.Now().Add(time.Hour)
	for n := range 1000 {
		require.NoError(t, h.Put(ctx, engine.WAL, Job{ID: fmt.Sprintf("%04d", n), Queue: Archive, Due: due.Add(time.Duration(n) * time.Millisecond)}))
	}
	h.reopen() // its timers are on disk
	h.clock.Pass(time.Hour + time.Second)
	seen := map[string]bool{}
	require.Eventually(t, func() bool { // while time stands still
		for _, i := range h.lease("w", MaxBatch) {
			require.False(t, seen[i.ID])
			seen[i.ID] = true
			require.NoError(t, h.Done(ctx, engine.WAL, i.ID, i.Token))
		}
		return len(seen) == 1000
	}, time.Minute, time.Millisecond)
	require.Empty(t, h.in(Ready)+h.in(Leased)+h.in(Scheduled))
}

func TestA85ScheduledWithAChange(t *testing.T) {
	h := newHost(t, Options{})
	change := func(fail error) error {
		return h.kv.Update(ctx, engine.WAL, func(w *kv.Work) error {
			if err := h.Schedule(w, Job{ID: "a", Queue: Archive, Due: w.Now().Add(time.Hour)}); err != nil {
				return err
			}
			id, made, err := h.Enqueue(w, Job{ID: "b", Queue: Archive})
			require.Equal(t, []any{"b", true}, []any{id, made})
			if err == nil {
				err = fail
			}
			return err
		})
	}
	require.Error(t, change(errors.New("no")))
	require.Empty(t, h.in(Scheduled)+h.in(Ready))
	require.NoError(t, change(nil))
	require.Equal(t, "a", h.in(Scheduled))
	b := h.lease("w", 1)[0]
	// What a worker has done lands with the end of its job, or not at all.
	end := func(token uint64) error {
		return h.kv.Update(ctx, engine.WAL, func(w *kv.Work) error {
			if existed, err := h.Cancel(w, "a"); err != nil || !existed {
				return errors.Join(err, errors.New("there is no a"))
			}
			return h.Complete(w, "b", token)
		})
	}
	require.ErrorIs(t, end(b.Token+1), ErrFenced)
	require.Equal(t, "a", h.in(Scheduled))
	require.NoError(t, end(b.Token))
	require.Empty(t, h.in(Scheduled)+h.in(Leased))
}

func TestA86OneOfTwoWorkersRunsAJob(t *testing.T) {
	h := newHost(t, Options{})
	h.add("first", "a")
	one := func(worker string) []Info {
		list, err := h.Lease(ctx, LeaseOptions{Queue: Archive, ID: "a", Worker: worker, For: time.Minute})
		require.NoError(t, err)
		return list
	}
	lock := func() string {
		v, err := h.store.Lookup(ctx, "t", "ade:job:lock:a")
		if errors.Is(err, ErrNotFound) {
			return "free"
		}
		require.NoError(t, err)
		return string(v)
	}
	require.Equal(t, "free", lock())
	a := one("w1")[0]
	require.Empty(t, one("w2"))
	require.Equal(t, `"w1"`, lock())
	h.reopen()
	require.Equal(t, `"w1"`, lock())
	h.clock.Oversleep(time.Minute)
	require.Equal(t, "free", lock(), "from that millisecond on")
	h.until(func() bool { return h.in(Leased) == "" })
	again := one("w2")[0]
	require.Equal(t, `"w2"`, lock())
	require.ErrorIs(t, h.Done(ctx, engine.WAL, "a", a.Token), ErrFenced)
	require.NoError(t, h.Done(ctx, engine.WAL, "a", again.Token))
	require.Equal(t, "first", h.in(Ready))
}

func TestA84AWorkerWaitsForAJob(t *testing.T) {
	h := newHost(t, Options{})
	got := make(chan string)
	for range 2 {
		go func() {
			list, err := h.Lease(ctx, LeaseOptions{Queue: Archive, Worker: "w", Wait: MaxWait, Durability: engine.WAL})
			if err != nil {
				got <- err.Error()
				return
			}
			got <- ids(list)
		}()
	}
	h.add("a")
	require.Equal(t, "a", <-got)
	require.NoError(t, h.Put(ctx, engine.WAL, Job{ID: "b", Queue: Archive, Due: h.clock.Now().Add(time.Second)}))
	h.clock.Pass(time.Second)
	require.Equal(t, "b", <-got)
}

func TestWhatIsNoJobIsRefused(t *testing.T) {
	h := newHost(t, Options{Quota: kv.Quota{Keys: 1}})
	long := func(n int) string { return strings.Repeat("x", n) }
	for _, c := range []struct {
		Job
		code  Code
		field string
	}{
		{Job{Queue: Archive}, CodeInvalidArgument, "id"},
		{Job{ID: long(MaxID + 1), Queue: Archive}, CodeTooLarge, "id"},
		{Job{ID: "{a}", Queue: Archive}, CodeInvalidArgument, "id"},
		{Job{ID: "a", Queue: "other"}, CodeInvalidArgument, "queue"},
		{Job{ID: "a", Queue: Archive, Payload: json.RawMessage(`[]`)}, CodeInvalidArgument, "payload"},
		{Job{ID: "a", Queue: Archive, Payload: json.RawMessage(`{"a"`)}, CodeInvalidArgument, "payload"},
		{Job{ID: "a", Queue: Archive, Payload: json.RawMessage(`{"a":"` + long(MaxPayload) + `"}`)}, CodeTooLarge, "payload"},
		{Job{ID: "a", Queue: Archive, MaxAttempts: MaxAttempts + 1}, CodeInvalidArgument, "max_attempts"},
		{Job{ID: "a", Queue: Archive, Due: LastDue().Add(1)}, CodeInvalidArgument, "due"},
		{Job{ID: "a", Queue: Archive, Due: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)}, CodeInvalidArgument, "due"},
	} {
		var e *Error
		require.ErrorAs(t, h.Put(ctx, engine.WAL, c.Job), &e)
		require.Equal(t, []any{c.code, c.field}, []any{e.Code, e.Field})
	}
	require.NoError(t, h.Put(ctx, engine.WAL, Job{ID: "last", Queue: Archive, Due: LastDue()}))
	last, err := h.Get("last")
	require.NoError(t, err)
	require.Equal(t, LastDue(), last.Due)
	_, err = h.Remove(ctx, engine.WAL, "last")
	require.NoError(t, err)
	_, _, err = h.Add(ctx, engine.WAL, Job{ID: "a", Queue: Archive, Due: h.clock.Now()})
	require.ErrorIs(t, err, ErrInvalidArgument)
	h.add("a")
	require.ErrorIs(t, h.Put(ctx, engine.WAL, Job{ID: "b", Queue: Archive}), ErrTooMany)
	for field, o := range map[string]LeaseOptions{
		"queue": {Queue: "other", Worker: "w"}, "worker": {Queue: Archive}, "limit": {Queue: Archive, Worker: "w", Limit: MaxBatch + 1},
		"for": {Queue: Archive, Worker: "w", For: MaxLease + 1}, "wait": {Queue: Archive, Worker: "w", Wait: MaxWait + 1},
		"durability": {Queue: Archive, Worker: "w", Durability: 9}, "id": {Queue: Archive, Worker: "w", ID: "}"},
	} {
		_, err := h.Lease(ctx, o)
		var e *Error
		require.ErrorAs(t, err, &e, field)
		require.Equal(t, field, e.Field)
	}
	a := h.lease("w", 1)[0]
	_, err = h.Fail(ctx, engine.WAL, "a", a.Token, long(MaxFailure+1), 0)
	require.ErrorIs(t, err, ErrTooLarge)
	_, err = h.Fail(ctx, engine.WAL, "a", a.Token, "", MaxDelay+1)
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, _, err = h.List(ctx, ListOptions{Queue: Archive})
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = New(h.kv, Options{Off: []string{"other"}})
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = New(h.kv, Options{Workers: map[string]Worker{"other": nil}})
	require.ErrorIs(t, err, ErrInvalidArgument)
}

func TestQueuesByTheirLiteralKeys(t *testing.T) {
	h := newHost(t, Options{})
	due := h.clock.Now().Add(time.Hour)
	require.NoError(t, h.Put(ctx, engine.WAL, Job{ID: "l", Queue: LockCleanup, Due: due, Payload: json.RawMessage(`{"target":"ade:lock:task:123"}`)}))
	require.NoError(t, h.Put(ctx, engine.WAL, Job{ID: "e", Queue: Archive, Due: due.Add(-time.Minute)}))
	h.add("b", "a")
	show := func(tenant, key string) string {
		v, err := h.store.Lookup(ctx, tenant, key)
		require.NoError(t, err)
		return string(v)
	}
	require.JSONEq(t, `[{"id":"b","type":"archive"},{"id":"a","type":"archive"}]`, show("t", "ade:job:queue:archive"))
	require.JSONEq(t, fmt.Sprintf(`[[{"id":"e","type":"archive"},%d],[{"id":"l","type":"lock_cleanup","target":"ade:lock:task:123"},%d]]`, due.Unix()-60, due.Unix()), show("t", "ade:{job:scheduled}"))
	h.lease("w", 1)
	require.Equal(t, `"w"`, show("t", "ade:job:lock:b"))
	require.JSONEq(t, `[{"id":"a","type":"archive"}]`, show("t", "ade:job:queue:archive"))
	require.Equal(t, "[]", show("none", "ade:job:queue:archive"))
	require.Equal(t, "[]", show("none", "ade:job:scheduled"))
	for _, key := range []string{"ade:job:queue:other", "ade:job:", "job:scheduled", "ade:job:lock:", "ade:job:scheduled:more"} {
		_, err := h.store.Lookup(ctx, "t", key)
		require.ErrorIs(t, err, ErrInvalidArgument, key)
	}
	for _, tenant := range []string{"t", "none"} {
		_, err := h.store.Lookup(ctx, tenant, "ade:job:lock:a")
		require.ErrorIs(t, err, ErrNotFound)
	}
}

func TestJobsOfATenantThatIsDroppedAreGone(t *testing.T) {
	h := newHost(t, Options{})
	h.add("a")
	_, err := h.kv.DropTenant(ctx, "t")
	require.NoError(t, err)
	_, _, err = h.Add(ctx, engine.WAL, Job{ID: "b", Queue: Archive})
	require.ErrorIs(t, err, ErrSpaceNotFound)
	again, err := h.store.Open(ctx, "t")
	require.NoError(t, err)
	_, made, err := again.Add(ctx, engine.WAL, Job{ID: "a", Queue: Archive})
	require.NoError(t, err)
	require.True(t, made)
}
