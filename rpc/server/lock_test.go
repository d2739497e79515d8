package server

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/rpc"
)

// startLocks starts a daemon that has locks.
func startLocks(t *testing.T, o Options) *testDaemon {
	return startLocksOf(t, o, kv.Options{}, lock.Options{})
}

// startLocksOf is startLocks with options of the store and of the locks.
func startLocksOf(t *testing.T, o Options, of kv.Options, locks lock.Options) *testDaemon {
	eng := mem.New()
	of.Log = slog.New(slog.DiscardHandler)
	store, err := kv.Open(eng, of)
	require.NoError(t, err)
	o.Locks, err = lock.New(store, locks)
	require.NoError(t, err)
	d := start(t, eng, o)
	t.Cleanup(func() {
		d.stop()
		o.Locks.Close()
		require.NoError(t, store.Close())
	})
	return d
}

func TestLocksAreListedAndTheirQueuesShown(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		l := startLocks(t, Options{}).dialAs(t, f).Locks("acme")
		ctx := t.Context()
		none, err := l.List(ctx, rpc.LockListOptions{})
		require.NoError(t, err)
		require.Empty(t, none.Locks)
		for _, name := range []string{"task:1", "task:2", "resource:db:1", "resource:file:1"} {
			for _, agent := range []string{"a", "b"} {
				if mode := lock.Shared; agent == "a" || name[0] == 'r' {
					if name[0] == 't' {
						mode = lock.Exclusive
					}
					_, err := l.Acquire(ctx, rpc.LockRequest{Name: name, Agent: agent, Mode: mode})
					require.NoError(t, err)
				}
			}
		}
		names := func(o rpc.LockListOptions) (list []string) {
			for one, err := range l.All(ctx, o) {
				require.NoError(t, err)
				for _, g := range one.Holders {
					require.Equal(t, one.Name, g.Name)
				}
				list = append(list, one.Name)
			}
			return list
		}
		require.Equal(t, []string{"resource:db:1", "resource:file:1", "task:1", "task:2"}, names(rpc.LockListOptions{}))
		require.Equal(t, []string{"resource:db:1", "resource:file:1", "task:1"}, names(rpc.LockListOptions{Limit: 3}))
		require.Equal(t, []string{"resource:db:1", "resource:file:1"}, names(rpc.LockListOptions{Agent: "b"}))
		require.Equal(t, []string{"resource:db:1"}, names(rpc.LockListOptions{Prefix: "resource:db:"}))
		p, err := l.List(ctx, rpc.LockListOptions{Limit: 3})
		require.NoError(t, err)
		require.Len(t, p.Locks, 3)
		p, err = l.List(ctx, rpc.LockListOptions{Cursor: p.Next})
		require.NoError(t, err)
		require.Equal(t, "task:2", p.Locks[0].Name)
		_, err = l.List(ctx, rpc.LockListOptions{Cursor: "nonsense"})
		require.ErrorIs(t, err, lock.ErrInvalidArgument)

		queued := make(chan int, 1)
		waits, hangUp := context.WithCancel(ctx)
		left := make(chan error, 1)
		go func() {
			_, err := l.Acquire(waits, rpc.LockRequest{Name: "task:1", Agent: "b", Wait: true, MaxWait: time.Minute, Priority: 7, Moved: func(place int) { queued <- place }})
			left <- err
		}()
		<-queued
		queue, err := l.Queue(ctx, "task:1")
		require.NoError(t, err)
		require.Len(t, queue, 1)
		require.NotZero(t, queue[0].Since)
		queue[0].Since = 0
		require.Equal(t, rpc.LockWaiting{Name: "task:1", Agent: "b", Mode: lock.Exclusive, Priority: 7, Place: 1, MaxWait: 60_000}, queue[0])
		hangUp()
		require.ErrorIs(t, <-left, context.Canceled)
		_, err = l.Queue(ctx, "nonsense")
		require.ErrorIs(t, err, lock.ErrInvalidArgument)
	})
}

