package jobs

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/kv/job"
	"github.com/stoadb/stoa/rpc"
)

// doing is what is the matter with a job, for people.
func doing(j *rpc.JobInfo) string {
	text := ""
	switch j.State {
	case job.Scheduled:
		text = "due " + cli.Instant(j.Due)
	case job.Ready:
		text = "since " + cli.Instant(j.Due)
	case job.Leased:
		text = fmt.Sprintf("by %s until %s, token %d", j.Worker, cli.Instant(j.Until), j.Token)
	case job.Dead:
		text = "since " + cli.Instant(j.Until)
	}
	text += fmt.Sprintf(", %d of %d attempts", j.Attempts, j.MaxAttempts)
	if j.Failure != "" {
		text += ", failed: " + j.Failure
	}
	return text
}

func newShow(p *cli.Process) *cobra.Command {
	return ofTenant(p, command{
		Name: "show", Offline: true, Short: "Print a job", Args: []string{"JOB"}, Example: "failing --tenant acme",
		Run: func(c *call) error {
			j, err := c.jobs.Get(c.Ctx, c.Args[0])
			if err != nil {
				return err
			}
			return c.Emit(j, func(w io.Writer) { fmt.Fprintf(w, "%s, %s: %s\n%s\n", j.Queue, j.State, doing(&j), j.Payload) })
		},
	})
}

func newList(p *cli.Process) *cobra.Command {
	var state string
	limit := 0
	return ofTenant(p, command{
		Name: "list", Offline: true, Short: "List the jobs of a queue, or of all", Args: []string{"[QUEUE]"},
		Long: `List the jobs of a queue, or of all: those that are scheduled by when they are due, those that are ready in
their order, leased ones by when that is over, dead ones by when they died.`,
		Example: "archive --state ready --tenant acme\n--json --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&state, "state", "", "those that are scheduled, ready, leased or dead (default: all)")
			fs.IntVar(&limit, "limit", 100, "at most so many of a queue and state; 0: all")
		},
		Run: func(c *call) error {
			queues, states := job.QueueNames(), job.States()
			if len(c.Args) > 0 {
				queues = c.Args
			}
			if state != "" {
				states = []string{state}
			}
			list, t := []rpc.JobInfo{}, cli.Table{}
			for _, queue := range queues {
				for _, name := range states {
					of, err := job.ParseState(name)
					if err != nil {
						return err
					}
					for j, err := range c.jobs.All(c.Ctx, rpc.JobListOptions{Queue: queue, State: of, Limit: limit}) {
						if err != nil {
							return err
						}
						list = append(list, j)
						t.Add(j.ID, j.Queue, j.State.String(), doing(&j))
					}
				}
			}
			return c.Emit(list, func(w io.Writer) { t.Write(w, "") })
		},
	})
}

func newLookup(p *cli.Process) *cobra.Command {
	return ofTenant(p, command{
		Name: "lookup", Offline: true, Short: "Print what a literal key stands for", Args: []string{"KEY"},
		Long: `Print what a literal key stands for: ade:job:queue:QUEUE the jobs that are ready, ade:job:scheduled those
that are not due yet, ade:job:lock:JOB the worker that has leased a job.`,
		Example: "ade:job:queue:archive --tenant acme\nade:job:lock:leased --tenant acme",
		Run: func(c *call) error {
			value, err := c.jobs.Lookup(c.Ctx, c.Args[0])
			if err != nil {
				return err
			}
			return c.Emit(json.RawMessage(value), func(w io.Writer) { fmt.Fprintln(w, string(value)) })
		},
	})
}
