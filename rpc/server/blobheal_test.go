package server

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/rpc"
)

// contentsOf returns the rows of the Blobs column.
func contentsOf(t testing.TB, r engine.Reader) map[string]string {
	t.Helper()
	it, err := r.Iterate(column.Blobs, engine.Range{})
	require.NoError(t, err)
	defer it.Close()
	rows := map[string]string{}
	for it.Next() {
		rows[string(it.Key())] = string(it.Value())
	}
	require.NoError(t, it.Err())
	return rows
}

// damaged damages the blob of content, and returns its id.
func damaged(t testing.TB, b *blobStore, content []byte, damage func(*engine.Batch, codec.BlobID)) codec.BlobID {
	t.Helper()
	id := mustPut(t, b, content)
	var batch engine.Batch
	damage(&batch, id)
	require.NoError(t, b.eng.Apply(&batch))
	return id
}

// setChunk and dropChunk damage a blob.
func setChunk(b *engine.Batch, id codec.BlobID, index uint32, value []byte) {
	engine.Put(b, keys.BlobChunk{Blob: id, Index: index}, codec.BlobChunk(value))
}

func dropChunk(b *engine.Batch, id codec.BlobID, index uint32) {
	engine.Delete(b, keys.BlobChunk{Blob: id, Index: index})
}

func setManifest(b *engine.Batch, id codec.BlobID, size uint64, chunks uint32) {
	engine.Put(b, keys.BlobMeta{Blob: id}, codec.BlobMeta{Size: size, Hash: codec.Hash(id), Chunks: chunks})
}

func TestUploadingADamagedBlobAgainHealsIt(t *testing.T) {
	content := bytesOf(4*chunk + 100)
	spoiled := bytesOf(chunk)
	for name, test := range map[string]struct {
		damage func(*engine.Batch, codec.BlobID)
		healed rpc.BlobHealed
	}{
		"missing":     {func(b *engine.Batch, id codec.BlobID) { dropChunk(b, id, 1) }, rpc.BlobHealed{Chunks: 1}},
		"other bytes": {func(b *engine.Batch, id codec.BlobID) { setChunk(b, id, 2, spoiled) }, rpc.BlobHealed{Chunks: 1}},
		"short":       {func(b *engine.Batch, id codec.BlobID) { setChunk(b, id, 0, content[:9]) }, rpc.BlobHealed{Chunks: 1}},
		"the last":    {func(b *engine.Batch, id codec.BlobID) { setChunk(b, id, 4, spoiled[:100]) }, rpc.BlobHealed{Chunks: 1}},
		"many": {func(b *engine.Batch, id codec.BlobID) {
			dropChunk(b, id, 0)
			setChunk(b, id, 1, spoiled)
			dropChunk(b, id, 3)
			setChunk(b, id, 4, nil)
		}, rpc.BlobHealed{Chunks: 4}},
		"beyond":   {func(b *engine.Batch, id codec.BlobID) { setChunk(b, id, 5, spoiled); setChunk(b, id, 1<<32-1, nil) }, rpc.BlobHealed{Surplus: true}},
		"size":     {func(b *engine.Batch, id codec.BlobID) { setManifest(b, id, 3*chunk, 3) }, rpc.BlobHealed{Manifest: true}},
		"manifest": {func(b *engine.Batch, id codec.BlobID) { b.Put(column.Blobs, id[:], []byte("no manifest")) }, rpc.BlobHealed{Manifest: true}},
		"all": {func(b *engine.Batch, id codec.BlobID) {
			setManifest(b, id, chunk, 7)
			dropChunk(b, id, 2)
			setChunk(b, id, 6, spoiled)
		}, rpc.BlobHealed{Chunks: 1, Manifest: true, Surplus: true}},
	} {
		t.Run(name, func(t *testing.T) {
			overEngines(t, Options{}, func(t *testing.T, d *testDaemon) {
				c := d.dial(t)
				id := mustPut(t, d.blobs, content)
				whole := contentsOf(t, d.engine)
				for _, o := range []rpc.BlobPutOptions{{ID: id, Size: uint64(len(content))}, {}} {
					damaged(t, d.blobs, content, test.damage)
					stored, existed, err := c.BlobPut(t.Context(), bytes.NewReader(content), o)
					require.NoError(t, err)
					require.True(t, existed)
					require.Equal(t, rpc.Blob{ID: id, Size: uint64(len(content)), Chunks: 5, Healed: test.healed}, stored)
					require.True(t, maps.Equal(whole, contentsOf(t, d.engine)))
					stored, existed, err = c.BlobPut(t.Context(), bytes.NewReader(content), o)
					require.NoError(t, err)
					require.True(t, existed)
					require.Zero(t, stored.Healed)
				}
				require.Empty(t, filesIn(t, d.o.Blobs.SpoolDir))
			})
		})
	}
}

