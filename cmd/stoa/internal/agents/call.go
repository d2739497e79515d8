package agents

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
	settings *rpc.Settings // of the tenant
	limits   *rpc.Limits   // likewise
	sessions *rpc.Sessions // likewise
	events   *rpc.Events   // its streams
}

// ofTenant returns a command about what a tenant has, which --tenant names.
func ofTenant(p *cli.Process, under string, d command) *cobra.Command {
	return d.OfTenant(p, under, func(c *cli.Call, tenant string) *call {
		return &call{c, c.Client.Settings(tenant), c.Client.Limits(tenant), c.Client.Sessions(tenant), c.Client.Events(tenant)}
	})
}
