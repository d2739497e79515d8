package buckets

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
	buckets *rpc.Buckets // of the tenant
	bucket  *rpc.Bucket  // where the command is about one
	name    string       // by which that was asked for
}

// ofTenant returns a command about the buckets of a tenant, which --tenant names.
func ofTenant(p *cli.Process, under string, d command) *cobra.Command {
	return d.OfTenant(p, under, func(c *cli.Call, tenant string) *call {
		return &call{Call: c, buckets: c.Client.Buckets(tenant)}
	})
}

// ofBucket returns a command about a bucket, which its first argument names. The arguments of
// the call are those behind it.
func ofBucket(p *cli.Process, d command) *cobra.Command {
	var service string
	flags, run := d.Flags, d.Run
	d.Args = append([]string{"BUCKET"}, d.Args...)
	d.Flags = func(fs *pflag.FlagSet) {
		fs.StringVar(&service, "service", "", "BUCKET is the alias that this service's contract has for it")
		if flags != nil {
			flags(fs)
		}
	}
	d.Run = func(c *call) error {
		c.name, c.Args = c.Args[0], c.Args[1:]
		c.bucket = c.buckets.Bucket(c.name)
		if service != "" {
			c.bucket = c.buckets.Service(service).Alias(c.name)
		}
		return run(c)
	}
	return ofTenant(p, "bucket", d)
}