func TestAgentsOverTheSocket(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		l := startLocks(t, Options{}).dialAs(t, f).Locks("acme")
		ctx := t.Context()
		_, err := l.Agent(ctx, "a")
		require.ErrorIs(t, err, lock.ErrNotFound)
		require.ErrorIs(t, l.Heartbeat(ctx, "a", rpc.WAL), lock.ErrNotFound)
		for _, n := range []int{-1, lock.MaxTasks + 1, 1 << 40} {
			require.ErrorIs(t, l.Register(ctx, "a", n, rpc.WAL), lock.ErrInvalidArgument)
		}
		require.NoError(t, l.Register(ctx, "a", 1, rpc.WAL))
		require.NoError(t, l.Register(ctx, "b", 0, rpc.WAL))
		first, err := l.Acquire(ctx, rpc.LockRequest{Name: "task:1", Agent: "a"})
		require.NoError(t, err)
		_, err = l.Acquire(ctx, rpc.LockRequest{Name: "task:2", Agent: "a"})
		require.ErrorIs(t, err, lock.ErrCapacity)
		require.NoError(t, l.Heartbeat(ctx, "a", rpc.WAL))
		a, err := l.Agent(ctx, "a")
		require.NoError(t, err)
		require.False(t, a.Heard.Before(first.Acquired))
		a.Heard = time.Time{}
		require.Equal(t, rpc.LockAgent{Name: "a", Status: lock.Active, MaxTasks: 1, ActiveTasks: 1}, a)
		require.NoError(t, l.Drain(ctx, "a", true, rpc.WAL))
		_, err = l.Acquire(ctx, rpc.LockRequest{Name: "resource:db:1", Agent: "a"})
		require.ErrorIs(t, err, lock.ErrCapacity)
		require.NoError(t, l.Drain(ctx, "a", false, rpc.WAL))
		_, err = l.Acquire(ctx, rpc.LockRequest{Name: "resource:db:1", Agent: "a"})
		require.NoError(t, err)
		var names []string
		for a, err := range l.AllAgents(ctx) {
			require.NoError(t, err)
			names = append(names, a.Name)
		}
		require.Equal(t, []string{"a", "b"}, names)
		p, err := l.Agents(ctx, rpc.LockAgentOptions{Limit: 1})
		require.NoError(t, err)
		require.Len(t, p.Agents, 1)
		require.NotEmpty(t, p.Next)
		require.NoError(t, l.Deregister(ctx, "a", rpc.WAL))
		now, err := l.Get(ctx, "task:1")
		require.NoError(t, err)
		require.Empty(t, now.Holders)
		require.ErrorIs(t, l.Deregister(ctx, "a", rpc.WAL), lock.ErrNotFound)
	})
}

func TestAWatchOfLocksGoesOnWhereItsDaemonWasAway(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		d := newComingAndGoing(t)
		l := d.client(t, f).Locks("acme")
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		change := func(agent string) {
			g, err := d.locks.Acquire(ctx, "acme", lock.Request{Name: "task:1", Agent: agent})
			require.NoError(t, err)
			_, err = d.locks.Release(ctx, "acme", lock.Holding{Name: g.Name, Agent: agent}, rpc.WAL)
			require.NoError(t, err)
		}
		var got []string
		for e, err := range l.Watch(ctx, rpc.LockWatchOptions{Name: "task:1"}) {
			require.NoError(t, err)
			got = append(got, fmt.Sprintf("%d %s:%s", e.Revision, e.Kind, e.Agent))
			switch len(got) {
			case 1:
				change("a")
			case 3:
				d.stop()
				change("b")
				d.up()
			}
			if len(got) == 6 {
				break
			}
		}
		require.Equal(t, []string{"0 synced:", "1 acquired:a", "2 released:a", "3 acquired:b", "4 released:b", "4 synced:"}, got)
		for e, err := range l.Watch(ctx, rpc.LockWatchOptions{Resume: true, After: 3}) {
			require.NoError(t, err)
			require.Equal(t, lock.EventReleased, e.Kind)
			require.EqualValues(t, 4, e.Revision)
			require.False(t, e.At.IsZero())
			break
		}
		for _, err := range l.Watch(ctx, rpc.LockWatchOptions{Name: "nonsense"}) {
			require.ErrorIs(t, err, lock.ErrInvalidArgument)
		}
	})
}

// Requests that wait have a bound of their own: they take no watch's place.
func TestRequestsThatWaitAreBounded(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		d := startLocks(t, Options{MaxLockWaits: 1, MaxKVStreams: 1})
		l := d.dialAs(t, f).Locks("acme")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, err := l.Acquire(ctx, rpc.LockRequest{Name: "task:1", Agent: "a"})
		require.NoError(t, err)
		queued, left := make(chan int, 1), make(chan error, 1)
		go func() {
			_, err := l.Acquire(ctx, rpc.LockRequest{Name: "task:1", Agent: "b", Wait: true, Moved: func(place int) { queued <- place }})
			left <- err
		}()
		<-queued
		_, err = l.Acquire(ctx, rpc.LockRequest{Name: "task:1", Agent: "c", Wait: true})
		require.ErrorIs(t, err, rpc.ErrBusy)
		require.ErrorContains(t, err, "requests for locks")
		for e, err := range l.Watch(ctx, rpc.LockWatchOptions{}) {
			require.NoError(t, err)
			require.Equal(t, lock.EventSynced, e.Kind)
			_, err = l.Acquire(ctx, rpc.LockRequest{Name: "task:2", Agent: "c"})
			require.NoError(t, err, "who does not wait takes no place")
			break
		}
		cancel()
		require.ErrorIs(t, <-left, context.Canceled)
	})
}

