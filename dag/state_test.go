package dag_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
)

// deleting is an engine that deletes a context once somebody has looked whether it is
// there.
type deleting struct {
	engine.Engine
	armed  atomic.Bool
	delete func()
}

func (e *deleting) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	value, err := e.Engine.Get(dst, col, key)
	if col == column.Meta && e.armed.CompareAndSwap(true, false) {
		e.delete()
	}
	return value, err
}

func TestAContextThatIsDeletedLeavesNoPrivateState(t *testing.T) {
	db := &deleting{Engine: mem.New()}
	defer db.Close()
	s := open(t, db, options(1))
	db.delete = func() { require.NoError(t, s.DeleteContext(ctx1)) }
	require.NoError(t, s.CreateContext(ctx1, codec.ApplicationMeta{}))
	db.armed.Store(true)
	_, err := s.WritePrivate(bg, ctx1, []codec.Action{put("k", "secret")}, engine.WAL)
	require.ErrorIs(t, err, dag.ErrNoContext)
	require.False(t, db.armed.Load(), "it was deleted")
	require.NoError(t, s.CreateContext(ctx1, codec.ApplicationMeta{}))
	_, err = s.Private(ctx1, []byte("k"))
	require.ErrorIs(t, err, engine.ErrNotFound)
}

func TestPrivateStateIsWrittenReadAndScanned(t *testing.T) {
	db := mem.New()
	defer db.Close()
	s := open(t, db, options(1))
	_, err := s.WritePrivate(bg, ctx1, nil, engine.WAL)
	require.ErrorIs(t, err, dag.ErrNoContext)
	_, err = s.Private(ctx1, []byte("k"))
	require.ErrorIs(t, err, dag.ErrNoContext)
	require.NoError(t, s.CreateContext(ctx1, codec.ApplicationMeta{}))
	_, err = s.WritePrivate(bg, ctx1, []codec.Action{put("a", "1"), put("b", "2"), put("c", "3")}, engine.WAL)
	require.NoError(t, err)
	deleted, err := s.WritePrivate(bg, ctx1, []codec.Action{codec.Delete([]byte("a")), codec.Delete([]byte("none"))}, engine.WAL)
	require.NoError(t, err)
	require.Equal(t, 1, deleted)
	scan := func(r engine.Range) (all []string) {
		for e, err := range s.ScanPrivate(bg, ctx1, r) {
			require.NoError(t, err)
			all = append(all, string(e.AppKey)+string(e.Value))
		}
		return all
	}
	require.Equal(t, []string{"b2", "c3"}, scan(engine.Range{}))
	require.Equal(t, []string{"c3"}, scan(engine.Range{Reverse: true, Limit: 1}))
	require.Equal(t, []string{"b2"}, scan(engine.Range{Start: []byte("a"), End: []byte("c")}))
	require.Empty(t, scan(engine.Range{End: []byte{}}))

	var row *dag.RowError
	_, err = s.Private(ctx1, make([]byte, keys.MaxVariable+1))
	require.ErrorAs(t, err, &row)
	require.Equal(t, column.PrivateState, row.Column)
	var key *keys.Error
	require.ErrorAs(t, err, &key)
}

func TestCountersOfAContextThatAGroupHasAreNotRaised(t *testing.T) {
	db := mem.New()
	defer db.Close()
	s := open(t, db, options(1))
	_, err := s.Config(ctx1)
	require.ErrorIs(t, err, dag.ErrNoContext)
	_, err = s.BumpConfig(ctx1, true, true)
	require.ErrorIs(t, err, dag.ErrNoContext)
	require.NoError(t, s.CreateContext(ctx1, codec.ApplicationMeta{}))
	v, err := s.BumpConfig(ctx1, true, false)
	require.NoError(t, err)
	require.Equal(t, codec.ContextConfigValue{ApplicationRevision: 1}, v)

	var b engine.Batch
	engine.Put(&b, keys.ContextGroupRef{Context: ctx1}, codec.GroupRefValue{GroupID: codec.GroupID{7}})
	require.NoError(t, db.Apply(&b))
	_, err = s.BumpConfig(ctx1, true, true)
	require.Equal(t, &dag.Governed{Context: ctx1, Group: codec.GroupID{7}}, err)
	v, err = s.Config(ctx1)
	require.NoError(t, err)
	require.Equal(t, codec.ContextConfigValue{ApplicationRevision: 1}, v)
}
