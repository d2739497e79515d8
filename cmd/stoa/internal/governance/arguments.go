package governance

import (
	"io"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/namespace/naming"
)

// groupArg returns the group that an argument is, by id or by name.
func (c *call) groupArg(what, text string) (codec.GroupID, error) {
	return cli.Find[codec.GroupID](c.Find, what, text, naming.Query{Kind: naming.Group})
}

// opArg returns the op of a namespace that an argument is.
func (c *call) opArg(ns codec.GroupID, what, text string) (codec.OpID, error) {
	return cli.Find[codec.OpID](c.Find, what, text, naming.Query{Kind: naming.Op, Group: ns})
}

// applicationArg returns the application that an argument is, by id or by an alias.
func (c *call) applicationArg(what, text string) (codec.ApplicationID, error) {
	return cli.Find[codec.ApplicationID](c.Find, what, text, naming.Query{Kind: naming.Application})
}

// isMember reports whether somebody is a member of a group.
func (c *call) isMember(g codec.GroupID, who codec.Identity) (bool, error) {
	for m, err := range c.read.Members(c.Ctx, g) {
		if err != nil || m.Identity == who {
			return err == nil, err
		}
	}
	return false, nil
}

// memberArg returns the identity that an argument is: by itself, by the name that g or
// a group above it has for a member, or "me".
func (c *call) memberArg(g codec.GroupID, what, text string) (codec.Identity, error) {
	if text == "me" {
		ns, err := c.read.NamespaceOf(c.Ctx, g)
		if err != nil {
			return codec.Identity{}, err
		}
		return c.read.Identity(c.Ctx, ns)
	}
	return cli.Find[codec.Identity](c.Find, what, text, naming.Query{Kind: naming.Member, Group: g})
}

// contextArg returns the context that an argument is, by id, by its name in g or by an
// alias.
func (c *call) contextArg(g codec.GroupID, what, text string) (codec.ContextID, error) {
	return cli.Find[codec.ContextID](c.Find, what, text, naming.Query{Kind: naming.Context, Group: g})
}

// proposedDoc is what a daemon has made, as JSON.
type proposedDoc struct {
	Group   string         `json:"group_id,omitempty"`
	ID      string         `json:"op_id"`
	Verdict string         `json:"verdict"`
	Ops     []cli.HexBytes `json:"ops"`
}

// newProposedDoc is what was made, which hints will be about.
func (c *call) newProposedDoc(done *namespace.Proposed, g codec.GroupID) proposedDoc {
	d := proposedDoc{Group: cli.UnlessZero(g), ID: done.Answer.ID.String(), Verdict: done.Answer.Verdict.String(), Ops: []cli.HexBytes{}}
	c.shown.verdict(d.Verdict)
	for _, op := range done.Wire {
		d.Ops = append(d.Ops, op)
	}
	return d
}

func (d *proposedDoc) write(w io.Writer, t *cli.Table) {
	if d.Group != "" {
		t.Add("group", d.Group)
	}
	t.Add("op", d.ID)
	t.Add("verdict", d.Verdict)
	t.Write(w, "")
}

// proposed says what was made.
func (c *call) proposed(done namespace.Proposed, g codec.GroupID) error {
	defer guideAbandoned(c.Process, done)
	d := c.newProposedDoc(&done, g)
	return c.Emit(d, func(w io.Writer) { d.write(w, &cli.Table{}) })
}

// guideAbandoned says how many ops an Admin's new key has left behind.
func guideAbandoned(p *cli.Process, done namespace.Proposed) {
	n := 0
	for _, change := range done.Answer.Changed {
		if change.New.Reason == group.Abandoned {
			n++
		}
	}
	if n > 0 {
		p.Guide(cli.Count(n, "op") + " under keys that are not here, or not good, have no effect from now on; who made them says them again with stoa group reissue")
	}
}

// propose proposes an op of a group.
func (c *call) propose(g codec.GroupID, op codec.GroupOp) error {
	return c.proposeIn(g, namespace.Proposal{GroupID: g, Group: &op})
}

// proposeRoot proposes a root op, which is about a group.
func (c *call) proposeRoot(g codec.GroupID, op codec.RootOp) error {
	return c.proposeIn(g, namespace.Proposal{Root: &op})
}

// proposeIn proposes in the namespace of a group.
func (c *call) proposeIn(g codec.GroupID, what namespace.Proposal) error {
	ns, err := c.read.NamespaceOf(c.Ctx, g)
	if err != nil {
		return err
	}
	done, made, err := c.namespaces.Propose(c.Ctx, ns, what)
	if err != nil {
		return c.explainVoid(ns, err)
	}
	return c.proposed(done, made)
}