// Who has waited for a lock claims it by renewing it, for the time that it asked for: who does
// not hear of it would have it for no longer than it is kept.
func TestALockThatWasWaitedForIsClaimed(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		l := startLocks(t, Options{}).dialAs(t, f).Locks("acme")
		g := waitedFor(t, l, time.Minute)
		require.EqualValues(t, 1, g.Heartbeats)
		require.GreaterOrEqual(t, g.Expires.Sub(g.Acquired), time.Minute)
	})
}

// waitedFor returns the grant of a lock that somebody else had held.
func waitedFor(t *testing.T, l *rpc.Locks, ttl time.Duration) rpc.LockGrant {
	t.Helper()
	first, err := l.Acquire(t.Context(), rpc.LockRequest{Name: "task:1", Agent: "a", TTL: time.Minute})
	require.NoError(t, err)
	queued, got := make(chan struct{}, 1), make(chan rpc.LockGrant, 1)
	go func() {
		g, _ := l.Acquire(t.Context(), rpc.LockRequest{Name: "task:1", Agent: "b", Wait: true, TTL: ttl, Moved: func(int) { queued <- struct{}{} }})
		got <- g
	}()
	<-queued
	_, err = l.Release(t.Context(), rpc.LockHolding{Name: "task:1", Agent: "a", Token: first.Token}, rpc.WAL)
	require.NoError(t, err)
	g := <-got
	require.NotZero(t, g.Token)
	return g
}

// Who has waited for a lock that it wants for no longer than it is kept for it anyway, has it
// at once: to renew it would be another write before it may go on.
func TestAShortLockIsNotClaimed(t *testing.T) {
	l := startLocks(t, Options{}).dial(t).Locks("acme")
	for _, ttl := range []time.Duration{4 * time.Second, 5 * time.Second} {
		g := waitedFor(t, l, ttl)
		require.Zero(t, g.Heartbeats)
		require.Equal(t, ttl, g.Expires.Sub(g.Acquired))
		_, err := l.Release(t.Context(), rpc.LockHolding{Name: "task:1", Agent: "b", Token: g.Token}, rpc.WAL)
		require.NoError(t, err)
	}
}

// Where locks are held for less than who has waited has to claim one, it has the lock for all of
// that time: it is not refused for what it has not asked for.
func TestALockOfAShortLongestTimeIsHadByWhoWaited(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		const most = 2 * time.Second
		clock := kvtest.New() // which stands still
		short := lock.Options{Config: func(string) lock.Config { return lock.Config{MaxTTL: most} }}
		l := startLocksOf(t, Options{}, kv.Options{Clock: clock}, short).dialAs(t, f).Locks("acme")
		first, err := l.Acquire(t.Context(), rpc.LockRequest{Name: "task:1", Agent: "a"})
		require.NoError(t, err)
		require.Equal(t, most, first.Expires.Sub(first.Acquired), "the plain time is cut")
		_, err = l.Acquire(t.Context(), rpc.LockRequest{Name: "task:2", Agent: "a", TTL: most + time.Millisecond})
		require.ErrorIs(t, err, lock.ErrMaxTTL)
		queued := make(chan struct{}, 1)
		type answer struct {
			grant rpc.LockGrant
			err   error
		}
		got := make(chan answer, 1)
		go func() {
			g, err := l.Acquire(t.Context(), rpc.LockRequest{Name: "task:1", Agent: "b", Wait: true, Moved: func(int) { queued <- struct{}{} }})
			got <- answer{g, err}
		}()
		<-queued
		clock.Pass(most) // and so the first is over
		a := <-got
		require.NoError(t, a.err)
		require.Greater(t, a.grant.Token, first.Token)
		require.Equal(t, most, a.grant.Expires.Sub(a.grant.Acquired))
		require.Equal(t, a.grant.Until, a.grant.Expires)
	})
}
