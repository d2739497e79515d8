package locktest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/lock"
)

func a15A16A18A19SharedLocks(t *testing.T, h *Host) {
	name := lock.Resource("database", "prod")
	for n := range 10 {
		h.Take(fmt.Sprint("s", n), name, lock.Shared)
	}
	require.Len(t, h.Of(name).Holders, 10)
	_, err := h.Try("x", name, lock.Exclusive)
	require.ErrorIs(t, err, lock.ErrHeld)
	x := h.Wait(lock.Request{Name: name, Agent: "x", Mode: lock.Exclusive})
	_, err = h.Try("late", name, lock.Shared)
	require.ErrorIs(t, err, lock.ErrHeld, "a writer waits")
	for n := range 10 {
		h.Waits(x)
		require.True(t, h.Free(fmt.Sprint("s", n), name))
	}
	h.Granted(x)
	for _, mode := range []lock.Mode{lock.Shared, lock.Exclusive} {
		_, err := h.Try("late", name, mode)
		require.ErrorIs(t, err, lock.ErrHeld)
	}
	var calls []*Call
	for _, r := range []lock.Request{{Agent: "s1", Mode: lock.Shared}, {Agent: "s2", Mode: lock.Shared}, {Agent: "x2", Mode: lock.Exclusive}, {Agent: "s3", Mode: lock.Shared}} {
		r.Name = name
		calls = append(calls, h.Wait(r))
	}
	require.True(t, h.Free("x", name))
	first, second := h.Granted(calls[0]), h.Granted(calls[1])
	require.Equal(t, first.Token+1, second.Token, "in one batch")
	h.Waits(calls[2])
	h.Free("s1", name)
	h.Waits(calls[2])
	h.Free("s2", name)
	h.Granted(calls[2])
	h.Waits(calls[3])
	h.Free("x2", name)
	h.Granted(calls[3])
}

func a20UpgradeAndDowngrade(t *testing.T, h *Host) {
	name := lock.Resource("db", "1")
	first := h.Take("a", name, lock.Shared)
	up := h.Take("a", name, lock.Exclusive)
	require.Greater(t, up.Token, first.Token)
	require.Equal(t, first.Until, up.Until, "it is held no longer for that")
	b := h.Wait(lock.Request{Name: name, Agent: "b", Mode: lock.Shared})
	down, err := h.Downgrade(ctx, "t", lock.Holding{Name: name, Agent: "a", Token: up.Token}, engine.WAL)
	require.NoError(t, err)
	require.Greater(t, down.Token, up.Token)
	h.Granted(b)
	x := h.Wait(lock.Request{Name: name, Agent: "x", Mode: lock.Exclusive, Priority: lock.TopPriority})
	upgrade := h.Wait(lock.Request{Name: name, Agent: "a", Mode: lock.Exclusive})
	_, err = h.Acquire(ctx, "t", lock.Request{Name: name, Agent: "b", Mode: lock.Exclusive, Wait: true})
	require.Equal(t, []string{"b", "a"}, h.refused(err, lock.CodeDeadlock).Cycle)
	h.Free("b", name)
	require.Equal(t, lock.Exclusive, h.Granted(upgrade).Mode, "before who waits for it, too")
	h.Waits(x)
	h.Free("a", name)
	h.Granted(x)
	_, err = h.Downgrade(ctx, "t", lock.Holding{Name: lock.Task("1"), Agent: "a"}, engine.WAL)
	require.ErrorIs(t, err, lock.ErrInvalidArgument)
	_, err = h.Try("a", lock.Task("1"), lock.Shared)
	require.ErrorIs(t, err, lock.ErrInvalidArgument)
}
