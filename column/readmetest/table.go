// Package readmetest holds tables in README files to what the code says, in tests.
package readmetest

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Table demands that the README.md of the package under test has this table between
//
//	<!-- begin NAME: how to write it anew -->
//	<!-- end NAME -->
//
// and, with update, puts it there.
func Table(t testing.TB, update bool, name, table string) {
	t.Helper()
	src, err := os.ReadFile("README.md")
	require.NoError(t, err)
	head, rest, ok := strings.Cut(string(src), "<!-- begin "+name+": ")
	require.True(t, ok, "no marker of %s", name)
	how, rest, ok := strings.Cut(rest, " -->\n")
	require.True(t, ok, "the marker of %s has no end", name)
	end := "<!-- end " + name + " -->"
	old, tail, ok := strings.Cut(rest, end)
	require.True(t, ok, "no end of %s", name)
	if update {
		written := head + "<!-- begin " + name + ": " + how + " -->\n" + table + end + tail
		require.NoError(t, os.WriteFile("README.md", []byte(written), 0o644))
		return
	}
	require.Equal(t, table, old, "run: %s", how)
}
