package dag_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/engine/rocks"
)

// cpu returns the time that the process has computed for.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func rocksDB(b *testing.B) *rocks.Engine {
	db, err := rocks.Open(b.TempDir()+"/db", rocks.Options{})
	if err != nil {
		b.Skip(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	return db
}

// ten returns ten actions of 100 bytes on the first n keys.
func ten(r *rand.Rand, n int) []codec.Action {
	actions := make([]codec.Action, 10)
	for i := range actions {
		value := make([]byte, 90)
		for j := range value {
			value[j] = byte(r.Uint32())
		}
		actions[i] = put(fmt.Sprintf("key %06d", r.IntN(n/10)*10+i), string(value))
	}
	return actions
}

// grow fills the context with n keys, by deltas that it returns.
func grow(b *testing.B, s *dag.Store, n int) (deltas []*dag.Delta) {
	r := rand.New(rand.NewPCG(1, 2))
	for from := 0; from < n; from += 1000 {
		var actions []codec.Action
		for i := range min(1000, n-from) {
			a := ten(r, 10)[0]
			a.Key = fmt.Appendf(nil, "key %06d", from+i)
			actions = append(actions, a)
		}
		deltas = append(deltas, commit(b, s, actions...))
	}
	return deltas
}

// settle has everything compacted that was written until now, so that it costs what is measured next nothing.
func settle(b *testing.B, db *rocks.Engine) {
	require.NoError(b, db.Flush())
	for col := range column.All {
		require.NoError(b, db.Compact(col, engine.Range{}))
	}
}

// measure times each of n calls together, and reports the CPU time of one.
func measure(b *testing.B, each func(i int)) {
	b.ReportAllocs()
	b.ResetTimer()
	before := cpu(b)
	for i := range b.N {
		each(i)
	}
	b.ReportMetric(float64(cpu(b)-before)/float64(b.N)/1e3, "cpu-us/op")
}

// BenchmarkStore commits and adds deltas of ten actions of 100 bytes, unsynced, to
// a context of so many keys on RocksDB, beside bare batches of their State, Delta
// and Meta rows.
func BenchmarkStore(b *testing.B) {
	for _, n := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprint("bare/", n), func(b *testing.B) {
			db := rocksDB(b)
			s := open(b, db, dag.Options{Node: codec.NodeID{Lo: 1}})
			require.NoError(b, s.CreateContext(ctx1, codec.ApplicationMeta{}))
			grow(b, s, n)
			settle(b, db)
			meta, err := db.Get(nil, column.Meta, ctx1[:])
			require.NoError(b, err)
			r := rand.New(rand.NewPCG(3, 4))
			deltas := make([]dag.Delta, b.N)
			for i := range deltas {
				deltas[i] = dag.Delta{Parents: []codec.DeltaID{{byte(i)}}, Actions: ten(r, n), HLC: codec.HybridTimestamp{Time: uint64(i), ID: codec.NodeID{Lo: 1}}}
			}
			var batch engine.Batch
			var key, value []byte
			measure(b, func(i int) {
				d := &deltas[i]
				batch.Reset()
				batch.Durability = engine.WAL
				for j := range d.Actions {
					key = append(append(key[:0], ctx1[:]...), d.Actions[j].Key...)
					batch.Put(column.State, key, d.Actions[j].Value)
				}
				value, err = codec.ContextDagDeltaValue{DeltaID: codec.DeltaID{byte(i), byte(i >> 8), byte(i >> 16)}, Parents: d.Parents, Actions: d.Actions, HLC: d.HLC}.AppendBinary(value[:0])
				require.NoError(b, err)
				key = append(append(key[:0], ctx1[:]...), value[:32]...)
				batch.Put(column.Delta, key, value)
				batch.Put(column.Meta, ctx1[:], meta)
				if err := db.Apply(&batch); err != nil {
					b.Fatal(err)
				}
			})
		})
		b.Run(fmt.Sprint("commit/", n), func(b *testing.B) {
			db := rocksDB(b)
			s := open(b, db, dag.Options{Node: codec.NodeID{Lo: 1}})
			require.NoError(b, s.CreateContext(ctx1, codec.ApplicationMeta{}))
			grow(b, s, n)
			settle(b, db)
			r := rand.New(rand.NewPCG(3, 4))
			commits := make([][]codec.Action, b.N)
			for i := range commits {
				commits[i] = ten(r, n)
			}
			_, root, err := s.Heads(ctx1)
			require.NoError(b, err)
			measure(b, func(i int) {
				done, err := s.Commit(bg, dag.Commit{Context: ctx1, Actions: commits[i], ReadRoot: root, Durability: engine.WAL})
				if err != nil {
					b.Fatal(err)
				}
				root = done.Root
			})
		})
		b.Run(fmt.Sprint("add/", n), func(b *testing.B) {
			memory := mem.New()
			defer memory.Close()
			author := open(b, memory, dag.Options{Node: codec.NodeID{Lo: 2}})
			db := rocksDB(b)
			s := open(b, db, dag.Options{Node: codec.NodeID{Lo: 1}})
			for _, s := range []*dag.Store{author, s} {
				require.NoError(b, s.CreateContext(ctx1, codec.ApplicationMeta{}))
			}
			r := rand.New(rand.NewPCG(3, 4))
			for _, d := range grow(b, author, n) {
				add(b, s, d)
			}
			settle(b, db)
			deltas := make([]*dag.Delta, b.N)
			for i := range deltas {
				deltas[i] = commit(b, author, ten(r, n)...)
			}
			measure(b, func(i int) {
				a, err := s.Add(bg, deltas[i], dag.AddOptions{Durability: engine.WAL})
				if err != nil || a.Kind != dag.Applied {
					b.Fatal(err, a.Kind)
				}
			})
		})
	}
}

