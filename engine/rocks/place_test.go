//go:build cgo

package rocks

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
)

func TestNoStoreIsMadeWithinAnother(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "db")
	e := open(t, dir, Options{})
	empty, link := filepath.Join(dir, "empty"), filepath.Join(root, "link")
	require.NoError(t, os.Mkdir(empty, 0o750))
	require.NoError(t, os.Symlink(empty, link))
	before, err := os.ReadDir(dir)
	require.NoError(t, err)
	within := func(path string, err error) {
		t.Helper()
		require.ErrorIs(t, err, engine.ErrPlace)
		require.ErrorContains(t, err, path+" is within "+dir+", the directory of a store")
	}
	for _, path := range []string{filepath.Join(dir, "new"), filepath.Join(dir, "a", "deep", "one"), filepath.Join(link, "new")} {
		_, err := Open(path, Options{})
		within(path, err)
		within(path, e.Checkpoint(path))
		require.NoFileExists(t, path)
	}
	for _, path := range []string{empty, link} {
		_, err := Open(path, Options{})
		within(path, err)
	}
	after, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, after, len(before))
	st, err := os.Stat(empty)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o750), st.Mode().Perm())

	// Beside it there is room, and one that lies within another opens.
	require.NoError(t, open(t, dir+"2", Options{}).Close())
	require.NoError(t, os.Rename(dir+"2", filepath.Join(empty, "moved")))
	open(t, filepath.Join(empty, "moved"), Options{})
}

func TestEachFileOfAStoreTellsThatItIsOne(t *testing.T) {
	for _, name := range []string{formatName, watermarkName, markerName, buildingName} {
		dir := t.TempDir()
		require.NoError(t, CheckPlace(filepath.Join(dir, "new")))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
		require.ErrorIs(t, CheckPlace(filepath.Join(dir, "new")), engine.ErrPlace, name)
		require.NoError(t, CheckPlace(dir), "a store is not within itself")
	}
}

func TestNoStoreIsMadeInTheNameOfASocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stoa.sock")
	_, err := Open(path, Options{})
	require.ErrorIs(t, err, engine.ErrPlace)
	require.ErrorContains(t, err, "--socket")
	require.NoFileExists(t, path)
	e := open(t, t.TempDir(), Options{})
	require.ErrorIs(t, e.Checkpoint(path), engine.ErrPlace)
}
