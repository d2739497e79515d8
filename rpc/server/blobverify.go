package server

import (
	"context"

	"google.golang.org/grpc"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Verify is Blob.Verify.
func (t *blobService) Verify(r *stoav1.BlobVerifyRequest, stream grpc.ServerStreamingServer[stoav1.BlobVerifyResponse]) error {
	v := verification{store: t.s.blobs, repair: r.GetRepair()}
	var id codec.BlobID
	if len(r.GetBlobId()) > 0 {
		var err error
		if id, err = blobID("blob_id", r.GetBlobId()); err != nil {
			return err
		}
	}
	return t.s.pacedStream(stream.Context(), &t.s.transfers, func(ctx context.Context, wait *peerWait) error {
		send := func(m *stoav1.BlobVerifyResponse) error {
			return wait.during(func() error { return stream.Send(m) })
		}
		v.tell = func(d *stoav1.BlobDamage) error {
			return send(&stoav1.BlobVerifyResponse{Part: &stoav1.BlobVerifyResponse_Damage{Damage: d}})
		}
		if err := v.run(ctx, id); err != nil {
			return err
		}
		return send(&stoav1.BlobVerifyResponse{Part: &stoav1.BlobVerifyResponse_Summary{Summary: &v.summary}})
	})
}

// verification verifies blobs, one after the other.
type verification struct {
	store   *blobStore
	repair  bool
	tell    func(*stoav1.BlobDamage) error
	summary stoav1.BlobVerifySummary
}

// run verifies one blob, or all of them if id is zeros. It returns an error that is
// engine.ErrNotFound if that one is not there.
func (v *verification) run(ctx context.Context, id codec.BlobID) error {
	if id.IsZero() {
		return walkBlobs(ctx, v.store.eng, []byte{}, func(s blobSpan) (bool, error) { return true, v.blob(ctx, s.id) })
	}
	if err := v.blob(ctx, id); err != nil {
		return err
	}
	if v.summary.Blobs == 0 {
		return noBlob(id)
	}
	return nil
}

// blob verifies one blob.
func (v *verification) blob(ctx context.Context, id codec.BlobID) error {
	x, repaired, err := v.store.check(ctx, id, v.repair)
	if err != nil || !x.there && len(x.faults) == 0 {
		return err
	}
	v.summary.Blobs++
	v.summary.Bytes += x.size
	if len(x.faults) == 0 {
		return nil
	}
	v.summary.Damaged++
	if repaired {
		v.summary.Repaired++
	}
	return v.tell(&stoav1.BlobDamage{BlobId: id[:], Faults: x.faults, More: x.more, Remedy: x.remedy(), Repaired: repaired})
}

// check examines a blob, and repairs it if that is asked for and can be done. What an
// upload has written so far of a blob that is not there yet is no damage.
func (b *blobStore) check(ctx context.Context, id codec.BlobID, repair bool) (x examination, repaired bool, err error) {
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
	if !free && !x.there {
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
func (b *blobStore) repair(x *examination) (bool, error) {
	if x.remedy() == stoav1.BlobRemedy_BLOB_REMEDY_PUT {
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
