package namespace

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
)

// The names of home are those of kitchen, which is below it, but for what kitchen calls
// otherwise; a removed member has its name in what was.
func TestNamesAreInheritedAndOutliveARemoval(t *testing.T) {
	s, home := founded(t)
	self, err := s.Identity(home)
	require.NoError(t, err)
	bob, room := newcomer(t), codec.ContextID{1}
	propose := func(g codec.GroupID, op codec.GroupOp) { proposeTo(t, s, home, Proposal{GroupID: g, Group: &op}) }
	alias := func(name string) codec.Option[codec.AliasName] { return codec.Some(codec.AliasName(name)) }

	proposeTo(t, s, home, Proposal{Root: &codec.RootOp{Kind: codec.RootGroupCreated, ParentID: home}})
	tree, err := s.Tree(home)
	require.NoError(t, err)
	kitchen := tree[1].ID
	propose(home, codec.GroupOp{Kind: codec.OpMemberAdded, Member: bob, Role: codec.Member})
	propose(home, codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: self, Name: alias("ada")})
	propose(home, codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: bob, Name: alias("bob")})
	propose(kitchen, codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: self, Name: alias("cook")})
	propose(kitchen, codec.GroupOp{Kind: codec.OpGroupAliasSet, Name: alias("kitchen")})
	propose(kitchen, codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: room})
	propose(kitchen, codec.GroupOp{Kind: codec.OpContextAliasSet, ContextID: room, Name: alias("room")})

	names := func(g codec.GroupID) map[[32]byte]Name {
		list, err := s.Names(g, Name{}, 0)
		require.NoError(t, err)
		m := map[[32]byte]Name{}
		for i, n := range list {
			m[n.ID] = n
			page, err := s.Names(g, n, 1)
			require.NoError(t, err)
			require.Equal(t, list[i+1:min(i+2, len(list))], append([]Name{}, page...))
		}
		return m
	}
	inKitchen := map[[32]byte]Name{
		home:    {Of: NamedGroup, ID: home, Name: "home", In: home},
		kitchen: {Of: NamedGroup, ID: kitchen, Name: "kitchen", In: kitchen},
		self:    {Of: NamedMember, ID: self, Name: "cook", In: kitchen},
		bob:     {Of: NamedMember, ID: bob, Name: "bob", In: home},
		room:    {Of: NamedContext, ID: room, Name: "room", In: kitchen},
	}
	require.Equal(t, inKitchen, names(kitchen))
	require.Equal(t, codec.AliasName("ada"), names(home)[self].Name)
	require.Equal(t, inKitchen[room], names(home)[room], "what only a group below names has that name")

	drawer := codec.GroupID{}
	proposeTo(t, s, home, Proposal{Root: &codec.RootOp{Kind: codec.RootGroupCreated, ParentID: kitchen}})
	tree, err = s.Tree(home)
	require.NoError(t, err)
	for _, g := range tree {
		if g.ID != home && g.ID != kitchen {
			drawer = g.ID
		}
	}
	require.Equal(t, inKitchen, names(drawer), "the nearest group above that has a name for it")

	propose(home, codec.GroupOp{Kind: codec.OpMemberRemoved, Member: bob})
	require.Equal(t, Name{Of: NamedMember, ID: bob, Name: "bob", In: home, Former: true}, names(kitchen)[bob])
	_, err = s.Names(codec.GroupID{9}, Name{}, 0)
	require.ErrorIs(t, err, ErrNoGroup)
}
