package records

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/rpc"
)

func newPut(p *cli.Process) *cobra.Command {
	var daemon cli.DaemonFlags
	var f putFlags
	return keyed{
		name: "put", argument: "[JSON]", instance: exampleValue, owned: true,
		short: "Store one record",
		long: `Store a record under a key. The value is JSON with the fields that ` + "`stoa schema`" + `
lists; - reads it from stdin, @FILE from a file. It asks before it replaces a secret, such
as a private key.`,
		example: `  stoa put ContextPrivateState --context-id room --app-key 6b --raw hello
  stoa put Generic --scope stoa.test --fragment 01 --if-absent --raw hello
  stoa put --column Generic --key 73746f612e7465737400000000000000aa --raw hello`,
		flags: func(fs *pflag.FlagSet) {
			daemon.Register(fs)
			f.register(fs)
		},
		open: lookup(p, daemon.Dial),
		run: func(t target, args []string) error {
			value, err := f.value(p, t.info, args)
			if err != nil {
				return err
			}
			b, err := f.batch(p, t, value)
			if err != nil {
				return err
			}
			store, err := daemon.Dial(p)
			if err != nil {
				return err
			}
			defer store.Close()
			if err := f.store(p, store, t, value, b); err != nil {
				return err
			}
			return emitChange(p, t, change{Bytes: len(value), Durability: b.Durability.String()})
		},
	}.command()
}

// putFlags are the flags of put.
type putFlags struct {
	hex, raw   cli.Optional
	expect     cli.Optional
	ifAbsent   bool
	durability cli.Durability
	guards     cli.RowGuards
	sure       cli.Confirmation
}

// store makes the change of b. It asks before another secret is replaced: whether there
// is one the write itself finds out, since who writes a secret need not be let read it.
func (f *putFlags) store(p *cli.Process, client *rpc.Client, t target, value []byte, b *engine.Batch) error {
	store := f.guards.Store(p, client.Store(p.Ctx))
	if !keys.Secret(t.column, t.key) || f.ifAbsent || f.expect.Given || f.sure.Yes {
		return store.Apply(b)
	}
	if old, err := store.Get(nil, t.column, t.key); err != nil || !bytes.Equal(old, value) {
		first := engine.Batch{Durability: b.Durability}
		first.ExpectAbsent(t.column, t.key)
		first.Put(t.column, t.key, value)
		if err := store.Apply(&first); !errors.Is(err, engine.ErrConflict) {
			return err
		}
		if err := confirmSecret(&f.sure, p, "replace", t); err != nil {
			return err
		}
	}
	return store.Apply(b)
}

func (f *putFlags) register(fs *pflag.FlagSet) {
	fs.Var(&f.hex, "hex", "the stored bytes of the value in hex (- reads stdin, @FILE a file) instead of JSON")
	fs.Var(&f.raw, "raw", "the text of a value that is raw bytes (- reads stdin, @FILE a file) instead of JSON")
	fs.Var(&f.expect, "expect", "store only if this JSON is what is stored now")
	fs.BoolVar(&f.ifAbsent, "if-absent", false, "store only if nothing is stored now")
	f.durability.Register(fs)
	f.guards.Register(fs)
	f.sure.Register(fs)
}

// value returns the stored bytes of the value that the command line gives.
func (f *putFlags) value(p *cli.Process, info keys.Info, args []string) ([]byte, error) {
	given := len(args)
	for _, o := range []cli.Optional{f.hex, f.raw} {
		if o.Given {
			given++
		}
	}
	none := len(info.Value.Fields) == 0
	switch {
	case given == 0 && none:
		return nil, nil
	case given != 1:
		return nil, cli.Bad(fmt.Errorf("%s wants one value of type %s: as JSON, or with --hex or --raw", info.Name, info.Value.Name),
			"its fields are "+fieldList(valueFields(info)))
	case f.hex.Given:
		return p.HexArgument("--hex", f.hex.Text)
	case f.raw.Given:
		return f.rawValue(p, info)
	}
	text, err := p.Argument("the value", args[0])
	if err != nil {
		return nil, err
	}
	value, err := info.Value.FromJSON(text)
	if err != nil {
		return nil, cli.Bad(err, "its fields are "+fieldList(valueFields(info)))
	}
	return value, nil
}

