package locktest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/lock"
)

func (h *Host) agent(name string) lock.Agent {
	h.T.Helper()
	a, err := h.Agent(ctx, "t", name)
	require.NoError(h.T, err)
	return a
}

func a21CapacityOfAnAgent(t *testing.T, h *Host) {
	require.NoError(t, h.Register(ctx, "t", "a", 10, engine.WAL))
	for n := range 10 {
		h.Take("a", lock.Task(fmt.Sprint(n)), lock.Exclusive)
		require.Equal(t, n+1, h.agent("a").ActiveTasks)
	}
	_, err := h.Try("a", lock.Task("10"), lock.Exclusive)
	require.ErrorIs(t, err, lock.ErrCapacity)
	h.Take("a", lock.Resource("db", "1"), lock.Exclusive)
	require.Equal(t, 10, h.agent("a").ActiveTasks, "resources are no tasks")
	w := h.Wait(lock.Request{Name: lock.Task("10"), Agent: "a"})
	h.Waits(w)
	require.Equal(t, lock.Agent{Name: "a", Status: lock.Active, MaxTasks: 10, ActiveTasks: 10, QueuedTasks: 1, Heard: h.KV.Now()}, h.agent("a"))
	h.Take("b", lock.Task("10"), lock.Exclusive) // passes who has no room
	h.Free("a", lock.Task("3"))
	h.Waits(w)
	h.Free("b", lock.Task("10"))
	h.Granted(w)
	require.Equal(t, 10, h.agent("a").ActiveTasks)
	w = h.Wait(lock.Request{Name: lock.Task("11"), Agent: "a"})
	h.Waits(w)
	h.Free("a", lock.Task("4"))
	h.Granted(w)
	w = h.Wait(lock.Request{Name: lock.Task("12"), Agent: "a"})
	require.NoError(t, h.Register(ctx, "t", "a", 11, engine.WAL))
	h.Granted(w)
	require.Equal(t, 11, h.agent("a").ActiveTasks)
}

// Room is counted by what is held: what has just expired, and stands in the index still,
// neither takes room nor hides what does.
func a21WhatHasExpiredHidesNothing(t *testing.T, h *Host) {
	require.NoError(t, h.Register(ctx, "t", "a", 30, engine.WAL))
	for n := range 30 {
		ttl := time.Second
		if n >= 20 {
			ttl = time.Minute
		}
		_, err := h.Acquire(ctx, "t", lock.Request{Name: lock.Task(fmt.Sprintf("%02d", n)), Agent: "a", TTL: ttl, Durability: engine.WAL})
		require.NoError(t, err)
	}
	h.Clock.Oversleep(time.Second)
	for n := range 20 {
		h.Take("a", lock.Task(fmt.Sprint("new", n)), lock.Exclusive)
	}
	_, err := h.Try("a", lock.Task("more"), lock.Exclusive)
	require.ErrorIs(t, err, lock.ErrCapacity)
	require.NoError(t, h.Register(ctx, "t", "a", 1, engine.WAL))
	_, err = h.Try("a", lock.Task("more"), lock.Exclusive)
	require.ErrorIs(t, err, lock.ErrCapacity)
	require.NoError(t, h.Register(ctx, "t", "a", 0, engine.WAL))
	_, err = h.Try("none", lock.Task("more"), lock.Exclusive)
	require.NoError(t, err)
}

// A task that nobody waits for expires without anybody's doing: its agent has room all the
// same.
func a21ExpiredTasksLeaveRoom(t *testing.T, h *Host) {
	require.NoError(t, h.Register(ctx, "t", "a", 1, engine.WAL))
	g, err := h.Acquire(ctx, "t", lock.Request{Name: lock.Task("1"), Agent: "a", TTL: time.Second})
	require.NoError(t, err)
	w := h.Wait(lock.Request{Name: lock.Task("2"), Agent: "a"})
	h.Clock.Pass(time.Second)
	require.WithinDuration(t, g.Expires, h.Granted(w).Acquired, time.Second)
}

