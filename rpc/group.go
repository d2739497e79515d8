package rpc

import (
	"context"
	"iter"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// Groups is what a daemon knows of groups. Its methods are those of namespace.Store,
// with the same errors, and those of calls. Groups change by [Namespaces.Propose]. It is
// a view of its client, and as safe for concurrent use. The log is in grouplog.go, keys
// are in groupkeys.go.
type Groups struct{ c *Client }

// Groups returns the groups of the daemon.
func (c *Client) Groups() *Groups { return &Groups{c} }

// inGroup are arguments about a group.
type inGroup struct{ GroupID codec.GroupID }

// About returns the group.
func (a *inGroup) About() (name, value string) { return fault.FieldGroup, a.GroupID.String() }

var groupGet = op.New(op.Method{Number: 401, Name: "Group.Get", Role: access.Reader},
	func(_ context.Context, s *namespace.Store, a *inGroup) (namespace.GroupInfo, error) {
		return s.Show(a.GroupID)
	})

// Show describes a group; see [namespace.Store.Show].
func (g *Groups) Show(ctx context.Context, id codec.GroupID) (namespace.GroupInfo, error) {
	return call(ctx, g.c, groupGet, inGroup{id})
}

// pageOfGroup are the arguments of a page of a list of a group.
type pageOfGroup[N any] struct {
	inGroup
	after[N]
}

var groupMembers = op.New(op.Method{Number: 402, Name: "Group.Members", Role: access.Reader},
	func(_ context.Context, s *namespace.Store, a *pageOfGroup[codec.Identity]) (paged[namespace.MemberInfo, codec.Identity], error) {
		return page(&a.after, func(last codec.Identity, limit int) ([]namespace.MemberInfo, error) {
			return s.Members(a.GroupID, last, limit)
		},
			func(m *namespace.MemberInfo) codec.Identity { return m.Identity })
	})

// Members yields the members of a group in the order of their identities.
func (g *Groups) Members(ctx context.Context, id codec.GroupID) iter.Seq2[namespace.MemberInfo, error] {
	return pages(ctx, g.c, groupMembers, pageOfGroup[codec.Identity]{inGroup: inGroup{id}})
}

// maxContextMembers is how many members of a context a message tells of.
const maxContextMembers = 1000

var groupContexts = op.New(op.Method{Number: 403, Name: "Group.Contexts", Role: access.Reader},
	func(_ context.Context, s *namespace.Store, a *pageOfGroup[codec.ContextID]) (paged[namespace.ContextInfo, codec.ContextID], error) {
		p, err := page(&a.after, func(last codec.ContextID, limit int) ([]namespace.ContextInfo, error) {
			return s.Contexts(a.GroupID, last, limit)
		},
			func(c *namespace.ContextInfo) codec.ContextID { return c.ID })
		for i := range p.List {
			c := &p.List[i]
			c.Members = c.Members[:min(len(c.Members), maxContextMembers)]
		}
		return p, err
	})

// Contexts yields the contexts of a group in the order of their ids, with the first 1,000
// members of each.
func (g *Groups) Contexts(ctx context.Context, id codec.GroupID) iter.Seq2[namespace.ContextInfo, error] {
	return pages(ctx, g.c, groupContexts, pageOfGroup[codec.ContextID]{inGroup: inGroup{id}})
}

// namesPage is a page of names.
type namesPage struct {
	Names []namespace.Name
	More  bool
}

var groupNames = op.New(op.Method{Number: 414, Name: "Group.Names", Role: access.Reader},
	func(_ context.Context, s *namespace.Store, a *pageOfGroup[namespace.Name]) (p namesPage, err error) {
		limit := a.limit()
		p.Names, err = s.Names(a.GroupID, a.After, limit+1)
		if p.More = len(p.Names) > limit; p.More {
			p.Names = p.Names[:limit]
		}
		return p, err
	})

// Names yields the names by which a group speaks, as [namespace.Store.Names] does.
func (g *Groups) Names(ctx context.Context, id codec.GroupID) iter.Seq2[namespace.Name, error] {
	a := pageOfGroup[namespace.Name]{inGroup: inGroup{id}}
	return caller.Pagewise(groupNames.Name, 0, a.After, func(last namespace.Name, limit int) (_ []namespace.Name, next namespace.Name, err error) {
		a.from(last, limit)
		p, err := call(ctx, g.c, groupNames, a)
		if p.More && len(p.Names) > 0 {
			next = p.Names[len(p.Names)-1]
		}
		return p.Names, next, err
	})
}

// resolving are the arguments of Resolve: one of what may be resolved.
type resolving struct {
	ContextID *codec.ContextID
	GroupID   *codec.GroupID
}

// About returns what was to be resolved.
func (a *resolving) About() (name, value string) {
	switch {
	case a.ContextID != nil:
		return fault.FieldContext, a.ContextID.String()
	case a.GroupID != nil:
		return fault.FieldGroup, a.GroupID.String()
	}
	return "", ""
}

// resolved is where something is.
type resolved struct{ GroupID, NamespaceID codec.GroupID }

var groupResolve = op.New(op.Method{Number: 404, Name: "Group.Resolve", Role: access.Reader},
	func(_ context.Context, s *namespace.Store, a *resolving) (r resolved, err error) {
		switch {
		case a.ContextID != nil:
			r.GroupID, r.NamespaceID, err = s.Resolve(*a.ContextID)
		case a.GroupID != nil:
			r.GroupID = *a.GroupID
			r.NamespaceID, err = s.NamespaceOf(r.GroupID)
		default:
			err = &op.FieldError{Field: "what", Reason: "neither a context nor a group"}
		}
		return r, err
	})

// Resolve returns the group of a context, and its namespace; see
// [namespace.Store.Resolve].
func (g *Groups) Resolve(ctx context.Context, context codec.ContextID) (of, ns codec.GroupID, err error) {
	r, err := call(ctx, g.c, groupResolve, resolving{ContextID: &context})
	return r.GroupID, r.NamespaceID, err
}

// NamespaceOf returns the namespace of a group; see [namespace.Store.NamespaceOf].
func (g *Groups) NamespaceOf(ctx context.Context, id codec.GroupID) (codec.GroupID, error) {
	r, err := call(ctx, g.c, groupResolve, resolving{GroupID: &id})
	return r.NamespaceID, err
}
