package namespace

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/keys"
)

// founded returns the store of an engine in memory, and a namespace that it created.
func founded(t *testing.T) (*Store, codec.GroupID) {
	t.Helper()
	db := mem.New()
	s, err := Open(db, Options{})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		require.NoError(t, db.Close())
	})
	ns, _, err := s.Create(t.Context(), Create{Alias: codec.Some(codec.AliasName("home"))})
	require.NoError(t, err)
	return s, ns
}

func proposeTo(t *testing.T, s *Store, ns codec.GroupID, what Proposal) Proposed {
	t.Helper()
	done, err := s.Propose(t.Context(), ns, what)
	require.NoError(t, err)
	return done
}

func TestRowsDescribeGroupsMembersContextsAndTrees(t *testing.T) {
	s, ns := founded(t)
	self, err := s.Identity(ns)
	require.NoError(t, err)
	room, other := codec.ContextID{1}, codec.ContextID{2}
	for _, op := range []codec.GroupOp{
		{Kind: codec.OpMemberAdded, Member: newcomer(t), Role: codec.Member},
		{Kind: codec.OpMemberAliasSet, Member: self, Name: codec.Some(codec.AliasName("ada"))},
		{Kind: codec.OpContextRegistered, ContextID: room},
		{Kind: codec.OpContextRegistered, ContextID: other},
		{Kind: codec.OpContextAliasSet, ContextID: room, Name: codec.Some(codec.AliasName("room"))},
		{Kind: codec.OpContextJoined, ContextID: room, Identity: codec.Identity{9}},
		{Kind: codec.OpContextMigrated, ContextID: room, Method: "v2"},
	} {
		proposeTo(t, s, ns, Proposal{GroupID: ns, Group: &op})
	}
	proposeTo(t, s, ns, Proposal{Root: &codec.RootOp{Kind: codec.RootGroupCreated, ParentID: ns}})

	tree, err := s.Tree(ns)
	require.NoError(t, err)
	require.Len(t, tree, 2)
	require.Equal(t, TreeGroup{ID: ns, Name: "home", Members: 2}, tree[0])
	below := tree[1].ID
	require.Equal(t, TreeGroup{ID: below, Parent: ns, Depth: 1, Members: 1}, tree[1])

	g, err := s.Show(ns)
	require.NoError(t, err)
	require.Equal(t, codec.AliasName("home"), g.Name)
	require.Equal(t, []codec.GroupID{below}, g.Children)
	require.Equal(t, self, g.Meta.AdminIdentity)
	require.Equal(t, []int{2, 2}, []int{g.Members, g.Contexts})
	g, err = s.Show(below)
	require.NoError(t, err)
	require.Equal(t, []codec.GroupID{ns, ns}, []codec.GroupID{g.Parent, g.Namespace})
	_, err = s.Show(codec.GroupID{1})
	require.ErrorIs(t, err, ErrNoGroup)

	members, err := s.Members(ns, codec.Identity{}, 1)
	require.NoError(t, err)
	require.Len(t, members, 1)
	rest, err := s.Members(ns, members[0].Identity, 0)
	require.NoError(t, err)
	require.Len(t, rest, 1)
	for _, m := range append(members, rest...) {
		if m.Identity == self {
			require.Equal(t, MemberInfo{Identity: self, Role: codec.Admin, Name: "ada", Nonce: m.Nonce}, m)
		} else {
			require.Equal(t, codec.Member, m.Role)
		}
	}

	contexts, err := s.Contexts(ns, codec.ContextID{}, 1)
	require.NoError(t, err)
	require.Equal(t, []ContextInfo{{ID: room, Name: "room", LastMigration: "v2",
		Members: []ContextMember{{Member: self, Identity: codec.Identity{9}}}}}, contexts)
	contexts, err = s.Contexts(ns, room, 0)
	require.NoError(t, err)
	require.Equal(t, []ContextInfo{{ID: other}}, contexts)
	of, root, err := s.Resolve(room)
	require.NoError(t, err)
	require.Equal(t, []codec.GroupID{ns, ns}, []codec.GroupID{of, root})
	_, _, err = s.Resolve(codec.ContextID{8})
	require.ErrorIs(t, err, ErrNoContext)
	root, err = s.NamespaceOf(below)
	require.NoError(t, err)
	require.Equal(t, ns, root)

	info, err := s.Namespace(ns)
	require.NoError(t, err)
	require.Equal(t, []any{codec.AliasName("home"), self, 2}, []any{info.Name, info.Identity, info.Groups})
	all, err := s.Namespaces(codec.GroupID{}, 0)
	require.NoError(t, err)
	require.Equal(t, []codec.GroupID{ns}, all)
	_, err = s.Namespace(codec.GroupID{1})
	require.ErrorIs(t, err, ErrNoNamespace)
	_, err = s.Tree(codec.GroupID{1})
	require.ErrorIs(t, err, ErrNoNamespace)
}

