package locktest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/lock"
)

func a3A4AFreeTaskAndOneThatIsHeld(t *testing.T, h *Host) {
	g, err := h.Acquire(ctx, "t", lock.Request{Name: lock.Task("1"), Agent: "a", Purpose: "to migrate"})
	require.NoError(t, err)
	now := h.KV.Now()
	require.Equal(t, lock.Grant{Name: "task:1", Agent: "a", Mode: lock.Exclusive, Token: 1, Acquired: now, Expires: now.Add(30 * time.Second), Until: now.Add(time.Hour), Purpose: "to migrate"}, g)
	h.Clock.Pass(10 * time.Second)
	before := h.Of(lock.Task("1"))
	_, err = h.Try("b", lock.Task("1"), lock.Exclusive)
	e := h.refused(err, lock.CodeHeld)
	require.Equal(t, []string{"a"}, e.Holders)
	require.Equal(t, 20*time.Second, e.Remaining)
	require.Equal(t, "task:1", e.Lock)
	require.Equal(t, before, h.Of(lock.Task("1")))
	again, err := h.Renew(ctx, "t", lock.Holding{Name: lock.Task("1"), Agent: "a", Token: g.Token}, 0, engine.WAL)
	require.NoError(t, err)
	require.Equal(t, g.Token, again.Token)
}

func a5AHolderAcquiresAgain(t *testing.T, h *Host) {
	g := h.Take("a", lock.Task("1"), lock.Exclusive)
	h.Clock.Pass(10 * time.Second)
	again := h.Take("a", lock.Task("1"), lock.Exclusive)
	require.Equal(t, g.Token, again.Token)
	require.Equal(t, g.Acquired, again.Acquired)
	require.Equal(t, g.Expires.Add(10*time.Second), again.Expires)
	require.Zero(t, again.Heartbeats)
}

// Fifty clients take turns with a lock: nobody ever holds it beside another, and each has a
// greater token than the one before.
func a6NeverTwoHolders(t *testing.T, h *Host) {
	const clients, turns = 50, 4
	var inside atomic.Int32
	var last uint64 // of who is inside
	var all sync.WaitGroup
	errs := make(chan error, clients)
	for n := range clients {
		agent := fmt.Sprint("a", n)
		all.Go(func() {
			for range turns {
				g, err := h.Acquire(ctx, "t", lock.Request{Name: lock.Task("1"), Agent: agent, Wait: true, PlaceOnce: true, Durability: engine.WAL})
				if err != nil {
					errs <- err
					return
				}
				if inside.Add(1) > 1 || g.Token <= last {
					errs <- fmt.Errorf("%s is not alone, or has the token %d after %d", agent, g.Token, last)
					return
				}
				last = g.Token
				inside.Add(-1)
				if held, err := h.Release(ctx, "t", lock.Holding{Name: g.Name, Agent: agent, Token: g.Token}, engine.WAL); err != nil || !held {
					errs <- fmt.Errorf("%s does not hold it: %w", agent, err)
					return
				}
			}
		})
	}
	all.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	require.GreaterOrEqual(t, last, uint64(clients*turns))
}

func a7A13A14TokensGrowAndReleasesAreTheHolders(t *testing.T, h *Host) {
	first := h.Take("a", lock.Task("1"), lock.Exclusive)
	require.False(t, h.Free("b", lock.Task("1")))
	h.Clock.Pass(30 * time.Second)
	second := h.Take("b", lock.Task("1"), lock.Exclusive)
	require.Greater(t, second.Token, first.Token)
	held, err := h.Release(ctx, "t", lock.Holding{Name: lock.Task("1"), Agent: "a", Token: first.Token}, engine.WAL)
	require.NoError(t, err)
	require.False(t, held)
	_, err = h.Try("c", lock.Task("1"), lock.Exclusive)
	require.ErrorIs(t, err, lock.ErrHeld)
	require.True(t, h.Free("b", lock.Task("1")))
	require.False(t, h.Free("b", lock.Task("1")))
	h = h.Reopen()
	require.Greater(t, h.Take("a", lock.Task("1"), lock.Exclusive).Token, second.Token, "after the next process has begun, too")
}

