package server

import (
	"bytes"
	"errors"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/faulty"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// verified returns what a verification tells.
func verified(t testing.TB, c *rpc.Client, o rpc.BlobVerifyOptions) ([]rpc.BlobDamage, rpc.BlobVerdict) {
	t.Helper()
	var all []rpc.BlobDamage
	v, err := c.BlobVerify(t.Context(), o, func(d rpc.BlobDamage) error {
		all = append(all, d)
		return nil
	})
	require.NoError(t, err)
	return all, v
}

func dropManifest(b *engine.Batch, id codec.BlobID) { engine.Delete(b, keys.BlobMeta{Blob: id}) }

func TestVerificationFindsDamagedBlobsAndRepairsWhatItCan(t *testing.T) {
	content := bytesOf(3*chunk + 7)
	for name, test := range map[string]struct {
		damage func(*engine.Batch, codec.BlobID)
		faults []string // codes and reasons
		remedy rpc.BlobRemedy
	}{
		"missing chunk": {func(b *engine.Batch, id codec.BlobID) { dropChunk(b, id, 1) },
			[]string{"blob-chunk chunk 1 of 4 is missing"}, rpc.BlobUpload},
		"short chunks": {func(b *engine.Batch, id codec.BlobID) { setChunk(b, id, 0, nil); setChunk(b, id, 3, content[:6]) },
			[]string{"blob-chunk chunk 0 of 4 has 0 bytes instead of 1048576", "blob-chunk chunk 3 of 4 has 6 bytes instead of 7"}, rpc.BlobUpload},
		"other bytes": {func(b *engine.Batch, id codec.BlobID) { setChunk(b, id, 0, content[1:chunk+1]) },
			[]string{"blob-hash the content has the hash " + contentID(append(bytes.Clone(content[1:chunk+1]), content[chunk:]...)).String()}, rpc.BlobUpload},
		"no chunk": {func(b *engine.Batch, id codec.BlobID) {
			start, end := chunksFrom(id, 0)
			b.DeleteRange(column.Blobs, start, end)
		}, []string{"blob-chunk chunk 0 of 4 is missing", "blob-chunk chunk 1 of 4 is missing", "blob-chunk chunk 2 of 4 is missing", "blob-chunk chunk 3 of 4 is missing"}, rpc.BlobUpload},
		"wrong manifest and chunk": {func(b *engine.Batch, id codec.BlobID) {
			engine.Put(b, keys.BlobMeta{Blob: id}, codec.BlobMeta{Size: 5, Chunks: 1})
			dropChunk(b, id, 3)
		}, []string{"blob-manifest the manifest names another hash, " + codec.Hash{}.String(), "blob-hash the chunks that are there are not the content either"}, rpc.BlobUpload},
		"missing chunk and one beyond": {func(b *engine.Batch, id codec.BlobID) { dropChunk(b, id, 2); setChunk(b, id, 4, nil) },
			[]string{"blob-chunk chunk 2 of 4 is missing", "blob-chunk chunks beyond the last, of index 4 or more"}, rpc.BlobUpload},

		"chunks beyond": {func(b *engine.Batch, id codec.BlobID) { setChunk(b, id, 4, content); setChunk(b, id, 1<<32-1, nil) },
			[]string{"blob-chunk chunks beyond the last, of index 4 or more"}, rpc.BlobRepair},
		"too small a manifest": {func(b *engine.Batch, id codec.BlobID) { setManifest(b, id, 2*chunk, 2) },
			[]string{"blob-manifest the manifest has 2097152 bytes in 2 chunks, and the content 3145735 in 4"}, rpc.BlobRepair},
		"too large a manifest": {func(b *engine.Batch, id codec.BlobID) { setManifest(b, id, 5*chunk, 5) },
			[]string{"blob-manifest the manifest has 5242880 bytes in 5 chunks, and the content 3145735 in 4"}, rpc.BlobRepair},
		"wrong count": {func(b *engine.Batch, id codec.BlobID) { setManifest(b, id, uint64(len(content)), 7) },
			[]string{"blob-manifest the manifest has 3145735 bytes in 7 chunks"}, rpc.BlobRepair},
		"manifest missing": {dropManifest,
			[]string{"blob-manifest the manifest is missing, and all of the content is there"}, rpc.BlobRepair},
		"manifest missing, and chunks beyond": {func(b *engine.Batch, id codec.BlobID) { dropManifest(b, id); setChunk(b, id, 4, content[:1]) },
			[]string{"blob-manifest the manifest is missing, and all of the content is there", "blob-chunk chunks beyond the last, of index 4 or more"}, rpc.BlobRepair},
		"remains of an upload": {func(b *engine.Batch, id codec.BlobID) { dropManifest(b, id); dropChunk(b, id, 3) },
			[]string{"blob-chunk chunks without a manifest, which are not all of the content"}, rpc.BlobRemove},
	} {
		t.Run(name, func(t *testing.T) {
			overEngines(t, Options{}, func(t *testing.T, d *testDaemon) {
				c := d.dial(t)
				for _, good := range [][]byte{nil, bytesOf(9), bytesOf(2 * chunk)} {
					mustPut(t, d.blobs, good)
				}
				without := contentsOf(t, d.engine)
				id := mustPut(t, d.blobs, content)
				with := contentsOf(t, d.engine)
				_, v := verified(t, c, rpc.BlobVerifyOptions{Repair: true})
				require.Equal(t, rpc.BlobVerdict{Blobs: 4, Bytes: uint64(len(content) + 9 + 2*chunk)}, v)
				damaged(t, d.blobs, content, test.damage)
				before := contentsOf(t, d.engine)

				for _, o := range []rpc.BlobVerifyOptions{{}, {ID: id}} {
					found, v := verified(t, c, o)
					require.Len(t, found, 1)
					require.Equal(t, id, found[0].ID)
					require.Equal(t, test.remedy, found[0].Remedy)
					require.False(t, found[0].Repaired)
					var faults []string
					for _, f := range found[0].Faults {
						faults = append(faults, f.Code+" "+f.Reason)
					}
					require.Equal(t, test.faults, faults)
					require.EqualValues(t, 1, v.Damaged)
					require.Zero(t, v.Repaired)
					require.True(t, maps.Equal(before, contentsOf(t, d.engine)), "it is only read")
				}
				found, v := verified(t, c, rpc.BlobVerifyOptions{Repair: true})
				require.Len(t, found, 1)
				require.Equal(t, test.remedy != rpc.BlobUpload, found[0].Repaired)
				switch test.remedy {
				case rpc.BlobUpload:
					require.Zero(t, v.Repaired)
					require.True(t, maps.Equal(before, contentsOf(t, d.engine)), "what remains is not removed")
				case rpc.BlobRepair:
					require.EqualValues(t, 1, v.Repaired)
					require.True(t, maps.Equal(with, contentsOf(t, d.engine)))
				case rpc.BlobRemove:
					require.True(t, maps.Equal(without, contentsOf(t, d.engine)))
				}
			})
		})
	}
}

func TestVerificationOfABlobThatIsNotThereSaysSo(t *testing.T) {
	d := start(t, nil, Options{})
	_, err := d.dial(t).BlobVerify(t.Context(), rpc.BlobVerifyOptions{ID: codec.BlobID{1}}, nil)
	require.ErrorIs(t, err, engine.ErrNotFound)
	stream, err := stoav1.NewBlobClient(d.bare(t)).Verify(t.Context(), &stoav1.BlobVerifyRequest{BlobId: []byte("short")})
	require.NoError(t, err)
	_, err = stream.Recv()
	require.ErrorIs(t, rpc.FromStatus(err), rpc.ErrRequest)
}

func TestFaultsOfABlobAreToldUpToALimit(t *testing.T) {
	d := start(t, nil, Options{})
	var b engine.Batch
	setManifest(&b, codec.BlobID{1}, rpc.MaxBlob, 4096)
	require.NoError(t, d.engine.Apply(&b))
	found, v := verified(t, d.dial(t), rpc.BlobVerifyOptions{})
	require.Len(t, found, 1)
	require.Len(t, found[0].Faults, maxFaults)
	require.EqualValues(t, 4096-maxFaults, found[0].More)
	require.Equal(t, rpc.BlobVerdict{Blobs: 1, Damaged: 1}, v)
}

// The chunks of an upload that has not ended have no manifest yet.
func TestABlobThatIsBeingUploadedIsNotDamaged(t *testing.T) {
	overEngines(t, Options{}, func(t *testing.T, d *testDaemon) {
		content := bytesOf(3 * chunk)
		id := contentID(content)
		stream, err := stoav1.NewBlobClient(d.bare(t)).Put(t.Context())
		require.NoError(t, err)
		require.NoError(t, stream.Send(putHeader(id, nil)))
		for i := range 3 {
			require.NoError(t, stream.Send(putData(content[i*chunk:(i+1)*chunk])))
			require.Eventually(t, func() bool { return len(blobRows(t, d.engine)) == i+1 }, patience, time.Millisecond)
			found, v := verified(t, d.dial(t), rpc.BlobVerifyOptions{Repair: true})
			require.Empty(t, found)
			require.Zero(t, v)
			_, err := d.dial(t).BlobVerify(t.Context(), rpc.BlobVerifyOptions{ID: id, Repair: true}, nil)
			require.ErrorIs(t, err, engine.ErrNotFound)
		}
		_, err = stream.CloseAndRecv()
		require.NoError(t, err)
		_, v := verified(t, d.dial(t), rpc.BlobVerifyOptions{})
		require.Equal(t, rpc.BlobVerdict{Blobs: 1, Bytes: 3 * chunk}, v)
	})
}

func TestARepairIsMadeWholeOrNotAtAll(t *testing.T) {
	eng := newStub()
	defer eng.Close()
	d := start(t, eng, Options{})
	content := bytesOf(2*chunk + 1)
	damaged(t, d.blobs, content, func(b *engine.Batch, id codec.BlobID) { setManifest(b, id, 1, 1); setChunk(b, id, 3, nil) })
	before := contentsOf(t, eng)
	eng.apply = func() error { return engine.ErrNoSpace }
	_, err := d.dial(t).BlobVerify(t.Context(), rpc.BlobVerifyOptions{Repair: true}, nil)
	require.ErrorIs(t, err, engine.ErrNoSpace)
	require.True(t, maps.Equal(before, contentsOf(t, eng)))
}

func TestLeftChunksThatCannotBeRemovedAreNotSaidToBe(t *testing.T) {
	eng := newStub()
	defer eng.Close()
	d := start(t, eng, Options{})
	damaged(t, d.blobs, bytesOf(2*chunk+1), func(b *engine.Batch, id codec.BlobID) { dropManifest(b, id); dropChunk(b, id, 0) })
	eng.apply = func() error { return engine.ErrNoSpace }
	_, err := d.dial(t).BlobVerify(t.Context(), rpc.BlobVerifyOptions{Repair: true}, func(rpc.BlobDamage) error { return nil })
	require.ErrorIs(t, err, engine.ErrNoSpace)
	_, err = d.blobs.sweep(t.Context())
	require.ErrorIs(t, err, engine.ErrNoSpace)
}

// Nothing but the chunks that the manifest has can be missing.
func TestABlobOfWholeChunksWithOtherBytesMissesNoChunk(t *testing.T) {
	d := start(t, nil, Options{})
	damaged(t, d.blobs, bytesOf(2*chunk), func(b *engine.Batch, id codec.BlobID) { setChunk(b, id, 1, bytesOf(chunk)) })
	found, _ := verified(t, d.dial(t), rpc.BlobVerifyOptions{})
	require.Len(t, found, 1)
	require.Len(t, found[0].Faults, 1)
	require.Equal(t, codeHash, found[0].Faults[0].Code)
}

// A read that fails is no fault of the blob, whatever was found before it, nor does a
// repair go by what was read until then.
func TestAVerificationWhoseReadsFailSaysSo(t *testing.T) {
	for name, damage := range map[string]func(*engine.Batch, codec.BlobID){
		"a chunk is missing":       func(b *engine.Batch, id codec.BlobID) { dropChunk(b, id, 0) },
		"the manifest is wrong":    func(b *engine.Batch, id codec.BlobID) { setManifest(b, id, 1, 1) },
		"the manifest is missing":  dropManifest,
		"chunks of another upload": func(b *engine.Batch, id codec.BlobID) { dropManifest(b, id); dropChunk(b, id, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			inner := mem.New()
			defer inner.Close()
			id := damaged(t, testStore(t, inner, BlobOptions{}), bytesOf(3*chunk+1), damage)
			before := contentsOf(t, inner)
			for n := 1; ; n++ {
				f := faulty.New(inner, faulty.Options{At: n, Calls: faulty.Reads})
				b := testStore(t, f, BlobOptions{})
				_, repaired, err := b.check(t.Context(), id, true)
				if !f.Tripped() {
					require.NoError(t, err)
					break
				}
				require.ErrorIs(t, err, faulty.ErrInjected, "read %d", n)
				require.False(t, repaired)
				require.True(t, maps.Equal(before, contentsOf(t, inner)))
			}
		})
	}
}

func TestVerificationRepairsBesideOthersWhoUseTheBlob(t *testing.T) {
	overEngines(t, Options{}, func(t *testing.T, d *testDaemon) {
		c, ctx := d.dial(t), t.Context()
		content := bytesOf(2*chunk + 3)
		id := damaged(t, d.blobs, content, func(b *engine.Batch, id codec.BlobID) { setManifest(b, id, chunk, 1) })
		var all sync.WaitGroup
		for i := range 24 {
			all.Go(func() {
				switch i % 3 {
				case 0:
					if err := c.BlobDelete(ctx, id, false); err != nil {
						require.ErrorIs(t, err, engine.ErrNotFound)
					}
				case 1:
					_, err := c.BlobVerify(ctx, rpc.BlobVerifyOptions{Repair: true}, func(d rpc.BlobDamage) error {
						if !d.Repaired {
							return errors.New("what is being uploaded was taken for damage")
						}
						return nil
					})
					require.NoError(t, err)
				default:
					_, _, err := c.BlobPut(ctx, bytes.NewReader(content), rpc.BlobPutOptions{ID: id})
					require.NoError(t, err)
				}
			})
		}
		all.Wait()
		found, v := verified(t, c, rpc.BlobVerifyOptions{})
		require.Empty(t, found)
		if v.Blobs == 0 {
			require.Empty(t, blobRows(t, d.engine))
		}
		require.Empty(t, d.blobs.locks.held)
	})
}

func TestSweepKeepsABlobThatHasLostItsManifest(t *testing.T) {
	b := memStore(t, BlobOptions{})
	var whole map[string]string
	for _, content := range [][]byte{bytesOf(2 * chunk), bytesOf(chunk + 1)} {
		mustPut(t, b, content)
		whole = contentsOf(t, b.eng)
		damaged(t, b, content, dropManifest)
		swept, err := b.sweep(t.Context())
		require.NoError(t, err)
		require.Zero(t, swept)
		require.True(t, maps.Equal(whole, contentsOf(t, b.eng)))
	}
	damaged(t, b, bytesOf(3*chunk), func(b *engine.Batch, id codec.BlobID) { dropManifest(b, id); dropChunk(b, id, 2) })
	swept, err := b.sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, swept)
	require.True(t, maps.Equal(whole, contentsOf(t, b.eng)))
}
