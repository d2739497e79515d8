package blob

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

func TestABlobThatIsLargerThanTheLimitIsRefused(t *testing.T) {
	require.EqualValues(t, 4<<30, MaxSize)
	require.EqualValues(t, MaxSize, Options{}.withDefaults().maxSize)

	b := memStore(t, Options{maxSize: 2 * chunk, SpoolDir: filepath.Join(t.TempDir(), "spool")})
	id := mustPut(t, b, bytesOf(2*chunk))
	require.NoError(t, b.Delete(t.Context(), id, false))
	_, _, err := b.Put(t.Context(), bytes.NewReader(bytesOf(2*chunk)), PutOptions{})
	require.NoError(t, err)
	before := blobRows(t, b.eng)
	over := bytesOf(2*chunk + 1)
	for _, id := range []codec.BlobID{contentID(over), {}} {
		_, _, err := b.Put(t.Context(), bytes.NewReader(over), PutOptions{ID: id})
		require.ErrorIs(t, err, engine.ErrTooLarge)
		require.Equal(t, before, blobRows(t, b.eng))
	}
	size := uint64(2*chunk + 1)
	_, _, err = b.Put(t.Context(), panicReader{}, PutOptions{Size: &size})
	require.ErrorIs(t, err, engine.ErrTooLarge)
	require.Equal(t, &TooLarge{size, 2 * chunk}, err)
}

func TestADamagedBlobIsFoundByItsReader(t *testing.T) {
	content := bytesOf(2*chunk + 100)
	id := contentID(content)
	for name, damage := range map[string]func(*engine.Batch){
		"chunk 1 of 3 is missing": func(b *engine.Batch) { engine.Delete(b, keys.BlobChunk{Blob: id, Index: 1}) },
		"chunk 2 of 3 has 99 bytes": func(b *engine.Batch) {
			engine.Put(b, keys.BlobChunk{Blob: id, Index: 2}, codec.BlobChunk(content[:99]))
		},
		"the content has the hash": func(b *engine.Batch) {
			engine.Put(b, keys.BlobChunk{Blob: id, Index: 0}, codec.BlobChunk(content[1:chunk+1]))
		},
		"names another hash": func(b *engine.Batch) {
			engine.Put(b, keys.BlobMeta{Blob: id}, codec.BlobMeta{Size: 2*chunk + 100, Chunks: 3})
		},
		"bytes in 4 chunks": func(b *engine.Batch) {
			engine.Put(b, keys.BlobMeta{Blob: id}, codec.BlobMeta{Size: 2*chunk + 100, Hash: codec.Hash(id), Chunks: 4})
		},
		"BlobMeta": func(b *engine.Batch) { b.Put(column.Blobs, id[:], []byte("no manifest")) },
	} {
		t.Run(name, func(t *testing.T) {
			b := memStore(t, Options{})
			mustPut(t, b, content)
			var batch engine.Batch
			damage(&batch)
			require.NoError(t, b.eng.Apply(&batch))
			_, err := readAll(b, id)
			require.ErrorIs(t, err, engine.ErrCorrupt)
			require.ErrorContains(t, err, name)
			var c *Corrupt
			require.ErrorAs(t, err, &c)
			require.Equal(t, id, c.ID)
			require.NoError(t, b.Delete(t.Context(), id, false), "what is damaged can be deleted")
			require.Empty(t, blobRows(t, b.eng))
		})
	}
}

func TestABlobThatAnApplicationNamesIsDeletedOnlyByForce(t *testing.T) {
	b := memStore(t, Options{})
	app := codec.ApplicationID{0xAA}
	for name, of := range map[string]func(codec.BlobID) codec.ApplicationMeta{
		"bytecode":          func(id codec.BlobID) codec.ApplicationMeta { return codec.ApplicationMeta{Bytecode: id} },
		"compiled":          func(id codec.BlobID) codec.ApplicationMeta { return codec.ApplicationMeta{Compiled: id} },
		"service bytecode":  func(id codec.BlobID) codec.ApplicationMeta { return withService(codec.ServiceMeta{Bytecode: id}) },
		"service, compiled": func(id codec.BlobID) codec.ApplicationMeta { return withService(codec.ServiceMeta{Compiled: id}) },
	} {
		t.Run(name, func(t *testing.T) {
			id := mustPut(t, b, []byte(name))
			meta := of(id)
			meta.ApplicationID = app
			var batch engine.Batch
			engine.Put(&batch, keys.ApplicationMeta{App: app}, meta)
			require.NoError(t, b.eng.Apply(&batch))
			err := b.Delete(t.Context(), id, false)
			require.ErrorIs(t, err, ErrInUse)
			require.Equal(t, &InUse{id, app}, err)
			_, err = b.Stat(id)
			require.NoError(t, err)
			require.NoError(t, b.Delete(t.Context(), id, true))
			_, err = b.Stat(id)
			require.ErrorIs(t, err, engine.ErrNotFound)
			require.ErrorIs(t, b.Delete(t.Context(), id, true), engine.ErrNotFound)
		})
	}
}

func withService(s codec.ServiceMeta) codec.ApplicationMeta {
	return codec.ApplicationMeta{Services: []codec.ServiceMeta{{Name: "first"}, s}}
}
