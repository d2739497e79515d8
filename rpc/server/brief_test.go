package server

import (
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/rpc"
)

// A change that waits for no disk is made by who reads the connection, if that has nothing
// else to do: it is handed over twice less.
func TestBriefCallsAreAnsweredByWhoReads(t *testing.T) {
	var mu sync.Mutex
	var stack string // of what asked for the configuration last
	eng := mem.New()
	store, err := kv.Open(eng, kv.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	locks, err := lock.New(store, lock.Options{Config: func(string) lock.Config {
		b := make([]byte, 64<<10)
		mu.Lock()
		defer mu.Unlock()
		stack = string(b[:runtime.Stack(b, false)])
		return lock.Config{}
	}})
	require.NoError(t, err)
	d := start(t, eng, Options{Locks: locks})
	t.Cleanup(func() {
		d.stop()
		locks.Close()
		require.NoError(t, store.Close())
	})
	byReader := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return strings.Contains(stack, "framed.(*hand).short")
	}
	for durability, brief := range map[rpc.Durability]bool{rpc.WAL: true, rpc.Synced: false} {
		l := d.dialAs(t, rpc.FramingFrames).Locks("acme")
		g, err := l.Acquire(t.Context(), rpc.LockRequest{Name: "task:1", Agent: "a", Durability: durability})
		require.NoError(t, err)
		require.Equal(t, brief, byReader())
		at := rpc.LockHolding{Name: g.Name, Agent: "a", Token: g.Token}
		_, err = l.Renew(t.Context(), at, 0, durability)
		require.NoError(t, err)
		require.Equal(t, brief, byReader())
		held, err := l.Release(t.Context(), at, durability)
		require.NoError(t, err)
		require.True(t, held)
		require.Equal(t, brief, byReader())
	}
}
