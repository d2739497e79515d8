package inspection

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace/naming"
)

// exportFlags are the flags of export.
type exportFlags struct {
	source             sourceFlags
	foreign            cli.MerodFlag
	out                string
	columns            []string
	context, namespace string
	tenant             string
	plain              bool
	secrets            bool
}

func newExport(p *cli.Process) *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export [DIR]",
		Short: "Write the records of a store as lines of JSON",
		Long: `Write the records of a store, of some columns, of a context, of a namespace or of a
tenant of key-values (its records, locks, events, jobs and settings too), as lines of JSON, compressed with zstd unless --plain is given. Secrets are redacted, and ops
of namespaces are sealed as they travel, without what their keys open and what follows from
that, so that a dump may be handed on; ` + "`stoa import`" + ` passes over them. What cannot be read is
listed, the rest is written, and it exits 2. With --reveal-secrets
they are in it, which only a file that --out makes for its owner alone may take, or a
terminal.

` + sourceLong + merodLong,
		Example: "  stoa export /var/lib/stoa --out stoa.jsonl.zst\n  stoa export --column Group --plain | head\n  stoa export --merod ~/.calimero/node1/data --out merod.jsonl.zst",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if d, err := openMerod(&f.foreign, cmd, args, "context", "namespace", "tenant", "reveal-secrets"); d != nil || err != nil {
				if err != nil {
					return err
				}
				return exportMerod(p, cmd, &f, d)
			}
			o, err := f.options(p)
			if err != nil {
				return err
			}
			s, err := f.source.open(p, args)
			if err != nil {
				return err
			}
			defer s.Close()
			if err := f.scope(cmd.Context(), s, &o); err != nil {
				return err
			}
			bar := rows(p, "export", s.Keys())
			o.Progress = bar.add
			var done *inspect.Exported
			err = exportTo(p, f.out, func(w io.Writer) (err error) {
				done, err = inspect.Export(cmd.Context(), s, w, o)
				return err
			})
			bar.finish()
			if err != nil {
				return err
			}
			if err := exported(p, &f, done); err != nil {
				return err
			}
			return cli.DamageFound(len(done.Findings), "part", "could not be read")
		},
	}
	fs := cmd.Flags()
	f.source.register(fs)
	f.foreign.Register(fs)
	fs.StringVar(&f.out, "out", "", "the file to write, which must not exist (default: stdout)")
	fs.StringSliceVar(&f.columns, "column", nil, "only these columns")
	fs.StringVar(&f.context, "context", "", "only the records of this context")
	fs.StringVar(&f.namespace, "namespace", "", "only the records of this namespace and the groups below it")
	fs.StringVar(&f.tenant, "tenant", "", "only the records of this tenant of key-values")
	fs.BoolVar(&f.plain, "plain", false, "do not compress")
	fs.BoolVar(&f.secrets, "reveal-secrets", false, "secrets as they are, to --out or a terminal only")
	return cmd
}

func (f *exportFlags) options(p *cli.Process) (o inspect.ExportOptions, err error) {
	o = inspect.ExportOptions{Plain: f.plain, Reveal: f.secrets}
	if f.secrets && f.out == "" && !cli.IsTerminal(p.Stdout) {
		return o, cli.Refused(errors.New("--reveal-secrets shows secrets on a terminal or in the file of --out only"), "leave it out: secrets show as redacted:…")
	}
	if !f.plain && f.out == "" && cli.IsTerminal(p.Stdout) {
		return o, cli.Bad(errors.New("compressed bytes are not for a terminal"), "name a file with --out, or give --plain")
	}
	for _, name := range f.columns {
		c, err := cli.ParseColumn(name)
		if err != nil {
			return o, err
		}
		o.Columns = append(o.Columns, c)
	}
	if f.context != "" && f.namespace != "" || f.tenant != "" && f.context+f.namespace != "" {
		return o, cli.Bad(errors.New("--context, --namespace and --tenant exclude each other"), "")
	}
	if f.tenant != "" {
		o.Tenant = &f.tenant
	}
	return o, nil
}

// scope puts into o what --context and --namespace are, by what s has.
func (f *exportFlags) scope(ctx context.Context, s *inspect.Source, o *inspect.ExportOptions) error {
	look := func(q naming.Query) (naming.Answer, error) {
		return naming.Find(ctx, s.Lenient(func(inspect.Finding) error { return nil }), q) // damage is told of where it is exported
	}
	for _, id := range []struct {
		flag, text string
		kind       naming.Kind
		set        func([32]byte)
	}{
		{"--context", f.context, naming.Context, func(b [32]byte) { o.Context = (*codec.ContextID)(&b) }},
		{"--namespace", f.namespace, naming.Namespace, func(b [32]byte) { o.Namespace = (*codec.GroupID)(&b) }},
	} {
		if id.text == "" {
			continue
		}
		found, err := cli.Find[[32]byte](look, id.flag, id.text, naming.Query{Kind: id.kind})
		if err != nil {
			return err
		}
		id.set(found)
	}
	return nil
}

// exportTo calls write with the file, which only its owner may read, or stdout. A
// file of an export that failed is removed.
func exportTo(p *cli.Process, path string, write func(io.Writer) error) error {
	if path == "" {
		return write(p.Stdout)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return cli.Bad(fmt.Errorf("--out: %w", err), "")
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// exported says what was written; to stderr where the dump is on stdout.
func exported(p *cli.Process, f *exportFlags, done *inspect.Exported) error {
	if f.out == "" {
		p.Guide(cli.Count(done.Rows, "record") + ", " + withheld(done))
		for _, f := range done.Findings {
			if err := p.Warn(f); err != nil {
				return err
			}
		}
		return nil
	}
	return p.Emit(struct {
		File string `json:"file"`
		*inspect.Exported
	}{f.out, done}, func(w io.Writer) {
		fmt.Fprintf(w, "%s in %s, %s\n", cli.Count(done.Rows, "record"), f.out, withheld(done))
		for _, f := range done.Findings {
			fmt.Fprintln(w, f)
		}
	})
}

// withheld says of how many records the secrets are not in a dump.
func withheld(done *inspect.Exported) string {
	text := fmt.Sprintf("%d with redacted secrets", done.Redacted)
	if done.Governed > 0 {
		text += fmt.Sprintf(", %d left out that follow from sealed ops", done.Governed)
	}
	if done.Withheld > 0 {
		text += fmt.Sprintf(", %d without fields that are writeOnly", done.Withheld)
	}
	if done.Sealed > 0 {
		text += fmt.Sprintf(", %d with sealed ones, whose key was not given", done.Sealed)
	}
	return text
}
