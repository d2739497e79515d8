package jobs

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/kv/job"
	"github.com/stoadb/stoa/rpc"
)

func newLease(p *cli.Process) *cobra.Command {
	var o rpc.JobLeaseOptions
	var level cli.Durability
	return ofTenant(p, command{
		Name: "lease", Short: "Take the first jobs of a queue, for a time", Args: []string{"QUEUE"},
		Long: `Take the first jobs of a queue: until the lease is over nobody else is given them. What is printed of each
has its token, by which ` + "`stoa job complete`" + `, fail and extend know the lease. If no job is ready, and none
comes while it is waited for, the exit code is 4.`,
		Example: "archive --worker w-1 --for 1m --tenant acme\narchive --worker w-1 --limit 10 --wait 5s --json --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&o.Worker, "worker", "", "who does them, for people (default: this host and process)")
			fs.StringVar(&o.ID, "job", "", "this job only, if it is ready")
			fs.DurationVar(&o.For, "for", job.PlainLease, fmt.Sprintf("how long, %s to %s", job.MinLease, job.MaxLease))
			fs.IntVar(&o.Limit, "limit", 1, fmt.Sprintf("at most so many, up to %d", job.MaxBatch))
			fs.DurationVar(&o.Wait, "wait", 0, fmt.Sprintf("wait for a job if there is none, at most %s", job.MaxWait))
			level.Register(fs)
		},
		Run: func(c *call) error {
			o.Queue, o.Worker, o.Durability = c.Args[0], workerName(o.Worker), rpc.Durability(level)
			list, err := c.jobs.Lease(c.Ctx, o)
			if err != nil {
				return err
			}
			if len(list) == 0 {
				return cli.Fail(cli.ExitNotFound, fmt.Errorf("no job of %s is ready", o.Queue), "--wait waits for one")
			}
			return c.Emit(list, func(w io.Writer) {
				var t cli.Table
				for _, j := range list {
					t.Add(j.ID, fmt.Sprintf("token %d", j.Token), "until "+cli.Instant(j.Until), string(j.Payload))
				}
				t.Write(w, "")
			})
		},
	})
}

// tokenOf is the token of a lease, the second argument.
func tokenOf(c *call) (uint64, error) {
	token, err := strconv.ParseUint(c.Args[1], 10, 64)
	if err != nil {
		return 0, cli.Bad(fmt.Errorf("TOKEN: %q is no number", c.Args[1]), "`stoa job lease` and `stoa job show` print the token of a lease")
	}
	return token, nil
}

func newExtend(p *cli.Process) *cobra.Command {
	var last time.Duration
	var level cli.Durability
	return ofTenant(p, command{
		Name: "extend", Short: "Have a lease last for longer", Args: []string{"JOB", "TOKEN"},
		Example: "leased \"$(cat token)\" --for 1m --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.DurationVar(&last, "for", job.PlainLease, fmt.Sprintf("how long from now on, %s to %s", job.MinLease, job.MaxLease))
			level.Register(fs)
		},
		Run: func(c *call) error {
			token, err := tokenOf(c)
			if err != nil {
				return err
			}
			until, err := c.jobs.Extend(c.Ctx, rpc.Durability(level), c.Args[0], token, last)
			if err != nil {
				return err
			}
			return c.Emit(map[string]time.Time{"until": until}, func(w io.Writer) { fmt.Fprintf(w, "%s is leased until %s\n", c.Args[0], cli.Instant(until)) })
		},
	})
}

func newComplete(p *cli.Process) *cobra.Command {
	var level cli.Durability
	return ofTenant(p, command{
		Name: "complete", Short: "Say that a job is done", Args: []string{"JOB", "TOKEN"},
		Long:    `Say that a job is done, which removes it. If the lease is over it is FENCED, and the exit code is 5.`,
		Example: "leased \"$(cat token)\" --tenant acme", Flags: level.Register,
		Run: func(c *call) error {
			token, err := tokenOf(c)
			if err != nil {
				return err
			}
			if err := c.jobs.Complete(c.Ctx, rpc.Durability(level), c.Args[0], token); err != nil {
				return err
			}
			return c.Emit(map[string]string{"id": c.Args[0]}, func(w io.Writer) { fmt.Fprintln(w, c.Args[0]+" is done") })
		},
	})
}

func newFail(p *cli.Process) *cobra.Command {
	var reason string
	var delay time.Duration
	var level cli.Durability
	return ofTenant(p, command{
		Name: "fail", Short: "Say that a job could not be done", Args: []string{"JOB", "TOKEN"},
		Long: `Say that a job could not be done: it has its place in the queue again, or is due after a --delay. After
the last of its attempts it is dead: nobody is given it until ` + "`stoa job retry`" + `.`,
		Example: "leased \"$(cat token)\" --reason 'the disk is full' --delay 1m --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&reason, "reason", "", "why, for people")
			fs.DurationVar(&delay, "delay", 0, "until it is due again, at most 720h")
			level.Register(fs)
		},
		Run: func(c *call) error {
			token, err := tokenOf(c)
			if err != nil {
				return err
			}
			dead, err := c.jobs.Fail(c.Ctx, rpc.Durability(level), c.Args[0], token, reason, delay)
			if err != nil {
				return err
			}
			return c.Emit(map[string]bool{"dead": dead}, func(w io.Writer) {
				fmt.Fprintln(w, c.Args[0]+either(dead, " is dead: this was its last attempt", " is tried again"))
			})
		},
	})
}
