package jobs

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/kv/job"
	"github.com/stoadb/stoa/rpc"
)

// making are the flags of what makes a job.
type making struct {
	attempts int
	level    cli.Durability
}

func (m *making) register(fs *pflag.FlagSet) {
	fs.IntVar(&m.attempts, "max-attempts", job.PlainAttempts, fmt.Sprintf("how often it is tried before it is dead: 1 to %d", job.MaxAttempts))
	m.level.Register(fs)
}

// job is the job that is made, whose payload is the argument at a place, if there is one.
func (m *making) job(c *call, id string, at int) (rpc.Job, error) {
	j := rpc.Job{ID: id, Queue: c.Args[0], MaxAttempts: m.attempts}
	if len(c.Args) <= at {
		return j, nil
	}
	payload, err := c.Argument("PAYLOAD", c.Args[at])
	j.Payload = payload
	return j, err
}

func newSchedule(p *cli.Process) *cobra.Command {
	var m making
	var in time.Duration
	var at string
	return ofTenant(p, command{
		Name: "schedule", Short: "Have a job done at a time", Args: []string{"QUEUE", "JOB", "[PAYLOAD]"},
		Long: `Have a job done when it is due: in a while (--in), or at a time (--at). A job of the same id is replaced,
whatever its state, so that it is done once. PAYLOAD is a JSON object; - reads it from stdin, @FILE from a file.`,
		Example: "archive nightly '{\"keep\":7}' --in 8h --tenant acme\narchive yearly --at 2100-01-01T00:00:00Z --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.DurationVar(&in, "in", 0, "due after so long")
			fs.StringVar(&at, "at", "", "due at a time, such as 2026-12-31T23:00:00Z")
			m.register(fs)
		},
		Run: func(c *call) error {
			j, err := m.job(c, c.Args[1], 2)
			if err != nil {
				return err
			}
			if j.Due, err = dueAt(in, at); err != nil {
				return err
			}
			if err := c.jobs.Schedule(c.Ctx, rpc.Durability(m.level), j); err != nil {
				return err
			}
			return c.Emit(struct {
				ID  string    `json:"id"`
				Due time.Time `json:"due"`
			}{j.ID, j.Due}, func(w io.Writer) { fmt.Fprintf(w, "%s is due at %s\n", j.ID, cli.Instant(j.Due)) })
		},
	})
}

// dueAt is when something is due that is so in a while, or at a time.
func dueAt(in time.Duration, at string) (time.Time, error) {
	if (in != 0) == (at != "") || in < 0 {
		return time.Time{}, cli.Bad(errors.New("when the job is due is said by --in or by --at"), "`stoa job enqueue` makes one that is due at once")
	}
	if at == "" {
		return time.Now().Add(in).UTC(), nil
	}
	due, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return due, cli.Bad(fmt.Errorf("--at: %q is no time such as 2026-12-31T23:00:00Z", at), "")
	}
	return due.UTC(), nil
}

func newEnqueue(p *cli.Process) *cobra.Command {
	var m making
	var id string
	return ofTenant(p, command{
		Name: "enqueue", Short: "Have a job done as soon as its turn comes", Args: []string{"QUEUE", "[PAYLOAD]"},
		Long: `Put a job at the end of its queue, unless there is one of its --job, and print the id. PAYLOAD is a JSON
object; - reads it from stdin, @FILE from a file.`,
		Example: "archive '{\"of\":\"2026\"}' --tenant acme\narchive --job of-2026 --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&id, "job", "", "the id of the job (default: one is made)")
			m.register(fs)
		},
		Run: func(c *call) error {
			j, err := m.job(c, id, 1)
			if err != nil {
				return err
			}
			id, made, err := c.jobs.Enqueue(c.Ctx, rpc.Durability(m.level), j)
			if err != nil {
				return err
			}
			return c.Emit(struct {
				ID   string `json:"id"`
				Made bool   `json:"made"`
			}{id, made}, func(w io.Writer) { fmt.Fprintln(w, id+either(made, "", ", which was there already")) })
		},
	})
}

// either is one text, or another.
func either(is bool, text, other string) string {
	if is {
		return text
	}
	return other
}

func newCancel(p *cli.Process) *cobra.Command {
	var level cli.Durability
	return ofTenant(p, command{
		Name: "cancel", Short: "Remove a job, whatever its state", Args: []string{"JOB"},
		Long:    `Remove a job, whatever its state: a worker that does it is told so when it wants to complete it.`,
		Example: "nightly --tenant acme", Flags: level.Register,
		Run: func(c *call) error {
			existed, err := c.jobs.Cancel(c.Ctx, rpc.Durability(level), c.Args[0])
			if err != nil {
				return err
			}
			return c.Emit(map[string]bool{"existed": existed}, func(w io.Writer) {
				fmt.Fprintln(w, c.Args[0]+either(existed, " is cancelled", " was not there"))
			})
		},
	})
}

func newRetry(p *cli.Process) *cobra.Command {
	var level cli.Durability
	return ofTenant(p, command{
		Name: "retry", Short: "Have a dead job tried again", Args: []string{"JOB"},
		Long:    `Put a job that is dead at the end of its queue again, with as many attempts as it had at first.`,
		Example: "failing --tenant acme", Flags: level.Register,
		Run: func(c *call) error {
			dead, err := c.jobs.Retry(c.Ctx, rpc.Durability(level), c.Args[0])
			if err != nil {
				return err
			}
			return c.Emit(map[string]bool{"dead": dead}, func(w io.Writer) {
				fmt.Fprintln(w, c.Args[0]+either(dead, " is tried again", " was not dead"))
			})
		},
	})
}
