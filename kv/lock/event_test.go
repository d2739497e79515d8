package lock

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv/kvtest"
)

// told returns what a watch tells up to a revision.
func (h *host) told(o WatchOptions, until uint64) (list []string) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for e, err := range h.Watch(ctx, "t", o) {
		require.NoError(h.t, err)
		if e.Kind != EventSynced {
			list = append(list, fmt.Sprintf("%d %s:%s %s %d", e.Revision, e.Kind, e.Agent, e.Mode, e.Holders))
		}
		if e.Revision >= until {
			break
		}
	}
	return list
}

func TestA12A24A31EventsInOrder(t *testing.T) {
	h := newHost(t)
	name := Resource("db", "1")
	h.acquire("a", name, Shared)
	h.acquire("b", name, Shared)
	x := h.wait(Request{Name: name, Agent: "x"})
	h.acquire("other", Task("1"), Exclusive)
	_, err := h.Renew(ctx, "t", Holding{Name: name, Agent: "a"}, 0, engine.WAL)
	require.NoError(t, err)
	h.release("a", name)
	h.release("b", name)
	h.granted(x)
	y, z := h.wait(Request{Name: name, Agent: "y", Mode: Shared}), h.wait(Request{Name: name, Agent: "z", Mode: Shared})
	_, err = h.Downgrade(ctx, "t", Holding{Name: name, Agent: "x"}, engine.WAL)
	require.NoError(t, err)
	h.granted(y)
	h.granted(z)
	for _, agent := range []string{"x", "y", "z"} {
		h.release(agent, name)
	}
	want := []string{
		"1 acquired:a shared 1", "2 acquired:b shared 2", "3 queued:x shared 2", "6 released:a shared 1",
		"7 released:b free 0", "8 promoted:x exclusive 1", "9 queued:y exclusive 1", "10 queued:z exclusive 1",
		"11 downgraded:x shared 1", "12 promoted:y shared 2", "13 promoted:z shared 3",
		"14 released:x shared 2", "15 released:y shared 1", "16 released:z free 0",
	}
	require.Equal(t, want, h.told(WatchOptions{Name: name, Resume: true}, 16))
	require.Equal(t, want[6:], h.told(WatchOptions{Name: name, Resume: true, After: 8}, 16))
	require.Equal(t, "4 acquired:other exclusive 1", h.told(WatchOptions{Resume: true, After: 3}, 4)[0])
	require.Equal(t, "5 renewed:a shared 2", h.told(WatchOptions{Resume: true, After: 4, Renewals: true}, 5)[0])
}

func TestA11A17ExpiryIsOneEvent(t *testing.T) {
	db := mem.New()
	t.Cleanup(func() { _ = db.Close() })
	h := openHost(t, db, kvtest.New())
	name := Resource("db", "1")
	for n, ttl := range []time.Duration{3 * time.Second, time.Second, 2 * time.Second} {
		_, err := h.Acquire(ctx, "t", Request{Name: name, Agent: fmt.Sprint("s", n), Mode: Shared, TTL: ttl})
		require.NoError(t, err)
	}
	h = h.reopen() // which is to know of them too
	holders := func() int {
		l, err := h.Get("t", name)
		require.NoError(t, err)
		return len(l.Holders)
	}
	_, err := h.try("nobody", Task("1"), Exclusive)
	require.NoError(t, err)
	for n := range 3 {
		require.Equal(t, 3-n, holders())
		h.clock.Pass(time.Second)
		h.soon("told", func() bool { return h.revision() == uint64(5+n) })
	}
	require.Zero(t, holders())
	require.Equal(t, []string{"5 expired:s1 shared 2", "6 expired:s2 shared 1", "7 expired:s0 free 0"},
		h.told(WatchOptions{Name: name, Resume: true, After: 3}, 7))
}

// One that nobody looked after until all of its holders' time was over.
func TestA17AllExpireAtOnce(t *testing.T) {
	h := newHost(t)
	name := Resource("db", "1")
	for n := range 3 {
		h.acquire(fmt.Sprint("s", n), name, Shared)
	}
	h.clock.Oversleep(time.Minute)
	h.acquire("x", name, Exclusive)
	require.Equal(t, []string{"4 expired:s0 shared 2", "4 expired:s1 shared 1", "4 expired:s2 free 0", "5 acquired:x exclusive 1"},
		h.told(WatchOptions{Name: name, Resume: true, After: 3}, 5))
}

// A watcher that comes too late for the log is told so, once.
func TestA31AWatcherThatMissedSomething(t *testing.T) {
	h := newHost(t)
	for range 4500 {
		h.acquire("a", Task("1"), Exclusive)
		h.release("a", Task("1"))
	}
	require.Equal(t, []string{"9000 missed: free 0"}, h.told(WatchOptions{Resume: true}, 9000))
}
