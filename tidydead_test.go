package stoa_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhatNobodyReachesIsFound gives .ci/deadcode lists and findings that were made up.
func TestWhatNobodyReachesIsFound(t *testing.T) {
	if _, err := exec.LookPath("awk"); err != nil {
		t.Skip("SKIPPED: a minimal system has no awk")
	}
	dir := t.TempDir()
	tool, list := filepath.Join(dir, "tool"), filepath.Join(dir, "list")
	for name, tc := range map[string]struct{ dead, list, said string }{
		"nothing":               {"", "# a comment\n\n", ""},
		"for a reason":          {"keys/alias.go In\n", "keys In others scan by it\n", ""},
		"a package":             {"kv/kvtest/clock.go Clock.Now\nkv/kvtest/clock.go New\n", "kv/kvtest * a clock for tests\n", ""},
		"without one":           {"keys/alias.go In\n", "", "no program reaches In"},
		"of another package":    {"keys/alias.go In\n", "codec In others read it\n", "no program reaches In"},
		"a package below":       {"kv/kvtest/sub/x.go F\n", "kv/kvtest * a clock for tests\n", "no program reaches F"},
		"no reason":             {"keys/alias.go In\n", "keys In\n", "has no reason"},
		"said twice":            {"keys/alias.go In\n", "keys In one\nkeys In two\n", "is there twice"},
		"reached since":         {"keys/alias.go In\n", "keys In one\nkeys Of two\n", "keys Of is reached, or gone"},
		"a package that is not": {"", "kv/kvtest * a clock for tests\n", "kv/kvtest * is reached, or gone"},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(tool, []byte("#!/bin/sh\nprintf '"+tc.dead+"'\n"), 0o755))
			require.NoError(t, os.WriteFile(list, []byte(tc.list), 0o644))
			out, err := exec.Command("bash", ".ci/deadcode", tool, list).CombinedOutput()
			require.Equal(t, tc.said == "", err == nil, "%s", out)
			require.Contains(t, string(out), tc.said)
		})
	}
	require.Error(t, exec.Command("bash", ".ci/deadcode", "false").Run(), "a tool that fails")
}
