package server

import (
	"context"
	"errors"
	"io"
	"iter"

	"google.golang.org/grpc"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/rpc/internal/dagwire"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Snapshot is Dag.Snapshot.
func (t *dagService) Snapshot(r *stoav1.DagSnapshotRequest, stream grpc.ServerStreamingServer[stoav1.DagSnapshotResponse]) error {
	id, err := contextID(r)
	if err != nil {
		return err
	}
	var resume []byte // nil: from the first part
	if len(r.GetResume()) > 0 {
		resume = r.GetResume()
	}
	return t.s.dagStream(stream.Context(), func(ctx context.Context, wait *peerWait) error {
		for part, err := range t.s.o.Dag.Snapshot(ctx, id, resume) {
			if err != nil {
				return aboutContext(err, id)
			}
			b, err := part.AppendBinary(nil)
			if err != nil {
				return err
			}
			if err := wait.During(func() error { return stream.Send(&stoav1.DagSnapshotResponse{Part: b}) }); err != nil {
				return err
			}
		}
		return nil
	})
}

// Seed is Dag.Seed.
func (t *dagService) Seed(stream grpc.ClientStreamingServer[stoav1.DagSeedRequest, stoav1.DagSeedResponse]) error {
	return t.s.dagStream(stream.Context(), func(ctx context.Context, wait *peerWait) error {
		in := &seedIn{stream: stream, wait: wait}
		m, err := in.receive()
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		h := m.GetHeader()
		if h == nil {
			return badField("header", "it comes first")
		}
		id, err := contextID(h)
		if err != nil {
			return err
		}
		done, err := t.s.o.Dag.Seed(ctx, id, in.parts(), dag.SeedOptions{Replace: h.GetReplace()})
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = badField("part", "the stream ends before the last part; what has come is kept: SeedProgress says how to go on")
		}
		if err != nil {
			return aboutContext(err, id)
		}
		return stream.SendAndClose(dagwire.FromSeeded(&done))
	})
}

// seedIn is a snapshot on its way in.
type seedIn struct {
	stream grpc.ClientStreamingServer[stoav1.DagSeedRequest, stoav1.DagSeedResponse]
	wait   *peerWait
}

func (in *seedIn) receive() (m *stoav1.DagSeedRequest, err error) {
	err = in.wait.During(func() (err error) {
		m, err = in.stream.Recv()
		return err
	})
	return m, err
}

// parts yields the parts that come, and ends with the stream.
func (in *seedIn) parts() iter.Seq2[*dag.SnapshotPart, error] {
	return func(yield func(*dag.SnapshotPart, error) bool) {
		for {
			m, err := in.receive()
			if errors.Is(err, io.EOF) {
				return
			}
			var part *dag.SnapshotPart
			if err == nil {
				part, err = seedPart(m)
			}
			if !yield(part, err) || err != nil {
				return
			}
		}
	}
}

func seedPart(m *stoav1.DagSeedRequest) (*dag.SnapshotPart, error) {
	p, ok := m.GetMessage().(*stoav1.DagSeedRequest_Part)
	if !ok {
		return nil, badField("message", "parts follow the header, and nothing else")
	}
	part, err := dag.ParseSnapshotPart(p.Part)
	if err != nil {
		return nil, badField("part", err.Error())
	}
	return part, nil
}

// SeedProgress is Dag.SeedProgress.
func (t *dagService) SeedProgress(_ context.Context, r *stoav1.DagSeedProgressRequest) (*stoav1.DagSeedProgressResponse, error) {
	id, err := contextID(r)
	if err != nil {
		return nil, err
	}
	p, begun, err := t.s.o.Dag.SeedProgress(id)
	if err != nil || !begun {
		return &stoav1.DagSeedProgressResponse{}, err
	}
	return &stoav1.DagSeedProgressResponse{Begun: true, Base: op.OptionalBytes[codec.DeltaID](p.Base), Rows: p.Rows, Resume: p.Resume}, nil
}

// ForgetSeed is Dag.ForgetSeed.
func (t *dagService) ForgetSeed(_ context.Context, r *stoav1.DagForgetSeedRequest) (*stoav1.DagForgetSeedResponse, error) {
	id, err := contextID(r)
	if err != nil {
		return nil, err
	}
	if err := t.s.o.Dag.ForgetSeed(id); err != nil {
		return nil, aboutContext(err, id)
	}
	return &stoav1.DagForgetSeedResponse{}, nil
}
