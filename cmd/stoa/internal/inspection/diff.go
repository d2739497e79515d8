package inspection

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

func newDiff(p *cli.Process) *cobra.Command {
	var limit uint64
	var seal cli.SealFlags
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "List the rows that two stores do not have alike",
		Long: `List the rows that two stores do not have alike: - are in A only, + in B only, and ~
in both with another value. A and B are directories, or sockets of daemons; nothing
is changed. Secrets are compared, and show as redacted:… . It exits 5 if there is a
difference. What cannot be read is listed, the rest is compared, and it exits 2.

A store has rows of its node alone besides those that all nodes share: a daemon that
stops writes the rows of dag-trie that it has put off, and then a copy that was made
before differs in them, and in dag-tail. stoa hash tells the two kinds apart.`,
		Example: "  stoa diff /var/lib/stoa /backup/stoa-today\n  stoa diff /run/stoa/stoa.sock /backup/stoa-today --json",
		Args:    cli.Exactly("A", "B"),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := p.OpenSource(args[0], &seal)
			if err != nil {
				return err
			}
			defer a.Close()
			b, err := p.OpenSource(args[1], &seal)
			if err != nil {
				return err
			}
			defer b.Close()
			return diff(p, cmd, a, b, limit)
		},
	}
	seal.Register(cmd.Flags())
	cmd.Flags().Uint64Var(&limit, "limit", 0, "the most rows to list; 0: all")
	return cmd
}

func diff(p *cli.Process, cmd *cobra.Command, a, b *inspect.Source, limit uint64) error {
	w := bufio.NewWriter(p.Stdout)
	bar := rows(p, "diff", a.Keys()+b.Keys())
	shown := uint64(0)
	c, err := inspect.Diff(cmd.Context(), a, b, func(d inspect.Difference) error {
		if shown++; limit > 0 && shown > limit {
			return nil
		}
		if p.JSON {
			return cli.WriteJSON(w, d)
		}
		return writeDifference(w, d)
	}, bar.add)
	bar.finish()
	if err := errors.Join(err, w.Flush()); err != nil {
		return err
	}
	if err := p.Emit(struct {
		Summary *inspect.Comparison `json:"summary"`
	}{c}, func(w io.Writer) { writeComparison(w, c) }); err != nil {
		return err
	}
	if err := cli.DamageFound(len(c.Findings), "part", "could not be read"); err != nil {
		return err
	}
	if !c.Equal {
		return cli.Refused(errors.New("the stores differ"), "")
	}
	return nil
}

func writeDifference(w io.Writer, d inspect.Difference) error {
	line, err := recordLine(d.Record)
	if err != nil {
		return err
	}
	if d.A == nil {
		fmt.Fprintln(w, map[string]string{"a": "-", "b": "+"}[d.In], line)
		return nil
	}
	was, err := recordLine(*d.A)
	fmt.Fprintf(w, "~ %s\n  %s\n", was, line)
	return err
}

func writeComparison(w io.Writer, c *inspect.Comparison) {
	if c.Equal {
		fmt.Fprintln(w, "equal")
		return
	}
	for _, f := range c.Findings {
		fmt.Fprintln(w, f)
	}
	for _, d := range c.Columns {
		fmt.Fprintf(w, "%s: %d only in A, %d only in B, %d with other values\n", d.Column, d.OnlyA, d.OnlyB, d.Changed)
	}
}
