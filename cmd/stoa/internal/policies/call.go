package policies

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
	records *rpc.Records // of the tenant
	policy  *rpc.Policy  // likewise
}

// arg returns an argument that may have been left out.
func (c *call) arg(n int) string {
	if n < len(c.Args) {
		return c.Args[n]
	}
	return ""
}

// ofTenant returns a command about what a tenant has, which --tenant names.
func ofTenant(p *cli.Process, under string, d command) *cobra.Command {
	return d.OfTenant(p, under, func(c *cli.Call, tenant string) *call {
		return &call{c, c.Client.Records(tenant), c.Client.Policy(tenant)}
	})
}
