package inspect

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/namespace"
)

// founding is a namespace of its own store, with what it has sent.
type founding struct {
	store    *namespace.Store
	ns       codec.GroupID
	identity codec.NamespaceIdentityValue
	sent     [][]byte
}

func foundingOf(t *testing.T) *founding {
	db := mem.New()
	s, err := namespace.Open(db, namespace.Options{})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		require.NoError(t, db.Close())
	})
	f := &founding{store: s}
	var made namespace.Proposed
	f.ns, made, err = s.Create(t.Context(), namespace.Create{})
	require.NoError(t, err)
	f.identity, err = engine.Get(db, keys.NamespaceIdentity{Namespace: f.ns})
	require.NoError(t, err)
	f.sent = made.Wire
	return f
}

func (f *founding) propose(t *testing.T, op codec.GroupOp) {
	made, err := f.store.Propose(t.Context(), f.ns, namespace.Proposal{GroupID: f.ns, Group: &op})
	require.NoError(t, err)
	f.sent = append(f.sent, made.Wire...)
}

// A store into which two namespaces have brought claims on the same contexts is made by
// valid calls alone, and nothing is found wrong with it; what its rows say otherwise is.
func TestContextsThatTwoNamespacesClaimAreNoFinding(t *testing.T) {
	a, b := foundingOf(t), foundingOf(t)
	seed := codec.Secret{3}
	legacy, placed := codec.ContextID{1}, codec.ContextID(group.IdentityOf(seed))
	a.propose(t, codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: legacy})
	b.propose(t, codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: legacy})
	b.propose(t, codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: placed})
	a.propose(t, codec.GroupOp{Kind: codec.OpContextPlaced, ContextID: placed, Number: 1, Placement: group.SignPlacement(a.ns, a.ns, 1, seed)})

	e := mem.New()
	defer e.Close()
	var rows engine.Batch
	for _, f := range []*founding{a, b} {
		engine.Put(&rows, keys.NamespaceIdentity{Namespace: f.ns}, f.identity)
	}
	require.NoError(t, e.Apply(&rows))
	s, err := namespace.Open(e, namespace.Options{})
	require.NoError(t, err)
	for _, f := range []*founding{a, b} {
		for _, op := range f.sent {
			_, err := s.Apply(t.Context(), op)
			require.NoError(t, err)
		}
	}
	require.NoError(t, s.Close())
	require.Empty(t, fullCodes(t, e))
	ref, err := engine.Get(e, keys.ContextGroupRef{Context: placed})
	require.NoError(t, err)
	require.Equal(t, a.ns, ref.GroupID)
	_, err = engine.Get(e, keys.ContextGroupRef{Context: legacy})
	require.ErrorIs(t, err, engine.ErrNotFound)

	for name, change := range map[string]func(*engine.Batch){
		"taken": func(b2 *engine.Batch) {
			engine.Put(b2, keys.ContextGroupRef{Context: placed}, codec.GroupRefValue{GroupID: b.ns})
		},
		"nobody's, taken": func(b2 *engine.Batch) {
			engine.Put(b2, keys.ContextGroupRef{Context: legacy}, codec.GroupRefValue{GroupID: b.ns})
		},
		"lost": func(b2 *engine.Batch) { engine.Delete(b2, keys.ContextGroupRef{Context: placed}) },
		"counters": func(b2 *engine.Batch) {
			engine.Put(b2, keys.ContextConfig{Context: placed}, codec.ContextConfigValue{MembersRevision: 9})
		},
		"a claim": func(b2 *engine.Batch) {
			scope, _ := keys.NewScope("gov-home")
			b2.Delete(column.Generic, append(append(scope[:], placed[:]...), a.ns[:]...))
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := cloneOf(t, e)
			defer e.Close()
			var b engine.Batch
			change(&b)
			require.NoError(t, e.Apply(&b))
			require.Contains(t, fullCodes(t, e), "gov-fold")
		})
	}
}

func cloneOf(t *testing.T, from engine.Reader) *mem.Engine {
	e := mem.New()
	var b engine.Batch
	for c := range column.All {
		found, values := rows(t, from, c, engine.Range{})
		for i := range found {
			b.Put(c, found[i], values[i])
		}
	}
	require.NoError(t, e.Apply(&b))
	return e
}
