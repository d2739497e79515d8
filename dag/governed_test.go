package dag_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
)

// A context that a group has is there without having been created: it can be read, and
// begins with the first delta, also one that waits.
func TestContextOfAGroupNeedsNotBeCreated(t *testing.T) {
	db := mem.New()
	defer db.Close()
	grove := newGrove()
	first := grove.grow(t, 1, nil, put("k", "1"))
	second := grove.grow(t, 1, []*dag.Delta{first}, put("k", "2"))

	g, app := codec.GroupID{7}, codec.ApplicationID{8}
	var b engine.Batch
	engine.Put(&b, keys.ContextGroupRef{Context: ctx1}, codec.GroupRefValue{GroupID: g})
	engine.Put(&b, keys.GroupMeta{Group: g}, codec.GroupMetaValue{TargetApplicationID: app})
	engine.Put(&b, keys.ApplicationMeta{App: app}, codec.ApplicationMeta{ApplicationID: app, Package: "p"})
	require.NoError(t, db.Apply(&b))
	s := open(t, db, options(1))
	info, err := s.Context(ctx1)
	require.NoError(t, err)
	require.Equal(t, codec.ApplicationMeta{ApplicationID: app, Package: "p"}, info.Application)
	require.ErrorIs(t, s.Begin(ctx2), dag.ErrNoContext)
	has, err := engine.Has(db, keys.ContextMeta{Context: ctx1})
	require.NoError(t, err)
	require.False(t, has, "reading it writes nothing")

	require.Equal(t, dag.Pending, add(t, s, second).Kind)
	has, err = engine.Has(db, keys.ContextMeta{Context: ctx1})
	require.NoError(t, err)
	require.True(t, has)
	require.Equal(t, dag.Applied, add(t, s, first).Kind)
	info, err = s.Context(ctx1)
	require.NoError(t, err)
	require.Equal(t, []any{second.ExpectedRoot, []codec.DeltaID{second.ID()}, "p"}, []any{info.Root, info.Heads, info.Application.Package})
	require.NoError(t, s.Begin(ctx1))
}
