package agents

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/rpc"
)

func newEvent(p *cli.Process) *cobra.Command {
	cmd := cli.Parent("event", "Streams of what happens to a tenant's tasks, approvals and locks",
		"  stoa event list task --limit 10 --tenant acme\n  stoa event follow task --tenant acme",
		newEventPublish(p), newEventList(p), newEventShow(p), newEventRead(p), newEventFollow(p), newEventAck(p), newEventPending(p), newEventClaim(p),
		newEventGroup(p), newEventLookup(p))
	cmd.Long = `The streams task, approval and lock of a tenant, in which it is told what happens to these, and the
groups of consumers that read them together. They keep the newest 10,000 entries of the last seven
days; an id is when an entry was added, in ms since 1970, and its number. --tenant, else
$STOA_TENANT, says whose.`
	return cmd
}

// idFlag is a flag that is the id of an entry.
type idFlag struct{ of *rpc.EventID }

func (f idFlag) String() string {
	if f.of == nil || f.of.IsZero() {
		return ""
	}
	return f.of.String()
}

func (f idFlag) Set(text string) error { return f.of.UnmarshalText([]byte(text)) }

func (idFlag) Type() string { return "entry" }

// placeFlags say where in a stream something begins.
func placeFlags(fs *pflag.FlagSet, at *rpc.EventPlace) {
	fs.Var(idFlag{&at.After}, "after", "behind this entry, or moment (default: the first that is kept)")
	fs.BoolVar(&at.Now, "now", false, "with the next entry that is added")
}

// emitEntries prints entries: a list with --json, else a line each.
func (c *call) emitEntries(list []rpc.EventEntry) error {
	if list == nil {
		list = []rpc.EventEntry{}
	}
	return c.Emit(list, func(w io.Writer) {
		for i := range list {
			writeEntry(w, &list[i])
		}
	})
}

func writeEntry(w io.Writer, e *rpc.EventEntry) {
	fmt.Fprintf(w, "%s  %s  %s", e.ID, e.Name, e.Payload)
	if e.Source != "" {
		fmt.Fprintf(w, "  by %s", e.Source)
	}
	fmt.Fprintln(w)
}

func newEventPublish(p *cli.Process) *cobra.Command {
	var level cli.Durability
	var source string
	return ofTenant(p, "event", command{
		Name: "publish", Short: "Add an event to a stream", Args: []string{"STREAM", "NAME", "[JSON]"},
		Long: `Add an event to a stream: its name, and JSON of at most 64 KiB. - reads that from stdin, @FILE from a
file. What happens to tasks, approvals and locks the daemon tells by itself.`,
		Example: `task task:noted '{"task_id":"t-1"}' --source ann --tenant acme`,
		Flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&source, "source", "", "who tells it")
			level.Register(fs)
		},
		Run: func(c *call) error {
			e := rpc.EventNew{Name: c.Args[1], Source: source}
			if len(c.Args) > 2 {
				payload, err := c.Argument("JSON", c.Args[2])
				if err != nil {
					return err
				}
				e.Payload = payload
			}
			ids, err := c.events.Publish(c.Ctx, rpc.Durability(level), c.Args[0], []rpc.EventNew{e})
			if err != nil {
				return err
			}
			return c.Emit(map[string]rpc.EventID{"id": ids[0]}, func(w io.Writer) { fmt.Fprintln(w, ids[0]) })
		},
	})
}

func newEventList(p *cli.Process) *cobra.Command {
	var o rpc.EventRangeOptions
	return ofTenant(p, "event", command{
		Name: "list", Offline: true, Short: "List entries of a stream, from one to another", Args: []string{"STREAM"},
		Example: "task --limit 10 --tenant acme\ntask --reverse --json --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.Var(idFlag{&o.From}, "from", "from this entry, or moment, on")
			fs.Var(idFlag{&o.To}, "to", "up to this entry")
			fs.IntVar(&o.Limit, "limit", 100, "at most so many, up to 10000")
			fs.BoolVar(&o.Reverse, "reverse", false, "newest first")
		},
		Run: func(c *call) error {
			list, err := c.events.Range(c.Ctx, c.Args[0], o)
			if err != nil {
				return err
			}
			return c.emitEntries(list)
		},
	})
}

