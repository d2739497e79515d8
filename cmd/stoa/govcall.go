package main

import (
	"io"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/namespace/naming"
)

// groupArg returns the group that an argument is, by id or by name.
func (c *daemonCall) groupArg(what, text string) (codec.GroupID, error) {
	return find[codec.GroupID](c.find, what, text, naming.Query{Kind: naming.Group})
}

// namespaceArg is groupArg for a namespace.
func (c *daemonCall) namespaceArg(text string) (codec.GroupID, error) {
	return find[codec.GroupID](c.find, "NAMESPACE", text, naming.Query{Kind: naming.Namespace})
}

// opArg returns the op of a namespace that an argument is.
func (c *daemonCall) opArg(ns codec.GroupID, what, text string) (codec.OpID, error) {
	return find[codec.OpID](c.find, what, text, naming.Query{Kind: naming.Op, Group: ns})
}

// applicationArg returns the application that an argument is, by id or by an alias.
func (c *daemonCall) applicationArg(what, text string) (codec.ApplicationID, error) {
	return find[codec.ApplicationID](c.find, what, text, naming.Query{Kind: naming.Application})
}

// groupWithNames returns the group that the first argument is, and the names that are
// used in it.
func (c *daemonCall) groupWithNames() (g codec.GroupID, known names, err error) {
	if g, err = c.groupArg("GROUP", c.args[0]); err == nil {
		known, err = c.namesOf(g)
	}
	return g, known, err
}

// namespaceWithNames is groupWithNames for a namespace.
func (c *daemonCall) namespaceWithNames() (ns codec.GroupID, known names, err error) {
	if ns, err = c.namespaceArg(c.args[0]); err == nil {
		known, err = c.namesOf(ns)
	}
	return ns, known, err
}

// isMember reports whether somebody is a member of a group.
func (c *daemonCall) isMember(g codec.GroupID, who codec.Identity) (bool, error) {
	for m, err := range c.read.Members(c.ctx, g) {
		if err != nil || m.Identity == who {
			return err == nil, err
		}
	}
	return false, nil
}

// memberArg returns the identity that an argument is: by itself, by the name that g or
// a group above it has for a member, or "me".
func (c *daemonCall) memberArg(g codec.GroupID, what, text string) (codec.Identity, error) {
	if text == "me" {
		ns, err := c.read.NamespaceOf(c.ctx, g)
		if err != nil {
			return codec.Identity{}, err
		}
		return c.read.Identity(c.ctx, ns)
	}
	return find[codec.Identity](c.find, what, text, naming.Query{Kind: naming.Member, Group: g})
}

// contextArg returns the context that an argument is, by id, by its name in g or by an
// alias.
func (c *daemonCall) contextArg(g codec.GroupID, what, text string) (codec.ContextID, error) {
	return find[codec.ContextID](c.find, what, text, naming.Query{Kind: naming.Context, Group: g})
}

// proposedDoc is what a daemon has made, as JSON.
type proposedDoc struct {
	Group   string     `json:"group_id,omitempty"`
	ID      string     `json:"op_id"`
	Verdict string     `json:"verdict"`
	Ops     []hexBytes `json:"ops"`
}

// proposed says what was made.
func (c *daemonCall) proposed(done namespace.Proposed, g codec.GroupID) error {
	d := proposedDoc{Group: unlessZero(g), ID: done.Answer.ID.String(), Verdict: done.Answer.Verdict.String(), Ops: []hexBytes{}}
	c.shown.verdict(d.Verdict)
	for _, op := range done.Wire {
		d.Ops = append(d.Ops, op)
	}
	return c.emit(d, func(w io.Writer) {
		var t table
		if d.Group != "" {
			t.add("group", d.Group)
		}
		t.add("op", d.ID)
		t.add("verdict", d.Verdict)
		t.write(w, "")
	})
}

// propose proposes an op of a group.
func (c *daemonCall) propose(g codec.GroupID, op codec.GroupOp) error {
	ns, err := c.read.NamespaceOf(c.ctx, g)
	if err != nil {
		return err
	}
	done, _, err := c.namespaces.Propose(c.ctx, ns, namespace.Proposal{GroupID: g, Group: &op})
	if err != nil {
		return c.explainVoid(ns, err)
	}
	return c.proposed(done, codec.GroupID{})
}

// proposeRoot proposes a root op.
func (c *daemonCall) proposeRoot(ns codec.GroupID, op codec.RootOp) error {
	done, g, err := c.namespaces.Propose(c.ctx, ns, namespace.Proposal{Root: &op})
	if err != nil {
		return c.explainVoid(ns, err)
	}
	return c.proposed(done, g)
}
