package dag_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
)

// begin is what the physical clock of a test says at first.
var begin = time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)

// options are those of node n, whose physical clock stands still.
func options(n uint64) dag.Options {
	return dag.Options{Node: codec.NodeID{Lo: n}, Now: func() time.Time { return begin }}
}

// open returns the store of db, closed with the test.
func open(t testing.TB, db engine.Engine, o dag.Options) *dag.Store {
	s, err := dag.Open(db, o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// node returns a store of an engine of its own, with context ctx1.
func node(t testing.TB, n uint64) *dag.Store {
	db := mem.New()
	t.Cleanup(func() { _ = db.Close() })
	s := open(t, db, options(n))
	require.NoError(t, s.CreateContext(ctx1, codec.ApplicationMeta{Package: "p"}))
	return s
}

var (
	ctx1 = codec.ContextID{1}
	ctx2 = codec.ContextID{2}
)

func TestContextsAreMadeListedAndDeleted(t *testing.T) {
	db := mem.New()
	defer db.Close()
	s := open(t, db, options(1))
	for _, id := range []codec.ContextID{ctx2, ctx1} {
		require.NoError(t, s.CreateContext(id, codec.ApplicationMeta{Package: "p"}))
	}
	require.ErrorIs(t, s.CreateContext(ctx1, codec.ApplicationMeta{}), dag.ErrExists)
	require.ErrorIs(t, s.CreateContext(codec.ContextID{}, codec.ApplicationMeta{}), codec.ErrMalformed)

	info, err := s.Context(ctx1)
	require.NoError(t, err)
	require.Equal(t, dag.ContextInfo{ID: ctx1, Application: codec.ApplicationMeta{Package: "p"}, Root: merkle.EmptyRoot()}, info)
	all, err := s.Contexts(codec.ContextID{}, 0)
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, ctx1, all[0].ID)
	rest, err := s.Contexts(ctx1, 1)
	require.NoError(t, err)
	require.Equal(t, all[1:], rest)

	require.NoError(t, s.SetApplication(ctx1, codec.ApplicationMeta{Package: "q"}))
	info, err = s.Context(ctx1)
	require.NoError(t, err)
	require.Equal(t, "q", info.Application.Package)

	require.NoError(t, s.DeleteContext(ctx1))
	require.ErrorIs(t, s.DeleteContext(ctx1), dag.ErrNoContext)
	_, err = s.Context(ctx1)
	require.ErrorIs(t, err, dag.ErrNoContext)
	require.NoError(t, s.DeleteContext(ctx2))
	for col := range column.All {
		it, err := db.Iterate(col, engine.Range{})
		require.NoError(t, err)
		require.False(t, it.Next(), "%s %x", col, it.Key())
		require.NoError(t, it.Close())
	}
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.CreateContext(ctx1, codec.ApplicationMeta{}), dag.ErrClosed)
	_, err = s.Contexts(codec.ContextID{}, 0)
	require.ErrorIs(t, err, dag.ErrClosed)
	require.ErrorIs(t, s.Close(), dag.ErrClosed)
}
