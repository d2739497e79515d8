package rpc

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc/internal/govwire"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Groups is what a daemon knows of groups. Its methods are those of namespace.Store,
// with the same errors, and those of calls. Groups change by [Namespaces.Propose]. It is
// a view of its client, and as safe for concurrent use.
type Groups struct{ c *Client }

// Groups returns the groups of the daemon. Calls that take no context end with that of
// c; streams end with both.
func (c *Client) Groups() *Groups { return &Groups{c} }

// Show is namespace.Store's.
func (g *Groups) Show(id codec.GroupID) (namespace.GroupInfo, error) {
	res, err := dagCall(g.c, "group", g.c.group.Get, &stoav1.GroupGetRequest{GroupId: id[:]})
	if err != nil {
		return namespace.GroupInfo{}, err
	}
	info, err := govwire.Group(res.GetGroup())
	return info, odd("group", err)
}

// Members is namespace.Store's; a limit over 1,000, or of 0, is one of 1,000.
func (g *Groups) Members(id codec.GroupID, after codec.Identity, limit int) ([]namespace.MemberInfo, error) {
	res, err := dagCall(g.c, "members", g.c.group.Members,
		&stoav1.GroupMembersRequest{GroupId: id[:], After: op.OptionalBytes(after), Limit: govPageOf(limit)})
	if err != nil {
		return nil, err
	}
	return collect("members", res.GetMembers(), govwire.Member)
}

// Contexts is namespace.Store's, with the first 1,000 members of each; a limit over
// 1,000, or of 0, is one of 1,000.
func (g *Groups) Contexts(id codec.GroupID, after codec.ContextID, limit int) ([]namespace.ContextInfo, error) {
	res, err := dagCall(g.c, "contexts", g.c.group.Contexts,
		&stoav1.GroupContextsRequest{GroupId: id[:], After: op.OptionalBytes(after), Limit: govPageOf(limit)})
	if err != nil {
		return nil, err
	}
	return collect("contexts", res.GetContexts(), govwire.Context)
}

// Names is namespace.Store's; a limit over 1,000, or of 0, is one of 1,000.
func (g *Groups) Names(id codec.GroupID, after namespace.Name, limit int) ([]namespace.Name, error) {
	ask := &stoav1.GroupNamesRequest{GroupId: id[:], Limit: govPageOf(limit)}
	if after != (namespace.Name{}) {
		ask.After = govwire.FromName(&after)
	}
	res, err := dagCall(g.c, "names", g.c.group.Names, ask)
	if err != nil {
		return nil, err
	}
	return collect("names", res.GetNames(), govwire.Name)
}

// Resolve is namespace.Store's.
func (g *Groups) Resolve(context codec.ContextID) (of, ns codec.GroupID, err error) {
	return g.resolve(&stoav1.GroupResolveRequest{What: &stoav1.GroupResolveRequest_ContextId{ContextId: context[:]}})
}

// NamespaceOf is namespace.Store's.
func (g *Groups) NamespaceOf(id codec.GroupID) (codec.GroupID, error) {
	_, ns, err := g.resolve(&stoav1.GroupResolveRequest{What: &stoav1.GroupResolveRequest_GroupId{GroupId: id[:]}})
	return ns, err
}

func (g *Groups) resolve(ask *stoav1.GroupResolveRequest) (of, ns codec.GroupID, err error) {
	res, err := dagCall(g.c, "resolve", g.c.group.Resolve, ask)
	if err != nil {
		return of, ns, err
	}
	if of, err = op.ParseID[codec.GroupID]("group_id", res.GetGroupId()); err == nil {
		ns, err = op.ParseID[codec.GroupID]("namespace_id", res.GetNamespaceId())
	}
	return of, ns, odd("resolve", err)
}

// Ops is namespace.Store's, without the signatures. It asks for them page by page.
func (g *Groups) Ops(ctx context.Context, id codec.GroupID, w namespace.Window) iter.Seq2[namespace.Entry, error] {
	return func(yield func(namespace.Entry, error) bool) {
		ctx, cancel := g.c.within(ctx)
		defer cancel()
		client := g.c.WithContext(ctx)
		ask := &stoav1.GroupOpsRequest{GroupId: id[:], From: w.From, Reverse: w.Reverse}
		for left := w.Limit; ; {
			ask.Limit = govPageOf(left)
			res, err := dagCall(client, "ops", g.c.group.Ops, ask)
			if err != nil {
				yield(namespace.Entry{}, err)
				return
			}
			for _, m := range res.GetEntries() {
				e, err := govwire.Entry(m)
				if !yield(e, odd("ops", err)) || err != nil {
					return
				}
			}
			n := len(res.GetEntries())
			if ask.From = res.GetNext(); ask.From == 0 || n == 0 || w.Limit > 0 && n >= left {
				return
			}
			left = max(left-n, 0)
		}
	}
}

// Follow is namespace.Store's, without the signatures.
func (g *Groups) Follow(ctx context.Context, id codec.GroupID, after uint64, live bool) iter.Seq2[namespace.Event, error] {
	return func(yield func(namespace.Event, error) bool) {
		ctx, cancel := g.c.within(ctx)
		defer cancel()
		s, err := g.c.group.Follow(ctx, &stoav1.GroupFollowRequest{GroupId: id[:], After: after, Live: live})
		for err == nil {
			var m *stoav1.GroupFollowResponse
			if m, err = s.Recv(); err != nil {
				break
			}
			for _, one := range m.GetEvents() {
				e, wrong := govwire.Event(one)
				if !yield(e, odd("follow", wrong)) || wrong != nil {
					return
				}
			}
		}
		if !errors.Is(err, io.EOF) {
			yield(namespace.Event{}, g.c.failed("follow", err))
		}
	}
}
