package tasks

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/rpc"
)

// applyFlags say who applies a task.
type applyFlags struct {
	agent string
	token uint64
	ttl   time.Duration
	level cli.Durability
}

func (f *applyFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.agent, "agent", "", "who applies it")
	fs.Uint64Var(&f.token, "token", 0, "of the agent's grant of the lock task:ID (default: the lock is acquired)")
	fs.DurationVar(&f.ttl, "ttl", 30*time.Minute, "how long the lock is held, where it is acquired")
	f.level.Register(fs)
}

// begin has the agent apply a task.
func (f *applyFlags) begin(c *call, retry bool) error {
	if f.agent == "" {
		return cli.Bad(errNoAgent, "")
	}
	token, name := f.token, lock.Task(c.Args[0])
	if token == 0 {
		g, err := c.locks.Acquire(c.Ctx, rpc.LockRequest{Name: name, Agent: f.agent, TTL: f.ttl, Purpose: "apply the task"})
		if err != nil {
			return err
		}
		token = g.Token
	}
	d, err := c.tasks.Move(c.Ctx, c.Args[0], rpc.TaskMove{To: approval.Applying, By: f.agent, Agent: f.agent, Token: token, Retry: retry, Durability: rpc.Durability(f.level)})
	if err != nil {
		if f.token == 0 { // as it was
			_, _ = c.locks.Release(c.Ctx, rpc.LockHolding{Name: name, Agent: f.agent, Token: token}, rpc.WAL)
		}
		return err
	}
	return c.Emit(newRecordDoc(&d), func(w io.Writer) {
		fmt.Fprintf(w, "%s is %s by %s, token %d, until %s\n", d.ID, field(&d, "state"), f.agent, token, field(&d, "execution.deadline_at"))
	})
}

func newApply(p *cli.Process) *cobra.Command {
	var f applyFlags
	return ofTenant(p, "task", command{
		Name: "apply", Short: "Have an agent apply an approved task", Args: []string{"ID"},
		Long: `Have an agent apply an approved task, under the lock of the task: it is acquired, unless --token
says by which grant the agent holds it. ` + "`stoa task complete`" + ` says what has come of it; without
that it times out.`,
		Example: "t-approved --agent worker-1 --tenant acme",
		Flags:   f.register,
		Run:     func(c *call) error { return f.begin(c, false) },
	})
}

func newRetry(p *cli.Process) *cobra.Command {
	var f applyFlags
	return ofTenant(p, "task", command{
		Name: "retry", Short: "Apply a task again that has failed, or timed out", Args: []string{"ID"},
		Example: "t-failed --agent worker-1 --tenant acme",
		Flags:   f.register,
		Run:     func(c *call) error { return f.begin(c, true) },
	})
}

func newComplete(p *cli.Process) *cobra.Command {
	var f applyFlags
	var o rpc.TaskOutcome
	var output, details string
	return ofTenant(p, "task", command{
		Name: "complete", Short: "Say what has come of applying a task, and free its lock", Args: []string{"ID"},
		Long: `Say what has come of applying a task, and free its lock. The agent is still to hold it, by
--token or by any grant; else the exit code is 5. Of a long output the task has the begin, and
a blob all of it.`,
		Example: "t-approved --agent worker-1 --result success --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&f.agent, "agent", "", "who has applied it")
			fs.Uint64Var(&f.token, "token", 0, "of the agent's grant of the lock task:ID (default: what the agent holds it by)")
			fs.StringVar(&o.Result, "result", "success", "success or failure")
			fs.StringVar(&output, "output", "", "what it has printed; - reads it from stdin, @FILE from a file")
			fs.StringVar(&o.OutputKey, "output-key", "", "where all of the output is (default: the daemon keeps it)")
			fs.StringVar(&o.Error, "error", "", "why it failed, for people")
			fs.StringVar(&details, "error-details", "", "and for programs: JSON; @FILE reads it from a file")
			f.level.Register(fs)
		},
		Run: func(c *call) (err error) {
			if f.agent == "" {
				return cli.Bad(errNoAgent, "")
			}
			if output != "" {
				text, err := c.Argument("--output", output)
				if err != nil {
					return err
				}
				o.Output = string(text)
			}
			if details != "" {
				if o.ErrorDetails, err = c.JSONArgument("--error-details", details); err != nil {
					return err
				}
			}
			return f.end(c, o)
		},
	})
}

// end says what has come of applying a task.
func (f *applyFlags) end(c *call, o rpc.TaskOutcome) error {
	token, name := f.token, lock.Task(c.Args[0])
	if token == 0 {
		l, err := c.locks.Get(c.Ctx, name)
		if err != nil {
			return err
		}
		for _, g := range l.Holders {
			if g.Agent == f.agent {
				token = g.Token
			}
		}
		if token == 0 {
			return cli.Refused(fmt.Errorf("%s does not hold the lock %s any more", f.agent, name), "the task times out, and is applied again by `stoa task retry`")
		}
	}
	d, err := c.tasks.Move(c.Ctx, c.Args[0], rpc.TaskMove{To: approval.Completed, By: f.agent, Agent: f.agent, Token: token, Outcome: o, Durability: rpc.Durability(f.level)})
	if err == nil {
		_, err = c.locks.Release(c.Ctx, rpc.LockHolding{Name: name, Agent: f.agent, Token: token}, rpc.Durability(f.level))
	}
	if err != nil {
		return err
	}
	return c.Emit(newRecordDoc(&d), func(w io.Writer) {
		fmt.Fprintf(w, "%s is %s: %s\n", d.ID, field(&d, "state"), field(&d, "execution.result"))
	})
}
