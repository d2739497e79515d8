package blob

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
)

func TestSmallUploadsWithoutAnIDNeedNoSpool(t *testing.T) {
	b := memStore(t, Options{})
	for _, n := range []int{0, 1, chunk - 1} {
		stored, existed, err := b.Put(t.Context(), bytes.NewReader(bytesOf(n)), PutOptions{})
		require.NoError(t, err)
		require.False(t, existed)
		require.Equal(t, contentID(bytesOf(n)), stored.ID)
	}
	_, _, err := b.Put(t.Context(), bytes.NewReader(bytesOf(chunk+1)), PutOptions{})
	require.ErrorIs(t, err, engine.ErrUnsupported)
	require.ErrorContains(t, err, "declare the id")
}

func TestTheSpoolHoldsNoFileThatHasAName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	b := memStore(t, Options{SpoolDir: dir})
	st, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), st.Mode().Perm())
	content := bytesOf(5*chunk + 1)
	spooling := &hookedReader{r: bytes.NewReader(content), at: 3 * chunk, hook: func() { require.Empty(t, filesIn(t, dir)) }}
	stored, existed, err := b.Put(t.Context(), spooling, PutOptions{})
	require.NoError(t, err)
	require.False(t, existed)
	require.Nil(t, spooling.hook)
	require.Equal(t, contentID(content), stored.ID)
	got, err := readAll(b, stored.ID)
	require.NoError(t, err)
	require.True(t, bytes.Equal(content, got))
	_, existed, err = b.Put(t.Context(), bytes.NewReader(content), PutOptions{})
	require.NoError(t, err)
	require.True(t, existed)
	require.Empty(t, filesIn(t, dir))
}

func filesIn(t testing.TB, dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// hookedReader calls hook once it has been read up to a place.
type hookedReader struct {
	r    io.Reader
	at   int
	hook func()
}

func (h *hookedReader) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	if h.at -= n; h.at <= 0 && h.hook != nil {
		h.hook()
		h.hook = nil
	}
	return n, err
}

func TestTheSpoolIsFoundWhereTheStoreIsMoved(t *testing.T) {
	root := t.TempDir()
	old, moved := filepath.Join(root, "old"), filepath.Join(root, "new")
	require.NoError(t, os.Mkdir(old, 0o700))
	b := memStore(t, Options{SpoolDir: filepath.Join(old, "spool"), MinFreeBytes: 1})
	require.NoError(t, os.Rename(old, moved))
	require.NoError(t, os.Mkdir(old, 0o700))
	content := bytesOf(3 * chunk)
	_, _, err := b.Put(t.Context(), bytes.NewReader(content), PutOptions{})
	require.NoError(t, err)
	require.Empty(t, filesIn(t, old), "it is another's")

	require.NoError(t, os.Remove(filepath.Join(moved, "spool")))
	_, _, err = b.Put(t.Context(), bytes.NewReader(content[1:]), PutOptions{})
	require.NoError(t, err)
	require.Empty(t, filesIn(t, old))
	require.DirExists(t, filepath.Join(moved, "spool"))
}

func TestFilesOfAnEarlierProcessAreRemovedFromTheSpool(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	for _, name := range []string{"upload-123", "mine"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600))
	}
	memStore(t, Options{SpoolDir: dir})
	require.Equal(t, []string{"mine"}, filesIn(t, dir))
}

func TestASpoolThatIsNotPrivateIsRefused(t *testing.T) {
	open := filepath.Join(t.TempDir(), "open")
	require.NoError(t, os.Mkdir(open, 0o755))
	require.NoError(t, os.Chmod(open, 0o755))
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for path, reason := range map[string]string{open: "chmod 0700", file: "not a directory"} {
		_, err := Open(mem.New(), Options{SpoolDir: path})
		require.ErrorIs(t, err, ErrOptions)
		require.ErrorContains(t, err, reason)
	}
}

func TestTheSpoolKeepsAPartOfTheDiskFree(t *testing.T) {
	free := int64(300 << 20)
	b := memStore(t, Options{SpoolDir: filepath.Join(t.TempDir(), "spool"), freeBytes: func(*os.File) (int64, error) { return free, nil }})
	content := bytesOf(2 * chunk)
	_, _, err := b.Put(t.Context(), bytes.NewReader(content), PutOptions{})
	require.NoError(t, err)

	large := uint64(50 << 20)
	r := bytes.NewReader(make([]byte, large))
	_, _, err = b.Put(t.Context(), r, PutOptions{Size: &large})
	require.ErrorIs(t, err, engine.ErrNoSpace)
	require.Equal(t, int(large)-chunk, r.Len(), "refused before it is spooled")

	shrinking := &hookedReader{r: bytes.NewReader(make([]byte, large)), at: 2 * chunk, hook: func() { free = 256 << 20 }}
	_, _, err = b.Put(t.Context(), shrinking, PutOptions{})
	require.ErrorIs(t, err, engine.ErrNoSpace)
}

func TestAStoreThatIsClosedLeavesNoDirectoryOpen(t *testing.T) {
	b := memStore(t, Options{SpoolDir: filepath.Join(t.TempDir(), "spool")})
	above := b.spool.above
	_, err := above.Stat(".")
	require.NoError(t, err)
	require.NoError(t, b.Close())
	_, err = above.Stat(".")
	require.ErrorIs(t, err, os.ErrClosed)
}
