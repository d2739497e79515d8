package exchange_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
)

// Members who write, add and remove each other while they have sessions have the same in the end.
func TestSessionsBringMembersLevel(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 9))
			names := []string{"alice", "bob", "carol", "dave"}[:2+r.IntN(3)]
			nodes := begin(t, 2, names...)
			for _, n := range nodes {
				defer n.close()
			}
			removed := map[string]bool{}
			for range 30 {
				a := nodes[r.IntN(len(nodes))]
				b, k := nodes[r.IntN(len(nodes))], r.IntN(12)
				switch {
				case k < 5:
					_ = a.commit(contextOf(r.IntN(2)), fmt.Sprint(r.IntN(5)), fmt.Sprint(r.IntN(1000))) // not before it knows that it may
				case k == 5 && a == nodes[0] && b != a && !removed[b.name]:
					removed[b.name] = true
					a.do(codec.GroupOp{Kind: codec.OpMemberRemoved, Member: idOf(b.name)})
				case k == 6 && a == nodes[0] && b != a && removed[b.name]:
					delete(removed, b.name)
					a.do(codec.GroupOp{Kind: codec.OpMemberAdded, Member: idOf(b.name), Role: codec.Member})
				case a != b:
					s := meet(t, a, b)
					require.NoError(t, errors.Join(s.errA, s.errB))
				}
			}
			var present []*node
			for _, n := range nodes {
				if !removed[n.name] {
					present = append(present, n)
				}
			}
			for range 2 { // the second time brings to the first what the last have
				for _, n := range present[1:] {
					s := meet(t, present[0], n)
					require.NoError(t, errors.Join(s.errA, s.errB))
				}
			}
			for _, n := range present[1:] {
				level(t, present[0], n)
				for c := range 2 {
					require.Equal(t, present[0].heads(contextOf(c)), n.heads(contextOf(c)), n.name)
				}
			}
		})
	}
}

// branches begins two nodes that have a context with two long branches, which nobody has merged: what
// is there below says little of what the other lacks.
func branches(t *testing.T, n int) (alice, bob *node) {
	nodes := begin(t, 1, "alice", "bob")
	alice, bob = nodes[0], nodes[1]
	require.NoError(t, alice.commit(contextOf(0), "first", "1"))
	level(t, alice, bob)
	for i := range n {
		require.NoError(t, alice.commit(contextOf(0), fmt.Sprint("a", i%10), "1"))
		require.NoError(t, bob.commit(contextOf(0), fmt.Sprint("b", i%10), "1"))
	}
	return alice, bob
}

func TestWhatIsMissingIsFoundWhereItIsNotClear(t *testing.T) {
	alice, bob := branches(t, 400)
	defer alice.close()
	defer bob.close()
	s := level(t, alice, bob)
	t.Logf("400 each: %d bytes, %d turns", s.a.Sent+s.a.Received, s.a.Turns)
}

// Whoever hangs up while the two search ends the session, and nothing else.
func TestASearchThatBreaksOffEndsTheSession(t *testing.T) {
	alice, bob := branches(t, 300)
	defer alice.close()
	defer bob.close()
	left, leftEnd := net.Pipe()
	right, rightEnd := net.Pipe()
	named := false
	go relay(rightEnd, leftEnd, func(byte) bool { return true })
	go relay(leftEnd, rightEnd, func(kind byte) bool {
		named = named || kind == 6
		return !named || kind != 5
	})
	s := meetOver(t, alice, bob, left, right)
	require.Error(t, s.errA)
	require.Error(t, s.errB)
	level(t, alice, bob)
}

// relay passes on frames as long as each is to be, and then hangs up.
func relay(to, from net.Conn, each func(kind byte) bool) {
	defer to.Close()
	defer from.Close()
	begins := make([]byte, len(preface))
	if _, err := io.ReadFull(from, begins); err != nil {
		return
	}
	if _, err := to.Write(begins); err != nil {
		return
	}
	for {
		kind, body, err := nextFrame(from)
		if err != nil || !each(kind) {
			return
		}
		if _, err := to.Write(framed(kind, body...)); err != nil {
			return
		}
	}
}
