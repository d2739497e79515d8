package server

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/rpc"
)

// blobStore keeps blobs in the Blobs column of an engine: under the id of a blob
// its manifest, and behind it the chunks. The manifest is written last, with a
// sync, and is what makes the blob be there; chunks without one are what a
// broken upload has left. Any number of goroutines may use a blobStore at once.
type blobStore struct {
	eng   engine.Engine
	log   *slog.Logger
	max   uint64 // bytes of the largest blob
	locks idLocks
	spool spool
	bufs  sync.Pool // *[]byte, of the capacity of a chunk
}

// blob is a blob that is there.
type blob struct {
	id     codec.BlobID
	meta   codec.BlobMeta
	healed healing // by the upload that returned it
}

func newBlobStore(eng engine.Engine, o BlobOptions, log *slog.Logger) (*blobStore, error) {
	b := &blobStore{eng: eng, log: log, max: o.maxSize}
	b.bufs.New = func() any {
		buf := make([]byte, 0, codec.ChunkSize)
		return &buf
	}
	b.spool = spool{dir: o.SpoolDir, keep: o.MinFreeBytes, freeBytes: o.freeBytes}
	if err := b.spool.prepare(); err != nil {
		return nil, err
	}
	return b, nil
}

// giveBack returns the memory of a chunk to those who need it next.
func (b *blobStore) giveBack(buf *[]byte) {
	if cap(*buf) == codec.ChunkSize {
		b.bufs.Put(buf)
	}
}

// stat returns the blob of that id, or an error that is engine.ErrNotFound or
// engine.ErrCorrupt.
func (b *blobStore) stat(r engine.Getter, id codec.BlobID) (blob, error) {
	meta, err := engine.Get(r, keys.BlobMeta{Blob: id})
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return blob{}, noBlob(id)
	case errors.Is(err, engine.ErrCorrupt):
		return blob{}, damagedBlob(id, id[:], err.Error())
	case err != nil:
		return blob{}, err
	}
	return checkedBlob(id, meta)
}

// checkedBlob returns an error unless meta can be the manifest of the blob.
func checkedBlob(id codec.BlobID, meta codec.BlobMeta) (blob, error) {
	switch {
	case meta.Hash != codec.Hash(id):
		return blob{}, damagedBlob(id, id[:], "the manifest names another hash, "+meta.Hash.String())
	case meta.Size > rpc.MaxBlob || meta.Chunks != chunksOf(meta.Size):
		return blob{}, damagedBlob(id, id[:], fmt.Sprintf("the manifest has %d bytes in %d chunks", meta.Size, meta.Chunks))
	}
	return blob{id: id, meta: meta}, nil
}

// chunksOf returns how many chunks that many bytes take.
func chunksOf(size uint64) uint32 {
	return uint32((size + codec.ChunkSize - 1) / codec.ChunkSize)
}

// chunksFrom returns the keys that the chunks of a blob lie between, from that index on.
func chunksFrom(id codec.BlobID, index uint32) (start, end []byte) {
	start = binary.BigEndian.AppendUint32(id[:len(id):len(id)], index)
	return start, append(id[:len(id):len(id)], 0xFF, 0xFF, 0xFF, 0xFF, 0)
}

// discard removes the chunks of a blob that is not there. The caller holds the
// lock of id.
func (b *blobStore) discard(id codec.BlobID) error {
	batch := engine.Batch{Durability: engine.WAL}
	engine.ExpectAbsent(&batch, keys.BlobMeta{Blob: id})
	start, end := chunksFrom(id, 0)
	batch.DeleteRange(column.Blobs, start, end)
	if err := b.eng.Apply(&batch); err != nil && !errors.Is(err, engine.ErrConflict) {
		return err
	}
	return nil
}

// delete removes a blob. Unless force is set, one that an application names is
// not removed. Applications that are written at this very moment may be missed:
// nothing keeps them from naming a blob that is not there.
func (b *blobStore) delete(ctx context.Context, id codec.BlobID, force bool) error {
	unlock, err := b.locks.lock(ctx, id)
	if err != nil {
		return err
	}
	defer unlock()
	switch there, err := engine.Has(b.eng, keys.BlobMeta{Blob: id}); {
	case err != nil:
		return err
	case !there:
		return noBlob(id)
	}
	if !force {
		if err := b.unused(ctx, id); err != nil {
			return err
		}
	}
	var batch engine.Batch
	engine.Delete(&batch, keys.BlobMeta{Blob: id})
	start, end := chunksFrom(id, 0)
	batch.DeleteRange(column.Blobs, start, end)
	return b.eng.Apply(&batch)
}

// unused returns an error that names the first application that names the blob.
func (b *blobStore) unused(ctx context.Context, id codec.BlobID) error {
	for e, err := range engine.Scan[keys.ApplicationMeta](b.eng, keys.Prefix[keys.ApplicationMeta]{}) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if names(&e.Value, id) {
			return blobInUse(id, e.Key.App)
		}
	}
	return nil
}

func names(a *codec.ApplicationMeta, id codec.BlobID) bool {
	if a.Bytecode == id || a.Compiled == id {
		return true
	}
	for i := range a.Services {
		if a.Services[i].Bytecode == id || a.Services[i].Compiled == id {
			return true
		}
	}
	return false
}

// list returns up to limit blobs after the id after, or from the first if it is
// empty, and whether others follow.
func (b *blobStore) list(ctx context.Context, after []byte, limit int) (page []blob, more bool, err error) {
	start := []byte{}
	if len(after) > 0 {
		if start = engine.Successor(after); start == nil {
			return nil, false, nil
		}
	}
	snap, err := b.eng.Snapshot()
	if err != nil {
		return nil, false, err
	}
	defer snap.Close()
	err = walkBlobs(ctx, snap, start, func(s blobSpan) (bool, error) {
		if s.manifest == nil {
			return true, nil
		}
		if more = len(page) == limit; more {
			return false, nil
		}
		found, err := s.blob()
		page = append(page, found)
		return true, err
	})
	return page, more, err
}

// maxList is the most blobs of a page of a list.
const maxList = 1000

// listLimit returns the limit that a request means.
func listLimit(asked uint32) int {
	if asked == 0 {
		return maxList
	}
	return int(min(asked, maxList))
}