// streamDoc is what is known of a stream, as JSON.
type streamDoc struct {
	Stream  string      `json:"stream"`
	Entries uint64      `json:"entries"`
	First   rpc.EventID `json:"first"`
	Last    rpc.EventID `json:"last"`
}

func newEventShow(p *cli.Process) *cobra.Command {
	return ofTenant(p, "event", command{
		Name: "show", Offline: true, Short: "Print how many entries a stream has, and which are the first and the last", Args: []string{"STREAM"},
		Example: "task --tenant acme",
		Run: func(c *call) error {
			i, err := c.events.Info(c.Ctx, c.Args[0])
			if err != nil {
				return err
			}
			return c.Emit(streamDoc(i), func(w io.Writer) {
				if i.Entries == 0 {
					fmt.Fprintln(w, "0 entries")
					return
				}
				fmt.Fprintf(w, "%d entries, from %s to %s\n", i.Entries, i.First, i.Last)
			})
		},
	})
}

func newEventRead(p *cli.Process) *cobra.Command {
	var o rpc.EventReadOptions
	var as rpc.EventConsumer
	var level cli.Durability
	return ofTenant(p, "event", command{
		Name: "read", Short: "Print what is behind an entry, or what is next for a group, and wait for it", Args: []string{"STREAM"},
		Long: `Print the entries behind --after; with --group, as a --consumer of it, the next that no consumer of the
group has had, which are pending until stoa event ack. --wait waits where there are none. Where what
comes next is no longer kept it is TRIMMED, with the first id that is.`,
		Example: "task --wait 1s --tenant acme\ntask --group audit-logger --consumer logger-1 --limit 10 --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.Var(idFlag{&o.After}, "after", "behind this entry, or moment (default: from the first that is kept)")
			fs.StringVar(&as.Group, "group", "", "as a consumer of this group")
			fs.StringVar(&as.Name, "consumer", "", "which one")
			fs.IntVar(&o.Limit, "limit", 100, "at most so many")
			fs.DurationVar(&o.Wait, "wait", 0, "how long to wait where there are none, at most 5m")
			level.Register(fs)
		},
		Run: func(c *call) error {
			var list []rpc.EventEntry
			var err error
			if as.Group == "" {
				list, err = c.events.Read(c.Ctx, c.Args[0], o)
			} else {
				as.Stream = c.Args[0]
				list, err = c.events.ReadGroup(c.Ctx, rpc.Durability(level), as, o.Limit, o.Wait)
			}
			if err != nil {
				return err
			}
			return c.emitEntries(list)
		},
	})
}

func newEventFollow(p *cli.Process) *cobra.Command {
	var at rpc.EventPlace
	count := 0
	return ofTenant(p, "event", command{
		Name: "follow", Short: "Print the entries of a stream, and those to come as they are added", Args: []string{"STREAM"},
		Long: `Print the entries of a stream, from the first that is kept unless --after or --now says otherwise, and
those to come as they are added, until Ctrl-C; where the daemon goes away it is waited for. Where an
entry has gone before it was printed that ends with TRIMMED, and the first id that is kept.`,
		Example: "task --tenant acme\nlock --now --json --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			placeFlags(fs, &at)
			fs.IntVar(&count, "count", 0, "end after so many entries (default: never)")
		},
		Run: func(c *call) error {
			n := 0
			for e, err := range c.events.Follow(c.Ctx, c.Args[0], at) {
				if err != nil {
					return c.UntilInterrupted(err)
				}
				err := c.Emit(e, func(w io.Writer) { writeEntry(w, &e) })
				if n++; err != nil || n == count {
					return err
				}
			}
			return nil
		},
	})
}

func newEventLookup(p *cli.Process) *cobra.Command {
	return ofTenant(p, "event", command{
		Name: "lookup", Offline: true, Short: "Print what a literal key stands for, as JSON", Args: []string{"KEY"},
		Example: "ade:events:task --tenant acme\nade:events:lock:consumers --tenant acme",
		Run: func(c *call) error {
			value, err := c.events.Lookup(c.Ctx, c.Args[0])
			return c.emitJSON(value, err)
		},
	})
}

// emitJSON prints what a literal key stands for.
func (c *call) emitJSON(value json.RawMessage, err error) error {
	if err != nil {
		return err
	}
	return c.Emit(value, func(w io.Writer) { fmt.Fprintf(w, "%s\n", value) })
}

