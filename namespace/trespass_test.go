package namespace_test

import (
	"context"
	"encoding/binary"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/namespace"
)

// trespasses are what a member of one namespace can sign there about groups of another.
// Each returns the op if it is admissible, which none is.
var trespasses = map[string]func(f, of *forge, name string, parents ...codec.OpID) *namespace.Op{
	"an op of the namespace": func(f, of *forge, name string, parents ...codec.OpID) *namespace.Op {
		return f.sealedIn(of.ns, name, parents...)
	},
	"an op of a group": func(f, of *forge, name string, parents ...codec.OpID) *namespace.Op {
		return f.sealedIn(of.sub, name, parents...)
	},
	"a clear op": func(f, of *forge, name string, parents ...codec.OpID) *namespace.Op {
		return f.in(of.sub, name, removed("K"), parents...)
	},
	"a rotation beside one's own op": func(f, of *forge, name string, parents ...codec.OpID) *namespace.Op {
		s := f.draft(name, parents)
		return f.clear(s, f.ns, codec.GroupOp{Kind: codec.OpKeyRotated}, f.newKey(s, of.ns, nil, all("K")), f.newKey(s, f.ns, nil, all("Z", "K")))
	},
	"a delivery": func(f, of *forge, name string, parents ...codec.OpID) *namespace.Op {
		return f.deliver(of.sub, name, heldKey{f.ops[0].ID, codec.Secret{1}}, all("K"), parents...)
	},
	"a group below": func(f, of *forge, name string, parents ...codec.OpID) *namespace.Op {
		return f.root(name, f.creation(name, of.ns, 7), parents...)
	},
	"the same group": func(f, of *forge, name string, parents ...codec.OpID) *namespace.Op {
		return f.root("Z", of.creation("Z", of.ns, 0), parents...)
	},
	"one's own group there": func(f, of *forge, name string, parents ...codec.OpID) *namespace.Op {
		return f.root(name, codec.RootOp{Kind: codec.RootGroupReparented, GroupID: f.sub, ParentID: of.ns}, parents...)
	},
	"the group here": func(f, of *forge, name string, parents ...codec.OpID) *namespace.Op {
		return f.root(name, codec.RootOp{Kind: codec.RootGroupReparented, GroupID: of.sub, ParentID: f.ns}, parents...)
	},
	"its deletion": func(f, of *forge, name string, parents ...codec.OpID) *namespace.Op {
		return f.root(name, codec.RootOp{Kind: codec.RootGroupDeleted, GroupID: of.sub}, parents...)
	},
	"a joining": func(f, of *forge, name string, parents ...codec.OpID) *namespace.Op {
		return f.root(name, f.join(name, "K", of.sub, codec.Admin, 7), parents...)
	},
	"a revocation": func(f, of *forge, name string, parents ...codec.OpID) *namespace.Op {
		return f.root(name, codec.RootOp{Kind: codec.RootInvitationRevoked, GroupID: of.ns, InvitationID: codec.Hash{1}}, parents...)
	},
}

// sealedIn makes an op of g that is sealed under the key of the namespace.
func (f *forge) sealedIn(g codec.GroupID, name string, parents ...codec.OpID) *namespace.Op {
	s := f.draft(name, parents)
	key, _ := f.keyAt(s.Parents, f.ns)
	return f.sealed(s, g, key, f.inner(s, g, named("x")))
}

// all rows of an engine.
func (n *bystander) rows() map[string]string {
	rows := map[string]string{}
	for col := range column.All {
		it, err := n.db.Iterate(col, engine.Range{})
		require.NoError(n.t, err)
		for it.Next() {
			rows[col.String()+string(it.Key())] = string(it.Value())
		}
		require.NoError(n.t, it.Err())
		require.NoError(n.t, it.Close())
	}
	return rows
}

