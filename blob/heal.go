package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// Healing says what an upload has made good of a blob that was there, damaged. In
// the zero Healing nothing was.
type Healing struct {
	Chunks   uint32 // how many were missing or wrong
	Manifest bool   // it was wrong
	Surplus  bool   // there were chunks beyond the last one
}

// comparison is an upload of a blob that is there. Chunks that are stored as they
// come are forgotten; the others are kept until all of the content has come and is
// known to be right, since until then it may be the upload that is wrong.
type comparison struct {
	store *Store
	id    codec.BlobID
	meta  codec.BlobMeta // of what has come
	sum   hash.Hash
	old   *[]byte // a chunk that is stored
	key   []byte

	differ uint32 // chunks that do
	kept   []keptChunk
	first  *[]byte    // the content of the first of them
	rest   *spoolFile // of the others; nil: there are none
	unkept error      // why one could not be kept; the others are of no use then
}

// keptChunk is a chunk that differs from the one that is stored.
type keptChunk struct {
	index uint32
	size  int
	sum   [sha256.Size]byte
}

// heal checks content, which should be that of a blob that is there in from, and
// writes what is damaged of it anew. Each write makes the blob better by itself, so that
// it does not matter after which of them the process ends.
func (b *Store) heal(ctx context.Context, id codec.BlobID, from engine.Reader, content io.Reader) (Info, error) {
	c := &comparison{store: b, id: id, meta: codec.BlobMeta{Hash: codec.Hash(id)}, sum: sha256.New(), old: b.borrow()}
	defer c.close()
	if err := c.read(ctx, from, content); err != nil {
		return Info{}, err
	}
	if err := sameHash(id, c.sum); err != nil {
		return Info{}, err
	}
	found := info(id, c.meta)
	wrong, err := c.wrong(from)
	if err != nil || wrong == (Healing{}) {
		return found, err
	}
	if c.unkept != nil {
		return Info{}, c.unkept
	}
	if err := b.writable(); err != nil {
		return Info{}, err
	}
	unlock, err := b.locks.lock(ctx, id)
	if err != nil {
		return Info{}, err
	}
	defer unlock()
	switch _, err := stat(b.eng, id); {
	case errors.Is(err, engine.ErrNotFound):
		return found, nil // it was deleted after this upload of it, so to speak
	case err != nil && !errors.Is(err, engine.ErrCorrupt):
		return Info{}, err
	}
	found.Healed, err = c.write()
	return found, err
}

// close gives back what the comparison has taken.
func (c *comparison) close() {
	c.store.giveBack(c.old)
	if c.first != nil {
		c.store.giveBack(c.first)
	}
	if c.rest != nil {
		c.rest.close()
	}
}

// read reads the content, and keeps the chunks that differ from those in from.
func (c *comparison) read(ctx context.Context, from engine.Reader, content io.Reader) (err error) {
	buf := c.store.borrow()
	defer func() { c.store.giveBack(buf) }()
	for end := false; !end; {
		if *buf, end, err = fill(content, *buf); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(*buf) == 0 {
			return nil
		}
		c.sum.Write(*buf)
		c.meta.Size += uint64(len(*buf))
		index := c.meta.Chunks
		c.meta.Chunks++
		same, err := c.isStored(from, index, *buf)
		if err != nil {
			return err
		}
		if same {
			continue
		}
		if c.differ++; c.unkept == nil {
			buf, c.unkept = c.keep(index, buf)
		}
	}
	return nil
}

// isStored reports whether a chunk is stored in r as it is.
func (c *comparison) isStored(r engine.Getter, index uint32, chunk []byte) (same bool, err error) {
	if c.key, err = (keys.BlobChunk{Blob: c.id, Index: index}).AppendBinary(c.key[:0]); err != nil {
		return false, err
	}
	*c.old, err = r.Get((*c.old)[:0], column.Blobs, c.key)
	if errors.Is(err, engine.ErrNotFound) || errors.Is(err, engine.ErrCorrupt) {
		return false, nil
	}
	return bytes.Equal(*c.old, chunk), err
}

