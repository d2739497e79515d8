package locktest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/kv/lock"
)

func a11A12TheNextInLineGetsIt(t *testing.T, h *Host) {
	h.Take("a", lock.Task("1"), lock.Exclusive)
	b, c := h.Wait(lock.Request{Name: lock.Task("1"), Agent: "b"}), h.Wait(lock.Request{Name: lock.Task("1"), Agent: "c"})
	require.True(t, h.Free("a", lock.Task("1")))
	require.Equal(t, "b", h.Of(lock.Task("1")).Holders[0].Agent, "with the release")
	g := h.Granted(b)
	require.Equal(t, lock.Exclusive, g.Mode)
	h.Waits(c)
	h.Clock.Pass(30 * time.Second)
	next := h.Granted(c) // b's time is over
	require.Greater(t, next.Token, g.Token)
	require.Equal(t, g.Expires, next.Acquired)
}

// served releases a lock again and again, and returns in which order the calls got it.
func (h *Host) served(name string, calls map[string]*Call) (order []string) {
	h.T.Helper()
	holder := func() string {
		l := h.Of(name)
		require.Len(h.T, l.Holders, 1)
		return l.Holders[0].Agent
	}
	for range len(calls) {
		h.Free(holder(), name)
		next := holder()
		order = append(order, next)
		h.Granted(calls[next])
	}
	return order
}

func a24PlacesInTheQueue(t *testing.T, h *Host) {
	h.Take("holder", lock.Task("1"), lock.Exclusive)
	var mu sync.Mutex
	var places []int
	first := h.Wait(lock.Request{Name: lock.Task("1"), Agent: "a"})
	second := h.Wait(lock.Request{Name: lock.Task("1"), Agent: "b", Moved: func(place int) {
		mu.Lock()
		defer mu.Unlock()
		places = append(places, place)
	}})
	require.Equal(t, 2, h.Of(lock.Task("1")).Waiting)
	first.Cancel()
	h.Answered(first)
	require.ErrorIs(t, first.Err, context.Canceled)
	h.Soon("it is told", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return slices.Equal(places, []int{2, 1})
	})
	h.Free("holder", lock.Task("1"))
	h.Granted(second)
}

func a25FirstComeFirstServed(t *testing.T, h *Host) {
	h.Take("holder", lock.Task("1"), lock.Exclusive)
	calls := map[string]*Call{}
	var want []string
	for n := range 100 {
		agent := fmt.Sprintf("a%02d", n)
		calls[agent] = h.Wait(lock.Request{Name: lock.Task("1"), Agent: agent})
		want = append(want, agent)
	}
	require.Equal(t, want, h.served(lock.Task("1"), calls))
}

func a26PriorityThenArrival(t *testing.T, h *Host) {
	h.Take("holder", lock.Task("1"), lock.Exclusive)
	calls := map[string]*Call{}
	for n, priority := range []int{1, 100, 50, 100, 1} {
		agent := fmt.Sprint("a", n)
		calls[agent] = h.Wait(lock.Request{Name: lock.Task("1"), Agent: agent, Priority: priority})
	}
	require.Equal(t, []string{"a1", "a3", "a2", "a0", "a4"}, h.served(lock.Task("1"), calls))
}

func a27A28WhoWaitsForLongEnoughIsTold(t *testing.T, h *Host) {
	h.Set(lock.Config{DefaultTTL: 20 * time.Minute})
	h.Take("holder", lock.Task("1"), lock.Exclusive)
	short, plain := h.Wait(lock.Request{Name: lock.Task("1"), Agent: "a", MaxWait: 2 * time.Second}), h.Wait(lock.Request{Name: lock.Task("1"), Agent: "b"})
	h.Clock.Pass(2*time.Second - time.Millisecond)
	h.Waits(short)
	h.Clock.Pass(time.Millisecond)
	h.Answered(short)
	require.ErrorIs(t, short.Err, lock.ErrWaitTimeout)
	h.Clock.Pass(lock.PlainWait - 2*time.Second - time.Millisecond)
	h.Waits(plain)
	h.Clock.Pass(time.Millisecond)
	h.Answered(plain)
	require.ErrorIs(t, plain.Err, lock.ErrWaitTimeout)
	h.Free("holder", lock.Task("1"))
	require.Equal(t, lock.Free, h.Of(lock.Task("1")).Mode, "nobody is promoted later")
}

