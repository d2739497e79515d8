package inspect

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/namespace/content"
)

// signedNode is a node of a namespace, with the stores of what is signed there.
type signedNode struct {
	db       *mem.Engine
	ops      *namespace.Store
	contexts *dag.Store
	content  *content.Store
}

var signedContext = codec.ContextID{7}

func newSignedNode(t testing.TB, name string) *signedNode {
	n := &signedNode{db: mem.New()}
	now := func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) } // so that rows are the same in each run
	var err error
	n.ops, err = namespace.Open(n.db, namespace.Options{Now: now, Rand: rand.NewChaCha8([32]byte([]byte(fmt.Sprintf("%-32s", name))))})
	require.NoError(t, err)
	n.contexts, err = dag.Open(n.db, dag.Options{Now: now, Node: codec.NodeID{Lo: 1}})
	require.NoError(t, err)
	n.content = content.New(n.db, n.contexts, n.ops, content.Options{})
	t.Cleanup(func() {
		require.NoError(t, n.contexts.Close())
		require.NoError(t, n.ops.Close())
		require.NoError(t, n.db.Close())
	})
	return n
}

func (n *signedNode) commit(t testing.TB, key string) content.Committed {
	_, root, err := n.contexts.Heads(signedContext)
	if err != nil {
		root = codec.Hash{}
	}
	done, err := n.content.Commit(t.Context(), dag.Commit{Context: signedContext, Actions: []codec.Action{codec.Put([]byte(key), []byte("1"))}, ReadRoot: root})
	require.NoError(t, err)
	return done
}

// withSigned returns a node that has deltas of two authors, of whom one was removed, and one delta set
// aside; and bare deltas of another context.
func withSigned(t testing.TB) *signedNode {
	alice, bob := newSignedNode(t, "alice"), newSignedNode(t, "bob")
	ns, _, err := alice.ops.Create(t.Context(), namespace.Create{})
	require.NoError(t, err)
	seed := codec.Secret([]byte(fmt.Sprintf("%-32s", "bob")))
	who := group.IdentityOf(seed)
	do := func(op codec.GroupOp) {
		_, err := alice.ops.Propose(t.Context(), ns, namespace.Proposal{GroupID: ns, Group: &op})
		require.NoError(t, err)
	}
	do(codec.GroupOp{Kind: codec.OpMemberAdded, Member: who, Role: codec.Member})
	do(codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: signedContext})
	require.NoError(t, bob.ops.ImportIdentity(ns, codec.NamespaceIdentityValue{PublicKey: who, PrivateKey: seed, SenderKey: codec.Secret{1}}))
	for op, err := range alice.ops.OpsSince(context.Background(), ns, nil, 0) {
		require.NoError(t, err)
		_, err = bob.ops.Apply(t.Context(), op.Wire)
		require.NoError(t, err)
	}
	alice.commit(t, "first")
	alice.commit(t, "second")
	late := bob.commit(t, "late")
	do(codec.GroupOp{Kind: codec.OpMemberRemoved, Member: who})
	alice.commit(t, "third")
	answers, err := alice.content.Offer(t.Context(), signedContext, late.Envelopes)
	require.NoError(t, err)
	require.Equal(t, content.SetAside, answers[0].Kind)
	withContexts(t, alice.db, 2, 1)
	return alice
}

func TestAFullVerificationLooksAtWhatIsSigned(t *testing.T) {
	scope := func(name string, rest ...byte) []byte {
		s := keys.MustScope(name)
		return append(append(s[:], rest...), signedContext[:]...)
	}
	// flip changes a byte of a value, from its end on if at is negative.
	flip := func(at int) func([]byte) []byte {
		return func(v []byte) []byte {
			if at < 0 {
				at += len(v)
			}
			v[at]++
			return v
		}
	}
	gone := func([]byte) []byte { return nil }
	const before = 32 + 8 // the envelope
	for name, test := range map[string]struct {
		prefix []byte
		change func([]byte) []byte // of the value of the first row with the prefix
		want   []string
	}{
		"another envelope":       {scope("dag-signed"), flip(0), []string{"dag-envelope", "dag-signed"}},
		"another time":           {scope("dag-signed"), flip(32), []string{"dag-signed"}},
		"another context":        {scope("dag-signed"), flip(before + 1), []string{"dag-signed"}},
		"another author":         {scope("dag-signed"), flip(before + 1 + 32), []string{"dag-signed"}},
		"another signature":      {scope("dag-signed"), flip(-1), []string{"dag-signed"}},
		"a delta's envelope":     {scope("dag-envelope"), flip(0), []string{"dag-cut", "dag-envelope", "dag-signed"}},
		"an envelope gone":       {scope("dag-envelope"), gone, nil},
		"a cut of others":        {scope("dag-cut", 'h'), flip(0), []string{"dag-cut"}},
		"a cut gone":             {scope("dag-cut", 'h'), gone, nil},
		"an envelope's cut gone": {scope("dag-cut", 'm'), gone, []string{"dag-signed"}},
		"another set aside":      {scope("dag-held"), flip(before + 1), []string{"dag-held"}},
		"not signed, aside":      {scope("dag-held"), flip(-1), []string{"dag-held"}},
		"of another delta":       {scope("dag-held"), flip(0), []string{"dag-held"}},
		"at another time, aside": {scope("dag-held"), flip(32), []string{"dag-held"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := withSigned(t).db
			require.Empty(t, fullCodes(t, e))
			it, err := e.Iterate(column.Generic, engine.Prefixed(test.prefix))
			require.NoError(t, err)
			require.True(t, it.Next())
			var b engine.Batch
			if value := test.change(append([]byte{}, it.Value()...)); value == nil {
				b.Delete(column.Generic, it.Key())
			} else {
				b.Put(column.Generic, it.Key(), value)
			}
			require.NoError(t, it.Close())
			require.NoError(t, e.Apply(&b))
			codes := fullCodes(t, e)
			if test.want == nil {
				require.Contains(t, codes, "dag-signed")
				return
			}
			require.Equal(t, test.want, slices.Sorted(maps.Keys(codes)))
		})
	}
}

func TestEnvelopesWithoutTheirRowsAreFound(t *testing.T) {
	n := withSigned(t)
	e := n.db
	move := func(from, to []byte) {
		value, err := e.Get(nil, column.Generic, from)
		require.NoError(t, err)
		var b engine.Batch
		b.Put(column.Generic, to, value)
		require.NoError(t, e.Apply(&b))
	}
	first := func(scope string) []byte {
		s := keys.MustScope(scope)
		it, err := e.Iterate(column.Generic, engine.Prefixed(append(s[:], signedContext[:]...)))
		require.NoError(t, err)
		defer it.Close()
		require.True(t, it.Next())
		return append([]byte{}, it.Key()...)
	}
	// An envelope that is set aside under another's id, and one that counts too.
	held := first("dag-held")
	other := append([]byte{}, held...)
	other[len(other)-1]++
	move(held, other)
	require.Equal(t, map[string]uint64{"dag-held": 1}, fullCodes(t, e))

	// Deltas that are gone, with all that is of them but what is signed.
	heads, _, err := n.contexts.Heads(signedContext)
	require.NoError(t, err)
	var b engine.Batch
	engine.Delete(&b, keys.ContextDagDelta{Context: signedContext, Delta: heads[0].ID})
	require.NoError(t, e.Apply(&b))
	require.Contains(t, fullCodes(t, e), "dag-signed")
}
