package dag

import (
	"context"
	"errors"
	"runtime"
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
	s, err := Open(g, Options{Node: node1, MaxTail: 1})
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
		{Task: task{do: func(g *writeGroup) (err error) {
			done, err = g.commit(own, &Commit{Context: context1, ReadRoot: first.Root})
			return err
		}}},
		{Task: task{do: func(g *writeGroup) error {
			g.batch.Put(column.PrivateState, context1[:], []byte("x"))
			return nil
		}}},
	}
	require.NoError(t, s.submit(context.Background(), context1, requests...))
	require.Equal(t, 3, writes)
	require.NoError(t, requests[0].Err)
	require.NoError(t, requests[1].Err)
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

// puts returns a request that writes a row of its own.
func puts(key string, more func()) *request {
	return &request{Task: task{do: func(g *writeGroup) error {
		g.batch.Put(column.PrivateState, append(context1[:], key...), nil)
		more()
		return nil
	}}}
}

func TestAPanicOfOneRequestLeavesTheOthersOfItsBatchAlone(t *testing.T) {
	s, e, _ := guardedStore(t)
	var written []string
	e.before = func(b *engine.Batch) error {
		for op := range b.Ops {
			written = append(written, string(op.Key[len(context1):]))
		}
		return nil
	}
	requests := []*request{puts("a", func() {}), puts("b", func() { panic("a defect") }), puts("c", func() {})}
	require.PanicsWithValue(t, "a defect", func() { _ = s.submit(context.Background(), context1, requests...) })
	require.NoError(t, requests[0].Err)
	require.NoError(t, requests[2].Err)
	require.Equal(t, []string{"a", "c"}, written)
}

// What is half done in memory when a request panics or its goroutine ends is not
// built on.
func TestAContextIsLoadedAgainAfterARequestThatDoesNotReturn(t *testing.T) {
	s, _, first := guardedStore(t)
	for i, end := range []func(){func() { panic("a defect") }, runtime.Goexit} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer func() { _ = recover() }()
			r := &request{Task: task{do: func(g *writeGroup) error {
				g.c.next += 100
				end()
				return nil
			}}}
			_ = s.submit(context.Background(), context1, r)
		}()
		<-done
		answer, err := s.Commit(context.Background(), Commit{Context: context1, ReadRoot: first.Root})
		require.NoError(t, err)
		require.EqualValues(t, 2+i, answer.Seq)
	}
}

func TestARequestThatWritesByItselfSharesNoBatch(t *testing.T) {
	s, e, _ := guardedStore(t)
	var written []int
	e.before = func(b *engine.Batch) error {
		written = append(written, b.Len())
		return nil
	}
	alone := &request{Task: task{alone: true, do: func(g *writeGroup) error {
		require.Nil(t, g.c, "the context is not loaded")
		var b engine.Batch
		b.Put(column.PrivateState, context1[:], nil)
		return s.db.Apply(&b)
	}}}
	nothing := func() {}
	require.NoError(t, s.submit(context.Background(), context1, puts("a", nothing), puts("b", nothing), alone, puts("c", nothing), puts("d", nothing)))
	require.Equal(t, []int{2, 1, 2}, written)
}

func TestAWriteGroupForgetsWhatItHasWoken(t *testing.T) {
	s, _, _ := guardedStore(t)
	g := s.newWriteGroup(new(writeQueue))
	g.ready = append(g.ready, woken{id: codec.DeltaID{1}})
	g.free()
	require.Empty(t, g.ready, "a cascade that failed is no affair of whoever is lent its memory")
}
