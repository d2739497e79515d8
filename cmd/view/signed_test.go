package view

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/namespace/content"
)

// writer is the node of somebody who writes signed deltas.
type writer struct {
	t       *testing.T
	gov     *namespace.Store
	dag     *dag.Store
	content *content.Store
}

func newWriter(t *testing.T, db engine.Engine) *writer {
	w := &writer{t: t}
	var err error
	w.gov, err = namespace.Open(db, namespace.Options{})
	require.NoError(t, err)
	clock := func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
	w.dag, err = dag.Open(db, dag.Options{Node: codec.NodeID{Lo: 1}, Now: clock})
	require.NoError(t, err)
	w.content = content.New(db, w.dag, w.gov, content.Options{})
	return w
}

func (w *writer) close() {
	require.NoError(w.t, w.dag.Close())
	require.NoError(w.t, w.gov.Close())
}

// commit writes to a context, and returns the envelopes.
func (w *writer) commit(id codec.ContextID) [][]byte {
	_, root, err := w.dag.Heads(id)
	if err != nil {
		root = codec.Hash{}
	}
	done, err := w.content.Commit(w.t.Context(), dag.Commit{Context: id, Actions: []codec.Action{codec.Put([]byte("k"), []byte("v"))}, ReadRoot: root})
	require.NoError(w.t, err)
	require.Len(w.t, done.Envelopes, 1)
	return done.Envelopes
}

// offer has others' envelopes be taken.
func (w *writer) offer(id codec.ContextID, envelopes [][]byte) content.AnswerKind {
	answers, err := w.content.Offer(w.t.Context(), id, envelopes)
	require.NoError(w.t, err)
	return answers[0].Kind
}

// The graph of a context of a group says who has written what, and what is set aside.
func TestTheGraphOfAContextSaysWhoHasSigned(t *testing.T) {
	c := newCommons(t)
	db, room := mem.New(), codec.ContextID{7}
	defer func() { require.NoError(t, db.Close()) }()
	alice, bob := newWriter(t, c.store), newWriter(t, db)
	c.propose(t, alice.gov, namespace.Proposal{GroupID: c.namespace, Group: &codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: room}})
	require.NoError(t, bob.gov.ImportIdentity(c.namespace, codec.NamespaceIdentityValue{PublicKey: c.bob, PrivateKey: codec.Secret(idNamed("bob")), SenderKey: codec.Secret{1}}))
	for op, err := range alice.gov.OpsSince(t.Context(), c.namespace, nil, 0) {
		require.NoError(t, err)
		_, err = bob.gov.Apply(t.Context(), op.Wire)
		require.NoError(t, err)
	}
	require.Equal(t, content.Counts, bob.offer(room, alice.commit(room)))
	require.Equal(t, content.Counts, alice.offer(room, bob.commit(room)))
	c.propose(t, alice.gov, namespace.Proposal{GroupID: c.namespace, Group: &codec.GroupOp{Kind: codec.OpMemberRemoved, Member: c.bob}})
	alice.commit(room)
	late := bob.commit(room)
	require.Equal(t, content.SetAside, alice.offer(room, late))
	require.Equal(t, content.SetAside, alice.offer(room, bob.commit(room)))
	require.NoError(t, alice.gov.Meet(c.namespace, c.bob))
	require.NoError(t, alice.gov.Meet(c.namespace, codec.Identity{}))
	alice.close()
	bob.close()

	doc := ask[peersDoc](t, c.served(t), "peers")
	require.Len(t, doc.Peers, 2)
	require.Equal(t, []string{"home", "", "home", "bob"}, []string{doc.Peers[0].Alias, doc.Peers[0].Name, doc.Peers[1].Alias, doc.Peers[1].Name})
	require.Equal(t, []string{"", c.bob.String()}, []string{doc.Peers[0].Identity, doc.Peers[1].Identity})
	_, err := time.Parse(time.RFC3339, doc.Peers[0].At)
	require.NoError(t, err)

	g := ask[Graph](t, c.served(t), "deltas", "context", room.String())
	var all []string
	parents := map[string]int{}
	for _, n := range g.Nodes {
		all = append(all, n.Kind+" | "+n.Label+" | "+n.Name)
		require.Len(t, n.By, 64)
		parents[n.Kind] += len(n.Parents)
	}
	require.ElementsMatch(t, []string{"applied | put k | alice", "applied | put k | bob", "applied | put k | alice",
		"aside | set aside | bob", "aside | set aside | bob"}, all)
	require.Equal(t, map[string]int{"applied": 2, "aside": 2}, parents)
}
