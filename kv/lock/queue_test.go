package lock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	. "github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/lock/locktest"
)

// Of two calls of an agent that wait for a lock, one goes: the other waits on, in its place.
func TestA29OneCallOfTwoIsGone(t *testing.T) {
	h := locktest.Open(t, locktest.Setup{})
	h.Take("holder", Task("1"), Exclusive)
	first := h.Wait(Request{Name: Task("1"), Agent: "a"})
	between := h.Wait(Request{Name: Task("1"), Agent: "b"})
	second := h.Wait(Request{Name: Task("1"), Agent: "a"})
	first.Cancel()
	h.Answered(first)
	require.ErrorIs(t, first.Err, context.Canceled)
	h.Free("holder", Task("1"))
	h.Granted(second)
	h.Waits(between)
	h.Free("a", Task("1"))
	h.Granted(between)
}

// A grant that its call does not hear of goes back, but not if another call of the agent has
// heard of it, or if the agent held the lock before.
func TestA29WhatACallHasNotHeardOfIsNotTakenFromAnother(t *testing.T) {
	name := Task("1")
	deaf := func(Grant) bool { return false }
	h := locktest.Open(t, locktest.Setup{})
	require.NoError(t, h.Store.AcquireFor(ctx, "t", Request{Name: name, Agent: "a"}, deaf))
	require.Equal(t, Free, h.Of(name).Mode, "nobody has heard")

	h.Take("a", name, Exclusive)
	require.NoError(t, h.Store.AcquireFor(ctx, "t", Request{Name: name, Agent: "a"}, deaf))
	require.Len(t, h.Of(name).Holders, 1, "it was held before")

	for _, c := range []struct {
		does string
		next string // who holds the lock in the end
		with func() (wait func())
		then func(Grant)
	}{
		{"alone", "b", func() func() { return func() {} }, func(Grant) {}},
		{"with another call", "c", func() func() {
			other := h.Wait(Request{Name: name, Agent: "c"})
			return func() { h.Granted(other) }
		}, func(Grant) {}},
		{"and the agent renews", "c", func() func() { return func() {} }, func(g Grant) {
			_, err := h.Renew(ctx, "t", Holding{Name: name, Agent: "c", Token: g.Token}, 0, engine.WAL)
			require.NoError(t, err)
		}},
	} {
		var heard Grant
		done := make(chan error, 1)
		go func() {
			done <- h.Store.AcquireFor(ctx, "t", Request{Name: name, Agent: "c", Wait: true}, func(g Grant) bool {
				heard = g
				c.then(g)
				return false
			})
		}()
		h.Soon("it waits", func() bool { return h.Of(name).Waiting == 1 })
		granted := c.with()
		next := h.Wait(Request{Name: name, Agent: "b"})
		h.Free("a", name)
		granted()
		require.NoError(t, <-done)
		require.NotZero(t, heard.Token)
		require.Equal(t, c.next, h.Of(name).Holders[0].Agent, c.does)
		if c.next == "c" {
			h.Free("c", name)
		}
		h.Granted(next)
		h.Free("b", name)
		h.Take("a", name, Exclusive)
	}
}

func TestBoundsOfWaiting(t *testing.T) {
	h := locktest.Open(t, locktest.Setup{})
	var calls []*locktest.Call
	defer func() {
		for _, c := range calls {
			c.Cancel()
			h.Answered(c)
		}
	}()
	for n := range MaxWaits + 1 {
		h.Take("holder", Task(fmt.Sprint(n)), Exclusive)
	}
	for n := range MaxWaits {
		calls = append(calls, h.Wait(Request{Name: Task(fmt.Sprint(n)), Agent: "a"}))
	}
	_, err := h.Acquire(ctx, "t", Request{Name: Task(fmt.Sprint(MaxWaits)), Agent: "a", Wait: true})
	var e *Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, CodeTooMany, e.Code)
	require.EqualValues(t, MaxWaits, e.Limit)
	require.Equal(t, "agent", e.Field)
	for n := 1; n < MaxQueue; n++ {
		calls = append(calls, h.Wait(Request{Name: Task("0"), Agent: fmt.Sprint("b", n)}))
	}
	_, err = h.Acquire(ctx, "t", Request{Name: Task("0"), Agent: "c", Wait: true})
	require.ErrorAs(t, err, &e)
	require.Equal(t, CodeTooMany, e.Code)
	require.EqualValues(t, MaxQueue, e.Limit)
	require.Equal(t, "name", e.Field)
}

