//go:build cgo

package record

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks"
	"github.com/stoadb/stoa/kv"
)

// What records cost beside rows of kv, in processor time:
//
//	go test ./kv/record -run none -bench . -benchtime 5000x
//
// STOA_BENCH_RECORDS says how many there are to list (100,000).
func BenchmarkRecords(b *testing.B) {
	db, err := rocks.Open(b.TempDir(), rocks.Options{RowCacheBytes: 64 << 20}) // as in the daemon
	require.NoError(b, err)
	defer db.Close()
	plain := kv.Type{System: kv.SystemTest, Space: "plain"}
	store, err := kv.Open(db, kv.Options{Types: []kv.Type{plain}, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	require.NoError(b, err)
	defer store.Close()
	s, err := New(store, Options{}, parse(b, benchJSON))
	require.NoError(b, err)
	space, err := store.CreateSpace(ctx, "a", kv.SystemTest, "plain", kv.Quota{})
	require.NoError(b, err)
	var n atomic.Int64
	doc := func() []byte {
		i := n.Add(1)
		return fmt.Appendf(nil, `{"title":"what is to be done is %d","owner":"user:u%d","status":"open","priority":%d,"kind":"k%d","context":{"channel":"c1","thread":"t%d"}}`, i, i%1000, i%10, i%100, i)
	}
	for _, d := range []engine.Durability{engine.WAL, engine.Synced} {
		for _, clients := range []int{1, 64} {
			name := fmt.Sprintf("%s/clients=%d/", d, clients)
			spent(b, name+"put", clients, func() error {
				v := doc()
				return space.Update(ctx, d, func(tx *kv.Tx) error {
					_, err := tx.Put(fmt.Append(nil, "tsk-20260301-", n.Load()), v, kv.PutOptions{})
					return err
				})
			})
			spent(b, name+"create with four indexes", clients, func() error {
				_, err := s.Create(ctx, "a", "bench", doc(), WriteOptions{Durability: d})
				return err
			})
		}
	}
	most := 100_000
	if m, err := strconv.Atoi(os.Getenv("STOA_BENCH_RECORDS")); err == nil {
		most = m
	}
	for range most {
		v := doc()
		_, err := s.Create(ctx, "a", "bench", v, WriteOptions{Durability: engine.WAL})
		require.NoError(b, err)
		require.NoError(b, space.Update(ctx, engine.WAL, func(tx *kv.Tx) error {
			_, err := tx.Put(fmt.Append(nil, "tsk-20260301-", n.Load()), v, kv.PutOptions{})
			return err
		}))
	}
	require.NoError(b, db.Flush())
	require.NoError(b, db.Compact(column.Generic, engine.Range{}))
	spent(b, "scan of 100", 1, func() error {
		page, err := space.List(ctx, kv.ListOptions{Prefix: fmt.Append(nil, "tsk-20260301-", 1+n.Add(1)%9), Limit: 100})
		if err == nil && len(page.Records) != 100 {
			err = fmt.Errorf("%d records", len(page.Records))
		}
		return err
	})
	spent(b, "100 gets", 1, func() error {
		for range 100 {
			if _, err := space.Get(fmt.Append(nil, "tsk-20260301-", 40_000+n.Add(7919)%int64(most))); err != nil && !errors.Is(err, kv.ErrNotFound) {
				return err
			}
		}
		return nil
	})
	spent(b, "list of 100 by index", 1, func() error {
		page, err := s.List(ctx, "a", "bench", Query{Filters: []Filter{Equal("by_kind", fmt.Sprint("k", n.Add(1)%100))}, Limit: 100})
		if err == nil && len(page.Docs) != 100 {
			err = fmt.Errorf("%d documents", len(page.Docs))
		}
		return err
	})
}

const benchJSON = `{"name":"bench","id":{"field":"id","kind":"dated","prefix":"tsk"},
"schema":{"type":"object","required":["id","title","owner","status"],"properties":{"id":{"type":"string"},"title":{"type":"string","maxLength":100},
"owner":{"type":"string","pattern":"^(user|agent):.+$"},"status":{"enum":["open","doing","done"]},"priority":{"type":"integer","minimum":0,"maximum":9},"kind":{"type":"string"},
"created_at":{"type":"string","format":"date-time"},"updated_at":{"type":"string","format":"date-time"}}},
"stamps":{"created":"created_at","updated":"updated_at"},"states":{"field":"status","initial":"open","transitions":{"open":["doing"],"doing":["done"]}},
"indexes":[{"number":1,"name":"by_status","fields":["status"]},{"number":2,"name":"by_owner","fields":["owner"]},{"number":3,"name":"by_priority","fields":["priority"]},{"number":4,"name":"by_kind","fields":["kind"]}]}`

// spent runs op b.N times by so many goroutines, and reports the processor time of each.
func spent(b *testing.B, name string, clients int, op func() error) {
	b.Run(name, func(b *testing.B) {
		b.SetParallelism(clients)
		var before, after syscall.Rusage
		require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &before))
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := op(); err != nil {
					b.Error(err)
				}
			}
		})
		require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &after))
		took := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
		b.ReportMetric(float64(took)/float64(b.N)/1e3, "cpu-us/op")
	})
}
