package rpc

import (
	"context"
	"errors"
	"iter"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// allNamespaces are the arguments of List.
type allNamespaces struct {
	after[codec.GroupID]
	at codec.GroupID
}

// About returns the namespace that could not be described, if it was one.
func (a *allNamespaces) About() (name, value string) {
	if a.at.IsZero() {
		return "", ""
	}
	return fault.FieldNamespace, a.at.String()
}

var nsList = op.New(op.Method{Number: 309, Name: "Namespace.List", Role: access.Reader},
	func(_ context.Context, s *namespace.Store, a *allNamespaces) (paged[namespace.Info, codec.GroupID], error) {
		return page(&a.after, func(last codec.GroupID, limit int) (list []namespace.Info, err error) {
			ids, err := s.Namespaces(last, limit)
			for i := 0; i < len(ids) && err == nil; i++ {
				var info namespace.Info
				if info, err = s.Namespace(ids[i]); err != nil {
					a.at = ids[i]
				}
				list = append(list, info)
			}
			return list, err
		}, func(i *namespace.Info) codec.GroupID { return i.ID })
	})

// List yields all namespaces in the order of their ids.
func (n *Namespaces) List(ctx context.Context) iter.Seq2[namespace.Info, error] {
	return pages(ctx, n.c, nsList, allNamespaces{})
}

var nsGet = op.New(op.Method{Number: 310, Name: "Namespace.Get", Role: access.Reader},
	func(_ context.Context, s *namespace.Store, a *inNamespace) (namespace.Info, error) {
		return s.Namespace(a.NamespaceID)
	})

// Namespace describes a namespace, also one in which the daemon has an identity and no
// op yet; see [namespace.Store.Namespace].
func (n *Namespaces) Namespace(ctx context.Context, ns codec.GroupID) (namespace.Info, error) {
	return call(ctx, n.c, nsGet, inNamespace{ns})
}

var nsTree = op.New(op.Method{Number: 311, Name: "Namespace.Tree", Role: access.Reader},
	func(_ context.Context, s *namespace.Store, a *inNamespace) ([]namespace.TreeGroup, error) {
		return s.Tree(a.NamespaceID)
	})

// Tree returns the groups of a namespace, each after its parent, siblings by id; see
// [namespace.Store.Tree].
func (n *Namespaces) Tree(ctx context.Context, ns codec.GroupID) ([]namespace.TreeGroup, error) {
	return call(ctx, n.c, nsTree, inNamespace{ns})
}

var nsHeads = op.New(op.Method{Number: 312, Name: "Namespace.Heads", Role: access.Reader},
	func(_ context.Context, s *namespace.Store, a *inNamespace) ([]codec.OpID, error) {
		return s.Heads(context.Background(), a.NamespaceID)
	})

// Heads returns the ops of a namespace that no other descends from, by id; none: it
// has not begun here; see [namespace.Store.Heads].
func (n *Namespaces) Heads(ctx context.Context, ns codec.GroupID) ([]codec.OpID, error) {
	return call(ctx, n.c, nsHeads, inNamespace{ns})
}

// ofOp are arguments about an op of a namespace.
type ofOp struct {
	inNamespace
	OpID codec.OpID
}

var nsOp = op.New(op.Method{Number: 313, Name: "Namespace.GetOp", Role: access.Reader},
	func(_ context.Context, s *namespace.Store, a *ofOp) (namespace.OpInfo, error) {
		return s.Op(a.NamespaceID, a.OpID)
	})

// Op returns an op of a namespace, or [namespace.ErrNoOp]; see [namespace.Store.Op].
// The height of the op and its number in a log are left out.
func (n *Namespaces) Op(ctx context.Context, ns codec.GroupID, id codec.OpID) (namespace.OpInfo, error) {
	return call(ctx, n.c, nsOp, ofOp{inNamespace{ns}, id})
}

// pageOfNamespace are the arguments of a page of a list of a namespace.
type pageOfNamespace[N any] struct {
	inNamespace
	after[N]
}

var nsMissing = op.New(op.Method{Number: 315, Name: "Namespace.Missing", Role: access.Reader},
	func(_ context.Context, s *namespace.Store, a *pageOfNamespace[codec.OpID]) (paged[codec.OpID, codec.OpID], error) {
		return page(&a.after, func(last codec.OpID, limit int) ([]codec.OpID, error) { return s.Missing(a.NamespaceID, last, limit) }, itself)
	})

// Missing yields the ops that others wait for and that are not here, in the order of their
// ids.
func (n *Namespaces) Missing(ctx context.Context, ns codec.GroupID) iter.Seq2[codec.OpID, error] {
	return pages(ctx, n.c, nsMissing, pageOfNamespace[codec.OpID]{inNamespace: inNamespace{ns}})
}

// waiting is how many ops wait for others.
type waiting struct {
	Ops   int
	Bytes int64
}

var nsPending = op.New(op.Method{Number: 316, Name: "Namespace.Pending", Role: access.Reader},
	func(_ context.Context, s *namespace.Store, a *inNamespace) (w waiting, err error) {
		w.Ops, w.Bytes, err = s.Waiting(a.NamespaceID)
		return w, err
	})

// Waiting returns how many ops of a namespace wait for ancestors, and their bytes; see
// [namespace.Store.Waiting].
func (n *Namespaces) Waiting(ctx context.Context, ns codec.GroupID) (count int, bytes int64, err error) {
	w, err := call(ctx, n.c, nsPending, inNamespace{ns})
	return w.Ops, w.Bytes, err
}

var nsListPending = op.New(op.Method{Number: 322, Name: "Namespace.ListPending", Role: access.Reader},
	func(_ context.Context, s *namespace.Store, a *pageOfNamespace[codec.OpID]) (paged[namespace.PendingOp, codec.OpID], error) {
		return page(&a.after, func(last codec.OpID, limit int) ([]namespace.PendingOp, error) {
			return s.PendingOps(a.NamespaceID, last, limit)
		},
			func(p *namespace.PendingOp) codec.OpID { return p.ID })
	})

// PendingOps yields the ops that wait for others, in the order of their ids.
func (n *Namespaces) PendingOps(ctx context.Context, ns codec.GroupID) iter.Seq2[namespace.PendingOp, error] {
	return pages(ctx, n.c, nsListPending, pageOfNamespace[codec.OpID]{inNamespace: inNamespace{ns}})
}

// droppingPending are the arguments of DropPending.
type droppingPending struct {
	inNamespace
	Signer codec.Identity `wire:",optional"`
}

var nsDropPending = op.New(op.Method{Number: 323, Name: "Namespace.DropPending", Role: access.Operator},
	func(_ context.Context, s *namespace.Store, a *droppingPending) (w waiting, err error) {
		w.Ops, w.Bytes, err = s.DropPending(a.NamespaceID, a.Signer)
		return w, err
	})

// DropPending has ops of a namespace wait no longer, those of signer only unless it is
// zeros, and returns how many they were, and their bytes; see
// [namespace.Store.DropPending].
func (n *Namespaces) DropPending(ctx context.Context, ns codec.GroupID, signer codec.Identity) (count int, bytes int64, err error) {
	w, err := call(ctx, n.c, nsDropPending, droppingPending{inNamespace{ns}, signer})
	return w.Ops, w.Bytes, err
}

var nsEquivocations = op.New(op.Method{Number: 317, Name: "Namespace.Equivocations", Role: access.Reader},
	func(_ context.Context, s *namespace.Store, a *pageOfNamespace[group.Equivocation]) (paged[group.Equivocation, group.Equivocation], error) {
		return page(&a.after, func(last group.Equivocation, limit int) ([]group.Equivocation, error) {
			return s.Equivocations(a.NamespaceID, last, limit)
		}, itself)
	})

// Equivocations yields where one signer gave one nonce to several ops, in the order of the
// signers and nonces.
func (n *Namespaces) Equivocations(ctx context.Context, ns codec.GroupID) iter.Seq2[group.Equivocation, error] {
	return pages(ctx, n.c, nsEquivocations, pageOfNamespace[group.Equivocation]{inNamespace: inNamespace{ns}})
}

// opsSince are the arguments of OpsSince.
type opsSince struct {
	inNamespace
	Heads  []codec.OpID
	Cursor uint64
}

var nsOpsSince = op.NewStream(op.Method{Number: 314, Name: "Namespace.OpsSince", Role: access.Reader},
	func(ctx context.Context, s *namespace.Store, a *opsSince) iter.Seq2[namespace.Sent, error] {
		return s.OpsSince(ctx, a.NamespaceID, a.Heads, a.Cursor)
	}, func(o *namespace.Sent) int { return 64 + len(o.Wire) }, op.QueueBytes)

// OpsSince yields the ops of a namespace that are neither among heads, nor ancestors
// of one, each after its ancestors: what somebody lacks who has those heads; see
// [namespace.Store.OpsSince].
func (n *Namespaces) OpsSince(ctx context.Context, ns codec.GroupID, heads []codec.OpID, cursor uint64) iter.Seq2[namespace.Sent, error] {
	return streamed(ctx, n.c, nsOpsSince, opsSince{inNamespace{ns}, heads, cursor})
}

// GovReport is what Verify finds in a namespace.
type GovReport struct {
	Ops      int // that are there
	Findings []namespace.Finding
	More     int // findings that are not listed
}

// verified is a part of what Verify finds: a finding, or last the summary.
type verified struct {
	Finding *namespace.Finding
	Summary *verifySummary
}

// verifySummary ends what Verify finds.
type verifySummary struct{ Ops, More int }

// maxFindings is how many findings a report has.
const maxFindings = 1000

var nsVerify = op.NewStream(op.Method{Number: 321, Name: "Namespace.Verify", Role: access.Reader},
	func(ctx context.Context, s *namespace.Store, a *inNamespace) iter.Seq2[verified, error] {
		return func(yield func(verified, error) bool) {
			info, err := s.Namespace(a.NamespaceID)
			var found []namespace.Finding
			if err == nil {
				found, err = s.Verify(ctx, a.NamespaceID)
			}
			if err != nil {
				yield(verified{}, err)
				return
			}
			listed := found[:min(len(found), maxFindings)]
			for i := range listed {
				if !yield(verified{Finding: &listed[i]}, nil) {
					return
				}
			}
			yield(verified{Summary: &verifySummary{info.Ops, len(found) - len(listed)}}, nil)
		}
	}, func(*verified) int { return 1024 }, op.QueueBytes)

// Verify takes all ops of a namespace in again, and returns every difference between
// what follows from them and what is stored; see [namespace.Store.Verify]. The daemon
// does so in its memory, which takes as much as the namespace does.
func (n *Namespaces) Verify(ctx context.Context, ns codec.GroupID) (report GovReport, err error) {
	for part, err := range streamed(ctx, n.c, nsVerify, inNamespace{ns}) {
		switch {
		case err != nil:
			return report, err
		case part.Summary != nil:
			report.Ops, report.More = part.Summary.Ops, part.Summary.More
			return report, nil
		case part.Finding != nil:
			report.Findings = append(report.Findings, *part.Finding)
		}
	}
	return report, caller.Odd(nsVerify.Name, errors.New("no summary"))
}
