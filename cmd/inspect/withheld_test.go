package inspect

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/namespace"
)

// nodeDraw is a node that is drawn: contexts, blobs, and namespaces with what happens in
// groups.
type nodeDraw struct {
	t        *rapid.T
	e        *mem.Engine
	s        *namespace.Store
	d        *dag.Store
	ids      []codec.GroupID // of the namespaces
	groups   []codec.GroupID
	of       map[codec.GroupID]codec.GroupID // the namespace of a group
	members  []codec.Identity
	canaries []string // what only who holds the keys may learn
}

func drawNode(t *rapid.T) *nodeDraw {
	n := &nodeDraw{t: t, e: mem.New(), of: map[codec.GroupID]codec.GroupID{}}
	var err error
	n.s, err = namespace.Open(n.e, namespace.Options{})
	require.NoError(t, err)
	n.d, err = dag.Open(n.e, dag.Options{Node: codec.NodeID{Lo: 1}})
	require.NoError(t, err)
	for i := range 4 {
		seed := bytes.Repeat([]byte{byte(i + 1)}, 32)
		n.members = append(n.members, codec.Identity(ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey)))
	}
	for range rapid.IntRange(1, 2).Draw(t, "namespaces") {
		ns, _, err := n.s.Create(context.Background(), namespace.Create{Alias: codec.Some(n.name())})
		require.NoError(t, err)
		n.ids, n.groups, n.of[ns] = append(n.ids, ns), append(n.groups, ns), ns
	}
	for range rapid.IntRange(0, 12).Draw(t, "ops") {
		n.op()
	}
	apply(t, n.e, func(b *engine.Batch) {
		blobOf(b, 7)
		engine.Put(b, keys.GroupMember{Group: codec.GroupID{7}, Identity: codec.Identity{7}}, codec.Admin) // of no namespace
	})
	require.NoError(t, n.d.Close())
	require.NoError(t, n.s.Close())
	for _, tag := range []byte{0x25, 0x37, 0x3A} {
		_, values := rows(t, n.e, column.Group, engine.Prefixed([]byte{tag}))
		for _, v := range values {
			n.canaries = append(n.canaries, hex.EncodeToString(v[len(v)-32:]))
		}
	}
	_, values := rows(t, n.e, column.Group, engine.Prefixed([]byte{0x30}))
	for _, v := range values {
		op, err := codec.SignedGroupOp{}.Decode(v[4:])
		require.NoError(t, err)
		if !namespace.IsClear(op.Op.Kind) {
			n.canaries = append(n.canaries, hex.EncodeToString(v[len(v)-64:])) // the signature of what was sealed
		}
	}
	return n
}

// name returns a name that nobody may learn without the keys.
func (n *nodeDraw) name() codec.AliasName {
	name := fmt.Sprintf("canary%d", len(n.canaries))
	n.canaries = append(n.canaries, `"`+name+`"`, hex.EncodeToString([]byte(name)))
	return codec.AliasName(name)
}

// op makes something happen, unless it would have no effect.
func (n *nodeDraw) op() {
	ctx := context.Background()
	g := rapid.SampledFrom(n.groups).Draw(n.t, "group")
	who := rapid.SampledFrom(n.members).Draw(n.t, "member")
	propose := func(op codec.GroupOp) {
		_, _ = n.s.Propose(ctx, n.of[g], namespace.Proposal{GroupID: g, Group: &op}) // what has no effect is not made
	}
	root := func(op codec.RootOp) { _, _ = n.s.Propose(ctx, n.of[g], namespace.Proposal{Root: &op}) }
	switch rapid.IntRange(0, 9).Draw(n.t, "kind") {
	case 0, 1:
		propose(codec.GroupOp{Kind: codec.OpMemberAdded, Member: who, Role: codec.Member})
	case 2:
		propose(codec.GroupOp{Kind: codec.OpMemberRemoved, Member: who})
	case 3:
		propose(codec.GroupOp{Kind: codec.OpMemberRoleSet, Member: who, Role: codec.Admin})
	case 4:
		propose(codec.GroupOp{Kind: codec.OpGroupAliasSet, Name: codec.Some(n.name())})
	case 5:
		propose(codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: who, Name: codec.Some(n.name())})
	case 6:
		_, _ = n.s.Rotate(ctx, g, false)
	case 7:
		root(codec.RootOp{Kind: codec.RootGroupCreated, ParentID: g})
		n.learn(g)
	case 8:
		if g != n.of[g] {
			root(codec.RootOp{Kind: codec.RootGroupDeleted, GroupID: g})
		}
	case 9:
		id, err := n.s.NewContextKey()
		require.NoError(n.t, err)
		require.NoError(n.t, n.d.CreateContext(id, codec.ApplicationMeta{}))
		_, err = n.d.Commit(ctx, dag.Commit{Context: id, Actions: []codec.Action{codec.Put([]byte("k"), []byte("v"))}, ReadRoot: merkle.EmptyRoot()})
		require.NoError(n.t, err)
		if rapid.IntRange(0, 3).Draw(n.t, "registered") > 0 {
			propose(codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: id})
		}
	}
}

// learn adds the groups that have come below g.
func (n *nodeDraw) learn(g codec.GroupID) {
	for e, err := range engine.Scan(n.e, keys.ChildrenOf(g)) {
		require.NoError(n.t, err)
		if _, known := n.of[e.Key.Child]; !known {
			n.groups, n.of[e.Key.Child] = append(n.groups, e.Key.Child), n.of[g]
		}
	}
}

