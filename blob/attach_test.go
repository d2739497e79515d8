package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
)

func TestOnlyWhoHasTheContentCanAttachABlob(t *testing.T) {
	b := memStore(t, Options{})
	content := bytesOf(chunk + 5)
	id := mustPut(t, b, content)
	room := codec.ContextID{7}
	a, err := b.Attachment(t.Context(), room, id)
	require.NoError(t, err)
	sum := sha256.Sum256(slices.Concat([]byte("stoa.blob.attached.v1"), room[:], content))
	require.Equal(t, Attachment{[]byte("stoa.blob/" + id.String()), sum[:]}, a)
	other, err := b.Attachment(t.Context(), codec.ContextID{8}, id)
	require.NoError(t, err)
	require.NotEqual(t, a.Value, other.Value, "one of another context proves nothing")

	named, ok := Attached(a.AppKey)
	require.True(t, ok)
	require.Equal(t, id, named)
	r := AttachedRange()
	require.True(t, bytes.Compare(r.Start, a.AppKey) <= 0 && bytes.Compare(a.AppKey, r.End) < 0)
	for _, key := range []string{"", "stoa.blob/", "stoa.blob/" + id.String()[:63], "stoa.blob/" + id.String() + "0", "stoa.blob/" + strings.Repeat("F", 64), "stoa.blob/" + strings.Repeat("g", 64), id.String()} {
		_, ok := Attached([]byte(key))
		require.False(t, ok, key)
	}

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	again, err := b.Attachment(ended, room, id)
	require.NoError(t, err, "it is not read again")
	require.Equal(t, a, again)
	_, err = b.Attachment(ended, codec.ContextID{9}, id)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, b.Delete(t.Context(), id, false))
	_, err = b.Attachment(t.Context(), room, id)
	require.ErrorIs(t, err, engine.ErrNotFound)
	_, err = b.Attachment(t.Context(), room, codec.BlobID{1})
	require.ErrorIs(t, err, engine.ErrNotFound)
}

func TestADamagedBlobIsNotAttached(t *testing.T) {
	eng := mem.New()
	defer eng.Close()
	b := testStore(t, eng, Options{})
	id := mustPut(t, b, bytesOf(5))
	putChunk(t, eng, id, 0, []byte("other"))
	_, err := b.Attachment(t.Context(), codec.ContextID{7}, id)
	require.ErrorIs(t, err, engine.ErrCorrupt)
}

func TestWhatAnApplicationNamesIsFound(t *testing.T) {
	eng := mem.New()
	defer eng.Close()
	b := testStore(t, eng, Options{})
	named, err := b.NamedBy(codec.ApplicationID{1})
	require.NoError(t, err)
	require.Empty(t, named)
	var batch engine.Batch
	engine.Put(&batch, keys.ApplicationMeta{App: codec.ApplicationID{1}}, codec.ApplicationMeta{
		ApplicationID: codec.ApplicationID{1}, Bytecode: codec.BlobID{1},
		Services: []codec.ServiceMeta{{Name: "s", Bytecode: codec.BlobID{2}}},
	})
	require.NoError(t, eng.Apply(&batch))
	named, err = b.NamedBy(codec.ApplicationID{1})
	require.NoError(t, err)
	require.Equal(t, []codec.BlobID{{1}, {2}}, named)
}
