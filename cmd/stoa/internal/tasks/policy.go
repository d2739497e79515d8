package tasks

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/rpc"
)

func newPolicy(p *cli.Process) *cobra.Command {
	cmd := cli.Parent("policy", "Have somebody else asked in a reviewer's place, by rules",
		"  stoa approval policy list ann --tenant acme", newPolicyAdd(p), newPolicyList(p), newPolicyDelete(p))
	cmd.Long = `Have somebody else asked in a reviewer's place, where conditions hold when a request is made.
Policies are records of the collection delegation_policy: ` + "`stoa record update`" + ` changes one.`
	return cmd
}

func newPolicyAdd(p *cli.Process) *cobra.Command {
	var level cli.Durability
	return ofTenant(p, "approval policy", command{
		Name: "add", Short: "Add a delegation policy", Args: []string{"DOCUMENT"},
		Example: `'{"owner_id":"ann","delegate_to":"bob","conditions":{"task_types":["infrastructure"],"risk_above":50}}' --tenant acme`,
		Flags:   level.Register,
		Run: func(c *call) error {
			doc, err := c.JSONArgument("DOCUMENT", c.Args[0])
			if err != nil {
				return err
			}
			d, err := c.records.Create(c.Ctx, approval.Delegations, doc, rpc.RecordDurability(rpc.Durability(level)))
			if err != nil {
				return err
			}
			return c.Emit(newRecordDoc(&d), func(w io.Writer) { fmt.Fprintf(w, "added %s\n", d.ID) })
		},
	})
}

func newPolicyList(p *cli.Process) *cobra.Command {
	return ofTenant(p, "approval policy", command{
		Name: "list", Offline: true, Short: "List the delegation policies of a user that are in force", Args: []string{"USER"},
		Example: "ann --tenant acme",
		Run: func(c *call) error {
			docs, err := c.all(approval.Delegations, rpc.RecordQuery{Filters: []rpc.RecordFilter{equal("by_owner", c.Args[0])}})
			if err != nil {
				return err
			}
			return c.rows(docs, "delegate_to", "conditions", "cascade", "expires_at")
		},
	})
}

func newPolicyDelete(p *cli.Process) *cobra.Command {
	return ofTenant(p, "approval policy", command{
		Name: "delete", Short: "Remove a delegation policy", Args: []string{"ID"},
		Example: "policy-1 --tenant acme",
		Run: func(c *call) error {
			d, err := c.records.Delete(c.Ctx, approval.Delegations, c.Args[0])
			if err != nil {
				return err
			}
			return c.Emit(newRecordDoc(&d), func(w io.Writer) { fmt.Fprintf(w, "deleted %s\n", d.ID) })
		},
	})
}
