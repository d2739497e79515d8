package namespace

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
)

// forkedNamespace returns a namespace of Z's with members K and L, its ops, and the last of them.
func forkedNamespace(t testing.TB) (z *Store, ns codec.GroupID, wire [][]byte, head codec.OpID) {
	z = newStore(t, 1)
	ns, wire = created(t, z)
	for _, name := range []string{"K", "L"} {
		p := proposed(t, z, ns, ns, add(name, codec.Member))
		wire = append(wire, p.Wire...)
	}
	heads, err := z.Heads(bg, ns)
	require.NoError(t, err)
	require.Len(t, heads, 1)
	return z, ns, wire, heads[0]
}

// following returns another store that has ops of a namespace.
func following(t testing.TB, seed byte, ns codec.GroupID, wire [][]byte) *Store {
	s := newStore(t, seed)
	require.NoError(t, s.FollowNamespace(ns))
	applied(t, s, wire...)
	return s
}

// forksOf returns n ops of somebody with one nonce on the same parent.
func forksOf(t testing.TB, ns codec.GroupID, by string, nonce uint64, parent codec.OpID, n int) (ops []*Op) {
	for i := range n {
		s := &codec.SignedNamespaceOp{Version: codec.OpVersion2, NamespaceID: ns, Parents: []codec.OpID{parent}, Nonce: nonce,
			Op: codec.NamespaceOp{Root: codec.RootOp{Kind: codec.RootInvitationRevoked, GroupID: ns, InvitationID: codec.Hash{1, byte(i), byte(i >> 8)}}}}
		require.NoError(t, Sign(s, seedOf(by)))
		op, err := NewOp(s)
		require.NoError(t, err)
		ops = append(ops, op)
	}
	return ops
}

// Two ops of one nonce are taken, and show that their signer says different things; others wait,
// over a restart, until somebody else builds on one.
func TestTwoOpsOfOneNonceAreTaken(t *testing.T) {
	_, ns, wire, head := forkedNamespace(t)
	s := following(t, 3, ns, wire)
	forks := forksOf(t, ns, "K", 1, head, 5)
	for i, op := range forks {
		a := applied(t, s, op.wire())
		require.Equal(t, i < 2, a.Kind == Stored)
		require.Empty(t, a.Missing)
	}
	all, err := s.Equivocations(ns, group.Equivocation{}, 0)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, 2, all[0].Count)

	own := mergeOn(t, ns, "K", 2, forks[2].ID) // by K: that is no other
	require.Equal(t, []codec.OpID{forks[2].ID}, applied(t, s, own.wire()).Missing)
	require.NoError(t, s.Close())
	s = openStore(t, s.db, 4)
	requireWaits(t, s, 4)
	require.Equal(t, Pending, applied(t, s, forks[2].wire()).Kind)

	a := applied(t, s, mergeOn(t, ns, "L", 1, own.ID).wire())
	require.Equal(t, Stored, a.Kind)
	require.Equal(t, group.Effective, a.Verdict.Outcome)
	for _, id := range []codec.OpID{forks[2].ID, own.ID, a.ID} {
		_, err := s.Op(ns, id)
		require.NoError(t, err)
	}
	require.Equal(t, map[codec.Identity]int{idOf("K"): 2}, waitsOf(t, s, ns), "the others go on waiting")
	requireSound(t, s, ns)
}

// It is the same where what is built on a fork comes before it.
func TestAForkThatOthersBuildOnIsTakenWheneverItComes(t *testing.T) {
	_, ns, wire, head := forkedNamespace(t)
	forks := forksOf(t, ns, "K", 1, head, 4)
	third := mergeOn(t, ns, "L", 1, forks[2].ID)
	parents := []codec.OpID{third.ID, forks[3].ID}
	slices.SortFunc(parents, codec.CompareID)
	four := mergeOn(t, ns, "L", 2, parents...)
	ops := append(slices.Clone(forks), third, four)
	for seed := range uint64(40) {
		s := following(t, 3, ns, wire)
		for _, i := range rand.New(rand.NewPCG(seed, 0)).Perm(len(ops)) {
			applied(t, s, ops[i].wire())
		}
		for _, op := range []*Op{forks[2], third, four} {
			_, err := s.Op(ns, op.ID)
			require.NoError(t, err, seed)
		}
	}
}

// Who builds on many forks with forks of its own brings no more of them than with two.
func TestForksDoNotVouchForForks(t *testing.T) {
	_, ns, wire, head := forkedNamespace(t)
	s := following(t, 3, ns, wire)
	forks := forksOf(t, ns, "K", 1, head, 20)
	for _, op := range forks {
		applied(t, s, op.wire())
	}
	for i := range 18 {
		applied(t, s, mergeOn(t, ns, "L", 1, forks[2+i].ID).wire())
	}
	taken := 0
	for _, op := range forks {
		if _, err := s.Op(ns, op.ID); err == nil {
			taken++
		}
	}
	require.Equal(t, 4, taken)
	applied(t, s, mergeOn(t, ns, "a stranger", 1, forks[19].ID).wire())
	_, err := s.Op(ns, forks[19].ID)
	require.ErrorIs(t, err, ErrNoOp, "nor do strangers")
}

