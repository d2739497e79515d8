package stoa_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryDependencyHasItsReason holds the README's table of dependencies to go.mod.
func TestEveryDependencyHasItsReason(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(readme), "\n| Dependency | Why |\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	mod, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	direct := directDependencies(string(mod))
	require.NotEmpty(t, direct)
	for _, name := range direct {
		require.Regexp(t, `\b`+regexp.QuoteMeta(name)+`\b`, table, "the README's table of dependencies does not say why there is %s", name)
	}
	require.Equal(t, []string{"b", "sys", "c", "f"}, directDependencies("require (\n\tgithub.com/a/b/d/v2 v2.0.0\n\tgolang.org/x/sys v1.0.0\n\ta.org/c v1.0.0\n\ta.org/v1/f v1.0.0\n\ta.org/e v1.0.0 // indirect\n)\n"))
}

// directDependencies returns the names of the repositories of what go.mod requires, but
// for what others need.
func directDependencies(mod string) (names []string) {
	for _, found := range regexp.MustCompile(`(?m)^\t(?:github\.com/[^/]+|golang\.org/x|[^/]+)(?:/v\d+)?/([^/\s]+)\S* v\S+$`).FindAllStringSubmatch(mod, -1) {
		names = append(names, found[1])
	}
	return names
}
