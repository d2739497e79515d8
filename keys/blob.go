package keys

import (
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
)

// BlobMeta locates the manifest of a blob. Its chunks follow it in key order.
//
//	Blob 32  →  codec.BlobMeta
type BlobMeta struct {
	Blob codec.BlobID
}

// Slot says where the keys are and what is stored under them; see [Key].
func (BlobMeta) Slot() Slot[codec.BlobMeta] {
	return Slot[codec.BlobMeta]{Column: column.Blobs, Size: 32}
}

// AppendBinary appends the bytes of the key to dst; see [Key].
func (k BlobMeta) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("BlobMeta", k.Slot(), dst)
	k.layout(&c)
	return c.encoded()
}

// Parse returns the key whose bytes are exactly src; see [Key].
func (BlobMeta) Parse(src []byte) (BlobMeta, error) {
	var k BlobMeta
	c := parser("BlobMeta", k.Slot(), src)
	k.layout(&c)
	return parsed(k, &c)
}

func (k *BlobMeta) layout(c *coder) {
	id(c, "blob_id", &k.Blob)
}

// BlobChunk locates a piece of the content of a blob; the first is 0.
//
//	Blob 32 ‖ Index 4 BE  →  codec.BlobChunk
type BlobChunk struct {
	Blob  codec.BlobID
	Index uint32
}

// Slot says where the keys are and what is stored under them; see [Key].
func (BlobChunk) Slot() Slot[codec.BlobChunk] {
	return Slot[codec.BlobChunk]{Column: column.Blobs, Size: 36}
}

// AppendBinary appends the bytes of the key to dst; see [Key].
func (k BlobChunk) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("BlobChunk", k.Slot(), dst)
	k.layout(&c)
	return c.encoded()
}

// Parse returns the key whose bytes are exactly src; see [Key].
func (BlobChunk) Parse(src []byte) (BlobChunk, error) {
	var k BlobChunk
	c := parser("BlobChunk", k.Slot(), src)
	k.layout(&c)
	return parsed(k, &c)
}

func (k *BlobChunk) layout(c *coder) {
	id(c, "blob_id", &k.Blob)
	c.index("index", &k.Index)
}

// ChunksOf is the prefix of the chunks of a blob. The zero byte that every index
// below 2^24 begins with, 16 TiB of chunks, keeps the manifest out.
func ChunksOf(blob codec.BlobID) Prefix[BlobChunk] {
	return prefix[BlobChunk](0, blob[:], []byte{0})
}