func parseEntries(args []string) (ids []rpc.EventID, err error) {
	for _, text := range args {
		id, err := event.ParseID(text)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// pendingDoc is an entry that is pending, as JSON.
type pendingDoc struct {
	ID         rpc.EventID `json:"id"`
	Consumer   string      `json:"consumer"`
	IdleMs     int64       `json:"idle_ms"`
	Deliveries uint32      `json:"deliveries"`
}

func newEventAck(p *cli.Process) *cobra.Command {
	var level cli.Durability
	return ofTenant(p, "event", command{
		Name: "ack", Short: "Say that a group has done with entries", Args: []string{"STREAM", "NAME", "ENTRY..."},
		Example: "task audit-logger 1710775800000-1 1710775800000-2 --tenant acme", Flags: level.Register,
		Run: func(c *call) error {
			ids, err := parseEntries(c.Args[2:])
			if err != nil {
				return err
			}
			n, err := c.events.Acknowledge(c.Ctx, rpc.Durability(level), c.Args[0], c.Args[1], ids)
			if err != nil {
				return err
			}
			return c.Emit(map[string]int{"acknowledged": n}, func(w io.Writer) { fmt.Fprintf(w, "%d acknowledged\n", n) })
		},
	})
}

func newEventPending(p *cli.Process) *cobra.Command {
	limit := 0
	var after rpc.EventID
	return ofTenant(p, "event", command{
		Name: "pending", Offline: true, Short: "List what consumers of a group have and have not acknowledged", Args: []string{"STREAM", "NAME"},
		Example: "task audit-logger --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.Var(idFlag{&after}, "after", "behind this entry")
			fs.IntVar(&limit, "limit", 100, "at most so many, up to 10000")
		},
		Run: func(c *call) error {
			all, err := c.events.ListPending(c.Ctx, c.Args[0], c.Args[1], after, limit)
			if err != nil {
				return err
			}
			list, t := []pendingDoc{}, cli.Table{}
			for _, e := range all {
				list = append(list, pendingDoc{e.ID, e.Consumer, e.Idle.Milliseconds(), e.Deliveries})
				t.Add(e.ID.String(), e.Consumer, "idle for "+e.Idle.Truncate(time.Millisecond).String(), fmt.Sprintf("delivered %d times", e.Deliveries))
			}
			return c.Emit(list, func(w io.Writer) { t.Write(w, "") })
		},
	})
}

// claimDoc is what was claimed, as JSON.
type claimDoc struct {
	Entries []rpc.EventEntry `json:"entries"`
	Gone    []rpc.EventID    `json:"gone"`
}

func newEventClaim(p *cli.Process) *cobra.Command {
	var o rpc.EventClaimOptions
	var level cli.Durability
	return ofTenant(p, "event", command{
		Name: "claim", Short: "Take over what consumers of a group have not acknowledged for some time", Args: []string{"STREAM", "NAME", "CONSUMER", "[ENTRY...]"},
		Long: `Give a consumer what is pending in its group and was not delivered to anybody for --idle: the entries
that are named, else the oldest. Those that the stream no longer keeps are gone, and no longer pending.`,
		Example: "task audit-logger logger-2 --idle 1m --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.DurationVar(&o.Idle, "idle", time.Minute, "how long nobody was given them, at least")
			fs.IntVar(&o.Limit, "limit", 100, "of the oldest at most so many, up to 1000")
			level.Register(fs)
		},
		Run: func(c *call) (err error) {
			if o.IDs, err = parseEntries(c.Args[3:]); err != nil {
				return err
			}
			list, gone, err := c.events.Claim(c.Ctx, rpc.Durability(level), rpc.EventConsumer{Stream: c.Args[0], Group: c.Args[1], Name: c.Args[2]}, o)
			if err != nil {
				return err
			}
			doc := claimDoc{append([]rpc.EventEntry{}, list...), append([]rpc.EventID{}, gone...)}
			return c.Emit(doc, func(w io.Writer) {
				for i := range list {
					writeEntry(w, &list[i])
				}
				for _, id := range gone {
					fmt.Fprintf(w, "%s  gone\n", id)
				}
			})
		},
	})
}
