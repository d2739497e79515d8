package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
)

func TestAReadOnlyEngineReadsAndWritesNothing(t *testing.T) {
	m := mem.New()
	defer m.Close()
	var b engine.Batch
	b.Put(column.State, []byte("key"), []byte("value"))
	require.NoError(t, m.Apply(&b))
	e := engine.ReadOnly(m)
	require.ErrorIs(t, e.Apply(&b), engine.ErrReadOnly)
	require.ErrorIs(t, e.Update(func(engine.Getter, *engine.Batch) error { return nil }), engine.ErrReadOnly)
	require.ErrorIs(t, e.Flush(), engine.ErrReadOnly)
	require.ErrorIs(t, e.Checkpoint("x"), engine.ErrUnsupported)
	require.False(t, e.Health().Writable)
	s, err := e.Snapshot()
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, e.Close())
	value, err := s.Get(nil, column.State, []byte("key"))
	require.NoError(t, err)
	require.Equal(t, "value", string(value))
}
