package limit

import (
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvstorage"
)

// What a check takes on RocksDB, in the process and without a sync, beside an increment.
func BenchmarkCheck(b *testing.B) {
	db, err := rocks.Open(b.TempDir(), rocks.Options{})
	require.NoError(b, err)
	defer func() { require.NoError(b, db.Close()) }()
	store, err := kv.Open(db, kv.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	defer func() { require.NoError(b, store.Close()) }()
	values, err := kvstorage.New(store, kvstorage.Options{})
	require.NoError(b, err)
	limits, err := New(store, Options{})
	require.NoError(b, err)
	b.Run("increment", func(b *testing.B) {
		for b.Loop() {
			_, err := values.Increment(ctx, "t", "counter", 1, kvstorage.WriteOptions{Durability: engine.WAL})
			require.NoError(b, err)
		}
	})
	for _, max := range []int{10, 100, 1000} {
		b.Run("check of "+strconv.Itoa(max), func(b *testing.B) {
			for n := 0; b.Loop(); n++ {
				_, err := limits.Check(ctx, "t", Name{"e", strconv.Itoa(n / max)}, Rule{max, time.Hour}, engine.WAL)
				require.NoError(b, err)
			}
		})
	}
	b.Run("refusal", func(b *testing.B) {
		for b.Loop() {
			_, err := limits.Check(ctx, "t", Name{"e", "0"}, Rule{1, time.Hour}, engine.WAL)
			require.NoError(b, err)
		}
	})
}
