package rpc

import (
	"context"
	"iter"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// logWindow are the arguments of a page of the log of a group.
type logWindow struct {
	inGroup
	From    uint64
	Reverse bool
	Limit   uint32
}

var groupOps = op.New(op.Method{Number: 405, Name: "Group.Ops", Role: access.Reader},
	func(ctx context.Context, s *namespace.Store, a *logWindow) (paged[namespace.Entry, uint64], error) {
		asked := after[uint64]{a.From, int(a.Limit)}
		ops := s.Ops(ctx, a.GroupID, namespace.Window{From: a.From, Reverse: a.Reverse, Limit: asked.limit() + 1})
		return cut(&asked, ops, func(e *namespace.Entry) uint64 {
			if a.Reverse {
				return e.Seq - 1
			}
			return e.Seq + 1
		})
	})

// Ops yields the ops of a group that are in a window of its log, as [namespace.Store.Ops]
// does, but without the signatures. It asks for them page by page.
func (g *Groups) Ops(ctx context.Context, id codec.GroupID, w namespace.Window) iter.Seq2[namespace.Entry, error] {
	return caller.Pagewise(groupOps.Name, w.Limit, w.From, func(from uint64, limit int) ([]namespace.Entry, uint64, error) {
		p, err := call(ctx, g.c, groupOps, logWindow{inGroup{id}, from, w.Reverse, uint32(limit)})
		return p.List, p.Next, err
	})
}

// following are the arguments of Follow.
type following struct {
	inGroup
	After uint64
	Live  bool
}

// eventBytes is what an event takes in memory, about: ops of groups are small.
const eventBytes = 1024

var groupFollow = op.NewStream(op.Method{Number: 406, Name: "Group.Follow", Role: access.Reader},
	func(ctx context.Context, s *namespace.Store, a *following) iter.Seq2[namespace.Event, error] {
		return s.Follow(ctx, a.GroupID, a.After, a.Live)
	}, func(*namespace.Event) int { return eventBytes }, op.QueueBytes)

// Follow yields the readable ops of a group after number from, and changes of the
// verdicts on ops up to there while it runs; see [namespace.Store.Follow]. It leaves
// out the signatures.
func (g *Groups) Follow(ctx context.Context, id codec.GroupID, after uint64, live bool) iter.Seq2[namespace.Event, error] {
	return streamed(ctx, g.c, groupFollow, following{inGroup{id}, after, live})
}

var groupVoided = op.New(op.Method{Number: 407, Name: "Group.Voided", Role: access.Reader},
	func(_ context.Context, s *namespace.Store, a *inGroup) ([]namespace.Voided, error) {
		return s.Voided(a.GroupID)
	})

// Voided returns the ops of a group by the daemon that a revocation voided which it had
// not seen, and that were not proposed again, oldest first; of a namespace also its root
// ops. See [namespace.Store.Voided].
func (g *Groups) Voided(ctx context.Context, id codec.GroupID) ([]namespace.Voided, error) {
	return call(ctx, g.c, groupVoided, inGroup{id})
}

var groupReissue = op.New(op.Method{Number: 408, Name: "Group.Reissue", Role: access.Signer},
	func(ctx context.Context, s *namespace.Store, a *inGroup) ([]namespace.Reissued, error) {
		list, err := s.Reissue(ctx, a.GroupID)
		for i := range list {
			if list[i].Err != nil {
				list[i].New = namespace.Proposed{} // nothing was made
			}
		}
		return list, err
	})

// Reissue proposes again what [Groups.Voided] lists, each in a batch of its own with
// the note that it was; see [namespace.Store.Reissue]. The errors in it say why for
// people only.
func (g *Groups) Reissue(ctx context.Context, id codec.GroupID) ([]namespace.Reissued, error) {
	return call(ctx, g.c, groupReissue, inGroup{id})
}
