package exchange_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/namespace/content"
	"github.com/stoadb/stoa/namespace/exchange"
)

func TestTwoNodesHaveTheSameAfterASession(t *testing.T) {
	nodes := begin(t, 3, "alice", "bob")
	alice, bob := nodes[0], nodes[1]
	defer alice.close()
	defer bob.close()
	for i := range 300 {
		require.NoError(t, alice.commit(contextOf(i%2), fmt.Sprint("a", i), "1"))
	}
	s := level(t, alice, bob)
	require.Len(t, s.b.Namespaces, 1)
	require.Len(t, s.b.Namespaces[0].Contexts, 2)
	require.Equal(t, 150, s.b.Namespaces[0].Contexts[0].Counts)
	require.Equal(t, 150, s.a.Namespaces[0].Contexts[0].Sent)
	require.Equal(t, s.a.Sent, s.b.Received)
	require.Equal(t, s.b.Sent, s.a.Received)
	require.Equal(t, "1", bob.state(contextOf(1), "a299"))

	for i := range 10 {
		require.NoError(t, alice.commit(contextOf(0), fmt.Sprint("a", i), "2"))
		require.NoError(t, bob.commit(contextOf(0), fmt.Sprint("b", i), "2"))
		require.NoError(t, bob.commit(contextOf(2), fmt.Sprint("b", i), "2"))
	}
	s = level(t, bob, alice)
	for _, r := range []*exchange.Report{s.a, s.b} {
		here := r.Namespaces[0].Contexts[0].Exchange
		require.LessOrEqual(t, here.Duplicates, 20, "at most as many again as the other side had for itself")
		here.Duplicates = 0
		require.Equal(t, content.Exchange{Counts: 10}, here)
	}
	require.Equal(t, alice.heads(contextOf(0)), bob.heads(contextOf(0)))
	require.Equal(t, "2", alice.state(contextOf(2), "b9"))
}

func TestWhoHasEverythingSaysSoInOneRoundTrip(t *testing.T) {
	nodes := begin(t, 100, "alice", "bob")
	alice, bob := nodes[0], nodes[1]
	defer alice.close()
	defer bob.close()
	for i := range 100 {
		require.NoError(t, alice.commit(contextOf(i), "a", "1"))
	}
	level(t, alice, bob)
	s := level(t, alice, bob)
	require.Equal(t, 2, s.a.Turns)
	require.Less(t, s.a.Sent+s.a.Received, int64(256))
	require.NoError(t, bob.commit(contextOf(3), "b", "1"))
	s = level(t, alice, bob)
	require.Len(t, s.a.Namespaces[0].Contexts, 1)
	t.Logf("one of a hundred contexts has changed: %d bytes, %d turns", s.a.Sent+s.a.Received, s.a.Turns)
	require.Less(t, s.a.Sent+s.a.Received, int64(16<<10))
}

func TestARemovedMemberGetsNothingMore(t *testing.T) {
	nodes := begin(t, 1, "alice", "bob", "carol")
	alice, bob, carol := nodes[0], nodes[1], nodes[2]
	for _, n := range nodes {
		defer n.close()
	}
	require.NoError(t, alice.commit(contextOf(0), "a", "1"))
	level(t, alice, bob)
	level(t, alice, carol)
	alice.do(codec.GroupOp{Kind: codec.OpMemberRemoved, Member: idOf("bob")})
	later, err := alice.Governance.Propose(bg, alice.ns, namespace.Proposal{GroupID: alice.ns, Group: &codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: contextOf(9)}})
	require.NoError(t, err)
	require.NoError(t, alice.commit(contextOf(0), "secret", "1"))
	for i := range 20 {
		require.NoError(t, bob.commit(contextOf(0), "late", fmt.Sprint(i)))
	}
	level(t, carol, alice)
	require.Equal(t, "1", carol.state(contextOf(0), "secret"))
	for _, from := range []*node{alice, carol} {
		s := meet(t, from, bob)
		require.NoError(t, s.errA)
		require.NoError(t, s.errB)
		n := s.a.Namespaces[0]
		require.Equal(t, from == alice, n.Sent > 0, "he is told, once, that he was removed")
		groups, err := bob.Governance.MemberOf(bob.ns, idOf("bob"))
		require.NoError(t, err)
		require.Empty(t, groups)
		_, err = bob.Governance.Op(bob.ns, later.Answer.ID)
		require.ErrorIs(t, err, namespace.ErrNoOp)
		require.True(t, n.Stranger)
		require.False(t, n.Level)
		require.Equal(t, content.Exchange{SetAside: 20}, n.Contexts[0].Exchange, "what he wrote since is taken, and set aside")
		require.Zero(t, n.Contexts[0].Sent)
		require.Empty(t, from.state(contextOf(0), "late"))
		require.Zero(t, s.b.Namespaces[0].Contexts[0].Exchange)
	}
}

