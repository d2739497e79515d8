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

// groupService is the Group service: what it does is namespace.Store's. The log is in
// grouplog.go, keys are in groupkeys.go.
type groupService struct {
	stoav1.UnimplementedGroupServer
	s *Server
}

func (t *groupService) store() *namespace.Store { return t.s.o.Namespaces }

// groupID returns the group that a request names.
func groupID(r interface{ GetGroupId() []byte }) (codec.GroupID, error) {
	id, err := op.ParseID[codec.GroupID]("group_id", r.GetGroupId())
	return id, field(err)
}

// Get is Group.Get.
func (t *groupService) Get(_ context.Context, r *stoav1.GroupGetRequest) (*stoav1.GroupGetResponse, error) {
	g, err := groupID(r)
	if err != nil {
		return nil, err
	}
	info, err := t.store().Show(g)
	if err != nil {
		return nil, aboutGroup(err, g)
	}
	return &stoav1.GroupGetResponse{Group: govwire.FromGroup(&info)}, nil
}

// Members is Group.Members.
func (t *groupService) Members(_ context.Context, r *stoav1.GroupMembersRequest) (*stoav1.GroupMembersResponse, error) {
	g, err := groupID(r)
	if err != nil {
		return nil, err
	}
	after, err := op.ParseOptional[codec.Identity]("after", r.GetAfter())
	if err != nil {
		return nil, field(err)
	}
	limit := govPage(r.GetLimit())
	page, err := t.store().Members(g, after, limit)
	if err != nil {
		return nil, aboutGroup(err, g)
	}
	res := &stoav1.GroupMembersResponse{Members: make([]*stoav1.GroupMember, len(page))}
	for i := range page {
		res.Members[i] = govwire.FromMember(&page[i])
	}
	if len(page) == limit {
		res.Next = op.Bytes(page[limit-1].Identity)
	}
	return res, nil
}

// Contexts is Group.Contexts.
func (t *groupService) Contexts(_ context.Context, r *stoav1.GroupContextsRequest) (*stoav1.GroupContextsResponse, error) {
	g, err := groupID(r)
	if err != nil {
		return nil, err
	}
	after, err := op.ParseOptional[codec.ContextID]("after", r.GetAfter())
	if err != nil {
		return nil, field(err)
	}
	limit := govPage(r.GetLimit())
	page, err := t.store().Contexts(g, after, limit)
	if err != nil {
		return nil, aboutGroup(err, g)
	}
	res := &stoav1.GroupContextsResponse{Contexts: make([]*stoav1.GroupContext, len(page))}
	for i := range page {
		res.Contexts[i] = govwire.FromContext(&page[i])
	}
	if len(page) == limit {
		res.Next = op.Bytes(page[limit-1].ID)
	}
	return res, nil
}

// Names is Group.Names.
func (t *groupService) Names(_ context.Context, r *stoav1.GroupNamesRequest) (*stoav1.GroupNamesResponse, error) {
	g, err := groupID(r)
	if err != nil {
		return nil, err
	}
	var after namespace.Name
	if r.GetAfter() != nil {
		if after, err = govwire.Name(r.GetAfter()); err != nil {
			return nil, field(err)
		}
	}
	limit := govPage(r.GetLimit())
	page, err := t.store().Names(g, after, limit+1)
	if err != nil {
		return nil, aboutGroup(err, g)
	}
	res := &stoav1.GroupNamesResponse{More: len(page) > limit}
	for _, n := range page[:min(len(page), limit)] {
		res.Names = append(res.Names, govwire.FromName(&n))
	}
	return res, nil
}

// Resolve is Group.Resolve.
func (t *groupService) Resolve(_ context.Context, r *stoav1.GroupResolveRequest) (*stoav1.GroupResolveResponse, error) {
	var g, ns codec.GroupID
	switch r.GetWhat().(type) {
	case *stoav1.GroupResolveRequest_ContextId:
		id, err := contextID(r)
		if err != nil {
			return nil, err
		}
		if g, ns, err = t.store().Resolve(id); err != nil {
			return nil, aboutGov(err, rpc.FieldContext, id.String())
		}
	case *stoav1.GroupResolveRequest_GroupId:
		var err error
		if g, err = groupID(r); err != nil {
			return nil, err
		}
		if ns, err = t.store().NamespaceOf(g); err != nil {
			return nil, aboutGroup(err, g)
		}
	default:
		return nil, badField("what", "neither a context nor a group")
	}
	return &stoav1.GroupResolveResponse{GroupId: op.Bytes(g), NamespaceId: op.Bytes(ns)}, nil
}
