package server

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/rpc"
)

// TestCopiesAreMadeWhereNobodyElseCanReach is security-review 08: whoever can write to the directory
// that a copy is made in may take its files.
func TestCopiesAreMadeWhereNobodyElseCanReach(t *testing.T) {
	stub := newStub()
	made := ""
	stub.check = func(dir string) error {
		made = dir
		return os.Mkdir(dir, 0o700)
	}
	c, base := start(t, stub, Options{}).dial(t), socketDir(t)
	dir := func(name string, mode os.FileMode, uid int) string {
		path := filepath.Join(base, name)
		require.NoError(t, os.Mkdir(path, 0o700))
		require.NoError(t, os.Chmod(path, mode))
		if uid > 0 {
			require.NoError(t, os.Chown(path, uid, uid))
		}
		return path
	}
	for _, fine := range []string{dir("own", 0o700, 0), dir("read", 0o755, 0), dir("tmp", 0o777|os.ModeSticky, 0)} {
		require.NoError(t, c.Checkpoint(t.Context(), fine+"/copy"))
		require.DirExists(t, fine+"/copy")
	}
	for _, open := range []string{dir("all", 0o777, 0), dir("group", 0o770, 0)} {
		err := c.Checkpoint(t.Context(), open+"/copy")
		require.ErrorIs(t, err, rpc.ErrRequest)
		require.ErrorContains(t, err, "others can write to "+open)
		require.NoDirExists(t, open+"/copy")
	}
	if os.Geteuid() == 0 {
		theirs := dir("theirs", 0o700, 5003)
		err := c.Checkpoint(t.Context(), theirs+"/copy")
		require.ErrorIs(t, err, rpc.ErrRequest)
		require.ErrorContains(t, err, theirs+" belongs to uid 5003, and not to the daemon's user, uid 0")
	}
	require.ErrorContains(t, c.Checkpoint(t.Context(), base+"/none/copy"), "does not exist")

	if runtime.GOOS == "linux" { // the directory is moved while the copy is made
		was := dir("was", 0o700, 0)
		stub.check = func(at string) error {
			require.NoError(t, os.Rename(was, base+"/moved"))
			require.NoError(t, os.Mkdir(was, 0o777))
			return os.Mkdir(at, 0o700)
		}
		require.NoError(t, c.Checkpoint(t.Context(), was+"/copy"))
		require.DirExists(t, base+"/moved/copy")
		require.NoDirExists(t, was+"/copy")
		require.NotContains(t, made, base)
	}
}

func TestCopiesAreMadeBelowTheDirectoryForThem(t *testing.T) {
	stub, base := newStub(), socketDir(t)
	stub.check = func(dir string) error { return os.Mkdir(dir, 0o700) }
	within := base + "/copies"
	require.NoError(t, os.MkdirAll(within+"/daily", 0o770))
	require.NoError(t, os.Symlink(base, within+"/out"))
	require.NoError(t, os.Symlink(within, base+"/in"))
	c := start(t, stub, Options{CheckpointDir: base + "/in"}).dial(t)
	for _, fine := range []string{within + "/a", within + "/daily/b", base + "/in/c", within + "/daily/../d"} {
		require.NoError(t, c.Checkpoint(t.Context(), fine))
	}
	for _, out := range []string{base + "/a", within + "/out/a", within + "/../b", base + "/copies2"} {
		err := c.Checkpoint(t.Context(), out)
		require.ErrorIs(t, err, rpc.ErrRequest, out)
		require.ErrorContains(t, err, "copies are made below "+base+"/in alone (stoa serve --checkpoint-dir)")
	}
}
