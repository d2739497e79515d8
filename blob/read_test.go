package blob

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

func TestAPartIsReadByOffsetAndLength(t *testing.T) {
	overEngines(t, func(t *testing.T, s *Store) {
		const size = 3*chunk + 7
		content := bytesOf(size)
		id := mustPut(t, s, content)
		for _, part := range [][2]uint64{
			{0, 0}, {0, 1}, {0, chunk}, {1, chunk}, {chunk - 1, 2}, {chunk, chunk + 1}, {2*chunk + 5, ToTheEnd},
			{3 * chunk, 100}, {size - 1, 9}, {size, 0}, {size, ToTheEnd}, {0, size}, {0, 1 << 63}, {5, ToTheEnd},
		} {
			end := uint64(size)
			if part[1] < end-part[0] {
				end = part[0] + part[1]
			}
			r, err := s.Read(id, part[0], part[1])
			require.NoError(t, err)
			require.Equal(t, Info{ID: id, Size: size, Chunks: 4}, r.Info())
			got, err := io.ReadAll(r)
			require.NoError(t, err)
			require.True(t, bytes.Equal(content[part[0]:end], got), "%v", part)
			require.NoError(t, r.Close())
		}
		_, err := s.Read(id, size+1, 0)
		require.ErrorIs(t, err, ErrOffset)
	})
}

// A part has no hash to be held against, and reads its own chunks only.
func TestAPartOfADamagedBlobIsReadIfItIsWhole(t *testing.T) {
	s := memStore(t, Options{})
	content := bytesOf(2 * chunk)
	id := damaged(t, s, content, func(b *engine.Batch, id codec.BlobID) { dropChunk(b, id, 1) })
	r, err := s.Read(id, 0, chunk)
	require.NoError(t, err)
	defer r.Close()
	got, err := io.ReadAll(r)
	require.NoError(t, err)
	require.True(t, bytes.Equal(content[:chunk], got))
}

func TestAReaderOutlivesTheDeletionOfItsBlob(t *testing.T) {
	overEngines(t, func(t *testing.T, s *Store) {
		content := bytesOf(3*chunk + 1)
		id := mustPut(t, s, content)
		r, err := s.Read(id, 0, ToTheEnd)
		require.NoError(t, err)
		first, err := r.Next(10)
		require.NoError(t, err)
		got := bytes.Clone(first)
		require.NoError(t, s.Delete(t.Context(), id, false))
		require.Empty(t, blobRows(t, s.eng))
		rest, err := io.ReadAll(r)
		require.NoError(t, err)
		require.True(t, bytes.Equal(content, append(got, rest...)))
		require.NoError(t, r.Close())
		require.NoError(t, r.Close(), "closing again does nothing")
	})
}

func TestBlobsAreListedFromAnIDOn(t *testing.T) {
	s := memStore(t, Options{})
	var ids []codec.BlobID
	for i := range 20 {
		mustPut(t, s, bytesOf(i))
	}
	putChunk(t, s.eng, codec.BlobID{0x80}, 0, []byte("being uploaded"))
	for b, err := range s.All(t.Context(), nil) {
		require.NoError(t, err)
		ids = append(ids, b.ID)
	}
	require.Len(t, ids, 20)
	for b, err := range s.All(t.Context(), ids[7][:]) {
		require.NoError(t, err)
		require.Equal(t, ids[7], b.ID)
		break
	}
	var batch engine.Batch
	batch.Put(column.Blobs, ids[3][:], []byte("no manifest"))
	require.NoError(t, s.eng.Apply(&batch))
	listed := 0
	for _, err := range s.All(t.Context(), nil) {
		if listed++; listed > 3 {
			require.ErrorIs(t, err, engine.ErrCorrupt)
		}
	}
	require.Equal(t, 4, listed, "an error ends it")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range s.All(ctx, nil) {
		require.ErrorIs(t, err, context.Canceled)
	}
}
