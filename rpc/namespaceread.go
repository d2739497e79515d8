package rpc

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc/internal/govwire"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// govPageOf returns a limit as a request for a page has it.
func govPageOf(limit int) uint32 { return uint32(min(max(limit, 0), MaxGovPage)) }

// collect returns what each message of an answer says.
func collect[M, T any](op string, list []M, from func(M) (T, error)) ([]T, error) {
	all := make([]T, 0, len(list))
	for _, m := range list {
		v, err := from(m)
		if err != nil {
			return nil, odd(op, err)
		}
		all = append(all, v)
	}
	return all, nil
}

// List returns the namespaces after one of them, by id; zeros: from the first. A limit
// over 1,000, or of 0, is one of 1,000.
func (n *Namespaces) List(after codec.GroupID, limit int) ([]namespace.Info, error) {
	res, err := dagCall(n.c, "namespaces", n.c.namespace.List,
		&stoav1.NamespaceListRequest{After: op.OptionalBytes(after), Limit: govPageOf(limit)})
	if err != nil {
		return nil, err
	}
	return collect("namespaces", res.GetNamespaces(), govwire.Namespace)
}

// Namespace is namespace.Store's.
func (n *Namespaces) Namespace(ns codec.GroupID) (namespace.Info, error) {
	res, err := dagCall(n.c, "namespace", n.c.namespace.Get, &stoav1.NamespaceGetRequest{NamespaceId: ns[:]})
	if err != nil {
		return namespace.Info{}, err
	}
	info, err := govwire.Namespace(res.GetNamespace())
	return info, odd("namespace", err)
}

// Tree is namespace.Store's.
func (n *Namespaces) Tree(ns codec.GroupID) ([]namespace.TreeGroup, error) {
	res, err := dagCall(n.c, "tree", n.c.namespace.Tree, &stoav1.NamespaceTreeRequest{NamespaceId: ns[:]})
	if err != nil {
		return nil, err
	}
	return collect("tree", res.GetGroups(), govwire.TreeGroup)
}

// Heads is namespace.Store's.
func (n *Namespaces) Heads(ns codec.GroupID) ([]codec.OpID, error) {
	res, err := dagCall(n.c, "heads", n.c.namespace.Heads, &stoav1.NamespaceHeadsRequest{NamespaceId: ns[:]})
	if err != nil {
		return nil, err
	}
	heads, err := op.ParseIDs[codec.OpID]("heads", res.GetHeads())
	return heads, odd("heads", err)
}

// Op is namespace.Store's, without the height of the op and its number in a log.
func (n *Namespaces) Op(ns codec.GroupID, id codec.OpID) (namespace.OpInfo, error) {
	res, err := dagCall(n.c, "op", n.c.namespace.GetOp, &stoav1.NamespaceGetOpRequest{NamespaceId: ns[:], OpId: id[:]})
	if err != nil {
		return namespace.OpInfo{}, err
	}
	op, err := govwire.Op(res.GetOp())
	return op, odd("op", err)
}

// Waiting is namespace.Store's.
func (n *Namespaces) Waiting(ns codec.GroupID) (count int, bytes int64, err error) {
	res, err := dagCall(n.c, "pending", n.c.namespace.Pending, &stoav1.NamespacePendingRequest{NamespaceId: ns[:]})
	return int(res.GetOps()), int64(res.GetBytes()), err
}

// PendingOps is namespace.Store's; a limit over 1,000, or of 0, is one of 1,000.
func (n *Namespaces) PendingOps(ns codec.GroupID, after codec.OpID, limit int) ([]namespace.PendingOp, error) {
	res, err := dagCall(n.c, "list pending", n.c.namespace.ListPending,
		&stoav1.NamespaceListPendingRequest{NamespaceId: ns[:], After: op.OptionalBytes(after), Limit: govPageOf(limit)})
	if err != nil {
		return nil, err
	}
	return collect("list pending", res.GetPending(), govwire.PendingOp)
}

// Missing is namespace.Store's; a limit over 1,000, or of 0, is one of 1,000.
func (n *Namespaces) Missing(ns codec.GroupID, after codec.OpID, limit int) ([]codec.OpID, error) {
	res, err := dagCall(n.c, "missing", n.c.namespace.Missing,
		&stoav1.NamespaceMissingRequest{NamespaceId: ns[:], After: op.OptionalBytes(after), Limit: govPageOf(limit)})
	if err != nil {
		return nil, err
	}
	ids, err := op.ParseIDs[codec.OpID]("missing", res.GetMissing())
	return ids, odd("missing", err)
}

// Equivocations is namespace.Store's; a limit over 1,000, or of 0, is one of 1,000.
func (n *Namespaces) Equivocations(ns codec.GroupID, after group.Equivocation, limit int) ([]group.Equivocation, error) {
	res, err := dagCall(n.c, "equivocations", n.c.namespace.Equivocations,
		&stoav1.NamespaceEquivocationsRequest{NamespaceId: ns[:], After: govwire.NextEquivocation(after), Limit: govPageOf(limit)})
	if err != nil {
		return nil, err
	}
	return collect("equivocations", res.GetEquivocations(), govwire.Equivocation)
}

// OpsSince is namespace.Store's.
func (n *Namespaces) OpsSince(ctx context.Context, ns codec.GroupID, heads []codec.OpID, cursor uint64) iter.Seq2[namespace.Sent, error] {
	return func(yield func(namespace.Sent, error) bool) {
		ctx, cancel := n.c.within(ctx)
		defer cancel()
		s, err := n.c.namespace.OpsSince(ctx, &stoav1.NamespaceOpsSinceRequest{NamespaceId: ns[:], Heads: op.FromIDs(heads), Cursor: cursor})
		for err == nil {
			var m *stoav1.NamespaceOpsSinceResponse
			if m, err = s.Recv(); err != nil {
				break
			}
			for _, sent := range m.GetOps() {
				id, wrong := op.ParseID[codec.OpID]("op_id", sent.GetOpId())
				if !yield(namespace.Sent{Cursor: sent.GetCursor(), ID: id, Wire: sent.GetOp()}, odd("ops since", wrong)) || wrong != nil {
					return
				}
			}
		}
		if !errors.Is(err, io.EOF) {
			yield(namespace.Sent{}, n.c.failed("ops since", err))
		}
	}
}

// GovReport is what Verify finds in a namespace.
type GovReport struct {
	Ops      int // that are there
	Findings []namespace.Finding
	More     int // findings that are not listed
}

// Verify is namespace.Store's: the daemon evaluates the namespace again in its memory,
// which takes as much as the namespace does.
func (n *Namespaces) Verify(ctx context.Context, ns codec.GroupID) (report GovReport, err error) {
	ctx, cancel := n.c.within(ctx)
	defer cancel()
	s, err := n.c.namespace.Verify(ctx, &stoav1.NamespaceVerifyRequest{NamespaceId: ns[:]})
	if err != nil {
		return report, n.c.failed("verify", err)
	}
	for {
		m, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return report, odd("verify", errors.New("no summary"))
		}
		if err != nil {
			return report, n.c.failed("verify", err)
		}
		if end := m.GetSummary(); end != nil {
			report.Ops, report.More = int(end.GetOps()), int(end.GetMore())
			return report, nil
		}
		f := m.GetFinding()
		report.Findings = append(report.Findings, namespace.Finding{Column: column.Column(f.GetColumn()), Key: f.GetKey(), What: f.GetDetail()})
	}
}