// giveTrespass gives the node what is about a group of another namespace.
func (n *bystander) giveTrespass(bad refused) {
	require.Equal(n.t, namespace.UnknownGroup, bad.reason)
	answer := n.giveWire(bad.bytes)
	require.Equal(n.t, namespace.Refused, answer.Kind)
	require.Equal(n.t, namespace.UnknownGroup, answer.Refusal.Reason)
}

// Whatever a member of one namespace signs there about a group of another is refused, in
// every order of arrival, and leaves every row as it would be without it.
func TestGroupsOfOtherNamespacesAreOutOfReach(t *testing.T) {
	enginetest.SkipUnderRace(t, enginetest.OneByOne)
	for _, what := range slices.Sorted(maps.Keys(trespasses)) {
		t.Run(what, func(t *testing.T) {
			ours, theirs := openingOf(t, 1), openingOf(t, 2)
			require.Nil(t, trespasses[what](theirs, ours, "Z"))
			bad := theirs.refused[0]
			without := newBystander(t, "K", ours, theirs)
			defer without.close()
			without.give(ours.ops...)
			without.give(theirs.ops...)

			give := map[byte]func(*bystander){
				'o': func(n *bystander) { n.give(ours.ops...) },
				't': func(n *bystander) { n.give(theirs.ops...) },
				'x': func(n *bystander) { n.giveWire(bad.bytes) },
			}
			for _, order := range []string{"otx", "oxt", "tox", "txo", "xot", "xto"} {
				n := newBystander(t, "K", ours, theirs)
				defer n.close()
				for i := range len(order) {
					give[order[i]](n)
				}
				require.Equal(t, without.rows(), n.rows(), order)
				n.requireSound(ours, theirs)
				n.giveTrespass(bad)
			}
		})
	}
}

// A group that is created beside an op is none that it can be about, though it may be here
// by then; of one that was deleted it is a matter of verdicts.
func TestOnlyAncestorsSayWhichGroupsThereAre(t *testing.T) {
	f := openingOf(t, 1)
	parents := f.heads()
	r := f.creation("Z", f.ns, 7)
	created := f.root("Z", r, parents...)
	require.NotNil(t, created)
	require.Nil(t, f.in(r.GroupID, "K", removed("M"), parents...))
	above := f.in(r.GroupID, "K", removed("M"), created.ID)
	deleted := f.root("Z", codec.RootOp{Kind: codec.RootGroupDeleted, GroupID: r.GroupID})
	late := f.in(r.GroupID, "K", removed("L"))
	n := newBystander(t, "K", f)
	defer n.close()
	n.give(f.ops...)
	n.giveTrespass(f.refused[0])
	require.Equal(t, "effective", n.verdict(f, deleted))
	require.Equal(t, []string{"void: no right", "void: no right"}, []string{n.verdict(f, above), n.verdict(f, late)})
	n.requireSound(f)
}

// The id of a group is made of that of its parent, and so on up to the namespace: it can't
// be that of a group of another one.
func TestGroupIDIsOfOneNamespace(t *testing.T) {
	ours, theirs := openingOf(t, 1), openingOf(t, 2)
	require.NotEqual(t, ours.sub, theirs.sub)
	r := ours.creation("Z", ours.ns, 0)
	require.Equal(t, ours.sub, r.GroupID)
	below := ours.creation("Z", ours.sub, 3)
	require.NotNil(t, ours.root("Z", below))
	n := newBystander(t, "K", ours, theirs)
	defer n.close()
	n.give(theirs.ops...)
	for i, again := range []codec.RootOp{r, below} { // in the very words of its creator
		require.Nil(t, theirs.root("Z", again))
		n.giveTrespass(theirs.refused[i])
	}
	r.ParentID = theirs.ns // with another parent it has another id
	require.Nil(t, theirs.root("Z", r))
	require.Equal(t, namespace.BadForm, theirs.refused[2].reason)
	require.Equal(t, namespace.BadForm, n.giveWire(theirs.refused[2].bytes).Refusal.Reason)
}

