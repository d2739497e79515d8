package server

import (
	"context"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/rpc/internal/dagwire"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Get is Dag.Get.
func (t *dagService) Get(_ context.Context, r *stoav1.DagGetRequest) (*stoav1.DagGetResponse, error) {
	id, err := contextID(r)
	if err != nil {
		return nil, err
	}
	delta, err := op.ParseID[codec.DeltaID]("delta_id", r.GetDeltaId())
	if err != nil {
		return nil, field(err)
	}
	d, state, err := t.s.o.Dag.Get(id, delta)
	if err != nil {
		return nil, aboutContext(err, id)
	}
	res := &stoav1.DagGetResponse{State: stoav1.DagDeltaState(state)}
	if r.GetDecode() {
		res.Decoded = dagwire.FromDelta(d)
	}
	res.Delta, err = d.AppendBinary(nil)
	return res, err
}

// Heads is Dag.Heads.
func (t *dagService) Heads(_ context.Context, r *stoav1.DagHeadsRequest) (*stoav1.DagHeadsResponse, error) {
	id, err := contextID(r)
	if err != nil {
		return nil, err
	}
	heads, root, err := t.s.o.Dag.Heads(id)
	if err != nil {
		return nil, aboutContext(err, id)
	}
	res := &stoav1.DagHeadsResponse{RootHash: op.Bytes(root)}
	for i := range heads {
		res.Heads = append(res.Heads, &stoav1.DagHead{
			DeltaId: op.Bytes(heads[i].ID), Hlc: dagwire.FromStamp(heads[i].HLC), Seq: heads[i].Seq,
		})
	}
	return res, nil
}

// Missing is Dag.Missing.
func (t *dagService) Missing(_ context.Context, r *stoav1.DagMissingRequest) (*stoav1.DagMissingResponse, error) {
	id, err := contextID(r)
	if err != nil {
		return nil, err
	}
	after, err := op.ParseOptional[codec.DeltaID]("after", r.GetAfter())
	if err != nil {
		return nil, field(err)
	}
	limit := pageLimit(r.GetLimit())
	page, err := t.s.o.Dag.Missing(id, after, limit)
	if err != nil {
		return nil, aboutContext(err, id)
	}
	res := &stoav1.DagMissingResponse{Missing: op.FromIDs(page)}
	if len(page) == limit {
		res.Next = res.Missing[limit-1]
	}
	return res, nil
}

// Pending is Dag.Pending.
func (t *dagService) Pending(_ context.Context, r *stoav1.DagPendingRequest) (*stoav1.DagPendingResponse, error) {
	id, err := contextID(r)
	if err != nil {
		return nil, err
	}
	limit := pageLimit(r.GetLimit())
	page, err := t.s.o.Dag.Pending(id, r.GetAfter(), limit)
	if err != nil {
		return nil, aboutContext(err, id)
	}
	res := new(stoav1.DagPendingResponse)
	for i := range page {
		res.Pending = append(res.Pending, &stoav1.DagPendingEntry{
			DeltaId: op.Bytes(page[i].ID), Arrival: page[i].Arrival, Bytes: page[i].Bytes,
		})
	}
	if len(page) == limit {
		res.Next = page[limit-1].Arrival
	}
	return res, nil
}

// Refusals is Dag.Refusals.
func (t *dagService) Refusals(_ context.Context, r *stoav1.DagRefusalsRequest) (*stoav1.DagRefusalsResponse, error) {
	id, err := contextID(r)
	if err != nil {
		return nil, err
	}
	limit := pageLimit(r.GetLimit())
	page, err := t.s.o.Dag.Refusals(id, r.GetAfter(), limit)
	if err != nil {
		return nil, aboutContext(err, id)
	}
	res := new(stoav1.DagRefusalsResponse)
	for i := range page {
		res.Refusals = append(res.Refusals, &stoav1.DagListedRefusal{Seq: page[i].Seq, Refusal: dagwire.FromRefusal(&page[i].Refusal)})
	}
	if len(page) == limit {
		res.Next = page[limit-1].Seq
	}
	return res, nil
}
