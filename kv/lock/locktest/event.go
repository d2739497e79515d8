package locktest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/lock"
)

// Watched returns the first events that a watch tells, but for that it is in step.
func (h *Host) Watched(o lock.WatchOptions, n int) (list []lock.Event) {
	h.T.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for e, err := range h.Watch(ctx, "t", o) {
		require.NoError(h.T, err)
		if e.Kind == lock.EventSynced {
			continue
		}
		if list = append(list, e); len(list) == n {
			break
		}
	}
	return list
}

// lines are events as a test spells them.
func lines(events []lock.Event) (list []string) {
	for _, e := range events {
		list = append(list, fmt.Sprintf("%s:%s %s %d", e.Kind, e.Agent, e.Mode, e.Holders))
	}
	return list
}

// A client renews what it has waited for, so that how far revisions are apart is not the same
// however locks are reached.
func a12A24A31EventsInOrder(t *testing.T, h *Host) {
	name := lock.Resource("db", "1")
	h.Take("a", name, lock.Shared)
	h.Take("b", name, lock.Shared)
	x := h.Wait(lock.Request{Name: name, Agent: "x"})
	h.Take("other", lock.Task("1"), lock.Exclusive)
	_, err := h.Renew(ctx, "t", lock.Holding{Name: name, Agent: "a"}, 0, engine.WAL)
	require.NoError(t, err)
	h.Free("a", name)
	h.Free("b", name)
	h.Granted(x)
	y, z := h.Wait(lock.Request{Name: name, Agent: "y", Mode: lock.Shared}), h.Wait(lock.Request{Name: name, Agent: "z", Mode: lock.Shared})
	_, err = h.Downgrade(ctx, "t", lock.Holding{Name: name, Agent: "x"}, engine.WAL)
	require.NoError(t, err)
	h.Granted(y)
	h.Granted(z)
	for _, agent := range []string{"x", "y", "z"} {
		h.Free(agent, name)
	}
	want := []string{
		"acquired:a shared 1", "acquired:b shared 2", "queued:x shared 2", "released:a shared 1",
		"released:b free 0", "promoted:x exclusive 1", "queued:y exclusive 1", "queued:z exclusive 1",
		"downgraded:x shared 1", "promoted:y shared 2", "promoted:z shared 3",
		"released:x shared 2", "released:y shared 1", "released:z free 0",
	}
	all := h.Watched(lock.WatchOptions{Name: name, Resume: true}, len(want))
	require.Equal(t, want, lines(all))
	for i := range all[1:] {
		require.Greater(t, all[i+1].Revision, all[i].Revision)
	}
	require.Equal(t, all[4].Revision+1, all[5].Revision, "who is next has it with the release")
	require.Equal(t, all[6:], h.Watched(lock.WatchOptions{Name: name, Resume: true, After: all[5].Revision}, len(want)-6))
	after := lock.WatchOptions{Resume: true, After: all[2].Revision}
	require.Equal(t, []string{"acquired:other exclusive 1", "released:a shared 1"}, lines(h.Watched(after, 2)))
	after.Renewals = true
	require.Equal(t, "renewed:a shared 2", lines(h.Watched(after, 2))[1])
}

func a11A17ExpiryIsOneEvent(t *testing.T, h *Host) {
	name := lock.Resource("db", "1")
	for n, ttl := range []time.Duration{3 * time.Second, time.Second, 2 * time.Second} {
		_, err := h.Acquire(ctx, "t", lock.Request{Name: name, Agent: fmt.Sprint("s", n), Mode: lock.Shared, TTL: ttl})
		require.NoError(t, err)
	}
	h = h.Reopen() // which is to know of them too
	h.Take("nobody", lock.Task("1"), lock.Exclusive)
	expired := lock.WatchOptions{Name: name, Resume: true, After: 3}
	want := []string{"expired:s1 shared 2", "expired:s2 shared 1", "expired:s0 free 0"}
	for n := range 3 {
		require.Len(t, h.Of(name).Holders, 3-n)
		h.Clock.Pass(time.Second)
		require.Len(t, h.Of(name).Holders, 2-n, "from that moment on")
		require.Equal(t, want[:n+1], lines(h.Watched(expired, n+1)))
	}
}

// One that nobody looked after until all of its holders' time was over.
func a17AllExpireAtOnce(t *testing.T, h *Host) {
	name := lock.Resource("db", "1")
	for n := range 3 {
		h.Take(fmt.Sprint("s", n), name, lock.Shared)
	}
	h.Clock.Oversleep(time.Minute)
	h.Take("x", name, lock.Exclusive)
	got := h.Watched(lock.WatchOptions{Name: name, Resume: true, After: 3}, 4)
	require.Equal(t, []string{"expired:s0 shared 2", "expired:s1 shared 1", "expired:s2 free 0", "acquired:x exclusive 1"}, lines(got))
	require.Equal(t, []uint64{4, 4, 4, 5}, []uint64{got[0].Revision, got[1].Revision, got[2].Revision, got[3].Revision})
}
