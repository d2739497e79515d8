package namespace

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/group"
)

var bg = context.Background()

func openStore(t testing.TB, db engine.Engine, seed byte) *Store {
	s, err := Open(db, Options{Rand: randomness(seed)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// takeForks has a store take any number of ops of one signer beside each other.
func takeForks(s *Store) { s.options.MaxForks, s.options.MaxSignerHeads = 1000, 1000 }

func newStore(t testing.TB, seed byte) *Store {
	db := mem.New()
	t.Cleanup(func() { _ = db.Close() })
	return openStore(t, db, seed)
}

// reopened is another store of the same engine.
func (s *Store) reopened(t testing.TB, seed byte) *Store {
	require.NoError(t, s.Close())
	return openStore(t, s.db, seed)
}

func created(t testing.TB, s *Store) (codec.GroupID, [][]byte) {
	ns, p, err := s.Create(bg, Create{Alias: codec.Some(codec.AliasName("home"))})
	require.NoError(t, err)
	return ns, p.Wire
}

// imported gives s the identity of the person of that name.
func imported(t testing.TB, s *Store, ns codec.GroupID, name string) {
	require.NoError(t, s.ImportIdentity(ns, codec.NamespaceIdentityValue{PublicKey: idOf(name), PrivateKey: seedOf(name), SenderKey: codec.Secret{1}}))
}

func proposed(t testing.TB, s *Store, ns, g codec.GroupID, body codec.GroupOp) Proposed {
	p, err := s.Propose(bg, ns, Proposal{GroupID: g, Group: &body})
	require.NoError(t, err)
	return p
}

func applied(t testing.TB, s *Store, wire ...[]byte) (last Answer) {
	for _, w := range wire {
		a, err := s.Apply(bg, w)
		require.NoError(t, err)
		require.Contains(t, []AnswerKind{Stored, Duplicate, Pending}, a.Kind, "%v", a.Refusal)
		last = a
	}
	return last
}

func requireSound(t testing.TB, s *Store, ns codec.GroupID) {
	found, err := s.Verify(bg, ns)
	require.NoError(t, err)
	require.Empty(t, found)
}

func TestCreateProposeAndApply(t *testing.T) {
	z, k := newStore(t, 1), newStore(t, 2)
	ns, wire := created(t, z)
	requireSound(t, z, ns)
	imported(t, k, ns, "K")
	applied(t, k, wire...)
	requireSound(t, k, ns)
	p := proposed(t, z, ns, ns, add("K", codec.Admin))
	require.Equal(t, group.Verdict{Outcome: group.Effective}, p.Answer.Verdict)
	require.Len(t, p.Wire, 2, "the op, and the key for K")
	a := applied(t, k, p.Wire...)
	require.Len(t, a.Changed, 1, "K opens what it was sent before")
	requireSound(t, k, ns)
	p = proposed(t, k, ns, ns, call("ours"))
	require.Equal(t, group.Effective, applied(t, z, p.Wire...).Verdict.Outcome)
	p = proposed(t, z, ns, ns, remove("K"))
	require.Len(t, p.Keys, 1)
	requireSound(t, z, ns)
	applied(t, k, p.Wire...)
	requireSound(t, k, ns)
	_, err := k.Propose(bg, ns, Proposal{GroupID: ns, Group: &codec.GroupOp{Kind: codec.OpMemberLeft}})
	require.ErrorIs(t, err, ErrNotEffective)
	k = k.reopened(t, 3)
	requireSound(t, k, ns)
}

func TestOpsComeInAnyOrder(t *testing.T) {
	z := newStore(t, 1)
	ns, wire := created(t, z)
	for _, name := range []string{"K", "L"} {
		wire = append(wire, proposed(t, z, ns, ns, add(name, codec.Admin)).Wire...)
	}
	k := newStore(t, 2)
	imported(t, k, ns, "K")
	for i := len(wire) - 1; i > 0; i-- {
		a, err := k.Apply(bg, wire[i])
		require.NoError(t, err)
		require.Equal(t, Pending, a.Kind)
	}
	k = k.reopened(t, 3)
	a, err := k.Apply(bg, wire[0])
	require.NoError(t, err)
	require.Equal(t, Stored, a.Kind)
	require.Len(t, a.Cascade, len(wire)-1)
	for _, c := range a.Cascade {
		require.Equal(t, group.Effective, c.Verdict.Outcome)
	}
	requireSound(t, k, ns)
}
