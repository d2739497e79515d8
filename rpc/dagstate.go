package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc/internal/dagwire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// StateEntry is a key of a state with its value.
type StateEntry struct {
	AppKey []byte
	Value  []byte
}

// State returns the value that the shared state of a context has under a key. It
// returns engine.ErrNotFound if there is none, or dag.ErrNoContext.
func (d *Dag) State(id codec.ContextID, appKey []byte) ([]byte, error) {
	res, err := dagCall(d.c, "state", d.c.dag.GetState, &stoav1.DagGetStateRequest{ContextId: id[:], AppKey: appKey})
	return present(res.GetValue(), err)
}

// Private is State for the private state, which belongs to the node alone.
func (d *Dag) Private(id codec.ContextID, appKey []byte) ([]byte, error) {
	res, err := dagCall(d.c, "private state", d.c.dag.GetPrivate, &stoav1.DagGetPrivateRequest{ContextId: id[:], AppKey: appKey})
	return present(res.GetValue(), err)
}

func present(value []byte, err error) ([]byte, error) {
	if err == nil && value == nil {
		err = engine.ErrNotFound
	}
	return value, err
}

// WritePrivate makes changes of the private state of a context, all or none, and
// says how many keys that it deletes had something. No key may come twice. It returns dag.ErrNoContext, *keys.Error for a key that is
// too long, or what engine.Writer's Apply does.
func (d *Dag) WritePrivate(id codec.ContextID, actions []codec.Action, durability engine.Durability) (deleted int, err error) {
	res, err := dagCall(d.c, "write private state", d.c.dag.WritePrivate, &stoav1.DagWritePrivateRequest{
		ContextId: id[:], Actions: dagwire.FromActions(actions), Durability: wireDurability(durability)})
	return int(res.GetDeleted()), err
}

func wireDurability(d engine.Durability) stoav1.Durability {
	if d == engine.WAL {
		return stoav1.Durability_DURABILITY_WAL
	}
	return stoav1.Durability_DURABILITY_SYNCED
}

// ScanState yields the shared state of a context whose keys are in r, in their
// order, in one consistent state. Keys and values are the receiver's. It ends
// after an error.
func (d *Dag) ScanState(ctx context.Context, id codec.ContextID, r engine.Range) iter.Seq2[StateEntry, error] {
	return d.scan(ctx, "scan state", func(ctx context.Context) (pages, error) {
		s, err := d.c.dag.ScanState(ctx, &stoav1.DagScanStateRequest{
			ContextId: id[:], Start: r.Start, End: r.End, Reverse: r.Reverse, Limit: uint64(max(r.Limit, 0))})
		return func() (page, error) { return s.Recv() }, err
	})
}

// ScanPrivate is ScanState for the private state.
func (d *Dag) ScanPrivate(ctx context.Context, id codec.ContextID, r engine.Range) iter.Seq2[StateEntry, error] {
	return d.scan(ctx, "scan private state", func(ctx context.Context) (pages, error) {
		s, err := d.c.dag.ScanPrivate(ctx, &stoav1.DagScanPrivateRequest{
			ContextId: id[:], Start: r.Start, End: r.End, Reverse: r.Reverse, Limit: uint64(max(r.Limit, 0))})
		return func() (page, error) { return s.Recv() }, err
	})
}

// page is a page of a scan, and pages returns the next.
type (
	page  interface{ GetEntries() []byte }
	pages func() (page, error)
)

func (d *Dag) scan(ctx context.Context, op string, open func(context.Context) (pages, error)) iter.Seq2[StateEntry, error] {
	return func(yield func(StateEntry, error) bool) {
		ctx, cancel := d.c.within(ctx)
		defer cancel()
		next, err := open(ctx)
		for err == nil {
			var p page
			if p, err = next(); err != nil {
				break
			}
			for rest := p.GetEntries(); len(rest) > 0; {
				key, value, after, ok := engine.CutEntry(rest)
				if !ok {
					yield(StateEntry{}, fmt.Errorf("rpc: %s: %w: a page does not parse", op, engine.ErrCorrupt))
					return
				}
				if !yield(StateEntry{AppKey: key, Value: value}, nil) {
					return
				}
				rest = after
			}
		}
		if !errors.Is(err, io.EOF) {
			yield(StateEntry{}, d.c.failed(op, err))
		}
	}
}
