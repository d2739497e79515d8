package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/inspect"
)

func newDiff(p *process) *cobra.Command {
	var limit uint64
	var seal sealFlags
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "List the rows that two stores do not have alike",
		Long: `List the rows that two stores do not have alike: - are in A only, + in B only, and ~
in both with another value. A and B are directories, or sockets of daemons; nothing
is changed. Secrets are compared, and show as redacted:… . It exits 5 if there is a
difference. What cannot be read is listed, the rest is compared, and it exits 2.`,
		Example: "  stoa diff /var/lib/stoa /backup/stoa-today\n  stoa diff /run/stoa/stoa.sock /backup/stoa-today --json",
		Args:    exactly("A", "B"),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := p.openSource(args[0], &seal)
			if err != nil {
				return err
			}
			defer a.Close()
			b, err := p.openSource(args[1], &seal)
			if err != nil {
				return err
			}
			defer b.Close()
			return p.diff(cmd, a, b, limit)
		},
	}
	seal.register(cmd.Flags())
	cmd.Flags().Uint64Var(&limit, "limit", 0, "the most rows to list; 0: all")
	return cmd
}

func (p *process) diff(cmd *cobra.Command, a, b *inspect.Source, limit uint64) error {
	w := bufio.NewWriter(p.stdout)
	bar := p.rows("diff", a.Keys()+b.Keys())
	shown := uint64(0)
	c, err := inspect.Diff(cmd.Context(), a, b, func(d inspect.Difference) error {
		if shown++; limit > 0 && shown > limit {
			return nil
		}
		if p.json {
			return writeJSON(w, d)
		}
		return writeDifference(w, d)
	}, bar.add)
	bar.finish()
	if err := errors.Join(err, w.Flush()); err != nil {
		return err
	}
	if err := p.emit(struct {
		Summary *inspect.Comparison `json:"summary"`
	}{c}, func(w io.Writer) { writeComparison(w, c) }); err != nil {
		return err
	}
	if err := found(len(c.Findings), "part", "could not be read"); err != nil {
		return err
	}
	if !c.Equal {
		return refused(errors.New("the stores differ"), "")
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
