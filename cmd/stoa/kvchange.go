package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"github.com/stoadb/stoa/rpc"
	"io"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/kv/kvstorage"
)

func newKVGet(p *process) *cobra.Command {
	var asBytes bool
	return daemonCommand{
		about: aboutTenant,
		name:  "get", offline: true, short: "Print the value of a key", args: []string{"KEY"},
		long: `Print the value of a key as JSON in canonical form; with --json what else is known of it,
and with --bytes the bytes that ` + "`put --bytes`" + ` has stored, as they are.`,
		example: "greeting --tenant acme\ngreeting --tenant acme --json\nlogo --tenant acme --bytes > logo.png",
		flags: func(fs *pflag.FlagSet) {
			fs.BoolVar(&asBytes, "bytes", false, "print the bytes that the value stands for")
		},
		run: func(c *daemonCall) error {
			i, err := c.kv.Get(c.ctx, c.args[0])
			if err != nil {
				return err
			}
			if asBytes {
				b, ok := kvstorage.ToBytes(i.Value)
				if !ok {
					return refused(fmt.Errorf("the value of %s is not bytes", strconv.Quote(i.Key)), "leave out --bytes to see it")
				}
				_, err = c.stdout.Write(b)
				return err
			}
			d := struct {
				itemDoc
				Created uint64 `json:"created_revision,string,omitempty"`
				Written string `json:"written_at,omitempty"`
			}{newItemDoc(&i), i.Created, ""}
			if !i.Written.IsZero() {
				d.Written = i.Written.UTC().Format(itemTime)
			}
			return c.emit(d, func(w io.Writer) { fmt.Fprintf(w, "%s\n", i.Value) })
		},
	}.command(p, "kv")
}

func newKVPut(p *process) *cobra.Command {
	var f kvWriteFlags
	var text, asBytes bool
	return daemonCommand{
		about: aboutTenant,
		name:  "put", short: "Store a value", args: []string{"KEY", "VALUE"},
		long: `Store a value: JSON, or with --text any text, or with --bytes any bytes, which JSON has as
{"/":{"bytes":"BASE64"}}. A VALUE of - is read from stdin, @FILE from a file. Without --ttl it is there for ever, even if what it replaces was not.`,
		example: "greeting '\"hello\"' --tenant acme\nsession @session.json --tenant acme --ttl 30m",
		flags: func(fs *pflag.FlagSet) {
			fs.BoolVar(&text, "text", false, "VALUE is text, and stored as a string")
			fs.BoolVar(&asBytes, "bytes", false, "VALUE is bytes, and stored as such")
			f.register(fs, "for ever")
		},
		run: func(c *daemonCall) error {
			o, err := f.options()
			if err != nil {
				return err
			}
			if text && asBytes {
				return bad(errors.New("--text and --bytes exclude each other"), "")
			}
			var value []byte
			if asBytes {
				if value, err = c.argument("VALUE", c.args[1]); err == nil {
					value = kvstorage.FromBytes(value)
				}
			} else {
				value, err = c.valueArgument("VALUE", c.args[1], text)
			}
			if err != nil {
				return err
			}
			i, err := c.kv.PutJSON(c.ctx, c.args[0], json.RawMessage(value), o...)
			if err != nil {
				return err
			}
			return c.emitItem(&i, "stored")
		},
	}.command(p, "kv")
}

// emitItem says what was done to a key.
func (c *daemonCall) emitItem(i *kvstorage.Item, done string) error {
	d := newItemDoc(i)
	return c.emit(d, func(w io.Writer) { d.write(w, done) })
}

func newKVDelete(p *process) *cobra.Command {
	var level durability
	var f expectFlags
	return daemonCommand{
		about: aboutTenant,
		name:  "del", short: "Remove what a key has", args: []string{"KEY"},
		long: `Remove what a key has, with --expect or --revision only if that is what it has. If it is
something else, the exit code is 5, and what it has is printed.`,
		example: "greeting --tenant acme\nleader --tenant acme --expect '\"me\"'",
		flags: func(fs *pflag.FlagSet) {
			f.register(fs)
			fs.BoolVar(&f.text, "text", false, "--expect is text, and a string")
			level.register(fs)
		},
		run: func(c *daemonCall) error {
			expect, err := f.expected(c)
			if err != nil {
				return err
			}
			o := rpc.WithDurability(rpc.Durability(level))
			var d kvstorage.Deleted
			if f.given() {
				d, err = c.kv.CompareAndDelete(c.ctx, c.args[0], expect, o)
			} else {
				d, err = c.kv.Delete(c.ctx, c.args[0], o)
			}
			if err != nil {
				return err
			}
			return c.emitDeleted(&d)
		},
	}.command(p, "kv")
}

func (c *daemonCall) emitDeleted(d *kvstorage.Deleted) error {
	if !d.Existed && !d.Item.Found {
		return noKey(c.args[0])
	}
	doc := struct {
		Key      string   `json:"key"`
		Deleted  bool     `json:"deleted"`
		Revision uint64   `json:"revision,string,omitempty"`
		Item     *itemDoc `json:"item,omitempty"`
	}{Key: c.args[0], Deleted: d.Existed, Revision: d.Revision}
	if !d.Existed {
		item := newItemDoc(&d.Item)
		doc.Item = &item
	}
	err := c.emit(doc, func(w io.Writer) {
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

func newKVIncrement(p *process) *cobra.Command {
	var f kvWriteFlags
	return daemonCommand{
		about: aboutTenant,
		name:  "incr", short: "Add to an integer", args: []string{"KEY", "[DELTA]"},
		long: `Add DELTA, 1 if it is left out, to an integer, 0 if there is none, and print the sum. A
negative DELTA stands after --.`,
		example: "visits --tenant acme\nvisits 10 --tenant acme\nstock --tenant acme -- -1",
		flags:   func(fs *pflag.FlagSet) { f.register(fs, "as long as before") },
		run: func(c *daemonCall) error {
			o, err := f.options()
			if err != nil {
				return err
			}
			delta := int64(1)
			if text := c.arg(1); text != "" {
				if delta, err = strconv.ParseInt(text, 10, 64); err != nil {
					return bad(fmt.Errorf("DELTA: %q is no integer of 64 bits", text), "")
				}
			}
			i, err := c.kv.Increment(c.ctx, c.args[0], delta, o...)
			if err != nil {
				return err
			}
			return c.emit(newItemDoc(&i), func(w io.Writer) { fmt.Fprintf(w, "%s\n", i.Value) })
		},
	}.command(p, "kv")
}

func newKVTouch(p *process) *cobra.Command {
	var f kvWriteFlags
	return daemonCommand{
		about: aboutTenant,
		name:  "touch", short: "Set how long a key is there", args: []string{"KEY"},
		example: "session --tenant acme --ttl 30m\nsession --tenant acme",
		flags:   func(fs *pflag.FlagSet) { f.register(fs, "for ever") },
		run: func(c *daemonCall) error {
			o, err := f.options()
			if err != nil {
				return err
			}
			i, err := c.kv.Touch(c.ctx, c.args[0], o...)
			if err != nil {
				return err
			}
			i.Value = nil
			return c.emitItem(&i, "touched")
		},
	}.command(p, "kv")
}