// BenchmarkBranches adds branches of ten deltas that were made on one delta, each
// of ten actions on a thousand keys, one branch after the other and in turn, and
// as many deltas in one line.
func BenchmarkBranches(b *testing.B) {
	const branches, length, keys = 100, 10, 1000
	r := rand.New(rand.NewPCG(5, 6))
	start := node(b, 1)
	base := grow(b, start, keys)
	var line []*dag.Delta
	for range branches * length {
		line = append(line, commit(b, start, ten(r, keys)...))
	}
	var after []*dag.Delta
	for i := range branches {
		author := node(b, uint64(10+i))
		for _, d := range base {
			add(b, author, d)
		}
		for range length {
			after = append(after, commit(b, author, ten(r, keys)...))
		}
	}
	var inTurn []*dag.Delta
	for i := range length {
		for j := range branches {
			inTurn = append(inTurn, after[j*length+i])
		}
	}
	for _, tc := range []struct {
		name   string
		deltas []*dag.Delta
	}{{"line", line}, {"after", after}, {"in turn", inTurn}} {
		b.Run(tc.name, func(b *testing.B) {
			for range b.N {
				db := rocksDB(b)
				o := options(2)
				o.CutBudget = 1 << 30
				s := open(b, db, o)
				require.NoError(b, s.CreateContext(ctx1, codec.ApplicationMeta{}))
				for _, d := range base {
					add(b, s, d)
				}
				before := cpu(b)
				for _, d := range tc.deltas {
					a, err := s.Add(bg, d, dag.AddOptions{Durability: engine.WAL})
					if err != nil || a.Kind != dag.Applied {
						b.Fatal(err, a.Kind)
					}
				}
				b.ReportMetric(float64(cpu(b)-before)/float64(len(tc.deltas))/1e3, "cpu-us/delta")
			}
		})
	}
}

// BenchmarkReverse adds chains from their ends.
func BenchmarkReverse(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			author := node(b, 1)
			r := rand.New(rand.NewPCG(7, 8))
			var chain []*dag.Delta
			for range n {
				chain = append(chain, commit(b, author, ten(r, 1000)...))
			}
			for range b.N {
				s := open(b, rocksDB(b), options(2))
				require.NoError(b, s.CreateContext(ctx1, codec.ApplicationMeta{}))
				before := cpu(b)
				for i := len(chain) - 1; i >= 0; i-- {
					_, err := s.Add(bg, chain[i], dag.AddOptions{Durability: engine.WAL})
					require.NoError(b, err)
				}
				b.ReportMetric(float64(cpu(b)-before)/float64(n)/1e3, "cpu-us/delta")
				require.Equal(b, uint64(n), info(b, s).Applied)
			}
		})
	}
}

