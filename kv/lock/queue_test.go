package lock

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
	"github.com/stoadb/stoa/kv"
)

// served releases a lock again and again, and returns in which order the calls got it.
func (h *host) served(name string, calls map[string]*call) (order []string) {
	h.t.Helper()
	for range len(calls) {
		l, err := h.Get("t", name)
		require.NoError(h.t, err)
		require.Len(h.t, l.Holders, 1)
		h.release(l.Holders[0].Agent, name)
		l, err = h.Get("t", name)
		require.NoError(h.t, err)
		order = append(order, l.Holders[0].Agent)
		h.granted(calls[l.Holders[0].Agent])
	}
	return order
}

func TestA25FirstComeFirstServed(t *testing.T) {
	h := newHost(t)
	h.acquire("holder", Task("1"), Exclusive)
	calls := map[string]*call{}
	var want []string
	for n := range 100 {
		agent := fmt.Sprintf("a%02d", n)
		calls[agent] = h.wait(Request{Name: Task("1"), Agent: agent})
		want = append(want, agent)
	}
	require.Equal(t, want, h.served(Task("1"), calls))
}

func TestA26PriorityThenArrival(t *testing.T) {
	h := newHost(t)
	h.acquire("holder", Task("1"), Exclusive)
	calls := map[string]*call{}
	for n, priority := range []int{1, 100, 50, 100, 1} {
		agent := fmt.Sprint("a", n)
		calls[agent] = h.wait(Request{Name: Task("1"), Agent: agent, Priority: priority})
	}
	require.Equal(t, []string{"a1", "a3", "a2", "a0", "a4"}, h.served(Task("1"), calls))
}

func TestA24PlacesInTheQueue(t *testing.T) {
	h := newHost(t)
	h.acquire("holder", Task("1"), Exclusive)
	var mu sync.Mutex
	var places []int
	first := h.wait(Request{Name: Task("1"), Agent: "a"})
	second := h.wait(Request{Name: Task("1"), Agent: "b", Moved: func(place int) {
		mu.Lock()
		defer mu.Unlock()
		places = append(places, place)
	}})
	l, err := h.Get("t", Task("1"))
	require.NoError(t, err)
	require.Equal(t, 2, l.Waiting)
	first.cancel()
	h.answered(first)
	require.ErrorIs(t, first.err, context.Canceled)
	h.soon("it is told", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return slices.Equal(places, []int{2, 1})
	})
	h.release("holder", Task("1"))
	h.granted(second)
}

func TestA27A28WhoWaitsForLongEnoughIsTold(t *testing.T) {
	h := newHost(t)
	h.set(Config{DefaultTTL: 20 * time.Minute})
	h.acquire("holder", Task("1"), Exclusive)
	short, plain := h.wait(Request{Name: Task("1"), Agent: "a", MaxWait: 2 * time.Second}), h.wait(Request{Name: Task("1"), Agent: "b"})
	h.clock.Pass(2*time.Second - time.Millisecond)
	h.waits(short)
	h.clock.Pass(time.Millisecond)
	h.answered(short)
	require.ErrorIs(t, short.err, ErrWaitTimeout)
	h.clock.Pass(PlainWait - 2*time.Second - time.Millisecond)
	h.waits(plain)
	h.clock.Pass(time.Millisecond)
	h.answered(plain)
	require.ErrorIs(t, plain.err, ErrWaitTimeout)
	h.release("holder", Task("1"))
	l, err := h.Get("t", Task("1"))
	require.NoError(t, err)
	require.Equal(t, Free, l.Mode, "nobody is promoted later")
}

