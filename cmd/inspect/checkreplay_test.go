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
		"a version":        {column.Generic, scope("dag-version", 2), []byte{2}, "dag-version"},
		"a page of a trie": {column.Generic, scope("dag-trie", 2), nil, "dag-trie"},
		"a delta gone":     {column.Delta, []byte{1}, nil, "dag-damaged"},
		"a clock":          {column.Generic, scope("dag-clock"), []byte{1}, "dag-clock"},
		"a context gone":   {column.Meta, []byte{2}, nil, "context-missing"},
	} {
		t.Run(name, func(t *testing.T) {
			e := mem.New()
			defer e.Close()
			withContexts(t, e, 20, 10)
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
			require.Contains(t, fullCodes(t, e), test.want)
		})
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
