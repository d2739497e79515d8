package view

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/lock"
)

// liveLocks are the locks of a tenant as a daemon tells them.
type liveLocks struct{ storedLocks }

func (l liveLocks) Queue(_ context.Context, name string) ([]lock.Waiting, error) {
	return l.store.Queue(l.tenant, name), nil
}

// addLocks adds a tenant where ann holds a lock that bob waits for, who holds one that cy
// waits for, and returns the locks as a daemon tells them until the test ends.
func (s *sample) addLocks(t *testing.T) func(tenant string) inspect.Locks {
	store, err := kv.Open(s.store, kv.Options{})
	require.NoError(t, err)
	locks, err := lock.New(store, lock.Options{})
	require.NoError(t, err)
	t.Cleanup(func() {
		locks.Close()
		require.NoError(t, store.Close())
	})
	for name, agent := range map[string]string{"resource:database:main": "ann", "task:deploy <b>now</b>": "bob"} {
		_, err := locks.Acquire(t.Context(), "acme", lock.Request{Name: name, Agent: agent, Purpose: "a look", TTL: lock.PlainWait})
		require.NoError(t, err)
	}
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan error)
	for name, agent := range map[string]string{"resource:database:main": "bob", "task:deploy <b>now</b>": "cy"} {
		queued := make(chan int, 1)
		go func() {
			_, err := locks.Acquire(ctx, "acme", lock.Request{Name: name, Agent: agent, Wait: true, Moved: func(place int) { queued <- place }})
			ended <- err
		}()
		require.Equal(t, 1, <-queued)
	}
	t.Cleanup(func() {
		end()
		for range 2 {
			require.ErrorIs(t, <-ended, context.Canceled)
		}
	})
	return func(tenant string) inspect.Locks { return liveLocks{storedLocks{locks, tenant}} }
}

func TestLocksAreShownWithWhoWaitsForThem(t *testing.T) {
	sample := newSample(t, 1)
	live := sample.addLocks(t)
	page := ask[locksDoc](t, sample.servedWith(t, live), "locks", "tenant", "acme")
	require.True(t, page.Live)
	require.Len(t, page.Locks, 2)
	require.Equal(t, "resource:database:main", page.Locks[0].Name)
	require.Equal(t, "exclusive", page.Locks[0].Mode)
	require.Equal(t, "ann", page.Locks[0].Holders[0].Agent)
	require.Equal(t, "bob", page.Locks[0].Waiting[0].Agent)
	require.Equal(t, "cy", page.Locks[1].Waiting[0].Agent)

	s := sample.served(t) // without a daemon
	first := ask[locksDoc](t, s, "locks", "tenant", "acme", "limit", "1")
	require.False(t, first.Live)
	require.Len(t, first.Locks, 1)
	require.Empty(t, first.Locks[0].Waiting)
	require.Equal(t, "task:deploy <b>now</b>", ask[locksDoc](t, s, "locks", "tenant", "acme", "limit", "1", "cursor", first.Next).Locks[0].Name)
	require.Len(t, ask[locksDoc](t, s, "locks", "tenant", "acme", "prefix", "task:").Locks, 1)
	require.Empty(t, ask[locksDoc](t, s, "locks", "tenant", "nobody").Locks)
	for _, path := range []string{"locks", "locks?tenant=acme&cursor=x", "locks?tenant=acme&limit=none"} {
		status, body := get(s, "api/"+path)
		require.Equal(t, http.StatusBadRequest, status, "%s: %s", path, body)
	}
}
