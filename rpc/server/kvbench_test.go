//go:build cgo

package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"github.com/stoadb/stoa/rpc"
	"log/slog"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvstorage"
)

// What the Kv service costs beside Store, on one connection. For how they
// compare see `stoa bench`; this is to be profiled. cpu-ns/op is of both ends.
func BenchmarkKV(b *testing.B) {
	eng, err := rocks.Open(b.TempDir(), rocks.Options{RowCacheBytes: 64 << 20})
	require.NoError(b, err)
	benchFill(b, eng)
	store, err := kv.Open(eng, kv.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	storage, err := kvstorage.New(store, kvstorage.Options{})
	require.NoError(b, err)
	d := start(b, eng, Options{KV: storage})
	b.Cleanup(func() {
		d.stop()
		require.NoError(b, store.Close())
	})
	c := d.dial(b)
	k := c.KV("bench")
	keys, value := make([]string, 10_000), []byte(`"`+string(bytes.Repeat([]byte("v"), 254))+`"`)
	for i := range keys {
		keys[i] = fmt.Sprintf("%065d", i)
		_, err := k.PutJSON(b.Context(), keys[i], json.RawMessage(value), rpc.WithDurability(engine.WAL))
		require.NoError(b, err)
	}
	any := func() string { return keys[rand.IntN(len(keys))] }
	var key, got []byte
	for _, op := range []struct {
		name string
		do   func() error
	}{
		{"store get", func() (err error) {
			key = benchKey(key, rand.IntN(benchRows))
			got, err = c.Store(b.Context()).Get(got[:0], column.Generic, key)
			return err
		}},
		{"store put", func() error {
			var batch engine.Batch
			batch.Durability = engine.WAL
			batch.Put(column.Generic, benchKey(nil, rand.IntN(benchRows)), value)
			return c.Store(b.Context()).Apply(&batch)
		}},
		{"get", func() error { _, err := k.Get(b.Context(), any()); return err }},
		{"put", func() error {
			_, err := k.PutJSON(b.Context(), any(), json.RawMessage(value), rpc.WithDurability(engine.WAL))
			return err
		}},
		{"increment", func() error {
			_, err := k.Increment(b.Context(), "hot", 1, rpc.WithDurability(engine.WAL))
			return err
		}},
		{"store put in process", func() error {
			var batch engine.Batch
			batch.Durability = engine.WAL
			batch.Put(column.Generic, benchKey(nil, rand.IntN(benchRows)), value)
			return eng.Apply(&batch)
		}},
		{"put in process", func() error {
			_, err := storage.Put(b.Context(), "bench", any(), value, kvstorage.WriteOptions{Durability: engine.WAL})
			return err
		}},
		{"get in process", func() error { _, err := storage.Get(b.Context(), "bench", any()); return err }},
	} {
		b.Run(op.name, func(b *testing.B) {
			b.ReportAllocs()
			var before, after unix.Rusage
			require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &before))
			for b.Loop() {
				if err := op.do(); err != nil {
					b.Fatal(err)
				}
			}
			require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &after))
			spent := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
			b.ReportMetric(float64(spent)/float64(b.N), "cpu-ns/op")
		})
	}
}
