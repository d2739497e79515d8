package blob

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
)

// MaxFaults is how many faults of one blob are told.
const MaxFaults = 16

// Fault is one thing that is wrong with a blob.
type Fault struct {
	Code   string // [CodeManifest], [CodeChunk] or [CodeHash]
	Key    []byte // of the row in the Blobs column
	Reason string
}

// Remedy is what makes a damaged blob good. The zero Remedy means that it is not known.
type Remedy uint8

// The remedies.
const (
	// Repair is a verification that repairs: all of the content is there.
	Repair Remedy = iota + 1
	// Remove is a verification that repairs: remains of an upload are removed.
	Remove
	// Upload is another upload of the blob, some of which is lost.
	Upload
)

// examination is what the rows of a blob are, beside what they should be.
type examination struct {
	id     codec.BlobID
	there  bool           // there is a manifest, right or wrong
	whole  bool           // the first chunks are the content
	meta   codec.BlobMeta // if whole: the manifest that it has
	size   uint64         // bytes of chunks that were read
	faults []Fault
	more   uint32 // faults
}

// examine reads the rows of a blob in r. What it finds is told as faults; its errors
// are others. The content is told from everything else by its hash alone.
func (b *Store) examine(ctx context.Context, r engine.Reader, id codec.BlobID) (examination, error) {
	x := examination{id: id}
	found, err := stat(r, id)
	switch {
	case errors.Is(err, engine.ErrCorrupt):
		x.there = true
		x.fault(CodeManifest, id[:], reasonOf(err))
	case err == nil:
		x.there = true
	case !errors.Is(err, engine.ErrNotFound):
		return x, err
	}
	var manifest *codec.BlobMeta
	if err == nil {
		manifest = &found
	}
	unread := x
	if err := b.examineChunks(ctx, r, &x, manifest); err != nil {
		return x, err
	}
	if x.whole { // whatever a wrong manifest says of the chunks
		x.faults, x.more = unread.faults, unread.more
	}
	return x, x.judge(r, manifest)
}

// examineChunks reads the chunks from the first on, until they are the content, and
// otherwise as long as they could be, or as the manifest has some; nil: it has none.
func (b *Store) examineChunks(ctx context.Context, r engine.Reader, x *examination, manifest *codec.BlobMeta) error {
	buf := b.borrow()
	defer b.giveBack(buf)
	sum, key := sha256.New(), make([]byte, 0, len(x.id)+4)
	x.meta.Hash = codec.Hash(x.id)
	may := true // what was read may be the beginning of the content
	x.whole = x.there && codec.BlobID(sum.Sum(nil)) == x.id
	for i := uint32(0); !x.whole && uint64(i) < ChunksOf(MaxSize) && (may || manifest != nil && i < manifest.Chunks); i++ {
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
				x.fault(CodeChunk, key, reason)
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
		x.fault(CodeHash, x.id[:], otherHash(codec.BlobID(sum.Sum(nil))))
	}
	return nil
}

// reasonOf says what is wrong, of an error of stat that is engine.ErrCorrupt.
func reasonOf(err error) string {
	var c *Corrupt
	if errors.As(err, &c) {
		return c.Reason
	}
	return err.Error()
}

func otherHash(actual codec.BlobID) string { return "the content has the hash " + actual.String() }

// chunkFault says what is wrong with a chunk that the manifest m has, and that has n
// bytes or could not be read; empty: nothing is.
func chunkFault(m codec.BlobMeta, index uint32, n int, err error) string {
	want := ChunkBytes(m, index)
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
func (x *examination) judge(r engine.Reader, manifest *codec.BlobMeta) error {
	last := x.meta
	switch {
	case x.whole && !x.there:
		x.fault(CodeManifest, x.id[:], "the manifest is missing, and all of the content is there")
	case x.whole && manifest != nil && *manifest != x.meta:
		x.fault(CodeManifest, x.id[:], fmt.Sprintf("the manifest has %d bytes in %d chunks, and the content %d in %d",
			manifest.Size, manifest.Chunks, x.meta.Size, x.meta.Chunks))
	case x.whole:
	case !x.there:
		left, err := chunkFrom(r, x.id, 0)
		if left {
			x.fault(CodeChunk, x.id[:], "chunks without a manifest, which are not all of the content")
		}
		return err
	case manifest == nil:
		x.fault(CodeHash, x.id[:], "the chunks that are there are not the content either")
		return nil
	default:
		last = *manifest
	}
	beyond, err := chunkFrom(r, x.id, last.Chunks)
	if beyond {
		key, _ := chunksFrom(x.id, last.Chunks)
		x.fault(CodeChunk, key, fmt.Sprintf("chunks beyond the last, of index %d or more", last.Chunks))
	}
	return err
}

// fault adds a fault.
func (x *examination) fault(code string, key []byte, reason string) {
	if len(x.faults) == MaxFaults {
		x.more++
		return
	}
	x.faults = append(x.faults, Fault{Code: code, Key: bytes.Clone(key), Reason: reason})
}

// remedy returns what makes the blob good that has faults.
func (x *examination) remedy() Remedy {
	switch {
	case x.whole:
		return Repair
	case !x.there:
		return Remove
	default:
		return Upload
	}
}
