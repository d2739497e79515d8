package namespace

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
)

// flooder is how a member makes ops without end: each is on some of its own, or on the op that
// the namespace had at first.
type flooder struct {
	t      testing.TB
	ns     codec.GroupID
	first  codec.OpID
	last   []codec.OpID
	latest codec.OpID // that the namespace had when it began
	beside codec.OpID
	to     []codec.Identity // to whom it gives keys
}

func (f *flooder) root(nonce uint64, salt int, r codec.RootOp, parents ...codec.OpID) *Op {
	parents = slices.Clone(parents)
	slices.SortFunc(parents, codec.CompareID)
	s := &codec.SignedNamespaceOp{Version: codec.OpVersion2, NamespaceID: f.ns, Parents: parents, Nonce: nonce, Op: codec.NamespaceOp{Root: r}}
	require.NoError(f.t, Sign(s, seedOf("K")))
	op, err := NewOp(s)
	require.NoError(f.t, err)
	return op
}

// clear makes an op of the group that everybody reads.
func (f *flooder) clear(nonce uint64, body codec.GroupOp, parents ...codec.OpID) *Op {
	return f.handing(nonce, body, nil, parents...)
}

// handing makes the same with a key for some.
func (f *flooder) handing(nonce uint64, body codec.GroupOp, to []codec.Identity, parents ...codec.OpID) *Op {
	parents = slices.Clone(parents)
	slices.SortFunc(parents, codec.CompareID)
	s := &codec.SignedNamespaceOp{Version: codec.OpVersion2, NamespaceID: f.ns, Parents: parents, Nonce: nonce, Signer: idOf("K"),
		Op: codec.NamespaceOp{Kind: codec.NamespaceClear, GroupID: f.ns, Op: body}}
	if len(to) > 0 {
		key, err := IntroduceKey(s, f.ns, codec.Secret{byte(nonce), byte(nonce >> 8), byte(nonce >> 16), 1}, nil, to)
		require.NoError(f.t, err)
		s.Op.Keys = []codec.NewKey{key}
	}
	inner := codec.SignedGroupOp{GroupID: f.ns, Parents: parents, Signer: s.Signer, Nonce: nonce, Op: body}
	require.NoError(f.t, group.SignOp(&inner, seedOf("K")))
	s.Op.OpSignature = inner.Signature
	require.NoError(f.t, Sign(s, seedOf("K")))
	op, err := NewOp(s)
	require.NoError(f.t, err)
	return op
}

func salted(n int) codec.RootOp {
	return codec.RootOp{Kind: codec.RootInvitationRevoked, InvitationID: codec.Hash{byte(n), byte(n >> 8), byte(n >> 16), 1}}
}

