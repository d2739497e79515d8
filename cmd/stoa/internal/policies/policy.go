package policies

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/rpc"
)

func newPolicy(p *cli.Process) *cobra.Command {
	cmd := cli.Parent("policy", "Say and ask who may do what",
		"  stoa policy bootstrap --tenant acme\n  stoa policy decide cece.governor.v1 email.send --context '{\"recipients\":3}' --tenant acme\n  stoa policy explain cece.governor.v1 email.send --tenant acme",
		newDecide(p), newUse(p), newExplain(p), newWhatCan(p), newWhoCan(p), newAdd(p), newPolicyList(p), newClaims(p), newWork(p),
		newApproval(p), newApprove(p), newReject(p), newBootstrap(p), newSettings(p), newHeartbeat(p), newStep(p), newRevoke(p),
		newPolicyExport(p), newMigrate(p), newDrop(p))
	cmd.Long = `Say and ask who may do what. Delegations say what an agent may do at all, policies which of
that is allowed, denied or left to a person; both are records, as agents, intents, claims and
approvals are: ` + "`stoa record`" + ` has what all records have in common, ` + "`stoa ledger`" + ` what was
decided and done. --tenant, else $STOA_TENANT, says whose.`
	return cmd
}

// emitDoc says what a record is now.
func (c *call) emitDoc(d rpc.Doc, format string, args ...any) error {
	return c.Emit(newRecordDoc(&d), func(w io.Writer) { fmt.Fprintf(w, format+"\n", args...) })
}

// durable are the flags of commands that write, and take no revision.
type durable struct{ level cli.Durability }

func (d *durable) options() []rpc.RecordOption {
	return []rpc.RecordOption{rpc.RecordDurability(rpc.Durability(d.level))}
}

func newAdd(p *cli.Process) *cobra.Command {
	var d durable
	return ofTenant(p, "policy", command{
		Name: "add", Short: "Make a policy", Args: []string{"DOCUMENT"},
		Long: `Make a policy of a JSON object; - reads it from stdin, @FILE from a file. ` + "`stoa record schema\npolicy`" + ` says what it has; conditions are looked at before it is stored.`,
		Example: `'{"scope":"email.send","name":"Mail","created_by":"user:ann","active":true,"rules":[{"rule_id":"many","condition":"recipients >= 10","action":"deny","priority":10}]}' --tenant acme` +
			"\n@policy.json --tenant acme",
		Flags: d.level.Register,
		Run: func(c *call) error {
			doc, err := c.JSONArgument("DOCUMENT", c.Args[0])
			if err != nil {
				return err
			}
			made, err := c.records.Create(c.Ctx, "policy", doc, d.options()...)
			if err != nil {
				return err
			}
			return c.emitDone(made, "added")
		},
	})
}

func newPolicyList(p *cli.Process) *cobra.Command {
	return ofTenant(p, "policy", command{
		Name: "list", Offline: true, Short: "List the policies that are about an action", Args: []string{"[SCOPE]"},
		Long:    `List the active policies that are about an action, as email.send, or about actions of a pattern, as email.*; without one all that are active.`,
		Example: "--tenant acme\nemail.send --tenant acme",
		Run: func(c *call) error {
			if scope := c.arg(0); scope != "" {
				return c.emitDocs("record", c.policy.PoliciesFor(c.Ctx, scope))
			}
			return c.emitDocs("record", c.records.All(c.Ctx, "policy", rpc.RecordQuery{Filters: []rpc.RecordFilter{{Index: "active"}}}))
		},
	})
}

func newClaims(p *cli.Process) *cobra.Command {
	var kind string
	var all bool
	return ofTenant(p, "policy", command{
		Name: "claims", Offline: true, Short: "List the claims about an object, as who owns it", Args: []string{"OBJECT"},
		Long:    `List the claims about an object that hold, oldest first: who owns org:blackroad, who is employed by it, and so on.`,
		Example: "org:blackroad --type ownership --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&kind, "type", "", "only claims of this type, as ownership")
			fs.BoolVar(&all, "all", false, "list those that do not hold any more too")
		},
		Run: func(c *call) error {
			return c.emitDocs("claim", c.policy.ClaimsAbout(c.Ctx, c.Args[0], kind, rpc.RecordQuery{All: all}))
		},
	})
}

func newWork(p *cli.Process) *cobra.Command {
	var status string
	return ofTenant(p, "policy", command{
		Name: "work", Offline: true, Short: "List the intents that an agent is assigned to", Args: []string{"AGENT"},
		Long:    `List the intents that an agent is assigned to, oldest first: with --status executing what it is working on.`,
		Example: "cece.governor.v1 --status executing --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&status, "status", "", "only intents in this status: proposed, in_planning, executing, completed, blocked or cancelled")
		},
		Run: func(c *call) error {
			return c.emitDocs("intent", c.policy.WorkOf(c.Ctx, c.Args[0], status, rpc.RecordQuery{}))
		},
	})
}

func newBootstrap(p *cli.Process) *cobra.Command {
	var d durable
	return ofTenant(p, "policy", command{
		Name: "bootstrap", Short: "Make what a tenant begins with",
		Long: `Make what a tenant begins with, unless it is there: the policies pol-core-safety and
pol-core-audit, the agent cece.governor.v1, and a delegation to it by blackroad.system. The
tenant is made too. To do it again changes nothing.`,
		Example: "--tenant acme",
		Flags:   d.level.Register,
		Run: func(c *call) error {
			docs, err := c.policy.Bootstrap(c.Ctx, d.options()...)
			if err != nil {
				return err
			}
			all := make([]recordDoc, len(docs))
			for i := range docs {
				all[i] = newRecordDoc(&docs[i])
			}
			return c.Emit(all, func(w io.Writer) {
				for _, doc := range docs {
					writeLine(w, doc)
				}
			})
		},
	})
}