func TestAnUploadOfOtherContentChangesNothingOfABlob(t *testing.T) {
	b := memStore(t, BlobOptions{SpoolDir: filepath.Join(t.TempDir(), "spool")})
	content := bytesOf(3*chunk + 1)
	damage := func(*engine.Batch, codec.BlobID) {}
	for range 2 {
		id := damaged(t, b, content, damage)
		before := contentsOf(t, b.eng)
		for _, other := range [][]byte{nil, content[:chunk], content[:3*chunk], content[1:], append(bytesOf(3*chunk), content...)} {
			_, _, err := b.put(t.Context(), upload{id: id, content: bytes.NewReader(other)})
			require.ErrorIs(t, err, rpc.ErrBlobMismatch)
			require.True(t, maps.Equal(before, contentsOf(t, b.eng)))
		}
		broken := errors.New("broken")
		_, _, err := b.put(t.Context(), upload{id: id, content: io.MultiReader(bytes.NewReader(content[:2*chunk]), failingReader{broken})})
		require.ErrorIs(t, err, broken)
		require.True(t, maps.Equal(before, contentsOf(t, b.eng)))
		damage = func(b *engine.Batch, id codec.BlobID) { dropChunk(b, id, 0); dropChunk(b, id, 1) }
	}
	require.Empty(t, b.locks.held)
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

// A healing that ends after any of its writes has made nothing worse: every row is as
// it was, or as it should be.
func TestAHealingThatBreaksOffLeavesNothingWorse(t *testing.T) {
	content := bytesOf(3*chunk + 5)
	damage := func(b *engine.Batch, id codec.BlobID) {
		setManifest(b, id, 2*chunk, 2)
		dropChunk(b, id, 0)
		setChunk(b, id, 2, content[:chunk])
		setChunk(b, id, 3, content[:4])
		setChunk(b, id, 8, content[:4])
	}
	for last := 0; ; last++ {
		eng := newStub()
		defer eng.Close()
		b := testStore(t, eng, BlobOptions{SpoolDir: filepath.Join(t.TempDir(), "spool")})
		id := mustPut(t, b, content)
		right := contentsOf(t, eng)
		damaged(t, b, content, damage)
		before := contentsOf(t, eng)
		writes := 0
		eng.apply = func() error {
			if writes++; writes > last {
				return engine.ErrNoSpace
			}
			return nil
		}
		_, _, err := b.put(t.Context(), upload{id: id, content: bytes.NewReader(content)})
		if err == nil {
			require.Equal(t, 4, last, "three chunks and the manifest")
			require.True(t, maps.Equal(right, contentsOf(t, eng)))
			return
		}
		require.ErrorIs(t, err, engine.ErrNoSpace)
		after := contentsOf(t, eng)
		for key, value := range after {
			was, had := before[key]
			require.True(t, had && value == was || value == right[key])
		}
		for key := range before {
			require.Contains(t, after, key)
		}
		eng.apply = nil
		stored, existed, err := b.put(t.Context(), upload{id: id, content: bytes.NewReader(content)})
		require.NoError(t, err)
		require.True(t, existed)
		require.Equal(t, healing{chunks: uint32(3 - last), manifest: true, surplus: true}, stored.healed)
		require.True(t, maps.Equal(right, contentsOf(t, eng)))
	}
}

func TestWithoutASpoolOneChunkIsHealed(t *testing.T) {
	b := memStore(t, BlobOptions{})
	content := bytesOf(3 * chunk)
	id := damaged(t, b, content, func(b *engine.Batch, id codec.BlobID) { dropChunk(b, id, 1) })
	stored, _, err := b.put(t.Context(), upload{id: id, content: bytes.NewReader(content)})
	require.NoError(t, err)
	require.Equal(t, healing{chunks: 1}, stored.healed)
	damaged(t, b, content, func(b *engine.Batch, id codec.BlobID) { dropChunk(b, id, 1); dropChunk(b, id, 2) })
	_, _, err = b.put(t.Context(), upload{id: id, content: bytes.NewReader(content)})
	require.ErrorIs(t, err, engine.ErrUnsupported)
	require.ErrorContains(t, err, "delete the blob, then put it again")
	_, _, err = b.put(t.Context(), upload{id: id, content: bytes.NewReader(content[1:])})
	require.ErrorIs(t, err, rpc.ErrBlobMismatch, "what is wrong is the upload")
}

func TestADamagedBlobIsNotHealedWhileTheStoreTakesNoWrites(t *testing.T) {
	eng := &sickEngine{newStub().Engine}
	defer eng.Close()
	content := bytesOf(chunk)
	b := testStore(t, eng, BlobOptions{})
	id := damaged(t, testStore(t, eng.Engine, BlobOptions{}), content, func(b *engine.Batch, id codec.BlobID) { dropChunk(b, id, 0) })
	_, _, err := b.put(t.Context(), upload{id: id, content: bytes.NewReader(content)})
	require.ErrorIs(t, err, engine.ErrReadOnly)
}

// Uploads of a damaged blob, its deletions and its downloads at once: every upload
// succeeds, every download has the content or says that it has not, and in the end
// the blob is whole or gone.
func TestADamagedBlobIsHealedBesideOthersWhoUseIt(t *testing.T) {
	overEngines(t, Options{}, func(t *testing.T, d *testDaemon) {
		c, ctx := d.dial(t), t.Context()
		content := bytesOf(4*chunk + 3)
		id := damaged(t, d.blobs, content, func(b *engine.Batch, id codec.BlobID) {
			dropChunk(b, id, 0)
			setChunk(b, id, 2, content[:9])
			setManifest(b, id, chunk, 1)
		})
		var all sync.WaitGroup
		for i := range 24 {
			all.Go(func() {
				switch i % 4 {
				case 0:
					if err := c.BlobDelete(ctx, id, false); err != nil {
						require.ErrorIs(t, err, engine.ErrNotFound)
					}
				case 1:
					var got bytes.Buffer
					if _, err := c.BlobGet(ctx, id, &got, rpc.BlobGetOptions{}); err == nil {
						require.True(t, bytes.Equal(content, got.Bytes()))
					}
				default:
					_, _, err := c.BlobPut(ctx, bytes.NewReader(content), rpc.BlobPutOptions{ID: id})
					require.NoError(t, err)
				}
			})
		}
		all.Wait()
		if _, err := c.BlobStat(ctx, id); err == nil {
			_, err = c.BlobGet(ctx, id, io.Discard, rpc.BlobGetOptions{})
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, engine.ErrNotFound)
			require.Empty(t, blobRows(t, d.engine))
		}
		require.Empty(t, d.blobs.locks.held)
	})
}
