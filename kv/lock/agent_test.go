package lock

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
)

func (h *host) agent(name string) Agent {
	a, err := h.Agent(ctx, "t", name)
	require.NoError(h.t, err)
	return a
}

func TestA21CapacityOfAnAgent(t *testing.T) {
	h := newHost(t)
	require.NoError(t, h.Register(ctx, "t", "a", 10, engine.WAL))
	for n := range 10 {
		h.acquire("a", Task(fmt.Sprint(n)), Exclusive)
		require.Equal(t, n+1, h.agent("a").ActiveTasks)
	}
	_, err := h.try("a", Task("10"), Exclusive)
	require.ErrorIs(t, err, ErrCapacity)
	h.acquire("a", Resource("db", "1"), Exclusive)
	require.Equal(t, 10, h.agent("a").ActiveTasks, "resources are no tasks")
	w := h.wait(Request{Name: Task("10"), Agent: "a"})
	h.waits(w)
	require.Equal(t, Agent{Name: "a", Status: Active, MaxTasks: 10, ActiveTasks: 10, QueuedTasks: 1, Heard: h.kv.Now()}, h.agent("a"))
	h.acquire("b", Task("10"), Exclusive) // passes who has no room
	h.release("a", Task("3"))
	h.waits(w)
	h.release("b", Task("10"))
	h.granted(w)
	require.Equal(t, 10, h.agent("a").ActiveTasks)
	w = h.wait(Request{Name: Task("11"), Agent: "a"})
	h.waits(w)
	h.release("a", Task("4"))
	h.granted(w)
	w = h.wait(Request{Name: Task("12"), Agent: "a"})
	require.NoError(t, h.Register(ctx, "t", "a", 11, engine.WAL))
	h.granted(w)
	require.Equal(t, 11, h.agent("a").ActiveTasks)
}

// Room is counted by what is held: what has just expired, and stands in the index still,
// neither takes room nor hides what does.
func TestA21WhatHasExpiredHidesNothing(t *testing.T) {
	h := newHost(t)
	require.NoError(t, h.Register(ctx, "t", "a", 30, engine.WAL))
	for n := range 30 {
		ttl := time.Second
		if n >= 20 {
			ttl = time.Minute
		}
		_, err := h.Acquire(ctx, "t", Request{Name: Task(fmt.Sprintf("%02d", n)), Agent: "a", TTL: ttl, Durability: engine.WAL})
		require.NoError(t, err)
	}
	h.clock.Oversleep(time.Second)
	for n := range 20 {
		h.acquire("a", Task(fmt.Sprint("new", n)), Exclusive)
	}
	_, err := h.try("a", Task("more"), Exclusive)
	require.ErrorIs(t, err, ErrCapacity)
	require.NoError(t, h.Register(ctx, "t", "a", 1, engine.WAL))
	_, err = h.try("a", Task("more"), Exclusive)
	require.ErrorIs(t, err, ErrCapacity)
	require.NoError(t, h.Register(ctx, "t", "a", 0, engine.WAL))
	_, err = h.try("none", Task("more"), Exclusive)
	require.NoError(t, err)
}

// A task that nobody waits for expires without anybody's doing: its agent has room all the
// same.
func TestA21ExpiredTasksLeaveRoom(t *testing.T) {
	h := newHost(t)
	require.NoError(t, h.Register(ctx, "t", "a", 1, engine.WAL))
	g, err := h.Acquire(ctx, "t", Request{Name: Task("1"), Agent: "a", TTL: time.Second})
	require.NoError(t, err)
	w := h.wait(Request{Name: Task("2"), Agent: "a"})
	h.clock.Pass(time.Second)
	h.granted(w)
	require.WithinDuration(t, g.Expires, h.granted(w).Acquired, time.Second)
}

func TestA22DrainingAndOffline(t *testing.T) {
	h := newHost(t)
	require.ErrorIs(t, h.Heartbeat(ctx, "t", "a", engine.WAL), ErrNotFound)
	require.NoError(t, h.Register(ctx, "t", "a", 5, engine.WAL))
	h.acquire("a", Task("1"), Exclusive)
	h.acquire("a", Resource("db", "1"), Shared)
	require.NoError(t, h.Drain(ctx, "t", "a", true, engine.WAL))
	_, err := h.try("a", Task("2"), Exclusive)
	require.ErrorIs(t, err, ErrCapacity)
	_, err = h.Renew(ctx, "t", Holding{Name: Task("1"), Agent: "a"}, time.Hour, engine.WAL)
	require.NoError(t, err, "what it has it keeps")
	drained := h.wait(Request{Name: Task("2"), Agent: "a", MaxWait: time.Hour})
	h.waits(drained)
	waiting := h.wait(Request{Name: Task("1"), Agent: "b", MaxWait: time.Hour})
	h.clock.Pass(30*time.Second - 1)
	h.waits(waiting)
	h.clock.Pass(time.Second)
	h.granted(waiting)
	a := h.agent("a")
	require.Equal(t, Offline, a.Status)
	require.Zero(t, a.ActiveTasks)
	l, err := h.Get("t", Resource("db", "1"))
	require.NoError(t, err)
	require.Equal(t, Free, l.Mode)
	_, err = h.try("a", Task("3"), Exclusive)
	require.ErrorIs(t, err, ErrCapacity)
	require.NoError(t, h.Heartbeat(ctx, "t", "a", engine.WAL))
	h.granted(drained)
}

// One that goes on beating is heard of, also by the next process.
func TestA22HeartbeatsKeepAnAgent(t *testing.T) {
	h := newHost(t)
	require.NoError(t, h.Register(ctx, "t", "a", 5, engine.WAL))
	_, err := h.Acquire(ctx, "t", Request{Name: Task("1"), Agent: "a", TTL: time.Hour})
	require.NoError(t, err)
	for range 20 {
		h.clock.Pass(20 * time.Second)
		require.NoError(t, h.Heartbeat(ctx, "t", "a", engine.WAL))
	}
	require.Equal(t, Active, h.agent("a").Status)
	h = h.reopen()
	_, err = h.try("b", Task("1"), Exclusive)
	require.ErrorIs(t, err, ErrHeld)
	h.clock.Pass(30 * time.Second)
	h.soon("not heard of any more", func() bool { return h.agent("a").Status == Offline })
	h.acquire("b", Task("1"), Exclusive)
}

func TestA23DeregistrationLeavesNothing(t *testing.T) {
	h := newHost(t)
	require.NoError(t, h.Register(ctx, "t", "a", 5, engine.WAL))
	h.acquire("a", Task("1"), Exclusive)
	w := h.wait(Request{Name: Task("1"), Agent: "b"})
	require.NoError(t, h.Deregister(ctx, "t", "a", engine.WAL))
	h.granted(w)
	_, err := h.Agent(ctx, "t", "a")
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorIs(t, h.Deregister(ctx, "t", "a", engine.WAL), ErrNotFound)
	held, err := h.Held(ctx, "t", "a")
	require.NoError(t, err)
	require.Empty(t, held)
}
