package blob

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
)

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
	b := testStore(t, eng, Options{})
	for i := range 5 {
		mustPut(t, b, bytesOf(2*chunk+i))
	}
	eng.loaded = 0
	swept, err := b.Sweep(t.Context())
	require.NoError(t, err)
	require.Zero(t, swept)
	require.Less(t, eng.loaded, 1000)
	listed := 0
	for _, err := range b.All(t.Context(), nil) {
		require.NoError(t, err)
		listed++
	}
	require.Equal(t, 5, listed)
}

func TestSweepRemovesChunksWithoutAManifestAndNothingElse(t *testing.T) {
	b := memStore(t, Options{})
	mustPut(t, b, bytesOf(chunk+1))
	mustPut(t, b, nil)
	before := blobRows(t, b.eng)
	last := codec.BlobID(bytes.Repeat([]byte{0xFF}, 32))
	for _, id := range []codec.BlobID{{1}, {2, 31: 0xFF}, last} {
		putChunk(t, b.eng, id, 0, []byte("a"))
		putChunk(t, b.eng, id, 7, []byte("b"))
		putChunk(t, b.eng, id, 1<<32-1, []byte("c"))
	}
	swept, err := b.Sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, swept)
	require.Equal(t, before, blobRows(t, b.eng))
}

func TestSweepPassesOverWhatIsBeingUploaded(t *testing.T) {
	b := memStore(t, Options{})
	id := codec.BlobID{1}
	putChunk(t, b.eng, id, 0, []byte("a"))
	unlock, err := b.locks.lock(t.Context(), id)
	require.NoError(t, err)
	swept, err := b.Sweep(t.Context())
	require.NoError(t, err)
	require.Zero(t, swept)
	unlock()
	swept, err = b.Sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, swept)
}

func TestSweepStopsAtAKeyThatIsNone(t *testing.T) {
	b := memStore(t, Options{})
	var batch engine.Batch
	batch.Put(column.Blobs, []byte("short"), nil)
	require.NoError(t, b.eng.Apply(&batch))
	_, err := b.Sweep(t.Context())
	require.ErrorIs(t, err, engine.ErrCorrupt)
	require.Equal(t, []string{"73686f7274 0"}, blobRows(t, b.eng))
}