func TestA29OneEntryForAnAgent(t *testing.T) {
	h := newHost(t)
	h.acquire("holder", Task("1"), Exclusive)
	first := h.wait(Request{Name: Task("1"), Agent: "a"})
	between := h.wait(Request{Name: Task("1"), Agent: "b"})
	second := h.wait(Request{Name: Task("1"), Agent: "a"})
	require.Len(t, h.Queue("t", Task("1")), 2)
	_, err := h.try("a", Task("1"), Exclusive)
	require.ErrorIs(t, err, ErrHeld)
	first.cancel() // the other call waits on, in its place
	h.answered(first)
	require.ErrorIs(t, first.err, context.Canceled)
	h.release("holder", Task("1"))
	g := h.granted(second)
	h.waits(between)
	require.Equal(t, g.Token, h.acquire("a", Task("1"), Exclusive).Token)
	h.release("a", Task("1"))
	h.granted(between)
	name := Resource("db", "1")
	h.acquire("x", name, Exclusive)
	h.wait(Request{Name: name, Agent: "y", Mode: Shared}).cancel()
	shared := h.wait(Request{Name: name, Agent: "z", Mode: Shared})
	_, err = h.Acquire(ctx, "t", Request{Name: name, Agent: "z", Wait: true})
	require.ErrorIs(t, err, ErrInvalidArgument, "it waits to share it")
	h.release("x", name)
	h.granted(shared)
}

// Whoever waited before others, and is gone, holds up nobody: not in the queue, and not
// once it was given the lock.
func TestA30WhoIsGoneHoldsUpNobody(t *testing.T) {
	h := newHost(t)
	name := Resource("db", "1")
	h.acquire("s", name, Shared)
	x := h.wait(Request{Name: name, Agent: "x"})
	s2 := h.wait(Request{Name: name, Agent: "s2", Mode: Shared})
	h.waits(s2)
	x.cancel()
	h.granted(s2) // the writer was all that kept it from it
	late := h.wait(Request{Name: name, Agent: "late"})
	for range max(enginetest.Scale(200), 20) {
		gone := h.wait(Request{Name: name, Agent: "gone", Priority: 1})
		var both sync.WaitGroup
		both.Go(gone.cancel)
		both.Go(func() {
			h.release("s", name)
			h.release("s2", name)
		})
		both.Wait()
		h.answered(gone)
		if gone.err == nil {
			h.release("gone", name)
		}
		h.granted(late)
		h.acquireShared("s", "s2", name, &late)
	}
}

// acquireShared brings it back to two that share the lock, and one that waits.
func (h *host) acquireShared(a, b, name string, late **call) {
	h.release("late", name)
	h.acquire(a, name, Shared)
	h.acquire(b, name, Shared)
	*late = h.wait(Request{Name: name, Agent: "late"})
}

// Who is promoted and does not claim it in time has it no longer.
func TestA30ALockThatIsNotClaimedGoesToTheNext(t *testing.T) {
	h := newHost(t)
	h.acquire("holder", Task("1"), Exclusive)
	deaf := h.wait(Request{Name: Task("1"), Agent: "deaf", Claim: 5 * time.Second, TTL: time.Minute})
	next := h.wait(Request{Name: Task("1"), Agent: "next", Claim: 5 * time.Second, TTL: time.Minute})
	h.release("holder", Task("1"))
	h.granted(deaf)
	h.clock.Pass(5 * time.Second)
	g := h.granted(next)
	require.Equal(t, g.Acquired.Add(5*time.Second), g.Expires)
	g, err := h.Renew(ctx, "t", Holding{g.Name, "next", g.Token}, 0, engine.WAL)
	require.NoError(t, err)
	require.Equal(t, h.kv.Now().Add(time.Minute), g.Expires)
}

func TestA35AllLocksOfAnAgent(t *testing.T) {
	h := newHost(t)
	n := 1500 // more than a transaction reads at once
	for i := range n {
		h.acquire("a", Task(fmt.Sprint(i)), Exclusive)
	}
	h.acquire("a", Resource("db", "1"), Shared)
	h.acquire("b", Resource("db", "1"), Shared)
	one, two := h.wait(Request{Name: Task("7"), Agent: "b"}), h.wait(Request{Name: Task("1400"), Agent: "c"})
	released, err := h.ReleaseAll(ctx, "t", "a", engine.WAL)
	require.NoError(t, err)
	require.Equal(t, n+1, released)
	require.Equal(t, "b", h.granted(one).Agent)
	h.granted(two)
	held, err := h.Held(ctx, "t", "a")
	require.NoError(t, err)
	require.Empty(t, held)
	released, err = h.ReleaseAll(ctx, "t", "a", engine.WAL)
	require.NoError(t, err)
	require.Zero(t, released)
}

