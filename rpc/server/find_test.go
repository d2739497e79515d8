package server

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/namespace/naming"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/stoav1"
)

func TestFindAnswersAsItDoesInADirectory(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		d, home := founded(t, f, Options{})
		c := d.dialAs(t, f)
		self, err := d.Identity(t.Context(), home)
		require.NoError(t, err)
		d.propose(t, home, codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: self, Name: codec.Some(codec.AliasName("ada"))})
		for _, q := range []naming.Query{
			{Kind: naming.Namespace, Text: "home"},
			{Kind: naming.Group, Text: home.String()[:8]},
			{Kind: naming.Member, Text: "ada", Group: home},
			{Kind: naming.Member, Text: self.String()[:12], Group: home},
			{Kind: naming.Delta, Text: "abcd", Context: codec.ContextID{1}},
		} {
			want, err := naming.Find(t.Context(), d.eng, q)
			require.NoError(t, err)
			require.Equal(t, q.Kind != naming.Delta, len(want.Matches) == 1)
			got, err := c.Find(t.Context(), q)
			require.NoError(t, err)
			require.ElementsMatch(t, want.Matches, got.Matches)
			require.Equal(t, want.More, got.More)
		}
		_, err = c.Find(t.Context(), naming.Query{Kind: naming.Member, Text: "ada"})
		require.ErrorIs(t, err, rpc.ErrRequest)
		_, err = c.Find(t.Context(), naming.Query{Text: "ada"})
		require.ErrorIs(t, err, rpc.ErrRequest)
		_, err = stoav1.NewAdminClient(d.bare(t)).Find(context.Background(), &stoav1.FindRequest{Kind: 257, Text: "home"})
		require.ErrorContains(t, err, "kind")
	})
}

func TestNamesComePageByPage(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		d, home := founded(t, f, Options{})
		self, err := d.Identity(t.Context(), home)
		require.NoError(t, err)
		d.propose(t, home, codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: self, Name: codec.Some(codec.AliasName("ada"))})
		want := []namespace.Name{
			{Of: namespace.NamedGroup, ID: home, Name: "home", In: home},
			{Of: namespace.NamedMember, ID: self, Name: "ada", In: home},
		}
		all, err := listed(d.groups.Names(t.Context(), home))
		require.NoError(t, err)
		require.Equal(t, want, all)
		_, err = listed(d.groups.Names(t.Context(), codec.GroupID{9}))
		require.ErrorIs(t, err, namespace.ErrNoGroup)
	})
}

func TestWhoIsBoundToATenantFindsNothing(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		d := startKV(t, Options{Peers: boundTo("mine")}, kvstorage.Options{})
		_, err := d.dialAs(t, f).Find(t.Context(), naming.Query{Kind: naming.Context, Text: "room"})
		require.ErrorIs(t, err, rpc.ErrBound)
	})
}
