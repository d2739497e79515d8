package view

import (
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/namespace"
)

// commons is a node with a namespace of its own: a group below the root, and people who
// have names in the root only.
type commons struct {
	sample
	kitchen codec.GroupID
	bob     codec.Identity
}

func newCommons(t *testing.T) *commons {
	c := &commons{sample: sample{store: mem.New()}}
	t.Cleanup(func() { require.NoError(t, c.store.Close()) })
	c.govern(t, func(n *namespace.Store) {
		var err error
		c.namespace, _, err = n.Create(t.Context(), namespace.Create{Alias: codec.Some[codec.AliasName]("home")})
		require.NoError(t, err)
		c.bob = group.IdentityOf(codec.Secret(idNamed("bob")))
		root := func(op codec.GroupOp) { c.propose(t, n, namespace.Proposal{GroupID: c.namespace, Group: &op}) }
		root(codec.GroupOp{Kind: codec.OpMemberAdded, Member: c.bob, Role: codec.Member})
		root(codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: c.bob, Name: codec.Some[codec.AliasName]("bob")})
		info, err := n.Namespace(c.namespace)
		require.NoError(t, err)
		root(codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: info.Identity, Name: codec.Some[codec.AliasName]("alice")})
		c.propose(t, n, namespace.Proposal{Root: &codec.RootOp{Kind: codec.RootGroupCreated, ParentID: c.namespace}})
		for e, err := range engine.Scan(c.store, keys.ChildrenOf(c.namespace)) {
			require.NoError(t, err)
			c.kitchen = e.Key.Child
		}
		c.propose(t, n, namespace.Proposal{GroupID: c.kitchen, Group: &codec.GroupOp{Kind: codec.OpMemberAdded, Member: c.bob, Role: codec.Member}})
	})
	for e, err := range engine.Scan(c.store, keys.Prefix[keys.GroupKeyEntry]{}) {
		require.NoError(t, err)
		c.secrets = append(c.secrets, e.Value.Key)
	}
	for e, err := range engine.Scan(c.store, keys.Prefix[keys.NamespaceIdentity]{}) {
		require.NoError(t, err)
		c.secrets = append(c.secrets, e.Value.PrivateKey, e.Value.SenderKey)
	}
	require.NotEmpty(t, c.secrets)
	return c
}

func (c *commons) govern(t *testing.T, do func(*namespace.Store)) {
	n, err := namespace.Open(c.store, namespace.Options{})
	require.NoError(t, err)
	do(n)
	require.NoError(t, n.Close())
}

func (c *commons) propose(t *testing.T, n *namespace.Store, p namespace.Proposal) {
	_, err := n.Propose(t.Context(), c.namespace, p)
	require.NoError(t, err)
}

// labels returns what the ops of a graph say, by what signed them.
func labels(g Graph) (all []string) {
	for _, n := range g.Nodes {
		all = append(all, n.Kind+" | "+n.Label+" | "+n.Name+" | "+n.Verdict)
	}
	return all
}

func TestOpsThatKeysHaveOpenedAreShownInClear(t *testing.T) {
	c := newCommons(t)
	s := c.served(t)
	g := ask[Graph](t, s, "ops", "namespace", c.namespace.String())
	all := labels(g)
	require.Contains(t, all, "opened | member alias set in home: member bob, name bob | alice | effective")
	require.Contains(t, all, "opened | member added in home: member bob, role member | alice | effective")
	require.False(t, slices.ContainsFunc(all, func(l string) bool { return strings.Contains(l, "sealed") }), "%q", all)
	require.Zero(t, g.Left)

	at := slices.IndexFunc(g.Nodes, func(n Node) bool { return strings.HasPrefix(n.Label, "member alias set in home: member bob") })
	op := ask[opDoc](t, s, "op", "namespace", c.namespace.String(), "id", g.Nodes[at].ID)
	require.Equal(t, "alice", op.Name)
	require.Equal(t, "home", op.GroupName)
	require.Equal(t, "effective", op.Verdict)
	require.Contains(t, string(op.Content), c.bob.String())
	for _, n := range g.Nodes {
		for _, path := range []string{"api/ops?namespace=" + c.namespace.String(), "api/op?namespace=" + c.namespace.String() + "&id=" + n.ID} {
			_, body := get(s, path)
			for _, secret := range c.secrets {
				require.NotContains(t, strings.ToLower(string(body)), hex.EncodeToString(secret.Bytes()), path)
			}
		}
	}
}