// A context of a group that one of the two is no member of any more has nothing left to say.
// What a removal sets aside is so in the next session, whoever has made it: nothing has looked since.
func TestARemovalThatNothingHasLookedAtCountsInASession(t *testing.T) {
	nodes := begin(t, 1, "alice", "bob", "carol")
	alice, bob, carol := nodes[0], nodes[1], nodes[2]
	alice.do(codec.GroupOp{Kind: codec.OpMemberAdded, Member: idOf("dave"), Role: codec.Admin})
	dave := newNode(t, "dave", alice.ns)
	for _, n := range append(nodes, dave) {
		defer n.close()
		if n != alice {
			level(t, alice, n)
		}
	}
	require.NoError(t, bob.commit(contextOf(0), "of bob", "1"))
	level(t, bob, carol)
	require.NoError(t, carol.commit(contextOf(0), "of carol", "1"))
	alice.do(codec.GroupOp{Kind: codec.OpMemberRemoved, Member: idOf("bob")})
	require.NoError(t, alice.commit(contextOf(0), "of alice", "1"))
	level(t, alice, carol)
	level(t, alice, dave)
	require.Equal(t, "1", dave.state(contextOf(0), "of bob"), "carol vouches for it")
	dave.do(codec.GroupOp{Kind: codec.OpMemberRemoved, Member: idOf("carol")})
	level(t, dave, alice)
	for _, n := range []*node{alice, dave} {
		require.Empty(t, n.state(contextOf(0), "of bob"))
		require.Empty(t, n.state(contextOf(0), "of carol"))
		require.Equal(t, "1", n.state(contextOf(0), "of alice"))
	}
}

func TestWhoMayNotReadOneOfTheContextsIsLevelWithTheRest(t *testing.T) {
	nodes := begin(t, 1, "alice", "bob")
	alice, bob := nodes[0], nodes[1]
	defer alice.close()
	defer bob.close()
	below := alice.below()
	alice.doIn(below, codec.GroupOp{Kind: codec.OpMemberAdded, Member: idOf("bob"), Role: codec.Member})
	alice.doIn(below, codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: contextOf(8)})
	require.NoError(t, alice.commit(contextOf(8), "a", "1"))
	level(t, alice, bob)
	alice.doIn(below, codec.GroupOp{Kind: codec.OpMemberRemoved, Member: idOf("bob")})
	require.NoError(t, alice.commit(contextOf(8), "a", "2"))
	require.NoError(t, bob.commit(contextOf(8), "a", "3"))
	for late := 1; late >= 0; late-- {
		s := meet(t, alice, bob)
		require.NoError(t, errors.Join(s.errA, s.errB))
		for _, r := range []*exchange.Report{s.a, s.b} {
			require.True(t, r.Namespaces[0].Level)
			require.Len(t, r.Namespaces[0].Contexts, 1)
			require.True(t, r.Namespaces[0].Contexts[0].OneWay)
		}
		require.Equal(t, content.Exchange{SetAside: late}, s.a.Namespaces[0].Contexts[0].Exchange)
		require.Zero(t, s.b.Namespaces[0].Contexts[0].Exchange)
		require.Equal(t, "3", bob.state(contextOf(8), "a"))
	}
}

// With whom a node had the same last is noted, by who proved to be a member.
func TestASessionNotesWithWhomItWas(t *testing.T) {
	nodes := begin(t, 1, "alice", "bob", "carol")
	alice, bob, carol := nodes[0], nodes[1], nodes[2]
	for _, n := range nodes {
		defer n.close()
	}
	later := now
	for _, n := range nodes[:2] {
		n.clock = func() time.Time { return later }
		n.halt()
		n.open()
	}
	met := func() map[codec.Identity]time.Time {
		list, err := alice.Governance.Met(0)
		require.NoError(t, err)
		all := map[codec.Identity]time.Time{}
		for _, m := range list {
			require.Equal(t, alice.ns, m.Namespace)
			all[m.Identity] = m.At.UTC()
		}
		return all
	}
	level(t, alice, bob)
	want := map[codec.Identity]time.Time{idOf("bob"): now}
	require.Equal(t, want, met())
	later = later.Add(59 * time.Second)
	require.NoError(t, alice.commit(contextOf(0), "a", "1"))
	level(t, alice, bob)
	require.Equal(t, want, met(), "once a minute at most")
	later = later.Add(time.Second)
	level(t, alice, bob)
	want[codec.Identity{}] = later
	require.Equal(t, want, met(), "who has everything need not say who it is")
	require.NoError(t, alice.commit(contextOf(0), "a", "2"))
	level(t, alice, bob)
	want[idOf("bob")] = later
	require.Equal(t, want, met())

	alice.do(codec.GroupOp{Kind: codec.OpMemberRemoved, Member: idOf("carol")})
	s := meet(t, alice, carol)
	require.NoError(t, errors.Join(s.errA, s.errB))
	s = meet(t, carol, alice, func(o *exchange.Options) { o.Anyone = true })
	require.NoError(t, errors.Join(s.errA, s.errB))
	require.Equal(t, want, met(), "nothing is kept of who is no member")
}
