package locks

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/rpc"
)

// Exit codes of `stoa lock run` beside those of the command, and of stoa before it runs:
// those of timeout(1), and of a shell.
const (
	exitLost   = 124 // the lock was lost while the command ran
	exitSignal = 128 // and the number of the signal that ended the command
)

// leastTTL is the shortest time to live of a lock that a process renews.
const leastTTL = time.Second

// running are the flags of run.
type running struct {
	asking
	noWait, quiet bool
	killAfter     time.Duration
}

func newRun(p *cli.Process) *cobra.Command {
	var f running
	cmd := ofTenant(p, "lock", command{
		Name: "run", Short: "Run a command while its lock is held", Args: []string{"NAME", "COMMAND", "[ARG...]"},
		Long: `Wait for a lock, run a command while it is held, and release it at its end. The lock is renewed in the
background. The command finds the lock in $STOA_LOCK_NAME, the token of the grant in $STOA_LOCK_TOKEN, for
writes with --lock, and who holds it in $STOA_LOCK_AGENT. Signals are passed on to it, but for Ctrl-C, which the terminal sends to both.

The exit code is the command's, 128 and the signal's number if a signal ended it, 126 if it can't be
executed and 127 if it is not there. If the lock is not to be had, the command does not run, and
the exit code is that of stoa: 5 where others hold it, for longer than is waited, or wait for this.

The lock can be lost: its time is over and could not be renewed, because the daemon was away or this process
was stopped; config:lock:max_ttl is reached; somebody has released it. Then the command gets SIGTERM at once,
and SIGKILL after --kill-after, since somebody else may hold the lock by now; the exit code is 124 whatever
the command has returned. What it writes with the token is FENCED. Where this process is killed (SIGKILL) the
command gets SIGTERM, on Linux, and the lock is free once its time is over.`,
		Example: "deploy --tenant acme -- sleep 1\n" +
			"deploy --max-wait 10s --tenant acme -- sh -c 'stoa kv put release 7 --tenant acme --lock $STOA_LOCK_NAME=$STOA_LOCK_TOKEN'",
		Flags: f.register,
		Run:   f.run,
	})
	cmd.Use = "run NAME -- COMMAND [ARG...]"
	return cmd
}

func (f *running) register(fs *pflag.FlagSet) {
	f.asking.register(fs)
	fs.StringVar(&f.purpose, "purpose", "", "what for, for people (default: the command's name)")
	fs.BoolVar(&f.noWait, "no-wait", false, "don't wait for it")
	fs.DurationVar(&f.maxWait, "max-wait", lock.MaxWait, "wait for it, at most so long")
	fs.DurationVar(&f.killAfter, "kill-after", 10*time.Second, "how long after SIGTERM the command is killed where the lock is lost; 0: never")
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "don't say on stderr who waits, and for what")
}

func (f *running) run(c *call) error {
	if f.ttl != 0 && f.ttl < leastTTL || f.killAfter < 0 || f.maxWait <= 0 {
		return cli.Bad(fmt.Errorf("--ttl is at least %s, --max-wait more than 0 and --kill-after 0 or more", leastTTL), "")
	}
	path, err := cli.Program(c.Args[1])
	if err != nil {
		return err
	}
	if f.purpose == "" {
		f.purpose = filepath.Base(path)
	}
	g, err := f.acquire(c)
	if errors.Is(err, context.Canceled) {
		return cli.Fail(exitSignal+2, errors.New("interrupted: it waits for the lock no more"), "")
	}
	if err != nil {
		return err
	}
	if !f.quiet {
		c.tell(newGrantDoc(&g, g.Name), fmt.Sprintf("%s holds %s, token %d", g.Agent, g.Name, g.Token))
	}
	k := &keeping{c: c, grant: g, ttl: f.ttl, level: rpc.Durability(f.level)}
	return k.during(func(ctx context.Context) error {
		cmd := c.Child(ctx, path, c.Args[1:], f.killAfter)
		cmd.Env = append(cmd.Env, envName+"="+g.Name, envToken+"="+strconv.FormatUint(g.Token, 10), envAgent+"="+g.Agent)
		return exitOf(cli.RunChild(cmd, passedOn...))
	})
}

// acquire takes the lock for this run and no other: an agent that asks again for what it
// holds gets its grant once more, so that two runs of one agent would hold the lock at once.
// The purpose says which run a grant is of.
func (f *running) acquire(c *call) (g rpc.LockGrant, err error) {
	var run [6]byte
	_, _ = rand.Read(run[:]) // which never fails
	f.purpose += " (run " + hex.EncodeToString(run[:]) + ")"
	r, err := f.request(c)
	if err != nil {
		return g, err
	}
	l, err := c.locks.Get(c.Ctx, r.Name)
	if err != nil {
		return g, err
	}
	for i := range l.Holders {
		if l.Holders[i].Agent == r.Agent {
			return g, heldAlready(&l.Holders[i])
		}
	}
	if !f.noWait {
		c.waits(&r, f.maxWait)
		if f.quiet {
			r.Moved = nil
		}
	}
	if g, err = c.locks.Acquire(c.Ctx, r); err == nil && g.Purpose != f.purpose {
		err = heldAlready(&g)
	}
	return g, err
}

func heldAlready(g *rpc.LockGrant) error {
	return cli.Refused(fmt.Errorf("%s holds %s already, by token %d: %s", g.Agent, g.Name, g.Token, g.Purpose),
		"two runs of one agent would hold it at once: name another --agent, or wait for the other run")
}
