package locks

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/rpc"
)

// eventDoc is something that has happened to a lock, as JSON.
type eventDoc struct {
	Event    string `json:"event"`
	Revision uint64 `json:"revision,string"`
	At       string `json:"at,omitempty"`
	Lock     string `json:"lock,omitempty"`
	Agent    string `json:"agent,omitempty"`
	Mode     string `json:"mode,omitempty"`
	Token    uint64 `json:"token,string,omitempty"`
	Holders  int    `json:"holders"`
}

func newEventDoc(e *rpc.LockEvent) eventDoc {
	d := eventDoc{Event: e.Kind.String(), Revision: e.Revision}
	if e.Kind != lock.EventSynced && e.Kind != lock.EventMissed {
		d.At, d.Lock, d.Agent, d.Mode, d.Token, d.Holders = cli.Instant(e.At), e.Name, e.Agent, e.Mode.String(), e.Token, e.Holders
	}
	return d
}

func newWatch(p *cli.Process) *cobra.Command {
	var o rpc.LockWatchOptions
	var after cli.Optional
	count := 0
	return ofTenant(p, "lock", command{
		Name: "watch", Short: "Print what happens to locks, as it happens", Args: []string{"[NAME]"},
		Long: `Print what happens to a lock, or to all, from now on, until Ctrl-C: acquired, promoted (from the queue),
released, expired, queued, downgraded, and with --renewals renewed. synced says that what there was
has been told. A watch goes on where its daemon was away; missed says that it no longer has what came between.`,
		Example: "deploy --tenant acme\n--prefix resource:database: --after 41 --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&o.Prefix, "prefix", "", "only locks whose names begin with this")
			fs.BoolVar(&o.Renewals, "renewals", false, "renewals, too")
			fs.Var(&after, "after", "begin with what came after this revision (default: with what comes)")
			fs.IntVar(&count, "count", 0, "end after so many lines (default: never)")
		},
		Run: func(c *call) (err error) {
			if len(c.Args) > 0 {
				if o.Name, err = cli.LockName(c.Args[0]); err != nil {
					return err
				}
			}
			if o.Resume = after.Given; o.Resume {
				if _, err := fmt.Sscan(after.Text, &o.After); err != nil {
					return cli.Bad(fmt.Errorf("--after: %q is no revision", after.Text), "")
				}
			}
			n := 0
			for e, err := range c.locks.Watch(c.Ctx, o) {
				if err != nil {
					return c.UntilInterrupted(err)
				}
				d := newEventDoc(&e)
				err := c.Emit(d, func(w io.Writer) { d.write(w) })
				if n++; err != nil || n == count {
					return err
				}
			}
			return nil
		},
	})
}

// write writes an event on a line.
func (d *eventDoc) write(w io.Writer) {
	fmt.Fprintf(w, "%d  %s", d.Revision, d.Event)
	if d.Lock != "" {
		fmt.Fprintf(w, "  %s  %s  %s", d.Lock, d.Agent, d.Mode)
	}
	if d.Token != 0 {
		fmt.Fprintf(w, "  token %d", d.Token)
	}
	fmt.Fprintln(w)
}
