package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/rpc"
)

// upload is a blob on its way in.
type upload struct {
	id      codec.BlobID // zeros: not known
	size    *uint64      // nil: not known
	content io.Reader
}

// put stores a blob. If it is there already, existed is true, what comes has been
// checked all the same, and what of it was not stored so is written anew. If put
// fails, nothing stays of a blob that was not there, and nothing becomes worse of
// one that was.
func (b *blobStore) put(ctx context.Context, u upload) (stored blob, existed bool, err error) {
	if u.size != nil && *u.size > b.max {
		return blob{}, false, blobTooLarge(*u.size, b.max)
	}
	content := &measured{from: u.content, want: u.size, max: b.max}
	if u.id.IsZero() {
		return b.putUnnamed(ctx, content)
	}
	return b.putNamed(ctx, u.id, content)
}

// putNamed stores content, which should be that of id, straight under it.
func (b *blobStore) putNamed(ctx context.Context, id codec.BlobID, content io.Reader) (blob, bool, error) {
	unlock, err := b.locks.lock(ctx, id)
	if err != nil {
		return blob{}, false, err
	}
	_, err = b.stat(b.eng, id)
	if errors.Is(err, engine.ErrNotFound) {
		defer unlock()
		written, err := b.write(ctx, id, content)
		return written, false, err
	}
	if err != nil && !errors.Is(err, engine.ErrCorrupt) {
		unlock()
		return blob{}, false, err
	}
	snap, err := b.eng.Snapshot()
	unlock() // nothing is written before all has come: others need not wait
	if err != nil {
		return blob{}, false, err
	}
	defer snap.Close()
	found, err := b.heal(ctx, id, snap, content)
	return found, err == nil, err
}

// write stores content under id: chunk by chunk as it comes, and the manifest
// once it is complete and has the hash. The caller holds the lock of id.
func (b *blobStore) write(ctx context.Context, id codec.BlobID, content io.Reader) (written blob, err error) {
	if err := b.writable(); err != nil {
		return blob{}, err
	}
	// Under the id of a broken upload that the sweep has not come to there may
	// be chunks beyond those of this one, which a manifest would hide for good.
	if left, err := b.hasChunks(id); err != nil {
		return blob{}, err
	} else if left {
		if err := b.discard(id); err != nil {
			return blob{}, err
		}
	}
	begun, done := false, false
	defer func() {
		if !begun || done {
			return
		}
		if failed := b.discard(id); failed != nil {
			b.log.Warn("the chunks of a broken upload stay until the next start", "blob_id", id, "error", failed)
		}
	}()

	buf := b.bufs.Get().(*[]byte)
	defer b.giveBack(buf)
	sum, meta := sha256.New(), codec.BlobMeta{Hash: codec.Hash(id)}
	batch, key := new(engine.Batch), make([]byte, 0, len(id)+4)
	for end := false; !end; {
		if *buf, end, err = fill(content, *buf); err != nil {
			return blob{}, err
		}
		if err := ctx.Err(); err != nil {
			return blob{}, err
		}
		if len(*buf) == 0 {
			break
		}
		sum.Write(*buf)
		if key, err = (keys.BlobChunk{Blob: id, Index: meta.Chunks}).AppendBinary(key[:0]); err != nil {
			return blob{}, err
		}
		batch.Reset()
		batch.Durability = engine.WAL
		batch.Put(column.Blobs, key, *buf)
		begun = true
		if err := b.eng.Apply(batch); err != nil {
			return blob{}, err
		}
		meta.Size += uint64(len(*buf))
		meta.Chunks++
	}
	if err := sameHash(id, sum); err != nil {
		return blob{}, err
	}
	batch.Reset()
	engine.Put(batch, keys.BlobMeta{Blob: id}, meta)
	if err := b.eng.Apply(batch); err != nil {
		return blob{}, err
	}
	done = true
	return blob{id: id, meta: meta}, nil
}

// writable returns an error if the store takes no writes, so that nobody sends
// gigabytes to learn it.
func (b *blobStore) writable() error {
	if h := b.eng.Health(); !h.Writable {
		return readOnly(h.Reason)
	}
	return nil
}

// drain writes content to w.
func (b *blobStore) drain(content io.Reader, w io.Writer) (err error) {
	buf := b.bufs.Get().(*[]byte)
	defer b.giveBack(buf)
	for end := false; !end; {
		if *buf, end, err = fill(content, *buf); err != nil {
			return err
		}
		if _, err := w.Write(*buf); err != nil {
			return err
		}
	}
	return nil
}

// putUnnamed stores content whose id is not known before its end. It waits in
// memory, or if it is longer than a chunk in the spool.
func (b *blobStore) putUnnamed(ctx context.Context, content *measured) (blob, bool, error) {
	buf := b.bufs.Get().(*[]byte)
	defer b.giveBack(buf)
	var end bool
	var err error
	if *buf, end, err = fill(content, *buf); err != nil {
		return blob{}, false, err
	}
	if end {
		id := codec.BlobID(sha256.Sum256(*buf))
		return b.putNamed(ctx, id, bytes.NewReader(*buf))
	}
	if err := b.writable(); err != nil {
		return blob{}, false, err
	}
	file, err := b.spool.create(content.want)
	if err != nil {
		return blob{}, false, err
	}
	defer file.close()
	sum := sha256.New()
	if err := b.drain(io.MultiReader(bytes.NewReader(*buf), content), io.MultiWriter(sum, file)); err != nil {
		return blob{}, false, err
	}
	if err := file.rewind(); err != nil {
		return blob{}, false, err
	}
	stored, existed, err := b.putNamed(ctx, codec.BlobID(sum.Sum(nil)), file)
	if errors.Is(err, rpc.ErrBlobMismatch) {
		err = damagedSpool(err)
	}
	return stored, existed, err
}

// sameHash returns an error with both hashes unless sum is that of id.
func sameHash(id codec.BlobID, sum hash.Hash) error {
	if actual := codec.BlobID(sum.Sum(nil)); actual != id {
		return wrongID(id, actual)
	}
	return nil
}

// fill reads into buf until it has the bytes of a chunk, or until the end of r.
func fill(r io.Reader, buf []byte) (filled []byte, end bool, err error) {
	buf = buf[:0]
	for len(buf) < codec.ChunkSize {
		n, err := r.Read(buf[len(buf):codec.ChunkSize])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			return buf, true, nil
		}
		if err != nil {
			return buf, false, err
		}
	}
	return buf, false, nil
}

// measured is content that fails as soon as it is longer than it may be, and if
// it ends with another length than was declared.
type measured struct {
	from io.Reader
	want *uint64 // nil: none was declared
	max  uint64
	n    uint64
}

// Read is io.Reader's.
func (m *measured) Read(p []byte) (int, error) {
	n, err := m.from.Read(p)
	m.n += uint64(n)
	switch {
	case m.want != nil && (m.n > *m.want || err == io.EOF && m.n < *m.want):
		return n, wrongSize(*m.want, m.n, err == io.EOF)
	case m.n > m.max:
		return n, blobTooLarge(m.n, m.max)
	}
	return n, err
}
