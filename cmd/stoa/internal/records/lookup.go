package records

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/kv/session"
)

// looking is a call of a command about the literal keys of a tenant.
type looking struct {
	*cli.Call
	tenant string
}

func newLookup(p *cli.Process) *cobra.Command {
	var secrets cli.Reveal
	return cli.Command[*looking]{
		Name: "lookup", Offline: true, Short: "Print what a literal key of a tenant stands for, of whatever it is", Args: []string{"KEY"},
		Long: `Print what a literal key of a tenant stands for, as JSON: a hash is an object, a set a list, a sorted
set a list of members with their scores, a stream its entries. Keys of collections are as
` + "`stoa record schema COLLECTION`" + ` has them. The others begin with ade:lock:, ade:task:, ade:approval:,
ade:session:, ade:ratelimit:, ade:events:, ade:job:, ade:config: or ade:feature:, and braces in them, as
of hash tags, are left out. All are computed from what is kept, so that they can't disagree with it.

The sessions of a user are shown by their handles, or by their ids with --reveal-secrets. Who waits for
a lock is known to a daemon only, and to no directory.`,
		Example: "ade:task:t-draft:state --tenant acme\nade:approval:queue:user:ann --tenant acme\nade:config:lock:default_ttl --tenant acme\nintent:active --tenant acme",
		Flags:   secrets.Register,
		Run: func(c *looking) error {
			if err := secrets.Check(c.Process); err != nil {
				return err
			}
			value, err := c.Client.Lookup(c.Ctx, c.tenant, c.Args[0])
			if err != nil {
				return err
			}
			if !secrets.Asked {
				value = session.Shown(c.Args[0], value)
			}
			return c.Emit(value, func(w io.Writer) { fmt.Fprintf(w, "%s\n", value) })
		},
	}.OfTenant(p, "", func(c *cli.Call, tenant string) *looking { return &looking{c, tenant} })
}