// newcomer returns an identity that can be sealed to.
func TestStandingFollowsWhatTheOpsSay(t *testing.T) {
	a, ns := founded(t)
	b, err := Open(mem.New(), Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	standing := func(s *Store) Standing {
		info, err := s.Namespace(ns)
		require.NoError(t, err)
		return info.Standing
	}
	require.Equal(t, Belongs, standing(a))
	_, err = b.Namespace(ns)
	require.ErrorIs(t, err, ErrNoNamespace)
	self, err := b.NewIdentity(ns)
	require.NoError(t, err)
	require.Equal(t, Awaiting, standing(b))
	all, err := b.Namespaces(codec.GroupID{}, 0)
	require.NoError(t, err)
	require.Equal(t, []codec.GroupID{ns}, all)
	rest, err := b.Namespaces(ns, 1)
	require.NoError(t, err)
	require.Empty(t, rest)
	share := func() {
		_, err := Sync(t.Context(), ns, a, b)
		require.NoError(t, err)
	}
	share()
	require.Equal(t, Awaiting, standing(b), "it has the ops, of which none is about it")
	proposeTo(t, a, ns, Proposal{GroupID: ns, Group: &codec.GroupOp{Kind: codec.OpMemberAdded, Member: self, Role: codec.Member}})
	share()
	require.Equal(t, Belongs, standing(b))
	proposeTo(t, a, ns, Proposal{GroupID: ns, Group: &codec.GroupOp{Kind: codec.OpMemberRemoved, Member: self}})
	share()
	require.Equal(t, Removed, standing(b))
}

func newcomer(t *testing.T) codec.Identity {
	t.Helper()
	return group.IdentityOf(codec.Secret{7})
}

func TestSigningKeysAreKeptAndForgotten(t *testing.T) {
	s, ns := founded(t)
	given, err := s.AddSigningKey(ns, codec.Some(codec.Secret{5}))
	require.NoError(t, err)
	require.Equal(t, group.IdentityOf(codec.Secret{5}), given)
	fresh, err := s.AddSigningKey(ns, codec.Option[codec.Secret]{})
	require.NoError(t, err)
	list, err := s.SigningKeys(ns)
	require.NoError(t, err)
	require.ElementsMatch(t, []codec.Identity{given, fresh}, list)
	require.NoError(t, s.DeleteSigningKey(ns, given))
	require.ErrorIs(t, s.DeleteSigningKey(ns, given), ErrNoSigningKey)
	_, err = s.AddSigningKey(codec.GroupID{}, codec.Option[codec.Secret]{})
	require.ErrorIs(t, err, codec.ErrMalformed)
}

// However somebody came in, who is put out is told that it was so, and who never was in
// waits.
func TestWhoWasInIsToldOfTheRemoval(t *testing.T) {
	standing := func(s *Store, ns codec.GroupID) Standing {
		info, err := s.Namespace(ns)
		require.NoError(t, err)
		return info.Standing
	}
	t.Run("as the creator", func(t *testing.T) {
		z, k, ns := pairOf(t)
		self, err := z.Identity(ns)
		require.NoError(t, err)
		proposed(t, z, ns, ns, codec.GroupOp{Kind: codec.OpAdminTransferred, Member: idOf("K")})
		exchange(t, ns, z, k)
		proposed(t, k, ns, ns, codec.GroupOp{Kind: codec.OpMemberRemoved, Member: self})
		exchange(t, ns, z, k)
		require.Equal(t, Removed, standing(z, ns))
	})
	t.Run("by an invitation", func(t *testing.T) {
		z, m := newStore(t, 1), newStore(t, 2)
		ns, wire := created(t, z)
		invitation, err := z.Invite(bg, Invite{GroupID: ns, Role: codec.Member, Expires: time.Now().Add(time.Hour)})
		require.NoError(t, err)
		request, err := m.Join(bg, invitation)
		require.NoError(t, err)
		p, err := z.Admit(bg, request)
		require.NoError(t, err)
		applied(t, m, append(wire, p.Wire...)...)
		require.Equal(t, Belongs, standing(m, ns))
		self, err := m.Identity(ns)
		require.NoError(t, err)
		applied(t, m, proposed(t, z, ns, ns, codec.GroupOp{Kind: codec.OpMemberRemoved, Member: self}).Wire...)
		require.Equal(t, Removed, standing(m, ns))
	})
	t.Run("never, but others were", func(t *testing.T) {
		z, k, ns := pairOf(t)
		x := newStore(t, 3)
		imported(t, x, ns, "X")
		proposed(t, z, ns, ns, codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: idOf("X"), Name: codec.Some(codec.AliasName("x"))})
		proposed(t, z, ns, ns, remove("K"))
		lost := proposed(t, k, ns, ns, add("X", codec.Member)) // beside the removal of who signs it
		exchange(t, ns, z, k)
		exchange(t, ns, z, x)
		op, err := z.Op(ns, lost.Answer.ID)
		require.NoError(t, err)
		require.NotEqual(t, group.Effective, op.Verdict.Outcome)
		require.Equal(t, Awaiting, standing(x, ns))
	})
}

