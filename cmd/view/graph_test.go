package view

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/keys"
)

func TestEveryNodeIsDrawnAboveItsParents(t *testing.T) {
	enginetest.Check(t, 300, func(t *rapid.T) {
		n := rapid.IntRange(0, 25).Draw(t, "nodes")
		var nodes []Node
		edges := 0
		for i := range n {
			node := Node{ID: fmt.Sprint(i)}
			for _, p := range rapid.SliceOfNDistinct(rapid.IntRange(-2, n-1), 0, 4, rapid.ID).Draw(t, "parents") {
				if p < i { // no cycles; -1 and -2 are not in the graph
					node.Parents = append(node.Parents, fmt.Sprint(p))
					edges++
				}
			}
			nodes = append(nodes, node)
		}
		g := Draw(rapid.Permutation(nodes).Draw(t, "order"))
		require.Len(t, g.Nodes, n)
		require.Len(t, g.Edges, edges)
		seen := map[string]bool{}
		for i, node := range g.Nodes {
			require.Equal(t, i, node.Row)
			require.Less(t, node.Lane, g.Lanes)
			require.False(t, seen[node.ID])
			seen[node.ID] = true
		}
		for _, e := range g.Edges {
			if e.To < 0 {
				continue
			}
			require.Greater(t, e.To, e.From)
			require.Contains(t, g.Nodes[e.From].Parents, g.Nodes[e.To].ID)
			for row := e.From + 1; row < e.To; row++ {
				require.NotEqual(t, e.Lane, g.Nodes[row].Lane, "an edge runs through a node that is not its own")
			}
			for _, o := range g.Edges {
				if o.To >= 0 && o.To != e.To && o.Lane == e.Lane {
					require.True(t, o.To <= e.From || e.To <= o.From, "two edges to different nodes share a lane")
				}
			}
		}
	})
}

func TestCyclesAndDuplicatesAreDrawnSomehow(t *testing.T) {
	g := Draw([]Node{
		{ID: "a", Parents: []string{"b"}}, {ID: "b", Parents: []string{"a"}}, {ID: "c", Parents: []string{"c", "a", "a"}}, {ID: "d"}, {ID: "d"},
	})
	require.Len(t, g.Nodes, 5)
	for _, e := range g.Edges {
		require.True(t, e.To == -1 || e.To > e.From)
	}
}

func TestAChainIsOneLaneInItsOrder(t *testing.T) {
	var nodes []Node
	for i := range 50 {
		nodes = append(nodes, Node{ID: fmt.Sprint(i), Parents: []string{fmt.Sprint(i + 1)}})
	}
	g := Draw(slices.Clone(nodes))
	require.Equal(t, 1, g.Lanes)
	for i, n := range g.Nodes {
		require.Equal(t, nodes[i].ID, n.ID)
	}
}

func TestTheGraphOfAContext(t *testing.T) {
	sample := newSample(t, 12)
	s := sample.served(t)
	g := ask[Graph](t, s, "deltas", "context", sample.context.String(), "limit", "500")
	require.Empty(t, g.More)
	kinds, heads := map[string][]string{}, 0
	for _, n := range g.Nodes {
		kinds[n.Kind] = append(kinds[n.Kind], n.ID)
		if n.Head {
			heads++
		}
		if n.Kind == kindApplied {
			require.Regexp(t, "^[0-9a-f]{32}$", n.By, "as `stoa status` shows the node id")
			require.Regexp(t, "^put (counter|note)/[0-9/]+; event changed$", n.Label)
			require.Regexp(t, `^2026-03-01T12:`, n.Time)
			row := ask[rowDoc](t, s, "row", "column", n.Column, "key", n.At)
			require.Equal(t, "ContextDagDelta", row.Type)
		}
	}
	require.Equal(t, []string{sample.pending.String()}, kinds[kindPending])
	require.Equal(t, []string{sample.missing.String()}, kinds[kindMissing])
	require.ElementsMatch(t, texts(sample.applied), kinds[kindApplied])
	require.Positive(t, heads)
	require.Greater(t, g.Lanes, 1)

	// In pages the applied ones are the same, the newest first.
	var paged []string
	for before := ""; ; {
		g := ask[Graph](t, s, "deltas", "context", sample.context.String(), "limit", "5", "before", before)
		for _, n := range g.Nodes {
			if n.Kind == kindApplied {
				paged = append(paged, n.ID)
			}
		}
		if before = g.More; before == "" {
			break
		}
	}
	require.ElementsMatch(t, texts(sample.applied), paged)
}

