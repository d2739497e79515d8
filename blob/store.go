package blob

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"sync"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// Store keeps blobs in the Blobs column of an engine: under the id of a blob
// its manifest, and behind it the chunks. The manifest is written last, with a
// sync, and is what makes the blob be there; chunks without one are what a
// broken upload has left. Any number of goroutines may use a Store at once. Nobody
// else, another Store included, may write the column meanwhile.
type Store struct {
	eng   engine.Engine
	log   *slog.Logger
	max   uint64 // bytes of the largest blob
	locks idLocks
	spool spool
	kept  keptUploads
	known proofs
	bufs  sync.Pool // *[]byte, of the capacity of a chunk
}

// Info describes a blob that is there.
type Info struct {
	ID     codec.BlobID
	Size   uint64 // bytes of the content
	Chunks uint32 // rows that the content takes
	// Healed is what Put has made good of it.
	Healed Healing
}

func info(id codec.BlobID, meta codec.BlobMeta) Info {
	return Info{ID: id, Size: meta.Size, Chunks: meta.Chunks}
}

// Open returns the store of the blobs in eng, which must outlive it. It makes the
// directory of the spool, and removes what an earlier process left there. It returns
// ErrOptions, or what keeps the spool from being made. Call [Store.Sweep] next, or beside
// what follows.
func Open(eng engine.Engine, o Options) (*Store, error) {
	o = o.withDefaults()
	b := &Store{eng: eng, log: o.Logger, max: o.maxSize}
	b.bufs.New = func() any {
		buf := make([]byte, 0, codec.ChunkSize)
		return &buf
	}
	b.spool = spool{dir: o.SpoolDir, keep: o.MinFreeBytes, freeBytes: o.freeBytes}
	if err := b.spool.prepare(); err != nil {
		return nil, errors.Join(err, b.spool.close())
	}
	return b, nil
}

// Close gives the spool free. The engine stays the caller's to close. Nothing of the
// store may be under way, and nothing is called after it.
func (b *Store) Close() error { return b.spool.close() }

// borrow returns memory of the capacity of a chunk.
func (b *Store) borrow() *[]byte { return b.bufs.Get().(*[]byte) }

// giveBack returns the memory of a chunk to those who need it next.
func (b *Store) giveBack(buf *[]byte) {
	if cap(*buf) == codec.ChunkSize {
		b.bufs.Put(buf)
	}
}

// Stat describes a blob by its manifest; its content is not read. It returns
// engine.ErrNotFound, or engine.ErrCorrupt if the manifest cannot be that of the blob.
func (b *Store) Stat(id codec.BlobID) (Info, error) {
	meta, err := stat(b.eng, id)
	if err != nil {
		return Info{}, err
	}
	return info(id, meta), nil
}

// stat returns the manifest of a blob in r, or an error that is engine.ErrNotFound or
// engine.ErrCorrupt.
func stat(r engine.Getter, id codec.BlobID) (codec.BlobMeta, error) {
	meta, err := engine.Get(r, keys.BlobMeta{Blob: id})
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return meta, &NotFound{id}
	case errors.Is(err, engine.ErrCorrupt):
		return meta, &Corrupt{id, id[:], err.Error()}
	case err != nil:
		return meta, err
	}
	return meta, checkManifest(id, meta)
}

// discard removes the chunks of a blob that is not there. The caller holds the
// lock of id.
func (b *Store) discard(id codec.BlobID) error {
	batch := engine.Batch{Durability: engine.WAL}
	engine.ExpectAbsent(&batch, keys.BlobMeta{Blob: id})
	start, end := chunksFrom(id, 0)
	batch.DeleteRange(column.Blobs, start, end)
	if err := b.eng.Apply(&batch); err != nil && !errors.Is(err, engine.ErrConflict) {
		return err
	}
	return nil
}

// Delete removes a blob, also a damaged one. Unless force is set, one that an
// application names is not removed: ErrInUse. It returns engine.ErrNotFound if it is not
// there, and waits for an upload of it that is under way. Applications that are written
// at this very moment may be missed: nothing keeps them from naming a blob that is not
// there. Who reads it already reads it to the end.
func (b *Store) Delete(ctx context.Context, id codec.BlobID, force bool) error {
	unlock, err := b.locks.lock(ctx, id)
	if err != nil {
		return err
	}
	defer unlock()
	switch there, err := engine.Has(b.eng, keys.BlobMeta{Blob: id}); {
	case err != nil:
		return err
	case !there:
		return &NotFound{id}
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
func (b *Store) unused(ctx context.Context, id codec.BlobID) error {
	for e, err := range engine.Scan[keys.ApplicationMeta](b.eng, keys.Prefix[keys.ApplicationMeta]{}) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		for named := range Named(&e.Value) {
			if named == id {
				return &InUse{id, e.Key.App}
			}
		}
	}
	return nil
}

// All yields the blobs whose ids are start or later, in the order of their ids and in
// one state of the store; start is an id or what ids begin with, empty: the first. It
// ends after an error, which is engine.ErrCorrupt for a damaged manifest. It reads no
// content.
func (b *Store) All(ctx context.Context, start []byte) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		snap, err := b.eng.Snapshot()
		if err != nil {
			yield(Info{}, err)
			return
		}
		defer snap.Close()
		stopped := false
		err = walk(ctx, snap, append([]byte{}, start...), func(s span) (bool, error) {
			if s.manifest == nil {
				return true, nil
			}
			found, err := s.info()
			if err != nil {
				return false, err
			}
			stopped = !yield(found, nil)
			return !stopped, nil
		})
		if err != nil && !stopped {
			yield(Info{}, err)
		}
	}
}
