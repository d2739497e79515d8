package locks

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/rpc"
)

// asking are the flags by which a lock is asked for.
type asking struct {
	agent    string
	shared   bool
	ttl      time.Duration
	maxWait  time.Duration
	purpose  string
	priority int
	level    cli.Durability
}

func (f *asking) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.agent, "agent", "", "for whom (default $"+envAgent+", else this user, host and process)")
	fs.BoolVar(&f.shared, "shared", false, "share it with others who do: for resources")
	fs.DurationVar(&f.ttl, "ttl", 0, "how long it is held unless it is renewed (default: what config:lock:default_ttl says, 30s)")
	fs.IntVar(&f.priority, "priority", 0, "in the queue: 0 to 100, who has more is before who has less")
	f.level.Register(fs)
}

// request is what is asked for, without waiting.
func (f *asking) request(c *call) (r rpc.LockRequest, err error) {
	name, err := cli.LockName(c.Args[0])
	return rpc.LockRequest{
		Name: name, Agent: c.agent(f.agent), Mode: modeOf(f.shared), TTL: f.ttl, Purpose: f.purpose, Priority: f.priority, Durability: rpc.Durability(f.level),
	}, err
}

// waits has a request wait, and says on stderr where it stands.
func (c *call) waits(r *rpc.LockRequest, longest time.Duration) {
	r.Wait, r.MaxWait = true, longest
	said := ""
	r.Moved = func(place int) {
		if said == "" {
			said = r.Name + ": "
			if l, err := c.locks.Get(c.Ctx, r.Name); err == nil && len(l.Holders) > 0 {
				said = fmt.Sprintf("%s is held by %s: ", r.Name, holdersOf(&l))
			}
		}
		c.tell(placeDoc{r.Name, place}, fmt.Sprintf("%swaiting, place %d in the queue", said, place))
	}
}

// placeDoc is where a request stands, as JSON.
type placeDoc struct {
	Lock  string `json:"lock"`
	Place int    `json:"place"`
}

// tell tells on stderr how it goes.
func (c *call) tell(doc any, text string) {
	if c.JSON {
		_ = cli.WriteJSON(c.Stderr, doc)
		return
	}
	fmt.Fprintln(c.Stderr, text)
}

func newAcquire(p *cli.Process) *cobra.Command {
	var f asking
	var wait, tokenOnly bool
	return ofTenant(p, "lock", command{
		Name: "acquire", Short: "Take a lock, or wait for it", Args: []string{"NAME"},
		Long: `Take a lock, and print the token of the grant. If others hold it the exit code is 5, and nothing is
changed; with --wait the command waits in the queue, and says its place on stderr. A request that
would wait for itself, over any number of others, is refused at once, with who waits for whom.

The lock is held for its time to live. An agent that asks again for what it holds gets the same token.
Whoever asks without --agent is another agent each time: to renew or release the lock, give its token.`,
		Example: "deploy --tenant acme\nresource:database:prod --shared --ttl 1m --wait --tenant acme\n" +
			"  token=$(stoa lock acquire deploy --tenant acme --token-only); stoa kv put release 7 --tenant acme --lock deploy=$token",
		Flags: func(fs *pflag.FlagSet) {
			f.register(fs)
			fs.StringVar(&f.purpose, "purpose", "", "what for, for people")
			fs.BoolVar(&wait, "wait", false, "wait for it, at most 5m unless --max-wait says otherwise")
			fs.DurationVar(&f.maxWait, "max-wait", 0, "wait for it, at most so long")
			fs.BoolVar(&tokenOnly, "token-only", false, "print the token and nothing else")
		},
		Run: func(c *call) error {
			r, err := f.request(c)
			if err != nil {
				return err
			}
			if wait || f.maxWait != 0 {
				c.waits(&r, f.maxWait)
			}
			g, err := c.locks.Acquire(c.Ctx, r)
			if err != nil {
				return err
			}
			if tokenOnly && !c.JSON {
				_, err := fmt.Fprintln(c.Stdout, g.Token)
				return err
			}
			return c.emitGrant(&g)
		},
	})
}
