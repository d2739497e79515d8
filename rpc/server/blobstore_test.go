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
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/stoav1"
)

const chunk = codec.ChunkSize

// bytesOf returns n bytes that look random and are the same for every run.
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

// recordingEngine records how durable batches are, and what iterators load.
type recordingEngine struct {
	*mem.Engine
	applied []engine.Durability
	loaded  int // bytes
}

func (e *recordingEngine) Apply(b *engine.Batch) error {
	e.applied = append(e.applied, b.Durability)
	return e.Engine.Apply(b)
}

func (e *recordingEngine) Iterate(col column.Column, r engine.Range) (*engine.Iterator, error) {
	it, err := e.Engine.Iterate(col, r)
	if err != nil {
		return nil, err
	}
	return engine.NewIterator(&recordingPager{e, it}, 0), nil
}

type recordingPager struct {
	e  *recordingEngine
	it *engine.Iterator
}

func (p *recordingPager) Page(dst []byte, entries, bytes int) ([]byte, int, error) {
	n := len(dst)
	if dst = p.it.Page(dst, entries, bytes); len(dst) == n {
		return dst, 0, p.it.Err()
	}
	p.e.loaded += len(dst) - n
	return dst, p.it.PageEntries(), nil
}

func (p *recordingPager) Close() error { return p.it.Close() }

func TestSweepAndListLoadNoContentOfBlobsThatAreThere(t *testing.T) {
	eng := &recordingEngine{Engine: mem.New()}
	defer eng.Close()
	b := testStore(t, eng, BlobOptions{})
	for i := range 5 {
		mustPut(t, b, bytesOf(2*chunk+i))
	}
	eng.loaded = 0
	swept, err := b.sweep(t.Context())
	require.NoError(t, err)
	require.Zero(t, swept)
	require.Less(t, eng.loaded, 1000)
	page, more, err := b.list(t.Context(), nil, 10)
	require.NoError(t, err)
	require.False(t, more)
	require.Len(t, page, 5)
}

func TestSweepRemovesChunksWithoutAManifestAndNothingElse(t *testing.T) {
	b := memStore(t, BlobOptions{})
	mustPut(t, b, bytesOf(chunk+1))
	mustPut(t, b, nil)
	before := blobRows(t, b.eng)
	last := codec.BlobID(bytes.Repeat([]byte{0xFF}, 32))
	for _, id := range []codec.BlobID{{1}, {2, 31: 0xFF}, last} {
		putChunk(t, b.eng, id, 0, []byte("a"))
		putChunk(t, b.eng, id, 7, []byte("b"))
		putChunk(t, b.eng, id, 1<<32-1, []byte("c"))
	}
	swept, err := b.sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, swept)
	require.Equal(t, before, blobRows(t, b.eng))
}

func TestSweepPassesOverWhatIsBeingUploaded(t *testing.T) {
	b := memStore(t, BlobOptions{})
	id := codec.BlobID{1}
	putChunk(t, b.eng, id, 0, []byte("a"))
	unlock, err := b.locks.lock(t.Context(), id)
	require.NoError(t, err)
	swept, err := b.sweep(t.Context())
	require.NoError(t, err)
	require.Zero(t, swept)
	unlock()
	swept, err = b.sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, swept)
}

func TestSweepStopsAtAKeyThatIsNone(t *testing.T) {
	b := memStore(t, BlobOptions{})
	var batch engine.Batch
	batch.Put(column.Blobs, []byte("short"), nil)
	require.NoError(t, b.eng.Apply(&batch))
	_, err := b.sweep(t.Context())
	require.ErrorIs(t, err, engine.ErrCorrupt)
	require.Equal(t, []string{"73686f7274 0"}, blobRows(t, b.eng))
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

func TestSmallUploadsWithoutAnIDNeedNoSpool(t *testing.T) {
	b := memStore(t, BlobOptions{})
	for _, n := range []int{0, 1, chunk - 1} {
		stored, existed, err := b.put(t.Context(), upload{content: bytes.NewReader(bytesOf(n))})
		require.NoError(t, err)
		require.False(t, existed)
		require.Equal(t, contentID(bytesOf(n)), stored.id)
	}
	_, _, err := b.put(t.Context(), upload{content: bytes.NewReader(bytesOf(chunk + 1))})
	require.ErrorIs(t, err, engine.ErrUnsupported)
	require.ErrorContains(t, err, "declare the id")
}

func TestTheSpoolHoldsNoFileThatHasAName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	b := memStore(t, BlobOptions{SpoolDir: dir})
	st, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), st.Mode().Perm())
	content := bytesOf(5*chunk + 1)
	spooling := &hookedReader{r: bytes.NewReader(content), at: 3 * chunk, hook: func() { require.Empty(t, filesIn(t, dir)) }}
	stored, existed, err := b.put(t.Context(), upload{content: spooling})
	require.NoError(t, err)
	require.False(t, existed)
	require.Nil(t, spooling.hook)
	require.Equal(t, contentID(content), stored.id)
	got, err := readAll(b, stored.id)
	require.NoError(t, err)
	require.True(t, bytes.Equal(content, got))
	_, existed, err = b.put(t.Context(), upload{content: bytes.NewReader(content)})
	require.NoError(t, err)
	require.True(t, existed)
	require.Empty(t, filesIn(t, dir))
}

