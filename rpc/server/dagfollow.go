package server

import (
	"context"
	"iter"

	"google.golang.org/grpc"

	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/rpc/internal/dagwire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Follow is Dag.Follow.
func (t *dagService) Follow(r *stoav1.DagFollowRequest, stream grpc.ServerStreamingServer[stoav1.DagFollowResponse]) error {
	id, err := contextID(r)
	if err != nil {
		return err
	}
	return t.s.dagStream(stream.Context(), func(ctx context.Context, wait *peerWait) error {
		open := func(ctx context.Context) iter.Seq2[dag.AppliedDelta, error] {
			return t.s.o.Dag.Follow(ctx, id, dag.FollowOptions{Cursor: r.GetCursor(), From: r.GetFrom(), Live: r.GetLive()})
		}
		return aboutContext(t.s.sendApplied(ctx, wait, open, r.GetDecode(), 0, func(entries []*stoav1.DagEntry) error {
			return stream.Send(&stoav1.DagFollowResponse{Entries: entries})
		}), id)
	})
}

// Ack is Dag.Ack.
func (t *dagService) Ack(_ context.Context, r *stoav1.DagAckRequest) (*stoav1.DagAckResponse, error) {
	id, err := contextID(r)
	if err != nil {
		return nil, err
	}
	at, err := dagwire.Position("at", r.GetAt())
	if err != nil {
		return nil, field(err)
	}
	d, err := durability(r.GetDurability())
	if err != nil {
		return nil, err
	}
	if err := t.there(t.s.eng, id); err != nil {
		return nil, err
	}
	if err := t.s.o.Dag.Ack(id, r.GetCursor(), at, d); err != nil {
		return nil, aboutContext(err, id)
	}
	return &stoav1.DagAckResponse{}, nil
}

// Cursors is Dag.Cursors.
func (t *dagService) Cursors(_ context.Context, r *stoav1.DagCursorsRequest) (*stoav1.DagCursorsResponse, error) {
	id, err := contextID(r)
	if err != nil {
		return nil, err
	}
	if err := t.there(t.s.eng, id); err != nil {
		return nil, err
	}
	limit := pageLimit(r.GetLimit())
	page, err := t.s.o.Dag.Cursors(id, r.GetAfter(), limit)
	if err != nil {
		return nil, aboutContext(err, id)
	}
	res := new(stoav1.DagCursorsResponse)
	for _, c := range page {
		res.Cursors = append(res.Cursors, &stoav1.DagCursor{Name: c.Name, Seq: c.Seq})
	}
	if len(page) == limit {
		res.Next = page[limit-1].Name
	}
	return res, nil
}

// DropCursor is Dag.DropCursor.
func (t *dagService) DropCursor(_ context.Context, r *stoav1.DagDropCursorRequest) (*stoav1.DagDropCursorResponse, error) {
	id, err := contextID(r)
	if err != nil {
		return nil, err
	}
	if err := t.there(t.s.eng, id); err != nil {
		return nil, err
	}
	existed, err := t.s.o.Dag.DropCursor(id, r.GetCursor())
	if err != nil {
		return nil, aboutContext(err, id)
	}
	return &stoav1.DagDropCursorResponse{Existed: existed}, nil
}
