package server

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/rpc"
)

// download is a blob on its way out, in the state that the store had when it was
// opened. It belongs to one goroutine.
type download struct {
	blob
	store   *blobStore
	snap    engine.Snapshot
	at, end uint64    // bytes of the content that are left
	sum     hash.Hash // nil: only a part is read
	buf     *[]byte   // a chunk
	rest    []byte    // what is wanted of it
	key     []byte
}

// open opens a blob from the byte offset on, for at most length bytes; nil: to
// the end. The download must be closed.
func (b *blobStore) open(id codec.BlobID, offset uint64, length *uint64) (*download, error) {
	snap, err := b.eng.Snapshot()
	if err != nil {
		return nil, err
	}
	d := &download{store: b, snap: snap, at: offset, key: make([]byte, 0, len(id)+4)}
	if d.blob, err = b.stat(snap, id); err == nil && offset > d.meta.Size {
		err = badField("offset", fmt.Sprintf("%d is beyond the %d bytes of the blob", offset, d.meta.Size))
	}
	if err != nil {
		snap.Close()
		return nil, err
	}
	d.end = d.meta.Size
	if length != nil && *length < d.end-d.at {
		d.end = d.at + *length
	}
	if d.at == 0 && d.end == d.meta.Size {
		d.sum = sha256.New()
	}
	d.buf = b.bufs.Get().(*[]byte)
	return d, nil
}

func (d *download) close() {
	d.snap.Close()
	d.store.giveBack(d.buf)
}

// next returns the next bytes of the content, which are valid until the call
// after, and io.EOF at the end. A whole blob ends with an error, which is
// engine.ErrCorrupt, if its content does not have the hash.
func (d *download) next() ([]byte, error) {
	if d.at == d.end {
		if d.sum == nil {
			return nil, io.EOF
		}
		if actual := codec.BlobID(d.sum.Sum(nil)); actual != d.id {
			return nil, damagedBlob(d.id, d.id[:], "the content has the hash "+actual.String())
		}
		return nil, io.EOF
	}
	if len(d.rest) == 0 {
		if err := d.load(uint32(d.at / codec.ChunkSize)); err != nil {
			return nil, err
		}
	}
	piece := d.rest[:min(len(d.rest), rpc.BlobPiece)]
	d.rest = d.rest[len(piece):]
	d.at += uint64(len(piece))
	if d.sum != nil {
		d.sum.Write(piece)
	}
	return piece, nil
}

// load reads a chunk, which has to have the length that its place demands.
func (d *download) load(index uint32) (err error) {
	if d.key, err = (keys.BlobChunk{Blob: d.id, Index: index}).AppendBinary(d.key[:0]); err != nil {
		return err
	}
	*d.buf, err = d.snap.Get((*d.buf)[:0], column.Blobs, d.key)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return err
	}
	if reason := chunkFault(d.meta, index, len(*d.buf), err); reason != "" {
		return damagedBlob(d.id, d.key, reason)
	}
	begin := uint64(index) * codec.ChunkSize
	d.rest = (*d.buf)[d.at-begin : min(d.end-begin, uint64(len(*d.buf)))]
	return nil
}
