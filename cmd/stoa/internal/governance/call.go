package governance

import (
	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace/naming"
	"github.com/stoadb/stoa/rpc"
)

// command describes a command of this package.
type command = cli.Command[*call]

// call is one run of such a command.
type call struct {
	*cli.Call
	namespaces *rpc.Namespaces
	groups     *rpc.Groups
	read       governance
	shown      shownWords
	group      codec.GroupID // of a command on one, or the namespace
	known      cli.Names     // that are used in it, where the command shows them
}

// governance is what is read of namespaces and groups.
type governance struct {
	*rpc.Namespaces
	*rpc.Groups
}

// govern returns a command of namespaces and groups. What words mean that it has shown
// stands below them.
func govern(p *cli.Process, under string, d command) *cobra.Command {
	return d.Cobra(p, under, func(c *cli.Call, run func(*call) error) error {
		namespaces, groups := c.Client.Namespaces(), c.Client.Groups()
		g := &call{Call: c, namespaces: namespaces, groups: groups, read: governance{namespaces, groups}}
		defer func() { g.shown.explain(p) }()
		return run(g)
	})
}

// namesOf returns the names by which a group speaks; none where it is not here any more.
func (c *call) namesOf(g codec.GroupID) (cli.Names, error) { return cli.NamesIn(c.Ctx, c.groups, g) }

// onGroup returns a command about the group that its first argument names; about the
// namespace, if that is what the argument is called.
func onGroup(p *cli.Process, under string, d command) *cobra.Command {
	kind, run := naming.Group, d.Run
	if d.Args[0] == "NAMESPACE" {
		kind = naming.Namespace
	}
	d.Run = func(c *call) (err error) {
		if c.group, err = cli.Find[codec.GroupID](c.Find, d.Args[0], c.Args[0], naming.Query{Kind: kind}); err != nil {
			return err
		}
		return run(c)
	}
	return govern(p, under, d)
}

// onNamedGroup is onGroup for a command that shows names.
func onNamedGroup(p *cli.Process, under string, d command) *cobra.Command {
	run := d.Run
	d.Run = func(c *call) (err error) {
		if c.known, err = c.namesOf(c.group); err != nil {
			return err
		}
		return run(c)
	}
	return onGroup(p, under, d)
}
