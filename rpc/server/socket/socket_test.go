package socket

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/internal/socketpath"
)

func TestASocketIsTheUsersOnlyFromTheStart(t *testing.T) {
	dir := filepath.Join(socketDir(t), "new")
	path := filepath.Join(dir, "s")
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	ln, err := bind(filepath.Join(socketDir(t), "s"))
	require.NoError(t, err)
	info, err := os.Lstat(ln.Addr().String())
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "before any chmod")
	ln.Close()

	s, err := Listen(path, Options{})
	require.NoError(t, err)
	info, err = os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	info, err = os.Lstat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.NoError(t, s.Close())
	require.NoError(t, s.Close(), "again")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left, "neither socket nor lock")
}

func TestASocketCanBelongToAGroup(t *testing.T) {
	path := filepath.Join(socketDir(t), "s")
	s, err := Listen(path, Options{Group: "0"})
	if os.Geteuid() != 0 {
		require.Error(t, err)
		return
	}
	require.NoError(t, err)
	defer s.Close()
	info, err := os.Lstat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o660), info.Mode().Perm())
	_, err = Listen(path+"2", Options{Group: "no-such-group"})
	require.ErrorIs(t, err, ErrOptions)
	_, err = Listen(path+"2", Options{Mode: 0o4600})
	require.ErrorIs(t, err, ErrOptions)
}

func TestDirectoriesThatOthersCanWriteToAreRefused(t *testing.T) {
	dir := socketDir(t)
	for _, mode := range []os.FileMode{0o720, 0o702, 0o777} {
		require.NoError(t, os.Chmod(dir, mode))
		_, err := Listen(filepath.Join(dir, "s"), Options{})
		require.ErrorIs(t, err, ErrDir)
		require.ErrorContains(t, err, dir)
	}
	require.NoError(t, os.Chmod(dir, 0o755))
	s, err := Listen(filepath.Join(dir, "s"), Options{})
	require.NoError(t, err)
	s.Close()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = Listen(filepath.Join(file, "s"), Options{})
	require.ErrorIs(t, err, ErrDir)
}

func TestPathsThatAreTooLongAreRefusedWithTheirLength(t *testing.T) {
	path := "/" + strings.Repeat("x", socketpath.Max)
	_, err := Listen(path, Options{})
	require.ErrorIs(t, err, rpc.ErrSocketPath)
	require.ErrorContains(t, err, "108 bytes, at most 107")
	for _, path := range []string{"", "@abstract", "a\x00b"} {
		_, err := Listen(path, Options{})
		require.ErrorIs(t, err, rpc.ErrSocketPath)
	}
}

func TestALiveSocketIsLeftAlone(t *testing.T) {
	path := filepath.Join(socketDir(t), "s")
	s, err := Listen(path, Options{})
	require.NoError(t, err)
	defer s.Close()
	_, err = Listen(path, Options{})
	require.ErrorIs(t, err, ErrTaken)
	require.ErrorContains(t, err, "process ")

	other := filepath.Join(socketDir(t), "s") // of a program that knows no lock
	ln, err := net.Listen("unix", other)
	require.NoError(t, err)
	defer ln.Close()
	_, err = Listen(other, Options{})
	require.ErrorIs(t, err, ErrTaken)
	conn, err := net.Dial("unix", other)
	require.NoError(t, err, "it still listens")
	conn.Close()
}

func TestAPathThatIsFreeStaysAsItIs(t *testing.T) {
	dir := socketDir(t)
	path := filepath.Join(dir, "s")
	require.NoError(t, Free(path))
	require.NoError(t, Free(filepath.Join(dir, "new", "s")))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
	ln, err := Listen(path, Options{})
	require.NoError(t, err)
	require.ErrorIs(t, Free(path), ErrTaken)
	require.NoError(t, ln.Close())
	require.NoError(t, Free(path))
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.ErrorIs(t, Free(path), ErrNotSocket)
	require.ErrorIs(t, Free(filepath.Join(dir, strings.Repeat("s", 200))), rpc.ErrSocketPath)
}

func TestAStaleSocketIsReplaced(t *testing.T) {
	path := filepath.Join(socketDir(t), "s")
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	ln.SetUnlinkOnClose(false)
	ln.Close() // as after kill -9
	require.FileExists(t, path)
	require.NoError(t, os.WriteFile(path+lockSuffix, []byte("1\n"), 0o600))
	s, err := Listen(path, Options{})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoFileExists(t, path)
}

func TestOtherFilesAreNotRemoved(t *testing.T) {
	dir := socketDir(t)
	path := filepath.Join(dir, "s")
	require.NoError(t, os.WriteFile(path, []byte("precious"), 0o600))
	_, err := Listen(path, Options{})
	require.ErrorIs(t, err, ErrNotSocket)
	require.FileExists(t, path)
	require.NoFileExists(t, path+lockSuffix)
	link := filepath.Join(dir, "l")
	require.NoError(t, os.Symlink("/nowhere", link))
	_, err = Listen(link, Options{})
	require.ErrorIs(t, err, ErrNotSocket)
}