func newHeartbeat(p *cli.Process) *cobra.Command {
	var d durable
	return ofTenant(p, "policy", command{
		Name: "heartbeat", Short: "Note that an agent was heard of", Args: []string{"AGENT"},
		Example: "cece.governor.v1 --tenant acme",
		Flags:   d.level.Register,
		Run: func(c *call) error {
			doc, err := c.policy.Heartbeat(c.Ctx, c.Args[0], d.options()...)
			if err != nil {
				return err
			}
			return c.emitDoc(doc, "heard of %s at %s", doc.ID, cli.Instant(doc.Written))
		},
	})
}

func newStep(p *cli.Process) *cobra.Command {
	var d durable
	return ofTenant(p, "policy", command{
		Name: "step", Short: "Change a step of the plan of an intent", Args: []string{"INTENT", "NUMBER", "PATCH"},
		Long: `Change one step of the plan of an intent by a merge patch (RFC 7386), whatever others do to
the other steps meanwhile.`,
		Example: `int-20251130-abc123 1 '{"status":"completed"}' --tenant acme`,
		Flags:   d.level.Register,
		Run: func(c *call) error {
			number, err := strconv.Atoi(c.Args[1])
			if err != nil {
				return cli.Bad(fmt.Errorf("NUMBER: %q is no number of a step", c.Args[1]), "`stoa record get intent ID` shows the plan")
			}
			patch, err := c.JSONArgument("PATCH", c.Args[2])
			if err != nil {
				return err
			}
			doc, err := c.policy.Step(c.Ctx, c.Args[0], number, patch, d.options()...)
			if err != nil {
				return err
			}
			return c.emitDone(doc, "changed step "+c.Args[1]+" of")
		},
	})
}

func newRevoke(p *cli.Process) *cobra.Command {
	var f changeFlags
	var reason string
	return ofTenant(p, "policy", command{
		Name: "revoke", Short: "Take a claim or a delegation back, for good", Args: []string{"COLLECTION", "ID"},
		Long:    `Take a claim or a delegation back, for good: COLLECTION is claim or delegation.`,
		Example: "delegation del-20251130-abc123 --reason 'left the team' --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&reason, "reason", "", "why")
			f.register(fs)
		},
		Run: func(c *call) error {
			doc, err := c.policy.Revoke(c.Ctx, c.Args[0], c.Args[1], reason, f.options()...)
			if err != nil {
				return err
			}
			return c.emitDone(doc, "revoked")
		},
	})
}

// settingsFlags are what is to be said of a tenant.
type settingsFlags struct {
	durable
	given *pflag.FlagSet
	rpc.TenantSettings
}

func (f *settingsFlags) register(fs *pflag.FlagSet) {
	f.given = fs
	fs.BoolVar(&f.DefaultDeny, "default-deny", false, "set: what no policy speaks of is denied")
	fs.BoolVar(&f.StrictChain, "strict-chain", false, "set: agents delegate only what they hold")
	fs.BoolVar(&f.AllowUnknownIntents, "allow-unknown-intents", false, "set: the ledger takes events of intents that are not there")
	f.level.Register(fs)
}

// apply sets what flags say in settings, and reports whether any says something.
func (f *settingsFlags) apply(to *rpc.TenantSettings) (changed bool) {
	for name, field := range map[string]struct{ from, to *bool }{
		"default-deny":          {&f.DefaultDeny, &to.DefaultDeny},
		"strict-chain":          {&f.StrictChain, &to.StrictChain},
		"allow-unknown-intents": {&f.AllowUnknownIntents, &to.AllowUnknownIntents},
	} {
		if f.given.Changed(name) {
			*field.to, changed = *field.from, true
		}
	}
	return changed
}

func newSettings(p *cli.Process) *cobra.Command {
	var f settingsFlags
	return ofTenant(p, "policy", command{
		Name: "settings", Offline: true, Short: "Print or set what a tenant says where its records are silent",
		Long: `Print what a tenant says where its records are silent, once what flags say is set; those that
are not given stay as they are. A user whom the daemon binds to a tenant may only read it.`,
		Example: "--tenant acme\n--default-deny --tenant acme\n--default-deny=false --tenant acme",
		Flags:   f.register,
		Run: func(c *call) error {
			now, err := c.policy.Settings(c.Ctx)
			if err != nil {
				return err
			}
			if f.apply(&now) {
				if err := c.policy.SetSettings(c.Ctx, now, f.options()...); err != nil {
					return err
				}
			}
			return c.Emit(now, func(w io.Writer) {
				fmt.Fprintf(w, "default-deny           %t\nstrict-chain           %t\nallow-unknown-intents  %t\n", now.DefaultDeny, now.StrictChain, now.AllowUnknownIntents)
			})
		},
	})
}

// context returns the context of a question that a flag gives.
func (c *call) context(flag string) (any, error) {
	if flag == "" {
		return nil, nil
	}
	doc, err := c.JSONArgument("--context", flag)
	if err != nil {
		return nil, err
	}
	return json.RawMessage(doc), nil
}
