package inspection

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/cmd/inspect/merod"
	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

const merodLong = `

--merod DIR reads the database of a merod instead (data in its home), which is not
changed, and which nobody may have open: every row is explained as a merod of May or of
August 2026 has written it, and those that are not are said. Secrets are redacted.`

// openMerod opens the database that --merod names; nil: it was not given. It goes with no
// directory, and with none of the flags others.
func openMerod(f *cli.MerodFlag, cmd *cobra.Command, args []string, others ...string) (*merod.Database, error) {
	given, err := f.Given(cmd.Flags(), append(others, "socket", "seal-key-file", "seal-passphrase-file")...)
	if !given || err != nil {
		return nil, err
	}
	if len(args) > 0 {
		return nil, cli.Bad(errors.New("--merod and DIR exclude each other"), "")
	}
	return f.Open()
}

func inspectMerod(p *cli.Process, cmd *cobra.Command, d *merod.Database) error {
	bar := rows(p, "inspect", 0)
	v, err := merod.Survey(cmd.Context(), d, bar.add)
	bar.finish()
	if err != nil {
		return err
	}
	if err := p.Emit(v, func(w io.Writer) { writeMerod(w, v) }); err != nil {
		return err
	}
	return unexplained(v.Rows - v.Explained)
}

// unexplained is how a command ends that has met rows which it could not explain.
func unexplained(rows uint64) error {
	if rows == 0 {
		return nil
	}
	return cli.Fail(cli.ExitDamage, fmt.Errorf("%s could not be explained", cli.Count(rows, "row")), "`stoa verify --merod DIR` lists them, and why")
}

func writeMerod(w io.Writer, v *merod.Overview) {
	fmt.Fprintf(w, "a database of merod in %s", v.Where)
	if v.Newest != "" {
		fmt.Fprintf(w, ", which one of %s or later has opened", v.Newest)
	}
	fmt.Fprintf(w, "\n%s, %d of them explained\n\n", cli.Count(v.Rows, "row"), v.Explained)
	t := cli.Table{Right: []bool{false, false, true, true, true, true}}
	t.Add("column", "layouts", "rows", "bytes", "smallest", "largest")
	for _, c := range v.Columns {
		name := cli.Plain(c.Column)
		if !c.Known {
			name += " (not known)"
		}
		t.Add(slices.Insert(tallied(name, c.Tally), 1, "")...)
		for _, k := range c.Kinds {
			if k.Layout == "" {
				t.Add(slices.Insert(tallied("  not explained", k.Tally), 1, "")...)
				continue
			}
			t.Add(slices.Insert(tallied("  "+k.Type, k.Tally), 1, k.Layout)...)
		}
	}
	t.Write(w, "")
	for _, r := range v.Unexplained {
		line, _ := cli.MerodLine(r) // of a row that is not explained it does not fail
		fmt.Fprintln(w, line)
	}
}

func verifyMerod(p *cli.Process, cmd *cobra.Command, d *merod.Database) error {
	w := bufio.NewWriter(p.Stdout)
	v, err := merod.Verify(cmd.Context(), d, nil, func(f inspect.Finding) error {
		if p.JSON {
			return cli.WriteJSON(w, verdictLine{Finding: &f})
		}
		_, err := fmt.Fprintln(w, f)
		return err
	})
	if err == nil {
		if p.JSON {
			err = cli.WriteJSON(w, map[string]*merod.Verdict{"summary": v})
		} else {
			writeVerdict(w, &inspect.Verdict{Rows: v.Rows, Findings: v.Findings, Codes: v.Codes, Notes: v.Notes})
		}
	}
	if err := errors.Join(err, w.Flush()); err != nil {
		return err
	}
	if v.Findings == 0 {
		return nil
	}
	return cli.Fail(cli.ExitDamage, errors.New(cli.Count(v.Findings, "finding")), "`stoa verify --codes` explains the codes")
}

func exportMerod(p *cli.Process, cmd *cobra.Command, f *exportFlags, d *merod.Database) error {
	for _, c := range f.columns {
		if !slices.Contains(d.Families(), c) {
			return cli.Bad(fmt.Errorf("--column: %s has no column family %q%s", d.Where, c, cli.DidYouMean(c, d.Families())), "")
		}
	}
	bar := rows(p, "export", 0)
	var done *merod.Exported
	err := exportTo(p, f.out, func(w io.Writer) (err error) {
		done, err = merod.Export(cmd.Context(), d, w, merod.ExportOptions{Families: f.columns, Plain: f.plain, Progress: bar.add})
		return err
	})
	bar.finish()
	if err != nil {
		return err
	}
	if f.out == "" {
		p.Guide(cli.Count(done.Rows, "row"))
	} else if err := p.Emit(struct {
		File string `json:"file"`
		*merod.Exported
	}{f.out, done}, func(w io.Writer) { fmt.Fprintf(w, "%s in %s\n", cli.Count(done.Rows, "row"), f.out) }); err != nil {
		return err
	}
	return unexplained(done.Unexplained)
}
