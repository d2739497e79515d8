package rpc

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/backend"
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/dagwire"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// dagResuming are the arguments of Snapshot.
type dagResuming struct {
	dagContext
	Resume []byte
}

var dagSnapshot = op.NewStream(op.Method{Number: 631, Name: "Dag.Snapshot", Role: access.Reader},
	func(ctx context.Context, s *backend.Contexts, a *dagResuming) iter.Seq2[[]byte, error] {
		return func(yield func([]byte, error) bool) {
			var resume []byte // nil: from the first part
			if len(a.Resume) > 0 {
				resume = a.Resume
			}
			for part, err := range s.Snapshot(ctx, a.ContextID, resume) {
				var b []byte
				if err == nil {
					b, err = part.AppendBinary(nil)
				}
				if !yield(b, err) || err != nil {
					return
				}
			}
		}
	}, nil, 0)

// Snapshot yields what another node needs to take over a context, as [Dag.Seed] takes
// it; see [dag.Store.Snapshot].
func (d *Dag) Snapshot(ctx context.Context, id codec.ContextID, resume []byte) iter.Seq2[*dag.SnapshotPart, error] {
	return func(yield func(*dag.SnapshotPart, error) bool) {
		for b, err := range streamed(ctx, d.c, dagSnapshot, dagResuming{dagContext{id}, resume}) {
			var part *dag.SnapshotPart
			if err == nil {
				part, err = dag.ParseSnapshotPart(b)
				err = caller.Odd(dagSnapshot.Name, err)
			}
			if !yield(part, err) || err != nil {
				return
			}
		}
	}
}

var dagSeed = op.ByHand(op.Method{Number: 632, Name: "Dag.Seed", Role: access.Writer})

// Seed takes over a context from the parts of a snapshot, in the order in which
// [Dag.Snapshot] of another node yields them; see [dag.Store.Seed]. It returns
// io.ErrUnexpectedEOF if parts end early, and the error that parts yield.
func (d *Dag) Seed(ctx context.Context, id codec.ContextID, parts iter.Seq2[*dag.SnapshotPart, error], o dag.SeedOptions) (dag.Seeded, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := d.c.dag.Seed(ctx)
	if err != nil {
		return dag.Seeded{}, d.c.failed(dagSeed.Name, err)
	}
	header := &stoav1.DagSeedHeader{ContextId: id[:], Replace: o.Replace}
	err = s.Send(&stoav1.DagSeedRequest{Message: &stoav1.DagSeedRequest_Header{Header: header}})
	whole := false
	if err == nil {
		for part, failed := range parts {
			var b []byte
			if failed == nil {
				b, failed = part.AppendBinary(nil)
			}
			if failed != nil { // the daemon keeps what has come
				_, _ = s.CloseAndRecv()
				return dag.Seeded{}, failed
			}
			whole = part.Kind == dag.PartEnd
			if err = s.Send(&stoav1.DagSeedRequest{Message: &stoav1.DagSeedRequest_Part{Part: b}}); err != nil {
				break // the daemon says why below
			}
		}
	}
	res, failed := s.CloseAndRecv()
	switch {
	case failed == nil:
		done, failed := dagwire.Seeds.Value(res)
		return done, caller.Odd(dagSeed.Name, failed)
	case err == nil && !whole && errors.Is(fault.FromStatus(failed), ErrRequest):
		return dag.Seeded{}, io.ErrUnexpectedEOF
	}
	return dag.Seeded{}, d.c.failed(dagSeed.Name, failed)
}

// dagSeeding is how far a snapshot has come, if one has begun.
type dagSeeding struct {
	Begun bool
	dag.SeedProgress
}

var dagSeedProgress = op.New(op.Method{Number: 633, Name: "Dag.SeedProgress", Role: access.Reader},
	func(_ context.Context, s *backend.Contexts, a *dagContext) (p dagSeeding, err error) {
		p.SeedProgress, p.Begun, err = s.SeedProgress(a.ContextID)
		return p, err
	})

// SeedProgress returns how far a snapshot of a context has been received and not yet
// adopted; ok is false if none is being received; see [dag.Store.SeedProgress].
func (d *Dag) SeedProgress(ctx context.Context, id codec.ContextID) (dag.SeedProgress, bool, error) {
	p, err := call(ctx, d.c, dagSeedProgress, dagContext{id})
	return p.SeedProgress, p.Begun && err == nil, err
}

var dagForgetSeed = op.New(op.Method{Number: 634, Name: "Dag.ForgetSeed", Role: access.Writer},
	func(_ context.Context, s *backend.Contexts, a *dagContext) (op.Nothing, error) {
		return op.Nothing{}, s.ForgetSeed(a.ContextID)
	})

// ForgetSeed throws away what has been received of a snapshot and not adopted; see
// [dag.Store.ForgetSeed].
func (d *Dag) ForgetSeed(ctx context.Context, id codec.ContextID) error {
	_, err := call(ctx, d.c, dagForgetSeed, dagContext{id})
	return err
}