// No namespace has the id of zeros: none waits to be entered there, and where a store has
// an identity under it, lists go on after it.
func TestTheIDOfZerosIsNoNamespace(t *testing.T) {
	s := newStore(t, 1)
	ns, _ := created(t, s)
	zeros := codec.GroupID{}
	_, err := s.NewIdentity(zeros)
	require.ErrorIs(t, err, codec.ErrMalformed)
	require.ErrorContains(t, err, "no namespace has the id of zeros")
	v := codec.NamespaceIdentityValue{PublicKey: idOf("K"), PrivateKey: seedOf("K"), SenderKey: codec.Secret{1}}
	require.ErrorIs(t, s.ImportIdentity(zeros, v), codec.ErrMalformed)
	_, err = s.Identity(zeros)
	require.ErrorIs(t, err, ErrNoIdentity)

	s.damage(t, func(b *engine.Batch) { engine.Put(b, keys.NamespaceIdentity{Namespace: zeros}, v) })
	s = s.reopened(t, 1)
	for _, limit := range []int{0, 1, 2} {
		var listed []codec.GroupID
		for after := zeros; ; {
			page, err := s.Namespaces(after, limit)
			require.NoError(t, err)
			if listed = append(listed, page...); limit == 0 || len(page) < limit {
				break
			}
			after = page[len(page)-1]
		}
		require.Equal(t, []codec.GroupID{ns}, listed)
	}
	self, err := s.Identity(zeros)
	require.NoError(t, err, "what is there is not lost")
	require.Equal(t, idOf("K"), self)
}

func TestARowOfNoNamespaceIsDamage(t *testing.T) {
	s, ns := founded(t)
	key, err := keys.NamespaceGovHead{Namespace: ns}.AppendBinary(nil)
	require.NoError(t, err)
	for _, bad := range [][]byte{key[:len(key)-1], append(slices.Clone(key), 0)} {
		s.damage(t, func(b *engine.Batch) { b.Put(column.Group, bad, nil) })
		_, err := s.Namespaces(codec.GroupID{}, 0)
		require.ErrorIs(t, err, engine.ErrCorrupt)
		s.damage(t, func(b *engine.Batch) { b.Delete(column.Group, bad) })
	}
	_, err = s.Namespaces(codec.GroupID{}, 0)
	require.NoError(t, err)
}

// A number in the log of a group that there can't be is damage, and not a log of so many places.
func TestANumberThatThereCannotBeIsDamage(t *testing.T) {
	s := newStore(t, 1)
	ns, _ := created(t, s)
	proposed(t, s, ns, ns, call("again"))
	key := numbered(opScope, ns, 0)
	row, err := s.db.Get(nil, column.Generic, key)
	require.NoError(t, err)
	f, err := parseFact(key, row)
	require.NoError(t, err)
	f.seq = 1 << 40
	var b engine.Batch
	b.Put(column.Generic, key, f.appendBinary(nil))
	require.NoError(t, s.db.Apply(&b))

	_, err = s.reopened(t, 2).Namespace(ns)
	require.ErrorIs(t, err, engine.ErrCorrupt)
	require.ErrorContains(t, err, "number 1099511627776 in the log of a group")
	told := 0
	view, err := View(s.db, Options{Damaged: func(column.Column, []byte, error) error { told++; return nil }})
	require.NoError(t, err)
	defer func() { require.NoError(t, view.Close()) }()
	info, err := view.Namespace(ns)
	require.NoError(t, err)
	require.NotZero(t, info.Ops)
	require.Positive(t, told)
}
