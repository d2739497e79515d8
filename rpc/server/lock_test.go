package server

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/rpc"
)

// Locks are taken, waited for, renewed and released in both framings; refusals have their
// data, and who hangs up waits no more.
func TestLocksOverTheSocket(t *testing.T) {
	for name, framing := range map[string]rpc.Framing{"frames": rpc.FramingFrames, "grpc": rpc.FramingGRPC} {
		t.Run(name, func(t *testing.T) {
			eng := mem.New()
			store, err := kv.Open(eng, kv.Options{Log: slog.New(slog.DiscardHandler)})
			require.NoError(t, err)
			locks, err := lock.New(store, lock.Options{})
			require.NoError(t, err)
			d := start(t, eng, Options{Locks: locks})
			t.Cleanup(func() {
				d.stop()
				locks.Close()
				require.NoError(t, store.Close())
			})
			l := d.dialAs(t, framing).Locks("acme")
			ctx := t.Context()

			first, err := l.Acquire(ctx, rpc.LockRequest{Name: "task:1", Agent: "a", Purpose: "a deployment", TTL: time.Minute})
			require.NoError(t, err)
			require.NotZero(t, first.Token)
			require.Equal(t, lock.Exclusive, first.Mode)
			require.Equal(t, time.Minute, first.Expires.Sub(first.Acquired))
			_, err = l.Acquire(ctx, rpc.LockRequest{Name: "task:1", Agent: "b"})
			require.ErrorIs(t, err, lock.ErrHeld)
			var refused *lock.Error
			require.ErrorAs(t, err, &refused)
			require.Equal(t, []string{"a"}, refused.Holders)
			require.Equal(t, "task:1", refused.Lock)
			require.InDelta(t, time.Minute, refused.Remaining, float64(20*time.Second))
			_, err = l.Acquire(ctx, rpc.LockRequest{Name: "nothing", Agent: "b"})
			require.ErrorIs(t, err, lock.ErrInvalidArgument)

			at := rpc.LockHolding{Name: "task:1", Agent: "a", Token: first.Token}
			renewed, err := l.Renew(ctx, at, 0, rpc.WAL)
			require.NoError(t, err)
			require.EqualValues(t, 1, renewed.Heartbeats)

			queued := make(chan int, 10)
			gone, hangUp := context.WithCancel(ctx)
			left := make(chan error, 1)
			go func() {
				_, err := l.Acquire(gone, rpc.LockRequest{Name: "task:1", Agent: "gone", Wait: true, Moved: func(place int) { queued <- place }})
				left <- err
			}()
			require.Equal(t, 1, <-queued)
			got := make(chan rpc.LockGrant, 1)
			go func() {
				g, _ := l.Acquire(ctx, rpc.LockRequest{Name: "task:1", Agent: "b", Wait: true, TTL: time.Minute, Moved: func(place int) { queued <- place }})
				got <- g
			}()
			require.Equal(t, 2, <-queued)
			hangUp()
			require.ErrorIs(t, <-left, context.Canceled)
			require.Equal(t, 1, <-queued, "who hung up waits no more")
			now, err := l.Get(ctx, "task:1")
			require.NoError(t, err)
			require.Equal(t, 1, now.Waiting)
			held, err := l.Release(ctx, at, rpc.WAL)
			require.NoError(t, err)
			require.True(t, held)
			next := <-got
			require.Greater(t, next.Token, first.Token)
			require.Equal(t, "b", next.Agent)
			require.Greater(t, time.Until(next.Expires), 30*time.Second, "it is claimed")
			held, err = l.Release(ctx, at, rpc.WAL)
			require.NoError(t, err)
			require.False(t, held)
			shown, err := l.Lookup(ctx, "ade:lock:index:agent:b")
			require.NoError(t, err)
			require.JSONEq(t, `["ade:lock:task:1"]`, string(shown))

			_, err = l.Acquire(ctx, rpc.LockRequest{Name: "resource:r:1", Agent: "b"})
			require.NoError(t, err)
			g, err := l.Downgrade(ctx, rpc.LockHolding{Name: "resource:r:1", Agent: "b"}, rpc.WAL)
			require.NoError(t, err)
			require.Equal(t, lock.Shared, g.Mode)
			wants := make(chan error, 1)
			_, err = l.Acquire(ctx, rpc.LockRequest{Name: "task:2", Agent: "a"})
			require.NoError(t, err)
			go func() {
				_, err := l.Acquire(ctx, rpc.LockRequest{Name: "task:1", Agent: "a", Wait: true, Moved: func(place int) { queued <- place }})
				wants <- err
			}()
			<-queued
			_, err = l.Acquire(ctx, rpc.LockRequest{Name: "task:2", Agent: "b", Wait: true})
			require.ErrorIs(t, err, lock.ErrDeadlock)
			require.ErrorAs(t, err, &refused)
			require.ElementsMatch(t, []string{"a", "b"}, refused.Cycle)
			n, err := l.ReleaseAll(ctx, "b", rpc.WAL)
			require.NoError(t, err)
			require.Equal(t, 2, n)
			require.NoError(t, <-wants)
		})
	}
}
