package server

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

func TestAStateThatASnapshotTakesThePlaceOfIsNotReadHalf(t *testing.T) {
	d := inRoom(t, 1, Options{})
	d.commit(t, "k", "1")
	_, err := d.dag.WritePrivate(t.Context(), room, []codec.Action{codec.Put([]byte("k"), nil)}, engine.WAL)
	require.NoError(t, err)
	var b engine.Batch
	key := append([]byte("dag-context\x00\x00\x00\x00\x00"), room[:]...)
	b.Put(column.Generic, key, append(make([]byte, 32+24+1), 2)) // adopting
	b.Delete(column.State, append(room[:], 'k'))
	require.NoError(t, d.engine.Apply(&b))
	_, err = d.dag.State(t.Context(), room, []byte("k"))
	require.ErrorIs(t, err, dag.ErrAdopting)
	require.ErrorIs(t, first(d.dag.ScanState(t.Context(), room, engine.Range{})), dag.ErrAdopting)
	_, err = d.dag.Private(t.Context(), room, []byte("k"))
	require.NoError(t, err)
	require.NoError(t, first(d.dag.ScanPrivate(t.Context(), room, engine.Range{})))
}

// An entry that is larger than a page has one of its own, and no empty page comes
// before it.
func TestAnEntryLargerThanAPageHasOneOfItsOwn(t *testing.T) {
	d := inRoom(t, 1, Options{})
	var b engine.Batch
	for _, key := range []string{"a", "b"} {
		b.Put(column.State, append(room[:], key...), make([]byte, wire.MaxPage+1))
	}
	require.NoError(t, d.engine.Apply(&b))
	s, err := stoav1.NewDagClient(d.bare(t)).ScanState(t.Context(), &stoav1.DagScanStateRequest{ContextId: room[:]})
	require.NoError(t, err)
	for range 2 {
		page, err := s.Recv()
		require.NoError(t, err)
		require.EqualValues(t, 1, page.GetCount())
	}
	_, err = s.Recv()
	require.ErrorIs(t, err, io.EOF)
}
