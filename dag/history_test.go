package dag

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// A delta whose number cannot be read is not said to be unknown: whoever asked would
// fetch it again, and again.
func TestADamagedNumberIsNotAMissingDelta(t *testing.T) {
	s, e, first := guardedStore(t)
	var b engine.Batch
	b.Put(column.Generic, seqKey(nil, &context1, &first.Delta), []byte("no number"))
	require.NoError(t, e.Apply(&b))
	ctx := context.Background()
	_, err := s.IsAncestor(ctx, context1, first.Delta, codec.DeltaID{1})
	require.ErrorIs(t, err, engine.ErrCorrupt)
	require.NotErrorIs(t, err, ErrNoDelta)
	for _, err := range s.Walk(ctx, context1, WalkOptions{From: []codec.DeltaID{first.Delta}}) {
		require.ErrorIs(t, err, engine.ErrCorrupt)
		require.NotErrorIs(t, err, ErrNoDelta)
	}
}
