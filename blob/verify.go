package blob

import (
	"context"

	"github.com/stoadb/stoa/codec"
)

// VerifyOptions say which blobs are verified. The zero VerifyOptions are all, which are
// only read.
type VerifyOptions struct {
	ID     codec.BlobID // zeros: all of them
	Repair bool         // repair what can be repaired from what is there
}

// Verdict is what a verification of blobs has come to.
type Verdict struct {
	Blobs    uint64 // that were read, those that are damaged included
	Bytes    uint64 // of their content
	Damaged  uint64
	Repaired uint64 // of those that are damaged
}

// Damage says what is damaged of a blob.
type Damage struct {
	ID       codec.BlobID
	Faults   []Fault // the first MaxFaults
	More     uint32  // how many follow these
	Remedy   Remedy
	Repaired bool
}

// Verify reads the content of one blob or of all, each in one state of the store, and
// calls damaged for each that is damaged, in the order of their ids; an error of damaged
// ends it. What is being uploaded is no damage. With Repair a blob is repaired where its
// rows allow that, in one batch. It returns engine.ErrNotFound if the one that was asked
// for is not there, engine.ErrReadOnly if something is to be repaired in a store that
// takes no writes, the error of ctx, or that of a read that failed.
func (b *Store) Verify(ctx context.Context, o VerifyOptions, damaged func(Damage) error) (Verdict, error) {
	v := verification{store: b, repair: o.Repair, damaged: damaged}
	if o.ID.IsZero() {
		err := walk(ctx, b.eng, []byte{}, func(s span) (bool, error) { return true, v.blob(ctx, s.id) })
		return v.verdict, err
	}
	err := v.blob(ctx, o.ID)
	if err == nil && v.verdict.Blobs == 0 {
		err = &NotFound{o.ID}
	}
	return v.verdict, err
}

// verification verifies blobs, one after the other.
type verification struct {
	store   *Store
	repair  bool
	damaged func(Damage) error
	verdict Verdict
}

// blob verifies one blob.
func (v *verification) blob(ctx context.Context, id codec.BlobID) error {
	x, repaired, err := v.store.check(ctx, id, v.repair)
	if err != nil || !x.there && len(x.faults) == 0 {
		return err
	}
	v.verdict.Blobs++
	v.verdict.Bytes += x.size
	if len(x.faults) == 0 {
		return nil
	}
	v.verdict.Damaged++
	if repaired {
		v.verdict.Repaired++
	}
	return v.damaged(Damage{ID: id, Faults: x.faults, More: x.more, Remedy: x.remedy(), Repaired: repaired})
}

// check examines a blob, and repairs it if that is asked for and can be done. What an
// upload has written so far of a blob that is not there yet, or what is kept of one, is no damage.
func (b *Store) check(ctx context.Context, id codec.BlobID, repair bool) (x examination, repaired bool, err error) {
	snap, err := b.eng.Snapshot()
	if err != nil {
		return x, false, err
	}
	x, err = b.examine(ctx, snap, id)
	snap.Close()
	if err != nil || len(x.faults) == 0 {
		return x, false, err
	}
	unlock, free := b.locks.tryLock(id)
	if !x.there && (!free || b.Kept(id) > 0) {
		if free {
			unlock()
		}
		return examination{id: id}, false, nil
	}
	if !free {
		if unlock, err = b.locks.lock(ctx, id); err != nil {
			return x, false, err
		}
	}
	defer unlock()
	// Others may have healed or deleted it meanwhile; from here on nobody does.
	if x, err = b.examine(ctx, b.eng, id); err != nil || len(x.faults) == 0 || !repair {
		return x, false, err
	}
	repaired, err = b.repair(&x)
	return x, repaired, err
}

// repair makes of a damaged blob what its rows allow, and reports whether it is
// good then. The caller holds the lock of the blob.
func (b *Store) repair(x *examination) (bool, error) {
	if x.remedy() == Upload {
		return false, nil
	}
	if err := b.writable(); err != nil {
		return false, err
	}
	var err error
	if x.whole {
		err = b.putManifest(x.id, x.meta)
	} else {
		err = b.discard(x.id)
	}
	return err == nil, err
}
