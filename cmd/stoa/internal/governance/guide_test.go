package governance

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
)

// TestAGuidingLineIsSafeToPaste has a shell read what stands in a guiding line for a name
// that somebody else has chosen, and for a path: either is one word that means itself.
func TestAGuidingLineIsSafeToPaste(t *testing.T) {
	words := func(text string) string {
		out, err := exec.Command("sh", "-c", `printf '%s\n' `+text).CombinedOutput()
		require.NoError(t, err, "%s: %s", text, out)
		return string(out)
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringOf(rapid.SampledFrom([]rune("ab1 .-_/$`'\"\\(;&|*?~#!\n{<é"))).Draw(t, "name")
		if called := cli.Callable(name, cli.ExampleID); called != name {
			require.Equal(t, cli.ExampleID[:cli.ShortDigits], called)
		} else {
			require.Equal(t, name+"\n", words(called))
			require.NotEqual(t, byte('-'), name[0], "it would be a flag")
		}
		path := "/" + name
		require.Equal(t, path+"\n", words(cli.Quoted(path)))
	})
	require.Equal(t, "home", cli.Callable("home", cli.ExampleID))
	require.Equal(t, cli.ExampleID[:cli.ShortDigits], cli.Callable("$(halt)", cli.ExampleID))
	require.Equal(t, cli.ExampleID[:cli.ShortDigits], cli.Callable("", cli.ExampleID))
}

// Who makes a new key is told of the ops that it leaves behind.
func TestOpsThatANewKeyLeavesBehindAreCounted(t *testing.T) {
	said := func(changes ...group.Verdict) string {
		var errs strings.Builder
		var done namespace.Proposed
		for _, v := range changes {
			done.Answer.Changed = append(done.Answer.Changed, group.VerdictChange{New: v})
		}
		guideAbandoned(&cli.Process{Stderr: &errs}, done)
		return errs.String()
	}
	gone := group.Verdict{Outcome: group.Void, Reason: group.Abandoned}
	require.Empty(t, said())
	require.Empty(t, said(group.Verdict{Outcome: group.Void, Reason: group.Revoked}))
	require.Contains(t, said(gone, group.Verdict{Outcome: group.Effective}), "1 op under keys that are not here")
	require.Contains(t, said(gone, gone), "2 ops under keys that are not here")
}
