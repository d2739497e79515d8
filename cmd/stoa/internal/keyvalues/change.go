package keyvalues

import (
	"encoding/json"
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

func newGet(p *cli.Process) *cobra.Command {
	var asBytes bool
	return ofTenant(p, "kv", command{
		Name: "get", Offline: true, Short: "Print the value of a key", Args: []string{"KEY"},
		Long: `Print the value of a key as JSON in canonical form; with --json what else is known of it,
and with --bytes the bytes that ` + "`put --bytes`" + ` has stored, as they are.`,
		Example: "greeting --tenant acme\ngreeting --tenant acme --json\nlogo --tenant acme --bytes > logo.png",
		Flags: func(fs *pflag.FlagSet) {
			fs.BoolVar(&asBytes, "bytes", false, "print the bytes that the value stands for")
		},
		Run: func(c *call) error {
			i, err := c.kv.Get(c.Ctx, c.Args[0])
			if err != nil {
				return err
			}
			if asBytes {
				b, ok := kvstorage.ToBytes(i.Value)
				if !ok {
					return cli.Refused(fmt.Errorf("the value of %s is not bytes", strconv.Quote(i.Key)), "leave out --bytes to see it")
				}
				_, err = c.Stdout.Write(b)
				return err
			}
			d := struct {
				itemDoc
				Created uint64 `json:"created_revision,string,omitempty"`
				Written string `json:"written_at,omitempty"`
			}{newItemDoc(&i), i.Created, ""}
			if !i.Written.IsZero() {
				d.Written = cli.Instant(i.Written)
			}
			return c.Emit(d, func(w io.Writer) { fmt.Fprintf(w, "%s\n", i.Value) })
		},
	})
}

func newPut(p *cli.Process) *cobra.Command {
	var f writeFlags
	var text, asBytes bool
	return ofTenant(p, "kv", command{
		Name: "put", Short: "Store a value", Args: []string{"KEY", "VALUE"},
		Long: `Store a value: JSON, or with --text any text, or with --bytes any bytes, which JSON has as
{"/":{"bytes":"BASE64"}}. A VALUE of - is read from stdin, @FILE from a file. Without --ttl it is there for ever, even if what it replaces was not.`,
		Example: "greeting '\"hello\"' --tenant acme\nsession @session.json --tenant acme --ttl 30m",
		Flags: func(fs *pflag.FlagSet) {
			fs.BoolVar(&text, "text", false, "VALUE is text, and stored as a string")
			fs.BoolVar(&asBytes, "bytes", false, "VALUE is bytes, and stored as such")
			f.register(fs, "for ever")
		},
		Run: func(c *call) error {
			o, err := f.options()
			if err != nil {
				return err
			}
			if text && asBytes {
				return cli.Bad(errors.New("--text and --bytes exclude each other"), "")
			}
			var value []byte
			if asBytes {
				if value, err = c.Argument("VALUE", c.Args[1]); err == nil {
					value = kvstorage.FromBytes(value)
				}
			} else {
				value, err = valueArgument(c.Call.Process, "VALUE", c.Args[1], text)
			}
			if err != nil {
				return err
			}
			i, err := c.kv.PutJSON(c.Ctx, c.Args[0], json.RawMessage(value), o...)
			if err != nil {
				return err
			}
			return c.emitItem(&i, "stored")
		},
	})
}

// emitItem says what was done to a key.
func (c *call) emitItem(i *kvstorage.Item, done string) error {
	d := newItemDoc(i)
	return c.Emit(d, func(w io.Writer) { d.write(w, done) })
}

func newDelete(p *cli.Process) *cobra.Command {
	var level cli.Durability
	var f expectFlags
	var guards cli.Guards
	return ofTenant(p, "kv", command{
		Name: "del", Short: "Remove what a key has", Args: []string{"KEY"},
		Long: `Remove what a key has, with --expect or --revision only if that is what it has. If it is
something else, the exit code is 5, and what it has is printed.`,
		Example: "greeting --tenant acme\nleader --tenant acme --expect '\"me\"'",
		Flags: func(fs *pflag.FlagSet) {
			f.register(fs)
			fs.BoolVar(&f.text, "text", false, "--expect is text, and a string")
			level.Register(fs)
			guards.Register(fs)
		},
		Run: func(c *call) error {
			expect, err := f.expected(c)
			if err != nil {
				return err
			}
			o := append(guards.OfWrites(), rpc.WithDurability(rpc.Durability(level)))
			var d kvstorage.Deleted
			if f.given() {
				d, err = c.kv.CompareAndDelete(c.Ctx, c.Args[0], expect, o...)
			} else {
				d, err = c.kv.Delete(c.Ctx, c.Args[0], o...)
			}
			if err != nil {
				return err
			}
			return c.emitDeleted(&d)
		},
	})
}

func (c *call) emitDeleted(d *kvstorage.Deleted) error {
	if !d.Existed && !d.Item.Found {
		return fmt.Errorf("%w: nothing is stored under %q", rpc.ErrNotFound, c.Args[0])
	}
	doc := struct {
		Key      string   `json:"key"`
		Deleted  bool     `json:"deleted"`
		Revision uint64   `json:"revision,string,omitempty"`
		Item     *itemDoc `json:"item,omitempty"`
	}{Key: c.Args[0], Deleted: d.Existed, Revision: d.Revision}
	if !d.Existed {
		item := newItemDoc(&d.Item)
		doc.Item = &item
	}
	err := c.Emit(doc, func(w io.Writer) {
		if d.Existed {
			fmt.Fprintf(w, "deleted %s at revision %d\n", strconv.Quote(doc.Key), doc.Revision)
		} else {
			fmt.Fprintf(w, "%s\n", d.Item.Value)
		}
	})
	if err == nil && !d.Existed {
		err = otherItem("deleted", &d.Item)
	}
	return err
}

func newIncrement(p *cli.Process) *cobra.Command {
	var f writeFlags
	return ofTenant(p, "kv", command{
		Name: "incr", Short: "Add to an integer", Args: []string{"KEY", "[DELTA]"},
		Long: `Add DELTA, 1 if it is left out, to an integer, 0 if there is none, and print the sum. A
negative DELTA stands after --.`,
		Example: "visits --tenant acme\nvisits 10 --tenant acme\nstock --tenant acme -- -1",
		Flags:   func(fs *pflag.FlagSet) { f.register(fs, "as long as before") },
		Run: func(c *call) error {
			o, err := f.options()
			if err != nil {
				return err
			}
			delta := int64(1)
			if text := c.arg(1); text != "" {
				if delta, err = strconv.ParseInt(text, 10, 64); err != nil {
					return cli.Bad(fmt.Errorf("DELTA: %q is no integer of 64 bits", text), "")
				}
			}
			i, err := c.kv.Increment(c.Ctx, c.Args[0], delta, o...)
			if err != nil {
				return err
			}
			return c.Emit(newItemDoc(&i), func(w io.Writer) { fmt.Fprintf(w, "%s\n", i.Value) })
		},
	})
}

func newTouch(p *cli.Process) *cobra.Command {
	var f writeFlags
	return ofTenant(p, "kv", command{
		Name: "touch", Short: "Set how long a key is there", Args: []string{"KEY"},
		Example: "session --tenant acme --ttl 30m\nsession --tenant acme",
		Flags:   func(fs *pflag.FlagSet) { f.register(fs, "for ever") },
		Run: func(c *call) error {
			o, err := f.options()
			if err != nil {
				return err
			}
			i, err := c.kv.Touch(c.Ctx, c.Args[0], o...)
			if err != nil {
				return err
			}
			i.Value = nil
			return c.emitItem(&i, "touched")
		},
	})
}
