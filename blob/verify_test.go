package blob

import (
	"bytes"
	"errors"
	"io"
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
)

// verified returns what a verification tells.
func verified(t testing.TB, s *Store, o VerifyOptions) ([]Damage, Verdict) {
	t.Helper()
	var all []Damage
	v, err := s.Verify(t.Context(), o, func(d Damage) error {
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
		remedy Remedy
	}{
		"missing chunk": {func(b *engine.Batch, id codec.BlobID) { dropChunk(b, id, 1) },
			[]string{"blob-chunk chunk 1 of 4 is missing"}, Upload},
		"short chunks": {func(b *engine.Batch, id codec.BlobID) { setChunk(b, id, 0, nil); setChunk(b, id, 3, content[:6]) },
			[]string{"blob-chunk chunk 0 of 4 has 0 bytes instead of 1048576", "blob-chunk chunk 3 of 4 has 6 bytes instead of 7"}, Upload},
		"other bytes": {func(b *engine.Batch, id codec.BlobID) { setChunk(b, id, 0, content[1:chunk+1]) },
			[]string{"blob-hash the content has the hash " + contentID(append(bytes.Clone(content[1:chunk+1]), content[chunk:]...)).String()}, Upload},
		"no chunk": {func(b *engine.Batch, id codec.BlobID) {
			start, end := chunksFrom(id, 0)
			b.DeleteRange(column.Blobs, start, end)
		}, []string{"blob-chunk chunk 0 of 4 is missing", "blob-chunk chunk 1 of 4 is missing", "blob-chunk chunk 2 of 4 is missing", "blob-chunk chunk 3 of 4 is missing"}, Upload},
		"wrong manifest and chunk": {func(b *engine.Batch, id codec.BlobID) {
			engine.Put(b, keys.BlobMeta{Blob: id}, codec.BlobMeta{Size: 5, Chunks: 1})
			dropChunk(b, id, 3)
		}, []string{"blob-manifest the manifest names another hash, " + codec.Hash{}.String(), "blob-hash the chunks that are there are not the content either"}, Upload},
		"missing chunk and one beyond": {func(b *engine.Batch, id codec.BlobID) { dropChunk(b, id, 2); setChunk(b, id, 4, nil) },
			[]string{"blob-chunk chunk 2 of 4 is missing", "blob-chunk chunks beyond the last, of index 4 or more"}, Upload},

		"chunks beyond": {func(b *engine.Batch, id codec.BlobID) { setChunk(b, id, 4, content); setChunk(b, id, 1<<32-1, nil) },
			[]string{"blob-chunk chunks beyond the last, of index 4 or more"}, Repair},
		"too small a manifest": {func(b *engine.Batch, id codec.BlobID) { setManifest(b, id, 2*chunk, 2) },
			[]string{"blob-manifest the manifest has 2097152 bytes in 2 chunks, and the content 3145735 in 4"}, Repair},
		"too large a manifest": {func(b *engine.Batch, id codec.BlobID) { setManifest(b, id, 5*chunk, 5) },
			[]string{"blob-manifest the manifest has 5242880 bytes in 5 chunks, and the content 3145735 in 4"}, Repair},
		"wrong count": {func(b *engine.Batch, id codec.BlobID) { setManifest(b, id, uint64(len(content)), 7) },
			[]string{"blob-manifest the manifest has 3145735 bytes in 7 chunks"}, Repair},
		"manifest missing": {dropManifest,
			[]string{"blob-manifest the manifest is missing, and all of the content is there"}, Repair},
		"manifest missing, and chunks beyond": {func(b *engine.Batch, id codec.BlobID) { dropManifest(b, id); setChunk(b, id, 4, content[:1]) },
			[]string{"blob-manifest the manifest is missing, and all of the content is there", "blob-chunk chunks beyond the last, of index 4 or more"}, Repair},
		"remains of an upload": {func(b *engine.Batch, id codec.BlobID) { dropManifest(b, id); dropChunk(b, id, 3) },
			[]string{"blob-chunk chunks without a manifest, which are not all of the content"}, Remove},
	} {
		t.Run(name, func(t *testing.T) {
			overEngines(t, func(t *testing.T, s *Store) {
				for _, good := range [][]byte{nil, bytesOf(9), bytesOf(2 * chunk)} {
					mustPut(t, s, good)
				}
				without := contentsOf(t, s.eng)
				id := mustPut(t, s, content)
				with := contentsOf(t, s.eng)
				_, v := verified(t, s, VerifyOptions{Repair: true})
				require.Equal(t, Verdict{Blobs: 4, Bytes: uint64(len(content) + 9 + 2*chunk)}, v)
				damaged(t, s, content, test.damage)
				before := contentsOf(t, s.eng)

				for _, o := range []VerifyOptions{{}, {ID: id}} {
					found, v := verified(t, s, o)
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
					require.True(t, maps.Equal(before, contentsOf(t, s.eng)), "it is only read")
				}
				found, v := verified(t, s, VerifyOptions{Repair: true})
				require.Len(t, found, 1)
				require.Equal(t, test.remedy != Upload, found[0].Repaired)
				switch test.remedy {
				case Upload:
					require.Zero(t, v.Repaired)
					require.True(t, maps.Equal(before, contentsOf(t, s.eng)), "what remains is not removed")
				case Repair:
					require.EqualValues(t, 1, v.Repaired)
					require.True(t, maps.Equal(with, contentsOf(t, s.eng)))
				case Remove:
					require.True(t, maps.Equal(without, contentsOf(t, s.eng)))
				}
			})
		})
	}
}

func TestVerificationOfABlobThatIsNotThereSaysSo(t *testing.T) {
	s := memStore(t, Options{})
	_, err := s.Verify(t.Context(), VerifyOptions{ID: codec.BlobID{1}}, nil)
	require.ErrorIs(t, err, engine.ErrNotFound)
}

func TestFaultsOfABlobAreToldUpToALimit(t *testing.T) {
	s := memStore(t, Options{})
	var b engine.Batch
	setManifest(&b, codec.BlobID{1}, MaxSize, 4096)
	require.NoError(t, s.eng.Apply(&b))
	found, v := verified(t, s, VerifyOptions{})
	require.Len(t, found, 1)
	require.Len(t, found[0].Faults, MaxFaults)
	require.EqualValues(t, 4096-MaxFaults, found[0].More)
	require.Equal(t, Verdict{Blobs: 1, Damaged: 1}, v)
}

// The chunks of an upload that has not ended have no manifest yet.
func TestABlobThatIsBeingUploadedIsNotDamaged(t *testing.T) {
	overEngines(t, func(t *testing.T, s *Store) {
		content := bytesOf(3 * chunk)
		id := contentID(content)
		come, send := io.Pipe()
		put := make(chan error, 1)
		go func() {
			_, _, err := s.Put(t.Context(), come, PutOptions{ID: id})
			put <- err
		}()
		for i := range 3 {
			_, err := send.Write(content[i*chunk : (i+1)*chunk])
			require.NoError(t, err)
			require.Eventually(t, func() bool { return len(blobRows(t, s.eng)) == i+1 }, 10*time.Second, time.Millisecond)
			found, v := verified(t, s, VerifyOptions{Repair: true})
			require.Empty(t, found)
			require.Zero(t, v)
			_, err = s.Verify(t.Context(), VerifyOptions{ID: id, Repair: true}, nil)
			require.ErrorIs(t, err, engine.ErrNotFound)
		}
		require.NoError(t, send.Close())
		require.NoError(t, <-put)
		_, v := verified(t, s, VerifyOptions{})
		require.Equal(t, Verdict{Blobs: 1, Bytes: 3 * chunk}, v)
	})
}

func TestARepairIsMadeWholeOrNotAtAll(t *testing.T) {
	eng := &stubEngine{Engine: mem.New()}
	defer eng.Close()
	s := testStore(t, eng, Options{})
	content := bytesOf(2*chunk + 1)
	damaged(t, s, content, func(b *engine.Batch, id codec.BlobID) { setManifest(b, id, 1, 1); setChunk(b, id, 3, nil) })
	before := contentsOf(t, eng)
	eng.apply = func() error { return engine.ErrNoSpace }
	_, err := s.Verify(t.Context(), VerifyOptions{Repair: true}, nil)
	require.ErrorIs(t, err, engine.ErrNoSpace)
	require.True(t, maps.Equal(before, contentsOf(t, eng)))
}

func TestLeftChunksThatCannotBeRemovedAreNotSaidToBe(t *testing.T) {
	eng := &stubEngine{Engine: mem.New()}
	defer eng.Close()
	s := testStore(t, eng, Options{})
	damaged(t, s, bytesOf(2*chunk+1), func(b *engine.Batch, id codec.BlobID) { dropManifest(b, id); dropChunk(b, id, 0) })
	eng.apply = func() error { return engine.ErrNoSpace }
	_, err := s.Verify(t.Context(), VerifyOptions{Repair: true}, func(Damage) error { return nil })
	require.ErrorIs(t, err, engine.ErrNoSpace)
	_, err = s.Sweep(t.Context())
	require.ErrorIs(t, err, engine.ErrNoSpace)
}

// Nothing but the chunks that the manifest has can be missing.
func TestABlobOfWholeChunksWithOtherBytesMissesNoChunk(t *testing.T) {
	s := memStore(t, Options{})
	damaged(t, s, bytesOf(2*chunk), func(b *engine.Batch, id codec.BlobID) { setChunk(b, id, 1, bytesOf(chunk)) })
	found, _ := verified(t, s, VerifyOptions{})
	require.Len(t, found, 1)
	require.Len(t, found[0].Faults, 1)
	require.Equal(t, CodeHash, found[0].Faults[0].Code)
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
			id := damaged(t, testStore(t, inner, Options{}), bytesOf(3*chunk+1), damage)
			before := contentsOf(t, inner)
			for n := 1; ; n++ {
				f := faulty.New(inner, faulty.Options{At: n, Calls: faulty.Reads})
				b := testStore(t, f, Options{})
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
	overEngines(t, func(t *testing.T, s *Store) {
		ctx := t.Context()
		content := bytesOf(2*chunk + 3)
		id := damaged(t, s, content, func(b *engine.Batch, id codec.BlobID) { setManifest(b, id, chunk, 1) })
		var all sync.WaitGroup
		for i := range 24 {
			all.Go(func() {
				switch i % 3 {
				case 0:
					if err := s.Delete(ctx, id, false); err != nil {
						require.ErrorIs(t, err, engine.ErrNotFound)
					}
				case 1:
					_, err := s.Verify(ctx, VerifyOptions{Repair: true}, func(d Damage) error {
						if !d.Repaired {
							return errors.New("what is being uploaded was taken for damage")
						}
						return nil
					})
					require.NoError(t, err)
				default:
					_, _, err := s.Put(ctx, bytes.NewReader(content), PutOptions{ID: id})
					require.NoError(t, err)
				}
			})
		}
		all.Wait()
		found, v := verified(t, s, VerifyOptions{})
		require.Empty(t, found)
		if v.Blobs == 0 {
			require.Empty(t, blobRows(t, s.eng))
		}
		require.Empty(t, s.locks.held)
	})
}

func TestSweepKeepsABlobThatHasLostItsManifest(t *testing.T) {
	b := memStore(t, Options{})
	var whole map[string]string
	for _, content := range [][]byte{bytesOf(2 * chunk), bytesOf(chunk + 1)} {
		mustPut(t, b, content)
		whole = contentsOf(t, b.eng)
		damaged(t, b, content, dropManifest)
		swept, err := b.Sweep(t.Context())
		require.NoError(t, err)
		require.Zero(t, swept)
		require.True(t, maps.Equal(whole, contentsOf(t, b.eng)))
	}
	damaged(t, b, bytesOf(3*chunk), func(b *engine.Batch, id codec.BlobID) { dropManifest(b, id); dropChunk(b, id, 2) })
	swept, err := b.Sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, swept)
	require.True(t, maps.Equal(whole, contentsOf(t, b.eng)))
}
