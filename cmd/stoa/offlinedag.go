package main

import (
	"context"
	"iter"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/rpc"
)

// history is what is read of contexts: of a daemon's, or of those in a directory.
type history interface {
	Context(id codec.ContextID) (dag.ContextInfo, error)
	Heads(id codec.ContextID) (heads []dag.Head, root codec.Hash, err error)
	Walk(ctx context.Context, id codec.ContextID, o dag.WalkOptions) iter.Seq2[rpc.Header, error]
	Get(id codec.ContextID, delta codec.DeltaID) (*dag.Delta, dag.DeltaState, error)
	Missing(id codec.ContextID, after codec.DeltaID, limit int) ([]codec.DeltaID, error)
	Pending(id codec.ContextID, after uint64, limit int) ([]dag.PendingDelta, error)
	Refusals(id codec.ContextID, after uint64, limit int) ([]dag.ListedRefusal, error)
}

// offlineDag is the contexts in a directory.
type offlineDag struct {
	*dag.Store
	source *inspect.Source
}

// openDag opens the contexts in a directory.
func (p *process) openDag(dir string) (*offlineDag, error) {
	s, err := p.openSource(dir, &sealFlags{})
	if err != nil {
		return nil, err
	}
	view, err := dag.View(s, dag.Options{})
	if err != nil {
		_ = s.Close() // it was only read
		return nil, err
	}
	return &offlineDag{view, s}, nil
}

// warn tells of what the contexts are read without, and returns how many places that
// are.
func (d *offlineDag) warn(p *process) (n int, err error) {
	damage := d.ClockDamage()
	if damage == nil {
		return 0, nil
	}
	return 1, p.warn(inspect.Finding{Code: "unreadable", Column: column.Generic.String(), Key: inspect.KeyText(dag.ClockKey()),
		Reason: damage.Error() + "; no context needs it to be read"})
}

// Walk yields deltas without what they do, as a daemon does.
func (d *offlineDag) Walk(ctx context.Context, id codec.ContextID, o dag.WalkOptions) iter.Seq2[rpc.Header, error] {
	return func(yield func(rpc.Header, error) bool) {
		for a, err := range d.Store.Walk(ctx, id, o) {
			var h rpc.Header
			if err == nil {
				h, err = headerOf(&a)
			}
			if !yield(h, err) || err != nil {
				return
			}
		}
	}
}

func headerOf(a *dag.AppliedDelta) (rpc.Header, error) {
	b, err := a.Delta.AppendBinary(nil)
	return rpc.Header{
		Position: a.Position, Parents: a.Parents, HLC: a.HLC, ExpectedRoot: a.ExpectedRoot,
		Actions: uint32(len(a.Actions)), Events: uint32(len(a.Events)), Size: uint32(len(b)), Base: a.Base,
	}, err
}

// Close gives the directory back.
func (d *offlineDag) Close() error {
	_ = d.Store.Close() // fails only if it is closed
	return d.source.Close()
}