// carrier returns a node that has ops of n, or some of them, and none of its keys.
func (n *nodeDraw) carrier() *mem.Engine {
	e := mem.New()
	s, err := namespace.Open(e, namespace.Options{ForgetPayloads: rapid.Bool().Draw(n.t, "forgets")})
	require.NoError(n.t, err)
	from, err := namespace.Open(n.e, namespace.Options{})
	require.NoError(n.t, err)
	for _, ns := range n.ids {
		for sent, err := range from.OpsSince(context.Background(), ns, nil, 0) {
			require.NoError(n.t, err)
			if rapid.IntRange(0, 9).Draw(n.t, "lost") == 0 {
				continue // what follows waits
			}
			_, err := s.Apply(context.Background(), sent.Wire)
			require.NoError(n.t, err)
		}
	}
	require.NoError(n.t, from.Close())
	require.NoError(n.t, s.Close())
	return e
}

// copied imports a dump into a store of its own.
func copied(t require.TestingT, text []byte) (*mem.Engine, *Imported) {
	e := mem.New()
	got, err := Import(context.Background(), bytes.NewReader(text), e, ImportOptions{})
	require.NoError(t, err)
	return e, got
}

// parts returns the digests of what a store shares with others, but for what keys of
// groups open.
func parts(t require.TestingT, e engine.Reader) map[string]string {
	found := map[string]string{}
	for _, c := range digests(t, e).Columns {
		for _, p := range c.Parts {
			if c.Column != "Config" && (c.Column != "Group" || p.Part == "NamespaceGovOp" || p.Part == "NamespaceGovHead") {
				found[c.Column+" "+p.Part] = p.Digest
			}
		}
	}
	return found
}

// What is exported and imported is whole, with secrets and without; without them it says
// nothing of what is sealed, and becomes what it was as soon as the keys are there.
func TestDumpsWithoutSecretsAreOfANodeWithoutKeys(t *testing.T) {
	enginetest.Check(t, 60, func(t *rapid.T) {
		n := drawNode(t)
		defer n.e.Close()
		require.Empty(t, fullCodes(t, n.e))

		all, _ := dump(t, n.e, ExportOptions{Reveal: true, Plain: true})
		same, got := copied(t, all)
		defer same.Close()
		require.Empty(t, got.Locked)
		require.Empty(t, fullCodes(t, same))
		require.Equal(t, digests(t, n.e), digests(t, same))

		text, _ := dump(t, n.e, ExportOptions{Plain: true})
		for _, canary := range n.canaries {
			require.NotContains(t, string(text), canary)
		}
		locked, got := copied(t, text)
		defer locked.Close()
		require.ElementsMatch(t, n.ids, got.Locked)
		require.Empty(t, fullCodes(t, locked))
		require.Equal(t, parts(t, n.e), parts(t, locked))

		older, got := copied(t, inClear(t, all))
		defer older.Close()
		require.ElementsMatch(t, n.ids, got.Locked)
		require.Equal(t, digests(t, locked).Columns, digests(t, older).Columns)
		require.Empty(t, fullCodes(t, older))

		s, err := namespace.Open(locked, namespace.Options{})
		require.NoError(t, err)
		for _, ns := range n.ids {
			identity, err := engine.Get(n.e, keys.NamespaceIdentity{Namespace: ns})
			require.NoError(t, err)
			require.NoError(t, s.ImportIdentity(ns, identity))
		}
		require.NoError(t, s.Close())
		require.Equal(t, digests(t, n.e).State, digests(t, locked).State)
		require.Empty(t, fullCodes(t, locked))
	})
}

// Ops of which the payload was forgotten, and those that wait, go through dumps.
func TestDumpsOfNodesThatCarryOpsAreWhole(t *testing.T) {
	enginetest.Check(t, 60, func(t *rapid.T) {
		n := drawNode(t)
		defer n.e.Close()
		e := n.carrier()
		defer e.Close()
		for _, reveal := range []bool{false, true} {
			text, _ := dump(t, e, ExportOptions{Plain: true, Reveal: reveal})
			again, _ := copied(t, text)
			require.Empty(t, fullCodes(t, again))
			require.Equal(t, digests(t, e).Columns, digests(t, again).Columns)
			for _, prefix := range []string{"gov-op", "gov-pending"} {
				k, v := rows(t, e, column.Generic, engine.Prefixed([]byte(prefix)))
				kept, same := rows(t, again, column.Generic, engine.Prefixed([]byte(prefix)))
				require.Equal(t, k, kept)
				require.Equal(t, v, same)
			}
			require.NoError(t, again.Close())
		}
	})
}

// inClear makes of a dump with secrets one without, that has in clear what follows from ops,
// and does not say by which rules, as dumps have had.
func inClear(t require.TestingT, text []byte) []byte {
	var out bytes.Buffer
	dropped := uint64(0)
	for line := range bytes.Lines(text) {
		var l dumpLine
		require.NoError(t, json.Unmarshal(line, &l))
		if bytes.Contains(line, []byte(`"scope":"gov-rules"`)) {
			dropped++
			continue
		}
		if l.End != nil {
			l.End.Rows -= dropped
		}
		if l.Header != nil {
			l.Header.Secrets = false
		} else if info, ok := keys.ByName(l.Type); ok && info.Secret {
			l.Redacted = true
		}
		line, err := json.Marshal(l)
		require.NoError(t, err)
		out.Write(append(line, '\n'))
	}
	return out.Bytes()
}
