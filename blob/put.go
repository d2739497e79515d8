package blob

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
)

// PutOptions say what is known of a blob before its content. In the zero PutOptions
// nothing is.
type PutOptions struct {
	// ID is the SHA-256 of the content; zeros: not known. Content with a known id is
	// written once; other content of more than 1 MiB waits in the spool first.
	ID codec.BlobID
	// Size is the length of the content in bytes, from its first on; nil: not known.
	Size *uint64
	// Keep is set for content that others send, who may break off: what has come stays where reading
	// it fails, for a Put that goes on, as long as the Store is open, of up to 16 blobs. It leaves
	// twice as much of the disk free. It takes an ID, and a Size.
	Keep bool
	// From is how many bytes were kept, as [Store.Kept] has it: content begins behind them.
	From uint64
}

// Put stores what it reads from content, to its end, as a blob. If it is there
// already, existed is true, what comes has been checked all the same, and what of it
// was not stored so is written anew, which stored.Healed says. If Put fails, nothing
// stays of a blob that was not there, and nothing becomes worse of one that was.
//
// It returns ErrMismatch if the content is not what o declares, engine.ErrTooLarge
// (for a declared size before anything is read), engine.ErrReadOnly likewise,
// engine.ErrNoSpace, engine.ErrUnsupported if it would have to wait in a spool and there
// is none, engine.ErrConflict where other than o.From is kept, what reading content returned, or the
// error of ctx. While it writes it holds the lock of the blob: others who put or delete that
// one wait, or until their ctx is done.
func (b *Store) Put(ctx context.Context, content io.Reader, o PutOptions) (stored Info, existed bool, err error) {
	if o.Size != nil && *o.Size > b.max {
		return Info{}, false, &TooLarge{*o.Size, b.max}
	}
	counted := &measured{from: content, want: o.Size, max: b.max, n: o.From}
	if o.ID.IsZero() {
		return b.putUnnamed(ctx, counted)
	}
	return b.putNamed(ctx, counted, o)
}

// putNamed stores content, which should be that of o.ID, straight under it.
func (b *Store) putNamed(ctx context.Context, content io.Reader, o PutOptions) (Info, bool, error) {
	id := o.ID
	unlock, err := b.locks.lock(ctx, id)
	if err != nil {
		return Info{}, false, err
	}
	there, err := stat(b.eng, id)
	if errors.Is(err, engine.ErrNotFound) {
		defer unlock()
		if o.Keep && o.Size != nil && *o.Size > o.From {
			if err := b.spool.spares(*o.Size - o.From); err != nil {
				return Info{}, false, err
			}
		}
		written, err := b.write(ctx, content, o)
		return written, false, err
	}
	if o.From > 0 && err == nil { // somebody else has put it meanwhile
		unlock()
		return info(id, there), true, nil
	}
	if err != nil && !errors.Is(err, engine.ErrCorrupt) {
		unlock()
		return Info{}, false, err
	}
	snap, err := b.eng.Snapshot()
	unlock() // nothing is written before all has come: others need not wait
	if err != nil {
		return Info{}, false, err
	}
	defer snap.Close()
	found, err := b.heal(ctx, id, snap, content)
	return found, err == nil, err
}

// write stores content under o.ID: chunk by chunk as it comes, and the manifest
// once it is complete and has the hash. The caller holds the lock of the id.
func (b *Store) write(ctx context.Context, content io.Reader, o PutOptions) (written Info, err error) {
	if err := b.writable(); err != nil {
		return Info{}, err
	}
	id := o.ID
	sum, meta := sha256.New(), codec.BlobMeta{Hash: codec.Hash(id)}
	begun, broken, done := false, false, false
	defer func() {
		switch {
		case !begun || done:
		case broken && o.Keep && b.kept.add(id, meta.Chunks):
		default:
			if failed := b.discard(id); failed != nil {
				b.log.Warn("the chunks of a broken upload stay until the next start", "blob_id", id, "error", failed)
			}
		}
	}()
	if begun, err = b.begin(ctx, o, sum, &meta); err != nil {
		return Info{}, err
	}
	buf := b.borrow()
	defer b.giveBack(buf)
	batch, key := new(engine.Batch), make([]byte, 0, len(id)+4)
	for end := false; !end; {
		if *buf, end, err = fill(content, *buf); err != nil {
			broken = !errors.Is(err, ErrMismatch) && !errors.Is(err, engine.ErrTooLarge)
			return Info{}, err
		}
		if err := ctx.Err(); err != nil {
			broken = true
			return Info{}, err
		}
		if len(*buf) == 0 {
			break
		}
		sum.Write(*buf)
		if key, err = (keys.BlobChunk{Blob: id, Index: meta.Chunks}).AppendBinary(key[:0]); err != nil {
			return Info{}, err
		}
		batch.Reset()
		batch.Durability = engine.WAL
		batch.Put(column.Blobs, key, *buf)
		begun = true
		if err := b.eng.Apply(batch); err != nil {
			return Info{}, err
		}
		meta.Size += uint64(len(*buf))
		meta.Chunks++
	}
	if err := sameHash(id, sum); err != nil {
		return Info{}, err
	}
	batch.Reset()
	engine.Put(batch, keys.BlobMeta{Blob: id}, meta)
	if err := b.eng.Apply(batch); err != nil {
		return Info{}, err
	}
	done = true
	return info(id, meta), nil
}

// writable returns an error if the store takes no writes, so that nobody sends
// gigabytes to learn it.
func (b *Store) writable() error {
	if h := b.eng.Health(); !h.Writable {
		return readOnly(h.Reason)
	}
	return nil
}

// drain writes content to w.
func (b *Store) drain(content io.Reader, w io.Writer) (err error) {
	buf := b.borrow()
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
func (b *Store) putUnnamed(ctx context.Context, content *measured) (Info, bool, error) {
	buf := b.borrow()
	defer b.giveBack(buf)
	var end bool
	var err error
	if *buf, end, err = fill(content, *buf); err != nil {
		return Info{}, false, err
	}
	if end {
		id := codec.BlobID(sha256.Sum256(*buf))
		return b.putNamed(ctx, bytes.NewReader(*buf), PutOptions{ID: id})
	}
	if err := b.writable(); err != nil {
		return Info{}, false, err
	}
	file, err := b.spool.create(content.want)
	if err != nil {
		return Info{}, false, err
	}
	defer file.close()
	sum := sha256.New()
	if err := b.drain(io.MultiReader(bytes.NewReader(*buf), content), io.MultiWriter(sum, file)); err != nil {
		return Info{}, false, err
	}
	if err := file.rewind(); err != nil {
		return Info{}, false, err
	}
	stored, existed, err := b.putNamed(ctx, file, PutOptions{ID: codec.BlobID(sum.Sum(nil))})
	if errors.Is(err, ErrMismatch) {
		err = damagedSpool(err)
	}
	return stored, existed, err
}

// sameHash returns an error with both hashes unless sum is that of id.
func sameHash(id codec.BlobID, sum hash.Hash) error {
	if actual := codec.BlobID(sum.Sum(nil)); actual != id {
		return &WrongID{id, actual}
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

// Read reads content on, and fails with [WrongSize] or [TooLarge].
func (m *measured) Read(p []byte) (int, error) {
	n, err := m.from.Read(p)
	m.n += uint64(n)
	switch {
	case m.want != nil && (m.n > *m.want || err == io.EOF && m.n < *m.want):
		return n, &WrongSize{*m.want, m.n, err == io.EOF}
	case m.n > m.max:
		return n, &TooLarge{m.n, m.max}
	}
	return n, err
}
