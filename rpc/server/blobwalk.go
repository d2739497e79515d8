package server

import (
	"bytes"
	"context"
	"errors"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// blobSpan is the first key under an id in the Blobs column. It is valid within
// one call.
type blobSpan struct {
	id       codec.BlobID
	manifest []byte // nil: the first key is a chunk, so that the blob is not there
}

// blob returns the blob of a span with a manifest.
func (s *blobSpan) blob() (blob, error) {
	meta, err := codec.BlobMeta{}.Decode(s.manifest)
	if err != nil {
		return blob{}, damagedBlob(s.id, s.id[:], err.Error())
	}
	return checkedBlob(s.id, meta)
}

// walkBlobs visits every id that has keys in r, from start on, until visit
// returns false or an error. It seeks from id to id: reading on from a manifest
// would load the content of the blob, whose chunks come next.
func walkBlobs(ctx context.Context, r engine.Reader, start []byte, visit func(blobSpan) (bool, error)) error {
	for start != nil {
		if err := ctx.Err(); err != nil {
			return err
		}
		span, ok, err := firstSpan(r, start)
		if err != nil || !ok {
			return err
		}
		if more, err := visit(span); err != nil || !more {
			return err
		}
		start = engine.Successor(span.id[:])
	}
	return nil
}

// firstSpan returns the span of the first key from start on, if there is one.
func firstSpan(r engine.Reader, start []byte) (span blobSpan, ok bool, err error) {
	it, err := r.Iterate(column.Blobs, engine.Range{Start: start, Limit: 1})
	if err != nil {
		return span, false, err
	}
	defer it.Close()
	if !it.Next() {
		return span, false, it.Err()
	}
	key := it.Key()
	if _, err := keys.Identify(column.Blobs, key); err != nil {
		return span, false, damagedBlob(codec.BlobID{}, key, err.Error())
	}
	if copy(span.id[:], key); len(key) == len(span.id) {
		span.manifest = append([]byte{}, it.Value()...)
	}
	return span, true, nil
}

// sweep removes the chunks that broken uploads have left, and returns of how
// many blobs it did. Where they are all of the content, only the manifest is missing,
// which may have been lost as well: it is written. It passes over what is being
// uploaded.
func (b *blobStore) sweep(ctx context.Context) (swept int, err error) {
	err = walkBlobs(ctx, b.eng, []byte{}, func(s blobSpan) (bool, error) {
		if s.manifest != nil {
			return true, nil
		}
		if err := b.writable(); err != nil {
			return false, err
		}
		unlock, free := b.locks.tryLock(s.id)
		if !free {
			return true, nil
		}
		defer unlock()
		x, err := b.examine(ctx, b.eng, s.id)
		if err != nil || x.there || len(x.faults) == 0 { // it was uploaded or removed meanwhile
			return err == nil, err
		}
		repaired, err := b.repair(&x)
		switch {
		case err != nil:
			return false, err
		case x.whole && repaired:
			b.log.Warn("a blob had lost its manifest, which is written anew", "blob_id", s.id)
		default:
			swept++
		}
		return true, nil
	})
	return swept, err
}

// hasChunks reports whether chunks lie under an id without a manifest.
func (b *blobStore) hasChunks(id codec.BlobID) (bool, error) {
	span, ok, err := firstSpan(b.eng, id[:])
	return ok && span.manifest == nil && bytes.Equal(span.id[:], id[:]), err
}

// sweepBlobs sweeps once, beside the calls of clients, until the server stops.
func (s *Server) sweepBlobs() {
	ctx, cancel := context.WithCancel(context.Background())
	s.streams.Add(1)
	go func() {
		defer s.streams.Done()
		defer cancel()
		swept, err := s.blobs.sweep(ctx)
		switch {
		case errors.Is(err, context.Canceled):
		case err != nil:
			s.log.Warn("what broken uploads have left is not all removed; the next start tries again", "removed", swept, "error", err)
		case swept > 0:
			s.log.Info("removed what broken uploads have left", "blobs", swept)
		}
	}()
	go func() {
		defer cancel()
		select {
		case <-s.stopping:
		case <-ctx.Done():
		}
	}()
}