func TestBoundsOfWaiting(t *testing.T) {
	h := newHost(t)
	var calls []*call
	defer func() {
		for _, c := range calls {
			c.cancel()
			h.answered(c)
		}
	}()
	for n := range MaxWaits + 1 {
		h.acquire("holder", Task(fmt.Sprint(n)), Exclusive)
	}
	for n := range MaxWaits {
		calls = append(calls, h.wait(Request{Name: Task(fmt.Sprint(n)), Agent: "a"}))
	}
	_, err := h.Acquire(ctx, "t", Request{Name: Task(fmt.Sprint(MaxWaits)), Agent: "a", Wait: true})
	var e *Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, CodeTooMany, e.Code)
	require.EqualValues(t, MaxWaits, e.Limit)
	require.Equal(t, "agent", e.Field)
	for n := 1; n < MaxQueue; n++ {
		calls = append(calls, h.wait(Request{Name: Task("0"), Agent: fmt.Sprint("b", n)}))
	}
	_, err = h.Acquire(ctx, "t", Request{Name: Task("0"), Agent: "c", Wait: true})
	require.ErrorAs(t, err, &e)
	require.Equal(t, CodeTooMany, e.Code)
	require.EqualValues(t, MaxQueue, e.Limit)
	require.Equal(t, "name", e.Field)
}

func TestBoundsOfATenantAndOfSharing(t *testing.T) {
	h := newHost(t)
	name := Resource("db", "1")
	for n := range MaxHolders {
		h.acquire(fmt.Sprint("s", n), name, Shared)
	}
	_, err := h.try("more", name, Shared)
	require.ErrorIs(t, err, ErrHeld)
	more := h.wait(Request{Name: name, Agent: "more", Mode: Shared})
	h.waits(more)
	h.release("s5", name)
	h.granted(more)
	space, err := h.space("t")
	require.NoError(t, err)
	require.NoError(t, space.SetQuota(ctx, kv.Quota{Keys: 2}))
	h.acquire("a", Task("1"), Exclusive)
	_, err = h.try("a", Task("2"), Exclusive)
	require.ErrorIs(t, err, ErrTooMany)
	h.release("a", Task("1"))
	h.acquire("a", Task("2"), Exclusive)
}

// A tenant that is dropped takes its locks with it, and tells those who wait.
func TestATenantThatIsDropped(t *testing.T) {
	h := newHost(t)
	h.acquire("a", Task("1"), Exclusive)
	w := h.wait(Request{Name: Task("1"), Agent: "b"})
	_, err := h.kv.DropTenant(ctx, "t")
	require.NoError(t, err)
	h.acquire("c", Task("1"), Exclusive)
	h.answered(w)
	require.ErrorIs(t, w.err, ErrCancelled)
}

func TestWhoWaitsIsToldThatTheStoreIsClosed(t *testing.T) {
	h := newHost(t)
	h.acquire("a", Task("1"), Exclusive)
	w := h.wait(Request{Name: Task("1"), Agent: "b"})
	h.Store.Close()
	h.answered(w)
	require.ErrorIs(t, w.err, ErrCancelled)
	_, err := h.try("c", Task("2"), Exclusive)
	require.ErrorIs(t, err, ErrCancelled)
}

func TestA10TimesToLive(t *testing.T) {
	h := newHost(t)
	g := h.acquire("a", Task("1"), Exclusive)
	h.set(Config{DefaultTTL: 5 * time.Second, MaxTTL: 10 * time.Second})
	again, err := h.Renew(ctx, "t", Holding{Name: Task("1"), Agent: "a"}, 0, engine.WAL)
	require.NoError(t, err)
	require.Equal(t, g.Expires, again.Expires, "an earlier grant is as it was")
	g = h.acquire("a", Task("2"), Exclusive)
	require.Equal(t, 5*time.Second, g.Expires.Sub(g.Acquired))
	require.Equal(t, 10*time.Second, g.Until.Sub(g.Acquired))
	_, err = h.Acquire(ctx, "t", Request{Name: Task("3"), Agent: "a", TTL: 11 * time.Second})
	require.ErrorIs(t, err, ErrMaxTTL)
}

