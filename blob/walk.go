package blob

import (
	"bytes"
	"context"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// span is the first key under an id in the Blobs column. It is valid within
// one call.
type span struct {
	id       codec.BlobID
	manifest []byte // nil: the first key is a chunk, so that the blob is not there
}

// info returns the blob of a span with a manifest.
func (s *span) info() (Info, error) {
	meta, err := codec.BlobMeta{}.Decode(s.manifest)
	if err != nil {
		return Info{}, &Corrupt{s.id, s.id[:], err.Error()}
	}
	return info(s.id, meta), checkManifest(s.id, meta)
}

// walk visits every id that has keys in r, from start on, until visit
// returns false or an error. It seeks from id to id: reading on from a manifest
// would load the content of the blob, whose chunks come next.
func walk(ctx context.Context, r engine.Reader, start []byte, visit func(span) (bool, error)) error {
	for start != nil {
		if err := ctx.Err(); err != nil {
			return err
		}
		s, ok, err := firstSpan(r, start)
		if err != nil || !ok {
			return err
		}
		if more, err := visit(s); err != nil || !more {
			return err
		}
		start = engine.Successor(s.id[:])
	}
	return nil
}

// firstSpan returns the span of the first key from start on, if there is one.
func firstSpan(r engine.Reader, start []byte) (s span, ok bool, err error) {
	it, err := r.Iterate(column.Blobs, engine.Range{Start: start, Limit: 1})
	if err != nil {
		return s, false, err
	}
	defer it.Close()
	if !it.Next() {
		return s, false, it.Err()
	}
	key := it.Key()
	if _, err := keys.Identify(column.Blobs, key); err != nil {
		return s, false, &Corrupt{Key: bytes.Clone(key), Reason: err.Error()}
	}
	if copy(s.id[:], key); len(key) == len(s.id) {
		s.manifest = append([]byte{}, it.Value()...)
	}
	return s, true, nil
}

// Sweep removes the chunks that broken uploads have left, and returns of how
// many blobs it did, also if it ends with an error. Where they are all of the content,
// only the manifest is missing, which may have been lost as well: it is written. It
// passes over what is being uploaded, or kept of that. A program that opens a store calls it once; others
// may use the store meanwhile.
func (b *Store) Sweep(ctx context.Context) (swept int, err error) {
	err = walk(ctx, b.eng, []byte{}, func(s span) (bool, error) {
		if s.manifest != nil || b.Kept(s.id) > 0 {
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

// hasChunks reports whether chunks lie under an id, which has no manifest.
func (b *Store) hasChunks(id codec.BlobID) (bool, error) {
	s, ok, err := firstSpan(b.eng, id[:])
	return ok && s.id == id, err
}
