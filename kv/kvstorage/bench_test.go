//go:build cgo

package kvstorage

import (
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/kv"
)

// What the layer costs beside a bare put and a bare get of the same engine:
//
//	go test ./kv/kvstorage -run none -bench K46
func BenchmarkK46(b *testing.B) {
	value := []byte(`"` + text(254) + `"`)
	ttl := int64(3600)
	for _, d := range []engine.Durability{engine.WAL, engine.Synced} {
		for _, clients := range []int{1, 16} {
			name := fmt.Sprintf("%s/clients=%d/", d, clients)
			o := WriteOptions{Durability: d, TTLSeconds: &ttl}
			bench(b, name+"bare put", clients, func(h *host, n int64) error {
				var batch engine.Batch
				batch.Durability = d
				batch.Put(column.Generic, fmt.Append(nil, "stoa.test\x00\x00\x00\x00\x00\x00\x00key", n%10_000), value)
				return h.db.Apply(&batch)
			})
			bench(b, name+"put with ttl", clients, func(h *host, n int64) error {
				_, err := h.Put(ctx, "t", fmt.Sprint("key", n%10_000), value, o)
				return err
			})
			bench(b, name+"increment of one key", clients, func(h *host, _ int64) error {
				_, err := h.Increment(ctx, "t", "hot", 1, WriteOptions{Durability: d})
				return err
			})
		}
	}
	bench(b, "bare get", 1, func(h *host, n int64) error {
		_, err := h.db.Get(nil, column.Generic, fmt.Append(nil, "stoa.test\x00\x00\x00\x00\x00\x00\x00key", n%1000))
		return err
	})
	bench(b, "get", 1, func(h *host, n int64) error {
		_, err := h.Get(ctx, "t", fmt.Sprint("key", n%1000))
		return err
	})
	bench(b, "bulk load of 100 by batch", 1, func(h *host, n int64) error {
		changes := make([]Change, 100)
		for i := range changes {
			changes[i] = Change{Op: OpPut, Key: fmt.Sprint("key", n%1000*100+int64(i)), Value: value}
		}
		_, err := h.Batch(ctx, "t", changes, engine.WAL)
		return err
	})
}

func bench(b *testing.B, name string, clients int, op func(h *host, n int64) error) {
	b.Run(name, func(b *testing.B) {
		db, err := rocks.Open(b.TempDir(), rocks.Options{})
		require.NoError(b, err)
		defer db.Close()
		store, err := kv.Open(db, kv.Options{Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
		require.NoError(b, err)
		defer store.Close()
		s, err := New(store, Options{})
		require.NoError(b, err)
		h := &host{b, db, nil, store, s}
		for i := range 1000 {
			key := fmt.Sprint("key", i)
			var batch engine.Batch
			batch.Durability = engine.WAL
			batch.Put(column.Generic, []byte("stoa.test\x00\x00\x00\x00\x00\x00\x00"+key), make([]byte, 256))
			require.NoError(b, db.Apply(&batch))
			_, err := s.Put(ctx, "t", key, []byte(`"`+text(254)+`"`), WriteOptions{Durability: engine.WAL})
			require.NoError(b, err)
		}
		var n atomic.Int64
		b.SetParallelism(clients)
		var before, after syscall.Rusage
		require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &before))
		defer func() {
			require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &after))
			spent := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
			b.ReportMetric(float64(spent)/float64(b.N)/1e3, "cpu-us/op")
		}()
		b.ResetTimer()
		if clients == 1 {
			for b.Loop() {
				require.NoError(b, op(h, n.Add(1)))
			}
			return
		}
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := op(h, n.Add(1)); err != nil {
					b.Error(err)
				}
			}
		})
	})
}