// A signer has so many heads; there is room again when somebody joins them.
func TestHeadsOfASignerAreBounded(t *testing.T) {
	z, ns, wire, head := forkedNamespace(t)
	s := following(t, 3, ns, wire)
	comb := func(n int) (teeth []*Op) {
		for i := range n {
			two := forksOf(t, ns, "K", uint64(i)+1, head, 2)
			teeth, head = append(teeth, two...), two[0].ID
		}
		return teeth
	}
	teeth := comb(20)
	for _, op := range teeth {
		applied(t, s, op.wire())
		applied(t, z, op.wire())
	}
	heads, err := s.Heads(bg, ns)
	require.NoError(t, err)
	require.Len(t, heads, maxSignerHeads)
	require.Contains(t, heads, teeth[38].ID, "what goes on takes no room")
	applied(t, s, proposed(t, z, ns, ns, call("joined")).Wire...)
	for _, op := range teeth {
		applied(t, s, op.wire())
	}
	heads, err = s.Heads(bg, ns)
	require.NoError(t, err)
	require.Len(t, heads, maxSignerHeads+1, "Z's is one")
}

// Nodes that have taken different forks are level as soon as each has said something.
func TestNodesWithDifferentForksBecomeLevel(t *testing.T) {
	for seed := range uint64(20) {
		z, ns, wire, head := forkedNamespace(t)
		l := newStore(t, 3)
		imported(t, l, ns, "L")
		applied(t, l, wire...)
		forks := forksOf(t, ns, "K", 1, head, 6)
		for n, s := range []*Store{z, l} {
			for _, i := range rand.New(rand.NewPCG(seed, uint64(n))).Perm(len(forks)) {
				applied(t, s, forks[i].wire())
			}
		}
		report, err := Sync(bg, ns, z, l)
		require.NoError(t, err)
		require.Equal(t, report.ToA.Forks, report.ToB.Forks)
		for n, s := range []*Store{z, l} {
			proposed(t, s, ns, ns, codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: s.selfOf(t, ns), Name: codec.Some(codec.AliasName(fmt.Sprint("n", n)))})
		}
		report, err = Sync(bg, ns, z, l)
		require.NoError(t, err)
		require.Zero(t, report.ToA.Forks+report.ToB.Forks)
		of, err := l.Heads(bg, ns)
		require.NoError(t, err)
		require.Equal(t, report.Heads, of)
		requireSound(t, z, ns)
		requireSound(t, l, ns)
	}
}

func (s *Store) selfOf(t testing.TB, ns codec.GroupID) (self codec.Identity) {
	require.NoError(t, s.view(ns, func(c *loaded) error { self = c.self(); return nil }))
	return self
}

// What a restored node has forgotten of its own and others have is one fork beside what it says
// anew: both count.
func TestARestoredNodeGoesOn(t *testing.T) {
	z, k, ns := pairOf(t)
	backup := copied(t, k.db)
	before := proposed(t, k, ns, ns, call("before"))
	applied(t, z, before.Wire...)
	restored := openStore(t, backup, 9)
	after := proposed(t, restored, ns, ns, call("after"))
	a := applied(t, z, after.Wire...)
	require.Equal(t, Stored, a.Kind)
	require.NotNil(t, a.Equivocation)
	_, err := Sync(bg, ns, z, restored)
	require.NoError(t, err)
	p := proposed(t, restored, ns, ns, call("on"))
	require.Nil(t, applied(t, z, p.Wire...).Equivocation)
}

// A node in a restored store says nothing before it has heard what it said: so it gives no nonce
// twice.
func TestARestoredNodeLearnsItsOwnOpsBeforeItMakesOthers(t *testing.T) {
	z, k, ns := pairOf(t)
	backup := copied(t, k.db)
	n, err := MarkRestored(backup, time.Unix(1e9, 0))
	require.NoError(t, err)
	require.Equal(t, 1, n)
	before := proposed(t, k, ns, ns, call("before"))
	applied(t, z, before.Wire...)
	restored := openStore(t, backup, 9)
	after := call("after")
	refuses := func(s *Store) {
		_, err := s.Propose(bg, ns, Proposal{GroupID: ns, Group: &after})
		require.ErrorIs(t, err, ErrRestored)
		_, err = s.Rotate(bg, ns, true)
		require.ErrorIs(t, err, ErrRestored)
	}
	refuses(restored)
	requireSound(t, restored, ns)

	// One that knows nothing of it has nothing to teach.
	empty := newStore(t, 7)
	require.NoError(t, empty.FollowNamespace(ns))
	_, err = Sync(bg, ns, restored, empty)
	require.NoError(t, err)
	refuses(restored)
	require.NoError(t, restored.Close())
	restored = openStore(t, backup, 9)
	refuses(restored)

	_, err = Sync(bg, ns, z, restored)
	require.NoError(t, err)
	p := proposed(t, restored, ns, ns, after)
	require.Nil(t, applied(t, z, p.Wire...).Equivocation)
	require.NoError(t, restored.Close())
	proposed(t, openStore(t, backup, 9), ns, ns, call("on"))
}

// Where nobody else is left the node is told to go on.
func TestARestoredNodeGoesOnWhenItIsTold(t *testing.T) {
	_, k, ns := pairOf(t)
	backup := copied(t, k.db)
	_, err := MarkRestored(backup, time.Unix(1e9, 0))
	require.NoError(t, err)
	restored := openStore(t, backup, 9)
	require.NoError(t, restored.Resume(bg, ns))
	require.NoError(t, restored.Resume(bg, ns))
	proposed(t, restored, ns, ns, call("on"))
	require.NoError(t, restored.Resume(bg, codec.GroupID{1}), "of what it does not know it says nothing anyway")
	ctx, cancel := context.WithCancel(bg)
	cancel()
	require.ErrorIs(t, restored.Resume(ctx, ns), context.Canceled)
}
