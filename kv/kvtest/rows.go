package kvtest

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark)\w+)\(`)
	testedRow    = regexp.MustCompile("(?m)^\\| ?([A-Z]\\d+)? \\| [^|]+ \\| `(\\w+(?:/\\w+)?)` \\|$")
)

// Rows returns the rows of README.md that name a test in their last of three cells: by
// their first, the test, which must have the row's number in its name, and be one of those
// in the files of some patterns, or TestRows/ and one of a suite. No row may be there twice; those without a number are
// under "".
func Rows(t testing.TB, suite []string, patterns ...string) map[string]string {
	t.Helper()
	tests := map[string]bool{}
	for _, name := range suite {
		tests["TestRows/"+name] = true
	}
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			source, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, m := range testFunction.FindAllSubmatch(source, -1) {
				tests[string(m[1])] = true
			}
		}
	}
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	listed := map[string]string{}
	for _, m := range testedRow.FindAllSubmatch(readme, -1) {
		row, test := string(m[1]), string(m[2])
		require.True(t, tests[test], "%s: there is no %s", row, test)
		if row != "" {
			require.NotContains(t, listed, row, "twice")
			require.Regexp(t, row[:1]+"0*"+row[1:]+`(\D|$)`, test)
		}
		listed[row] = test
	}
	require.NotEmpty(t, listed)
	return listed
}
