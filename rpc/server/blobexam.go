package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// The codes of faults, as cmd/inspect has them.
const (
	codeManifest = "blob-manifest"
	codeChunk    = "blob-chunk"
	codeHash     = "blob-hash"
)

// maxFaults is how many faults of one blob are told.
const maxFaults = 16

// examination is what the rows of a blob are, beside what they should be.
type examination struct {
	id     codec.BlobID
	there  bool           // there is a manifest, right or wrong
	whole  bool           // the first chunks are the content
	meta   codec.BlobMeta // if whole: the manifest that it has
	size   uint64         // bytes of chunks that were read
	faults []*stoav1.BlobFault
	more   uint32 // faults
}

// examine reads the rows of a blob in r. What it finds is told as faults; its errors
// are others. The content is told from everything else by its hash alone.
func (b *blobStore) examine(ctx context.Context, r engine.Reader, id codec.BlobID) (examination, error) {
	x := examination{id: id}
	found, err := b.stat(r, id)
	switch {
	case errors.Is(err, engine.ErrCorrupt):
		x.there = true
		x.fault(codeManifest, id[:], rpc.Describe(err).Fields[rpc.FieldReason])
	case err == nil:
		x.there = true
	case !errors.Is(err, engine.ErrNotFound):
		return x, err
	}
	var manifest *codec.BlobMeta
	if err == nil {
		manifest = &found.meta
	}
	unread := x
	if err := b.examineChunks(ctx, r, &x, manifest); err != nil {
		return x, err
	}
	if x.whole { // whatever a wrong manifest says of the chunks
		x.faults, x.more = unread.faults, unread.more
	}
	return x, b.judge(r, &x, manifest)
}

// examineChunks reads the chunks from the first on, until they are the content, and
// otherwise as long as they could be, or as the manifest has some; nil: it has none.
func (b *blobStore) examineChunks(ctx context.Context, r engine.Reader, x *examination, manifest *codec.BlobMeta) error {
	buf := b.bufs.Get().(*[]byte)
	defer b.giveBack(buf)
	sum, key := sha256.New(), make([]byte, 0, len(x.id)+4)
	x.meta.Hash = codec.Hash(x.id)
	may := true // what was read may be the beginning of the content
	x.whole = x.there && codec.BlobID(sum.Sum(nil)) == x.id
	for i := uint32(0); !x.whole && i < chunksOf(rpc.MaxBlob) && (may || manifest != nil && i < manifest.Chunks); i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		if key, err = (keys.BlobChunk{Blob: x.id, Index: i}).AppendBinary(key[:0]); err != nil {
			return err
		}
		*buf, err = r.Get((*buf)[:0], column.Blobs, key)
		if err != nil && !errors.Is(err, engine.ErrNotFound) && !errors.Is(err, engine.ErrCorrupt) {
			return err
		}
		x.size += uint64(len(*buf))
		if manifest != nil && i < manifest.Chunks {
			if reason := chunkFault(*manifest, i, len(*buf), err); reason != "" {
				x.fault(codeChunk, key, reason)
			}
		}
		if may = may && err == nil && len(*buf) > 0 && len(*buf) <= codec.ChunkSize; may {
			sum.Write(*buf)
			x.meta.Size += uint64(len(*buf))
			x.meta.Chunks++
			x.whole = codec.BlobID(sum.Sum(nil)) == x.id
			may = len(*buf) == codec.ChunkSize
		}
	}
	if manifest != nil && !x.whole && len(x.faults) == 0 {
		x.fault(codeHash, x.id[:], "the content has the hash "+codec.BlobID(sum.Sum(nil)).String())
	}
	return nil
}

// chunkFault says what is wrong with a chunk that the manifest m has, and that has n
// bytes or could not be read; empty: nothing is.
func chunkFault(m codec.BlobMeta, index uint32, n int, err error) string {
	want := min(m.Size-uint64(index)*codec.ChunkSize, codec.ChunkSize)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return fmt.Sprintf("chunk %d of %d is missing", index, m.Chunks)
	case err != nil:
		return fmt.Sprintf("chunk %d of %d cannot be read: %s", index, m.Chunks, err)
	case uint64(n) != want:
		return fmt.Sprintf("chunk %d of %d has %d bytes instead of %d", index, m.Chunks, n, want)
	}
	return ""
}

// judge adds the faults that show once the chunks have been read.
func (b *blobStore) judge(r engine.Reader, x *examination, manifest *codec.BlobMeta) error {
	last := x.meta
	switch {
	case x.whole && !x.there:
		x.fault(codeManifest, x.id[:], "the manifest is missing, and all of the content is there")
	case x.whole && manifest != nil && *manifest != x.meta:
		x.fault(codeManifest, x.id[:], fmt.Sprintf("the manifest has %d bytes in %d chunks, and the content %d in %d",
			manifest.Size, manifest.Chunks, x.meta.Size, x.meta.Chunks))
	case x.whole:
	case !x.there:
		left, err := b.chunkFrom(r, x.id, 0)
		if left {
			x.fault(codeChunk, x.id[:], "chunks without a manifest, which are not all of the content")
		}
		return err
	case manifest == nil:
		x.fault(codeHash, x.id[:], "the chunks that are there are not the content either")
		return nil
	default:
		last = *manifest
	}
	beyond, err := b.chunkFrom(r, x.id, last.Chunks)
	if beyond {
		key, _ := chunksFrom(x.id, last.Chunks)
		x.fault(codeChunk, key, fmt.Sprintf("chunks beyond the last, of index %d or more", last.Chunks))
	}
	return err
}

// fault adds a fault.
func (x *examination) fault(code string, key []byte, reason string) {
	if len(x.faults) == maxFaults {
		x.more++
		return
	}
	x.faults = append(x.faults, &stoav1.BlobFault{Code: code, Key: bytes.Clone(key), Reason: reason})
}

// remedy returns what makes the blob good that has faults.
func (x *examination) remedy() stoav1.BlobRemedy {
	switch {
	case x.whole:
		return stoav1.BlobRemedy_BLOB_REMEDY_REPAIR
	case !x.there:
		return stoav1.BlobRemedy_BLOB_REMEDY_REMOVE
	default:
		return stoav1.BlobRemedy_BLOB_REMEDY_PUT
	}
}
