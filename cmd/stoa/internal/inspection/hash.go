package inspection

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

func newHash(p *cli.Process) *cobra.Command {
	var source sourceFlags
	cmd := &cobra.Command{
		Use:   "hash [DIR]",
		Short: "Digests of a store, column by column, to compare nodes by",
		Long: `Print digests of what a store holds. Those of columns are over the rows that all
nodes with equal state have alike; apart are those of secrets and of what concerns
this node alone: private state, deltas that wait, key-value spaces. Of a column that
cannot be read to its end there are none, and it exits 2.

` + sourceLong,
		Example: "  stoa hash /var/lib/stoa\n  stoa hash --socket /run/stoa/stoa.sock --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := source.open(p, args)
			if err != nil {
				return err
			}
			defer s.Close()
			bar := rows(p, "hash", s.Keys())
			d, err := inspect.Hash(cmd.Context(), s, bar.add)
			bar.finish()
			if err != nil {
				return err
			}
			if err := p.Emit(d, func(w io.Writer) { writeDigests(w, d) }); err != nil {
				return err
			}
			return cli.DamageFound(len(d.Findings), "part", "could not be read")
		},
	}
	source.register(cmd.Flags())
	return cmd
}

func writeDigests(w io.Writer, d *inspect.Digests) {
	t := cli.Table{Right: []bool{false, true}}
	t.Add("column", "rows", "digest of what all nodes share")
	for _, c := range d.Columns {
		if c.Unreadable {
			t.Add(c.Column, "", "not all of it can be read")
			continue
		}
		t.Add(c.Column, fmt.Sprint(c.Rows), c.Digest)
	}
	if len(d.Findings) == 0 {
		t.Add("all", "", d.State)
	}
	t.Write(w, "")
	defer func() {
		for _, f := range d.Findings {
			fmt.Fprintln(w, f)
		}
	}()
	if len(d.Apart) == 0 {
		return
	}
	fmt.Fprintln(w)
	t = cli.Table{Right: []bool{false, true}}
	t.Add("of this node", "rows", "digest")
	for _, a := range d.Apart {
		t.Add(fmt.Sprintf("%s %s (%s)", a.Column, cli.Plain(a.Part), a.Class), fmt.Sprint(a.Rows), a.Digest)
	}
	t.Write(w, "")
}