func TestBoundsOfATenantAndOfSharing(t *testing.T) {
	h := locktest.Open(t, locktest.Setup{})
	name := Resource("db", "1")
	for n := range MaxHolders {
		h.Take(fmt.Sprint("s", n), name, Shared)
	}
	_, err := h.Try("more", name, Shared)
	require.ErrorIs(t, err, ErrHeld)
	more := h.Wait(Request{Name: name, Agent: "more", Mode: Shared})
	h.Waits(more)
	h.Free("s5", name)
	h.Granted(more)
	require.NoError(t, h.Space("t").SetQuota(ctx, kv.Quota{Keys: 2}))
	h.Take("a", Task("1"), Exclusive)
	_, err = h.Try("a", Task("2"), Exclusive)
	require.ErrorIs(t, err, ErrTooMany)
	h.Free("a", Task("1"))
	h.Take("a", Task("2"), Exclusive)
}

// A tenant that is dropped takes its locks with it, and tells those who wait.
func TestATenantThatIsDropped(t *testing.T) {
	h := locktest.Open(t, locktest.Setup{})
	h.Take("a", Task("1"), Exclusive)
	w := h.Wait(Request{Name: Task("1"), Agent: "b"})
	_, err := h.KV.DropTenant(ctx, "t")
	require.NoError(t, err)
	h.Take("c", Task("1"), Exclusive)
	h.Answered(w)
	require.ErrorIs(t, w.Err, ErrCancelled)
}

func TestWhoWaitsIsToldThatTheStoreIsClosed(t *testing.T) {
	h := locktest.Open(t, locktest.Setup{})
	h.Take("a", Task("1"), Exclusive)
	w := h.Wait(Request{Name: Task("1"), Agent: "b"})
	h.Store.Close()
	h.Answered(w)
	require.ErrorIs(t, w.Err, ErrCancelled)
	_, err := h.Try("c", Task("2"), Exclusive)
	require.ErrorIs(t, err, ErrCancelled)
}

// Who has waited for long enough gets nothing any more, also where somebody else settles
// the lock before the watchman comes: it never comes here.
func TestWhoHasWaitedForLongEnoughGetsNothing(t *testing.T) {
	h := locktest.Open(t, locktest.Setup{})
	h.Set(Config{MaxTTL: time.Minute, Heartbeat: MaxTTL})
	name := Task("1")
	_, err := h.Acquire(ctx, "t", Request{Name: name, Agent: "a", TTL: 7 * time.Second, Durability: engine.WAL})
	require.NoError(t, err)
	late := h.Wait(Request{Name: name, Agent: "late", TTL: time.Second, MaxWait: 2 * time.Second})
	next := h.Wait(Request{Name: name, Agent: "next", TTL: time.Second, MaxWait: time.Minute})
	h.Store.ForgetWait("t", name, "late")
	h.Clock.Pass(8 * time.Second)
	require.Equal(t, "next", h.Granted(next).Agent)
	h.Waits(late)
	late.Cancel()
	h.Answered(late)
	require.ErrorIs(t, late.Err, context.Canceled)
}

// Who wants its place once is not woken whenever another goes, unless another call of its
// agent is to be told of it.
func TestA24APlaceIsToldOnceWhereThatIsEnough(t *testing.T) {
	h := locktest.Open(t, locktest.Setup{})
	h.Take("holder", Task("1"), Exclusive)
	first := h.Wait(Request{Name: Task("1"), Agent: "first"})
	h.Waits(first)
	told := make(chan int, 10)
	once := h.Wait(Request{Name: Task("1"), Agent: "once", PlaceOnce: true, Moved: func(place int) { told <- place }})
	h.Waits(once)
	require.Equal(t, 2, <-told)
	places := h.Store.Places("t", "once")
	h.Free("holder", Task("1"))
	h.Granted(first)
	require.Empty(t, places, "nobody is woken")
	h.Free("first", Task("1"))
	h.Granted(once)
	require.Empty(t, told)
}
