package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/stoav1"
)

const chunk = codec.ChunkSize

func bytesOf(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}).Read(b)
	return b
}

func contentID(content []byte) codec.BlobID { return sha256.Sum256(content) }

func testStore(t testing.TB, eng engine.Engine, o BlobOptions) *blobStore {
	t.Helper()
	o, err := o.withDefaults()
	require.NoError(t, err)
	b, err := newBlobStore(eng, o, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	return b
}

func memStore(t testing.TB, o BlobOptions) *blobStore {
	eng := mem.New()
	t.Cleanup(func() { eng.Close() })
	return testStore(t, eng, o)
}

func mustPut(t testing.TB, b *blobStore, content []byte) codec.BlobID {
	t.Helper()
	stored, _, err := b.put(t.Context(), upload{id: contentID(content), content: bytes.NewReader(content)})
	require.NoError(t, err)
	require.Equal(t, contentID(content), stored.id)
	return stored.id
}

// blobRows returns the keys of the Blobs column with the lengths of their values.
func blobRows(t testing.TB, r engine.Reader) (rows []string) {
	t.Helper()
	it, err := r.Iterate(column.Blobs, engine.Range{})
	require.NoError(t, err)
	defer it.Close()
	for it.Next() {
		rows = append(rows, fmt.Sprintf("%x %d", it.Key(), len(it.Value())))
	}
	require.NoError(t, it.Err())
	return rows
}

func putChunk(t require.TestingT, w engine.Writer, id codec.BlobID, index uint32, value []byte) {
	var b engine.Batch
	engine.Put(&b, keys.BlobChunk{Blob: id, Index: index}, codec.BlobChunk(value))
	require.NoError(t, w.Apply(&b))
}

func readAll(b *blobStore, id codec.BlobID) ([]byte, error) {
	d, err := b.open(id, 0, nil)
	if err != nil {
		return nil, err
	}
	defer d.close()
	var all []byte
	for {
		piece, err := d.next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, piece...)
	}
}

// kindOf returns the kind of an error of a daemon.
func kindOf(t testing.TB, err error) stoav1.ErrorKind {
	t.Helper()
	e := rpc.Describe(err)
	require.NotNil(t, e, "%v", err)
	return e.Kind
}

func TestABlobLiesInChunksBehindItsManifest(t *testing.T) {
	b := memStore(t, BlobOptions{})
	content := bytesOf(2*chunk + 5)
	id := mustPut(t, b, content)
	require.Equal(t, []string{
		fmt.Sprintf("%s 44", id), fmt.Sprintf("%s00000000 %d", id, chunk),
		fmt.Sprintf("%s00000001 %d", id, chunk), fmt.Sprintf("%s00000002 5", id),
	}, blobRows(t, b.eng))
	meta, err := engine.Get(b.eng, keys.BlobMeta{Blob: id})
	require.NoError(t, err)
	require.Equal(t, codec.BlobMeta{Size: 2*chunk + 5, Hash: codec.Hash(id), Chunks: 3}, meta)
}

func TestChunksGoToTheLogAndTheManifestIsSynced(t *testing.T) {
	eng := &recordingEngine{Engine: mem.New()}
	defer eng.Close()
	mustPut(t, testStore(t, eng, BlobOptions{}), bytesOf(chunk+1))
	require.Equal(t, []engine.Durability{engine.WAL, engine.WAL, engine.Synced}, eng.applied)
}

func TestAnUploadRemovesWhatABrokenOneLeftUnderItsID(t *testing.T) {
	b := memStore(t, BlobOptions{})
	content := bytesOf(100)
	putChunk(t, b.eng, contentID(content), 0, []byte("other"))
	putChunk(t, b.eng, contentID(content), 9, []byte("beyond"))
	mustPut(t, b, content)
	require.Len(t, blobRows(t, b.eng), 2)
	got, err := readAll(b, contentID(content))
	require.NoError(t, err)
	require.Equal(t, content, got)
}

func TestABlobThatIsThereIsNotDiscarded(t *testing.T) {
	b := memStore(t, BlobOptions{})
	content := bytesOf(2 * chunk)
	id := mustPut(t, b, content)
	require.NoError(t, b.discard(id), "its upload was not broken off")
	got, err := readAll(b, id)
	require.NoError(t, err)
	require.Equal(t, content, got)
}

