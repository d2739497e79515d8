package dag_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
)

// A context whose adoption can't be ended does not keep the daemon from starting,
// and can be made anew.
func TestADamagedAdoptionKeepsNoOtherContextFromBeingServed(t *testing.T) {
	g := newGrove()
	h := g.grow(t, 1, nil, put("k", "h"))
	s, db, closed := fresh(t, aged(1))
	defer closed()
	give(t, s, h)
	require.NoError(t, s.CreateContext(ctx2, codec.ApplicationMeta{}))
	require.NoError(t, s.Close())
	var b engine.Batch
	key := append([]byte("dag-context\x00\x00\x00\x00\x00"), ctx2[:]...)
	b.Put(column.Generic, key, append(make([]byte, 32+24+1), 2)) // adopting, and nothing to adopt
	require.NoError(t, db.Apply(&b))

	s, err := dag.Open(db, aged(1))
	require.NoError(t, err)
	defer s.Close()
	g.whole(t, s, db, h.ID())
	_, _, err = s.Heads(ctx2)
	require.ErrorIs(t, err, dag.ErrAdopting)
	require.NoError(t, s.DeleteContext(ctx2))
	require.NoError(t, s.CreateContext(ctx2, codec.ApplicationMeta{}))
	_, _, err = s.Heads(ctx2)
	require.NoError(t, err)
}
