package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// BlobVerify reads one blob or all of them, and calls damaged for each that is
// damaged, in the order of their ids; an error of damaged ends it. It returns
// engine.ErrNotFound if the one that was asked for is not there,
// engine.ErrReadOnly if something is to be repaired in a store that takes no writes,
// and engine.ErrUnsupported if the daemon is too old to have it. It takes as long as
// it takes, unless ctx ends.
func (c *Client) BlobVerify(ctx context.Context, o blob.VerifyOptions, damaged func(blob.Damage) error) (blob.Verdict, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ask := &stoav1.BlobVerifyRequest{Repair: o.Repair}
	if !o.ID.IsZero() {
		ask.BlobId = o.ID[:]
	}
	stream, err := stoav1.NewBlobClient(c.carrier).Verify(ctx, ask)
	if err != nil {
		return blob.Verdict{}, c.failed("blob verify", err)
	}
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return blob.Verdict{}, fmt.Errorf("rpc: blob verify: %w: the daemon sent no summary", ErrInternal)
		}
		if err != nil {
			return blob.Verdict{}, c.failed("blob verify", err)
		}
		if s := m.GetSummary(); s != nil {
			return blob.Verdict{Blobs: s.GetBlobs(), Bytes: s.GetBytes(), Damaged: s.GetDamaged(), Repaired: s.GetRepaired()}, nil
		}
		d, err := damageOf(m.GetDamage())
		if err == nil {
			err = damaged(d)
		}
		if err != nil {
			return blob.Verdict{}, err
		}
	}
}

func damageOf(m *stoav1.BlobDamage) (blob.Damage, error) {
	if len(m.GetBlobId()) != len(codec.BlobID{}) {
		return blob.Damage{}, fmt.Errorf("rpc: blob verify: %w: the daemon named no blob", ErrInternal)
	}
	d := blob.Damage{ID: codec.BlobID(m.GetBlobId()), More: m.GetMore(), Remedy: remedyOf(m.GetRemedy()), Repaired: m.GetRepaired()}
	for _, f := range m.GetFaults() {
		d.Faults = append(d.Faults, blob.Fault{Code: f.GetCode(), Key: f.GetKey(), Reason: f.GetReason()})
	}
	return d, nil
}

// remedyOf returns the remedy of that number; 0 if this package does not know it.
func remedyOf(m stoav1.BlobRemedy) blob.Remedy {
	switch m {
	case stoav1.BlobRemedy_BLOB_REMEDY_REPAIR:
		return blob.Repair
	case stoav1.BlobRemedy_BLOB_REMEDY_REMOVE:
		return blob.Remove
	case stoav1.BlobRemedy_BLOB_REMEDY_PUT:
		return blob.Upload
	}
	return 0
}
