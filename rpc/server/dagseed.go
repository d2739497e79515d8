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

// Seed answers Dag.Seed: it takes over a context from the parts of a snapshot.
func (t *dagService) Seed(stream grpc.ClientStreamingServer[stoav1.DagSeedRequest, stoav1.DagSeedResponse]) error {
	return t.s.pacedStream(stream.Context(), t.s.dagStreams, func(ctx context.Context, wait *peerWait) error {
		in := &seedIn{stream: stream, wait: wait}
		m, err := receive(in.wait, in.stream.Recv)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		h := m.GetHeader()
		if h == nil {
			return badField("header", "it comes first")
		}
		id, err := op.ParseID[codec.ContextID]("context_id", h.GetContextId())
		if err != nil {
			return err
		}
		if err := t.s.mayAddBare(ctx, id); err != nil { // a snapshot has no envelopes
			return err
		}
		done, err := t.s.o.Dag.Seed(ctx, id, in.parts(), dag.SeedOptions{Replace: h.GetReplace()})
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = badField("part", "the stream ends before the last part; what has come is kept: SeedProgress says how to go on")
		}
		if err != nil {
			return aboutContext(err, id)
		}
		answer, err := dagwire.Seeds.Message(&done)
		if err != nil {
			return err
		}
		return stream.SendAndClose(answer)
	})
}

// seedIn is a snapshot on its way in.
type seedIn struct {
	stream grpc.ClientStreamingServer[stoav1.DagSeedRequest, stoav1.DagSeedResponse]
	wait   *peerWait
}

// parts yields the parts that come, and ends with the stream.
func (in *seedIn) parts() iter.Seq2[*dag.SnapshotPart, error] {
	return func(yield func(*dag.SnapshotPart, error) bool) {
		for {
			m, err := receive(in.wait, in.stream.Recv)
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
