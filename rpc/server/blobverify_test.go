package server

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// What a verification finds comes to the client as package blob has it, and so does
// what it repairs, and what an upload heals.
func TestDamageAndItsRemediesGoOverTheWire(t *testing.T) {
	content := bytesOf(3*chunk + 7)
	id := contentID(content)
	for name, test := range map[string]struct {
		damage func(*engine.Batch)
		healed blob.Healing
	}{
		"a chunk is lost": {func(b *engine.Batch) { engine.Delete(b, keys.BlobChunk{Blob: id, Index: 1}) }, blob.Healing{Chunks: 1}},
		"the manifest is wrong, and a chunk beyond": {func(b *engine.Batch) {
			engine.Put(b, keys.BlobMeta{Blob: id}, codec.BlobMeta{Size: 5, Chunks: 1, Hash: codec.Hash(id)})
			engine.Put(b, keys.BlobChunk{Blob: id, Index: 9}, codec.BlobChunk("x"))
		}, blob.Healing{Manifest: true, Surplus: true}},
		"remains": {func(b *engine.Batch) {
			engine.Delete(b, keys.BlobMeta{Blob: id})
			engine.Delete(b, keys.BlobChunk{Blob: id, Index: 3})
		}, blob.Healing{}},
	} {
		t.Run(name, func(t *testing.T) {
			d := start(t, nil, Options{})
			c := d.dial(t)
			for _, repair := range []bool{false, true} {
				mustPut(t, d.blobs, content)
				var b engine.Batch
				test.damage(&b)
				require.NoError(t, d.engine.Apply(&b))
				want, wantVerdict := verified(t, d.blobs.Verify, blob.VerifyOptions{})
				require.Len(t, want, 1)
				got, verdict := verified(t, c.BlobVerify, blob.VerifyOptions{ID: id, Repair: repair})
				if got[0].Repaired {
					want[0].Repaired, wantVerdict.Repaired = true, 1
				}
				require.Equal(t, repair && want[0].Remedy != blob.Upload, got[0].Repaired)
				require.Equal(t, want, got)
				require.Equal(t, wantVerdict, verdict)
				if !repair {
					stored, _, err := c.BlobPut(t.Context(), bytes.NewReader(content), rpc.BlobPutOptions{ID: id})
					require.NoError(t, err)
					require.Equal(t, test.healed, stored.Healed)
				}
			}
		})
	}
}

// verified returns what a verification tells.
func verified(t testing.TB, verify func(context.Context, blob.VerifyOptions, func(blob.Damage) error) (blob.Verdict, error), o blob.VerifyOptions) ([]blob.Damage, blob.Verdict) {
	t.Helper()
	var all []blob.Damage
	v, err := verify(t.Context(), o, func(d blob.Damage) error {
		all = append(all, d)
		return nil
	})
	require.NoError(t, err)
	return all, v
}

func TestVerificationsThatCannotBeMadeAreRefused(t *testing.T) {
	d := start(t, nil, Options{})
	c := d.dial(t)
	_, err := c.BlobVerify(t.Context(), blob.VerifyOptions{ID: codec.BlobID{1}}, nil)
	require.ErrorIs(t, err, engine.ErrNotFound)
	for _, id := range [][]byte{[]byte("short"), make([]byte, 32)} {
		stream, err := stoav1.NewBlobClient(d.bare(t)).Verify(t.Context(), &stoav1.BlobVerifyRequest{BlobId: id})
		require.NoError(t, err)
		_, err = stream.Recv()
		require.ErrorIs(t, fault.FromStatus(err), rpc.ErrRequest)
	}
	putChunk(t, d.engine, codec.BlobID{1}, 0, []byte("left"))
	enough := errors.New("enough")
	_, err = c.BlobVerify(t.Context(), blob.VerifyOptions{}, func(blob.Damage) error { return enough })
	require.ErrorIs(t, err, enough)
}
