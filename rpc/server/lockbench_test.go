//go:build cgo

package server

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/rpc"
)

// What locks cost over the socket, on one connection. For how they compare see `stoa bench`;
// this is to be profiled: both ends are in the process.
func BenchmarkLocks(b *testing.B) {
	eng, err := rocks.Open(b.TempDir(), rocks.Options{RowCacheBytes: 64 << 20})
	require.NoError(b, err)
	store, err := kv.Open(eng, kv.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	locks, err := lock.New(store, lock.Options{})
	require.NoError(b, err)
	d := start(b, eng, Options{Locks: locks})
	b.Cleanup(func() {
		d.stop()
		locks.Close()
		require.NoError(b, store.Close())
	})
	l := d.dial(b).Locks("bench")
	pair := func(agent, name string, wait bool) error {
		g, err := l.Acquire(b.Context(), lock.Request{Name: name, Agent: agent, Wait: wait, TTL: 4 * time.Second, Durability: engine.WAL})
		if err == nil {
			_, err = l.Release(b.Context(), rpc.LockHolding{Name: name, Agent: agent, Token: g.Token}, engine.WAL)
		}
		return err
	}
	var callers atomic.Int64
	for _, bench := range []struct {
		name string
		by   int
		fn   func(caller string) error
	}{
		{"pair", 1, func(string) error { return pair("a", lock.Task("1"), false) }},
		{"pair by 64", 32, func(caller string) error { return pair(caller, lock.Task(caller), false) }},
		{"one lock by 16", 8, func(caller string) error { return pair(caller, lock.Task("all"), true) }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			if bench.by == 1 {
				for b.Loop() {
					if err := bench.fn(""); err != nil {
						b.Fatal(err)
					}
				}
				return
			}
			b.SetParallelism(bench.by)
			b.RunParallel(func(pb *testing.PB) {
				caller := fmt.Sprint(callers.Add(1))
				for pb.Next() {
					if err := bench.fn(caller); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