func texts(ids []codec.DeltaID) (list []string) {
	for _, id := range ids {
		list = append(list, id.String())
	}
	return list
}

func TestDeltasWithoutAnOrderAreDrawnByTheirTime(t *testing.T) {
	sample := newSample(t, 5)
	sample.put(t, func(b *engine.Batch) {
		scope := []byte(orderScope + "\x00\x00\x00\x00\x00\x00\x00")
		b.DeleteRange(column.Generic, scope, engine.Successor(scope))
	})
	g := ask[Graph](t, sample.served(t), "deltas", "context", sample.context.String())
	require.Len(t, g.Nodes, len(sample.applied)+2)
}

func TestTheGraphOfANamespace(t *testing.T) {
	sample := newSample(t, 1)
	s := sample.served(t)
	list := ask[listDoc](t, s, "namespaces")
	require.Len(t, list.Items, 1)
	require.Equal(t, "Kalliope", list.Items[0].Alias)
	g := ask[Graph](t, s, "ops", "namespace", sample.namespace.String())
	require.Len(t, g.Nodes, 5)
	require.Equal(t, sample.ops[4].String(), g.Nodes[0].ID)
	require.True(t, g.Nodes[0].Head)
	require.Equal(t, "merge", g.Nodes[0].Label)
	require.Equal(t, sample.ops[0].String(), g.Nodes[4].ID)
	require.Equal(t, "namespace created", g.Nodes[4].Label)
	require.Equal(t, 3, g.Lanes)
	require.Len(t, g.Edges, 6)
	require.Equal(t, kindGroup, g.Nodes[2].Kind)
	require.Equal(t, "limit", ask[Graph](t, s, "ops", "namespace", sample.namespace.String(), "limit", "2").More)

	sample.put(t, func(b *engine.Batch) {
		b.Delete(column.Group, append(append([]byte{0x38}, sample.namespace[:]...), sample.ops[0][:]...))
	})
	g = ask[Graph](t, sample.served(t), "ops", "namespace", sample.namespace.String())
	require.Equal(t, kindMissing, g.Nodes[4].Kind)
}

func TestTheTreeOfGroups(t *testing.T) {
	sample := newSample(t, 1)
	s := sample.served(t)
	doc := ask[struct{ Groups []groupDoc }](t, s, "groups")
	require.Len(t, doc.Groups, 6)
	roots := 0
	for _, g := range doc.Groups {
		if g.Parent == "" {
			roots++
			require.Equal(t, "Kalliope", g.Alias)
			require.Len(t, g.Members, fewMembers)
			require.True(t, g.More)
		}
	}
	require.Equal(t, 1, roots)
	g := ask[groupDoc](t, s, "group", "id", sample.namespace.String())
	require.Len(t, g.Members, 7)
	require.False(t, g.More)
	byName := map[string]memberDoc{}
	for _, m := range g.Members {
		byName[m.Alias] = m
	}
	require.Equal(t, "admin", byName["ada"].Role)
	require.Contains(t, byName["ada"].Capabilities, "manage members, manage contexts")
	g = ask[groupDoc](t, s, "group", "id", sample.child.String())
	require.Equal(t, "shared notes", g.Contexts[0].Alias)
}

// Members behind one whose row is damaged are shown, and the damage is.
func TestAGroupIsShownBesideItsDamage(t *testing.T) {
	sample := newSample(t, 1)
	damaged := idNamed("hedy")
	for _, who := range []string{"ada", "grace", "barbara", "margaret", "radia", "frances"} {
		if id := idNamed(who); string(id[:]) < string(damaged[:]) {
			damaged = id // others are behind it
		}
	}
	sample.put(t, func(b *engine.Batch) {
		key, err := keys.GroupMember{Group: sample.namespace, Identity: damaged}.AppendBinary(nil)
		require.NoError(t, err)
		b.Put(column.Group, key, []byte{7})
	})
	g := ask[groupDoc](t, sample.served(t), "group", "id", sample.namespace.String())
	require.Len(t, g.Members, 6)
	require.Contains(t, g.Fault, "value  Group ")
	require.Contains(t, g.Fault, codec.Identity(damaged).String())
}
