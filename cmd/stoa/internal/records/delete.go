package records

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

func newDelete(p *cli.Process) *cobra.Command {
	var daemon cli.DaemonFlags
	var expect cli.Optional
	var level cli.Durability
	var guards cli.RowGuards
	var sure cli.Confirmation
	return keyed{
		name:  "delete",
		short: "Delete one record",
		long: `Delete the record that is stored under a key. It is an error, and exits 4, if there is none.
It asks before it deletes a secret, such as a private key.`,
		example: `  stoa delete ContextPrivateState --context-id room --app-key 00ff
  stoa delete ApplicationMeta --application-id 2bf07165f318
  stoa delete --column Generic --key 73746f612e746573740000000000000000ff`,
		instance: nil, owned: true, open: lookup(p, daemon.Dial),
		flags: func(fs *pflag.FlagSet) {
			daemon.Register(fs)
			fs.Var(&expect, "expect", "delete only if this JSON is what is stored now")
			level.Register(fs)
			guards.Register(fs)
			sure.Register(fs)
		},
		run: func(t target, _ []string) error {
			b := &engine.Batch{Durability: engine.Durability(level)}
			if err := guard(&expect, p, b, t); err != nil {
				return err
			}
			b.Delete(t.column, t.key)
			store, err := daemon.Dial(p)
			if err != nil {
				return err
			}
			defer store.Close()
			old, err := store.Store(p.Ctx).Get(nil, t.column, t.key)
			if errors.Is(err, engine.ErrNotFound) {
				return notFound(t)
			}
			if err != nil && !keys.Secret(t.column, t.key) { // who may delete a secret need not be let read it
				return err
			}
			if err == nil && !expect.Given { // what is said to be deleted is what was there
				b.Expect(t.column, t.key, old)
			}
			if err := confirmSecret(&sure, p, "delete", t); err != nil {
				return err
			}
			if err := guards.Store(p, store.Store(p.Ctx)).Apply(b); err != nil {
				return err
			}
			return emitChange(p, t, change{Deleted: true, Bytes: len(old), Durability: b.Durability.String()})
		},
	}.command()
}
