package blob

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
)

// broken is content that breaks off.
func broken(content []byte) io.Reader {
	return io.MultiReader(bytes.NewReader(content), iotest.ErrReader(errCut))
}

var errCut = errors.New("the line was cut")

func TestAnUploadThatBrokeOffGoesOn(t *testing.T) {
	eng := mem.New()
	defer eng.Close()
	b := testStore(t, eng, Options{})
	content := bytesOf(3*chunk + 7)
	id := contentID(content)
	size := uint64(len(content))
	o := PutOptions{ID: id, Size: &size, Keep: true}
	_, _, err := b.Put(t.Context(), broken(content[:2*chunk+9]), o)
	require.ErrorIs(t, err, errCut)
	require.EqualValues(t, 2*chunk, b.Kept(id))
	_, err = b.Stat(id)
	require.ErrorIs(t, err, engine.ErrNotFound)

	// What is kept is nobody's damage, and is not swept.
	v, err := b.Verify(t.Context(), VerifyOptions{Repair: true}, func(d Damage) error { return fmt.Errorf("damage: %v", d) })
	require.NoError(t, err)
	require.Zero(t, v.Blobs)
	swept, err := b.Sweep(t.Context())
	require.NoError(t, err)
	require.Zero(t, swept)

	// Content from elsewhere on is refused, and costs nothing.
	o.From = chunk
	_, _, err = b.Put(t.Context(), bytes.NewReader(content[chunk:]), o)
	require.ErrorIs(t, err, engine.ErrConflict)
	require.EqualValues(t, 2*chunk, b.Kept(id))
	o.From = size + 1 // behind the end, for which no disk has room
	_, _, err = b.Put(t.Context(), bytes.NewReader(nil), o)
	require.ErrorIs(t, err, engine.ErrConflict)

	o.From = b.Kept(id)
	_, _, err = b.Put(t.Context(), broken(content[2*chunk:3*chunk+1]), o)
	require.ErrorIs(t, err, errCut)
	o.From = b.Kept(id)
	require.EqualValues(t, 3*chunk, o.From)
	stored, existed, err := b.Put(t.Context(), bytes.NewReader(content[3*chunk:]), o)
	require.NoError(t, err)
	require.False(t, existed)
	require.Equal(t, Info{ID: id, Size: size, Chunks: 4}, stored)
	require.Zero(t, b.Kept(id))
	read, err := readAll(b, id)
	require.NoError(t, err)
	require.Equal(t, content, read)

	// Who goes on with what has come meanwhile is told so.
	stored, existed, err = b.Put(t.Context(), bytes.NewReader(nil), o)
	require.NoError(t, err)
	require.True(t, existed)
	require.Equal(t, size, stored.Size)
}

func TestWhatIsKeptGoesWhereItIsWrongOrNotGoneOnWith(t *testing.T) {
	for name, o := range map[string]struct {
		then func(t *testing.T, eng engine.Engine, b *Store, o PutOptions, content []byte) error
		want error
	}{
		"other content": {func(t *testing.T, _ engine.Engine, b *Store, o PutOptions, content []byte) error {
			_, _, err := b.Put(t.Context(), bytes.NewReader(bytesOf(len(content)-int(o.From))), o)
			return err
		}, ErrMismatch},
		"too little": {func(t *testing.T, _ engine.Engine, b *Store, o PutOptions, content []byte) error {
			_, _, err := b.Put(t.Context(), bytes.NewReader(content[o.From:o.From+1]), o)
			return err
		}, ErrMismatch},
		"a chunk that has gone": {func(t *testing.T, eng engine.Engine, b *Store, o PutOptions, content []byte) error {
			var batch engine.Batch
			engine.Delete(&batch, keys.BlobChunk{Blob: o.ID, Index: 1})
			require.NoError(t, eng.Apply(&batch))
			_, _, err := b.Put(t.Context(), bytes.NewReader(content[o.From:]), o)
			return err
		}, engine.ErrNotFound},
		"from the beginning, and cut again, unkept": {func(t *testing.T, _ engine.Engine, b *Store, o PutOptions, content []byte) error {
			_, _, err := b.Put(t.Context(), broken(content[:chunk]), PutOptions{ID: o.ID})
			return err
		}, errCut},
	} {
		t.Run(name, func(t *testing.T) {
			eng := mem.New()
			defer eng.Close()
			b := testStore(t, eng, Options{})
			content := bytesOf(3*chunk + 7)
			size := uint64(len(content))
			put := PutOptions{ID: contentID(content), Size: &size, Keep: true}
			_, _, err := b.Put(t.Context(), broken(content[:2*chunk]), put)
			require.ErrorIs(t, err, errCut)
			put.From = b.Kept(put.ID)
			require.ErrorIs(t, o.then(t, eng, b, put, content), o.want)
			require.Zero(t, b.Kept(put.ID))
			require.Empty(t, blobRows(t, eng))
		})
	}
}

func TestOnlySoManyUploadsAreKept(t *testing.T) {
	b := memStore(t, Options{})
	for i := range maxKept + 1 {
		content := append(bytesOf(chunk), byte(i))
		size := uint64(len(content))
		_, _, err := b.Put(t.Context(), broken(content), PutOptions{ID: contentID(content), Size: &size, Keep: true})
		require.ErrorIs(t, err, errCut)
		if i < maxKept {
			require.EqualValues(t, chunk, b.Kept(contentID(content)))
			continue
		}
		require.Zero(t, b.Kept(contentID(content)))
		left, err := b.hasChunks(contentID(content))
		require.NoError(t, err)
		require.False(t, left)
	}
}

// Others fill the disk only so far.
func TestWhatOthersSendLeavesRoom(t *testing.T) {
	free := int64(0)
	b := memStore(t, Options{SpoolDir: filepath.Join(t.TempDir(), "spool"), MinFreeBytes: 100 << 20,
		freeBytes: func(*os.File) (int64, error) { return free, nil }})
	content := bytesOf(chunk)
	size := uint64(len(content))
	o := PutOptions{ID: contentID(content), Size: &size, Keep: true}
	free = 202<<20 - 1
	_, _, err := b.Put(t.Context(), bytes.NewReader(content), o)
	require.ErrorIs(t, err, engine.ErrNoSpace)
	require.ErrorContains(t, err, "201 MiB free, of which 200 are not for blobs of others, and this one takes up to 2")
	free++
	_, _, err = b.Put(t.Context(), bytes.NewReader(content), o)
	require.NoError(t, err)
	free = 0
	o.Keep = false
	_, existed, err := b.Put(t.Context(), bytes.NewReader(content), o)
	require.NoError(t, err)
	require.True(t, existed)
}