// What an older version has taken of such ops is void, has no part in any row, and is no
// finding that nothing ends; what stands on it goes on.
func TestOpAboutAnotherNamespacesGroupThatIsStoredIsVoid(t *testing.T) {
	for _, what := range slices.Sorted(maps.Keys(trespasses)) {
		t.Run(what, func(t *testing.T) {
			ours, theirs := openingOf(t, 1), openingOf(t, 2)
			require.Nil(t, trespasses[what](theirs, ours, "Z"))
			if r := theirs.refused[0].op.Root; r == nil || r.Kind == codec.RootKeyDelivered {
				return // no older version took what is of version 2 alone
			}
			storedByAnOlderVersion(t, ours, theirs)
		})
	}
}

// So it is with a group of the namespace that was created beside the op: the older version
// found the op effective.
func TestOpAboutAGroupCreatedBesideItThatIsStoredIsVoid(t *testing.T) {
	f := openingOf(t, 1)
	parents := f.heads()
	above := f.creation("Z", f.ns, 7)
	require.NotNil(t, f.root("Z", above, parents...))
	require.Nil(t, f.root("K", f.creation("K", above.GroupID, 8), parents...))
	storedByAnOlderVersion(t, f, f)
}

// storedByAnOlderVersion gives a node of K the ops of both forges, and has the op that
// theirs refused stored there as it was before such ops were refused.
func storedByAnOlderVersion(t *testing.T, ours, theirs *forge) {
	bad := theirs.refused[0].op
	n := newBystander(t, "K", ours, theirs)
	defer n.close()
	n.give(ours.ops...)
	n.give(theirs.ops...)
	require.NoError(t, n.store.Close())
	before := n.shared()

	var b engine.Batch
	stored, err := codec.StoredNamespaceOp{Kind: codec.StoredSigned, Signed: *bad.Signed}.AppendBinary(nil)
	require.NoError(t, err)
	engine.Put(&b, keys.NamespaceGovOp{Namespace: theirs.ns, Delta: bad.ID}, codec.NamespaceGovOpValue{SkeletonBytes: stored})
	taken := append([]byte("gov-op\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"), theirs.ns[:]...)
	b.Put(column.Generic, binary.BigEndian.AppendUint64(taken, uint64(len(theirs.ops))), append(bad.ID[:], make([]byte, 9)...))
	b.Delete(column.Generic, rulesKey(theirs.ns))
	require.NoError(t, n.db.Apply(&b))

	n.open()
	require.NoError(t, n.store.Refold(context.Background()))
	require.Equal(t, "void: no such group", n.verdict(theirs, bad))
	n.requireSound(ours, theirs)
	after := n.shared()
	for key, value := range before {
		if key[:len("Group 39")] == "Group 39" || key[:len("Group 38")] == "Group 38" { // heads, and the op itself
			continue
		}
		require.Equal(t, value, after[key], key)
	}
	theirs.ops, theirs.byID[bad.ID] = append(theirs.ops, bad), bad
	on := theirs.op("Z", named("more"))
	require.Contains(t, on.Parents, bad.ID)
	n.give(on, ours.op("Z", named("more")))
	require.Equal(t, "effective", n.verdict(theirs, on))
	require.NoError(t, n.store.Close())
	n.open()
	require.Equal(t, "void: no such group", n.verdict(theirs, bad))
	n.requireSound(ours, theirs)
}

// A key that is of no row, as made-up tables have it, is nothing to Verify.
func TestShortKeysAreNoRowsOfGroups(t *testing.T) {
	f := openingOf(t, 1)
	n := newBystander(t, "K", f)
	defer n.close()
	n.give(f.ops...)
	var b engine.Batch
	for _, key := range []string{"", " ", "0", "#", string(append([]byte{0x21}, f.ns[:31]...))} {
		b.Put(column.Group, []byte(key), []byte("?"))
	}
	require.NoError(t, n.db.Apply(&b))
	n.requireSound(f)
}
