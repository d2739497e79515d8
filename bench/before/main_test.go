package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A patch that does not apply is of code that has changed since.
func TestEveryPatchApplies(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: a minimal system has no git; install it")
	}
	t.Chdir("../..")
	paths, err := filepath.Glob(filepath.Join(folder, "*.patch"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		_, err := readPatch(path)
		require.NoError(t, err)
		out, err := exec.Command("git", "apply", "--check", path).CombinedOutput()
		require.NoError(t, err, "%s: %s", path, out)
	}
}
