//go:build cgo

package lock_test

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/event"
	. "github.com/stoadb/stoa/kv/lock"
)

// processor returns what reports the processor time of an operation.
func processor(b *testing.B) func() {
	used := func() time.Duration {
		var r syscall.Rusage
		require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &r))
		return time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	begun := used()
	return func() { b.ReportMetric(float64((used()-begun).Nanoseconds())/float64(b.N), "cpu-ns/op") }
}

// BenchmarkLock is what a lock that is acquired and released costs, beside two puts of the
// same store: by one caller, by 16 that each have their own, and by 16 that wait for one.
func BenchmarkLock(b *testing.B) { benchmark(b, false) }

// BenchmarkLockTold is BenchmarkLock where each change is told in the stream of locks.
func BenchmarkLockTold(b *testing.B) { benchmark(b, true) }

func benchmark(b *testing.B, told bool) {
	db, err := rocks.Open(b.TempDir(), rocks.Options{})
	require.NoError(b, err)
	beside := kv.Type{System: kv.SystemTest, Space: "beside"}
	store, err := kv.Open(db, kv.Options{Types: []kv.Type{beside}, Log: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	var o Options
	if told {
		o.Events, err = event.New(store, event.Options{})
		require.NoError(b, err)
	}
	s, err := New(store, o)
	require.NoError(b, err)
	b.Cleanup(func() {
		s.Close()
		require.NoError(b, store.Close())
		require.NoError(b, db.Close())
	})
	space, err := store.CreateSpace(ctx, "t", kv.SystemTest, "beside", kv.Quota{})
	require.NoError(b, err)
	value := make([]byte, 64)
	put := func(key string) error {
		return space.Update(ctx, engine.WAL, func(tx *kv.Tx) error {
			_, err := tx.Put([]byte(key), value, kv.PutOptions{})
			return err
		})
	}
	pair := func(agent, name string, wait bool) error {
		g, err := s.Acquire(ctx, "t", Request{Name: name, Agent: agent, Wait: wait, Durability: engine.WAL})
		if err == nil {
			_, err = s.Release(ctx, "t", Holding{name, agent, g.Token}, engine.WAL)
		}
		return err
	}
	var callers atomic.Int64
	for _, bench := range []struct {
		name string
		by   int
		fn   func(caller int64) error
	}{
		{"two puts", 1, func(int64) error { return twice(put, "k") }},
		{"pair", 1, func(int64) error { return pair("a", Task("1"), false) }},
		{"two puts by 16", 8, func(n int64) error { return twice(put, fmt.Sprint(n)) }},
		{"pair by 16", 8, func(n int64) error { return pair(fmt.Sprint(n), Task(fmt.Sprint(n)), false) }},
		{"one lock by 16", 8, func(n int64) error { return pair(fmt.Sprint(n), Task("all"), true) }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			defer processor(b)()
			if bench.by == 1 {
				for b.Loop() {
					if err := bench.fn(0); err != nil {
						b.Fatal(err)
					}
				}
				return
			}
			b.SetParallelism(bench.by)
			b.RunParallel(func(pb *testing.PB) {
				caller := callers.Add(1)
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

func twice(fn func(string) error, key string) error {
	if err := fn(key); err != nil {
		return err
	}
	return fn(key)
}
