package fuzz

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
)

// FuzzBatch reads any bytes as a batch. Those that are one must be the only
// encoding of what they say.
func FuzzBatch(f *testing.F) {
	f.Add([]byte(nil), []byte(nil), uint8(0))
	f.Fuzz(func(t *testing.T, ops, expects []byte, durability uint8) {
		wantOps, wantExpects := bytes.Clone(ops), bytes.Clone(expects)
		var b *engine.Batch
		var err error
		requireBounded(t, len(ops)+len(expects), func() {
			b, err = engine.ParseBatch(ops, expects, engine.Durability(durability))
		})
		for _, err := range engine.Changes(ops) { // which may be asked of bytes that were not checked
			if err != nil {
				require.ErrorIs(t, err, engine.ErrBatch)
			}
		}
		if err != nil {
			require.True(t, errors.Is(err, engine.ErrBatch) || errors.Is(err, engine.ErrTooLarge), "%v", err)
			require.Nil(t, b)
			return
		}
		again := encode(t, b)
		require.Equal(t, b.Len(), again.Len())
		require.Equal(t, b.Guarded(), again.Guarded())
		if len(ops) > 0 {
			require.True(t, bytes.Equal(ops, again.Bytes()), "%x is encoded as %x", ops, again.Bytes())
		}
		require.True(t, bytes.Equal(expects, again.Expectations()), "%x is encoded as %x", expects, again.Expectations())

		db := mem.New()
		if err := db.Apply(b); err != nil {
			require.ErrorIs(t, err, engine.ErrConflict)
		}
		require.NoError(t, db.Close())
		require.Equal(t, wantOps, bytes.Clone(ops), "the bytes have been changed")
		require.Equal(t, wantExpects, bytes.Clone(expects), "the bytes have been changed")
	})
}

// encode makes a batch of what another one yields.
func encode(t *testing.T, b *engine.Batch) *engine.Batch {
	again := &engine.Batch{Durability: b.Durability}
	for op, err := range b.Ops {
		require.NoError(t, err)
		switch op.Kind {
		case engine.KindPut:
			again.Put(op.Column, op.Key, op.Value)
		case engine.KindDelete:
			again.Delete(op.Column, op.Key)
		case engine.KindDeleteRange:
			again.DeleteRange(op.Column, op.Key, op.Value)
		default:
			t.Fatalf("kind %d", op.Kind)
		}
	}
	for e, err := range b.Expected {
		require.NoError(t, err)
		if e.Absent {
			again.ExpectAbsent(e.Column, e.Key)
		} else {
			again.Expect(e.Column, e.Key, e.Want)
		}
	}
	require.NoError(t, again.Check())
	return again
}
