package rpc

import (
	"context"
	"iter"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/backend"
	"github.com/stoadb/stoa/rpc/internal/caller"
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

var dagGet = op.New(op.Method{Number: 616, Name: "Dag.Get", Role: access.Reader},
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

// Get returns a delta of a context, which belongs to the caller; see [dag.Store.Get].
func (d *Dag) Get(ctx context.Context, id codec.ContextID, delta codec.DeltaID) (*dag.Delta, dag.DeltaState, error) {
	g, err := call(ctx, d.c, dagGet, dagGetting{dagContext{id}, delta, false})
	if err != nil {
		return nil, 0, err
	}
	got, err := dag.ParseDelta(g.Delta)
	return got, g.State, caller.Odd(dagGet.Name, err)
}

// dagHeads are the heads of a context.
type dagHeads struct {
	Heads []dag.Head `wire:",optional"`
	Root  codec.Hash `wire:"root_hash,hash"`
}

var dagHeadsOf = op.New(op.Method{Number: 617, Name: "Dag.Heads", Role: access.Reader},
	func(_ context.Context, s *backend.Contexts, a *dagContext) (h dagHeads, err error) {
		h.Heads, h.Root, err = s.Heads(a.ContextID)
		return h, err
	})

// Heads returns the heads of a context in ascending order of id, and its root; see
// [dag.Store.Heads].
func (d *Dag) Heads(ctx context.Context, id codec.ContextID) (heads []dag.Head, root codec.Hash, err error) {
	h, err := call(ctx, d.c, dagHeadsOf, dagContext{id})
	return h.Heads, h.Root, err
}

var dagMissing = op.New(op.Method{Number: 618, Name: "Dag.Missing", Role: access.Reader},
	func(_ context.Context, s *backend.Contexts, a *dagPage[codec.DeltaID]) (paged[codec.DeltaID, codec.DeltaID], error) {
		return page(&a.after, func(last codec.DeltaID, limit int) ([]codec.DeltaID, error) {
			return s.Missing(a.ContextID, last, limit)
		}, itself)
	})

// Missing yields the deltas that others wait for and that are not here, in the order of
// their ids.
func (d *Dag) Missing(ctx context.Context, id codec.ContextID) iter.Seq2[codec.DeltaID, error] {
	return pages(ctx, d.c, dagMissing, listOf[codec.DeltaID](id))
}

var dagPending = op.New(op.Method{Number: 619, Name: "Dag.Pending", Role: access.Reader},
	func(_ context.Context, s *backend.Contexts, a *dagPage[uint64]) (paged[dag.PendingDelta, uint64], error) {
		return page(&a.after, func(last uint64, limit int) ([]dag.PendingDelta, error) { return s.Pending(a.ContextID, last, limit) },
			func(d *dag.PendingDelta) uint64 { return d.Arrival })
	})

// Pending yields the deltas that wait for others, in the order in which they came.
func (d *Dag) Pending(ctx context.Context, id codec.ContextID) iter.Seq2[dag.PendingDelta, error] {
	return pages(ctx, d.c, dagPending, listOf[uint64](id))
}

var dagRefusals = op.New(op.Method{Number: 620, Name: "Dag.Refusals", Role: access.Reader},
	func(_ context.Context, s *backend.Contexts, a *dagPage[uint64]) (paged[dag.ListedRefusal, uint64], error) {
		return page(&a.after, func(last uint64, limit int) ([]dag.ListedRefusal, error) { return s.Refusals(a.ContextID, last, limit) },
			func(r *dag.ListedRefusal) uint64 { return r.Seq })
	})

// Refusals yields the refusals that are remembered and have a number above last, the
// oldest first.
func (d *Dag) Refusals(ctx context.Context, id codec.ContextID, last uint64) iter.Seq2[dag.ListedRefusal, error] {
	a := listOf[uint64](id)
	return caller.Pagewise(dagRefusals.Name, 0, last, func(last uint64, limit int) ([]dag.ListedRefusal, uint64, error) {
		a.from(last, limit)
		p, err := call(ctx, d.c, dagRefusals, a)
		return p.List, p.Next, err
	})
}
