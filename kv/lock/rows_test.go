package lock

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// README.md lists rows with their tests; each is there, and has the row's number in its
// name.
func TestEveryListedRowHasItsTest(t *testing.T) {
	tests := map[string]bool{}
	for _, pattern := range []string{"*_test.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			source, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(source, -1) {
				tests[string(m[1])] = true
			}
		}
	}
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	rows := regexp.MustCompile("(?m)^\\| A(\\d+) \\| [^|]+ \\| `(\\w+)` \\|$").FindAllSubmatch(readme, -1)
	require.NotEmpty(t, rows)
	listed := map[string]bool{}
	for _, m := range rows {
		row, test := string(m[1]), string(m[2])
		require.False(t, listed[row], "A%s is there twice", row)
		listed[row] = true
		require.True(t, tests[test], "A%s: there is no %s", row, test)
		require.Regexp(t, fmt.Sprintf(`A%s(\D|$)`, row), test)
	}
}
