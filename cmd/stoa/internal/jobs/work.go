package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/kv/job"
	"github.com/stoadb/stoa/rpc"
)

// longestDelay is how long a job that has failed again and again waits at most.
const longestDelay = time.Minute

// errLost is why a command is told to end whose lease is over.
var errLost = errors.New("the lease is over: the job is another's to do, or was cancelled")

// working are the flags of work.
type working struct {
	worker           string
	last             time.Duration // of a lease
	delay, killAfter time.Duration
	count            int
	drain            bool
	level            cli.Durability
}

func newWork(p *cli.Process) *cobra.Command {
	var f working
	cmd := ofTenant(p, command{
		Name: "work", Short: "Run a command for each job of a queue", Args: []string{"QUEUE", "COMMAND", "[ARG...]"},
		Long: `Lease the jobs of a queue, one after the other, and run a command for each: it reads the payload from stdin,
and finds the job in $STOA_JOB_ID, its queue in $STOA_JOB_QUEUE, the token of the lease in $STOA_JOB_TOKEN and which
attempt this is in $STOA_JOB_ATTEMPT. If it exits with 0 the job is done; else it has failed, and is due again after
--delay, twice that the next time, up to a minute. The lease is extended while the command runs.

A lease can be lost: the job was cancelled or scheduled anew, or the daemon was away for too long. Then the command gets
SIGTERM, and SIGKILL after --kill-after, since another worker may do the job by now; nothing is written of it. It gets
SIGTERM where this worker is killed (SIGKILL), too, on Linux: the job is another's once the lease is over.

It goes on until Ctrl-C, which the command gets as SIGTERM. Of each job a line on stderr says what has become of it.`,
		Example: "archive --drain --tenant acme -- sh -c 'cat; echo'\narchive --count 1 --for 5m --tenant acme -- sh -c 'echo $STOA_JOB_ID'",
		Flags:   f.register,
		Run:     f.run,
	})
	cmd.Use = "work QUEUE -- COMMAND [ARG...]"
	return cmd
}

func (f *working) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.worker, "worker", "", "who does them, for people (default: this host and process)")
	fs.DurationVar(&f.last, "for", job.PlainLease, fmt.Sprintf("how long a lease lasts that is not extended, %s to %s", job.MinLease, job.MaxLease))
	fs.DurationVar(&f.delay, "delay", time.Second, "until a job that failed for the first time is due again")
	fs.DurationVar(&f.killAfter, "kill-after", 10*time.Second, "how long after SIGTERM the command is killed; 0: never")
	fs.IntVar(&f.count, "count", 0, "end after so many jobs (default: never)")
	fs.BoolVar(&f.drain, "drain", false, "end once no job is ready, instead of waiting for one")
	f.level.Register(fs)
}

func (f *working) run(c *call) error {
	if f.delay < 0 || f.delay > job.MaxDelay || f.killAfter < 0 || f.count < 0 {
		return cli.Bad(fmt.Errorf("--delay, --kill-after and --count are 0 or more, and --delay at most %s", job.MaxDelay), "")
	}
	path, err := cli.Program(c.Args[1])
	if err != nil {
		return err
	}
	o := rpc.JobLeaseOptions{Queue: c.Args[0], Worker: workerName(f.worker), For: f.last, Limit: 1, Wait: job.MaxWait, Durability: rpc.Durability(f.level)}
	if f.drain {
		o.Wait = 0
	}
	for done := 0; f.count == 0 || done < f.count; {
		begun := time.Now()
		list, err := c.jobs.Lease(c.Ctx, o)
		if err != nil {
			return c.UntilInterrupted(err)
		}
		if len(list) == 0 {
			if f.drain {
				return nil
			}
			continue
		}
		if err := f.do(c, path, &list[0], begun.Add(f.last)); err != nil {
			return err
		}
		if c.Ctx.Err() != nil {
			return nil
		}
		done++
	}
	return nil
}

// do runs the command for a job while its lease is extended, which lasts until a moment at
// least, and says what has become of it.
func (f *working) do(c *call, path string, j *rpc.JobInfo, until time.Time) error {
	ctx, end := context.WithCancelCause(c.Ctx)
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		end(f.keep(ctx, c, j, until))
	}()
	cmd := c.Child(ctx, path, c.Args[1:], f.killAfter)
	cmd.Stdin = bytes.NewReader(j.Payload)
	cmd.Env = append(cmd.Env, "STOA_JOB_ID="+j.ID, "STOA_JOB_QUEUE="+j.Queue,
		"STOA_JOB_TOKEN="+strconv.FormatUint(j.Token, 10), "STOA_JOB_ATTEMPT="+strconv.Itoa(j.Attempts))
	ran := cli.RunChild(cmd)
	end(nil)
	<-kept
	if errors.Is(context.Cause(ctx), errLost) {
		return f.told(c, j, "lost", errLost.Error())
	}
	after := context.WithoutCancel(c.Ctx) // what has become of the job is written after Ctrl-C, too
	if cmd.ProcessState != nil && cmd.ProcessState.Success() {
		err := c.jobs.Complete(after, rpc.Durability(f.level), j.ID, j.Token)
		return f.ended(c, j, err, "done", "")
	}
	failure, delay := ran.Error(), min(f.delay<<min(j.Attempts-1, 10), max(f.delay, longestDelay))
	if c.Ctx.Err() != nil {
		failure, delay = "the worker was interrupted", 0
	}
	dead, err := c.jobs.Fail(after, rpc.Durability(f.level), j.ID, j.Token, failure, delay)
	return f.ended(c, j, err, either(dead, "dead", "failed"), failure)
}

// keep extends a lease until ctx ends, and returns errLost if it can't be.
func (f *working) keep(ctx context.Context, c *call, j *rpc.JobInfo, until time.Time) error {
	each := time.NewTicker(max(f.last/3, time.Millisecond))
	defer each.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-each.C:
		}
		begun := time.Now()
		within, stop := context.WithDeadline(ctx, until)
		_, err := c.jobs.Extend(within, rpc.Durability(f.level), j.ID, j.Token, f.last)
		stop()
		switch {
		case err == nil:
			until = begun.Add(f.last)
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, job.ErrFenced), !time.Now().Before(until):
			return errLost
		}
	}
}

// ended says what has become of a job, unless that could not be written since its lease is
// over.
func (f *working) ended(c *call, j *rpc.JobInfo, err error, outcome, failure string) error {
	if errors.Is(err, job.ErrFenced) {
		outcome, failure = "lost", errLost.Error()
	} else if err != nil {
		return err
	}
	return f.told(c, j, outcome, failure)
}

// told says what has become of a job on stderr: stdout is the command's.
func (f *working) told(c *call, j *rpc.JobInfo, outcome, failure string) error {
	if c.JSON {
		return cli.WriteJSON(c.Stderr, struct {
			ID      string `json:"id"`
			Attempt int    `json:"attempt"`
			Outcome string `json:"outcome"`
			Failure string `json:"failure,omitempty"`
		}{j.ID, j.Attempts, outcome, failure})
	}
	if failure != "" {
		outcome += ": " + failure
	}
	_, err := fmt.Fprintf(c.Stderr, "%s: attempt %d of %d: %s\n", j.ID, j.Attempts, j.MaxAttempts, outcome)
	return err
}
