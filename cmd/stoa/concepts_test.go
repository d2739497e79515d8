package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/cmd/stoa/internal/program"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
)

// TestConceptsAreExplained reads the page as a person would, and demands that every word
// for a verdict stands in it.
func TestConceptsAreExplained(t *testing.T) {
	out, errs, code := stoa("help", "concepts")
	require.Zero(t, code, errs)
	for line := range strings.Lines(out) {
		require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), 100, line)
	}
	for _, c := range program.Concepts() {
		require.Contains(t, out, "\n  "+c.Word+" ", c.Word)
		require.LessOrEqual(t, strings.Count(c.Means, "\n"), 2, c.Word)
	}
	for o := group.Effective; o <= group.Sealed; o++ {
		require.Contains(t, out, "\n  "+o.String(), "the verdict %s", o)
	}
	again, _, code := stoa("concepts")
	require.Zero(t, code)
	require.Equal(t, out, again)
	root, _, _ := stoa("--help")
	require.Contains(t, root, "stoa help concepts")
}

func TestWordsThatPuzzleLeadToConcepts(t *testing.T) {
	for _, err := range []error{namespace.ErrNotEffective, namespace.ErrNotDue} {
		require.Contains(t, cli.Explain(err).Hint, "stoa help concepts", err)
	}
	for _, args := range []string{"group voided", "group ops", "group rotate", "namespace ops", "namespace pending", "namespace equivocations", "verify"} {
		out, _, code := stoa(append(strings.Fields(args), "--help")...)
		require.Zero(t, code)
		require.Contains(t, out, "stoa help concepts", args)
	}
}

func TestConceptsHaveAManualPage(t *testing.T) {
	seen := map[string]string{}
	require.NoError(t, program.ManPages(newRoot(&cli.Process{}), func(name string, page []byte) error {
		seen[name] = string(page)
		return nil
	}))
	require.Contains(t, seen["stoa-concepts.1"], "sealed secret")
}
