package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/inspect"
)

func newInspect(p *process) *cobra.Command {
	var source sourceFlags
	var contexts int
	cmd := &cobra.Command{
		Use:   "inspect [DIR]",
		Short: "Say what is in a store: rows and bytes by column, prefix, scope and context",
		Long: `Read every row of a store, and say how many there are and how large: by column, by
prefix of Group, by scope of Generic, and by context. Rows that the schema does not
know are listed as unaccounted. It exits 2 if something could not be read.

` + sourceLong,
		Example: "  stoa inspect /var/lib/stoa\n  stoa inspect --socket /run/stoa/stoa.sock --contexts 0 --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if contexts < 0 {
				return bad(fmt.Errorf("--contexts: %d is less than 0", contexts), "")
			}
			s, err := source.open(p, args)
			if err != nil {
				return err
			}
			defer s.Close()
			bar := p.rows("inspect", s.Keys())
			v, err := inspect.Survey(cmd.Context(), s, inspect.SurveyOptions{Contexts: contexts, Progress: bar.add})
			bar.finish()
			if err != nil {
				return err
			}
			if err := p.emit(v, func(w io.Writer) { writeOverview(w, v) }); err != nil {
				return err
			}
			return found(len(v.Findings), "part", "could not be read")
		},
	}
	source.register(cmd.Flags())
	cmd.Flags().IntVar(&contexts, "contexts", 10, "how many contexts to list, the largest first")
	return cmd
}

// found returns the failure of a command that has found damage; nil if n is 0.
func found(n int, noun, what string) error {
	if n == 0 {
		return nil
	}
	return &failure{exitDamage, fmt.Errorf("%s %s", count(n, noun), what), "`stoa verify` says more; " + mendHint}
}

func writeFacts(w io.Writer, f inspect.Facts) {
	var t table
	t.add("store", f.Where+" ("+f.How+")")
	t.add("schema", fmt.Sprint(f.Schema))
	if f.NodeID != "" {
		t.add("node id", f.NodeID)
	}
	t.add("sequence", fmt.Sprint(f.Sequence))
	closed := "clean"
	if !f.Clean {
		closed = "unclean, or in use"
	}
	t.add("last close", closed)
	switch {
	case f.Opened:
		t.add("secrets", "sealed, and opened with their key")
	case f.Sealed:
		t.add("secrets", "sealed, and their key was not given")
	}
	if f.Unfinished != "" {
		t.add("not whole", "it is what "+f.Unfinished+" has left")
	}
	if f.Lost > 0 {
		t.add("lost", count(f.Lost, "change")+" that had been on disk")
	}
	if f.Cut != "" {
		t.add("lost", f.Cut)
	}
	for _, found := range slices.Concat(f.Unlisted, f.Logs) {
		t.add("lost", found)
	}
	for _, left := range f.Left {
		t.add("left", left)
	}
	for _, kept := range f.Kept {
		t.add("kept", kept+", which a start after a power loss has left")
	}
	for _, u := range f.Unknown {
		t.add("unknown", u)
	}
	for _, note := range f.Notes {
		t.add("recovery", note)
	}
	for _, problem := range f.Problems {
		t.add("problem", problem)
	}
	t.write(w, "")
}

func writeOverview(w io.Writer, v *inspect.Overview) {
	writeFacts(w, v.Store)
	fmt.Fprintln(w)
	t := table{right: []bool{false, true, true, true, true}}
	t.add("column", "rows", "bytes", "smallest", "largest")
	for _, c := range v.Columns {
		t.add(tallied(c.Column, c.Tally)...)
		for _, part := range c.Parts {
			name := part.Name
			if c.Column == "Group" {
				name = part.Prefix + " " + name
			}
			t.add(tallied("  "+plain(name), part.Tally)...)
		}
		if c.Unaccounted != nil {
			t.add(tallied("  unaccounted", c.Unaccounted.Tally)...)
		}
	}
	t.write(w, "")
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
	fmt.Fprintf(w, "\n%s", count(v.ContextCount, "context"))
	if n := len(v.Contexts); uint64(n) < v.ContextCount && n > 0 {
		fmt.Fprintf(w, ", the largest %d", n)
	}
	fmt.Fprintln(w)
	t := table{right: []bool{false, true, true, true, true}}
	if len(v.Contexts) > 0 {
		t.add("context", "rows", "bytes", "smallest", "largest")
	}
	for _, c := range v.Contexts {
		t.add(tallied(c.Context, c.Tally)...)
		for _, part := range c.Columns {
			t.add(tallied("  "+part.Name, part.Tally)...)
		}
	}
	t.write(w, "")
}

func tallied(name string, t inspect.Tally) []string {
	if t.Rows == 0 {
		return []string{name, "0", "", "", ""}
	}
	return []string{name, fmt.Sprint(t.Rows), sizeText(t.Bytes), sizeText(t.Smallest), sizeText(t.Largest)}
}
