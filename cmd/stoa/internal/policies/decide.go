package policies

import (
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/rpc"
)

// questionFlags are those of commands that ask whether somebody may do something.
type questionFlags struct{ context string }

func (f *questionFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.context, "context", "", "what conditions are asked of: a JSON object; - reads it from stdin, @FILE from a file")
}

// question returns the question of a call: AGENT and ACTION.
func (f *questionFlags) question(c *call) (rpc.Question, error) {
	context, err := c.context(f.context)
	return rpc.Question{Agent: c.Args[0], Action: c.Args[1], Context: context}, err
}

// questionLong is what the help of such commands has in common.
const questionLong = `AGENT is agent:NAME, user:NAME or org:NAME; a name without a colon is an agent's. ACTION is
what it wants to do, as email.send.`

// verdict says in a line what a decision comes to.
func verdict(d *rpc.Decision) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", strings.ReplaceAll(d.Result.String(), "_", " "), d.Reason)
	for _, by := range []struct{ what, id string }{{"policy", d.Policy}, {"rule", d.Rule}, {"function", d.Transform}, {"delegation", d.Delegation}} {
		if by.id != "" {
			fmt.Fprintf(&b, "  %s %s", by.what, by.id)
		}
	}
	return b.String()
}

// refusal is the end of a command whose answer allows nothing: nil if it does.
func (c *call) refusal(q *rpc.Question, d *rpc.Decision) error {
	if d.Allowed {
		return nil
	}
	hint := fmt.Sprintf("`stoa policy explain %s %s%s`, with the same context, shows what was looked at", cli.Quoted(q.Agent), cli.Quoted(q.Action), c.Again)
	return cli.Refused(fmt.Errorf("%s may not do %s now", q.Agent, q.Action), hint)
}

func newDecide(p *cli.Process) *cobra.Command {
	var f questionFlags
	return ofTenant(p, "policy", command{
		Name: "decide", Offline: true, Short: "Say whether somebody may do something", Args: []string{"AGENT", "ACTION"},
		Long: `Say whether somebody may do something now, and what decided. Nothing is used up or written.
If it is not allowed, the exit code is 5.

` + questionLong,
		Example: `cece.governor.v1 email.send --context '{"recipients":3}' --tenant acme`,
		Flags:   f.register,
		Run: func(c *call) error {
			q, err := f.question(c)
			if err != nil {
				return err
			}
			d, err := c.policy.Decide(c.Ctx, q)
			if err != nil {
				return err
			}
			if err := c.Emit(d, func(w io.Writer) { fmt.Fprintln(w, verdict(&d)) }); err != nil {
				return err
			}
			return c.refusal(&q, &d)
		},
	})
}

func newUse(p *cli.Process) *cobra.Command {
	var f questionFlags
	var o rpc.UseOptions
	var level cli.Durability
	return ofTenant(p, "policy", command{
		Name: "use", Short: "Ask to do something, and count it", Args: []string{"AGENT", "ACTION"},
		Long: `Ask whether somebody may do something, to do it: a use of the delegation that allows it is
counted. With --intent the ledger gets an event of what was decided, in the same batch; with
--ask-for, if a person has to decide, a request for that, which stoa policy approve answers
and --approval makes use of, once. If it is not allowed, the exit code is 5.

` + questionLong,
		Example: `cece.governor.v1 email.send --intent int-20251130-abc123 --tenant acme` + "\ncece.governor.v1 email.send --ask-for 1h --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			f.register(fs)
			fs.StringVar(&o.Intent, "intent", "", "what it is done for: the ledger says what was decided")
			fs.DurationVar(&o.AskFor, "ask-for", 0, "how long a request for approval is good, as 1h (default: none is made)")
			fs.StringVar(&o.Approval, "approval", "", "the request that was approved")
			fs.BoolVar(&o.DryRun, "dry-run", false, "count no use")
			level.Register(fs)
		},
		Run: func(c *call) error {
			q, err := f.question(c)
			if err != nil {
				return err
			}
			o.Log, o.Durability = o.Intent != "", rpc.Durability(level)
			d, err := c.policy.Use(c.Ctx, q, o)
			if err != nil {
				return err
			}
			err = c.Emit(d, func(w io.Writer) {
				fmt.Fprintln(w, verdict(&d.Decision))
				if d.Event != "" {
					fmt.Fprintln(w, "event", d.Event)
				}
				if d.Approval != "" {
					fmt.Fprintln(w, "approval", d.Approval)
				}
			})
			if err != nil {
				return err
			}
			return c.refusal(&q, &d.Decision)
		},
	})
}

func newExplain(p *cli.Process) *cobra.Command {
	var f questionFlags
	return ofTenant(p, "policy", command{
		Name: "explain", Offline: true, Short: "Say whether somebody may do something, with all that was looked at", Args: []string{"AGENT", "ACTION"},
		Long: `Say whether somebody may do something, as a tree of all that was looked at; * marks what
decided. The exit code does not say what was decided.

` + questionLong,
		Example: `cece.governor.v1 email.send --context '{"recipients":30}' --tenant acme`,
		Flags:   f.register,
		Run: func(c *call) error {
			q, err := f.question(c)
			if err != nil {
				return err
			}
			e, err := c.policy.Explain(c.Ctx, q)
			if err != nil {
				return err
			}
			return c.Emit(e, func(w io.Writer) {
				fmt.Fprintln(w, verdict(&e.Decision))
				writeNodes(w, e.Steps, "")
			})
		},
	})
}

