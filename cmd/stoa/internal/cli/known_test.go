package cli

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
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
		if called := Callable(name, ExampleID); called != name {
			require.Equal(t, ExampleID[:ShortDigits], called)
		} else {
			require.Equal(t, name+"\n", words(called))
			require.NotEqual(t, byte('-'), name[0], "it would be a flag")
		}
		path := "/" + name
		require.Equal(t, path+"\n", words(Quoted(path)))
	})
	require.Equal(t, "home", Callable("home", ExampleID))
	require.Equal(t, ExampleID[:ShortDigits], Callable("$(halt)", ExampleID))
	require.Equal(t, ExampleID[:ShortDigits], Callable("", ExampleID))
}
