package rpc

import (
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/rpc/internal/dagwire"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Get is dag.Store's.
func (d *Dag) Get(id codec.ContextID, delta codec.DeltaID) (*dag.Delta, dag.DeltaState, error) {
	res, err := dagCall(d.c, "get delta", d.c.dag.Get, &stoav1.DagGetRequest{ContextId: id[:], DeltaId: delta[:]})
	if err != nil {
		return nil, 0, err
	}
	got, err := dag.ParseDelta(res.GetDelta())
	return got, dag.DeltaState(res.GetState()), odd("get delta", err)
}

// Heads is dag.Store's.
func (d *Dag) Heads(id codec.ContextID) (heads []dag.Head, root codec.Hash, err error) {
	res, err := dagCall(d.c, "heads", d.c.dag.Heads, &stoav1.DagHeadsRequest{ContextId: id[:]})
	if err != nil {
		return nil, root, err
	}
	for _, m := range res.GetHeads() {
		h := dag.Head{Seq: m.GetSeq()}
		if h.ID, err = op.ParseID[codec.DeltaID]("delta_id", m.GetDeltaId()); err == nil {
			h.HLC, err = dagwire.Stamp("hlc", m.GetHlc())
		}
		if err != nil {
			return nil, root, odd("heads", err)
		}
		heads = append(heads, h)
	}
	root, err = op.ParseHash[codec.Hash]("root_hash", res.GetRootHash())
	return heads, root, odd("heads", err)
}

// Missing is dag.Store's; a limit over 1,000, or of 0, is one of 1,000.
func (d *Dag) Missing(id codec.ContextID, after codec.DeltaID, limit int) ([]codec.DeltaID, error) {
	res, err := dagCall(d.c, "missing", d.c.dag.Missing,
		&stoav1.DagMissingRequest{ContextId: id[:], After: op.OptionalBytes(after), Limit: pageOf(limit)})
	if err != nil {
		return nil, err
	}
	list, err := op.ParseIDs[codec.DeltaID]("missing", res.GetMissing())
	return list, odd("missing", err)
}

// Pending is dag.Store's; a limit over 1,000, or of 0, is one of 1,000.
func (d *Dag) Pending(id codec.ContextID, after uint64, limit int) ([]dag.PendingDelta, error) {
	res, err := dagCall(d.c, "pending", d.c.dag.Pending,
		&stoav1.DagPendingRequest{ContextId: id[:], After: after, Limit: pageOf(limit)})
	if err != nil {
		return nil, err
	}
	list := make([]dag.PendingDelta, len(res.GetPending()))
	for i, m := range res.GetPending() {
		list[i] = dag.PendingDelta{Arrival: m.GetArrival(), Bytes: m.GetBytes()}
		if list[i].ID, err = op.ParseID[codec.DeltaID]("delta_id", m.GetDeltaId()); err != nil {
			return nil, odd("pending", err)
		}
	}
	return list, nil
}

// Refusals is dag.Store's; a limit over 1,000, or of 0, is one of 1,000.
func (d *Dag) Refusals(id codec.ContextID, after uint64, limit int) ([]dag.ListedRefusal, error) {
	res, err := dagCall(d.c, "refusals", d.c.dag.Refusals,
		&stoav1.DagRefusalsRequest{ContextId: id[:], After: after, Limit: pageOf(limit)})
	if err != nil {
		return nil, err
	}
	list := make([]dag.ListedRefusal, len(res.GetRefusals()))
	for i, m := range res.GetRefusals() {
		list[i].Seq = m.GetSeq()
		if list[i].Refusal, err = dagwire.Refusal(m.GetRefusal()); err != nil {
			return nil, odd("refusals", err)
		}
	}
	return list, nil
}
