package merkle

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
)

// grown returns a trie of n keys in an engine.
func grown(t require.TestingT, n int) (*mem.Engine, *Trie) {
	e := mem.New()
	trie := Open(NewCache(0), e, context1, EmptyRoot())
	const step = 20_000
	for from := 0; from < n; from += step {
		update(t, trie, numberedChanges(from, min(from+step, n), "v")...)
		commit(t, e, trie)
	}
	return e, trie
}

// drawTen sets ten different keys of the first n.
func drawTen(changes []Change, r *rand.Rand, n, i int) {
	for j := range changes {
		changes[j] = Change{Key: numbered(r.IntN(n/10)*10 + j), Value: codec.Hash{byte(i), byte(i >> 8), byte(i >> 16), byte(j)}}
	}
	SortChanges(changes)
}

var sizes = []int{1_000, 100_000, 1_000_000}

// BenchmarkCommit sets 10 keys, wherever they lie, and writes the batch.
func BenchmarkCommit(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			e, trie := grown(b, n)
			defer e.Close()
			r := rand.New(rand.NewPCG(1, 2))
			var batch engine.Batch
			var rows, bytes, reads int
			changes := make([]Change, 10)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				drawTen(changes, r, n, i)
				before := trie.Reads().Rows
				batch.Reset()
				if err := trie.Update(changes); err != nil {
					b.Fatal(err)
				}
				trie.Write(&batch)
				rows, bytes = rows+batch.Len(), bytes+batch.Size()
				if err := e.Apply(&batch); err != nil {
					b.Fatal(err)
				}
				trie.Written()
				reads += trie.Reads().Rows - before
			}
			b.ReportMetric(float64(rows)/float64(b.N), "rows/op")
			b.ReportMetric(float64(bytes)/float64(b.N), "rowbytes/op")
			b.ReportMetric(float64(reads)/float64(b.N), "reads/op")
		})
	}
}

// BenchmarkUpdate sets 10 keys and writes nothing.
func BenchmarkUpdate(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			e, trie := grown(b, n)
			defer e.Close()
			r := rand.New(rand.NewPCG(1, 2))
			changes := make([]Change, 10)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				drawTen(changes, r, n, i)
				if err := trie.Overlay().Update(changes); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkBare is what the demanded ratio is to: the State, Delta and Meta rows
// of 10 actions of 100 bytes in one batch, and nothing else.
func BenchmarkBare(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			e := mem.New()
			defer e.Close()
			r := rand.New(rand.NewPCG(1, 2))
			value, delta, meta := make([]byte, 100), make([]byte, 1700), make([]byte, 250)
			var batch engine.Batch
			fill := func(key int) {
				k := numbered(key)
				batch.Put(column.State, append(context1[:32:32], k[:]...), value)
			}
			for i := range n {
				batch.Reset()
				fill(i)
				require.NoError(b, e.Apply(&batch))
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				batch.Reset()
				for range 10 {
					fill(r.IntN(n))
				}
				id := numbered(i)
				batch.Put(column.Delta, append(context1[:32:32], id[:]...), delta)
				batch.Put(column.Meta, context1[:], meta)
				if err := e.Apply(&batch); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
