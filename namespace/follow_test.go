package namespace

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// stray returns an op by somebody, as good as any, that stands on one which nobody has.
func stray(t testing.TB, ns codec.GroupID, by string, n int) []byte {
	s := &codec.SignedNamespaceOp{Version: codec.OpVersion2, NamespaceID: ns, Nonce: uint64(n) + 1,
		Parents: []codec.OpID{sha256.Sum256(binary.BigEndian.AppendUint64([]byte(by), uint64(n)))},
		Op:      codec.NamespaceOp{Root: codec.RootOp{Kind: codec.RootMerge}}}
	require.NoError(t, Sign(s, seedOf(by)))
	wire, err := s.AppendBinary(nil)
	require.NoError(t, err)
	return wire
}

// nobodys returns the id of a namespace that nobody has created.
func nobodys(n int) (ns codec.GroupID) {
	ns[0] = 7
	binary.BigEndian.PutUint64(ns[8:], uint64(n))
	return ns
}

// requireNotFollowed demands of an answer that it says so.
func requireNotFollowed(t testing.TB, a Answer, err error) {
	t.Helper()
	require.NoError(t, err)
	require.Equal(t, Refused, a.Kind)
	require.Equal(t, NotFollowed, a.Refusal.Reason)
	require.Contains(t, a.Refusal.Detail, "stoa namespace follow "+a.Namespace.String())
}

// A flood of ops for namespaces that nobody has told this node of leaves nothing, in
// memory or on disk, whatever they are.
func TestNothingIsKeptOfNamespacesThatAreNotFollowed(t *testing.T) {
	elsewhere, s := newStore(t, 1), newStore(t, 2)
	here, _ := created(t, s)
	before := rowsOf(t, s.db)
	var wires [][]byte
	for i := range 300 {
		unsigned := stray(t, nobodys(i), "X", i)
		unsigned[len(unsigned)-1] ^= 1 // not worth a look
		_, creation := created(t, elsewhere)
		wires = append(wires, slices.Concat([][]byte{stray(t, nobodys(i), "X", i), stray(t, nobodys(0), "Y", i), unsigned}, creation)...)
	}
	for _, w := range wires {
		a, err := s.Apply(bg, w)
		requireNotFollowed(t, a, err)
	}
	n := 0
	for a, err := range s.ApplyMany(bg, slices.Values(wires)) {
		requireNotFollowed(t, a, err)
		n++
	}
	require.Equal(t, len(wires), n)
	require.Equal(t, before, rowsOf(t, s.db))
	require.Len(t, s.queues, 1)
	require.NotNil(t, s.queues[here])
	requireWaits(t, s, 0)
	all, err := s.Namespaces(codec.GroupID{}, 0)
	require.NoError(t, err)
	require.Equal(t, []codec.GroupID{here}, all)
	_, _, err = s.DropPending(nobodys(0), codec.Identity{})
	require.ErrorIs(t, err, ErrNoNamespace)
	require.Len(t, s.queues, 1)
}

// A node follows where it has an identity or ops, or was told to, and does so after a
// restart.
func TestWhoHasAPartFollows(t *testing.T) {
	z := newStore(t, 1)
	ns, wire := created(t, z)
	wire = append(wire, proposed(t, z, ns, ns, call("again")).Wire...)
	last := wire[len(wire)-1]
	for how, begin := range map[string]func(*Store){
		"an identity": func(s *Store) {
			_, err := s.NewIdentity(ns)
			require.NoError(t, err)
		},
		"told": func(s *Store) { require.NoError(t, s.FollowNamespace(ns)) },
		"ops": func(s *Store) {
			require.NoError(t, s.FollowNamespace(ns))
			applied(t, s, wire[0])
			var b engine.Batch // as an older build has begun it
			b.Delete(column.Generic, scoped(nil, followedScope, ns))
			require.NoError(t, s.db.Apply(&b))
		},
	} {
		t.Run(how, func(t *testing.T) {
			s := newStore(t, 2)
			a, err := s.Apply(bg, wire[0])
			requireNotFollowed(t, a, err)
			begin(s)
			for seed := range byte(2) {
				a, err = s.Apply(bg, last)
				require.NoError(t, err)
				require.Equal(t, Pending, a.Kind)
				all, err := s.Namespaces(codec.GroupID{}, 0)
				require.NoError(t, err)
				require.Equal(t, []codec.GroupID{ns}, all)
				info, err := s.Namespace(ns)
				require.NoError(t, err)
				require.Equal(t, 1, info.Pending)
				s = s.reopened(t, seed)
			}
			applied(t, s, wire...) // what was refused before is not held against it
			requireSound(t, s, ns)
			requireWaits(t, s, 0)
		})
	}
}

