package inspection

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/rocks"
)

// A copy that is broken off anywhere has no CURRENT: it would be a database that lacks
// files.
func TestACopyIsADatabaseOnlyWhenItIsWhole(t *testing.T) {
	src := filepath.Join(t.TempDir(), "db")
	e, err := rocks.Open(src, rocks.Options{})
	if errors.Is(err, engine.ErrUnsupported) {
		t.Skip("it needs a directory")
	}
	require.NoError(t, err)
	require.NoError(t, e.Close())
	entries, err := os.ReadDir(src)
	require.NoError(t, err)
	breaks := 0
	for _, e := range entries {
		if e.Name() == "CURRENT" || e.Name() == "LOCK" {
			continue
		}
		dst := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dst, e.Name()), nil, 0o600)) // in the way
		require.ErrorIs(t, copyStore(src, dst), fs.ErrExist)
		require.NoFileExists(t, filepath.Join(dst, "CURRENT"), e.Name())
		breaks++
	}
	require.Greater(t, breaks, 3)
	dst := t.TempDir()
	require.NoError(t, copyStore(src, dst))
	require.FileExists(t, filepath.Join(dst, "CURRENT"))
}
