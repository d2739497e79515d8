package agents

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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
	var tenant cli.Tenant
	own := d.Flags
	d.Flags = func(fs *pflag.FlagSet) {
		tenant.Register(fs)
		if own != nil {
			own(fs)
		}
	}
	return d.Cobra(p, under, func(c *cli.Call, run func(*call) error) error {
		name := tenant.Name(p)
		return run(&call{c, c.Client.Settings(name), c.Client.Limits(name), c.Client.Sessions(name), c.Client.Events(name)})
	})
}