func TestFollowingIsSaidOnce(t *testing.T) {
	s := newStore(t, 1)
	require.ErrorIs(t, s.FollowNamespace(codec.GroupID{}), codec.ErrMalformed)
	here, _ := created(t, s)
	before := rowsOf(t, s.db)
	require.NoError(t, s.FollowNamespace(here))
	require.Equal(t, before, rowsOf(t, s.db), "it is followed anyway")
	ns := nobodys(1)
	require.NoError(t, s.FollowNamespace(ns))
	require.NoError(t, s.FollowNamespace(ns))
	require.Len(t, rowsOf(t, s.db), len(before)+1)
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.FollowNamespace(nobodys(2)), ErrClosed)
	_, err := s.Apply(bg, stray(t, nobodys(3), "X", 1))
	require.ErrorIs(t, err, ErrClosed)
}

// Older builds kept what came for any namespace.
func TestWhatWaitsForNobodyIsDeletedWhenTheStoreOpens(t *testing.T) {
	s := newStore(t, 1)
	ns, _ := created(t, s)
	applied(t, s, stray(t, ns, "X", 1))
	want := rowsOf(t, s.db)
	require.NoError(t, s.Close())
	var b engine.Batch
	for i := range 3 {
		b.Put(column.Generic, numbered(pendingScope, nobodys(i/2), uint64(i)), stray(t, nobodys(i/2), "X", i))
	}
	require.NoError(t, s.db.Apply(&b))
	before := rowsOf(t, s.db)
	view, err := View(s.db, Options{})
	require.NoError(t, err)
	require.NoError(t, view.Close())
	require.Equal(t, before, rowsOf(t, s.db), "who looks deletes nothing")
	s = openStore(t, s.db, 2)
	require.Equal(t, want, rowsOf(t, s.db))
	requireWaits(t, s, 1)
}

// BenchmarkUnknownNamespaces applies ops each of which is of another namespace that is not
// followed, and BenchmarkStrangers such as wait in one that is, each by another signer. They
// report what an op of the first and of the last tenth took, and by how much the heap has
// grown; with -benchtime 1000000x of a million.
func BenchmarkUnknownNamespaces(b *testing.B) {
	s := newStore(b, 1)
	wire := stray(b, nobodys(0), "X", 1)
	flood(b, s, NotFollowed, func(i int) []byte {
		ns := nobodys(i)
		copy(wire[1:], ns[:])
		return wire // whose signature is not looked at
	})
	require.Empty(b, rowsOf(b, s.db))
}

func BenchmarkStrangers(b *testing.B) {
	s := newStore(b, 1)
	ns, _ := created(b, s)
	flood(b, s, 0, func(i int) []byte { return stray(b, ns, fmt.Sprint("stranger ", i), i) })
	n, _ := s.waits.Total()
	require.LessOrEqual(b, n, s.options.MaxPending)
}

// flood applies ops; of the tenths what it takes to make them does not count.
func flood(b *testing.B, s *Store, refused RefusalReason, op func(i int) []byte) {
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	var tenths [10]time.Duration
	for i := range b.N {
		wire := op(i)
		begin := time.Now()
		a, err := s.Apply(bg, wire)
		tenths[i*10/b.N] += time.Since(begin)
		require.NoError(b, err)
		if refused != 0 {
			require.Equal(b, refused, a.Refusal.Reason)
		} else {
			require.Equal(b, Pending, a.Kind)
		}
	}
	each := float64(max(b.N/10, 1))
	b.ReportMetric(float64(tenths[0])/each, "ns/op-first")
	b.ReportMetric(float64(tenths[9])/each, "ns/op-last")
	b.ReportMetric((float64(heap())-float64(before))/(1<<20), "MiB-grown")
}
