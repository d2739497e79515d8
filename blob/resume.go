package blob

import (
	"context"
	"errors"
	"fmt"
	"hash"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// Kept returns how many bytes of a blob that is not there are kept of a Put that broke off; see
// [PutOptions.Keep]. 0: none.
func (b *Store) Kept(id codec.BlobID) uint64 {
	chunks, ok := b.kept.Load(id)
	if !ok {
		return 0
	}
	return uint64(chunks.(uint32)) * codec.ChunkSize
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
	b.kept.Delete(o.ID)
	left, err := b.hasChunks(o.ID)
	if err == nil && left {
		err = b.discard(o.ID)
	}
	return false, err
}

// readKept reads what is kept of an upload, which is gone from then on if that fails.
func (b *Store) readKept(ctx context.Context, id codec.BlobID, kept uint64, sum hash.Hash, meta *codec.BlobMeta) error {
	b.kept.Delete(id)
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
