package streams

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/rpc"
)

// limitFlags say what a stream keeps.
type limitFlags struct {
	fs *pflag.FlagSet
	of rpc.StreamLimits
}

func (f *limitFlags) register(fs *pflag.FlagSet) {
	f.fs = fs
	fs.Uint64Var(&f.of.Entries, "entries", 0, "keep so many of the newest; 0: all")
	fs.DurationVar(&f.of.Age, "age", 0, "keep them for so long, in whole milliseconds; 0: for ever")
}

// keeps says what a stream keeps.
func keeps(l rpc.StreamLimits) string {
	text := "all entries"
	if l.Entries != 0 {
		text = "the newest " + strconv.FormatUint(l.Entries, 10)
	}
	if l.Age != 0 {
		text += ", for " + l.Age.String()
	}
	return text
}

// infoDoc is what is known of a stream, as JSON.
type infoDoc struct {
	Stream     string `json:"stream"`
	MaxEntries uint64 `json:"max_entries"` // 0: all are kept
	MaxAgeMs   int64  `json:"max_age_ms"`  // 0: for ever
	Entries    uint64 `json:"entries"`
	First      uint64 `json:"first,string"`
	Last       uint64 `json:"last,string"`
	NewestAt   string `json:"newest_at,omitempty"`
	Consumers  int    `json:"consumers"`
	CreatedAt  string `json:"created_at"`
}

func newInfoDoc(i *rpc.StreamInfo) infoDoc {
	return infoDoc{i.Name, i.Limits.Entries, i.Limits.Age.Milliseconds(), i.Entries, i.First, i.Last, cli.Instant(i.Newest), i.Consumers, cli.Instant(i.Created)}
}

func newAdd(p *cli.Process) *cobra.Command {
	var f limitFlags
	var level cli.Durability
	return ofStream(p, "stream", command{
		Name: "add", Short: "Make a stream, unless there is one of its name and limits",
		Long: `Make a stream, and the tenant unless it is there. One that is there with the same limits stays as it is; where
it has others the exit code is 5.`,
		Example: "orders --tenant acme\naudit --entries 1000000 --age 168h --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			f.register(fs)
			level.Register(fs)
		},
		Run: func(c *call) error {
			made, err := c.streams.Create(c.Ctx, rpc.Durability(level), c.stream, f.of)
			return c.done(made, "made", "was there already", "stream", c.stream, err)
		},
	})
}

// done says what a change came to: it was made, or there was nothing to do.
func (c *call) done(made bool, word, otherwise, noun, name string, err error) error {
	if err != nil {
		return err
	}
	return c.Emit(map[string]bool{word: made}, func(w io.Writer) {
		if !made {
			word = otherwise
		}
		fmt.Fprintf(w, "%s %s %s\n", noun, strconv.Quote(name), word)
	})
}

func newAlter(p *cli.Process) *cobra.Command {
	var f limitFlags
	var level cli.Durability
	var sure cli.Confirmation
	return ofStream(p, "stream", command{
		Name: "alter", Short: "Have a stream keep more or less",
		Long: `Have a stream keep what the flags say, and else what it does. What it has beyond that goes; where that can be,
it asks.`,
		Example: "orders --entries 2000000 --tenant acme\norders --age 24h --tenant acme --yes",
		Flags: func(fs *pflag.FlagSet) {
			f.register(fs)
			level.Register(fs)
			sure.Register(fs)
		},
		Run: func(c *call) error {
			was, err := c.streams.Info(c.Ctx, c.stream)
			if err != nil {
				return err
			}
			to := was.Limits
			if f.fs.Changed("entries") {
				to.Entries = f.of.Entries
			}
			if f.fs.Changed("age") {
				to.Age = f.of.Age
			}
			if less(to.Entries, was.Limits.Entries) || less(to.Age, was.Limits.Age) {
				if err := sure.Confirm(c.Ctx, c.Process, func() (string, error) {
					return fmt.Sprintf("have stream %s keep %s, instead of %s", strconv.Quote(c.stream), keeps(to), keeps(was.Limits)), nil
				}); err != nil {
					return err
				}
			}
			if err := c.streams.Limit(c.Ctx, rpc.Durability(level), c.stream, to); err != nil {
				return err
			}
			return c.Emit(map[string]bool{"altered": true}, func(w io.Writer) { fmt.Fprintf(w, "stream %s keeps %s\n", strconv.Quote(c.stream), keeps(to)) })
		},
	})
}

// less reports whether a limit is tighter than it was; 0 is none.
func less[N uint64 | time.Duration](to, was N) bool { return to != 0 && (was == 0 || to < was) }

func newDrop(p *cli.Process) *cobra.Command {
	var level cli.Durability
	var sure cli.Confirmation
	return ofStream(p, "stream", command{
		Name: "drop", Short: "Remove a stream with its entries and its consumers",
		Example: "orders --tenant acme\norders --tenant acme --yes",
		Flags: func(fs *pflag.FlagSet) {
			level.Register(fs)
			sure.Register(fs)
		},
		Run: func(c *call) error {
			if err := sure.Confirm(c.Ctx, c.Process, func() (string, error) {
				i, err := c.streams.Info(c.Ctx, c.stream)
				return fmt.Sprintf("drop stream %s with %d entries and %s", strconv.Quote(c.stream), i.Entries, cli.Count(i.Consumers, "consumer")), err
			}); err != nil {
				return err
			}
			existed, err := c.streams.Delete(c.Ctx, rpc.Durability(level), c.stream)
			return c.done(existed, "dropped", "was not there", "stream", c.stream, err)
		},
	})
}

func newList(p *cli.Process) *cobra.Command {
	return ofTenant(p, "stream", command{
		Name: "list", Offline: true, Short: "List the streams of the tenant", Example: "--tenant acme\n--json --tenant acme",
		Run: func(c *call) error {
			all, err := c.streams.List(c.Ctx)
			if err != nil {
				return err
			}
			list, t := []infoDoc{}, cli.Table{}
			for i := range all {
				d := newInfoDoc(&all[i])
				list = append(list, d)
				t.Add(d.Stream, fmt.Sprintf("%d entries", d.Entries), fmt.Sprintf("last %d", d.Last), cli.Count(d.Consumers, "consumer"), "keeps "+keeps(all[i].Limits))
			}
			return c.Emit(list, func(w io.Writer) { t.Write(w, "") })
		},
	})
}

func newStatus(p *cli.Process) *cobra.Command {
	return ofStream(p, "stream", command{
		Name: "status", Offline: true, Short: "Print what a stream keeps, and what it has", Example: "orders --tenant acme",
		Run: func(c *call) error {
			i, err := c.streams.Info(c.Ctx, c.stream)
			if err != nil {
				return err
			}
			d := newInfoDoc(&i)
			return c.Emit(d, func(w io.Writer) {
				var t cli.Table
				t.Add("stream", d.Stream)
				t.Add("keeps", keeps(i.Limits))
				t.Add("entries", strconv.FormatUint(d.Entries, 10))
				t.Add("first", strconv.FormatUint(d.First, 10))
				t.Add("last", strconv.FormatUint(d.Last, 10))
				if d.NewestAt != "" {
					t.Add("newest", d.NewestAt)
				}
				t.Add("consumers", strconv.Itoa(d.Consumers))
				t.Add("made", d.CreatedAt)
				t.Write(w, "")
			})
		},
	})
}
