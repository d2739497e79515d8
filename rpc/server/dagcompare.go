package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"google.golang.org/grpc"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/rpc/internal/dagwire"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Diff answers Dag.Diff: it compares a context with that of a peer, whom the client asks.
func (t *dagService) Diff(stream grpc.BidiStreamingServer[stoav1.DagDiffRequest, stoav1.DagDiffResponse]) error {
	return t.s.pacedStream(stream.Context(), t.s.dagStreams, func(ctx context.Context, wait *peerWait) error {
		d := &differ{stream: stream, wait: wait}
		start, err := receive(d.wait, d.stream.Recv)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		all, id, err := t.compare(ctx, d, start.GetStart())
		if err != nil {
			return err
		}
		for found, err := range all {
			if err == nil {
				err = d.add(found)
			}
			if err != nil {
				return aboutContext(err, id)
			}
		}
		return d.flush()
	})
}

// compare begins the comparison that a client asks for.
func (t *dagService) compare(ctx context.Context, d *differ, start *stoav1.DagDiffStart) (all iter.Seq2[merkle.Difference, error], id codec.ContextID, err error) {
	if start == nil {
		return nil, id, badField("start", "it comes first")
	}
	if id, err = op.ParseID[codec.ContextID]("context_id", start.GetContextId()); err != nil {
		return nil, id, err
	}
	switch with := start.GetWith().(type) {
	case *stoav1.DagDiffStart_OtherContextId:
		other, err := op.ParseID[codec.ContextID]("other_context_id", with.OtherContextId)
		if err != nil {
			return nil, id, err
		}
		if err := t.s.o.Dag.There(other); err != nil {
			return nil, id, aboutContext(err, other)
		}
		return t.s.o.Dag.Diff(ctx, id, other), id, nil
	case *stoav1.DagDiffStart_RemoteRoot:
		root, err := op.ParseHash[codec.Hash]("remote_root", with.RemoteRoot)
		if err != nil {
			return nil, id, err
		}
		return t.s.o.Dag.DiffWith(ctx, id, d, root), id, nil
	}
	return nil, id, badField("start.with", "another context, or the root of a peer's")
}

// differencesAtOnce is how many differences are sent together.
const differencesAtOnce = 512

// differ is a comparison on its way: a merkle.Peer that asks the client.
type differ struct {
	stream grpc.BidiStreamingServer[stoav1.DagDiffRequest, stoav1.DagDiffResponse]
	wait   *peerWait
	found  []*stoav1.DagDifference // not sent yet
}

func (d *differ) send(m *stoav1.DagDiffResponse) error {
	return d.wait.During(func() error { return d.stream.Send(m) })
}

// Nodes asks the client for nodes of its trie.
func (d *differ) Nodes(_ context.Context, r *merkle.NodeRequest) (*merkle.NodeAnswer, error) {
	if err := d.flush(); err != nil {
		return nil, err
	}
	ask, err := r.AppendBinary(nil)
	if err != nil {
		return nil, err
	}
	if err := d.send(&stoav1.DagDiffResponse{Part: &stoav1.DagDiffResponse_NodesRequest{NodesRequest: ask}}); err != nil {
		return nil, err
	}
	m, err := receive(d.wait, d.stream.Recv)
	if errors.Is(err, io.EOF) {
		return nil, badField("nodes_answer", "the stream ends before it")
	}
	if err != nil {
		return nil, err
	}
	part, ok := m.GetPart().(*stoav1.DagDiffRequest_NodesAnswer)
	if !ok {
		return nil, badField("part", "nodes_answer follows nodes_request")
	}
	answer, err := merkle.ParseNodeAnswer(part.NodesAnswer)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", merkle.ErrPeer, err.Error())
	}
	return answer, nil
}

func (d *differ) add(found merkle.Difference) error {
	m, err := dagwire.Differences.Message(&found)
	if err != nil {
		return err
	}
	if d.found = append(d.found, m); len(d.found) < differencesAtOnce {
		return nil
	}
	return d.flush()
}

func (d *differ) flush() error {
	if len(d.found) == 0 {
		return nil
	}
	m := &stoav1.DagDiffResponse{Part: &stoav1.DagDiffResponse_Differences{Differences: &stoav1.DagDifferences{Differences: d.found}}}
	d.found = nil
	return d.send(m)
}
