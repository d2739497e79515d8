package server

import (
	"context"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/internal/govwire"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// govPage returns the entries of a page of the services Namespace and Group, where a
// client asks for limit.
func govPage(limit uint32) int {
	if limit == 0 || limit > rpc.MaxGovPage {
		return rpc.MaxGovPage
	}
	return int(limit)
}

// List is Namespace.List.
func (t *namespaceService) List(_ context.Context, r *stoav1.NamespaceListRequest) (*stoav1.NamespaceListResponse, error) {
	after, err := op.ParseOptional[codec.GroupID]("after", r.GetAfter())
	if err != nil {
		return nil, field(err)
	}
	limit := govPage(r.GetLimit())
	page, err := t.store().Namespaces(after, limit)
	if err != nil {
		return nil, err
	}
	res := new(stoav1.NamespaceListResponse)
	for _, ns := range page {
		info, err := t.store().Namespace(ns)
		if err != nil {
			return nil, aboutNamespace(err, ns)
		}
		res.Namespaces = append(res.Namespaces, govwire.FromNamespace(&info))
	}
	if len(page) == limit {
		res.Next = op.Bytes(page[limit-1])
	}
	return res, nil
}

// Get is Namespace.Get.
func (t *namespaceService) Get(_ context.Context, r *stoav1.NamespaceGetRequest) (*stoav1.NamespaceGetResponse, error) {
	ns, err := namespaceID(r)
	if err != nil {
		return nil, err
	}
	info, err := t.store().Namespace(ns)
	if err != nil {
		return nil, aboutNamespace(err, ns)
	}
	return &stoav1.NamespaceGetResponse{Namespace: govwire.FromNamespace(&info)}, nil
}

// Tree is Namespace.Tree.
func (t *namespaceService) Tree(_ context.Context, r *stoav1.NamespaceTreeRequest) (*stoav1.NamespaceTreeResponse, error) {
	ns, err := namespaceID(r)
	if err != nil {
		return nil, err
	}
	tree, err := t.store().Tree(ns)
	if err != nil {
		return nil, aboutNamespace(err, ns)
	}
	res := &stoav1.NamespaceTreeResponse{Groups: make([]*stoav1.NamespaceTreeGroup, len(tree))}
	for i := range tree {
		res.Groups[i] = govwire.FromTreeGroup(&tree[i])
	}
	return res, nil
}

// Heads is Namespace.Heads.
func (t *namespaceService) Heads(_ context.Context, r *stoav1.NamespaceHeadsRequest) (*stoav1.NamespaceHeadsResponse, error) {
	ns, err := namespaceID(r)
	if err != nil {
		return nil, err
	}
	heads, err := t.store().Heads(ns)
	if err != nil {
		return nil, aboutNamespace(err, ns)
	}
	return &stoav1.NamespaceHeadsResponse{Heads: op.FromIDs(heads)}, nil
}

// GetOp is Namespace.GetOp.
func (t *namespaceService) GetOp(_ context.Context, r *stoav1.NamespaceGetOpRequest) (*stoav1.NamespaceGetOpResponse, error) {
	ns, err := namespaceID(r)
	if err != nil {
		return nil, err
	}
	id, err := op.ParseID[codec.OpID]("op_id", r.GetOpId())
	if err != nil {
		return nil, field(err)
	}
	op, err := t.store().Op(ns, id)
	if err != nil {
		return nil, aboutNamespace(err, ns)
	}
	m, err := govwire.FromOp(&op)
	return &stoav1.NamespaceGetOpResponse{Op: m}, err
}

// Missing is Namespace.Missing.
func (t *namespaceService) Missing(_ context.Context, r *stoav1.NamespaceMissingRequest) (*stoav1.NamespaceMissingResponse, error) {
	page, next, err := opsPage(r, t.store().Missing, func(id codec.OpID) codec.OpID { return id })
	if err != nil {
		return nil, err
	}
	return &stoav1.NamespaceMissingResponse{Missing: op.FromIDs(page), Next: next}, nil
}

// opsPage returns the page of a list by op that a request asks for, and what the
// next one is after, nil if there is none.
func opsPage[T any](r interface {
	GetNamespaceId() []byte
	GetAfter() []byte
	GetLimit() uint32
}, list func(codec.GroupID, codec.OpID, int) ([]T, error), id func(T) codec.OpID) (page []T, next []byte, err error) {
	ns, err := namespaceID(r)
	if err != nil {
		return nil, nil, err
	}
	after, err := op.ParseOptional[codec.OpID]("after", r.GetAfter())
	if err != nil {
		return nil, nil, field(err)
	}
	limit := govPage(r.GetLimit())
	if page, err = list(ns, after, limit); err != nil {
		return nil, nil, aboutNamespace(err, ns)
	}
	if len(page) == limit {
		next = op.Bytes(id(page[limit-1]))
	}
	return page, next, nil
}

// Pending is Namespace.Pending.
func (t *namespaceService) Pending(_ context.Context, r *stoav1.NamespacePendingRequest) (*stoav1.NamespacePendingResponse, error) {
	ns, err := namespaceID(r)
	if err != nil {
		return nil, err
	}
	ops, bytes, err := t.store().Waiting(ns)
	if err != nil {
		return nil, aboutNamespace(err, ns)
	}
	return &stoav1.NamespacePendingResponse{Ops: uint64(ops), Bytes: uint64(bytes)}, nil
}

// ListPending is Namespace.ListPending.
func (t *namespaceService) ListPending(_ context.Context, r *stoav1.NamespaceListPendingRequest) (*stoav1.NamespaceListPendingResponse, error) {
	page, next, err := opsPage(r, t.store().PendingOps, func(p namespace.PendingOp) codec.OpID { return p.ID })
	if err != nil {
		return nil, err
	}
	res := &stoav1.NamespaceListPendingResponse{Next: next}
	for i := range page {
		res.Pending = append(res.Pending, govwire.FromPendingOp(&page[i]))
	}
	return res, nil
}

// Equivocations is Namespace.Equivocations.
func (t *namespaceService) Equivocations(_ context.Context, r *stoav1.NamespaceEquivocationsRequest) (*stoav1.NamespaceEquivocationsResponse, error) {
	ns, err := namespaceID(r)
	if err != nil {
		return nil, err
	}
	after, err := govwire.AfterEquivocation(r.GetAfter())
	if err != nil {
		return nil, field(err)
	}
	limit := govPage(r.GetLimit())
	page, err := t.store().Equivocations(ns, after, limit)
	if err != nil {
		return nil, aboutNamespace(err, ns)
	}
	res := new(stoav1.NamespaceEquivocationsResponse)
	for i := range page {
		res.Equivocations = append(res.Equivocations, govwire.FromEquivocation(&page[i]))
	}
	if len(page) == limit {
		res.Next = govwire.NextEquivocation(page[limit-1])
	}
	return res, nil
}
