package keyvalues

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
	kv     *rpc.KV // of the tenant, where the command is about one
	tenant string  // "": the one that this user is bound to
}

// arg returns an argument that may have been left out.
func (c *call) arg(n int) string {
	if n < len(c.Args) {
		return c.Args[n]
	}
	return ""
}

// ofTenants returns a command about tenants, which are named by arguments.
func ofTenants(p *cli.Process, under string, d command) *cobra.Command {
	return d.Cobra(p, under, func(c *cli.Call, run func(*call) error) error { return run(&call{Call: c}) })
}

// ofTenant returns a command about what a tenant has, which --tenant names.
func ofTenant(p *cli.Process, under string, d command) *cobra.Command {
	return d.OfTenant(p, under, func(c *cli.Call, tenant string) *call {
		return &call{c, c.Client.KV(tenant), tenant}
	})
}
