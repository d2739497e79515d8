package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/namespace/naming"
	"github.com/stoadb/stoa/rpc"
)

// govCommand describes a command about governance.
type govCommand struct {
	name, short, long string
	offline           bool     // it reads, and so a directory too
	args              []string // what must be given
	optional          []string // what may follow
	example           string   // what stands after the name
	flags             func(*pflag.FlagSet)
	run               func(*govCall) error
}

// governance is what is read of namespaces and groups.
type governance struct {
	*rpc.Namespaces
	*rpc.Groups
}

// govCall is one run of such a command. Its context ends with Ctrl-C.
type govCall struct {
	*process
	ctx        context.Context
	store      *rpc.Client
	namespaces *rpc.Namespaces
	groups     *rpc.Groups
	read       governance
	find       finder
	args       []string
	socket     string // of the daemon
	again      string // what a command line has, after a space, to reach the same daemon

	shown shownWords
}

// command returns the command, a subcommand of the one of that name.
func (c govCommand) command(p *process, under string) *cobra.Command {
	var from recordFlags
	use := c.name
	for _, a := range c.args {
		use += " " + a
	}
	for _, a := range c.optional {
		use += " [" + a + "]"
	}
	var example []string
	for line := range strings.SplitSeq(c.example, "\n") {
		example = append(example, strings.TrimRight("  stoa "+under+" "+c.name+" "+line, " "))
	}
	cmd := &cobra.Command{
		Use: use, Short: c.short, Long: c.long, Example: strings.Join(example, "\n"),
		Args: func(cmd *cobra.Command, args []string) error {
			if n := len(args); n >= len(c.args) && n <= len(c.args)+len(c.optional) {
				return nil
			}
			return exactly(append(append([]string(nil), c.args...), c.optional...)...)(cmd, args)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			ctx, forget := interruptible()
			defer forget()
			client, err := from.dial(p)
			if err != nil {
				return err
			}
			defer client.Close()
			view := client.WithContext(ctx)
			namespaces, groups := view.Namespaces(), view.Groups()
			call := &govCall{process: p, ctx: ctx, store: view, namespaces: namespaces, groups: groups, read: governance{namespaces, groups},
				find: view.Find, args: args, socket: client.Path(), again: from.again()}
			defer func() { call.shown.explain(p) }()
			return c.run(call)
		},
	}
	from.registerFor(cmd.Flags(), c.offline)
	if c.flags != nil {
		c.flags(cmd.Flags())
	}
	return cmd
}

// groupArg returns the group that an argument is, by id or by name.
func (c *govCall) groupArg(what, text string) (codec.GroupID, error) {
	return find[codec.GroupID](c.find, what, text, naming.Query{Kind: naming.Group})
}

// namespaceArg is groupArg for a namespace.
func (c *govCall) namespaceArg(text string) (codec.GroupID, error) {
	return find[codec.GroupID](c.find, "NAMESPACE", text, naming.Query{Kind: naming.Namespace})
}

// opArg returns the op of a namespace that an argument is.
func (c *govCall) opArg(ns codec.GroupID, what, text string) (codec.OpID, error) {
	return find[codec.OpID](c.find, what, text, naming.Query{Kind: naming.Op, Group: ns})
}

// applicationArg returns the application that an argument is, by id or by an alias.
func (c *govCall) applicationArg(what, text string) (codec.ApplicationID, error) {
	return find[codec.ApplicationID](c.find, what, text, naming.Query{Kind: naming.Application})
}

// groupWithNames returns the group that the first argument is, and the names that are
// used in it.
func (c *govCall) groupWithNames() (g codec.GroupID, known names, err error) {
	if g, err = c.groupArg("GROUP", c.args[0]); err == nil {
		known, err = c.namesOf(g)
	}
	return g, known, err
}

// namespaceWithNames is groupWithNames for a namespace.
func (c *govCall) namespaceWithNames() (ns codec.GroupID, known names, err error) {
	if ns, err = c.namespaceArg(c.args[0]); err == nil {
		known, err = c.namesOf(ns)
	}
	return ns, known, err
}

func (c *govCall) allNamespaces() func(func(namespace.Info, error) bool) {
	return paged(func(last *namespace.Info) ([]namespace.Info, error) {
		if last == nil {
			last = new(namespace.Info)
		}
		return c.read.List(last.ID, rpc.MaxGovPage)
	})
}

// isMember reports whether somebody is a member of a group.
func (c *govCall) isMember(g codec.GroupID, who codec.Identity) (bool, error) {
	for m, err := range c.allMembers(g) {
		if err != nil || m.Identity == who {
			return err == nil, err
		}
	}
	return false, nil
}

func (c *govCall) allMembers(g codec.GroupID) func(func(namespace.MemberInfo, error) bool) {
	return paged(func(last *namespace.MemberInfo) ([]namespace.MemberInfo, error) {
		if last == nil {
			last = new(namespace.MemberInfo)
		}
		return c.read.Members(g, last.Identity, rpc.MaxGovPage)
	})
}

func (c *govCall) allContexts(g codec.GroupID) func(func(namespace.ContextInfo, error) bool) {
	return paged(func(last *namespace.ContextInfo) ([]namespace.ContextInfo, error) {
		if last == nil {
			last = new(namespace.ContextInfo)
		}
		return c.read.Contexts(g, last.ID, rpc.MaxGovPage)
	})
}

// memberArg returns the identity that an argument is: by itself, by the name that g or
// a group above it has for a member, or "me".
func (c *govCall) memberArg(g codec.GroupID, what, text string) (codec.Identity, error) {
	if text == "me" {
		ns, err := c.read.NamespaceOf(g)
		if err != nil {
			return codec.Identity{}, err
		}
		return c.read.Identity(ns)
	}
	return find[codec.Identity](c.find, what, text, naming.Query{Kind: naming.Member, Group: g})
}

// contextArg returns the context that an argument is, by id, by its name in g or by an
// alias.
func (c *govCall) contextArg(g codec.GroupID, what, text string) (codec.ContextID, error) {
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
func (c *govCall) proposed(done namespace.Proposed, g codec.GroupID) error {
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
func (c *govCall) propose(g codec.GroupID, op codec.GroupOp) error {
	ns, err := c.read.NamespaceOf(g)
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
func (c *govCall) proposeRoot(ns codec.GroupID, op codec.RootOp) error {
	done, g, err := c.namespaces.Propose(c.ctx, ns, namespace.Proposal{Root: &op})
	if err != nil {
		return c.explainVoid(ns, err)
	}
	return c.proposed(done, g)
}

// untilInterrupted returns err, unless Ctrl-C has ended what went on for as long as the
// user liked.
func (c *govCall) untilInterrupted(err error) error {
	if c.ctx.Err() != nil {
		return nil
	}
	return err
}
