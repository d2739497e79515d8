package agents

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/kv/limit"
	"github.com/stoadb/stoa/rpc"
)

func newLimit(p *cli.Process) *cobra.Command {
	cmd := cli.Parent("limit", "Limit how often a user may do something, in any window of time",
		"  stoa limit check tasks:create ann --max 3 --window 1m --tenant acme\n  stoa limit list --tenant acme",
		newLimitCheck(p), newLimitShow(p), newLimitList(p), newLimitReset(p), newLimitLookup(p))
	cmd.Long = `Limit how often a user may do something at an endpoint, in any window of time, wherever it begins.
--tenant, else $STOA_TENANT, says whose.`
	return cmd
}

func nameOf(c *call) rpc.LimitName { return rpc.LimitName{Endpoint: c.Args[0], User: c.Args[1]} }

// verdictDoc is whether something may be done, as JSON.
type verdictDoc struct {
	Allowed    bool  `json:"allowed"`
	Count      int   `json:"count"`
	Remaining  int   `json:"remaining"`
	RetryAfter int64 `json:"retry_after_ms"`
}

func newLimitCheck(p *cli.Process) *cobra.Command {
	var by rpc.LimitRule
	var level cli.Durability
	return ofTenant(p, "limit", command{
		Name: "check", Short: "Count what is about to be done, if it may be", Args: []string{"ENDPOINT", "USER"},
		Long: `Count what is about to be done, if it was done less than --max times within the --window before now.
Else nothing is counted, it is said in how long it may be, and the exit code is 5.`,
		Example: "tasks:create ann --max 1000 --window 1m --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.IntVar(&by.Max, "max", 0, "how often it may be done within the window: 1 to 10000")
			fs.DurationVar(&by.Window, "window", limit.PlainWindow, "the window, at most 168h")
			level.Register(fs)
		},
		Run: func(c *call) error {
			v, err := c.limits.Check(c.Ctx, nameOf(c), by, rpc.Durability(level))
			if err != nil {
				return err
			}
			doc := verdictDoc{v.Allowed, v.Count, v.Remaining, v.RetryAfter.Milliseconds()}
			err = c.Emit(doc, func(w io.Writer) {
				if v.Allowed {
					fmt.Fprintf(w, "allowed: %d of %d within %s\n", v.Count, by.Max, by.Window)
					return
				}
				fmt.Fprintf(w, "refused: %d of %d within %s\n", v.Count, by.Max, by.Window)
			})
			if err != nil || v.Allowed {
				return err
			}
			return cli.Refused(fmt.Errorf("%s may not do %s now", c.Args[1], c.Args[0]), "again in "+v.RetryAfter.String())
		},
	})
}

// limitDoc is what is known of a limit, as JSON.
type limitDoc struct {
	Endpoint string    `json:"endpoint"`
	User     string    `json:"user"`
	Count    int       `json:"count"`
	Max      int       `json:"max"`
	WindowMs int64     `json:"window_ms"`
	Oldest   time.Time `json:"oldest"`
	Newest   time.Time `json:"newest"`
}

func newLimitDoc(l *rpc.Limit) limitDoc {
	return limitDoc{l.Endpoint, l.User, l.Count, l.Rule.Max, l.Rule.Window.Milliseconds(), l.Oldest, l.Newest}
}

// counted is what counts of a limit, for people.
func counted(l *rpc.Limit) string {
	return fmt.Sprintf("%d of %d within %s", l.Count, l.Rule.Max, l.Rule.Window)
}

func newLimitShow(p *cli.Process) *cobra.Command {
	return ofTenant(p, "limit", command{
		Name: "show", Offline: true, Short: "Print what counts of a limit, and count nothing", Args: []string{"ENDPOINT", "USER"},
		Example: "tasks:create ann --tenant acme",
		Run: func(c *call) error {
			l, err := c.limits.Get(c.Ctx, nameOf(c))
			if err != nil {
				return err
			}
			return c.Emit(newLimitDoc(&l), func(w io.Writer) {
				fmt.Fprintf(w, "%s, from %s to %s\n", counted(&l), l.Oldest.Format(time.RFC3339Nano), l.Newest.Format(time.RFC3339Nano))
			})
		},
	})
}

func newLimitList(p *cli.Process) *cobra.Command {
	var o rpc.LimitListOptions
	return ofTenant(p, "limit", command{
		Name: "list", Offline: true, Short: "List the limits of which something counts", Args: []string{"[ENDPOINT]"},
		Example: "--tenant acme\ntasks:create --tenant acme",
		Flags:   func(fs *pflag.FlagSet) { fs.IntVar(&o.Limit, "limit", 100, "at most so many; 0: all") },
		Run: func(c *call) error {
			if len(c.Args) > 0 {
				o.Endpoint = c.Args[0]
			}
			list, t := []limitDoc{}, cli.Table{}
			for l, err := range c.limits.All(c.Ctx, o) {
				if err != nil {
					return err
				}
				list = append(list, newLimitDoc(&l))
				t.Add(l.Endpoint, l.User, counted(&l))
			}
			return c.Emit(list, func(w io.Writer) { t.Write(w, "") })
		},
	})
}

func newLimitReset(p *cli.Process) *cobra.Command {
	var level cli.Durability
	return ofTenant(p, "limit", command{
		Name: "reset", Short: "Forget what counts of a limit", Args: []string{"ENDPOINT", "USER"},
		Example: "tasks:create ann --tenant acme", Flags: level.Register,
		Run: func(c *call) error {
			was, err := c.limits.Reset(c.Ctx, nameOf(c), rpc.Durability(level))
			if err != nil {
				return err
			}
			return c.Emit(map[string]bool{"was": was}, func(w io.Writer) {
				if was {
					fmt.Fprintln(w, "nothing counts any more")
					return
				}
				fmt.Fprintln(w, "nothing counted")
			})
		},
	})
}

func newLimitLookup(p *cli.Process) *cobra.Command {
	return ofTenant(p, "limit", command{
		Name: "lookup", Offline: true, Short: "Print what a literal key stands for", Args: []string{"KEY"},
		Example: "ade:ratelimit:tasks:create:ann --tenant acme",
		Run: func(c *call) error {
			value, err := c.limits.Lookup(c.Ctx, c.Args[0])
			if err != nil {
				return err
			}
			n, err := strconv.Atoi(string(value))
			if err != nil {
				return fmt.Errorf("the daemon says %q, which is no number", value)
			}
			return c.Emit(n, func(w io.Writer) { fmt.Fprintln(w, n) })
		},
	})
}
