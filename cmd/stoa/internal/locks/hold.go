package locks

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/rpc"
)

// holder are the flags that say whose grant something is done to.
type holder struct {
	agent string
	token uint64
	level cli.Durability
}

func (f *holder) register(fs *pflag.FlagSet) {
	fs.Uint64Var(&f.token, "token", 0, "the token of the grant")
	fs.StringVar(&f.agent, "agent", "", "who holds it (default: whoever has the token, else $"+envAgent+")")
	f.level.Register(fs)
}

// holding is what a command is about. The agent is looked for by the token where nobody
// names it: "" is that no grant has it.
func (f *holder) holding(c *call) (h rpc.LockHolding, err error) {
	name, err := cli.LockName(c.Args[0])
	if err != nil {
		return h, err
	}
	h = rpc.LockHolding{Name: name, Agent: f.agent, Token: f.token}
	if h.Agent != "" {
		return h, nil
	}
	if h.Token == 0 {
		if h.Agent = c.Getenv(envAgent); h.Agent == "" {
			return h, cli.Bad(errors.New("whose lock it is has to be said"), "--token names the grant, --agent its holder; `stoa lock show "+cli.Quoted(name)+c.Again+"` shows both")
		}
		return h, nil
	}
	l, err := c.locks.Get(c.Ctx, name)
	for i := range l.Holders {
		if l.Holders[i].Token == h.Token {
			h.Agent = l.Holders[i].Agent
		}
	}
	return h, err
}

// found is holding for what only a holder does.
func (f *holder) found(c *call) (h rpc.LockHolding, err error) {
	if h, err = f.holding(c); err == nil && h.Agent == "" {
		err = notHolder(&h)
	}
	return h, err
}

// notHolder is the refusal of what only a holder does.
func notHolder(h *rpc.LockHolding) error {
	return &lock.Error{Code: lock.CodeNotHolder, Lock: h.Name, Reason: "this grant does not hold the lock: its time is over, or it was released"}
}

func newRenew(p *cli.Process) *cobra.Command {
	var f holder
	var ttl time.Duration
	return ofTenant(p, "lock", command{
		Name: "renew", Short: "Hold a lock for longer", Args: []string{"NAME"},
		Long: `Hold a lock for its time to live from now on, but no longer than config:lock:max_ttl since it was
granted. If it is not held any more by that grant, the exit code is 5.`,
		Example: "nightly --agent worker-1 --tenant acme\nnightly --agent worker-1 --ttl 1m --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			f.register(fs)
			fs.DurationVar(&ttl, "ttl", 0, "for how long from now on (default: as long as it was asked for)")
		},
		Run: func(c *call) error {
			h, err := f.found(c)
			if err != nil {
				return err
			}
			g, err := c.locks.Renew(c.Ctx, h, ttl, rpc.Durability(f.level))
			if err != nil {
				return err
			}
			return c.emitGrant(&g)
		},
	})
}

func newDowngrade(p *cli.Process) *cobra.Command {
	var f holder
	return ofTenant(p, "lock", command{
		Name: "downgrade", Short: "Share a lock that was held alone", Args: []string{"NAME"},
		Long:    `Share the lock of a resource that was held alone. It is a grant of its own, with another token.`,
		Example: "resource:database:main --agent worker-1 --tenant acme",
		Flags:   f.register,
		Run: func(c *call) error {
			h, err := f.found(c)
			if err != nil {
				return err
			}
			g, err := c.locks.Downgrade(c.Ctx, h, rpc.Durability(f.level))
			if err != nil {
				return err
			}
			return c.emitGrant(&g)
		},
	})
}

func newRelease(p *cli.Process) *cobra.Command {
	var f holder
	return ofTenant(p, "lock", command{
		Name: "release", Short: "Give a lock back, to whom it is due next", Args: []string{"NAME"},
		Long: `Give a lock back; whoever is next in the queue has it at once. If the grant does not hold it any
more, nothing is changed, whoever holds it now, and the exit code is 5.`,
		Example: "nightly --agent worker-1 --tenant acme",
		Flags:   f.register,
		Run: func(c *call) error {
			h, err := f.holding(c)
			if err != nil {
				return err
			}
			held := false
			if h.Agent != "" {
				if held, err = c.locks.Release(c.Ctx, h, rpc.Durability(f.level)); err != nil {
					return err
				}
			}
			if !held {
				return notHolder(&h)
			}
			return c.Emit(map[string]bool{"released": true}, func(w io.Writer) { fmt.Fprintf(w, "released %s\n", h.Name) })
		},
	})
}

func newReleaseAll(p *cli.Process) *cobra.Command {
	var level cli.Durability
	return ofTenant(p, "lock", command{
		Name: "release-all", Short: "Give all locks of an agent back, at once", Args: []string{"AGENT"},
		Example: "worker-1 --tenant acme", Flags: level.Register,
		Run: func(c *call) error {
			n, err := c.locks.ReleaseAll(c.Ctx, c.Args[0], rpc.Durability(level))
			if err != nil {
				return err
			}
			return c.Emit(map[string]int{"released": n}, func(w io.Writer) { fmt.Fprintf(w, "released %s\n", cli.Count(n, "lock")) })
		},
	})
}
