package blob

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
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
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
func damaged(t testing.TB, b *Store, content []byte, damage func(*engine.Batch, codec.BlobID)) codec.BlobID {
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
		healed Healing
	}{
		"missing":     {func(b *engine.Batch, id codec.BlobID) { dropChunk(b, id, 1) }, Healing{Chunks: 1}},
		"other bytes": {func(b *engine.Batch, id codec.BlobID) { setChunk(b, id, 2, spoiled) }, Healing{Chunks: 1}},
		"short":       {func(b *engine.Batch, id codec.BlobID) { setChunk(b, id, 0, content[:9]) }, Healing{Chunks: 1}},
		"the last":    {func(b *engine.Batch, id codec.BlobID) { setChunk(b, id, 4, spoiled[:100]) }, Healing{Chunks: 1}},
		"many": {func(b *engine.Batch, id codec.BlobID) {
			dropChunk(b, id, 0)
			setChunk(b, id, 1, spoiled)
			dropChunk(b, id, 3)
			setChunk(b, id, 4, nil)
		}, Healing{Chunks: 4}},
		"beyond":   {func(b *engine.Batch, id codec.BlobID) { setChunk(b, id, 5, spoiled); setChunk(b, id, 1<<32-1, nil) }, Healing{Surplus: true}},
		"size":     {func(b *engine.Batch, id codec.BlobID) { setManifest(b, id, 3*chunk, 3) }, Healing{Manifest: true}},
		"manifest": {func(b *engine.Batch, id codec.BlobID) { b.Put(column.Blobs, id[:], []byte("no manifest")) }, Healing{Manifest: true}},
		"all": {func(b *engine.Batch, id codec.BlobID) {
			setManifest(b, id, chunk, 7)
			dropChunk(b, id, 2)
			setChunk(b, id, 6, spoiled)
		}, Healing{Chunks: 1, Manifest: true, Surplus: true}},
	} {
		t.Run(name, func(t *testing.T) {
			overEngines(t, func(t *testing.T, s *Store) {
				id := mustPut(t, s, content)
				whole := contentsOf(t, s.eng)
				for _, o := range []PutOptions{{ID: id, Size: sized(content)}, {}} {
					damaged(t, s, content, test.damage)
					stored, existed, err := s.Put(t.Context(), bytes.NewReader(content), o)
					require.NoError(t, err)
					require.True(t, existed)
					require.Equal(t, Info{ID: id, Size: uint64(len(content)), Chunks: 5, Healed: test.healed}, stored)
					require.True(t, maps.Equal(whole, contentsOf(t, s.eng)))
					stored, existed, err = s.Put(t.Context(), bytes.NewReader(content), o)
					require.NoError(t, err)
					require.True(t, existed)
					require.Zero(t, stored.Healed)
				}
				require.Empty(t, filesIn(t, s.spool.dir))
			})
		})
	}
}

func TestAnUploadOfOtherContentChangesNothingOfABlob(t *testing.T) {
	b := memStore(t, Options{SpoolDir: filepath.Join(t.TempDir(), "spool")})
	content := bytesOf(3*chunk + 1)
	damage := func(*engine.Batch, codec.BlobID) {}
	for range 2 {
		id := damaged(t, b, content, damage)
		before := contentsOf(t, b.eng)
		for _, other := range [][]byte{nil, content[:chunk], content[:3*chunk], content[1:], append(bytesOf(3*chunk), content...)} {
			_, _, err := b.Put(t.Context(), bytes.NewReader(other), PutOptions{ID: id})
			require.ErrorIs(t, err, ErrMismatch)
			require.True(t, maps.Equal(before, contentsOf(t, b.eng)))
		}
		broken := errors.New("broken")
		_, _, err := b.Put(t.Context(), io.MultiReader(bytes.NewReader(content[:2*chunk]), failingReader{broken}), PutOptions{ID: id})
		require.ErrorIs(t, err, broken)
		require.True(t, maps.Equal(before, contentsOf(t, b.eng)))
		damage = func(b *engine.Batch, id codec.BlobID) { dropChunk(b, id, 0); dropChunk(b, id, 1) }
	}
	require.Empty(t, b.locks.held)
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

// A Healing that ends after any of its writes has made nothing worse: every row is as
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
		eng := &stubEngine{Engine: mem.New()}
		defer eng.Close()
		b := testStore(t, eng, Options{SpoolDir: filepath.Join(t.TempDir(), "spool")})
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
		_, _, err := b.Put(t.Context(), bytes.NewReader(content), PutOptions{ID: id})
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
		stored, existed, err := b.Put(t.Context(), bytes.NewReader(content), PutOptions{ID: id})
		require.NoError(t, err)
		require.True(t, existed)
		require.Equal(t, Healing{Chunks: uint32(3 - last), Manifest: true, Surplus: true}, stored.Healed)
		require.True(t, maps.Equal(right, contentsOf(t, eng)))
	}
}

