package policies

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/rpc"
)

func newLedger(p *cli.Process) *cobra.Command {
	cmd := cli.Parent("ledger", "Append to, show and verify the ledger of what was decided and done",
		"  stoa ledger show --tenant acme\n  stoa ledger verify --tenant acme",
		newLedgerAppend(p), newLedgerShow(p), newLedgerHead(p), newLedgerVerify(p))
	cmd.Long = `Append to, show and verify the ledger of what was decided and done. Nothing of it is ever
changed: each event has the hash of the one before. --tenant, else $STOA_TENANT, says whose.`
	return cmd
}

func newLedgerAppend(p *cli.Process) *cobra.Command {
	var d durable
	return ofTenant(p, "ledger", command{
		Name: "append", Short: "Append an event", Args: []string{"EVENT"},
		Long: `Append an event, a JSON object; - reads it from stdin, @FILE from a file. Its id, its time and
its place in the chain of hashes are set. Of inputs and outputs only the hashes are stored;
` + "`stoa record schema ledger`" + ` has the fields.`,
		Example: `'{"intent_id":"int-20251130-abc123","agent_id":"cece.governor.v1","tool":"gmail","action":"email.send","policy_decision":{"result":"allowed"},"inputs":{"to":"bob"}}' --tenant acme`,
		Flags:   d.level.Register,
		Run: func(c *call) error {
			event, err := c.JSONArgument("EVENT", c.Args[0])
			if err != nil {
				return err
			}
			doc, err := c.policy.Append(c.Ctx, event, d.options()...)
			if err != nil {
				return err
			}
			return c.emitDone(doc, "appended")
		},
	})
}

// parseDay reads a day, as 2025-11-30.
func parseDay(text string) (time.Time, error) {
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return day, cli.Bad(fmt.Errorf("%q is no day", text), "as 2025-11-30, of UTC")
	}
	return day, nil
}

// parseTime reads a time or a day, which begins at midnight; "" is the zero Time.
func parseTime(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day, nil
	}
	return time.Time{}, cli.Bad(fmt.Errorf("--%s: %q is neither a time nor a day", flag, text), "as 2025-11-30T12:00:00Z, or 2025-11-30")
}

func newLedgerShow(p *cli.Process) *cobra.Command {
	var from, to string
	return ofTenant(p, "ledger", command{
		Name: "show", Offline: true, Short: "List the events of a day", Args: []string{"[DAY]"},
		Long:    `List the events of a day of UTC, oldest first; without one those between --from and --to, all if neither is given.`,
		Example: "2025-11-30 --tenant acme\n--from 2025-11-30T12:00:00Z --tenant acme\n--tenant acme --json",
		Flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&from, "from", "", "from this time on, or this day")
			fs.StringVar(&to, "to", "", "before this time, or this day")
		},
		Run: func(c *call) error {
			if day := c.arg(0); day != "" {
				at, err := parseDay(day)
				if err == nil && (from != "" || to != "") {
					err = cli.Bad(errors.New("DAY and --from or --to exclude each other"), "")
				}
				if err != nil {
					return err
				}
				return c.emitEvents(c.policy.Day(c.Ctx, at, rpc.RecordQuery{}))
			}
			start, err := parseTime("from", from)
			if err != nil {
				return err
			}
			end, err := parseTime("to", to)
			if err != nil {
				return err
			}
			return c.emitEvents(c.policy.Events(c.Ctx, start, end))
		},
	})
}

// eventDoc is what a line has of an event.
type eventDoc struct {
	Timestamp string `json:"timestamp"`
	Agent     string `json:"agent_id"`
	Tool      string `json:"tool"`
	Action    string `json:"action"`
	Intent    string `json:"intent_id"`
	Decision  struct {
		Result string `json:"result"`
	} `json:"policy_decision"`
}

// emitEvents prints events as they come.
func (c *call) emitEvents(events iter.Seq2[rpc.Doc, error]) error {
	return cli.List(c.Process, "event", events, func(d rpc.Doc) (any, error) { return newRecordDoc(&d), nil }, func(w io.Writer, d rpc.Doc) {
		var e eventDoc
		if err := json.Unmarshal(d.JSON, &e); err != nil {
			writeLine(w, d)
			return
		}
		fmt.Fprintf(w, "%s  %s  %s  %s  %s  %s  %s\n", d.ID, e.Timestamp, e.Agent, e.Action, e.Decision.Result, e.Tool, e.Intent)
	})
}

func newLedgerHead(p *cli.Process) *cobra.Command {
	return ofTenant(p, "ledger", command{
		Name: "head", Offline: true, Short: "Print the newest end of the ledger",
		Long: `Print how many events there are, the newest, and its hash: who keeps that elsewhere can hold
the ledger to it later.`,
		Example: "--tenant acme",
		Run: func(c *call) error {
			h, err := c.policy.Head(c.Ctx)
			if err != nil {
				return err
			}
			return c.Emit(h, func(w io.Writer) {
				if h.Events == 0 {
					fmt.Fprintln(w, "no events")
					return
				}
				fmt.Fprintf(w, "%s  %s  %s\n", cli.Count(h.Events, "event"), h.Last, h.Hash)
			})
		},
	})
}

func newLedgerVerify(p *cli.Process) *cobra.Command {
	return ofTenant(p, "ledger", command{
		Name: "verify", Offline: true, Short: "Verify the chain of the ledger",
		Long: `Verify the chain of the ledger: print each event that was changed, replaced or taken away, and
exit with 2 if there is one. ` + "`stoa verify --full`" + ` does so for all tenants of a directory.`,
		Example: "--tenant acme",
		Run: func(c *call) error {
			h, err := c.policy.Head(c.Ctx)
			if err != nil {
				return err
			}
			findings := []rpc.LedgerFinding{}
			for f, err := range c.policy.Verify(c.Ctx) {
				if err != nil {
					return err
				}
				findings = append(findings, f)
			}
			d := struct {
				Events   uint64              `json:"events"`
				Findings []rpc.LedgerFinding `json:"findings"`
			}{h.Events, findings}
			err = c.Emit(d, func(w io.Writer) {
				for _, f := range findings {
					fmt.Fprintf(w, "%s: %s\n", f.Event, f.Problem)
				}
				if len(findings) == 0 {
					fmt.Fprintf(w, "%s, the chain holds\n", cli.Count(h.Events, "event"))
				}
			})
			if err == nil && len(findings) > 0 {
				err = cli.Fail(cli.ExitDamage, fmt.Errorf("%s of the ledger", cli.Count(len(findings), "finding")),
					"nothing mends it; a backup, or an export from before, says what was there")
			}
			return err
		},
	})
}
