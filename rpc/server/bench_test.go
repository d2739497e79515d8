package server

import (
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
)

// benchRows is how many rows of 65 + 256 bytes the benchmarks work on.
const benchRows = 100_000

func benchKey(dst []byte, i int) []byte {
	dst = append(dst[:0], row("")...)
	dst = append(dst, make([]byte, 41)...)
	return binary.BigEndian.AppendUint64(dst, uint64(i)*0x9E3779B97F4A7C15)
}

func benchFill(b *testing.B, eng engine.Engine) {
	value := make([]byte, 256)
	for i := 0; i < benchRows; i += 1000 {
		batch := engine.Batch{Durability: engine.WAL}
		for j := range 1000 {
			binary.LittleEndian.PutUint64(value, uint64(i+j))
			batch.Put(column.Generic, benchKey(nil, i+j), value)
		}
		require.NoError(b, eng.Apply(&batch))
	}
	require.NoError(b, eng.Flush())
	require.NoError(b, eng.Compact(column.Generic, engine.Range{}))
}

// store is what the benchmarks compare: an engine, and a client of it.
type store interface {
	engine.Reader
	engine.Writer
}

func BenchmarkMem(b *testing.B) { benchAll(b, mem.New()) }

func benchAll(b *testing.B, eng engine.Engine) {
	benchFill(b, eng)
	c := start(b, eng, Options{}).dial(b)
	for _, at := range []struct {
		name  string
		store store
	}{{"direct", eng}, {"socket", c.Store(b.Context())}} {
		b.Run("get/"+at.name, func(b *testing.B) { benchGet(b, at.store) })
		b.Run("get16/"+at.name, func(b *testing.B) { benchGets(b, at.store, 16) })
		b.Run("get64/"+at.name, func(b *testing.B) { benchGets(b, at.store, 64) })
		b.Run("multiget100/"+at.name, func(b *testing.B) { benchMultiGet(b, at.store) })
		b.Run("apply100/"+at.name, func(b *testing.B) { benchApply(b, at.store) })
		b.Run("scan100/"+at.name, func(b *testing.B) { benchScan(b, at.store, 100) })
		b.Run("scan/"+at.name, func(b *testing.B) { benchScan(b, at.store, 0) })
		b.Run("pages/"+at.name, func(b *testing.B) { benchPages(b, at.store) })
	}
}

func benchGet(b *testing.B, s store) {
	b.ReportAllocs()
	var key, value []byte
	for b.Loop() {
		key = benchKey(key, rand.IntN(benchRows))
		var err error
		value, err = s.Get(value[:0], column.Generic, key)
		if err != nil {
			b.Fatal(err)
		}
	}
}

// benchGets has so many callers share the store, and its one connection.
func benchGets(b *testing.B, s store, callers int) {
	b.ReportAllocs()
	b.SetParallelism((callers + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
	b.RunParallel(func(pb *testing.PB) {
		var key, value []byte
		for pb.Next() {
			key = benchKey(key, rand.IntN(benchRows))
			var err error
			if value, err = s.Get(value[:0], column.Generic, key); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func benchMultiGet(b *testing.B, s store) {
	b.ReportAllocs()
	lookups := make([]engine.Lookup, 100)
	var buf []byte
	for b.Loop() {
		for i := range lookups {
			lookups[i].Column = column.Generic
			lookups[i].Key = benchKey(lookups[i].Key, rand.IntN(benchRows))
		}
		var err error
		buf, err = s.MultiGet(buf[:0], lookups)
		if err != nil || !lookups[99].Found {
			b.Fatal(err)
		}
	}
}

func benchApply(b *testing.B, s store) {
	b.ReportAllocs()
	var batch engine.Batch
	var key []byte
	value := make([]byte, 256)
	for b.Loop() {
		batch.Reset()
		batch.Durability = engine.WAL
		for range 100 {
			key = benchKey(key, rand.IntN(benchRows))
			batch.Put(column.Generic, key, value)
		}
		if err := s.Apply(&batch); err != nil {
			b.Fatal(err)
		}
	}
}

func benchScan(b *testing.B, s store, limit int) {
	b.ReportAllocs()
	entries := 0
	var key []byte
	for b.Loop() {
		r := engine.Range{Limit: limit}
		if limit > 0 {
			key = benchKey(key, rand.IntN(benchRows))
			r.Start = key
		}
		it, err := s.Iterate(column.Generic, r)
		if err != nil {
			b.Fatal(err)
		}
		for it.Next() {
			entries++
		}
		if err := it.Err(); err != nil {
			b.Fatal(err)
		}
		it.Close()
	}
	b.ReportMetric(float64(entries)/b.Elapsed().Seconds()/1e6, "Mentries/s")
}

func benchPages(b *testing.B, s store) {
	b.ReportAllocs()
	entries := 0
	var page []byte
	for b.Loop() {
		it, err := s.Iterate(column.Generic, engine.Range{})
		if err != nil {
			b.Fatal(err)
		}
		for {
			page = it.Page(page[:0], 1024, 256<<10)
			if len(page) == 0 {
				break
			}
			entries += it.PageEntries()
		}
		if err := it.Err(); err != nil {
			b.Fatal(err)
		}
		it.Close()
	}
	b.ReportMetric(float64(entries)/b.Elapsed().Seconds()/1e6, "Mentries/s")
}
