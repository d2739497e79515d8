//go:build cgo

package rocks

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

func TestStoreSaysWhatWroteIt(t *testing.T) {
	dir := t.TempDir()
	e := open(t, dir, Options{})
	f, problem := readFormat(dir)
	require.Empty(t, problem)
	require.Equal(t, ownFormat(), f)
	copied := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, e.Checkpoint(copied))
	f, problem = readFormat(copied)
	require.Empty(t, problem)
	require.Equal(t, ownFormat(), f)
}

func TestStoreOfANewerVersionIsRefusedByName(t *testing.T) {
	dir := t.TempDir()
	e := open(t, dir, Options{})
	put(t, e, engine.Synced, column.State, ctx(1), "1")
	require.NoError(t, e.Close())
	newer := format{version: FormatVersion + 2, needs: FormatVersion + 1, program: "v9.8.7"}
	require.NoError(t, newer.write(dir))
	before := files(t, dir)
	_, err := Open(dir, Options{})
	require.ErrorIs(t, err, engine.ErrSchema)
	require.ErrorContains(t, err, "stoa v9.8.7, format 6, which only a build that knows format 5 may write; this is stoa "+ownFormat().program+", format 4")
	require.Equal(t, before, files(t, dir), "nothing was changed")

	r := open(t, dir, Options{ReadOnly: true})
	require.Equal(t, "1", get(t, r, column.State, ctx(1)))
	require.Equal(t, []string{"format 6, by stoa v9.8.7 (this build knows 4)"}, r.Unknown())
	require.NoError(t, r.Close())

	// One that says that this build may write it is written, and says so then.
	require.NoError(t, format{version: FormatVersion + 2, needs: FormatVersion, program: "v9.8.7"}.write(dir))
	open(t, dir, Options{})
	f, _ := readFormat(dir)
	require.Equal(t, ownFormat(), f)
}

// A store that does not say which version may write it is read by any, and written only
// if its owner says that none was newer.
func TestStoreWhoseVersionCannotBeToldIsNotWritten(t *testing.T) {
	for _, text := range []string{"", "stoa format", "stoa format 3 needs 3 by x", "stoa format 3 needs 3 by x\nmore", "stoa format -3 needs 3 by x\n"} {
		dir := t.TempDir()
		e := open(t, dir, Options{})
		put(t, e, engine.Synced, column.State, ctx(1), "1")
		require.NoError(t, e.Close())
		require.NoError(t, os.WriteFile(filepath.Join(dir, formatName), []byte(text), 0o600))
		before := files(t, dir)
		_, err := Open(dir, Options{})
		require.ErrorIs(t, err, engine.ErrSchema, text)
		require.ErrorContains(t, err, dir+": stoa.format is damaged")
		require.ErrorContains(t, err, "this one (stoa "+ownFormat().program+", format 4) or an older one")
		require.ErrorContains(t, err, "--accept-loss")
		require.Equal(t, before, files(t, dir), "nothing was changed")

		e = open(t, dir, Options{ReadOnly: true})
		require.Len(t, e.Recovery().Problems, 1, text)
		require.Contains(t, e.Recovery().Problems[0], formatName)
		require.Equal(t, "1", get(t, e, column.State, ctx(1)))
		require.NoError(t, e.Close())

		e = open(t, dir, Options{AcceptLoss: true})
		require.Len(t, e.Recovery().Problems, 1, text)
		require.NoError(t, e.Close())
		e = open(t, dir, Options{})
		require.Empty(t, e.Recovery().Problems, text)
		require.Equal(t, "1", get(t, e, column.State, ctx(1)))
	}
}

// The store in testdata was made by commit ae44c1e, with three synced puts, and was
// killed.
func TestStoreOfTheFirstFormatIsRead(t *testing.T) {
	root := t.TempDir()
	out, err := exec.Command("tar", "-xzf", "testdata/format1.tgz", "-C", root).CombinedOutput()
	require.NoError(t, err, "%s", out)
	dir := filepath.Join(root, "format1")
	_, problem := readWatermark(dir)
	require.Empty(t, problem)

	r := open(t, dir, Options{ReadOnly: true})
	require.Empty(t, r.Recovery().Problems)
	require.NotZero(t, r.Recovery().Watermark)
	rows := list(t, r, column.State, engine.Range{})
	require.Len(t, rows, 3)
	require.NoError(t, r.Close())

	require.NoError(t, open(t, dir, Options{}).Close())
	e := open(t, dir, Options{})
	require.True(t, e.Recovery().Clean)
	require.Empty(t, e.Recovery().Problems)
	require.Equal(t, rows, list(t, e, column.State, engine.Range{}))
}

func TestWatermarkOfTheFirstFormatFindsLosses(t *testing.T) {
	e := open(t, t.TempDir(), Options{})
	put(t, e, engine.Synced, column.State, ctx(1), "1")
	dir := crash(t, e)
	b := make([]byte, 2*slotSize)
	for i := range 2 {
		s := b[i*slotSize:]
		copy(s, firstMagic)
		binary.LittleEndian.PutUint64(s[8:], uint64(7+i))
		binary.LittleEndian.PutUint64(s[16:], 1000)
		binary.LittleEndian.PutUint32(s[24:], castagnoli(s[:24]))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, watermarkName), b, 0o600))
	_, err := Open(dir, Options{})
	require.ErrorIs(t, err, engine.ErrCorrupt)
	require.ErrorContains(t, err, "had 1000 on disk")
}
