package rpc

import (
	"context"
	"iter"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/backend"
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/dagwire"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// entries yields applied deltas as they go over the wire.
func entries(all iter.Seq2[dag.AppliedDelta, error], decode bool) iter.Seq2[*stoav1.DagEntry, error] {
	return func(yield func(*stoav1.DagEntry, error) bool) {
		for a, err := range all {
			var e *stoav1.DagEntry
			if err == nil {
				e, err = dagwire.FromApplied(&a, decode)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// appliedIn yields the applied deltas that came over the wire.
func appliedIn(name string, all iter.Seq2[*stoav1.DagEntry, error]) iter.Seq2[dag.AppliedDelta, error] {
	return func(yield func(dag.AppliedDelta, error) bool) {
		for e, err := range all {
			var a dag.AppliedDelta
			if err == nil {
				a, err = dagwire.Applied(e)
				err = caller.Odd(name, err)
			}
			if !yield(a, err) || err != nil {
				return
			}
		}
	}
}

// dagLacking are the arguments of Since.
type dagLacking struct {
	dagContext
	Heads  []codec.DeltaID
	After  dag.Position
	Limit  uint64 // 0: none
	Decode bool
}

// dagLacked is what comes first of Since, heads that are unknown, or a delta.
type dagLacked struct {
	unknown []codec.DeltaID
	entry   *stoav1.DagEntry
}

var dagLackedItems = &op.Custom[stoav1.DagSinceResponse, []dagLacked]{
	Fill: func(m *stoav1.DagSinceResponse, items *[]dagLacked) error {
		for _, i := range *items {
			if i.entry == nil {
				m.Unknown = op.FromIDs(i.unknown)
			} else {
				m.Entries = append(m.Entries, i.entry)
			}
		}
		return nil
	},
	Parse: func(m *stoav1.DagSinceResponse, items *[]dagLacked) error {
		unknown, err := op.ParseIDs[codec.DeltaID]("unknown", m.GetUnknown())
		if len(unknown) > 0 {
			*items = append(*items, dagLacked{unknown: unknown})
		}
		for _, e := range m.GetEntries() {
			*items = append(*items, dagLacked{entry: e})
		}
		return err
	},
}

var dagSince = op.NewStreamBy(op.Method{Number: 621, Name: "Dag.Since", Role: access.Reader}, sinceDag, func(i *dagLacked) int {
	if i.entry == nil {
		return 32 * len(i.unknown)
	}
	return dagwire.EntryBytes(i.entry)
}, op.QueueBytes, dagLackedItems)

func sinceDag(ctx context.Context, s *backend.Contexts, a *dagLacking) iter.Seq2[dagLacked, error] {
	return func(yield func(dagLacked, error) bool) {
		var unknown []codec.DeltaID
		told := func() bool {
			ids := unknown
			unknown = nil
			return ids == nil || yield(dagLacked{unknown: ids}, nil)
		}
		n := uint64(0)
		all := s.Since(ctx, a.ContextID, a.Heads, dag.SinceOptions{After: a.After, Unknown: func(ids []codec.DeltaID) { unknown = ids }})
		for e, err := range entries(all, a.Decode) {
			if n++; !told() || !yield(dagLacked{entry: e}, err) || n == a.Limit {
				return
			}
		}
		told()
	}
}

// Since yields the applied deltas of a context that are neither among heads nor
// ancestors of them, parents first: what a node with these heads lacks; see
// [dag.Store.Since].
func (d *Dag) Since(ctx context.Context, id codec.ContextID, heads []codec.DeltaID, o dag.SinceOptions) iter.Seq2[dag.AppliedDelta, error] {
	return appliedIn(dagSince.Name, func(yield func(*stoav1.DagEntry, error) bool) {
		for item, err := range streamed(ctx, d.c, dagSince, dagLacking{dagContext: dagContext{id}, Heads: heads, After: o.After}) {
			switch {
			case item.unknown == nil:
				if !yield(item.entry, err) {
					return
				}
			case o.Unknown != nil:
				o.Unknown(item.unknown)
			}
		}
	})
}

// dagFollowing are the arguments of Follow.
type dagFollowing struct {
	dagContext
	Cursor       string
	From         uint64
	Live, Decode bool
}

var dagFollow = op.NewStream(op.Method{Number: 624, Name: "Dag.Follow", Role: access.Reader},
	func(ctx context.Context, s *backend.Contexts, a *dagFollowing) iter.Seq2[*stoav1.DagEntry, error] {
		return entries(s.Follow(ctx, a.ContextID, dag.FollowOptions{Cursor: a.Cursor, From: a.From, Live: a.Live}), a.Decode)
	}, func(e **stoav1.DagEntry) int { return dagwire.EntryBytes(*e) }, op.QueueBytes)

// Follow yields the applied deltas of a context with their events, in the order in
// which the daemon has applied them, its own among them; see [dag.Store.Follow].
func (d *Dag) Follow(ctx context.Context, id codec.ContextID, o dag.FollowOptions) iter.Seq2[dag.AppliedDelta, error] {
	return appliedIn(dagFollow.Name, streamed(ctx, d.c, dagFollow, dagFollowing{dagContext{id}, o.Cursor, o.From, o.Live, false}))
}

// Header is an applied delta without what it does, at its place.
type Header struct {
	dag.Position
	Parents      []codec.DeltaID
	HLC          codec.HybridTimestamp
	ExpectedRoot codec.Hash     `wire:"expected_root_hash,hash"`
	Actions      uint32         // how many
	Events       uint32         // how many
	Size         uint32         // bytes, as it travels
	Base         bool           // the context begins with it
	Author       codec.Identity `wire:",optional"` // who has signed it; zero: nobody
}

func headerOf(s *backend.Contexts, id codec.ContextID, a *dag.AppliedDelta) (Header, error) {
	b, err := a.Delta.AppendBinary(nil)
	if err != nil {
		return Header{}, err
	}
	author, err := s.Author(id, a.Position.Delta)
	return Header{a.Position, a.Parents, a.HLC, a.ExpectedRoot, uint32(len(a.Actions)), uint32(len(a.Events)), uint32(len(b)), a.Base, author}, err
}

// dagWalking are the arguments of a page of a walk.
type dagWalking struct {
	dagContext
	From   []codec.DeltaID
	Before dag.Position
	Limit  int
}

// dagWalked is a page of a walk.
type dagWalked struct {
	Deltas []Header
	More   bool
}

var dagWalk = op.New(op.Method{Number: 622, Name: "Dag.Walk", Role: access.Reader},
	func(ctx context.Context, s *backend.Contexts, a *dagWalking) (p dagWalked, err error) {
		o := dag.WalkOptions{From: a.From, Before: a.Before, Limit: pageLimit(a.Limit)}
		for applied, err := range s.Walk(ctx, a.ContextID, o) {
			if err != nil {
				return p, err
			}
			h, err := headerOf(s, a.ContextID, &applied)
			if err != nil {
				return p, err
			}
			p.Deltas = append(p.Deltas, h)
		}
		p.More = len(p.Deltas) == o.Limit
		return p, nil
	})

// Walk yields applied deltas and all their ancestors as [dag.Store.Walk] does, but
// without what they do, which Get has. It asks for them page by page.
func (d *Dag) Walk(ctx context.Context, id codec.ContextID, o dag.WalkOptions) iter.Seq2[Header, error] {
	return caller.Pagewise(dagWalk.Name, o.Limit, o.Before, func(before dag.Position, limit int) (_ []Header, next dag.Position, err error) {
		p, err := call(ctx, d.c, dagWalk, dagWalking{dagContext{id}, o.From, before, limit})
		if p.More && len(p.Deltas) > 0 {
			next = p.Deltas[len(p.Deltas)-1].Position
		}
		return p.Deltas, next, err
	})
}

// dagRelated are the arguments of IsAncestor.
type dagRelated struct {
	dagContext
	Ancestor, Descendant codec.DeltaID
}

var dagIsAncestor = op.New(op.Method{Number: 623, Name: "Dag.IsAncestor", Role: access.Reader},
	func(ctx context.Context, s *backend.Contexts, a *dagRelated) (bool, error) {
		return s.IsAncestor(ctx, a.ContextID, a.Ancestor, a.Descendant)
	})

// IsAncestor reports whether the applied delta a is an ancestor of the applied delta
// b, which no delta is of itself; see [dag.Store.IsAncestor].
func (d *Dag) IsAncestor(ctx context.Context, id codec.ContextID, a, b codec.DeltaID) (bool, error) {
	return call(ctx, d.c, dagIsAncestor, dagRelated{dagContext{id}, a, b})
}

// dagAcking are the arguments of Ack.
type dagAcking struct {
	dagContext
	Cursor     string
	At         dag.Position
	Durability engine.Durability
}

var dagAck = op.New(op.Method{Number: 625, Name: "Dag.Ack", Role: access.Writer},
	func(_ context.Context, s *backend.Contexts, a *dagAcking) (op.Nothing, error) {
		if err := s.There(a.ContextID); err != nil {
			return op.Nothing{}, err
		}
		return op.Nothing{}, s.Ack(a.ContextID, a.Cursor, a.At, a.Durability)
	})

// Ack notes that the follower of that name is done with the delta at a position and
// with all before it; see [dag.Store.Ack].
func (d *Dag) Ack(ctx context.Context, id codec.ContextID, name string, at dag.Position, durability engine.Durability) error {
	_, err := call(ctx, d.c, dagAck, dagAcking{dagContext{id}, name, at, durability})
	return err
}

var dagCursorsOf = op.New(op.Method{Number: 626, Name: "Dag.Cursors", Role: access.Reader},
	func(_ context.Context, s *backend.Contexts, a *dagPage[string]) (p paged[dag.Cursor, string], err error) {
		if err := s.There(a.ContextID); err != nil {
			return p, err
		}
		return page(&a.after, func(last string, limit int) ([]dag.Cursor, error) { return s.Cursors(a.ContextID, last, limit) },
			func(c *dag.Cursor) string { return c.Name })
	})

// Cursors yields the cursors of a context in the order of their names.
func (d *Dag) Cursors(ctx context.Context, id codec.ContextID) iter.Seq2[dag.Cursor, error] {
	return pages(ctx, d.c, dagCursorsOf, listOf[string](id))
}

// dagCursor are arguments about a cursor.
type dagCursor struct {
	dagContext
	Cursor string
}

var dagDropCursor = op.New(op.Method{Number: 627, Name: "Dag.DropCursor", Role: access.Writer},
	func(_ context.Context, s *backend.Contexts, a *dagCursor) (existed bool, err error) {
		if err := s.There(a.ContextID); err != nil {
			return false, err
		}
		return s.DropCursor(a.ContextID, a.Cursor)
	})

// DropCursor forgets a cursor, and says whether there was one; see
// [dag.Store.DropCursor].
func (d *Dag) DropCursor(ctx context.Context, id codec.ContextID, name string) (existed bool, err error) {
	return call(ctx, d.c, dagDropCursor, dagCursor{dagContext{id}, name})
}
