package server

import (
	"crypto/ed25519"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc"
)

// severalPages is more entries than the first page of a list has.
const severalPages = 41

func TestListsOfContextsAreWholeOverSeveralPages(t *testing.T) {
	a, made := line(t, Options{}, 2*severalPages)
	b := inRoom(t, 2, Options{})
	var missing, pending []codec.DeltaID
	for i := 0; i < len(made); i += 2 {
		require.Equal(t, dag.Pending, b.add(t, made[i+1].Deltas[0]).Kind)
		missing, pending = append(missing, made[i].Delta), append(pending, made[i+1].Delta)
	}
	require.ElementsMatch(t, missing, collect(t, b.dag.Missing(t.Context(), room)))
	var waits []codec.DeltaID
	for _, d := range collect(t, b.dag.Pending(t.Context(), room)) {
		waits = append(waits, d.ID)
	}
	require.Equal(t, pending, waits, "in the order in which they came")

	c := inRoom(t, 3, Options{})
	wrong, err := dag.ParseDelta(made[0].Deltas[0])
	require.NoError(t, err)
	for i := range severalPages {
		wrong.ExpectedRoot = codec.Hash{1, byte(i)}
		bytes, err := wrong.AppendBinary(nil)
		require.NoError(t, err)
		require.Equal(t, dag.Refused, c.add(t, bytes).Kind)
	}
	refusals := collect(t, c.dag.Refusals(t.Context(), room, 0))
	require.Len(t, refusals, severalPages)
	for i, r := range refusals {
		require.Equal(t, codec.Hash{1, byte(i)}, r.Refusal.Expected, "the oldest first")
	}
	require.Equal(t, refusals[3:], collect(t, c.dag.Refusals(t.Context(), room, refusals[2].Seq)))

	for i := range severalPages {
		require.NoError(t, a.dag.CreateContext(t.Context(), codec.ContextID{0xFF, byte(i)}, codec.ApplicationMeta{}))
		require.NoError(t, a.dag.Ack(t.Context(), room, fmt.Sprintf("cursor %02d", i), dag.Position{Seq: 1, Delta: made[0].Delta}, engine.WAL))
	}
	contexts, cursors := collect(t, a.dag.Contexts(t.Context())), collect(t, a.dag.Cursors(t.Context(), room))
	require.Len(t, contexts, severalPages+1)
	require.Len(t, cursors, severalPages)
	for i := range severalPages {
		require.Equal(t, codec.ContextID{0xFF, byte(i)}, contexts[i+1].ID)
		require.Equal(t, fmt.Sprintf("cursor %02d", i), cursors[i].Name)
	}
}

func TestListsOfGovernanceAreWholeOverSeveralPages(t *testing.T) {
	d, ns := founded(t, rpc.FramingAuto, Options{})
	self, err := d.Identity(t.Context(), ns)
	require.NoError(t, err)
	members, contexts := []codec.Identity{self}, []codec.ContextID{}
	for i := range severalPages {
		seed := [ed25519.SeedSize]byte{byte(i)}
		who, context := codec.Identity(ed25519.NewKeyFromSeed(seed[:]).Public().(ed25519.PublicKey)), codec.ContextID{byte(i), 2}
		d.propose(t, ns, codec.GroupOp{Kind: codec.OpMemberAdded, Member: who, Role: codec.Member})
		d.propose(t, ns, codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: who, Name: codec.Some(codec.AliasName(fmt.Sprint("m", i)))})
		d.propose(t, ns, codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: context})
		members, contexts = append(members, who), append(contexts, context)
	}
	var who []codec.Identity
	for _, m := range collect(t, d.groups.Members(t.Context(), ns)) {
		who = append(who, m.Identity)
	}
	require.ElementsMatch(t, members, who)
	var listed []codec.ContextID
	for _, x := range collect(t, d.groups.Contexts(t.Context(), ns)) {
		listed = append(listed, x.ID)
	}
	require.Equal(t, contexts, listed)
	require.Len(t, collect(t, d.groups.Names(t.Context(), ns)), severalPages+1, "and the name of the group")
	log := logOf(t, d, ns, namespace.Window{})
	require.Len(t, log, 3*severalPages+2) // with the first key, and the name of the group
	require.Equal(t, log, reversed(logOf(t, d, ns, namespace.Window{Reverse: true})))
	require.Equal(t, log[1:36], logOf(t, d, ns, namespace.Window{From: log[1].Seq, Limit: 35}))

	var missing, pending []codec.OpID
	for i := range severalPages {
		parent := codec.OpID{1}
		binary.BigEndian.PutUint32(parent[1:], uint32(i))
		s := &codec.SignedNamespaceOp{Version: codec.OpVersion2, NamespaceID: ns, Parents: []codec.OpID{parent}, Nonce: 1, Op: codec.NamespaceOp{Root: codec.RootOp{Kind: codec.RootMerge}}}
		require.NoError(t, namespace.Sign(s, codec.Secret{1}))
		wire, err := s.AppendBinary(nil)
		require.NoError(t, err)
		answer, err := d.Apply(t.Context(), wire)
		require.NoError(t, err)
		require.Equal(t, namespace.Pending, answer.Kind)
		missing, pending = append(missing, parent), append(pending, answer.ID)
	}
	require.Equal(t, missing, collect(t, d.Missing(t.Context(), ns)))
	var waits []codec.OpID
	for _, op := range collect(t, d.PendingOps(t.Context(), ns)) {
		waits = append(waits, op.ID)
	}
	require.ElementsMatch(t, pending, waits)

	for range severalPages {
		_, _, err := d.Create(t.Context(), namespace.Create{})
		require.NoError(t, err)
	}
	require.Len(t, collect(t, d.List(t.Context())), severalPages+1)
}
