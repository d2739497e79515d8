package governance

import (
	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
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
