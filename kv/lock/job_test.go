package lock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A job of lock_cleanup gives a lock whose time is over to who waits, whether it is named or
// not.
func TestA87SettleGivesWhatIsOverToWhoWaits(t *testing.T) {
	for _, name := range []string{"", Task("1"), "ade:{lock:task:1}"} {
		h := newHost(t)
		h.set(Config{DefaultTTL: 10 * time.Second})
		h.acquire("a", Task("1"), Exclusive)
		b := h.wait(Request{Name: Task("1"), Agent: "b", MaxWait: time.Hour})
		require.NoError(t, h.Settle(ctx, "t", name))
		h.waits(b)
		h.clock.Oversleep(10 * time.Second) // no alarm rings
		require.NoError(t, h.Settle(ctx, "t", name))
		require.Equal(t, "b", h.granted(b).Agent)
	}
	h := newHost(t)
	require.NoError(t, h.Settle(ctx, "nobody", ""))
	require.ErrorIs(t, h.Settle(ctx, "t", "ade:lock:nothing"), ErrInvalidArgument)
}

// A job of deadlock_detect does what the sweep does, which does not come by itself where
// others are to do it.
func TestA87SweepIsLeftToOthers(t *testing.T) {
	h := newHost(t)
	h.o.NoSweep = true
	h.set(Config{IgnoreDeadlocks: true, DefaultTTL: time.Hour})
	h.acquire("a", Task("1"), Exclusive)
	h.acquire("b", Task("2"), Exclusive)
	a := h.wait(Request{Name: Task("2"), Agent: "a", MaxWait: time.Hour})
	b := h.wait(Request{Name: Task("1"), Agent: "b", MaxWait: time.Hour})
	require.False(t, h.alarms.isSet(&h.tenants["t"].sweep))
	require.NoError(t, h.Sweep(ctx, "t"))
	h.waits(a)
	h.waits(b)
	h.set(Config{DefaultTTL: time.Hour})
	require.NoError(t, h.Sweep(ctx, "t"))
	select {
	case <-a.done:
		require.ErrorIs(t, a.err, ErrDeadlock)
		b.cancel()
	case <-b.done:
		require.ErrorIs(t, b.err, ErrDeadlock)
		a.cancel()
	case <-time.After(time.Minute):
		require.Fail(t, "the sweep finds nothing")
	}
	h.answered(a)
	h.answered(b)
	require.NoError(t, h.Sweep(ctx, "nobody"))
}
