package namespace

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine/enginetest"
)

// keyFlooder returns a flooder of a namespace's K, who gives keys to all members.
func keyFlooder(t testing.TB, s *Store, ns codec.GroupID) *flooder {
	f := &flooder{t: t, ns: ns}
	require.NoError(t, s.view(ns, func(c *loaded) error {
		f.to, f.last = slices.Clone(c.ledger.Members(ns)), c.ledger.Heads()
		return nil
	}))
	slices.SortFunc(f.to, codec.CompareID)
	return f
}

// Of the keys that a member makes without end a node carries and delivers the last, and those
// that somebody else has used: who comes later opens what was said under them.
func TestOfTheManyKeysOfAMemberFewAreGoneOnWith(t *testing.T) {
	z, l := newStore(t, 1), newStore(t, 3)
	ns, wire := created(t, z)
	for _, name := range []string{"K", "L"} {
		wire = append(wire, proposed(t, z, ns, ns, add(name, codec.Member)).Wire...)
	}
	imported(t, l, ns, "L")
	applied(t, l, wire...)
	f := keyFlooder(t, z, ns)
	flood := func(from, n int) {
		for i := range n {
			op := f.handing(uint64(from+i), codec.GroupOp{Kind: codec.OpKeyRotated}, f.to, f.last...)
			f.last = []codec.OpID{op.ID}
			for _, s := range []*Store{z, l} {
				require.Equal(t, Stored, applied(t, s, op.wire()).Kind)
			}
		}
	}
	flood(1, 3)
	said := proposed(t, l, ns, ns, codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: idOf("L"), Name: codec.Some(codec.AliasName("said under K's key"))})
	require.Len(t, said.Wire, 1)
	applied(t, z, said.Wire...)
	f.last = []codec.OpID{said.Answer.ID}
	flood(4, 200)

	before, err := z.Namespace(ns)
	require.NoError(t, err)
	done := proposed(t, z, ns, ns, add("N", codec.Member))
	require.Len(t, done.Keys, 1, "a key that carries them, and no deliveries")
	after, err := z.Namespace(ns)
	require.NoError(t, err)
	require.LessOrEqual(t, after.Ops-before.Ops, 3)
	signed, err := codec.SignedNamespaceOp{}.Decode(done.Wire[len(done.Wire)-1])
	require.NoError(t, err)
	require.Len(t, signed.Op.Keys[0].Carried, ownKeys+1)

	n := newStore(t, 9)
	imported(t, n, ns, "N")
	_, err = Sync(bg, ns, z, n)
	require.NoError(t, err)
	info, err := n.Op(ns, said.Answer.ID)
	require.NoError(t, err)
	require.NotNil(t, info.Body)
	requireSound(t, n, ns)

	// And K goes as easily as anybody.
	proposed(t, z, ns, ns, codec.GroupOp{Kind: codec.OpMemberRemoved, Member: idOf("K")})
	proposed(t, z, ns, ns, call("without K"))
	requireSound(t, z, ns)
}

// A cut that has to be judged anew costs all that is in it. Who asks for that without end waits,
// until somebody builds on it.
func TestKeysAtOldCutsAreJudgedNowAndThen(t *testing.T) {
	enginetest.SkipUnderRace(t, enginetest.OneByOne)
	z, k, ns := pairOf(t)
	heads, err := z.Heads(bg, ns)
	require.NoError(t, err)
	first := heads[0]
	for range leastHistory / 8 {
		applied(t, k, proposed(t, z, ns, ns, call("on")).Wire...)
	}
	latest, err := z.Heads(bg, ns)
	require.NoError(t, err)
	f := keyFlooder(t, z, ns)
	f.last = []codec.OpID{latest[0], first}
	kinds := map[AnswerKind]int{}
	var waits *Op
	for n := 0; kinds[Pending] == 0; n++ {
		require.Less(t, n, 2000, "no end to it")
		op := f.handing(uint64(n/2)+1, codec.GroupOp{Kind: codec.OpKeyRotated}, f.to, f.last[0])
		f.last = []codec.OpID{f.last[1], op.ID}
		a := applied(t, z, op.wire())
		kinds[a.Kind]++
		waits = op
		if a.Kind == Stored {
			applied(t, k, op.wire())
		}
	}
	require.Greater(t, kinds[Stored], 16)
	proposed(t, z, ns, ns, call("goes on"))

	// It is taken when the store is opened again, since nothing is known of what it cost.
	require.NoError(t, z.Close())
	z = openStore(t, z.db, 1)
	_, err = z.Heads(bg, ns)
	require.NoError(t, err)
	require.Equal(t, Duplicate, applied(t, z, waits.wire()).Kind)
}