func a7WritesWithATokenThatIsNotThePresentOneAreFenced(t *testing.T, h *Host) {
	for way, write := range h.Writes() {
		name := lock.Resource("way", way)
		fenced := func(token uint64, now uint64) {
			t.Helper()
			require.Equal(t, now, h.refused(write(lock.Guard{Name: name, Token: token}), lock.CodeFenced).Token, way)
		}
		fenced(1, 0)
		first := h.Take("a", name, lock.Exclusive)
		require.NoError(t, write(lock.Guard{Name: name, Token: first.Token}), way)
		fenced(first.Token+1, first.Token)
		h.Clock.Pass(30 * time.Second)
		fenced(first.Token, 0)
		second := h.Take("b", name, lock.Exclusive)
		fenced(first.Token, second.Token)
		require.NoError(t, write(lock.Guard{Name: name, Token: second.Token}), way)
		down, err := h.Downgrade(ctx, "t", lock.Holding{Name: name, Agent: "b"}, engine.WAL)
		require.NoError(t, err)
		fenced(second.Token, down.Token)
		third := h.Take("c", name, lock.Shared)
		require.NoError(t, write(lock.Guard{Name: name, Token: down.Token}, lock.Guard{Name: name, Token: third.Token}), way)
		h.Free("b", name)
		fenced(down.Token, third.Token)
		require.NoError(t, write(lock.Guard{Name: name, Token: third.Token}), way)
		h.Free("c", name)
		fenced(third.Token, 0)
		require.NoError(t, write(), way)
		h.refused(write(lock.Guard{Name: "nonsense", Token: 1}), lock.CodeInvalidArgument)
		h.refused(write(lock.Guard{Name: name}), lock.CodeInvalidArgument)
		h.refused(write(make([]lock.Guard, lock.MaxGuards+1)...), lock.CodeTooMany)
	}
}

func a8A9HeartbeatsUpToTheEnd(t *testing.T, h *Host) {
	h.Set(lock.Config{MaxTTL: time.Minute})
	g := h.Take("a", lock.Task("1"), lock.Exclusive)
	holding := lock.Holding{Name: lock.Task("1"), Agent: "a"}
	for beat := range 3 {
		h.Clock.Pass(10 * time.Second)
		again, err := h.Renew(ctx, "t", holding, 0, engine.WAL)
		require.NoError(t, err)
		require.EqualValues(t, beat+1, again.Heartbeats)
		require.Equal(t, min(g.Acquired.Add(time.Duration(beat+1)*10*time.Second+30*time.Second).Unix(), g.Until.Unix()), again.Expires.Unix())
	}
	_, err := h.Renew(ctx, "t", holding, 0, engine.WAL)
	require.ErrorIs(t, err, lock.ErrMaxTTL)
	_, err = h.Renew(ctx, "t", lock.Holding{Name: lock.Task("1"), Agent: "b"}, 0, engine.WAL)
	require.ErrorIs(t, err, lock.ErrNotHolder)
	_, err = h.Renew(ctx, "t", lock.Holding{Name: lock.Task("1"), Agent: "a", Token: 99}, 0, engine.WAL)
	require.ErrorIs(t, err, lock.ErrNotHolder)
	h.Clock.Pass(30 * time.Second)
	_, err = h.Renew(ctx, "t", holding, 0, engine.WAL)
	require.ErrorIs(t, err, lock.ErrNotHolder, "it is not revived")
	_, err = h.Acquire(ctx, "t", lock.Request{Name: lock.Task("2"), Agent: "a", TTL: 61 * time.Second})
	require.ErrorIs(t, err, lock.ErrMaxTTL)
}

func a10TimesToLive(t *testing.T, h *Host) {
	g := h.Take("a", lock.Task("1"), lock.Exclusive)
	h.Set(lock.Config{DefaultTTL: 5 * time.Second, MaxTTL: 10 * time.Second})
	again, err := h.Renew(ctx, "t", lock.Holding{Name: lock.Task("1"), Agent: "a"}, 0, engine.WAL)
	require.NoError(t, err)
	require.Equal(t, g.Expires, again.Expires, "an earlier grant is as it was")
	g = h.Take("a", lock.Task("2"), lock.Exclusive)
	require.Equal(t, 5*time.Second, g.Expires.Sub(g.Acquired))
	require.Equal(t, 10*time.Second, g.Until.Sub(g.Acquired))
	_, err = h.Acquire(ctx, "t", lock.Request{Name: lock.Task("3"), Agent: "a", TTL: 11 * time.Second})
	require.ErrorIs(t, err, lock.ErrMaxTTL)
}
