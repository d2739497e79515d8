package server

import (
	"context"
	"iter"

	"google.golang.org/grpc"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/rpc/internal/dagwire"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Since is Dag.Since.
func (t *dagService) Since(r *stoav1.DagSinceRequest, stream grpc.ServerStreamingServer[stoav1.DagSinceResponse]) error {
	id, err := contextID(r)
	if err != nil {
		return err
	}
	heads, err := op.ParseIDs[codec.DeltaID]("heads", r.GetHeads())
	if err != nil {
		return field(err)
	}
	after, err := dagwire.Position("after", r.GetAfter())
	if err != nil {
		return field(err)
	}
	return t.s.dagStream(stream.Context(), func(ctx context.Context, wait *peerWait) error {
		unknown := make(chan []codec.DeltaID, 1) // told before the first delta comes
		open := func(ctx context.Context) iter.Seq2[dag.AppliedDelta, error] {
			return t.s.o.Dag.Since(ctx, id, heads, dag.SinceOptions{After: after, Unknown: func(ids []codec.DeltaID) { unknown <- ids }})
		}
		first := new(stoav1.DagSinceResponse)
		tell := func() {
			select {
			case ids := <-unknown:
				first.Unknown = op.FromIDs(ids)
			default:
			}
		}
		err := t.s.sendApplied(ctx, wait, open, r.GetDecode(), r.GetLimit(), func(entries []*stoav1.DagEntry) error {
			m := &stoav1.DagSinceResponse{Entries: entries}
			if first != nil {
				tell()
				m.Unknown, first = first.Unknown, nil
			}
			return stream.Send(m)
		})
		if err != nil || first == nil {
			return aboutContext(err, id)
		}
		if tell(); first.Unknown == nil {
			return nil
		}
		return wait.During(func() error { return stream.Send(first) })
	})
}

// Walk is Dag.Walk.
func (t *dagService) Walk(ctx context.Context, r *stoav1.DagWalkRequest) (*stoav1.DagWalkResponse, error) {
	id, err := contextID(r)
	if err != nil {
		return nil, err
	}
	o := dag.WalkOptions{Limit: pageLimit(r.GetLimit())}
	if o.From, err = op.ParseIDs[codec.DeltaID]("from", r.GetFrom()); err != nil {
		return nil, field(err)
	}
	if o.Before, err = dagwire.Position("before", r.GetBefore()); err != nil {
		return nil, field(err)
	}
	res := new(stoav1.DagWalkResponse)
	for a, err := range t.s.o.Dag.Walk(ctx, id, o) {
		if err != nil {
			return nil, aboutContext(err, id)
		}
		h, err := dagwire.FromAppliedHeader(&a)
		if err != nil {
			return nil, err
		}
		res.Deltas = append(res.Deltas, h)
	}
	res.More = len(res.Deltas) == o.Limit
	return res, nil
}

// IsAncestor is Dag.IsAncestor.
func (t *dagService) IsAncestor(ctx context.Context, r *stoav1.DagIsAncestorRequest) (*stoav1.DagIsAncestorResponse, error) {
	id, err := contextID(r)
	if err != nil {
		return nil, err
	}
	a, err := op.ParseID[codec.DeltaID]("ancestor", r.GetAncestor())
	if err != nil {
		return nil, field(err)
	}
	b, err := op.ParseID[codec.DeltaID]("descendant", r.GetDescendant())
	if err != nil {
		return nil, field(err)
	}
	is, err := t.s.o.Dag.IsAncestor(ctx, id, a, b)
	if err != nil {
		return nil, aboutContext(err, id)
	}
	return &stoav1.DagIsAncestorResponse{IsAncestor: is}, nil
}
