package codec

// BlobMeta is the manifest of a blob: column Blobs, under the blob's id. Written
// last, it is what makes the chunks visible.
type BlobMeta struct {
	Size   uint64 // bytes in all
	Hash   Hash   // SHA-256 of the content, which is the blob's id
	Chunks uint32
}

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v BlobMeta) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("BlobMeta", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (BlobMeta) Decode(src []byte) (v BlobMeta, err error) {
	c := decoder("BlobMeta", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v BlobMeta) run(c coder) (BlobMeta, coder) { v.layout(&c); return v, c }

func (v *BlobMeta) layout(c *coder) {
	c.u64("size", &v.Size)
	id(c, "hash", &v.Hash)
	c.u32("chunks", &v.Chunks)
}

// ChunkSize is the size of every chunk of a blob but the last, in bytes.
const ChunkSize = 1 << 20

// BlobChunk is one piece of a blob's content: column Blobs, under the blob's id
// and the number of the piece. Raw bytes, [ChunkSize] of them but in the last.
type BlobChunk []byte

// AppendBinary appends the stored form of the value to dst; see [Value].
func (v BlobChunk) AppendBinary(dst []byte) ([]byte, error) {
	c := encoder("BlobChunk", dst)
	v.layout(&c)
	return c.encoded()
}

// Decode returns the value whose stored form is exactly src; see [Value].
func (BlobChunk) Decode(src []byte) (v BlobChunk, err error) {
	c := decoder("BlobChunk", src)
	v.layout(&c)
	err = ended(&v, &c)
	return v, err
}

func (v BlobChunk) run(c coder) (BlobChunk, coder) { v.layout(&c); return v, c }

func (v *BlobChunk) layout(c *coder) {
	c.rest("data", (*[]byte)(v))
}
