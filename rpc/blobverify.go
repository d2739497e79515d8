package rpc

import (
	"context"
	"errors"
	"iter"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// blobVerifying are the arguments of BlobVerify; no id: all blobs.
type blobVerifying struct {
	BlobID []byte
	Repair bool
}

// Demands says that a repair changes what is stored, as [op.Demanding] has it.
func (a *blobVerifying) Demands() access.Role {
	if a.Repair {
		return access.Writer
	}
	return 0
}

// blobVerified is a part of a verification: a blob that is damaged, or the verdict, which
// comes last.
type blobVerified struct {
	Damage  *blob.Damage
	Summary *blob.Verdict
}

var blobVerify = op.NewStream(op.Method{Number: 706, Name: "Blob.Verify", Role: access.Reader}, verifyBlobs, nil, 0)

func verifyBlobs(ctx context.Context, s *blob.Store, a *blobVerifying) iter.Seq2[blobVerified, error] {
	return func(yield func(blobVerified, error) bool) {
		o, err := blob.VerifyOptions{Repair: a.Repair}, error(nil)
		if len(a.BlobID) > 0 {
			o.ID, err = op.ParseID[codec.BlobID]("blob_id", a.BlobID)
		}
		var v blob.Verdict
		enough := errors.New("nobody listens")
		if err == nil {
			v, err = s.Verify(ctx, o, func(d blob.Damage) error {
				if !yield(blobVerified{Damage: &d}, nil) {
					return enough
				}
				return nil
			})
		}
		if !errors.Is(err, enough) {
			yield(blobVerified{Summary: &v}, err)
		}
	}
}

// BlobVerify reads one blob or all of them, and calls damaged for each that is
// damaged, in the order of their ids; an error of damaged ends it. It returns
// engine.ErrNotFound if the one that was asked for is not there,
// engine.ErrReadOnly if something is to be repaired in a store that takes no writes,
// and engine.ErrUnsupported if the daemon is too old to have it. It takes as long as
// it takes, unless ctx ends.
func (c *Client) BlobVerify(ctx context.Context, o blob.VerifyOptions, damaged func(blob.Damage) error) (blob.Verdict, error) {
	ask := blobVerifying{Repair: o.Repair}
	if !o.ID.IsZero() {
		ask.BlobID = o.ID[:]
	}
	for part, err := range streamed(ctx, c, blobVerify, ask) {
		switch {
		case err != nil:
		case part.Summary != nil:
			return *part.Summary, nil
		case part.Damage != nil:
			err = damaged(*part.Damage)
		}
		if err != nil {
			return blob.Verdict{}, err
		}
	}
	return blob.Verdict{}, caller.Odd(blobVerify.Name, errors.New("no summary"))
}
