package records

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

func newGet(p *cli.Process) *cobra.Command {
	var daemon cli.ReadFlags
	var secrets cli.Reveal
	var asHex, asRaw bool
	return keyed{
		name:  "get",
		short: "Read one record",
		long:  "Read the record that is stored under a key. Secrets show as redacted:… .",
		example: `  stoa get GroupMember --group-id home --identity alice
  stoa get ContextState --context-id room --app-key 636f756e746572 --raw
  stoa get --column Generic --key 73746f612e746573740000000000000000ff --json`,
		open: lookup(p, daemon.Dial),
		flags: func(fs *pflag.FlagSet) {
			daemon.Register(fs)
			secrets.Register(fs)
			fs.BoolVar(&asHex, "hex", false, "print the stored bytes of the value in hex")
			fs.BoolVar(&asRaw, "raw", false, "print the stored bytes of the value as they are")
		},
		run: func(t target, _ []string) error {
			if asRaw && (asHex || p.JSON) {
				return cli.Bad(errors.New("--raw is the bytes and nothing else: leave out --hex and --json"), "")
			}
			if err := secrets.Check(p); err != nil {
				return err
			}
			if (asHex || asRaw) && keys.Secret(t.column, t.key) && !secrets.Asked {
				return cli.Refused(fmt.Errorf("%s holds a secret: its bytes are not shown", keyText(t.info, t.key)),
					"leave out --hex and --raw to see what is not secret")
			}
			store, err := openStore(&daemon, p)
			if err != nil {
				return err
			}
			defer store.Close()
			value, err := read(store, t)
			if err != nil {
				return err
			}
			printer := inspect.NewPrinter(store, secrets.Asked)
			hidden, err := printer.Hides(t.column, t.key, value)
			switch {
			case err != nil:
				return err
			case hidden && (asHex || asRaw):
				return cli.Refused(fmt.Errorf("%s holds what is writeOnly: its bytes are not shown", keyText(t.info, t.key)),
					"leave out --hex and --raw to see what is not secret")
			case asRaw:
				_, err = p.Stdout.Write(value)
				return err
			case asHex:
				return emitEncoded(p, t.column.String(), t.info.Value.Name, value)
			}
			return emitRow(p, row{t.info, t.key, value}, printer)
		},
	}.command()
}

// read returns the value that is stored under the key of t.
func read(store engine.Getter, t target) ([]byte, error) {
	value, err := store.Get(nil, t.column, t.key)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, notFound(t)
	}
	return value, err
}

func notFound(t target) error {
	return cli.Fail(cli.ExitNotFound, fmt.Errorf("nothing is stored under %s", keyText(t.info, t.key)), "")
}

func emitRow(p *cli.Process, r row, printer *inspect.Printer) error {
	d, err := r.doc(printer)
	if err != nil {
		return err
	}
	var failed error
	err = p.Emit(d, func(w io.Writer) { failed = d.write(w, r.info) })
	return errors.Join(err, failed)
}