func filesIn(t testing.TB, dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// hookedReader calls hook once it has been read up to a place.
type hookedReader struct {
	r    io.Reader
	at   int
	hook func()
}

func (h *hookedReader) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	if h.at -= n; h.at <= 0 && h.hook != nil {
		h.hook()
		h.hook = nil
	}
	return n, err
}

func TestFilesOfAnEarlierProcessAreRemovedFromTheSpool(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	for _, name := range []string{"upload-123", "mine"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600))
	}
	memStore(t, BlobOptions{SpoolDir: dir})
	require.Equal(t, []string{"mine"}, filesIn(t, dir))
}

func TestASpoolThatIsNotPrivateIsRefused(t *testing.T) {
	open := filepath.Join(t.TempDir(), "open")
	require.NoError(t, os.Mkdir(open, 0o755))
	require.NoError(t, os.Chmod(open, 0o755))
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for path, reason := range map[string]string{open: "chmod 0700", file: "not a directory"} {
		o, err := BlobOptions{SpoolDir: path}.withDefaults()
		require.NoError(t, err)
		_, err = newBlobStore(mem.New(), o, slog.New(slog.DiscardHandler))
		require.ErrorIs(t, err, ErrOptions)
		require.ErrorContains(t, err, reason)
	}
}

func TestTheSpoolKeepsAPartOfTheDiskFree(t *testing.T) {
	free := int64(300 << 20)
	b := memStore(t, BlobOptions{SpoolDir: filepath.Join(t.TempDir(), "spool"), freeBytes: func(string) (int64, error) { return free, nil }})
	content := bytesOf(2 * chunk)
	_, _, err := b.put(t.Context(), upload{content: bytes.NewReader(content)})
	require.NoError(t, err)

	large := uint64(50 << 20)
	r := bytes.NewReader(make([]byte, large))
	_, _, err = b.put(t.Context(), upload{size: &large, content: r})
	require.ErrorIs(t, err, engine.ErrNoSpace)
	require.Equal(t, int(large)-chunk, r.Len(), "refused before it is spooled")

	shrinking := &hookedReader{r: bytes.NewReader(make([]byte, large)), at: 2 * chunk, hook: func() { free = 256 << 20 }}
	_, _, err = b.put(t.Context(), upload{content: shrinking})
	require.Equal(t, stoav1.ErrorKind_ERROR_KIND_NO_SPACE, kindOf(t, err))
}

func TestABlobThatIsLargerThanTheLimitIsRefused(t *testing.T) {
	require.EqualValues(t, 4<<30, rpc.MaxBlob)
	o, err := BlobOptions{}.withDefaults()
	require.NoError(t, err)
	require.EqualValues(t, rpc.MaxBlob, o.maxSize)

	b := memStore(t, BlobOptions{maxSize: 2 * chunk, SpoolDir: filepath.Join(t.TempDir(), "spool")})
	mustPut(t, b, bytesOf(2*chunk))
	before := blobRows(t, b.eng)
	over := bytesOf(2*chunk + 1)
	for _, id := range []codec.BlobID{contentID(over), {}} {
		_, _, err := b.put(t.Context(), upload{id: id, content: bytes.NewReader(over)})
		require.ErrorIs(t, err, engine.ErrTooLarge)
		require.Equal(t, before, blobRows(t, b.eng))
	}
	size := uint64(2*chunk + 1)
	_, _, err = b.put(t.Context(), upload{size: &size, content: panicReader{}})
	require.ErrorIs(t, err, engine.ErrTooLarge)
	require.Equal(t, "2097152", rpc.Describe(err).Fields[rpc.FieldLimit])
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
			b := memStore(t, BlobOptions{})
			mustPut(t, b, content)
			var batch engine.Batch
			damage(&batch)
			require.NoError(t, b.eng.Apply(&batch))
			_, err := readAll(b, id)
			require.ErrorIs(t, err, engine.ErrCorrupt)
			require.ErrorContains(t, err, name)
			require.Equal(t, stoav1.ErrorKind_ERROR_KIND_CORRUPT, kindOf(t, err))
			require.Equal(t, id.String(), rpc.Describe(err).Fields[rpc.FieldBlob])
			require.NoError(t, b.delete(t.Context(), id, false), "what is damaged can be deleted")
			require.Empty(t, blobRows(t, b.eng))
		})
	}
}

func TestABlobThatAnApplicationNamesIsDeletedOnlyByForce(t *testing.T) {
	b := memStore(t, BlobOptions{})
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
			err := b.delete(t.Context(), id, false)
			require.ErrorIs(t, err, rpc.ErrBlobInUse)
			require.Equal(t, app.String(), rpc.Describe(err).Fields[rpc.FieldApplication])
			_, err = b.stat(b.eng, id)
			require.NoError(t, err)
			require.NoError(t, b.delete(t.Context(), id, true))
			_, err = b.stat(b.eng, id)
			require.ErrorIs(t, err, engine.ErrNotFound)
			require.ErrorIs(t, b.delete(t.Context(), id, true), engine.ErrNotFound)
		})
	}
}

func withService(s codec.ServiceMeta) codec.ApplicationMeta {
	return codec.ApplicationMeta{Services: []codec.ServiceMeta{{Name: "first"}, s}}
}

// What a blob store does is what a map from ids to contents does.
func TestBlobsBehaveAsAMapOfContents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
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
