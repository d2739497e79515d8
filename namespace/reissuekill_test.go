package namespace

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine/faulty"
	"github.com/stoadb/stoa/group"
)

// Wherever the process ends while it proposes voided ops again, the next one does the
// rest: each is said again once, root ops too.
func TestReissueDiesAtAnyCall(t *testing.T) {
	z, k, ns := pairOf(t)
	room := codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: codec.ContextID{1}}
	first := proposed(t, k, ns, ns, room)
	second := proposed(t, k, ns, ns, codec.GroupOp{Kind: codec.OpContextMigrated, ContextID: codec.ContextID{1}, Method: "up"})
	third, err := k.Propose(bg, ns, Proposal{Root: &codec.RootOp{Kind: codec.RootGroupCreated, ParentID: ns}})
	require.NoError(t, err)
	proposed(t, z, ns, ns, remove("K"))
	exchange(t, ns, z, k)
	proposed(t, z, ns, ns, add("K", codec.Admin))
	exchange(t, ns, z, k)
	voided, err := k.Voided(ns)
	require.NoError(t, err)
	var ids []codec.OpID
	for _, v := range voided {
		ids = append(ids, v.ID)
	}
	require.Equal(t, []codec.OpID{first.Answer.ID, second.Answer.ID, third.Answer.ID}, ids)

	for _, fault := range []faulty.Fault{faulty.CrashBefore, faulty.CrashAfter, faulty.Fail} {
		for n := 1; ; n++ {
			f := faulty.New(copied(t, k.db), faulty.Options{At: n, Calls: faulty.Writes, Fault: fault})
			s := openStore(t, f, 5)
			_, err := s.Reissue(bg, ns)
			require.NoError(t, s.Close())
			s = openStore(t, f.Restart(), 6)
			done, again := s.Reissue(bg, ns)
			require.NoError(t, again)
			if !f.Tripped() {
				require.NoError(t, err)
				require.Empty(t, done)
				require.Greater(t, n, 3)
				break
			}
			require.NotEmpty(t, err)
			requireSaidOnce(t, s, ns)
		}
	}
}

// requireSaidOnce demands that what K said has an effect, once.
func requireSaidOnce(t *testing.T, s *Store, ns codec.GroupID) {
	voided, err := s.Voided(ns)
	require.NoError(t, err)
	require.Empty(t, voided)
	said := map[codec.GroupOpKind]int{}
	for _, e := range ops(t, s, ns, Window{}) {
		if e.Op.Signer == idOf("K") && e.Verdict.Outcome == group.Effective {
			said[e.Op.Op.Kind]++
		}
	}
	require.Equal(t, map[codec.GroupOpKind]int{codec.OpContextRegistered: 1, codec.OpContextMigrated: 1}, said)
	tree, err := s.Tree(ns)
	require.NoError(t, err)
	require.Len(t, tree, 2)
	requireSound(t, s, ns)
}

// Bytes are bounded as ops are; a single op may be larger than the limit.
func TestWhatWaitsTakesNoMoreBytesThanItMay(t *testing.T) {
	z, _, ns := pairOf(t)
	var wires [][]byte
	for range 6 {
		wires = append(wires, proposed(t, z, ns, ns, call("a")).Wire...)
	}
	size := int64(len(wires[1]))
	limited := func(db *Store, most int64) *Store {
		s, err := Open(db.db, Options{MaxPendingBytes: most})
		require.NoError(t, err)
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	s := limited(newStore(t, 3), 2*size)
	require.NoError(t, s.FollowNamespace(ns))
	dropped := 0
	for n, w := range wires[1:] {
		a, err := s.Apply(bg, w)
		require.NoError(t, err)
		require.Equal(t, Pending, a.Kind)
		dropped += len(a.Dropped)
		count, bytes, err := s.Waiting(ns)
		require.NoError(t, err)
		require.Equal(t, n+1-dropped, count)
		require.LessOrEqual(t, bytes, 2*size)
		require.Equal(t, count, pendingRows(t, s.db, ns))
	}
	require.Equal(t, 3, dropped)
	require.NoError(t, s.Close())

	s = limited(s, size/2) // what waits already makes room when the next comes
	a, err := s.Apply(bg, wires[1])
	require.NoError(t, err)
	require.Equal(t, Pending, a.Kind)
	count, bytes, err := s.Waiting(ns)
	require.NoError(t, err)
	require.Equal(t, 1, count)
	require.Equal(t, size, bytes)
	a, err = s.Apply(bg, wires[0])
	require.NoError(t, err)
	require.Equal(t, Pending, a.Kind)
	require.Len(t, a.Dropped, 1)
}
