//go:build cgo

package rocks

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// benchStore holds entries of 65 and 256 bytes in Group, 100 in a prefix.
func benchStore(b *testing.B) *Engine {
	e := open(b, b.TempDir(), Options{})
	r := rand.NewChaCha8([32]byte{})
	var batch engine.Batch
	for i := range benchEntries {
		value := make([]byte, 256)
		r.Read(value[:128])
		batch.Put(column.Group, benchKey(i), value)
		if batch.Len() == 1000 || i == benchEntries-1 {
			batch.Durability = engine.WAL
			require.NoError(b, e.Apply(&batch))
			batch.Reset()
		}
	}
	require.NoError(b, e.Compact(column.Group, engine.Range{}))
	return e
}

const benchEntries = 300_000

func benchKey(i int) []byte {
	key := make([]byte, 65)
	key[0] = 0x20
	binary.BigEndian.PutUint64(key[1:], uint64(i/100)*0x9E3779B97F4A7C15)
	binary.BigEndian.PutUint64(key[33:], uint64(i)*0x9E3779B97F4A7C15)
	return key
}

func BenchmarkGet(b *testing.B) {
	e := benchStore(b)
	buf := make([]byte, 0, 512)
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if buf, err = e.Get(buf[:0], column.Group, benchKey(rand.IntN(benchEntries))); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkScan100(b *testing.B) {
	e := benchStore(b)
	b.ReportAllocs()
	for b.Loop() {
		it, err := e.Iterate(column.Group, engine.Prefixed(benchKey(rand.IntN(benchEntries))[:33]))
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for it.Next() {
			n++
		}
		if it.Close(); n != 100 || it.Err() != nil {
			b.Fatal(n, it.Err())
		}
	}
}

func BenchmarkPage100(b *testing.B) {
	e := benchStore(b)
	page := make([]byte, 0, 64<<10)
	b.ReportAllocs()
	for b.Loop() {
		it, err := e.Iterate(column.Group, engine.Prefixed(benchKey(rand.IntN(benchEntries))[:33]))
		if err != nil {
			b.Fatal(err)
		}
		page = it.Page(page[:0], 1000, 1<<20)
		it.Close()
	}
}

func BenchmarkFullScan(b *testing.B) {
	e := benchStore(b)
	b.ReportAllocs()
	for b.Loop() {
		it, err := e.Iterate(column.Group, engine.Range{})
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for it.Next() {
			n++
		}
		if it.Close(); n != benchEntries {
			b.Fatal(n)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchEntries, "ns/entry")
}

func BenchmarkApply(b *testing.B) {
	e := open(b, b.TempDir(), Options{})
	value := make([]byte, 256)
	var batch engine.Batch
	b.ReportAllocs()
	for b.Loop() {
		batch.Reset()
		batch.Durability = engine.WAL
		batch.Put(column.State, benchKey(rand.IntN(benchEntries)), value)
		if err := e.Apply(&batch); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCreate(b *testing.B) {
	for b.Loop() {
		require.NoError(b, open(b, b.TempDir(), Options{}).Close())
	}
}

func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	require.NoError(b, open(b, dir, Options{}).Close())
	for b.Loop() {
		require.NoError(b, open(b, dir, Options{}).Close())
	}
}
