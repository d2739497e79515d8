//go:build cgo

package rocks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
)

func TestAStoreThatIsBeingBuiltSaysByWhat(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, open(t, dir, Options{}).Close())
	require.NoError(t, CheckWhole(dir))
	require.NoError(t, BeginBuilding(dir, "an import of \x1b[31mx.json"))

	require.ErrorIs(t, CheckWhole(dir), ErrUnfinished)
	require.ErrorContains(t, CheckWhole(dir), dir+" is what an import of [31mx.json has left")
	_, err := Open(dir, Options{})
	require.ErrorIs(t, err, ErrUnfinished)
	require.NoError(t, open(t, dir, Options{ReadOnly: true}).Close())
	require.NoError(t, open(t, dir, Options{Building: true}).Close())

	require.NoError(t, EndBuilding(dir))
	require.NoError(t, CheckWhole(dir))
	require.NoError(t, open(t, dir, Options{}).Close())
}

// A copy that was broken off before its end lacks what makes it a database: that it is
// a part says more than what is missing.
func TestAPartOfACopyIsUnfinishedToReadersToo(t *testing.T) {
	for name, files := range map[string][]string{"nothing yet": nil, "a table": {"000012.sst"}, "a manifest and marks": {"MANIFEST-000004", formatName, watermarkName},
		"a part of CURRENT": {"MANIFEST-000004", "CURRENT"}} {
		dir := t.TempDir()
		require.NoError(t, BeginBuilding(dir, "a restore"))
		for _, file := range files {
			require.NoError(t, os.WriteFile(filepath.Join(dir, file), nil, 0o600))
		}
		for _, o := range []Options{{}, {ReadOnly: true}} {
			_, err := Open(dir, o)
			require.ErrorIs(t, err, ErrUnfinished, name)
			require.NotErrorIs(t, err, engine.ErrCorrupt, name)
			require.ErrorContains(t, err, dir+" is what a restore has left")
		}
	}
}

func TestAStoreIsUnfinishedWhateverItsNoteIs(t *testing.T) {
	const unknown = "something that was broken off"
	for _, c := range []struct {
		note func(path string) error
		says string
	}{
		{func(path string) error { return os.WriteFile(path, nil, 0o600) }, unknown},
		{func(path string) error { return os.WriteFile(path, []byte(" \n\x00"), 0o600) }, unknown},
		{func(path string) error { return os.Mkdir(path, 0o700) }, unknown},
		{func(path string) error { return os.Symlink("nowhere", path) }, unknown},
		{func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("x", 1<<20)), 0o600) }, strings.Repeat("x", maxBuilding) + " has left"},
	} {
		dir := t.TempDir()
		require.NoError(t, c.note(filepath.Join(dir, buildingName)))
		require.ErrorIs(t, CheckWhole(dir), ErrUnfinished)
		require.ErrorContains(t, CheckWhole(dir), c.says)
	}
}
