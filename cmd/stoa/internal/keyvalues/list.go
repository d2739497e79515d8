package keyvalues

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/rpc"
)

func newList(p *cli.Process) *cobra.Command {
	var limit int
	var cursor string
	var keysOnly bool
	return ofTenant(p, "kv", command{
		Name: "list", Offline: true, Short: "List keys and values in order", Args: []string{"[PREFIX]"},
		Long: `List keys and values in byte order of the keys, those that begin with PREFIX, all of one
state. With --limit it is a page; the cursor of the next one is printed after it.`,
		Example: "--tenant acme\nsession/ --tenant acme --limit 100 --json",
		Flags: func(fs *pflag.FlagSet) {
			fs.IntVar(&limit, "limit", 0, "list a page of so many, at most 10000 (default: all)")
			fs.StringVar(&cursor, "cursor", "", "of the page before")
			fs.BoolVar(&keysOnly, "keys-only", false, "leave the values out")
		},
		Run: func(c *call) error {
			if limit == 0 && cursor == "" {
				return c.listAll(keysOnly)
			}
			page, err := c.kv.List(c.Ctx, kvstorage.ListOptions{Prefix: c.arg(0), Cursor: cursor, Limit: limit, KeysOnly: keysOnly})
			if err != nil {
				return err
			}
			if err := c.expectTenant(len(page.Items)); err != nil {
				return err
			}
			d := struct {
				Items []itemDoc `json:"items"`
				Next  string    `json:"next,omitempty"`
			}{Items: []itemDoc{}, Next: page.Next}
			for n := range page.Items {
				d.Items = append(d.Items, newItemDoc(&page.Items[n]))
			}
			return c.Emit(d, func(w io.Writer) {
				for n := range d.Items {
					d.Items[n].writeLine(w)
				}
				if d.Next != "" {
					fmt.Fprintf(w, "next: --cursor %s\n", d.Next)
				}
			})
		},
	})
}

// writeLine writes a key with its value.
func (d *itemDoc) writeLine(w io.Writer) {
	if d.Value == nil { // it was left out
		fmt.Fprintln(w, strconv.Quote(d.Key))
		return
	}
	fmt.Fprintf(w, "%s  %s\n", strconv.Quote(d.Key), cli.Shorten(string(d.Value), cli.LineText))
}

func (c *call) listAll(keysOnly bool) error {
	n, items := 0, c.kv.All
	if keysOnly {
		items = c.kv.Keys
	}
	for i, err := range items(c.Ctx, c.arg(0)) {
		if err != nil {
			return err
		}
		n++
		d := newItemDoc(&i)
		if err := c.Emit(d, d.writeLine); err != nil {
			return err
		}
	}
	if err := c.expectTenant(n); err != nil {
		return err
	}
	c.Guide(cli.Count(n, "key"))
	return nil
}

// expectTenant returns a failure if nothing was found because there is no such
// tenant.
func (c *call) expectTenant(found int) error {
	if found > 0 {
		return nil
	}
	there, err := c.kv.HasTenant(c.Ctx)
	if err == nil && !there && c.tenant != "" { // one that this user is bound to need not have written yet
		err = noTenant(c.tenant)
	}
	return err
}

// watchFlags are those of watch.
type watchFlags struct {
	now   bool
	after cli.Optional
	count int
}

func newWatch(p *cli.Process) *cobra.Command {
	var f watchFlags
	return ofTenant(p, "kv", command{
		Name: "watch", Short: "Print changes as they are made", Args: []string{"[PREFIX...]"},
		Long: `Print what there is, a line that says that this was it (synced), and then every change as
it is made, until Ctrl-C or the end of the daemon, of all keys or those that begin with one
of the prefixes. --now leaves out what there is; --after goes on behind a revision, such as
the last one printed, and says synced once it has caught up. A line that says
resync is followed by all there is, as the log does not reach that far.`,
		Example: "--tenant acme\nsession/ user/ --tenant acme --after 42 --json",
		Flags: func(fs *pflag.FlagSet) {
			fs.BoolVar(&f.now, "now", false, "begin with the next change")
			fs.Var(&f.after, "after", "begin behind this revision")
			fs.IntVar(&f.count, "count", 0, "end after so many lines (default: never)")
		},
		Run: f.run,
	})
}

func (f *watchFlags) run(c *call) error {
	o := []rpc.WatchOption{rpc.Once()}
	for _, prefix := range c.Args {
		o = append(o, rpc.WithPrefix(prefix))
	}
	switch {
	case f.now && f.after.Given:
		return cli.Bad(errors.New("--now and --after exclude each other"), "")
	case f.now:
		o = append(o, rpc.FromNow())
	case f.after.Given:
		n, err := strconv.ParseUint(f.after.Text, 10, 64)
		if err != nil {
			return cli.Bad(fmt.Errorf("--after: %q is no revision", f.after.Text), "")
		}
		o = append(o, rpc.After(n))
	}
	n := 0
	for e, err := range c.kv.Watch(c.Ctx, o...) {
		if err != nil {
			if errors.Is(c.Ctx.Err(), context.Canceled) {
				return nil
			}
			return err
		}
		if err := c.emitEvent(&e); err != nil {
			return err
		}
		if n++; n == f.count {
			return nil
		}
	}
	return nil
}

func (c *call) emitEvent(e *kvstorage.Event) error {
	d := struct {
		Event    string   `json:"event"`
		Revision uint64   `json:"revision,string"`
		Key      string   `json:"key,omitempty"`
		Item     *itemDoc `json:"item,omitempty"`
	}{Event: e.Kind.String(), Revision: e.Revision, Key: e.Item.Key}
	if e.Item.Found {
		item := newItemDoc(&e.Item)
		d.Item = &item
	}
	return c.Emit(d, func(w io.Writer) {
		fmt.Fprintf(w, "%d  %s", d.Revision, d.Event)
		if d.Key != "" {
			fmt.Fprintf(w, "  %s", strconv.Quote(d.Key))
		}
		if d.Item != nil {
			fmt.Fprintf(w, "  %s", cli.Shorten(string(d.Item.Value), cli.LineText))
		}
		fmt.Fprintln(w)
	})
}