func TestA20UpgradeAndDowngrade(t *testing.T) {
	h := newHost(t)
	name := Resource("db", "1")
	first := h.acquire("a", name, Shared)
	up := h.acquire("a", name, Exclusive)
	require.Greater(t, up.Token, first.Token)
	require.Equal(t, first.Until, up.Until, "it is held no longer for that")
	b := h.wait(Request{Name: name, Agent: "b", Mode: Shared})
	down, err := h.Downgrade(ctx, "t", Holding{name, "a", up.Token}, engine.WAL)
	require.NoError(t, err)
	require.Greater(t, down.Token, up.Token)
	h.granted(b)
	x := h.wait(Request{Name: name, Agent: "x", Mode: Exclusive, Priority: TopPriority})
	upgrade := h.wait(Request{Name: name, Agent: "a", Mode: Exclusive})
	_, err = h.Acquire(ctx, "t", Request{Name: name, Agent: "b", Mode: Exclusive, Wait: true})
	var e *Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, CodeDeadlock, e.Code)
	require.Equal(t, []string{"b", "a"}, e.Cycle)
	h.release("b", name)
	require.Equal(t, Exclusive, h.granted(upgrade).Mode, "before who waits for it, too")
	h.waits(x)
	h.release("a", name)
	h.granted(x)
	_, err = h.Downgrade(ctx, "t", Holding{Name: Task("1"), Agent: "a"}, engine.WAL)
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = h.try("a", Task("1"), Shared)
	require.ErrorIs(t, err, ErrInvalidArgument)
}

// Who has waited for long enough gets nothing any more, also where somebody else settles
// the lock before the watchman comes: it never comes here.
func TestWhoHasWaitedForLongEnoughGetsNothing(t *testing.T) {
	h := newHost(t)
	h.set(Config{MaxTTL: time.Minute, Heartbeat: MaxTTL})
	name := Task("1")
	_, err := h.Acquire(ctx, "t", Request{Name: name, Agent: "a", TTL: 7 * time.Second, Durability: engine.WAL})
	require.NoError(t, err)
	late := h.wait(Request{Name: name, Agent: "late", TTL: time.Second, MaxWait: 2 * time.Second})
	next := h.wait(Request{Name: name, Agent: "next", TTL: time.Second, MaxWait: time.Minute})
	h.Store.mu.Lock()
	tenant := h.tenants["t"]
	h.Store.mu.Unlock()
	tenant.mu.Lock()
	h.alarms.stop(&tenant.waiting(name, "late").until)
	tenant.mu.Unlock()
	h.clock.Pass(8 * time.Second)
	require.Equal(t, "next", h.granted(next).Agent)
	h.waits(late)
	late.cancel()
	h.answered(late)
	require.ErrorIs(t, late.err, context.Canceled)
}

// Who wants its place once is not woken whenever another goes, unless another call of its
// agent is to be told of it.
func TestA24APlaceIsToldOnceWhereThatIsEnough(t *testing.T) {
	h := newHost(t)
	h.acquire("holder", Task("1"), Exclusive)
	first := h.wait(Request{Name: Task("1"), Agent: "first"})
	h.waits(first)
	told := make(chan int, 10)
	once := h.wait(Request{Name: Task("1"), Agent: "once", PlaceOnce: true, Moved: func(place int) { told <- place }})
	h.waits(once)
	require.Equal(t, 2, <-told)
	h.mu.Lock()
	tenant := h.tenants["t"]
	h.mu.Unlock()
	tenant.mu.Lock()
	w := tenant.waits["once"][0]
	tenant.mu.Unlock()
	h.release("holder", Task("1"))
	h.granted(first)
	require.Empty(t, w.moved, "nobody is woken")
	h.release("first", Task("1"))
	h.granted(once)
	require.Empty(t, told)
}