// writeNodes writes what was looked at, what it consists of below it.
func writeNodes(w io.Writer, nodes []policy.Node, indent string) {
	for _, n := range nodes {
		mark := " "
		if n.Decides {
			mark = "*"
		}
		line := n.Kind
		if n.ID != "" {
			line += " " + n.ID
		}
		if n.Text != "" {
			line += " (" + n.Text + ")"
		}
		fmt.Fprintf(w, "%s%s %s: %s\n", indent, mark, line, n.Verdict)
		writeNodes(w, n.Parts, indent+"  ")
	}
}

// emitGrants prints patterns of delegations, each with who; how says what a pattern hangs on.
func (c *call) emitGrants(grants iter.Seq2[rpc.Grant, error], who func(*rpc.Grant) string) error {
	return cli.List(c.Process, "grant", grants, func(g rpc.Grant) (any, error) { return g, nil }, func(w io.Writer, g rpc.Grant) {
		fmt.Fprintf(w, "%s  %s  %s", g.Pattern, who(&g), g.Delegation)
		if len(g.RequireApproval) > 0 {
			fmt.Fprintf(w, "  approval for %s", strings.Join(g.RequireApproval, ", "))
		}
		if g.Conditional {
			fmt.Fprint(w, "  if its conditions are true")
		}
		fmt.Fprintln(w)
	})
}

func newWhatCan(p *cli.Process) *cobra.Command {
	return ofTenant(p, "policy", command{
		Name: "what-can", Offline: true, Short: "List what somebody can do", Args: []string{"AGENT"},
		Long: `List what somebody can do now: the patterns of the delegations in force, each with who
delegates it. What policies say is asked by stoa policy decide.`,
		Example: "cece.governor.v1 --tenant acme",
		Run: func(c *call) error {
			return c.emitGrants(c.policy.WhatCan(c.Ctx, c.Args[0]), func(g *rpc.Grant) string { return "from " + g.Delegator })
		},
	})
}

func newWhoCan(p *cli.Process) *cobra.Command {
	return ofTenant(p, "policy", command{
		Name: "who-can", Offline: true, Short: "List who can do something", Args: []string{"ACTION"},
		Long:    `List who can do something now, by the delegations in force. What policies say is asked by stoa policy decide.`,
		Example: "email.send --tenant acme",
		Run: func(c *call) error {
			return c.emitGrants(c.policy.WhoCan(c.Ctx, c.Args[0]), func(g *rpc.Grant) string { return g.Delegate })
		},
	})
}

func newApproval(p *cli.Process) *cobra.Command {
	return ofTenant(p, "policy", command{
		Name: "approval", Offline: true, Short: "Print a request for approval as it stands", Args: []string{"[ID]"},
		Long:    `Print a request for approval as it stands: one that nobody has answered in its time is rejected. Without an id those that wait are listed.`,
		Example: "--tenant acme\napr-20251130-abc123 --tenant acme",
		Run: func(c *call) error {
			if c.arg(0) == "" {
				return c.emitDocs("request", c.records.All(c.Ctx, "approval", rpc.RecordQuery{Filters: []rpc.RecordFilter{{Index: "active"}}}))
			}
			doc, err := c.policy.Approval(c.Ctx, c.Args[0])
			if err != nil {
				return err
			}
			return c.emitDoc(doc, "%s", doc.JSON)
		},
	})
}

// answering returns a command that answers a request for approval.
func answering(p *cli.Process, name, short, done string, approve bool) *cobra.Command {
	var by, reason string
	var d durable
	return ofTenant(p, "policy", command{
		Name: name, Short: short, Args: []string{"ID"},
		Long: short + `, for a user; once. A request that nobody has answered in its time is rejected, whatever
the answer.`,
		Example: "apr-20251130-abc123 --by user:ann --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&by, "by", "", "who answers: user:NAME")
			fs.StringVar(&reason, "reason", "", "why")
			d.level.Register(fs)
		},
		Check: func() error {
			if by == "" {
				return cli.Bad(fmt.Errorf("--by is required"), "a user answers: --by user:NAME")
			}
			return nil
		},
		Run: func(c *call) error {
			doc, err := c.policy.Answer(c.Ctx, c.Args[0], approve, by, reason, d.options()...)
			if err != nil {
				return err
			}
			return c.emitDone(doc, done)
		},
	})
}

func newApprove(p *cli.Process) *cobra.Command {
	return answering(p, "approve", "Approve a request for approval", "approved", true)
}

func newReject(p *cli.Process) *cobra.Command {
	return answering(p, "reject", "Reject a request for approval", "rejected", false)
}
