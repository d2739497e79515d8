package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// BlobVerifyOptions say which blobs are verified. The zero BlobVerifyOptions are all,
// which are only read.
type BlobVerifyOptions struct {
	ID     codec.BlobID // zeros: all of them
	Repair bool         // repair what can be repaired from what is there
}

// BlobVerdict is what a verification of blobs has come to.
type BlobVerdict struct {
	Blobs    uint64 // that were read, those that are damaged included
	Bytes    uint64 // of their content
	Damaged  uint64
	Repaired uint64 // of those that are damaged
}

// BlobDamage says what is damaged of a blob.
type BlobDamage struct {
	ID       codec.BlobID
	Faults   []BlobFault // the first 16
	More     uint32      // how many follow these
	Remedy   BlobRemedy
	Repaired bool
}

// BlobFault is one thing that is wrong with a blob.
type BlobFault struct {
	Code   string // blob-manifest, blob-chunk or blob-hash, as `stoa verify` has them
	Key    []byte // of the row in the Blobs column
	Reason string
}

// BlobRemedy is what makes a damaged blob good. Values that are not known mean that
// nothing is known of it.
type BlobRemedy int32

// The remedies.
const (
	// BlobRepair is a verification that repairs: all of the content is there.
	BlobRepair = BlobRemedy(stoav1.BlobRemedy_BLOB_REMEDY_REPAIR)
	// BlobRemove is a verification that repairs: remains of an upload are removed.
	BlobRemove = BlobRemedy(stoav1.BlobRemedy_BLOB_REMEDY_REMOVE)
	// BlobUpload is another upload of the blob, some of which is lost.
	BlobUpload = BlobRemedy(stoav1.BlobRemedy_BLOB_REMEDY_PUT)
)

// BlobVerify reads one blob or all of them, and calls damaged for each that is
// damaged, in the order of their ids; an error of damaged ends it. It returns
// engine.ErrNotFound if the one that was asked for is not there,
// engine.ErrReadOnly if something is to be repaired in a store that takes no writes,
// and engine.ErrUnsupported if the daemon is too old to have it. It takes as long as
// it takes, unless ctx or the context of c ends.
func (c *Client) BlobVerify(ctx context.Context, o BlobVerifyOptions, damaged func(BlobDamage) error) (BlobVerdict, error) {
	ctx, cancel := c.within(ctx)
	defer cancel()
	ask := &stoav1.BlobVerifyRequest{Repair: o.Repair}
	if !o.ID.IsZero() {
		ask.BlobId = o.ID[:]
	}
	stream, err := c.blob.Verify(ctx, ask)
	if err != nil {
		return BlobVerdict{}, c.failed("blob verify", err)
	}
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return BlobVerdict{}, fmt.Errorf("rpc: blob verify: %w: the daemon sent no summary", ErrInternal)
		}
		if err != nil {
			return BlobVerdict{}, c.failed("blob verify", err)
		}
		if s := m.GetSummary(); s != nil {
			return BlobVerdict{Blobs: s.GetBlobs(), Bytes: s.GetBytes(), Damaged: s.GetDamaged(), Repaired: s.GetRepaired()}, nil
		}
		d, err := damageOf(m.GetDamage())
		if err == nil {
			err = damaged(d)
		}
		if err != nil {
			return BlobVerdict{}, err
		}
	}
}

func damageOf(m *stoav1.BlobDamage) (BlobDamage, error) {
	if len(m.GetBlobId()) != len(codec.BlobID{}) {
		return BlobDamage{}, fmt.Errorf("rpc: blob verify: %w: the daemon named no blob", ErrInternal)
	}
	d := BlobDamage{ID: codec.BlobID(m.GetBlobId()), More: m.GetMore(), Remedy: BlobRemedy(m.GetRemedy()), Repaired: m.GetRepaired()}
	for _, f := range m.GetFaults() {
		d.Faults = append(d.Faults, BlobFault{Code: f.GetCode(), Key: f.GetKey(), Reason: f.GetReason()})
	}
	return d, nil
}
