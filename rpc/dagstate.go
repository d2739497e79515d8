package rpc

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/backend"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/internal/wire"
)

// dagKey are arguments about a key of a state.
type dagKey struct {
	dagContext
	AppKey []byte
}

// unlessAbsent returns what a state has under a key, nil if nothing.
func unlessAbsent(value []byte, err error) ([]byte, error) {
	if errors.Is(err, engine.ErrNotFound) {
		return nil, nil
	}
	return value, err
}

var dagState = op.New(op.Method{Number: 608, Name: "Dag.GetState", Role: access.Reader, Short: true},
	func(_ context.Context, s *backend.Contexts, a *dagKey) ([]byte, error) {
		return unlessAbsent(s.Value(a.ContextID, a.AppKey))
	})

// State returns the value that the shared state of a context has under a key. It
// returns engine.ErrNotFound if there is none, or dag.ErrNoContext.
func (d *Dag) State(ctx context.Context, id codec.ContextID, appKey []byte) ([]byte, error) {
	return present(call(ctx, d.c, dagState, dagKey{dagContext{id}, appKey}))
}

var dagPrivate = op.New(op.Method{Number: 610, Name: "Dag.GetPrivate", Role: access.Reader, Short: true},
	func(_ context.Context, s *backend.Contexts, a *dagKey) ([]byte, error) {
		return unlessAbsent(s.Private(a.ContextID, a.AppKey))
	})

// Private is State for the private state, which belongs to the node alone.
func (d *Dag) Private(ctx context.Context, id codec.ContextID, appKey []byte) ([]byte, error) {
	return present(call(ctx, d.c, dagPrivate, dagKey{dagContext{id}, appKey}))
}

func present(value []byte, err error) ([]byte, error) {
	if err == nil && value == nil {
		err = engine.ErrNotFound
	}
	return value, err
}

// dagWriting are the arguments of WritePrivate.
type dagWriting struct {
	dagContext
	Actions    []codec.Action
	Durability engine.Durability
}

var dagWritePrivate = op.New(op.Method{Number: 611, Name: "Dag.WritePrivate", Role: access.Signer},
	func(ctx context.Context, s *backend.Contexts, a *dagWriting) (deleted int, err error) {
		seen := make(map[string]bool, len(a.Actions))
		for _, action := range a.Actions {
			if seen[string(action.Key)] {
				return 0, &op.FieldError{Field: "actions", Reason: "a key comes twice"}
			}
			seen[string(action.Key)] = true
		}
		return s.WritePrivate(ctx, a.ContextID, a.Actions, a.Durability)
	})

// WritePrivate makes changes of the private state of a context, all or none, and
// says how many keys that it deletes had something. No key may come twice. It returns dag.ErrNoContext, *keys.Error for a key that is
// too long, or what engine.Writer's Apply does.
func (d *Dag) WritePrivate(ctx context.Context, id codec.ContextID, actions []codec.Action, durability engine.Durability) (deleted int, err error) {
	return call(ctx, d.c, dagWritePrivate, dagWriting{dagContext{id}, actions, durability})
}

// dagRange are arguments that name keys of a state.
type dagRange struct {
	dagContext
	Start, End, Prefix []byte // End nil: there is none
	Reverse            bool
	Limit              uint64
}

// within returns the keys that are in every bound given.
func (a *dagRange) within() (engine.Range, error) {
	r := engine.Range{Start: a.Start, End: a.End, Reverse: a.Reverse}.WithPrefix(a.Prefix)
	if a.Limit > math.MaxInt {
		return r, &op.FieldError{Field: "limit", Reason: "too large"}
	}
	r.Limit = int(a.Limit)
	return r, nil
}

// statePage is keys and values of a state, packed.
type statePage struct {
	Entries []byte
	Count   uint32
}

// statePages yields pages of a scan, the first of them small. Each is good until the next.
func statePages(ctx context.Context, a *dagRange, scan func(context.Context, codec.ContextID, engine.Range) iter.Seq2[dag.StateEntry, error]) iter.Seq2[statePage, error] {
	return func(yield func(statePage, error) bool) {
		r, err := a.within()
		if err != nil {
			yield(statePage{}, err)
			return
		}
		p, most := statePage{}, uint32(wire.FirstPageEntries)
		for e, err := range scan(ctx, a.ContextID, r) {
			if err != nil {
				yield(statePage{}, err)
				return
			}
			if p.Count > 0 && (p.Count == most || len(p.Entries)+len(e.AppKey)+len(e.Value) > wire.MaxPage) {
				if !yield(p, nil) {
					return
				}
				p, most = statePage{Entries: p.Entries[:0]}, min(most*wire.PageGrowth, wire.MaxPageEntries)
			}
			p.Entries = engine.AppendEntry(p.Entries, e.AppKey, e.Value)
			p.Count++
		}
		if p.Count > 0 {
			yield(p, nil)
		}
	}
}

var dagScanState = op.NewStream(op.Method{Number: 609, Name: "Dag.ScanState", Role: access.Reader},
	func(ctx context.Context, s *backend.Contexts, a *dagRange) iter.Seq2[statePage, error] {
		return statePages(ctx, a, s.ScanState)
	}, nil, 0)

// ScanState yields the shared state of a context whose keys are in r, in their
// order, in one consistent state. Keys and values are the receiver's. It ends
// after an error.
func (d *Dag) ScanState(ctx context.Context, id codec.ContextID, r engine.Range) iter.Seq2[dag.StateEntry, error] {
	return d.scan(ctx, dagScanState, id, r)
}

var dagScanPrivate = op.NewStream(op.Method{Number: 612, Name: "Dag.ScanPrivate", Role: access.Reader},
	func(ctx context.Context, s *backend.Contexts, a *dagRange) iter.Seq2[statePage, error] {
		return statePages(ctx, a, s.ScanPrivate)
	}, nil, 0)

// ScanPrivate is ScanState for the private state.
func (d *Dag) ScanPrivate(ctx context.Context, id codec.ContextID, r engine.Range) iter.Seq2[dag.StateEntry, error] {
	return d.scan(ctx, dagScanPrivate, id, r)
}

func (d *Dag) scan(ctx context.Context, o *op.Stream[*backend.Contexts, dagRange, statePage], id codec.ContextID, r engine.Range) iter.Seq2[dag.StateEntry, error] {
	return func(yield func(dag.StateEntry, error) bool) {
		a := dagRange{dagContext: dagContext{id}, Start: r.Start, End: r.End, Reverse: r.Reverse, Limit: uint64(max(r.Limit, 0))}
		for p, err := range streamed(ctx, d.c, o, a) {
			if err != nil {
				yield(dag.StateEntry{}, err)
				return
			}
			for rest := p.Entries; len(rest) > 0; {
				key, value, after, ok := engine.CutEntry(rest)
				if !ok {
					yield(dag.StateEntry{}, fmt.Errorf("rpc: %s: %w: a page does not parse", o.Name, engine.ErrCorrupt))
					return
				}
				if !yield(dag.StateEntry{AppKey: key, Value: value}, nil) {
					return
				}
				rest = after
			}
		}
	}
}