// floods are ways to flood a namespace, each the n-th op.
func floods() map[string]func(f *flooder, n int) *Op {
	revoke := func(f *flooder, n int) codec.RootOp {
		r := salted(n)
		r.GroupID = f.ns
		return r
	}
	chain := func(make func(f *flooder, n int, parent codec.OpID) *Op) func(f *flooder, n int) *Op {
		return func(f *flooder, n int) *Op {
			if n == 0 {
				f.last = []codec.OpID{f.first}
			}
			op := make(f, n, f.last[0])
			f.last = []codec.OpID{op.ID}
			return op
		}
	}
	return map[string]func(f *flooder, n int) *Op{
		"one nonce": func(f *flooder, n int) *Op { return f.root(1, n, revoke(f, n), f.first) },
		"comb": func(f *flooder, n int) *Op { // each with another beside it that none goes on with
			if n == 0 {
				f.last = []codec.OpID{f.first}
			}
			if n%2 == 1 {
				return f.root(uint64(n/2)+1, n, revoke(f, n), f.beside)
			}
			f.beside = f.last[0]
			op := f.root(uint64(n/2)+1, n, revoke(f, n), f.last...)
			f.last = []codec.OpID{op.ID}
			return op
		},
		"ladder": func(f *flooder, n int) *Op { // both of which the next two go on with
			if n == 0 {
				f.last = []codec.OpID{f.first}
			}
			op := f.root(uint64(n/2)+1, n, revoke(f, n), f.last...)
			if n%2 == 0 {
				f.beside = op.ID
			} else {
				f.last = []codec.OpID{f.beside, op.ID}
			}
			return op
		},
		"merges at an old cut": chain(func(f *flooder, n int, parent codec.OpID) *Op {
			return f.root(uint64(n)+1, n, codec.RootOp{Kind: codec.RootMerge}, parent)
		}),
		"removals at an old cut": chain(func(f *flooder, n int, parent codec.OpID) *Op {
			return f.clear(uint64(n)+1, codec.GroupOp{Kind: codec.OpMemberRemoved, Member: idOf("Z")}, parent)
		}),
		"leaves at an old cut": chain(func(f *flooder, n int, parent codec.OpID) *Op {
			return f.clear(uint64(n)+1, codec.GroupOp{Kind: codec.OpMemberLeft}, parent)
		}),
		"revocations at an old cut": chain(func(f *flooder, n int, parent codec.OpID) *Op { return f.root(uint64(n)+1, n, revoke(f, n), parent) }),
		"rotations at two cuts": func(f *flooder, n int) *Op { // in turn
			if n == 0 {
				f.last = []codec.OpID{f.latest, f.first}
			}
			op := f.clear(uint64(n/2)+1, codec.GroupOp{Kind: codec.OpKeyRotated}, f.last[0])
			f.last = []codec.OpID{f.last[1], op.ID}
			return op
		},
		"keys at two cuts": func(f *flooder, n int) *Op { // likewise
			if n == 0 {
				f.last = []codec.OpID{f.latest, f.first}
			}
			op := f.handing(uint64(n/2)+1, codec.GroupOp{Kind: codec.OpKeyRotated}, f.to, f.last[0])
			f.last = []codec.OpID{f.last[1], op.ID}
			return op
		},
		"keys at an old cut": chain(func(f *flooder, n int, parent codec.OpID) *Op {
			return f.handing(uint64(n)+1, codec.GroupOp{Kind: codec.OpKeyRotated}, f.to, parent)
		}),
		"rotations at an old cut": chain(func(f *flooder, n int, parent codec.OpID) *Op {
			return f.clear(uint64(n)+1, codec.GroupOp{Kind: codec.OpKeyRotated}, parent)
		}),
	}
}

// BenchmarkFlood has a member of low rank send op after op, while an Admin goes on. The metrics
// are what an op of the last tenth takes, over one of the first; how much memory it takes in all;
// and how long an op of the Admin takes meanwhile.
func BenchmarkFlood(b *testing.B) {
	const ops, honest, history = 100_000, 200, 2000
	for name, next := range floods() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				z := newStore(b, 1)
				ns, _ := created(b, z)
				p := proposed(b, z, ns, ns, add("K", codec.ReadOnly))
				heads, err := z.Heads(bg, ns)
				require.NoError(b, err)
				for i := range history {
					p = proposed(b, z, ns, ns, call(fmt.Sprint("n", i)))
				}
				f := keyFlooder(b, z, ns)
				f.first, f.latest = heads[0], p.Answer.ID
				var took []time.Duration
				var spent [10]time.Duration
				before := liveHeap()
				kinds := map[AnswerKind]int{}
				for n := range ops {
					wire := next(f, n).wire()
					begun := time.Now()
					a, err := z.Apply(bg, wire)
					spent[n*10/ops] += time.Since(begun)
					require.NoError(b, err)
					kinds[a.Kind]++
					if n%(ops/honest) == 0 {
						begun := time.Now()
						proposed(b, z, ns, ns, call(fmt.Sprint("h", n)))
						took = append(took, time.Since(begun))
					}
				}
				after := liveHeap()
				slices.Sort(took)
				b.ReportMetric(float64(spent[9])/float64(spent[0]), "last/first")
				b.ReportMetric(float64(spent[0].Microseconds())/(ops/10), "first-us/op")
				b.ReportMetric(float64(after-before)/(1<<20), "MiB")
				b.ReportMetric(float64(took[honest*99/100].Microseconds())/1000, "honest-p99-ms")
				b.ReportMetric(float64(took[honest-1].Microseconds())/1000, "honest-max-ms")
				b.Log(kinds)
				require.NoError(b, z.Close())
				again := openStore(b, z.db, 2)
				begun := time.Now()
				_, err = again.Heads(bg, ns)
				require.NoError(b, err)
				b.ReportMetric(float64(time.Since(begun).Milliseconds()), "first-read-ms")
			}
		})
	}
}

func liveHeap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
