package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/rpc"
)

// govCommand describes a command about governance that asks a daemon.
type govCommand struct {
	name, short, long string
	offline           bool     // it only reads, and so a directory too
	args              []string // what must be given
	optional          []string // what may follow
	example           string   // what stands after the name
	flags             func(*pflag.FlagSet)
	run               func(*govCall) error
}

// govCall is one run of such a command. Its context ends with Ctrl-C.
type govCall struct {
	*process
	ctx        context.Context
	namespaces *rpc.Namespaces // nil of a directory
	groups     *rpc.Groups     // nil of a directory
	read       governance
	args       []string
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
			if from.offline != "" {
				read, err := from.openGovernance(p)
				if err != nil {
					return err
				}
				defer read.Close()
				if err := c.run(&govCall{process: p, ctx: ctx, read: read, args: args}); err != nil {
					return offlineGovFailure(err)
				}
				return found(read.lost, "place", "could not be read")
			}
			client, err := from.dial(p)
			if err != nil {
				return err
			}
			defer client.Close()
			view := client.WithContext(ctx)
			namespaces, groups := view.Namespaces(), view.Groups()
			return c.run(&govCall{p, ctx, namespaces, groups, daemonGovernance{namespaces, groups}, args})
		},
	}
	if c.offline {
		from.register(cmd.Flags())
	} else {
		from.daemonFlags.register(cmd.Flags())
	}
	if c.flags != nil {
		c.flags(cmd.Flags())
	}
	return cmd
}

// isID reports whether an argument looks like an id rather than a name.
func isID(text string) bool {
	return len(strings.TrimPrefix(text, "0x")) == 64 && !strings.ContainsFunc(text, func(r rune) bool {
		return !strings.ContainsRune("0123456789abcdefABCDEFxX", r)
	})
}

// only returns the one id that has a name.
func only[T ~[32]byte](what, name string, found []T) (id T, err error) {
	switch len(found) {
	case 0:
		return id, &failure{exitNotFound, fmt.Errorf("%s: nothing here is called %q", what, name), "give its id, in hex"}
	case 1:
		return found[0], nil
	}
	return id, bad(fmt.Errorf("%s: %d are called %q", what, len(found), name), "give the id, in hex")
}

// groupArg returns the group that an argument is, by id or by name.
func (c *govCall) groupArg(what, text string) (codec.GroupID, error) {
	return c.findGroup(what, text, false)
}

// namespaceArg is groupArg for a namespace.
func (c *govCall) namespaceArg(text string) (codec.GroupID, error) {
	return c.findGroup("NAMESPACE", text, true)
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

func (c *govCall) findGroup(what, text string, roots bool) (codec.GroupID, error) {
	if isID(text) {
		return parseID32[codec.GroupID](what, text)
	}
	var found []codec.GroupID
	for info, err := range c.allNamespaces() {
		if err != nil {
			return codec.GroupID{}, err
		}
		if roots {
			if string(info.Name) == text {
				found = append(found, info.ID)
			}
			continue
		}
		tree, err := c.read.Tree(info.ID)
		if err != nil {
			return codec.GroupID{}, err
		}
		for _, g := range tree {
			if string(g.Name) == text {
				found = append(found, g.ID)
			}
		}
	}
	return only(what, text, found)
}

func (c *govCall) allNamespaces() func(func(namespace.Info, error) bool) {
	return paged(func(last *namespace.Info) ([]namespace.Info, error) {
		if last == nil {
			last = new(namespace.Info)
		}
		return c.read.List(last.ID, rpc.MaxGovPage)
	})
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

// memberArg returns the identity that an argument is: by itself, by the name of a
// member of g, or "me".
func (c *govCall) memberArg(g codec.GroupID, text string) (codec.Identity, error) {
	if isID(text) {
		return parseID32[codec.Identity]("MEMBER", text)
	}
	if text == "me" {
		ns, err := c.read.NamespaceOf(g)
		if err != nil {
			return codec.Identity{}, err
		}
		return c.read.Identity(ns)
	}
	var found []codec.Identity
	for m, err := range c.allMembers(g) {
		if err != nil {
			return codec.Identity{}, err
		}
		if string(m.Name) == text {
			found = append(found, m.Identity)
		}
	}
	return only("MEMBER", text, found)
}

// contextArg returns the context that an argument is, by id or by its name in g.
func (c *govCall) contextArg(g codec.GroupID, text string) (codec.ContextID, error) {
	if isID(text) {
		return parseID32[codec.ContextID]("CONTEXT", text)
	}
	var found []codec.ContextID
	for x, err := range c.allContexts(g) {
		if err != nil {
			return codec.ContextID{}, err
		}
		if string(x.Name) == text {
			found = append(found, x.ID)
		}
	}
	return only("CONTEXT", text, found)
}

// names are the names of members and contexts by their ids in hex.
type names map[string]string

// namesOf returns the names that are used in a group; none where it was deleted.
func (c *govCall) namesOf(g codec.GroupID) (names, error) {
	known := names{}
	for m, err := range c.allMembers(g) {
		if errors.Is(err, namespace.ErrNoGroup) {
			return known, nil
		}
		if err != nil {
			return nil, err
		}
		if m.Name != "" {
			known[m.Identity.String()] = string(m.Name)
		}
	}
	for x, err := range c.allContexts(g) {
		if err != nil {
			return nil, err
		}
		if x.Name != "" {
			known[x.ID.String()] = string(x.Name)
		}
	}
	return known, nil
}

// of returns the name of an id, or the id.
func (n names) of(id string) string {
	if name, ok := n[id]; ok {
		return plain(name)
	}
	return id
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
		return err
	}
	return c.proposed(done, codec.GroupID{})
}

// proposeRoot proposes a root op.
func (c *govCall) proposeRoot(ns codec.GroupID, op codec.RootOp) error {
	done, g, err := c.namespaces.Propose(c.ctx, ns, namespace.Proposal{Root: &op})
	if err != nil {
		return err
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
