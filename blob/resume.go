package blob

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"sync"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// Kept returns how many bytes of a blob that is not there are kept of a Put that broke off; see
// [PutOptions.Keep]. 0: none.
func (b *Store) Kept(id codec.BlobID) uint64 {
	b.kept.mu.Lock()
	defer b.kept.mu.Unlock()
	return uint64(b.kept.chunks[id]) * codec.ChunkSize
}

// maxKept is of how many blobs something is kept.
const maxKept = 16

// keptUploads are uploads that broke off, and may go on. The zero keptUploads are none.
type keptUploads struct {
	mu     sync.Mutex
	chunks map[codec.BlobID]uint32
}

// add keeps one, if there are not too many.
func (k *keptUploads) add(id codec.BlobID, chunks uint32) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.chunks) >= maxKept {
		return false
	}
	if k.chunks == nil {
		k.chunks = map[codec.BlobID]uint32{}
	}
	k.chunks[id] = chunks
	return true
}

func (k *keptUploads) drop(id codec.BlobID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.chunks, id)
}

// begin has what is kept of an upload be in sum and meta, if it goes on, and removes what is there
// otherwise: under the id of a broken upload that the sweep has not come to there may be chunks beyond
// those of this one, which a manifest would hide for good. begun is true where chunks of this upload are
// there. The caller holds the lock of the id.
func (b *Store) begin(ctx context.Context, o PutOptions, sum hash.Hash, meta *codec.BlobMeta) (begun bool, err error) {
	kept := b.Kept(o.ID)
	switch {
	case o.From != kept && o.From > 0:
		return false, fmt.Errorf("blob: %w: content from offset %d on, where %d bytes are kept", engine.ErrConflict, o.From, kept)
	case o.From > 0:
		return true, b.readKept(ctx, o.ID, kept, sum, meta)
	}
	b.kept.drop(o.ID)
	left, err := b.hasChunks(o.ID)
	if err == nil && left {
		err = b.discard(o.ID)
	}
	return false, err
}

// readKept reads what is kept of an upload, which is gone from then on if that fails.
func (b *Store) readKept(ctx context.Context, id codec.BlobID, kept uint64, sum hash.Hash, meta *codec.BlobMeta) error {
	b.kept.drop(id)
	for meta.Size < kept {
		chunk, err := engine.Get(b.eng, keys.BlobChunk{Blob: id, Index: meta.Chunks})
		if err == nil && len(chunk) != codec.ChunkSize {
			err = errors.New("it has another length")
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("blob: chunk %d of what was kept of %s: %w", meta.Chunks, id, err)
		}
		sum.Write(chunk)
		meta.Size += uint64(len(chunk))
		meta.Chunks++
	}
	return nil
}
