package inspection

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

func newInspect(p *cli.Process) *cobra.Command {
	var source sourceFlags
	var foreign cli.MerodFlag
	var contexts int
	cmd := &cobra.Command{
		Use:   "inspect [DIR]",
		Short: "Say what is in a store: rows and bytes by column, prefix, scope and context",
		Long: `Read every row of a store, and say how many there are and how large: by column, by
prefix of Group, by scope of Generic, and by context. Rows that the schema does not
know are listed as unaccounted. It exits 2 if something could not be read.

` + sourceLong + merodLong,
		Example: "  stoa inspect /var/lib/stoa\n  stoa inspect --socket /run/stoa/stoa.sock --contexts 0 --json\n  stoa inspect --merod ~/.calimero/node1/data",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if contexts < 0 {
				return cli.Bad(fmt.Errorf("--contexts: %d is less than 0", contexts), "")
			}
			if d, err := openMerod(&foreign, cmd, args, "contexts"); d != nil || err != nil {
				if err != nil {
					return err
				}
				return inspectMerod(p, cmd, d)
			}
			s, err := source.open(p, args)
			if err != nil {
				return err
			}
			defer s.Close()
			bar := rows(p, "inspect", s.Keys())
			v, err := inspect.Survey(cmd.Context(), s, inspect.SurveyOptions{Contexts: contexts, Progress: bar.add})
			bar.finish()
			if err != nil {
				return err
			}
			if err := p.Emit(v, func(w io.Writer) { writeOverview(w, v) }); err != nil {
				return err
			}
			return cli.DamageFound(len(v.Findings), "part", "could not be read")
		},
	}
	source.register(cmd.Flags())
	foreign.Register(cmd.Flags())
	cmd.Flags().IntVar(&contexts, "contexts", 10, "how many contexts to list, the largest first")
	return cmd
}

func writeOverview(w io.Writer, v *inspect.Overview) {
	cli.WriteFacts(w, v.Store)
	fmt.Fprintln(w)
	t := cli.Table{Right: []bool{false, true, true, true, true}}
	t.Add("column", "rows", "bytes", "smallest", "largest")
	for _, c := range v.Columns {
		t.Add(tallied(c.Column, c.Tally)...)
		for _, part := range c.Parts {
			name := part.Name
			if c.Column == "Group" {
				name = part.Prefix + " " + name
			}
			if part.Space != "" {
				name = part.Space
			}
			t.Add(tallied("  "+cli.Plain(name), part.Tally)...)
		}
		if c.Unaccounted != nil {
			t.Add(tallied("  unaccounted", c.Unaccounted.Tally)...)
		}
	}
	t.Write(w, "")
	for _, c := range v.Columns {
		if c.Unaccounted == nil {
			continue
		}
		for _, e := range c.Unaccounted.Examples {
			fmt.Fprintf(w, "unaccounted in %s: %s: %s\n", c.Column, e.Key, e.Reason)
		}
	}
	writeContexts(w, v)
	for _, f := range v.Findings {
		fmt.Fprintln(w, f)
	}
}

func writeContexts(w io.Writer, v *inspect.Overview) {
	fmt.Fprintf(w, "\n%s", cli.Count(v.ContextCount, "context"))
	if n := len(v.Contexts); uint64(n) < v.ContextCount && n > 0 {
		fmt.Fprintf(w, ", the largest %d", n)
	}
	fmt.Fprintln(w)
	t := cli.Table{Right: []bool{false, true, true, true, true}}
	if len(v.Contexts) > 0 {
		t.Add("context", "rows", "bytes", "smallest", "largest")
	}
	for _, c := range v.Contexts {
		t.Add(tallied(c.Context, c.Tally)...)
		for _, part := range c.Columns {
			t.Add(tallied("  "+part.Name, part.Tally)...)
		}
	}
	t.Write(w, "")
}

func tallied(name string, t inspect.Tally) []string {
	if t.Rows == 0 {
		return []string{name, "0", "", "", ""}
	}
	return []string{name, fmt.Sprint(t.Rows), cli.SizeText(t.Bytes), cli.SizeText(t.Smallest), cli.SizeText(t.Largest)}
}