func a29OneEntryForAnAgent(t *testing.T, h *Host) {
	h.Take("holder", lock.Task("1"), lock.Exclusive)
	first := h.Wait(lock.Request{Name: lock.Task("1"), Agent: "a"})
	between := h.Wait(lock.Request{Name: lock.Task("1"), Agent: "b"})
	second := h.Wait(lock.Request{Name: lock.Task("1"), Agent: "a"})
	require.Equal(t, 2, h.Of(lock.Task("1")).Waiting)
	_, err := h.Try("a", lock.Task("1"), lock.Exclusive)
	require.ErrorIs(t, err, lock.ErrHeld)
	h.Free("holder", lock.Task("1"))
	g := h.Granted(first)
	require.Equal(t, g.Token, h.Granted(second).Token, "both calls have it")
	h.Waits(between)
	require.Equal(t, g.Token, h.Take("a", lock.Task("1"), lock.Exclusive).Token)
	h.Free("a", lock.Task("1"))
	h.Granted(between)
	name := lock.Resource("db", "1")
	h.Take("x", name, lock.Exclusive)
	shared := h.Wait(lock.Request{Name: name, Agent: "z", Mode: lock.Shared})
	_, err = h.Acquire(ctx, "t", lock.Request{Name: name, Agent: "z", Wait: true})
	require.ErrorIs(t, err, lock.ErrInvalidArgument, "it waits to share it")
	h.Free("x", name)
	h.Granted(shared)
}

// Whoever waited before others, and is gone, holds up nobody: not in the queue, and not
// once it was given the lock.
func a30WhoIsGoneHoldsUpNobody(t *testing.T, h *Host) {
	name := lock.Resource("db", "1")
	h.Take("s", name, lock.Shared)
	x := h.Wait(lock.Request{Name: name, Agent: "x"})
	s2 := h.Wait(lock.Request{Name: name, Agent: "s2", Mode: lock.Shared})
	h.Waits(s2)
	x.Cancel()
	h.Granted(s2)                                                                           // the writer was all that kept it from it
	behind := lock.Request{Name: name, Agent: "late", TTL: time.Minute, Claim: time.Minute} // longer than time passes
	late := h.Wait(behind)
	for range max(enginetest.Scale(100), 20) {
		gone := h.Wait(lock.Request{Name: name, Agent: "gone", Priority: 1})
		var both sync.WaitGroup
		both.Go(gone.Cancel)
		both.Go(func() {
			h.Free("s", name)
			h.Free("s2", name)
		})
		both.Wait()
		h.Answered(gone)
		if gone.Err == nil {
			h.Free("gone", name)
		} else if slices.ContainsFunc(h.Of(name).Holders, func(x lock.Grant) bool { return x.Agent == "gone" }) {
			h.Clock.Pass(30 * time.Second) // the grant was on its way to a client that did not listen any more
		}
		h.Granted(late)
		h.Free("late", name) // and back to two that share it, and one that waits
		h.Take("s", name, lock.Shared)
		h.Take("s2", name, lock.Shared)
		late = h.Wait(behind)
	}
	late.Cancel()
	h.Answered(late)
}

// Who is promoted, does not listen and so does not claim it in time has it no longer.
func a30ALockThatIsNotClaimedGoesToTheNext(t *testing.T, h *Host) {
	h.Take("holder", lock.Task("1"), lock.Exclusive)
	listens := make(chan struct{})
	deaf := h.Wait(lock.Request{Name: lock.Task("1"), Agent: "deaf", Claim: 5 * time.Second, TTL: time.Minute, Moved: func(int) { <-listens }})
	next := h.Wait(lock.Request{Name: lock.Task("1"), Agent: "next", Claim: 5 * time.Second, TTL: time.Minute})
	h.Free("holder", lock.Task("1"))
	unclaimed := h.Of(lock.Task("1")).Holders[0]
	require.Equal(t, "deaf", unclaimed.Agent)
	require.Equal(t, unclaimed.Acquired.Add(5*time.Second), unclaimed.Expires)
	h.Clock.Pass(5 * time.Second)
	g := h.Granted(next)
	require.Equal(t, unclaimed.Expires, g.Acquired)
	g, err := h.Renew(ctx, "t", lock.Holding{Name: g.Name, Agent: "next", Token: g.Token}, 0, engine.WAL)
	require.NoError(t, err)
	require.Equal(t, h.KV.Now().Add(time.Minute), g.Expires)
	close(listens)
	h.Answered(deaf)
	require.Equal(t, g.Token, h.Of(lock.Task("1")).Holders[0].Token, "it is too late")
}
