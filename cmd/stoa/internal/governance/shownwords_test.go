package governance

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// What void and equivocation mean and ask for stands once below what was shown, for
// people only, and only where one of them was shown.
func TestWordsThatWereShownAreExplainedOnce(t *testing.T) {
	explained := func(json bool, docs ...govAnswerDoc) string {
		var errs strings.Builder
		var shown shownWords
		for i := range docs {
			shown.answer(&docs[i])
		}
		shown.explain(&cli.Process{Stderr: &errs, JSON: json})
		return errs.String()
	}
	void := govAnswerDoc{Verdict: "void: no right"}
	twins := govAnswerDoc{Cascade: []govAnswerDoc{{Twin: []string{"a", "b"}}}}
	changed := govAnswerDoc{Verdict: "effective", Changed: []verdictChangeDoc{{Old: "effective", New: "void: right revoked"}}}
	require.Empty(t, explained(false, govAnswerDoc{Verdict: "effective"}, govAnswerDoc{Verdict: "skipped: no such group"}))
	require.Empty(t, explained(true, void, twins))
	require.Equal(t, 1, strings.Count(explained(false, void, void, changed), "stoa group reissue"))
	require.Contains(t, explained(false, changed), "void: who signed")
	require.NotContains(t, explained(false, void), "equivocation:")
	require.Contains(t, explained(false, twins), "equivocation: one key")
	require.Contains(t, explained(false, void, twins), cli.ConceptsHint)
}
