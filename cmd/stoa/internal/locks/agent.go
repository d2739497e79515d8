package locks

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/rpc"
)

func newAgent(p *cli.Process) *cobra.Command {
	cmd := cli.Parent("agent", "Say how much agents do at once, and that they are there",
		"  stoa lock agent register worker-2 --max-tasks 10 --tenant acme\n  stoa lock agent list --tenant acme",
		newRegister(p), newHeartbeat(p), newDrain(p), newDeregister(p), newShowAgent(p), newListAgents(p))
	cmd.Long = `Say how many tasks' locks agents hold at once, and that they are there. An agent need not be registered; one
that is has to be heard of: three times config:lock:heartbeat_interval without a heartbeat, and its
locks are released. Renewals of locks are no heartbeats.`
	return cmd
}

// agentDoc is an agent, as JSON.
type agentDoc struct {
	Agent       string `json:"agent"`
	Status      string `json:"status"`
	MaxTasks    int    `json:"max_tasks"`
	ActiveTasks int    `json:"active_tasks"`
	QueuedTasks int    `json:"queued_tasks"`
	Heard       string `json:"last_heartbeat"`
}

func newAgentDoc(a *rpc.LockAgent) agentDoc {
	return agentDoc{a.Name, a.Status.String(), a.MaxTasks, a.ActiveTasks, a.QueuedTasks, cli.Instant(a.Heard)}
}

// cells are those of an agent in a table.
func (d *agentDoc) cells() []string {
	return []string{d.Agent, d.Status, fmt.Sprintf("%d of %s", d.ActiveTasks, cli.Count(d.MaxTasks, "task")), fmt.Sprintf("%d queued", d.QueuedTasks), "heard " + d.Heard}
}

// emitAgent says what is known of an agent now.
func (c *call) emitAgent() error {
	a, err := c.locks.Agent(c.Ctx, c.Args[0])
	if err != nil {
		return err
	}
	d := newAgentDoc(&a)
	return c.Emit(d, func(w io.Writer) {
		t := cli.Table{}
		t.Add(d.cells()...)
		t.Write(w, "")
	})
}

// newAgentChange returns a command that changes an agent, and says what it is then.
func newAgentChange(p *cli.Process, d command, level *cli.Durability, change func(*call, rpc.Durability) error) *cobra.Command {
	own := d.Flags
	d.Args = []string{"AGENT"}
	d.Flags = func(fs *pflag.FlagSet) {
		if own != nil {
			own(fs)
		}
		level.Register(fs)
	}
	d.Run = func(c *call) error {
		if err := change(c, rpc.Durability(*level)); err != nil {
			return err
		}
		return c.emitAgent()
	}
	return ofTenant(p, "lock agent", d)
}

func newRegister(p *cli.Process) *cobra.Command {
	var level cli.Durability
	most := 0
	return newAgentChange(p, command{
		Name: "register", Short: "Say how many tasks an agent does at once, and that it is there",
		Example: "worker-2 --max-tasks 10 --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.IntVar(&most, "max-tasks", 10, "how many locks of tasks it holds at most: 0 to 256")
		},
	}, &level, func(c *call, d rpc.Durability) error { return c.locks.Register(c.Ctx, c.Args[0], most, d) })
}

func newHeartbeat(p *cli.Process) *cobra.Command {
	var level cli.Durability
	return newAgentChange(p, command{
		Name: "heartbeat", Short: "Say that an agent is there", Example: "worker-3 --tenant acme",
	}, &level, func(c *call, d rpc.Durability) error { return c.locks.Heartbeat(c.Ctx, c.Args[0], d) })
}

func newDrain(p *cli.Process) *cobra.Command {
	var level cli.Durability
	resume := false
	return newAgentChange(p, command{
		Name: "drain", Short: "Have an agent take no new locks, and keep those that it has",
		Example: "worker-3 --tenant acme\nworker-3 --resume --tenant acme",
		Flags:   func(fs *pflag.FlagSet) { fs.BoolVar(&resume, "resume", false, "have it take locks again") },
	}, &level, func(c *call, d rpc.Durability) error { return c.locks.Drain(c.Ctx, c.Args[0], !resume, d) })
}

func newDeregister(p *cli.Process) *cobra.Command {
	var level cli.Durability
	return ofTenant(p, "lock agent", command{
		Name: "deregister", Short: "Forget an agent, and release its locks", Args: []string{"AGENT"},
		Example: "worker-3 --tenant acme", Flags: level.Register,
		Run: func(c *call) error {
			if err := c.locks.Deregister(c.Ctx, c.Args[0], rpc.Durability(level)); err != nil {
				return err
			}
			return c.Emit(map[string]bool{"deregistered": true}, func(w io.Writer) { fmt.Fprintf(w, "%s is no longer registered, and holds nothing\n", c.Args[0]) })
		},
	})
}

func newShowAgent(p *cli.Process) *cobra.Command {
	return ofTenant(p, "lock agent", command{
		Name: "show", Offline: true, Short: "Show what is known of an agent", Args: []string{"AGENT"},
		Example: "worker-3 --tenant acme", Run: (*call).emitAgent,
	})
}

func newListAgents(p *cli.Process) *cobra.Command {
	return ofTenant(p, "lock agent", command{
		Name: "list", Offline: true, Short: "List the agents that are registered", Example: "--tenant acme",
		Run: func(c *call) error {
			list, t := []agentDoc{}, cli.Table{}
			for a, err := range c.locks.AllAgents(c.Ctx) {
				if err != nil {
					return err
				}
				d := newAgentDoc(&a)
				list = append(list, d)
				t.Add(d.cells()...)
			}
			return c.Emit(list, func(w io.Writer) { t.Write(w, "") })
		},
	})
}