func a22DrainingAndOffline(t *testing.T, h *Host) {
	require.ErrorIs(t, h.Heartbeat(ctx, "t", "a", engine.WAL), lock.ErrNotFound)
	require.NoError(t, h.Register(ctx, "t", "a", 5, engine.WAL))
	h.Take("a", lock.Task("1"), lock.Exclusive)
	h.Take("a", lock.Resource("db", "1"), lock.Shared)
	require.NoError(t, h.Drain(ctx, "t", "a", true, engine.WAL))
	_, err := h.Try("a", lock.Task("2"), lock.Exclusive)
	require.ErrorIs(t, err, lock.ErrCapacity)
	_, err = h.Renew(ctx, "t", lock.Holding{Name: lock.Task("1"), Agent: "a"}, time.Hour, engine.WAL)
	require.NoError(t, err, "what it has it keeps")
	drained := h.Wait(lock.Request{Name: lock.Task("2"), Agent: "a", MaxWait: time.Hour})
	h.Waits(drained)
	waiting := h.Wait(lock.Request{Name: lock.Task("1"), Agent: "b", MaxWait: time.Hour})
	h.Clock.Pass(30*time.Second - 1)
	h.Waits(waiting)
	h.Clock.Pass(time.Second)
	h.Granted(waiting)
	a := h.agent("a")
	require.Equal(t, lock.Offline, a.Status)
	require.Zero(t, a.ActiveTasks)
	require.Equal(t, lock.Free, h.Of(lock.Resource("db", "1")).Mode)
	_, err = h.Try("a", lock.Task("3"), lock.Exclusive)
	require.ErrorIs(t, err, lock.ErrCapacity)
	require.NoError(t, h.Heartbeat(ctx, "t", "a", engine.WAL))
	h.Granted(drained)
}

// One that goes on beating is heard of, also by the next process.
func a22HeartbeatsKeepAnAgent(t *testing.T, h *Host) {
	require.NoError(t, h.Register(ctx, "t", "a", 5, engine.WAL))
	_, err := h.Acquire(ctx, "t", lock.Request{Name: lock.Task("1"), Agent: "a", TTL: time.Hour})
	require.NoError(t, err)
	for range 20 {
		h.Clock.Pass(20 * time.Second)
		require.NoError(t, h.Heartbeat(ctx, "t", "a", engine.WAL))
	}
	require.Equal(t, lock.Active, h.agent("a").Status)
	h = h.Reopen()
	_, err = h.Try("b", lock.Task("1"), lock.Exclusive)
	require.ErrorIs(t, err, lock.ErrHeld)
	h.Clock.Pass(30 * time.Second)
	h.Soon("not heard of any more", func() bool { return h.agent("a").Status == lock.Offline })
	h.Take("b", lock.Task("1"), lock.Exclusive)
}

func a23DeregistrationLeavesNothing(t *testing.T, h *Host) {
	require.NoError(t, h.Register(ctx, "t", "a", 5, engine.WAL))
	h.Take("a", lock.Task("1"), lock.Exclusive)
	h.Clock.Pass(20 * time.Second)
	h.KeyIs("ade:lock:agent:a:capacity", `{"max_tasks":5,"active_tasks":1,"queued_tasks":0,"last_heartbeat":"2026-03-01T12:00:00Z","status":"active"}`)
	w := h.Wait(lock.Request{Name: lock.Task("1"), Agent: "b"})
	require.NoError(t, h.Deregister(ctx, "t", "a", engine.WAL))
	h.Granted(w)
	_, err := h.Agent(ctx, "t", "a")
	require.ErrorIs(t, err, lock.ErrNotFound)
	require.ErrorIs(t, h.Deregister(ctx, "t", "a", engine.WAL), lock.ErrNotFound)
	h.KeyIs("ade:lock:index:agent:a", "[]")
	_, err = h.Lookup(ctx, "t", "ade:lock:agent:a:capacity")
	require.ErrorIs(t, err, lock.ErrNotFound)
}

func a35AllLocksOfAnAgent(t *testing.T, h *Host) {
	n := 1500 // more than a transaction reads at once
	for i := range n {
		_, err := h.Store.Acquire(ctx, "t", lock.Request{Name: lock.Task(fmt.Sprint(i)), Agent: "a"})
		require.NoError(t, err)
	}
	h.Take("a", lock.Resource("db", "1"), lock.Shared)
	h.Take("b", lock.Resource("db", "1"), lock.Shared)
	one, two := h.Wait(lock.Request{Name: lock.Task("7"), Agent: "b"}), h.Wait(lock.Request{Name: lock.Task("1400"), Agent: "c"})
	released, err := h.ReleaseAll(ctx, "t", "a", engine.WAL)
	require.NoError(t, err)
	require.Equal(t, n+1, released)
	require.Equal(t, "b", h.Granted(one).Agent)
	h.Granted(two)
	h.KeyIs("ade:lock:index:agent:a", "[]")
	released, err = h.ReleaseAll(ctx, "t", "a", engine.WAL)
	require.NoError(t, err)
	require.Zero(t, released)
}
