package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
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
)

const chunk = codec.ChunkSize

func bytesOf(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}).Read(b)
	return b
}

func contentID(content []byte) codec.BlobID { return sha256.Sum256(content) }

func testStore(t testing.TB, eng engine.Engine, o Options) *Store {
	t.Helper()
	b, err := Open(eng, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

func memStore(t testing.TB, o Options) *Store {
	eng := mem.New()
	t.Cleanup(func() { eng.Close() })
	return testStore(t, eng, o)
}

func mustPut(t testing.TB, b *Store, content []byte) codec.BlobID {
	t.Helper()
	stored, _, err := b.Put(t.Context(), bytes.NewReader(content), PutOptions{ID: contentID(content)})
	require.NoError(t, err)
	require.Equal(t, contentID(content), stored.ID)
	return stored.ID
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

func readAll(b *Store, id codec.BlobID) ([]byte, error) {
	d, err := b.Read(id, 0, ToTheEnd)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return io.ReadAll(d)
}

// sized is the length of content as one that is declared.
func sized(content []byte) *uint64 {
	n := uint64(len(content))
	return &n
}

// overEngines runs a test on a store with a spool in each engine.
func overEngines(t *testing.T, test func(t *testing.T, s *Store)) {
	for name, open := range map[string]func(*testing.T) engine.Engine{
		"mem":   func(*testing.T) engine.Engine { return mem.New() },
		"rocks": openRocks,
	} {
		t.Run(name, func(t *testing.T) {
			eng := open(t)
			t.Cleanup(func() { require.NoError(t, eng.Close()) })
			test(t, testStore(t, eng, Options{SpoolDir: filepath.Join(t.TempDir(), "spool")}))
		})
	}
}

func TestABlobLiesInChunksBehindItsManifest(t *testing.T) {
	b := memStore(t, Options{})
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
	mustPut(t, testStore(t, eng, Options{}), bytesOf(chunk+1))
	require.Equal(t, []engine.Durability{engine.WAL, engine.WAL, engine.Synced}, eng.applied)
}

func TestAnUploadRemovesWhatABrokenOneLeftUnderItsID(t *testing.T) {
	b := memStore(t, Options{})
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
	b := memStore(t, Options{})
	content := bytesOf(2 * chunk)
	id := mustPut(t, b, content)
	require.NoError(t, b.discard(id), "its upload was not broken off")
	got, err := readAll(b, id)
	require.NoError(t, err)
	require.Equal(t, content, got)
}

func TestAFailingReaderLeavesNothing(t *testing.T) {
	b := memStore(t, Options{SpoolDir: filepath.Join(t.TempDir(), "spool")})
	broken := errors.New("broken")
	for _, id := range []codec.BlobID{{1}, {}} {
		content := io.MultiReader(bytes.NewReader(bytesOf(3*chunk)), iotest.ErrReader(broken))
		_, _, err := b.Put(t.Context(), content, PutOptions{ID: id})
		require.ErrorIs(t, err, broken)
		require.Empty(t, blobRows(t, b.eng))
	}
	require.Empty(t, b.locks.held)
}

func TestAPanickingReaderLeavesNothing(t *testing.T) {
	b := memStore(t, Options{})
	content := io.MultiReader(bytes.NewReader(bytesOf(2*chunk)), panicReader{})
	require.Panics(t, func() { b.Put(t.Context(), content, PutOptions{ID: codec.BlobID{1}}) })
	require.Empty(t, blobRows(t, b.eng))
	require.Empty(t, b.locks.held)
}

type panicReader struct{}

func (panicReader) Read([]byte) (int, error) { panic("read") }

func TestAnUploadThatCannotBeCommittedLeavesNothing(t *testing.T) {
	eng := &stubEngine{Engine: mem.New()}
	defer eng.Close()
	writes := 0
	eng.apply = func() error {
		if writes++; writes == 3 {
			return engine.ErrNoSpace
		}
		return nil
	}
	content := bytesOf(2 * chunk)
	_, _, err := testStore(t, eng, Options{}).Put(t.Context(), bytes.NewReader(content), PutOptions{ID: contentID(content)})
	require.ErrorIs(t, err, engine.ErrNoSpace)
	require.Equal(t, 4, writes)
	require.Empty(t, blobRows(t, eng))
}

func TestContentIsNotReadWhileTheStoreTakesNoWrites(t *testing.T) {
	eng := &sickEngine{mem.New()}
	defer eng.Close()
	b := testStore(t, eng, Options{})
	_, _, err := b.Put(t.Context(), panicReader{}, PutOptions{ID: codec.BlobID{1}})
	require.ErrorIs(t, err, engine.ErrReadOnly)
	require.ErrorContains(t, err, "the disk is broken")
}

// stubEngine is an engine in memory whose writes can be made to fail.
type stubEngine struct {
	*mem.Engine
	apply func() error // before every Apply, if set
}

func (e *stubEngine) Apply(b *engine.Batch) error {
	if e.apply != nil {
		if err := e.apply(); err != nil {
			return err
		}
	}
	return e.Engine.Apply(b)
}

type sickEngine struct{ *mem.Engine }

func (sickEngine) Health() engine.Health { return engine.Health{Reason: "the disk is broken"} }

func TestUploadsAndDeletesOfOneBlobTakeTurns(t *testing.T) {
	overEngines(t, func(t *testing.T, s *Store) {
		content := bytesOf(2*chunk + 3)
		id := contentID(content)
		ctx := t.Context()

		var all sync.WaitGroup
		var written atomic.Int64
		for i := range 8 {
			all.Go(func() {
				var o PutOptions
				if i%2 == 0 {
					o.ID = id
				}
				_, existed, err := s.Put(ctx, bytes.NewReader(content), o)
				require.NoError(t, err)
				if !existed {
					written.Add(1)
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 1, written.Load())

		var puts, deletes atomic.Int64
		for i := range 24 {
			all.Go(func() {
				if i%3 == 0 {
					err := s.Delete(ctx, id, false)
					if err == nil {
						deletes.Add(1)
					} else {
						require.ErrorIs(t, err, engine.ErrNotFound)
					}
					return
				}
				_, existed, err := s.Put(ctx, bytes.NewReader(content), PutOptions{ID: id})
				require.NoError(t, err)
				if !existed {
					puts.Add(1)
				}
			})
		}
		all.Wait()
		_, err := s.Stat(id)
		if there := 1 + puts.Load() - deletes.Load(); there == 0 {
			require.ErrorIs(t, err, engine.ErrNotFound)
			require.Empty(t, blobRows(t, s.eng))
		} else {
			require.EqualValues(t, 1, there)
			require.NoError(t, err)
			_, err = readAll(s, id)
			require.NoError(t, err)
		}
		require.Empty(t, s.locks.held)
	})
}

// What a blob store does is what a map from ids to contents does.
func TestBlobsBehaveAsAMapOfContents(t *testing.T) {
	enginetest.Check(t, 20, func(t *rapid.T) {
		eng := mem.New()
		defer eng.Close()
		b, err := Open(eng, Options{})
		require.NoError(t, err)
		model := map[codec.BlobID][]byte{}
		contents := [][]byte{nil, []byte("a"), bytesOf(100), bytesOf(chunk), bytesOf(chunk + 1)}
		pick := rapid.SampledFrom(contents)
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				content := pick.Draw(t, "content")
				var o PutOptions
				if rapid.Bool().Draw(t, "named") || len(content) >= chunk {
					o.ID = contentID(content)
				}
				stored, existed, err := b.Put(context.Background(), bytes.NewReader(content), o)
				require.NoError(t, err)
				_, had := model[stored.ID]
				require.Equal(t, had, existed)
				model[stored.ID] = content
			},
			"put under a wrong id": func(t *rapid.T) {
				_, _, err := b.Put(context.Background(), bytes.NewReader(pick.Draw(t, "content")), PutOptions{ID: codec.BlobID{9}})
				require.ErrorIs(t, err, ErrMismatch)
			},
			"break off": func(t *rapid.T) {
				putChunk(t, eng, contentID(pick.Draw(t, "content")), 3, []byte("left"))
			},
			"sweep": func(t *rapid.T) {
				_, err := b.Sweep(context.Background())
				require.NoError(t, err)
			},
			"delete": func(t *rapid.T) {
				id := contentID(pick.Draw(t, "content"))
				err := b.Delete(context.Background(), id, false)
				if _, had := model[id]; !had {
					require.ErrorIs(t, err, engine.ErrNotFound)
				} else {
					require.NoError(t, err)
				}
				delete(model, id)
			},
			"": func(t *rapid.T) {
				listed := 0
				for found, err := range b.All(context.Background(), nil) {
					require.NoError(t, err)
					listed++
					content, had := model[found.ID]
					require.True(t, had)
					got, err := readAll(b, found.ID)
					require.NoError(t, err)
					require.True(t, bytes.Equal(content, got))
				}
				require.Equal(t, len(model), listed)
			},
		})
	})
}
