package dag

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
)

// guarded is an engine that asks before each write.
type guarded struct {
	engine.Engine
	before func(*engine.Batch) error
}

func (g *guarded) Apply(b *engine.Batch) error {
	if g.before != nil {
		if err := g.before(b); err != nil {
			return err
		}
	}
	return g.Engine.Apply(b)
}

// guardedStore returns a store with context1, which has one delta.
func guardedStore(t *testing.T) (*Store, *guarded, Committed) {
	e := mem.New()
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	g := &guarded{Engine: e}
	s, err := Open(g, Options{Node: node1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.NoError(t, s.CreateContext(context1, codec.ApplicationMeta{}))
	first, err := s.Commit(context.Background(), Commit{Context: context1, ReadRoot: merkle.EmptyRoot()})
	require.NoError(t, err)
	return s, g, first
}

// A batch that several share and that cannot be written is done again, one by one.
// What has been done to a commit the first time is not done to it twice.
func TestACommitWhoseSharedBatchFailsIsMadeByItself(t *testing.T) {
	s, e, first := guardedStore(t)
	q, err := s.writeQueue(context1)
	require.NoError(t, err)
	defer s.release(q)
	broken := errors.New("broken")
	writes := 0
	e.before = func(b *engine.Batch) error {
		if writes++; writes == 1 {
			require.Greater(t, b.Len(), 1, "both are in one batch")
			return broken
		}
		return nil
	}
	own := prepare(&Delta{Context: context1, HLC: codec.HybridTimestamp{ID: node1}})
	defer own.release()
	var done Committed
	requests := []*request{
		{do: func(g *writeGroup) (err error) {
			done, err = g.commit(own, &Commit{Context: context1, ReadRoot: first.Root})
			return err
		}},
		{do: func(g *writeGroup) error {
			g.batch.Put(column.PrivateState, context1[:], []byte("x"))
			return nil
		}},
	}
	s.serve(q, requests)
	require.Equal(t, 3, writes)
	require.NoError(t, requests[0].err)
	require.NoError(t, requests[1].err)
	require.Len(t, done.Deltas, 1)
	d, err := ParseDelta(done.Deltas[0])
	require.NoError(t, err)
	require.Equal(t, []codec.DeltaID{first.Delta}, d.Parents)
	require.NoError(t, d.Check())
}

// A panic while a commit is applied, which is a defect, comes out at the call that
// asked for it, and does the context no harm.
func TestAPanicWhileApplyingIsNotSwallowed(t *testing.T) {
	s, e, first := guardedStore(t)
	commit := Commit{Context: context1, ReadRoot: first.Root}
	e.before = func(*engine.Batch) error { panic("a defect") }
	require.PanicsWithValue(t, "a defect", func() { _, _ = s.Commit(context.Background(), commit) })
	e.before = nil
	second, err := s.Commit(context.Background(), commit)
	require.NoError(t, err)
	require.Equal(t, uint64(2), second.Seq, "what panicked has done nothing")
	answer, err := s.Context(context1)
	require.NoError(t, err)
	require.Equal(t, []codec.DeltaID{second.Delta}, answer.Heads)
}
