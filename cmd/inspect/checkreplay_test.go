package inspect

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
)

// withContexts returns a store with two contexts, each a line of deltas, of value
// bytes each.
func withContexts(t testing.TB, e engine.Engine, deltas, value int) {
	s, err := dag.Open(e, dag.Options{Node: codec.NodeID{Lo: 1}})
	require.NoError(t, err)
	for c := range byte(2) {
		id := codec.ContextID{1 + c}
		require.NoError(t, s.CreateContext(id, codec.ApplicationMeta{}))
		info, err := s.Context(id)
		require.NoError(t, err)
		for i := range deltas {
			done, err := s.Commit(t.Context(), dag.Commit{Context: id, ReadRoot: info.Root, Durability: engine.WAL,
				Actions: []codec.Action{codec.Put(fmt.Append(nil, i%7), bytes.Repeat([]byte{byte(i)}, value))}})
			require.NoError(t, err)
			info.Root = done.Root
		}
	}
	require.NoError(t, s.Close())
}

// deleteOne deletes a key of a context that withContexts has made.
func deleteOne(t testing.TB, e engine.Engine, id codec.ContextID) {
	s, err := dag.Open(e, dag.Options{Node: codec.NodeID{Lo: 1}})
	require.NoError(t, err)
	info, err := s.Context(id)
	require.NoError(t, err)
	_, err = s.Commit(t.Context(), dag.Commit{Context: id, ReadRoot: info.Root, Actions: []codec.Action{codec.Delete([]byte("3"))}})
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

// fullCodes returns the findings of a full verification, by code.
func fullCodes(t require.TestingT, e engine.Reader) map[string]uint64 {
	v, err := Verify(context.Background(), From(e, Facts{}), VerifyOptions{Full: true}, func(f Finding) error { return nil })
	require.NoError(t, err)
	return v.Codes
}

func TestAFullVerificationReplaysContexts(t *testing.T) {
	scope := func(name string, rest ...byte) []byte {
		s, err := keys.NewScope(name)
		require.NoError(t, err)
		return append(s[:], rest...)
	}
	for name, test := range map[string]struct {
		column column.Column
		prefix []byte
		value  []byte // of the first row with the prefix; nil: it goes
		want   string
	}{
		"a value":          {column.State, []byte{1}, []byte("forged"), "dag-state"},
		"a value gone":     {column.State, []byte{2}, nil, "dag-state"},
		"a place gone":     {column.Generic, scope("dag-order", 1), nil, "dag-damaged"},
		"a number gone":    {column.Generic, scope("dag-seq", 1), nil, "dag-seq"},
		"a version":        {column.Generic, scope("dag-gone", 2), []byte{2, 0, 0, 0, 0, 0, 0, 0}, "dag-version"},
		"a page of a trie": {column.Generic, scope("dag-trie", 2), nil, "dag-trie"},
		"a delta gone":     {column.Delta, []byte{1}, nil, "dag-damaged"},
		"a clock":          {column.Generic, scope("dag-clock"), []byte{1}, "dag-clock"},
		"a context gone":   {column.Meta, []byte{2}, nil, "context-missing"},
	} {
		t.Run(name, func(t *testing.T) {
			e := mem.New()
			defer e.Close()
			withContexts(t, e, 20, 10)
			deleteOne(t, e, codec.ContextID{2})
			require.Empty(t, fullCodes(t, e))
			it, err := e.Iterate(test.column, engine.Prefixed(test.prefix))
			require.NoError(t, err)
			require.True(t, it.Next())
			var b engine.Batch
			if test.value == nil {
				b.Delete(test.column, it.Key())
			} else {
				b.Put(test.column, it.Key(), test.value)
			}
			require.NoError(t, it.Close())
			require.NoError(t, e.Apply(&b))
			codes := fullCodes(t, e)
			require.Contains(t, codes, test.want)
			if test.want != "dag-seq" { // a parent without a number
				require.NotContains(t, codes, "delta-parent", "the replay has told it")
			}
		})
	}
}

// What a context began with may have parents that were never here, and while its state
// is being replaced any delta may.
func TestParentsBeforeASnapshotAreNotMissed(t *testing.T) {
	ctx, base := codec.ContextID{1}, codec.DeltaID{1}
	for name, test := range map[string]struct {
		base   codec.DeltaID
		moving byte
		missed bool
	}{
		"the base":     {base, 0, false},
		"another":      {codec.DeltaID{2}, 0, true},
		"being seeded": {codec.DeltaID{2}, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := mem.New()
			defer e.Close()
			apply(t, e, func(b *engine.Batch) {
				engine.Put(b, scoped(contextScope, ctx[:]...), codec.Raw(append(test.base[:], append(make([]byte, 24), test.moving)...)))
				engine.Put(b, keys.ContextDagDelta{Context: ctx, Delta: base}, codec.ContextDagDeltaValue{
					DeltaID: base, Parents: []codec.DeltaID{{3}}, HLC: codec.HybridTimestamp{Time: 1, ID: codec.NodeID{Lo: 1}}, Applied: true})
			})
			_, missed := fullCodes(t, e)["delta-parent"]
			require.Equal(t, test.missed, missed)
		})
	}
}

// Two contexts that are not there are two findings, however many rows they have.
func TestAMissingContextIsToldOnceForManyRows(t *testing.T) {
	e := mem.New()
	defer e.Close()
	apply(t, e, func(b *engine.Batch) {
		for i := range byte(6) {
			delta := codec.DeltaID{i}
			engine.Put(b, keys.ContextDagDelta{Context: codec.ContextID{i % 2}, Delta: delta}, codec.ContextDagDeltaValue{
				DeltaID: delta, HLC: codec.HybridTimestamp{Time: 1, ID: codec.NodeID{Lo: 1}}})
		}
	})
	require.EqualValues(t, 2, fullCodes(t, e)["context-missing"])
}

// A row that ends before it names a context, or right behind, is of none.
func TestARowThatIsCutOffIsOfNoContext(t *testing.T) {
	for name, between := range ofDeltas {
		for length := range between + contextBytes + 1 {
			if name == "dag-tail" && length == contextBytes {
				continue // a whole key
			}
			e := mem.New()
			apply(t, e, func(b *engine.Batch) {
				engine.Put(b, scoped(name, make([]byte, length)...), codec.Raw("x"))
			})
			require.Equal(t, map[string]uint64{"scope": 1}, fullCodes(t, e), "%s, %d bytes", name, length)
			require.NoError(t, e.Close())
		}
	}
}

func TestALargeContextIsReplayedOnDisk(t *testing.T) {
	e := mem.New()
	defer e.Close()
	withContexts(t, e, 20, replayInMemory/16)
	v := &verifier{walker: &walker{ctx: t.Context()}, source: From(e, Facts{})}
	small, err := v.small(codec.ContextID{1})
	require.NoError(t, err)
	require.False(t, small)
	require.Empty(t, fullCodes(t, e))
}
