package dag

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
)

// recorder is an engine that notes with what durability each batch was written.
type recorder struct {
	engine.Engine
	mu   sync.Mutex
	seen []engine.Durability
}

func (r *recorder) Apply(b *engine.Batch) error {
	r.mu.Lock()
	r.seen = append(r.seen, b.Durability)
	r.mu.Unlock()
	return r.Engine.Apply(b)
}

// take returns what was noted since the last take.
func (r *recorder) take() (seen []engine.Durability) {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen, r.seen = r.seen, nil
	return seen
}

func recorded(t *testing.T) (*Store, *recorder) {
	e := mem.New()
	t.Cleanup(func() { _ = e.Close() })
	r := &recorder{Engine: e}
	s, err := Open(r, Options{Node: node1})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	require.NoError(t, s.CreateContext(context1, codec.ApplicationMeta{}))
	require.Equal(t, []engine.Durability{engine.Synced}, r.take())
	return s, r
}

func TestACommitIsOnDiskAsItWasAskedFor(t *testing.T) {
	s, r := recorded(t)
	_, err := s.clock.Stamp()
	require.NoError(t, err)
	require.Equal(t, []engine.Durability{engine.Synced}, r.take(), "a reservation is on disk before its stamps are used")
	root := merkle.EmptyRoot()
	for _, d := range []engine.Durability{engine.Synced, engine.WAL, engine.Synced} {
		done, err := s.Commit(context.Background(), Commit{Context: context1, ReadRoot: root, Durability: d})
		require.NoError(t, err)
		root = done.Root
		require.Equal(t, []engine.Durability{d}, r.take())
	}
}

// What is written together is on disk if one of those who share the batch asked
// for it, in whatever order they came.
func TestABatchIsSyncedForAnyOfItsRequests(t *testing.T) {
	s, r := recorded(t)
	for name, asked := range map[string][]bool{
		"the first": {true, false, false}, "the last": {false, false, true}, "one between": {false, true, false}, "nobody": {false, false},
	} {
		t.Run(name, func(t *testing.T) {
			var requests []*request
			want := engine.WAL
			for _, synced := range asked {
				if synced {
					want = engine.Synced
				}
				requests = append(requests, &request{Task: task{synced: synced, do: func(g *writeGroup) error {
					g.batch.Put(column.PrivateState, context1[:], []byte("x"))
					return nil
				}}})
			}
			require.NoError(t, s.submit(context.Background(), context1, requests...))
			require.Equal(t, []engine.Durability{want}, r.take())
		})
	}
}
