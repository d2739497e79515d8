//go:build cgo

package server

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/rpc"
)

// What a page of the Record service costs beside one of Store, on one connection, with
// GOGC=400 as the daemon has. For how they compare see `stoa bench`; this is to be
// profiled. cpu-ns/op is of both ends.
func BenchmarkRecord(b *testing.B) {
	eng, err := rocks.Open(b.TempDir(), rocks.Options{RowCacheBytes: 64 << 20})
	require.NoError(b, err)
	benchFill(b, eng)
	store, err := kv.Open(eng, kv.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	policies, err := policy.New(store, policy.Options{})
	require.NoError(b, err)
	d := start(b, eng, Options{Records: policies.Records(), Policies: policies})
	b.Cleanup(func() {
		d.stop()
		require.NoError(b, store.Close())
	})
	c := d.dial(b)
	r := c.Records("bench")
	for i := range 10_000 {
		claim := fmt.Sprintf(`{"claim_id":"clm-20260101-%06d","subject":"user:ann","claim_type":"ownership","object":"org:o%d","assertion":"user:ann owns it","issued_by":"user:bob","issued_at":"2026-01-01T00:00:00Z","revoked":false}`, i, i%100)
		_, err := r.Create(b.Context(), "claim", json.RawMessage(claim), rpc.RecordDurability(engine.WAL))
		require.NoError(b, err)
	}
	require.NoError(b, eng.Flush())
	query := func() record.Query {
		return record.Query{Limit: 100, Filters: []record.Filter{record.Equal("by_object", fmt.Sprintf("org:o%d", rand.IntN(100)))}}
	}
	for _, op := range []struct {
		name string
		do   func() (int, error)
	}{
		{"scan of 100", func() (n int, err error) {
			it, err := c.Store(b.Context()).Iterate(column.Generic, engine.Range{Start: benchKey(nil, 0), Limit: 100})
			if err != nil {
				return 0, err
			}
			defer it.Close()
			for it.Next() {
				n++
			}
			return n, it.Err()
		}},
		{"list of 100", func() (int, error) {
			p, err := r.List(b.Context(), "claim", query())
			return len(p.Docs), err
		}},
		{"list of 100 in process", func() (int, error) {
			p, err := policies.Records().List(b.Context(), "bench", "claim", query())
			return len(p.Docs), err
		}},
	} {
		b.Run(op.name, func(b *testing.B) {
			var from, to unix.Rusage
			require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &from))
			b.ReportAllocs()
			for range b.N {
				n, err := op.do()
				require.NoError(b, err)
				require.Equal(b, 100, n)
			}
			require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &to))
			took := to.Utime.Nano() + to.Stime.Nano() - from.Utime.Nano() - from.Stime.Nano()
			b.ReportMetric(float64(took)/float64(b.N), "cpu-ns/op")
		})
	}
}
