package buckets

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/rpc"
)

func newGet(p *cli.Process) *cobra.Command {
	var revision cli.Optional
	var typed, raw bool
	return ofBucket(p, command{
		Name: "get", Offline: true, Short: "Print the value of a key", Args: []string{"KEY"},
		Long: `Print the value of a key: JSON on one line, other bytes as text, quoted where they are none; with --raw the
bytes as they are, with --json what else is known of it. --revision prints what the key was at a revision of
its own, as a line of stoa bucket history.`,
		Example: "notes github.42.title --tenant acme\nnotes github.42.title --json --tenant acme\nnotes github.42.title --revision 1 --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.Var(&revision, "revision", "as it was at this revision")
			fs.BoolVar(&typed, "typed", false, "only if the value holds to the bucket's schema")
			fs.BoolVar(&raw, "raw", false, "print the bytes of the value as they are")
		},
		Run: func(c *call) error {
			var e rpc.BucketEntry
			var err error
			switch {
			case raw && c.JSON:
				return cli.Bad(errors.New("--raw is the bytes and nothing else: leave out --json"), "")
			case revision.Given && typed:
				return cli.Bad(errors.New("--revision and --typed exclude each other"), "")
			case revision.Given:
				var n uint64
				if n, err = parseRevision("--revision", revision.Text); err == nil {
					e, err = c.bucket.At(c.Ctx, c.Args[0], n)
				}
			case typed:
				e, err = c.bucket.GetTyped(c.Ctx, c.Args[0])
			default:
				e, err = c.bucket.Get(c.Ctx, c.Args[0])
			}
			if err != nil {
				return err
			}
			if raw {
				_, err := c.Stdout.Write(e.Value)
				return err
			}
			d := newEntryDoc(&e, true)
			return c.Emit(d, func(w io.Writer) {
				if revision.Given {
					d.writeLine(w)
					return
				}
				fmt.Fprintln(w, d.value())
			})
		},
	})
}

func newHistory(p *cli.Process) *cobra.Command {
	return ofBucket(p, command{
		Name: "history", Offline: true, Short: "Print the revisions of a key that are kept, oldest first", Args: []string{"KEY"},
		Example: "notes github.42.title --tenant acme\nnotes github.42.title --json --tenant acme",
		Run: func(c *call) error {
			all, err := c.bucket.History(c.Ctx, c.Args[0])
			if err != nil {
				return err
			}
			list := []entryDoc{}
			for i := range all {
				list = append(list, newEntryDoc(&all[i], true))
			}
			return c.Emit(list, func(w io.Writer) {
				for i := range list {
					list[i].writeLine(w)
				}
			})
		},
	})
}

func newKeys(p *cli.Process) *cobra.Command {
	return ofBucket(p, command{
		Name: "keys", Offline: true, Short: "List the keys that have a value", Args: []string{"[FILTER...]"},
		Long: `List the keys that have a value, all or those that match a filter: a key with * for any one word, and > at
the end for one or more.`,
		Example: "notes --tenant acme\nnotes 'github.*.title' 'gitlab.>' --tenant acme",
		Run: func(c *call) error {
			return cli.List(c.Process, "key", c.bucket.Keys(c.Ctx, c.Args...),
				func(key string) (any, error) { return map[string]string{"key": key}, nil },
				func(w io.Writer, key string) { fmt.Fprintln(w, key) })
		},
	})
}

// watchFlags are those of watch.
type watchFlags struct {
	o     rpc.BucketWatchOptions
	after cli.Optional
	count int
}

func newWatch(p *cli.Process) *cobra.Command {
	var f watchFlags
	return ofBucket(p, command{
		Name: "watch", Short: "Print what keys have, and what happens to them as it does", Args: []string{"[FILTER...]"},
		Long: `Print the newest revision of each key that matches a filter, in order of the revisions, a line that says that
this was all (init_done), and then each change as it is made, until Ctrl-C; where the daemon goes away it is
waited for. A line that says resync is followed by all there is: what was printed besides is gone.`,
		Example: "notes --tenant acme\nnotes 'github.>' --history --tenant acme\nnotes --after 42 --json --tenant acme",
		Flags: func(fs *pflag.FlagSet) {
			fs.BoolVar(&f.o.History, "history", false, "begin with all revisions that are kept")
			fs.BoolVar(&f.o.UpdatesOnly, "now", false, "begin with the next change")
			fs.Var(&f.after, "after", "begin behind this revision")
			fs.BoolVar(&f.o.IgnoreDeletes, "ignore-deletes", false, "leave out that values were deleted, purged or have expired")
			fs.BoolVar(&f.o.MetaOnly, "no-values", false, "leave out values")
			fs.BoolVar(&f.o.Typed, "typed", false, "say which values do not hold to the bucket's schema")
			fs.IntVar(&f.count, "count", 0, "end after so many lines (default: never)")
		},
		Run: f.run,
	})
}

func (f *watchFlags) run(c *call) error {
	if f.o.History && f.o.UpdatesOnly || f.after.Given && (f.o.History || f.o.UpdatesOnly) {
		return cli.Bad(errors.New("--history, --now and --after exclude each other"), "")
	}
	f.o.Filters = c.Args
	if f.o.Resume = f.after.Given; f.o.Resume {
		var err error
		if f.o.After, err = parseRevision("--after", f.after.Text); err != nil {
			return err
		}
	}
	n := 0
	for e, err := range c.bucket.Watch(c.Ctx, f.o) {
		if err != nil {
			return c.UntilInterrupted(err)
		}
		if err := c.emitEvent(&e, !f.o.MetaOnly); err != nil {
			return err
		}
		if n++; n == f.count {
			return nil
		}
	}
	return nil
}

// eventDoc is what a watch tells, as JSON.
type eventDoc struct {
	Event    string    `json:"event"` // of an entry what happened to it
	Revision uint64    `json:"revision,string"`
	Entry    *entryDoc `json:"entry,omitempty"`
	Error    string    `json:"error,omitempty"`
}

func (c *call) emitEvent(e *rpc.BucketEvent, values bool) error {
	d := eventDoc{Event: e.Kind.String(), Revision: e.Revision}
	if e.Kind == bucket.EventEntry || e.Kind == bucket.EventError {
		entry := newEntryDoc(&e.Entry, values)
		d.Entry = &entry
	}
	if e.Kind == bucket.EventEntry {
		d.Event = e.Entry.Op.String()
	}
	if e.Err != nil {
		d.Error = e.Err.Error()
	}
	return c.Emit(d, func(w io.Writer) {
		switch {
		case d.Error != "":
			fmt.Fprintf(w, "%d  %s  %s  %s\n", d.Revision, d.Event, strconv.Quote(e.Entry.Key), d.Error)
		case d.Entry != nil:
			d.Entry.writeLine(w)
		default:
			fmt.Fprintf(w, "%d  %s\n", d.Revision, d.Event)
		}
	})
}