func TestClosingRemovesOnlyTheOwnSocket(t *testing.T) {
	path := filepath.Join(socketDir(t), "s")
	s, err := Listen(path, Options{})
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))
	ln, err := net.Listen("unix", path)
	require.NoError(t, err)
	defer ln.Close()
	require.NoError(t, s.Close())
	require.FileExists(t, path)
}

func TestManyDaemonsRaceForAPathAndOneWins(t *testing.T) {
	path := filepath.Join(socketDir(t), "s")
	const racers = 16
	won := make(chan *Socket, racers)
	done := make(chan struct{})
	for range racers {
		go func() {
			defer func() { done <- struct{}{} }()
			if s, err := Listen(path, Options{}); err == nil {
				won <- s
			}
		}()
	}
	for range racers {
		<-done
	}
	require.Len(t, won, 1)
	(<-won).Close()
}

func TestDialSaysWhyThereIsNoDaemon(t *testing.T) {
	dir := socketDir(t)
	_, err := rpc.Dial(t.Context(), filepath.Join(dir, "none"))
	require.ErrorIs(t, err, rpc.ErrNoDaemon)
	require.ErrorContains(t, err, filepath.Join(dir, "none")+": no such file")
	stale := filepath.Join(dir, "stale")
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale, Net: "unix"})
	require.NoError(t, err)
	ln.SetUnlinkOnClose(false)
	ln.Close()
	_, err = rpc.Dial(t.Context(), stale)
	require.ErrorIs(t, err, rpc.ErrNoDaemon)
	require.ErrorContains(t, err, "nothing listens")
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = rpc.Dial(t.Context(), file)
	require.ErrorIs(t, err, rpc.ErrNoDaemon)
	_, err = rpc.Dial(t.Context(), strings.Repeat("x", 108))
	require.ErrorIs(t, err, rpc.ErrSocketPath)
}

// TestSocketActivation runs itself again with a socket as file 3, as systemd
// does.
func TestSocketActivation(t *testing.T) {
	if os.Getenv("STOA_TEST_ACTIVATED") != "" {
		require.NoError(t, os.Setenv("LISTEN_PID", pid()))
		ln, err := Activated()
		require.NoError(t, err)
		conn, err := ln.Accept()
		require.NoError(t, err)
		_, err = conn.Write([]byte("served"))
		require.NoError(t, err)
		conn.Close()
		ln.Close()
		return
	}
	ln, err := Activated()
	require.NoError(t, err)
	require.Nil(t, ln, "nothing was passed")

	path := filepath.Join(socketDir(t), "s")
	made, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	defer made.Close()
	file, err := made.File()
	require.NoError(t, err)
	defer file.Close()
	self := enginetest.EndWithParent(exec.Command(os.Args[0], "-test.run=^TestSocketActivation$", "-test.v"))
	self.Env = append(os.Environ(), "STOA_TEST_ACTIVATED=1", "LISTEN_FDS=1")
	self.ExtraFiles = []*os.File{file}
	out := make(chan string, 1)
	go func() {
		b, _ := self.CombinedOutput()
		out <- string(b)
	}()
	conn, err := net.Dial("unix", path)
	require.NoError(t, err)
	defer conn.Close()
	b := make([]byte, 16)
	n, _ := conn.Read(b)
	require.Equal(t, "served", string(b[:n]))
	require.Contains(t, <-out, "PASS")
	require.FileExists(t, path, "the file is systemd's")
}

// socketDir returns a directory whose name is short enough for sockets.
func socketDir(t testing.TB) string {
	dir, err := os.MkdirTemp("", "st")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func pid() string { return strconv.Itoa(os.Getpid()) }

func TestADirectoryOfAnotherUserIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	dir := socketDir(t)
	require.NoError(t, prepareDir(dir))
	require.NoError(t, os.Chown(dir, 4242, -1))
	err := prepareDir(dir)
	require.ErrorIs(t, err, ErrDir)
	require.ErrorContains(t, err, "belongs to uid 4242")
}

func TestDirectoriesAboveASocketAreLookedAt(t *testing.T) {
	base, err := os.MkdirTemp("", "st")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(base) })
	deep := base + "/a/b/c"
	require.NoError(t, os.MkdirAll(deep, 0o700))
	require.NoError(t, Exposed(deep+"/s"))
	require.NoError(t, os.Chmod(base+"/a", 0o770))
	err = Exposed(deep + "/s")
	require.ErrorIs(t, err, ErrDir)
	require.ErrorContains(t, err, "others can write to "+base+"/a (mode 0770)")
	require.NoError(t, os.Chmod(base+"/a", 0o777|os.ModeSticky))
	require.NoError(t, Exposed(deep+"/s"), "where only the owner of a file may move it")
	require.NoError(t, os.Chmod(base+"/a", 0o770))
	require.NoError(t, os.Symlink(deep, base+"/link"))
	require.ErrorIs(t, Exposed(base+"/link/s"), ErrDir, "where the path leads")
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chmod(base+"/a", 0o700))
		require.NoError(t, os.Chown(base+"/a", 5003, 5003))
		require.ErrorContains(t, Exposed(deep+"/s"), base+"/a belongs to uid 5003")
	}
}
