//go:build cgo

package rocks

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// manifestOf returns what CURRENT of a directory says.
func manifestOf(t *testing.T, dir string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "CURRENT"))
	require.NoError(t, err)
	return strings.TrimSpace(string(b))
}

// unnamed returns a copy of the directory of a store of which a power cut has kept that
// CURRENT names a new manifest, but not the name of that. then is what another opening
// made of the directory.
func unnamed(t *testing.T, dir string) (hurt, then string) {
	t.Helper()
	hurt = copyDir(t, dir)
	e := open(t, copyDir(t, dir), Options{})
	then = crash(t, e)
	require.NoError(t, e.Close())
	require.Greater(t, manifestOf(t, then), manifestOf(t, dir))
	require.NoError(t, os.WriteFile(filepath.Join(hurt, "CURRENT"), []byte(manifestOf(t, then)+"\n"), 0o600))
	return hurt, then
}

func TestTheManifestBeforeOneWithoutANameIsTaken(t *testing.T) {
	t.Parallel()
	dir, _ := crashed(t)
	hurt, _ := unnamed(t, dir)
	require.NoError(t, os.WriteFile(filepath.Join(hurt, "MANIFEST-999999"), []byte("a later one"), 0o600))
	was, before := manifestOf(t, hurt), files(t, hurt)

	ro := open(t, hurt, Options{ReadOnly: true})
	requireRows(t, ro, damagedRows)
	require.Len(t, ro.Recovery().Problems, 1)
	require.Contains(t, ro.Recovery().Problems[0], "CURRENT names "+was)
	require.Contains(t, ro.Recovery().Problems[0], "is in "+manifestOf(t, dir))
	require.NoError(t, ro.Close())
	require.Equal(t, before, files(t, hurt))

	e := open(t, hurt, Options{})
	r := e.Recovery()
	require.False(t, r.Damaged())
	require.Len(t, r.Problems, 1)
	requireRows(t, e, damagedRows)
	require.NoError(t, e.Close())
	require.FileExists(t, filepath.Join(hurt, manifestOf(t, hurt)))
	e = open(t, hurt, Options{})
	require.Empty(t, e.Recovery().Problems, "once")
	requireRows(t, e, damagedRows)
}

// An older manifest that is still there lacks what the newer one has had.
func TestTheManifestBeforeOneThatWasInUseIsNotTaken(t *testing.T) {
	t.Parallel()
	dir, _ := crashed(t)
	_, hurt := unnamed(t, dir)
	require.NoError(t, os.Remove(filepath.Join(hurt, manifestOf(t, hurt))))
	old := manifestOf(t, dir)
	b, err := os.ReadFile(filepath.Join(dir, old))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(hurt, old), b, 0o600))
	before := files(t, hurt)
	for _, o := range []Options{{}, {ReadOnly: true}, {AcceptLoss: true}} {
		_, err := Open(hurt, o)
		require.ErrorIs(t, err, engine.ErrCorrupt)
		require.ErrorContains(t, err, "names "+manifestOf(t, hurt)+", which is not there")
		require.Equal(t, before, files(t, hurt))
	}
}

// Without a watermark nobody knows which manifest was in use, unless nothing is in the one
// that is there.
func TestTheManifestBeforeIsTakenWithoutAWatermarkOnlyOfANewStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := open(t, dir, Options{})
	requireRows(t, e, 0)
	put(t, e, engine.Synced, column.State, ctx(0), "0")
	require.NoError(t, e.Flush())
	require.NoError(t, e.Close())
	hurt, _ := unnamed(t, dir)
	for _, name := range []string{watermarkName, markerName} {
		require.NoError(t, os.Remove(filepath.Join(hurt, name)))
	}
	_, err := Open(hurt, Options{})
	require.ErrorIs(t, err, engine.ErrCorrupt)
	require.ErrorContains(t, err, ", which is not there")

	dir = t.TempDir() // as RocksDB leaves it before it has made its second manifest known
	first, err := hex.DecodeString("c4c19f5b060001020003020400")
	require.NoError(t, err)
	for name, content := range map[string]string{"MANIFEST-000001": string(first), "CURRENT": "MANIFEST-000005\n", "000004.log": "", "LOCK": ""} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	e = open(t, dir, Options{})
	require.True(t, e.Recovery().Created)
}
