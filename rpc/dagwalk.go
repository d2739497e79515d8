package rpc

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc/internal/dagwire"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Since is dag.Store's.
func (d *Dag) Since(ctx context.Context, id codec.ContextID, heads []codec.DeltaID, o dag.SinceOptions) iter.Seq2[dag.AppliedDelta, error] {
	return func(yield func(dag.AppliedDelta, error) bool) {
		ctx, cancel := d.c.within(ctx)
		defer cancel()
		s, err := d.c.dag.Since(ctx, &stoav1.DagSinceRequest{ContextId: id[:], Heads: op.FromIDs(heads), After: dagwire.FromPosition(o.After)})
		for err == nil {
			var m *stoav1.DagSinceResponse
			if m, err = s.Recv(); err != nil {
				break
			}
			unknown, odds := op.ParseIDs[codec.DeltaID]("unknown", m.GetUnknown())
			if odds != nil {
				yield(dag.AppliedDelta{}, odd("since", odds))
				return
			}
			if len(unknown) > 0 && o.Unknown != nil {
				o.Unknown(unknown)
			}
			if !yieldEntries("since", m.GetEntries(), yield) {
				return
			}
		}
		if !errors.Is(err, io.EOF) {
			yield(dag.AppliedDelta{}, d.c.failed("since", err))
		}
	}
}

// yieldEntries yields the entries of a message. It returns false if that was the
// last one wanted, or makes no sense.
func yieldEntries(op string, entries []*stoav1.DagEntry, yield func(dag.AppliedDelta, error) bool) bool {
	for _, e := range entries {
		a, err := dagwire.Applied(e)
		if !yield(a, odd(op, err)) || err != nil {
			return false
		}
	}
	return true
}

// Follow is dag.Store's.
func (d *Dag) Follow(ctx context.Context, id codec.ContextID, o dag.FollowOptions) iter.Seq2[dag.AppliedDelta, error] {
	return func(yield func(dag.AppliedDelta, error) bool) {
		ctx, cancel := d.c.within(ctx)
		defer cancel()
		s, err := d.c.dag.Follow(ctx, &stoav1.DagFollowRequest{ContextId: id[:], Cursor: o.Cursor, From: o.From, Live: o.Live})
		for err == nil {
			var m *stoav1.DagFollowResponse
			if m, err = s.Recv(); err == nil && !yieldEntries("follow", m.GetEntries(), yield) {
				return
			}
		}
		if !errors.Is(err, io.EOF) {
			yield(dag.AppliedDelta{}, d.c.failed("follow", err))
		}
	}
}

// Header is an applied delta without what it does, at its place.
type Header struct {
	dag.Position
	Parents      []codec.DeltaID
	HLC          codec.HybridTimestamp
	ExpectedRoot codec.Hash
	Actions      uint32 // how many
	Events       uint32 // how many
	Size         uint32 // bytes, as it travels
	Base         bool   // the context begins with it
}

// Walk yields applied deltas and all their ancestors as dag.Store's does, but
// without what they do, which Get has. It asks for them page by page.
func (d *Dag) Walk(ctx context.Context, id codec.ContextID, o dag.WalkOptions) iter.Seq2[Header, error] {
	return func(yield func(Header, error) bool) {
		client, cancel := d.until(ctx)
		defer cancel()
		ask := &stoav1.DagWalkRequest{ContextId: id[:], From: op.FromIDs(o.From), Before: dagwire.FromPosition(o.Before)}
		for left := o.Limit; ; {
			ask.Limit = pageOf(left)
			res, err := dagCall(client, "walk", d.c.dag.Walk, ask)
			if err != nil {
				yield(Header{}, err)
				return
			}
			for _, m := range res.GetDeltas() {
				h, err := headerOf(m)
				if !yield(h, odd("walk", err)) || err != nil {
					return
				}
				ask.Before = dagwire.FromPosition(h.Position)
			}
			n := len(res.GetDeltas())
			if left -= n; !res.GetMore() || n == 0 || o.Limit > 0 && left <= 0 {
				return
			}
			if o.Limit == 0 {
				left = 0
			}
		}
	}
}

func headerOf(m *stoav1.DagHeader) (h Header, err error) {
	h = Header{Actions: m.GetActions(), Events: m.GetEvents(), Size: m.GetSize(), Base: m.GetBase()}
	h.Seq = m.GetSeq()
	if h.Position.Delta, err = op.ParseID[codec.DeltaID]("delta_id", m.GetDeltaId()); err != nil {
		return h, err
	}
	if h.Parents, err = op.ParseIDs[codec.DeltaID]("parents", m.GetParents()); err != nil {
		return h, err
	}
	if h.HLC, err = dagwire.Stamp("hlc", m.GetHlc()); err != nil {
		return h, err
	}
	h.ExpectedRoot, err = op.ParseHash[codec.Hash]("expected_root_hash", m.GetExpectedRootHash())
	return h, err
}

// IsAncestor is dag.Store's.
func (d *Dag) IsAncestor(ctx context.Context, id codec.ContextID, a, b codec.DeltaID) (bool, error) {
	client, cancel := d.until(ctx)
	defer cancel()
	res, err := dagCall(client, "is ancestor", d.c.dag.IsAncestor, &stoav1.DagIsAncestorRequest{ContextId: id[:], Ancestor: a[:], Descendant: b[:]})
	return res.GetIsAncestor(), err
}

// Ack is dag.Store's.
func (d *Dag) Ack(id codec.ContextID, name string, at dag.Position, durability engine.Durability) error {
	_, err := dagCall(d.c, "ack", d.c.dag.Ack, &stoav1.DagAckRequest{
		ContextId: id[:], Cursor: name, At: dagwire.FromPosition(at), Durability: wireDurability(durability)})
	return err
}

// Cursors is dag.Store's; a limit over 1,000, or of 0, is one of 1,000.
func (d *Dag) Cursors(id codec.ContextID, after string, limit int) ([]dag.Cursor, error) {
	res, err := dagCall(d.c, "cursors", d.c.dag.Cursors, &stoav1.DagCursorsRequest{ContextId: id[:], After: after, Limit: pageOf(limit)})
	if err != nil {
		return nil, err
	}
	list := make([]dag.Cursor, len(res.GetCursors()))
	for i, m := range res.GetCursors() {
		list[i] = dag.Cursor{Name: m.GetName(), Seq: m.GetSeq()}
	}
	return list, nil
}

// DropCursor is dag.Store's.
func (d *Dag) DropCursor(id codec.ContextID, name string) (existed bool, err error) {
	res, err := dagCall(d.c, "drop cursor", d.c.dag.DropCursor, &stoav1.DagDropCursorRequest{ContextId: id[:], Cursor: name})
	return res.GetExisted(), err
}
