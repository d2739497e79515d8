package rpc

import (
	"context"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/rpc/internal/backend"
	"github.com/stoadb/stoa/rpc/internal/dagwire"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// dagGetting are the arguments of Get.
type dagGetting struct {
	dagContext
	DeltaID codec.DeltaID
	Decode  bool
}

// dagGot is a delta, as it travels.
type dagGot struct {
	State   dag.DeltaState
	Delta   []byte
	Decoded *stoav1.DagDelta
}

var dagGet = op.New(op.Method{Number: 616, Name: "Dag.Get"},
	func(_ context.Context, s *backend.Contexts, a *dagGetting) (g dagGot, err error) {
		d, state, err := s.Get(a.ContextID, a.DeltaID)
		if err != nil {
			return g, err
		}
		if g.State = state; a.Decode {
			if g.Decoded, err = dagwire.Deltas.Message(d); err != nil {
				return g, err
			}
		}
		g.Delta, err = d.AppendBinary(nil)
		return g, err
	})

// Get is dag.Store's.
func (d *Dag) Get(ctx context.Context, id codec.ContextID, delta codec.DeltaID) (*dag.Delta, dag.DeltaState, error) {
	g, err := call(ctx, d.c, dagGet, dagGetting{dagContext{id}, delta, false})
	if err != nil {
		return nil, 0, err
	}
	got, err := dag.ParseDelta(g.Delta)
	return got, g.State, odd(dagGet.Name, err)
}

// dagHeads are the heads of a context.
type dagHeads struct {
	Heads []dag.Head `wire:",optional"`
	Root  codec.Hash `wire:"root_hash,hash"`
}

var dagHeadsOf = op.New(op.Method{Number: 617, Name: "Dag.Heads"},
	func(_ context.Context, s *backend.Contexts, a *dagContext) (h dagHeads, err error) {
		h.Heads, h.Root, err = s.Heads(a.ContextID)
		return h, err
	})

// Heads is dag.Store's.
func (d *Dag) Heads(ctx context.Context, id codec.ContextID) (heads []dag.Head, root codec.Hash, err error) {
	h, err := call(ctx, d.c, dagHeadsOf, dagContext{id})
	return h.Heads, h.Root, err
}

// dagMissed is a page of deltas that are missing.
type dagMissed struct {
	Missing []codec.DeltaID
	Next    codec.DeltaID `wire:",optional"`
}

var dagMissing = op.New(op.Method{Number: 618, Name: "Dag.Missing"},
	func(_ context.Context, s *backend.Contexts, a *dagPage[codec.DeltaID]) (p dagMissed, err error) {
		p.Missing, err = s.Missing(a.ContextID, a.After, a.limit())
		p.Next = nextAfter(p.Missing, a.limit(), func(id *codec.DeltaID) codec.DeltaID { return *id })
		return p, err
	})

// Missing is dag.Store's; a limit over 1,000, or of 0, is one of 1,000.
func (d *Dag) Missing(ctx context.Context, id codec.ContextID, after codec.DeltaID, limit int) ([]codec.DeltaID, error) {
	p, err := call(ctx, d.c, dagMissing, pageOfDag(id, after, limit))
	return p.Missing, err
}

// dagWaiting is a page of deltas that wait.
type dagWaiting struct {
	Pending []dag.PendingDelta
	Next    uint64
}

var dagPending = op.New(op.Method{Number: 619, Name: "Dag.Pending"},
	func(_ context.Context, s *backend.Contexts, a *dagPage[uint64]) (p dagWaiting, err error) {
		p.Pending, err = s.Pending(a.ContextID, a.After, a.limit())
		p.Next = nextAfter(p.Pending, a.limit(), func(d *dag.PendingDelta) uint64 { return d.Arrival })
		return p, err
	})

// Pending is dag.Store's; a limit over 1,000, or of 0, is one of 1,000.
func (d *Dag) Pending(ctx context.Context, id codec.ContextID, after uint64, limit int) ([]dag.PendingDelta, error) {
	p, err := call(ctx, d.c, dagPending, pageOfDag(id, after, limit))
	return p.Pending, err
}

// dagRefused is a page of refusals.
type dagRefused struct {
	Refusals []dag.ListedRefusal
	Next     uint64
}

var dagRefusals = op.New(op.Method{Number: 620, Name: "Dag.Refusals"},
	func(_ context.Context, s *backend.Contexts, a *dagPage[uint64]) (p dagRefused, err error) {
		p.Refusals, err = s.Refusals(a.ContextID, a.After, a.limit())
		p.Next = nextAfter(p.Refusals, a.limit(), func(r *dag.ListedRefusal) uint64 { return r.Seq })
		return p, err
	})

// Refusals is dag.Store's; a limit over 1,000, or of 0, is one of 1,000.
func (d *Dag) Refusals(ctx context.Context, id codec.ContextID, after uint64, limit int) ([]dag.ListedRefusal, error) {
	p, err := call(ctx, d.c, dagRefusals, pageOfDag(id, after, limit))
	return p.Refusals, err
}
