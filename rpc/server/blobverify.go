package server

import (
	"context"

	"google.golang.org/grpc"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Verify sends what is damaged of one blob or of all, and a summary, by
// [blob.Store.Verify].
func (t *blobService) Verify(r *stoav1.BlobVerifyRequest, stream grpc.ServerStreamingServer[stoav1.BlobVerifyResponse]) error {
	o := blob.VerifyOptions{Repair: r.GetRepair()}
	if len(r.GetBlobId()) > 0 {
		var err error
		if o.ID, err = blobID("blob_id", r.GetBlobId()); err != nil {
			return err
		}
	}
	return t.s.pacedStream(stream.Context(), &t.s.transfers, func(ctx context.Context, wait *peerWait) error {
		send := func(m *stoav1.BlobVerifyResponse) error {
			return wait.During(func() error { return stream.Send(m) })
		}
		v, err := t.s.blobs.Verify(ctx, o, func(d blob.Damage) error {
			return send(&stoav1.BlobVerifyResponse{Part: &stoav1.BlobVerifyResponse_Damage{Damage: blobDamage(&d)}})
		})
		if err != nil {
			return err
		}
		summary := &stoav1.BlobVerifySummary{Blobs: v.Blobs, Bytes: v.Bytes, Damaged: v.Damaged, Repaired: v.Repaired}
		return send(&stoav1.BlobVerifyResponse{Part: &stoav1.BlobVerifyResponse_Summary{Summary: summary}})
	})
}

// blobDamage returns d as it goes over the wire.
func blobDamage(d *blob.Damage) *stoav1.BlobDamage {
	m := &stoav1.BlobDamage{BlobId: d.ID[:], More: d.More, Remedy: remedies[d.Remedy], Repaired: d.Repaired}
	for _, f := range d.Faults {
		m.Faults = append(m.Faults, &stoav1.BlobFault{Code: f.Code, Key: f.Key, Reason: f.Reason})
	}
	return m
}

// remedies are the numbers of remedies on the wire.
var remedies = map[blob.Remedy]stoav1.BlobRemedy{
	blob.Repair: stoav1.BlobRemedy_BLOB_REMEDY_REPAIR,
	blob.Remove: stoav1.BlobRemedy_BLOB_REMEDY_REMOVE,
	blob.Upload: stoav1.BlobRemedy_BLOB_REMEDY_PUT,
}
