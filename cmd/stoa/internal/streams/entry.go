package streams

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/rpc"
)

// entryDoc is an entry, as JSON.
type entryDoc struct {
	Number  uint64          `json:"number,string"`
	Subject string          `json:"subject"`
	Payload json.RawMessage `json:"payload,omitempty"`        // if it is JSON
	Bytes   *[]byte         `json:"payload_base64,omitempty"` // else
	AddedAt string          `json:"added_at,omitempty"`
}

func newEntryDoc(e *rpc.StreamEntry) entryDoc {
	d := entryDoc{Number: e.Number, Subject: e.Subject, AddedAt: cli.Instant(e.Time)}
	d.Payload, d.Bytes = cli.Content(e.Payload)
	return d
}

// entryText is an entry behind its number, for people.
func entryText(e *rpc.StreamEntry) string {
	if len(e.Payload) == 0 {
		return e.Subject
	}
	return e.Subject + "  " + cli.Shorten(cli.ContentText(e.Payload), cli.LineText)
}

func newPublish(p *cli.Process) *cobra.Command {
	var level cli.Durability
	var last cli.Optional
	return ofStream(p, "stream", command{
		Name: "publish", Short: "Add an entry to a stream", Args: []string{"SUBJECT", "[VALUE]"},
		Long: `Add an entry to a stream, and print its number. VALUE, its payload, is any bytes; - reads them from stdin,
@FILE from a file. With --expect-last it is added if that is the last number; where it is another the exit code
is 5, and what is printed has that.`,
		Example: "orders orders.placed '{\"id\":1}' --tenant acme\norders orders.paid - --durability synced --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.Var(&last, "expect-last", "the number of the last entry; 0: there was none yet")
			level.Register(fs)
		},
		Run: func(c *call) error {
			m := rpc.StreamMessage{Subject: c.Args[0]}
			if len(c.Args) > 1 {
				var err error
				if m.Payload, err = c.Argument("VALUE", c.Args[1]); err != nil {
					return err
				}
			}
			var o rpc.StreamAppendOptions
			if last.Given {
				n, err := strconv.ParseUint(last.Text, 10, 64)
				if err != nil {
					return cli.Bad(fmt.Errorf("--expect-last: %q is no number of an entry, which is a whole number", last.Text), "`stoa stream status` prints the last")
				}
				o.ExpectedLast = &n
			}
			n, err := c.streams.Publish(c.Ctx, rpc.Durability(level), c.stream, o, m)
			if err != nil {
				return err
			}
			return c.Emit(struct {
				Number uint64 `json:"number,string"`
			}{n}, func(w io.Writer) { fmt.Fprintln(w, n) })
		},
	})
}

func newRead(p *cli.Process) *cobra.Command {
	var o rpc.StreamRangeOptions
	return ofStream(p, "stream", command{
		Name: "read", Offline: true, Short: "Print entries of a stream, from one to another",
		Long: `Print the entries of a stream, oldest first, without a consumer: nothing is acknowledged, and nobody is kept
from them.`,
		Example: "orders --tenant acme\norders --from 7 --filter 'orders.*' --limit 10 --tenant acme\norders --reverse --limit 1 --json --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.Uint64Var(&o.From, "from", 0, "from the entry of this number on")
			fs.Uint64Var(&o.To, "to", 0, "up to that of this number (default: the last)")
			fs.StringVar(&o.Filter, "filter", "", "of these subjects, such as orders.* or orders.> (default: all)")
			fs.IntVar(&o.Limit, "limit", 0, "at most so many (default: all)")
			fs.BoolVar(&o.Reverse, "reverse", false, "newest first")
		},
		Check: func() error {
			if o.Limit < 0 {
				return cli.Bad(fmt.Errorf("--limit: %d is less than 0", o.Limit), "leave it out for all entries")
			}
			return nil
		},
		Run: func(c *call) error {
			return cli.List(c.Process, "entry", c.entries(o), func(e rpc.StreamEntry) (any, error) { return newEntryDoc(&e), nil },
				func(w io.Writer, e rpc.StreamEntry) { fmt.Fprintf(w, "%d  %s\n", e.Number, entryText(&e)) })
		},
	})
}

// entries yields the entries of the stream that options say, page by page.
func (c *call) entries(o rpc.StreamRangeOptions) func(yield func(rpc.StreamEntry, error) bool) {
	return func(yield func(rpc.StreamEntry, error) bool) {
		left := o.Limit
		if left == 0 {
			left = math.MaxInt
		}
		for next := uint64(1); next != 0 && left > 0; {
			o.Limit = min(left, page)
			list, after, err := c.streams.Range(c.Ctx, c.stream, o)
			if err != nil {
				yield(rpc.StreamEntry{}, err)
				return
			}
			for _, e := range list {
				if !yield(e, nil) {
					return
				}
			}
			left -= len(list)
			if next = after; o.Reverse {
				o.To = next
			} else {
				o.From = next
			}
		}
	}
}

// page is how many entries are read at once.
const page = 1000
