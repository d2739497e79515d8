package blob

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// ToTheEnd is the length of a [Store.Read] that ends where the blob does.
const ToTheEnd = math.MaxUint64

// Reader reads a blob, or a part of it, in the state that the store had when it was
// opened: a deletion meanwhile does not touch it. It holds a snapshot and the memory of
// a chunk until it is closed, and belongs to one goroutine. It is an [io.ReadCloser].
type Reader struct {
	id      codec.BlobID
	meta    codec.BlobMeta
	store   *Store
	snap    engine.Snapshot
	at, end uint64    // bytes of the content that are left
	sum     hash.Hash // nil: only a part is read
	buf     *[]byte   // a chunk; nil: closed
	rest    []byte    // what is wanted of it
	key     []byte
}

// Read opens a blob from the byte offset on, for at most length bytes; [ToTheEnd]: all of
// them. The Reader must be closed. It returns engine.ErrNotFound, engine.ErrCorrupt for a
// damaged manifest, or ErrOffset for an offset beyond the end; the end itself is none.
func (b *Store) Read(id codec.BlobID, offset, length uint64) (*Reader, error) {
	snap, err := b.eng.Snapshot()
	if err != nil {
		return nil, err
	}
	d := &Reader{id: id, store: b, snap: snap, at: offset, key: make([]byte, 0, len(id)+4)}
	if d.meta, err = stat(snap, id); err == nil && offset > d.meta.Size {
		err = fmt.Errorf("%w: offset %d, and it has %d bytes", ErrOffset, offset, d.meta.Size)
	}
	if err != nil {
		snap.Close()
		return nil, err
	}
	d.end = d.meta.Size
	if length < d.end-d.at {
		d.end = d.at + length
	}
	if d.at == 0 && d.end == d.meta.Size {
		d.sum = sha256.New()
	}
	d.buf = b.borrow()
	return d, nil
}

// Info describes the blob.
func (d *Reader) Info() Info { return info(d.id, d.meta) }

// Close gives back what the Reader holds. Closing again does nothing.
func (d *Reader) Close() error {
	if d.buf == nil {
		return nil
	}
	d.store.giveBack(d.buf)
	d.buf, d.rest = nil, nil
	return d.snap.Close()
}

// Read is io.Reader's, with the errors of [Reader.Next].
func (d *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	piece, err := d.Next(len(p))
	return copy(p, piece), err
}

// Next returns the next bytes of the content, 1 to most of them, and io.EOF at the end.
// They are valid until the call after. It returns engine.ErrCorrupt if a chunk is
// missing or has another length; and in place of io.EOF, for a whole blob, if its content
// does not have the hash: what was read is good only once the end has come.
func (d *Reader) Next(most int) ([]byte, error) {
	if d.at == d.end {
		if d.sum == nil {
			return nil, io.EOF
		}
		if actual := codec.BlobID(d.sum.Sum(nil)); actual != d.id {
			return nil, &Corrupt{d.id, d.id[:], otherHash(actual)}
		}
		return nil, io.EOF
	}
	if len(d.rest) == 0 {
		if err := d.load(uint32(d.at / codec.ChunkSize)); err != nil {
			return nil, err
		}
	}
	piece := d.rest[:min(len(d.rest), most)]
	d.rest = d.rest[len(piece):]
	d.at += uint64(len(piece))
	if d.sum != nil {
		d.sum.Write(piece)
	}
	return piece, nil
}

// load reads a chunk, which has to have the length that its place demands.
func (d *Reader) load(index uint32) (err error) {
	if d.key, err = (keys.BlobChunk{Blob: d.id, Index: index}).AppendBinary(d.key[:0]); err != nil {
		return err
	}
	*d.buf, err = d.snap.Get((*d.buf)[:0], column.Blobs, d.key)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return err
	}
	if reason := chunkFault(d.meta, index, len(*d.buf), err); reason != "" {
		return &Corrupt{d.id, bytes.Clone(d.key), reason}
	}
	begin := uint64(index) * codec.ChunkSize
	d.rest = (*d.buf)[d.at-begin : min(d.end-begin, uint64(len(*d.buf)))]
	return nil
}
