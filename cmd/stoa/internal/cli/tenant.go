package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Tenant is a flag that says whose something is.
type Tenant struct{ name string }

// Register adds the flag to those of a command.
func (t *Tenant) Register(fs *pflag.FlagSet) {
	fs.StringVar(&t.name, "tenant", "", "the tenant (default $STOA_TENANT, else the one that the daemon binds this user to)")
}

// Name returns the tenant; "" is the one that the daemon binds this user to.
func (t *Tenant) Name(p *Process) string {
	if t.name == "" {
		return p.Getenv("STOA_TENANT")
	}
	return t.name
}

// OfTenant returns the command about what a tenant has, which --tenant names; with makes of
// each call that of the package. What the call says to do again has the tenant, too.
func (d Command[C]) OfTenant(p *Process, under string, with func(c *Call, tenant string) C) *cobra.Command {
	var tenant Tenant
	own := d.Flags
	d.Flags = func(fs *pflag.FlagSet) {
		tenant.Register(fs)
		if own != nil {
			own(fs)
		}
	}
	return d.Cobra(p, under, func(c *Call, run func(C) error) error {
		name := tenant.Name(p)
		if name != "" && name != p.Getenv("STOA_TENANT") {
			c.Again += " --tenant " + Quoted(name)
		}
		return run(with(c, name))
	})
}
