package jobs

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/rpc"
)

// command describes a command of this package.
type command = cli.Command[*call]

// call is one run of such a command.
type call struct {
	*cli.Call
	jobs *rpc.Jobs // of the tenant
}

// ofTenant returns a command about the jobs of a tenant, which --tenant names.
func ofTenant(p *cli.Process, d command) *cobra.Command {
	return d.OfTenant(p, "job", func(c *cli.Call, tenant string) *call {
		return &call{c, c.Client.Jobs(tenant)}
	})
}

// workerName is who leases jobs: whom a flag names, else this process on its host.
func workerName(given string) string {
	if given != "" {
		return given
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return fmt.Sprintf("%s:%d", host, os.Getpid())
}