// BenchmarkTogether has 16 goroutines write at once: adding the deltas of one chain
// to one context, each the next one, so that they share batches and some wait for
// others, and committing to a context each.
func BenchmarkTogether(b *testing.B) {
	const writers = 16
	together := func(b *testing.B, do func(writer, i int) error) {
		var next atomic.Int64
		var done sync.WaitGroup
		b.ReportAllocs()
		b.ResetTimer()
		before := cpu(b)
		for w := range writers {
			done.Go(func() {
				for i := int(next.Add(1)) - 1; i < b.N; i = int(next.Add(1)) - 1 {
					if err := do(w, i); err != nil {
						b.Error(err)
					}
				}
			})
		}
		done.Wait()
		b.ReportMetric(float64(cpu(b)-before)/float64(b.N)/1e3, "cpu-us/op")
	}
	b.Run("add", func(b *testing.B) {
		author, s := node(b, 2), open(b, rocksDB(b), options(1))
		require.NoError(b, s.CreateContext(ctx1, codec.ApplicationMeta{}))
		r := rand.New(rand.NewPCG(3, 4))
		deltas := make([]*dag.Delta, b.N)
		for i := range deltas {
			deltas[i] = commit(b, author, ten(r, 1000)...)
		}
		together(b, func(_, i int) error {
			_, err := s.Add(bg, deltas[i], dag.AddOptions{Durability: engine.WAL})
			return err
		})
		require.EqualValues(b, b.N, info(b, s).Applied)
	})
	b.Run("commit", func(b *testing.B) {
		s := open(b, rocksDB(b), options(1))
		var roots [writers]codec.Hash
		for w := range roots {
			roots[w] = merkle.EmptyRoot()
			require.NoError(b, s.CreateContext(codec.ContextID{1, byte(w)}, codec.ApplicationMeta{}))
		}
		r := rand.New(rand.NewPCG(3, 4))
		commits := make([][]codec.Action, b.N)
		for i := range commits {
			commits[i] = ten(r, 1000)
		}
		together(b, func(w, i int) error {
			done, err := s.Commit(bg, dag.Commit{Context: codec.ContextID{1, byte(w)}, Actions: commits[i], ReadRoot: roots[w], Durability: engine.WAL})
			roots[w] = done.Root
			return err
		})
	})
}

// BenchmarkBeside adds deltas beside each other to a store on disk, where somebody else commits
// after every thousandth, or at the end alone. The metrics are what one of the last tenth takes
// over one of the first, what the slowest of 100 commits took, and the memory that is left in use.
func BenchmarkBeside(b *testing.B) {
	const n = 100_000
	base := firstDelta(b, n)
	first := func(i int) *dag.Delta { return firstDelta(b, i) }
	onBase := func(i int) *dag.Delta { // the root of the base and one key
		d := firstDelta(b, i)
		trie := merkle.Open(merkle.NewCache(-1), nil, ctx1, merkle.EmptyRoot())
		changes := []merkle.Change{{Key: merkle.HashKey(d.Actions[0].Key), Value: merkle.HashValue(d.Actions[0].Value)},
			{Key: merkle.HashKey(base.Actions[0].Key), Value: merkle.HashValue(base.Actions[0].Value)}}
		merkle.SortChanges(changes)
		require.NoError(b, trie.Update(changes))
		d.Parents, d.ExpectedRoot = []codec.DeltaID{base.ID()}, trie.Root()
		d.HLC.Time++
		return d
	}
	for _, kind := range []struct {
		name    string
		delta   func(int) *dag.Delta
		commits int // how many deltas lie between
	}{{"first deltas", first, 1000}, {"first deltas alone", first, n}, {"on one parent", onBase, 1000}, {"on one parent alone", onBase, n}} {
		b.Run(kind.name, func(b *testing.B) {
			for b.Loop() {
				s := open(b, rocksDB(b), options(1))
				require.NoError(b, s.CreateContext(ctx1, codec.ApplicationMeta{Package: "p"}))
				require.Equal(b, dag.Applied, add(b, s, base).Kind)
				before := heapInUse()
				var spent [10]time.Duration
				var commits []time.Duration
				var deltas int
				for i := range n {
					d := kind.delta(i)
					begun := time.Now()
					a, err := s.Add(bg, d, dag.AddOptions{})
					spent[i*10/n] += time.Since(begun)
					require.NoError(b, err)
					require.Equal(b, dag.Applied, a.Kind, a.Refusal)
					if (i+1)%kind.commits == 0 {
						_, root, err := s.Heads(ctx1)
						require.NoError(b, err)
						begun := time.Now()
						done, err := s.Commit(bg, dag.Commit{Context: ctx1, Actions: []codec.Action{put("x", "1")}, ReadRoot: root})
						require.NoError(b, err)
						commits, deltas = append(commits, time.Since(begun)), len(done.Deltas)
					}
				}
				b.ReportMetric(float64(slices.Max(commits).Microseconds())/1000, "slowest-commit-ms")
				b.ReportMetric(float64(deltas), "deltas/commit")
				b.ReportMetric(float64(spent[9])/float64(spent[0]), "last/first")
				b.ReportMetric(float64(spent[9].Microseconds())/(n/10), "last-us/delta")
				b.ReportMetric((heapInUse()-before)/(1<<20), "MiB")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// heapInUse returns the bytes in use after a collection.
func heapInUse() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
