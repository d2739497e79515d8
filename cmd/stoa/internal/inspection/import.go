package inspection

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/engine/rocks"
)

func newImport(p *cli.Process) *cobra.Command {
	var source sourceFlags
	var o inspect.ImportOptions
	var skip bool
	var merod carryFlags
	var sure cli.Confirmation
	cmd := &cobra.Command{
		Use:   "import FILE [DIR]",
		Short: "Write the records of a dump to a store",
		Long: `Write the records of a dump that ` + "`stoa export`" + ` made, or - for stdin, to a directory that
no daemon has open, and that is made if it is not there; or through a daemon with
--socket. Each record is checked. Records that are there already are a conflict,
unless --replace is given, which asks first. Redacted secrets are passed over and
counted; without the keys of its groups a namespace has its ops, and what follows from
those that are clear, until the keys come. One that is there already is left as it is by
a dump without secrets. A record that did not parse in the store is refused, and so is an
op without those before it; --skip-damaged lists it on stderr, imports the others, and
exits 2. A ledger whose events are no chain up to its head is refused too;
--skip-damaged lists what is wrong with it, and imports it as it is. A failure leaves the records before it; a new directory says in itself that it
is not whole until the import has ended, and is not served before.
What agents kept in Redis comes by ` + "`stoa task import`" + `.

--from-merod DIR takes over what a merod has to a new store: blobs, hashed anew; applications;
contexts, each with its state as the base that it begins with, its revisions, the node's own
state and its keys; aliases. What a store can't hold goes to a file, row by row and without
secrets: governance, which is signed over other bytes, deltas, and what is not explained. DIR
is not changed.`,
		Example: "  stoa import stoa.jsonl.zst ./copy\n  stoa import - --socket /run/stoa/stoa.sock < stoa.jsonl.zst\n  stoa import --from-merod ~/.calimero/node1 ./copy",
		Args: func(cmd *cobra.Command, args []string) error {
			if merod.from != "" {
				return nil // run says what it wants
			}
			return cobra.RangeArgs(1, 2)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if merod.from != "" {
				return merod.run(p, cmd, &source, args)
			}
			for _, name := range carryNames {
				if cmd.Flags().Changed(name) {
					return cli.Bad(errors.New("--"+name+" wants --from-merod"), "")
				}
			}
			if o.Replace {
				err := sure.Confirm(cmd.Context(), p, func() (string, error) {
					return "replace the records that are there already by those of " + args[0], nil
				})
				if err != nil {
					return err
				}
			}
			from := p.Stdin
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return cli.Bad(fmt.Errorf("FILE: %w", err), "")
				}
				defer f.Close()
				from = f
			}
			to, fresh, err := openTarget(p, &source, args[1:])
			if err != nil {
				return err
			}
			if fresh {
				if err := startBuilding(p, directory(p, args[1:]), "import "+args[0]); err != nil {
					return errors.Join(err, to.Close())
				}
			}
			o.Replace = o.Replace || fresh // there is nothing that could be looked for
			if skip {
				o.Damaged = p.Warn
			}
			bar := rows(p, "import", 0)
			o.Progress = bar.add
			done, err := inspect.Import(cmd.Context(), from, to, o)
			bar.finish()
			err = errors.Join(err, to.Close())
			if errors.Is(err, inspect.ErrLedger) {
				err = cli.Fail(cli.ExitDamage, err, "--skip-damaged imports it as it is; "+ledgerHint)
			}
			if fresh {
				err = endBuilding(directory(p, args[1:]), err)
			}
			if err != nil {
				return err
			}
			if err := p.Emit(done, func(w io.Writer) { imported(w, done) }); err != nil {
				return err
			}
			if done.Ledgers > 0 {
				return cli.Fail(cli.ExitDamage, fmt.Errorf("%s of ledgers", cli.Count(done.Ledgers, "finding")), "it is imported as the dump has it; "+ledgerHint)
			}
			if done.Damaged > 0 {
				return cli.Fail(cli.ExitDamage, fmt.Errorf("%s damaged in the store, and not imported", cli.Count(done.Damaged, "record")), "")
			}
			return nil
		},
	}
	source.register(cmd.Flags())
	sure.Register(cmd.Flags())
	merod.register(cmd.Flags())
	cmd.Flags().BoolVar(&skip, "skip-damaged", false, "pass over records that did not parse in the store")
	cmd.Flags().BoolVar(&o.Replace, "replace", false, "overwrite records that are there")
	return cmd
}

// imported says what was written, and what is to be done about what was not.
func imported(w io.Writer, done *inspect.Imported) {
	fmt.Fprintf(w, "%s written, %d with secrets passed over\n", cli.Count(done.Rows, "record"), done.Skipped)
	if done.Gaps > 0 {
		fmt.Fprintf(w, "note: %s of the store could not be read when the dump was made\n", cli.Count(done.Gaps, "part"))
	}
	if done.Kept > 0 {
		fmt.Fprintf(w, "note: %s of namespaces that are here already left as they are: `stoa sync` brings what is new\n", cli.Count(done.Kept, "record"))
	}
	for _, left := range done.Withheld {
		fmt.Fprintf(w, "next: %s of %s came without %s: set them again (`stoa record update %s ID PATCH`)\n",
			cli.Count(left.Records, "record"), left.Collection, strings.Join(left.Fields, ", "), left.Collection)
	}
	if n := len(done.Locked); n > 0 {
		ids := cli.Texts(done.Locked[:min(n, 3)])
		if n > len(ids) {
			ids = append(ids, "…")
		}
		fmt.Fprintf(w, "next: %s came without keys (%s): serve the store and join again (`stoa namespace join`), or bring the identity, unless another node signs with it (`stoa namespace identity ID --import FILE`)\n",
			cli.Count(n, "namespace"), strings.Join(ids, ", "))
	}
}

// sink is a store to write to.
type sink interface {
	inspect.Target
	Close() error
}

// openTarget opens what the flags and the arguments name, and says whether it was
// made just now.
func openTarget(p *cli.Process, f *sourceFlags, args []string) (to sink, fresh bool, err error) {
	if f.socket == "" {
		key, err := f.seal.Key(p.Credentials())
		if err != nil {
			return nil, false, err
		}
		e, err := cli.OpenOffline(directory(p, args), rocks.Options{})
		if err != nil {
			return nil, false, err
		}
		to, _, err = cli.Unseal(e, key, slog.New(slog.DiscardHandler))
		if err != nil {
			return nil, false, errors.Join(err, e.Close())
		}
		return to, e.Recovery().Created, nil
	}
	if len(args) > 0 {
		return nil, false, cli.Bad(errors.New("--socket and DIR exclude each other"), "")
	}
	c, err := p.DialDaemon(f.socket, "")
	if err != nil {
		return nil, false, err
	}
	return cli.Remote{Store: c.Store(p.Ctx), Closer: c}, false, nil
}