// keep keeps the content of a chunk, and returns what the next may be read into.
func (c *comparison) keep(index uint32, chunk *[]byte) (next *[]byte, err error) {
	c.kept = append(c.kept, keptChunk{index, len(*chunk), sha256.Sum256(*chunk)})
	if c.first == nil {
		c.first = chunk
		return c.store.borrow(), nil
	}
	if c.rest == nil {
		if c.store.spool.dir == "" {
			return chunk, unhealed(c.id)
		}
		if c.rest, err = c.store.spool.create(nil); err != nil {
			return chunk, err
		}
	}
	_, err = c.rest.Write(*chunk)
	return chunk, err
}

// wrong returns what of the blob differs in r from what has come.
func (c *comparison) wrong(r engine.Reader) (Healing, error) {
	manifest, err := stat(r, c.id)
	if err != nil && !errors.Is(err, engine.ErrCorrupt) {
		return Healing{}, err
	}
	w := Healing{Chunks: c.differ, Manifest: err != nil || manifest != c.meta}
	w.Surplus, err = chunkFrom(r, c.id, c.meta.Chunks)
	if errors.Is(err, engine.ErrCorrupt) { // beyond the content, which is what counts
		err = nil
	}
	return w, err
}

// write writes what was kept, but for what another upload has written meanwhile. The
// caller holds the lock of the blob.
func (c *comparison) write() (Healing, error) {
	c.differ = 0
	if c.rest != nil {
		if err := c.rest.rewind(); err != nil {
			return Healing{}, err
		}
	}
	batch := new(engine.Batch)
	for i := range c.kept {
		chunk, err := c.content(i)
		if err != nil {
			return Healing{}, err
		}
		same, err := c.isStored(c.store.eng, c.kept[i].index, chunk)
		if err != nil {
			return Healing{}, err
		}
		if same {
			continue
		}
		c.differ++
		batch.Reset()
		batch.Durability = engine.WAL
		batch.Put(column.Blobs, c.key, chunk)
		if err := c.store.eng.Apply(batch); err != nil {
			return Healing{}, err
		}
	}
	wrong, err := c.wrong(c.store.eng)
	if err == nil && wrong != (Healing{}) {
		err = c.store.putManifest(c.id, c.meta)
	}
	return wrong, err
}

// content returns the content of a kept chunk, which is asked for in turn.
func (c *comparison) content(i int) ([]byte, error) {
	if i == 0 {
		return *c.first, nil
	}
	k := c.kept[i]
	chunk := (*c.first)[:k.size] // the first is written by then
	if _, err := io.ReadFull(c.rest, chunk); err != nil {
		return nil, damagedSpool(err)
	}
	if sha256.Sum256(chunk) != k.sum {
		return nil, damagedSpool(fmt.Errorf("chunk %d of blob %s", k.index, c.id))
	}
	return chunk, nil
}

// putManifest writes the manifest of a blob whose chunks are there, and removes those
// beyond. The caller holds the lock of the blob.
func (b *Store) putManifest(id codec.BlobID, meta codec.BlobMeta) error {
	var batch engine.Batch
	engine.Put(&batch, keys.BlobMeta{Blob: id}, meta)
	start, end := chunksFrom(id, meta.Chunks)
	batch.DeleteRange(column.Blobs, start, end)
	return b.eng.Apply(&batch)
}

// chunkFrom reports whether there is a chunk of a blob with that index or a later one.
func chunkFrom(r engine.Reader, id codec.BlobID, index uint32) (bool, error) {
	start, end := chunksFrom(id, index)
	it, err := r.Iterate(column.Blobs, engine.Range{Start: start, End: end, Limit: 1})
	if err != nil {
		return false, err
	}
	defer it.Close()
	return it.Next(), it.Err()
}