func TestOpsWithoutTheirKeysStaySealed(t *testing.T) {
	c := newCommons(t)
	other := &commons{sample: sample{store: mem.New(), namespace: c.namespace}}
	t.Cleanup(func() { require.NoError(t, other.store.Close()) })
	c.govern(t, func(from *namespace.Store) {
		other.govern(t, func(to *namespace.Store) {
			require.NoError(t, to.FollowNamespace(c.namespace))
			for sent, err := range from.OpsSince(t.Context(), c.namespace, nil, 0) {
				require.NoError(t, err)
				_, err = to.Apply(t.Context(), sent.Wire)
				require.NoError(t, err)
			}
		})
	})
	s := other.served(t)
	g := ask[Graph](t, s, "ops", "namespace", c.namespace.String())
	sealed := 0
	for _, n := range g.Nodes {
		require.NotContains(t, n.Label, "name bob")
		if strings.HasPrefix(n.Label, "sealed op of group ") {
			sealed++
			require.Empty(t, ask[opDoc](t, s, "op", "namespace", c.namespace.String(), "id", n.ID).Content)
		}
	}
	require.NotZero(t, sealed)
}

// elsewhere tells which names of the members of a group others give.
func elsewhere(g groupDoc) map[string]bool {
	all := map[string]bool{}
	for _, m := range g.Members {
		all[m.Alias] = m.Elsewhere
	}
	return all
}

func TestPeopleBelowTheRootHaveTheNamesOfTheGroupsAbove(t *testing.T) {
	c := newCommons(t)
	s := c.served(t)
	named := func(g groupDoc) map[string]string {
		all := map[string]string{}
		for _, m := range g.Members {
			all[m.Alias] = m.From
		}
		return all
	}
	want := map[string]string{"alice": c.namespace.String(), "bob": c.namespace.String()}
	g := ask[groupDoc](t, s, "group", "id", c.kitchen.String())
	require.Equal(t, want, named(g))
	require.Equal(t, "alice", g.AdminAlias)
	all := ask[struct{ Groups []groupDoc }](t, s, "groups")
	at := slices.IndexFunc(all.Groups, func(g groupDoc) bool { return g.ID == c.kitchen.String() })
	require.Equal(t, want, named(all.Groups[at]))

	// A name that the group gives itself goes before those; one that only a group beside it
	// gives is better than none.
	carol := group.IdentityOf(codec.Secret(idNamed("carol")))
	c.govern(t, func(n *namespace.Store) {
		c.propose(t, n, namespace.Proposal{Root: &codec.RootOp{Kind: codec.RootGroupCreated, ParentID: c.namespace}})
		for e, err := range engine.Scan(c.store, keys.ChildrenOf(c.namespace)) {
			require.NoError(t, err)
			for _, g := range []codec.GroupID{c.namespace, e.Key.Child} {
				if is, err := engine.Has(c.store, keys.GroupMember{Group: g, Identity: carol}); err == nil && !is {
					c.propose(t, n, namespace.Proposal{GroupID: g, Group: &codec.GroupOp{Kind: codec.OpMemberAdded, Member: carol, Role: codec.Member}})
				}
			}
			if e.Key.Child != c.kitchen {
				c.propose(t, n, namespace.Proposal{GroupID: e.Key.Child, Group: &codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: carol, Name: codec.Some[codec.AliasName]("carol")}})
			}
		}
		c.propose(t, n, namespace.Proposal{GroupID: c.kitchen, Group: &codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: c.bob, Name: codec.Some[codec.AliasName]("cook")}})
	})
	g = ask[groupDoc](t, c.served(t), "group", "id", c.kitchen.String())
	require.Equal(t, map[string]string{"alice": c.namespace.String(), "cook": "", "carol": ""}, named(g))
	require.Equal(t, map[string]bool{"alice": true, "cook": false, "carol": true}, elsewhere(g))
}
