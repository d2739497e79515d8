package namespace

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine/mem"
)

func TestSyncBringsTwoStoresLevel(t *testing.T) {
	a, ns := founded(t)
	db := mem.New()
	b, err := Open(db, Options{})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, b.Close())
		require.NoError(t, db.Close())
	})
	_, err = Sync(t.Context(), codec.GroupID{1}, a, b)
	require.ErrorIs(t, err, ErrNoNamespace)

	invitation, err := a.Invite(t.Context(), Invite{GroupID: ns, Role: codec.Admin, Expires: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	request, err := b.Join(t.Context(), invitation)
	require.NoError(t, err)
	_, err = a.Admit(t.Context(), request)
	require.NoError(t, err)
	r, err := Sync(t.Context(), ns, a, b)
	require.NoError(t, err)
	require.Positive(t, r.ToB.Stored)
	require.Zero(t, r.ToA)

	// Both go on, and meet again.
	proposeTo(t, a, ns, Proposal{GroupID: ns, Group: &codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: codec.ContextID{1}}})
	proposeTo(t, b, ns, Proposal{GroupID: ns, Group: &codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: codec.ContextID{2}}})
	r, err = Sync(t.Context(), ns, b, a)
	require.NoError(t, err)
	require.Equal(t, []int{1, 1}, []int{r.ToA.Stored, r.ToB.Stored})
	for _, s := range []*Store{a, b} {
		list, err := s.Contexts(ns, codec.ContextID{}, 0)
		require.NoError(t, err)
		require.Len(t, list, 2)
		heads, err := s.Heads(t.Context(), ns)
		require.NoError(t, err)
		require.Equal(t, r.Heads, heads)
	}
	r, err = Sync(t.Context(), ns, a, b)
	require.NoError(t, err)
	require.Equal(t, SyncReport{Heads: r.Heads}, r)
}
