package streams

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/rpc"
)

// deliveryDoc is an entry that a caller has, as JSON.
type deliveryDoc struct {
	Delivery   string `json:"delivery"`
	Deliveries int    `json:"deliveries"`
	entryDoc
}

func newFetch(p *cli.Process) *cobra.Command {
	var o rpc.StreamFetchOptions
	var level cli.Durability
	return ofConsumer(p, "stream", command{
		Name: "fetch", Short: "Print what is next for a consumer, which has it until it is acknowledged", Long: `Print the entries that are next for a consumer, each with its DELIVERY, and wait for some if there are none and
--wait says so. They are with whoever asked, until stoa stream ack, nak or terminate says what came of them; after
the consumer's ack wait they are delivered again. Where what comes next is no longer kept it is TRIMMED, with the
first number that is.`,
		Example: "orders billing --limit 10 --tenant acme\norders billing --in-order --wait 30s --json --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.IntVar(&o.Limit, "limit", 100, "at most so many, up to 1000")
			fs.DurationVar(&o.Wait, "wait", 0, "how long to wait where there are none, at most 5m")
			fs.BoolVar(&o.InOrder, "in-order", false, "one, and only if no other is delivered and not acknowledged")
			level.Register(fs)
		},
		Run: func(c *call) error {
			all, err := c.consumer.Fetch(c.Ctx, rpc.Durability(level), o)
			if err != nil {
				return err
			}
			list := []deliveryDoc{}
			for i := range all {
				list = append(list, deliveryDoc{fmt.Sprintf("%d:%d", all[i].Number, all[i].Token), all[i].Deliveries, newEntryDoc(&all[i].Entry)})
			}
			return c.Emit(list, func(w io.Writer) {
				for i := range list {
					fmt.Fprintf(w, "%s  %s", list[i].Delivery, entryText(&all[i].Entry))
					if n := list[i].Deliveries; n > 1 {
						fmt.Fprintf(w, "  delivery %d", n)
					}
					fmt.Fprintln(w)
				}
			})
		},
	})
}

func newAck(p *cli.Process) *cobra.Command {
	var level cli.Durability
	return ofConsumer(p, "stream", command{
		Name: "ack", Short: "Say that entries are handled", Args: []string{"DELIVERY..."},
		Long: `Say that entries are handled: they are not delivered again. What is counted are those that were still with
whoever fetched them.`,
		Example: "orders billing 1:1 2:2 --tenant acme", Flags: level.Register,
		Run: func(c *call) error {
			list, err := parseDeliveries(c.Args)
			if err != nil {
				return err
			}
			n, err := c.consumer.Ack(c.Ctx, rpc.Durability(level), list...)
			if err != nil {
				return err
			}
			return c.Emit(map[string]int{"acknowledged": n}, func(w io.Writer) { fmt.Fprintf(w, "%d acknowledged\n", n) })
		},
	})
}

// ofDelivery returns a command that says something of a delivery, which its third argument names.
func ofDelivery(p *cli.Process, d command, flags func(*pflag.FlagSet), say func(c *call, r rpc.StreamRef, level rpc.Durability) error) *cobra.Command {
	var level cli.Durability
	d.Args = []string{"DELIVERY"}
	d.Flags = func(fs *pflag.FlagSet) {
		if flags != nil {
			flags(fs)
		}
		level.Register(fs)
	}
	d.Run = func(c *call) error {
		list, err := parseDeliveries(c.Args)
		if err != nil {
			return err
		}
		return say(c, list[0], rpc.Durability(level))
	}
	return ofConsumer(p, "stream", d)
}

func newNak(p *cli.Process) *cobra.Command {
	var delay time.Duration
	var reason string
	return ofDelivery(p, command{
		Name: "nak", Short: "Say that an entry could not be handled, so that it is delivered again",
		Long: `Say that an entry could not be handled: it is delivered again after --delay, or is a dead letter if it was
delivered as often as may be.`,
		Example: "orders billing 1:1 --delay 30s --reason 'no stock' --tenant acme",
	}, func(fs *pflag.FlagSet) {
		fs.DurationVar(&delay, "delay", 0, "how long nobody is given it, in whole milliseconds, at most 30 days")
		fs.StringVar(&reason, "reason", "", "why, for the dead letter")
	}, func(c *call, r rpc.StreamRef, level rpc.Durability) error {
		dead, err := c.consumer.Nak(c.Ctx, level, r, delay, reason)
		if err != nil {
			return err
		}
		return c.Emit(map[string]bool{"dead": dead}, func(w io.Writer) {
			fmt.Fprintf(w, "entry %d %s\n", r.Number, map[bool]string{true: "is a dead letter", false: "is delivered again"}[dead])
		})
	})
}

func newInProgress(p *cli.Process) *cobra.Command {
	return ofDelivery(p, command{
		Name: "in-progress", Short: "Say that an entry is being handled: its ack wait begins anew", Example: "orders billing 1:1 --tenant acme",
	}, nil, func(c *call, r rpc.StreamRef, level rpc.Durability) error {
		return c.told(r, "in_progress", "is in progress", c.consumer.InProgress(c.Ctx, level, r))
	})
}

// told says what was said of a delivery.
func (c *call) told(r rpc.StreamRef, word, text string, err error) error {
	if err != nil {
		return err
	}
	return c.Emit(map[string]bool{word: true}, func(w io.Writer) { fmt.Fprintf(w, "entry %d %s\n", r.Number, text) })
}

func newTerminate(p *cli.Process) *cobra.Command {
	var reason string
	return ofDelivery(p, command{
		Name: "terminate", Short: "Say that an entry can't be handled: it is a dead letter", Example: "orders billing 1:1 --reason 'no such customer' --tenant acme",
	}, func(fs *pflag.FlagSet) { fs.StringVar(&reason, "reason", "", "why, for the dead letter") },
		func(c *call, r rpc.StreamRef, level rpc.Durability) error {
			return c.told(r, "dead", "is a dead letter", c.consumer.Terminate(c.Ctx, level, r, reason))
		})
}