func TestAFailingReaderLeavesNothing(t *testing.T) {
	b := memStore(t, BlobOptions{SpoolDir: filepath.Join(t.TempDir(), "spool")})
	broken := errors.New("broken")
	for _, id := range []codec.BlobID{{1}, {}} {
		content := io.MultiReader(bytes.NewReader(bytesOf(3*chunk)), iotest.ErrReader(broken))
		_, _, err := b.put(t.Context(), upload{id: id, content: content})
		require.ErrorIs(t, err, broken)
		require.Empty(t, blobRows(t, b.eng))
	}
	require.Empty(t, b.locks.held)
}

func TestAPanickingReaderLeavesNothing(t *testing.T) {
	b := memStore(t, BlobOptions{})
	content := io.MultiReader(bytes.NewReader(bytesOf(2*chunk)), panicReader{})
	require.Panics(t, func() { b.put(t.Context(), upload{id: codec.BlobID{1}, content: content}) })
	require.Empty(t, blobRows(t, b.eng))
	require.Empty(t, b.locks.held)
}

type panicReader struct{}

func (panicReader) Read([]byte) (int, error) { panic("read") }

func TestAnUploadThatCannotBeCommittedLeavesNothing(t *testing.T) {
	eng := newStub()
	defer eng.Close()
	writes := 0
	eng.apply = func() error {
		if writes++; writes == 3 {
			return engine.ErrNoSpace
		}
		return nil
	}
	content := bytesOf(2 * chunk)
	_, _, err := testStore(t, eng, BlobOptions{}).put(t.Context(), upload{id: contentID(content), content: bytes.NewReader(content)})
	require.ErrorIs(t, err, engine.ErrNoSpace)
	require.Equal(t, 4, writes)
	require.Empty(t, blobRows(t, eng))
}

func TestContentIsNotReadWhileTheStoreTakesNoWrites(t *testing.T) {
	eng := &sickEngine{mem.New()}
	defer eng.Close()
	b := testStore(t, eng, BlobOptions{})
	_, _, err := b.put(t.Context(), upload{id: codec.BlobID{1}, content: panicReader{}})
	require.ErrorIs(t, err, engine.ErrReadOnly)
	require.ErrorContains(t, err, "the disk is broken")
}

type sickEngine struct{ *mem.Engine }

func (sickEngine) Health() engine.Health { return engine.Health{Reason: "the disk is broken"} }

// What a blob store does is what a map from ids to contents does.
func TestBlobsBehaveAsAMapOfContents(t *testing.T) {
	enginetest.Check(t, 20, func(t *rapid.T) {
		eng := mem.New()
		defer eng.Close()
		o, err := BlobOptions{}.withDefaults()
		require.NoError(t, err)
		b, err := newBlobStore(eng, o, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		model := map[codec.BlobID][]byte{}
		contents := [][]byte{nil, []byte("a"), bytesOf(100), bytesOf(chunk), bytesOf(chunk + 1)}
		pick := rapid.SampledFrom(contents)
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				content := pick.Draw(t, "content")
				u := upload{content: bytes.NewReader(content)}
				if rapid.Bool().Draw(t, "named") || len(content) >= chunk {
					u.id = contentID(content)
				}
				stored, existed, err := b.put(context.Background(), u)
				require.NoError(t, err)
				_, had := model[stored.id]
				require.Equal(t, had, existed)
				model[stored.id] = content
			},
			"put under a wrong id": func(t *rapid.T) {
				_, _, err := b.put(context.Background(), upload{id: codec.BlobID{9}, content: bytes.NewReader(pick.Draw(t, "content"))})
				require.ErrorIs(t, err, rpc.ErrBlobMismatch)
			},
			"break off": func(t *rapid.T) {
				putChunk(t, eng, contentID(pick.Draw(t, "content")), 3, []byte("left"))
			},
			"sweep": func(t *rapid.T) {
				_, err := b.sweep(context.Background())
				require.NoError(t, err)
			},
			"delete": func(t *rapid.T) {
				id := contentID(pick.Draw(t, "content"))
				err := b.delete(context.Background(), id, false)
				if _, had := model[id]; !had {
					require.ErrorIs(t, err, engine.ErrNotFound)
				} else {
					require.NoError(t, err)
				}
				delete(model, id)
			},
			"": func(t *rapid.T) {
				page, more, err := b.list(context.Background(), nil, maxList)
				require.NoError(t, err)
				require.False(t, more)
				require.Len(t, page, len(model))
				for _, found := range page {
					content, had := model[found.id]
					require.True(t, had)
					got, err := readAll(b, found.id)
					require.NoError(t, err)
					require.True(t, bytes.Equal(content, got))
				}
			},
		})
	})
}