func (f *putFlags) rawValue(p *cli.Process, info keys.Info) ([]byte, error) {
	if fields := info.Value.Fields; len(fields) != 1 || fields[0].Kind != "raw bytes" {
		return nil, cli.Bad(fmt.Errorf("--raw is for values that are raw bytes, and those of %s are %s", info.Name, info.Value.Name),
			"give the value as JSON: its fields are "+fieldList(valueFields(info)))
	}
	return p.Argument("--raw", f.raw.Text)
}

// batch returns the write, checked as the daemon will check it.
func (f *putFlags) batch(p *cli.Process, t target, value []byte) (*engine.Batch, error) {
	if err := keys.Check(t.column, t.key, value); err != nil {
		return nil, err
	}
	b := &engine.Batch{Durability: engine.Durability(f.durability)}
	if f.ifAbsent && f.expect.Given {
		return nil, cli.Bad(errors.New("--if-absent and --expect exclude each other"), "")
	}
	if f.ifAbsent {
		b.ExpectAbsent(t.column, t.key)
	}
	if err := guard(&f.expect, p, b, t); err != nil {
		return nil, err
	}
	b.Put(t.column, t.key, value)
	return b, nil
}

// guard makes b depend on what is stored now, if the flag is set.
func guard(o *cli.Optional, p *cli.Process, b *engine.Batch, t target) error {
	if !o.Given {
		return nil
	}
	text, err := p.Argument("--expect", o.Text)
	if err != nil {
		return err
	}
	want, err := t.info.Value.FromJSON(text)
	if err != nil {
		return fmt.Errorf("--expect: %w", err)
	}
	b.Expect(t.column, t.key, want)
	return nil
}

// change is what put and delete print with --json.
type change struct {
	Column     string          `json:"column"`
	Type       string          `json:"type"`
	Key        json.RawMessage `json:"key"`
	Deleted    bool            `json:"deleted,omitempty"`
	Bytes      int             `json:"bytes"` // of the value
	Durability string          `json:"durability"`
}

func emitChange(p *cli.Process, t target, c change) error {
	var err error
	c.Column, c.Type = t.column.String(), t.info.Name
	if c.Key, err = t.info.KeyJSON(t.key); err != nil {
		return err
	}
	return p.Emit(c, func(w io.Writer) {
		verb := "stored"
		if c.Deleted {
			verb = "deleted"
		}
		fmt.Fprintf(w, "%s %s (%s, %s)\n", verb, keyText(t.info, t.key), cli.Count(c.Bytes, "byte"), c.Durability)
	})
}

func valueFields(info keys.Info) (fields []fieldDoc) {
	for _, f := range info.Value.Fields {
		fields = append(fields, fieldDoc{f.Name, f.Kind})
	}
	return fields
}

// exampleValue returns a value for the example of a key type.
func exampleValue(info keys.Info) string {
	switch info.Name {
	case "ApplicationMeta":
		return cli.ExampleApplication
	case "ContextIdentity":
		return `--if-absent '{"private_key":null,"sender_key":null}'`
	case "Alias":
		return `'{"id":"` + cli.ExampleID + `"}'`
	}
	return "--raw hello"
}

// confirmSecret is confirm for a record that is about to be deleted or replaced. Only
// one that holds a secret is asked for: nobody else may have it.
func confirmSecret(c *cli.Confirmation, p *cli.Process, verb string, t target) error {
	if !keys.Secret(t.column, t.key) {
		return nil
	}
	ctx, forget := cli.Interruptible()
	defer forget()
	return c.Confirm(ctx, p, func() (string, error) {
		return fmt.Sprintf("%s the secret in %s, which nobody else may have", verb, keyText(t.info, t.key)), nil
	})
}
