package rpc

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/rpc/internal/dagwire"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Snapshot is dag.Store's.
func (d *Dag) Snapshot(ctx context.Context, id codec.ContextID, resume []byte) iter.Seq2[*dag.SnapshotPart, error] {
	return func(yield func(*dag.SnapshotPart, error) bool) {
		ctx, cancel := d.c.within(ctx)
		defer cancel()
		s, err := d.c.dag.Snapshot(ctx, &stoav1.DagSnapshotRequest{ContextId: id[:], Resume: resume})
		for err == nil {
			var m *stoav1.DagSnapshotResponse
			if m, err = s.Recv(); err != nil {
				break
			}
			part, odds := dag.ParseSnapshotPart(m.GetPart())
			if !yield(part, odd("snapshot", odds)) || odds != nil {
				return
			}
		}
		if !errors.Is(err, io.EOF) {
			yield(nil, d.c.failed("snapshot", err))
		}
	}
}

// Seed is dag.Store's. It returns io.ErrUnexpectedEOF if parts end early, and the
// error that parts yield.
func (d *Dag) Seed(ctx context.Context, id codec.ContextID, parts iter.Seq2[*dag.SnapshotPart, error], o dag.SeedOptions) (dag.Seeded, error) {
	ctx, cancel := d.c.within(ctx)
	defer cancel()
	s, err := d.c.dag.Seed(ctx)
	if err != nil {
		return dag.Seeded{}, d.c.failed("seed", err)
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
		done, failed := dagwire.Seeded(res)
		return done, odd("seed", failed)
	case err == nil && !whole && errors.Is(FromStatus(failed), ErrRequest):
		return dag.Seeded{}, io.ErrUnexpectedEOF
	}
	return dag.Seeded{}, d.c.failed("seed", failed)
}

// SeedProgress is dag.Store's.
func (d *Dag) SeedProgress(id codec.ContextID) (p dag.SeedProgress, ok bool, err error) {
	res, err := dagCall(d.c, "seed progress", d.c.dag.SeedProgress, &stoav1.DagSeedProgressRequest{ContextId: id[:]})
	if err != nil || !res.GetBegun() {
		return p, false, err
	}
	p.Rows, p.Resume = res.GetRows(), res.GetResume()
	p.Base, err = op.ParseOptional[codec.DeltaID]("base", res.GetBase())
	return p, err == nil, odd("seed progress", err)
}

// ForgetSeed is dag.Store's.
func (d *Dag) ForgetSeed(id codec.ContextID) error {
	_, err := dagCall(d.c, "forget seed", d.c.dag.ForgetSeed, &stoav1.DagForgetSeedRequest{ContextId: id[:]})
	return err
}
