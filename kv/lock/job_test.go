package lock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/lock/locktest"
)

// A job of lock_cleanup gives a lock whose time is over to who waits, whether it is named or
// not.
func TestA87SettleGivesWhatIsOverToWhoWaits(t *testing.T) {
	for _, name := range []string{"", Task("1"), "ade:{lock:task:1}"} {
		h := locktest.Open(t, locktest.Setup{})
		h.Set(Config{DefaultTTL: 10 * time.Second})
		h.Take("a", Task("1"), Exclusive)
		b := h.Wait(Request{Name: Task("1"), Agent: "b", MaxWait: time.Hour})
		require.NoError(t, h.Store.Settle(ctx, "t", name))
		h.Waits(b)
		h.Clock.Oversleep(10 * time.Second) // no alarm rings
		require.NoError(t, h.Store.Settle(ctx, "t", name))
		require.Equal(t, "b", h.Granted(b).Agent)
	}
	h := locktest.Open(t, locktest.Setup{})
	require.NoError(t, h.Store.Settle(ctx, "nobody", ""))
	require.ErrorIs(t, h.Store.Settle(ctx, "t", "ade:lock:nothing"), ErrInvalidArgument)
}

// A job of deadlock_detect does what the sweep does, which does not come by itself where
// others are to do it.
func TestA87SweepIsLeftToOthers(t *testing.T) {
	h := locktest.Open(t, locktest.Setup{NoSweep: true})
	h.Set(Config{IgnoreDeadlocks: true, DefaultTTL: time.Hour})
	h.Take("a", Task("1"), Exclusive)
	h.Take("b", Task("2"), Exclusive)
	a := h.Wait(Request{Name: Task("2"), Agent: "a", MaxWait: time.Hour})
	b := h.Wait(Request{Name: Task("1"), Agent: "b", MaxWait: time.Hour})
	require.False(t, h.Store.Sweeps("t"))
	require.NoError(t, h.Store.Sweep(ctx, "t"))
	h.Waits(a)
	h.Waits(b)
	h.KeyIs("ade:lock:deadlock:check:a", `"2026-03-01T12:00:00Z"`)
	h.Set(Config{DefaultTTL: time.Hour})
	h.Clock.Pass(29 * time.Second)
	require.NoError(t, h.Store.Sweep(ctx, "t"))
	h.Waits(a) // A40: it is not looked at again before its time
	h.Waits(b)
	h.Clock.Pass(time.Second)
	require.NoError(t, h.Store.Sweep(ctx, "t"))
	select {
	case <-a.Done:
		require.ErrorIs(t, a.Err, ErrDeadlock)
		b.Cancel()
	case <-b.Done:
		require.ErrorIs(t, b.Err, ErrDeadlock)
		a.Cancel()
	case <-time.After(time.Minute):
		require.Fail(t, "the sweep finds nothing")
	}
	h.Answered(a)
	h.Answered(b)
	require.NoError(t, h.Store.Sweep(ctx, "nobody"))
}
