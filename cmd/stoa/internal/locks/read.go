package locks

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/rpc"
)

func newShow(p *cli.Process) *cobra.Command {
	return ofTenant(p, "lock", command{
		Name: "show", Offline: true, Short: "Show who holds a lock, and who waits for it", Args: []string{"NAME"},
		Long:    `Show who holds a lock, and who waits for it: that is known to a daemon only, since nobody waits after it ends.`,
		Example: "nightly --tenant acme",
		Run: func(c *call) error {
			name, err := cli.LockName(c.Args[0])
			if err != nil {
				return err
			}
			l, err := c.locks.Get(c.Ctx, name)
			if err != nil {
				return err
			}
			queue, err := c.locks.Queue(c.Ctx, name)
			if err != nil {
				return err
			}
			d := newLockDoc(&l)
			d.Queue = newWaitingDocs(queue)
			return c.Emit(d, d.write)
		},
	})
}

// write writes a lock for people.
func (d *lockDoc) write(w io.Writer) {
	if len(d.Holders) == 0 {
		fmt.Fprintf(w, "%s is free\n", d.Lock)
	}
	for i := range d.Holders {
		h := &d.Holders[i]
		what := ""
		if h.Purpose != "" {
			what = ": " + h.Purpose
		}
		fmt.Fprintf(w, "%s is held %s by %s until %s, token %d%s\n", d.Lock, d.Mode, h.Agent, h.ExpiresAt, h.Token, what)
	}
	if len(d.Queue) > 0 {
		fmt.Fprintln(w, "waiting:")
		writeQueue(w, d.Queue, "  ")
	}
}

func newList(p *cli.Process) *cobra.Command {
	var o rpc.LockListOptions
	return ofTenant(p, "lock", command{
		Name: "list", Offline: true, Short: "List the locks that are held", Args: nil,
		Example: "--tenant acme\n--prefix resource:database: --tenant acme\n--agent worker-1 --json --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&o.Prefix, "prefix", "", "whose names begin with this, as resource:database:")
			fs.StringVar(&o.Agent, "agent", "", "that this agent holds")
			fs.IntVar(&o.Limit, "limit", 100, "at most so many; 0: all")
		},
		Run: func(c *call) error {
			list, t := []lockDoc{}, cli.Table{}
			for l, err := range c.locks.All(c.Ctx, o) {
				if err != nil {
					return err
				}
				d := newLockDoc(&l)
				list = append(list, d)
				waiting := ""
				if l.Waiting > 0 {
					waiting = fmt.Sprintf("%d waiting", l.Waiting)
				}
				for i := range d.Holders {
					h := &d.Holders[i]
					t.Add(d.Lock, d.Mode, h.Agent, "until "+h.ExpiresAt, fmt.Sprintf("token %d", h.Token), waiting)
				}
			}
			return c.Emit(list, func(w io.Writer) { t.Write(w, "") })
		},
	})
}

func newQueue(p *cli.Process) *cobra.Command {
	return ofTenant(p, "lock", command{
		Name: "queue", Short: "List who waits for a lock, in order", Args: []string{"NAME"},
		Example: "nightly --tenant acme",
		Run: func(c *call) error {
			name, err := cli.LockName(c.Args[0])
			if err != nil {
				return err
			}
			queue, err := c.locks.Queue(c.Ctx, name)
			if err != nil {
				return err
			}
			docs := newWaitingDocs(queue)
			return c.Emit(docs, func(w io.Writer) { writeQueue(w, docs, "") })
		},
	})
}

func newLookup(p *cli.Process) *cobra.Command {
	return ofTenant(p, "lock", command{
		Name: "lookup", Offline: true, Short: "Print what a literal key stands for", Args: []string{"KEY"},
		Long: `Print what a literal key of locks stands for, as JSON: ade:lock:task:ID, ade:lock:resource:TYPE:ID, one of
these and :queue, ade:lock:agent:AGENT:capacity, ade:lock:index:agent:AGENT, ade:lock:index:resource:TYPE,
ade:lock:registry, ade:lock:waitfor:AGENT, ade:lock:deadlock:check:AGENT.`,
		Example: "ade:lock:registry --tenant acme\nade:lock:task:nightly --tenant acme",
		Run: func(c *call) error {
			value, err := c.locks.Lookup(c.Ctx, c.Args[0])
			if err != nil {
				return err
			}
			return c.Emit(value, func(w io.Writer) { fmt.Fprintf(w, "%s\n", value) })
		},
	})
}