func TestWithoutASpoolOneChunkIsHealed(t *testing.T) {
	b := memStore(t, Options{})
	content := bytesOf(3 * chunk)
	id := damaged(t, b, content, func(b *engine.Batch, id codec.BlobID) { dropChunk(b, id, 1) })
	stored, _, err := b.Put(t.Context(), bytes.NewReader(content), PutOptions{ID: id})
	require.NoError(t, err)
	require.Equal(t, Healing{Chunks: 1}, stored.Healed)
	damaged(t, b, content, func(b *engine.Batch, id codec.BlobID) { dropChunk(b, id, 1); dropChunk(b, id, 2) })
	_, _, err = b.Put(t.Context(), bytes.NewReader(content), PutOptions{ID: id})
	require.ErrorIs(t, err, engine.ErrUnsupported)
	require.ErrorContains(t, err, "delete the blob, then put it again")
	_, _, err = b.Put(t.Context(), bytes.NewReader(content[1:]), PutOptions{ID: id})
	require.ErrorIs(t, err, ErrMismatch, "what is wrong is the upload")
}

func TestADamagedBlobIsNotHealedWhileTheStoreTakesNoWrites(t *testing.T) {
	eng := &sickEngine{mem.New()}
	defer eng.Close()
	content := bytesOf(chunk)
	b := testStore(t, eng, Options{})
	id := damaged(t, testStore(t, eng.Engine, Options{}), content, func(b *engine.Batch, id codec.BlobID) { dropChunk(b, id, 0) })
	_, _, err := b.Put(t.Context(), bytes.NewReader(content), PutOptions{ID: id})
	require.ErrorIs(t, err, engine.ErrReadOnly)
}

// Uploads of a damaged blob, its deletions and its downloads at once: every upload
// succeeds, every download has the content or says that it has not, and in the end
// the blob is whole or gone.
func TestADamagedBlobIsHealedBesideOthersWhoUseIt(t *testing.T) {
	overEngines(t, func(t *testing.T, s *Store) {
		ctx := t.Context()
		content := bytesOf(4*chunk + 3)
		id := damaged(t, s, content, func(b *engine.Batch, id codec.BlobID) {
			dropChunk(b, id, 0)
			setChunk(b, id, 2, content[:9])
			setManifest(b, id, chunk, 1)
		})
		var all sync.WaitGroup
		for i := range 24 {
			all.Go(func() {
				switch i % 4 {
				case 0:
					if err := s.Delete(ctx, id, false); err != nil {
						require.ErrorIs(t, err, engine.ErrNotFound)
					}
				case 1:
					if got, err := readAll(s, id); err == nil {
						require.True(t, bytes.Equal(content, got))
					}
				default:
					_, _, err := s.Put(ctx, bytes.NewReader(content), PutOptions{ID: id})
					require.NoError(t, err)
				}
			})
		}
		all.Wait()
		if _, err := s.Stat(id); err == nil {
			_, err = readAll(s, id)
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, engine.ErrNotFound)
			require.Empty(t, blobRows(t, s.eng))
		}
		require.Empty(t, s.locks.held)
	})
}

// What another upload has made good meanwhile is not written again, nor said to be healed.
func TestWhatAnotherUploadHasHealedIsNotHealedAgain(t *testing.T) {
	b := memStore(t, Options{SpoolDir: filepath.Join(t.TempDir(), "spool")})
	content := bytesOf(5 * chunk)
	id := damaged(t, b, content, func(batch *engine.Batch, id codec.BlobID) {
		dropChunk(batch, id, 1)
		dropChunk(batch, id, 3)
	})
	first := &hookedReader{r: bytes.NewReader(content), at: len(content), hook: func() {
		stored, _, err := b.Put(t.Context(), bytes.NewReader(content), PutOptions{ID: id})
		require.NoError(t, err)
		require.EqualValues(t, 2, stored.Healed.Chunks)
	}}
	stored, existed, err := b.Put(t.Context(), first, PutOptions{ID: id})
	require.NoError(t, err)
	require.Nil(t, first.hook)
	require.True(t, existed)
	require.Zero(t, stored.Healed)
	got, err := readAll(b, id)
	require.NoError(t, err)
	require.True(t, bytes.Equal(content, got))
}
