package peercred

import (
	"net"
	"os"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/stoadb/stoa/rpc/internal/fault"
)

// connectWith connects to path as a process with these supplementary groups. It
// needs privileges.
func connectWith(groups []uint32, path string) (fd int, err error) {
	type result struct {
		fd  int
		err error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // for good: the thread, which alone has the groups, ends
		if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(&groups[0])), 0); errno != 0 {
			done <- result{-1, errno}
			return
		}
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			err = unix.Connect(fd, &unix.SockaddrUnix{Name: path})
		}
		done <- result{fd, err}
	}()
	r := <-done
	return r.fd, r.err
}

func TestTheKernelTellsTheGroupsOfWhoConnects(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can take groups")
	}
	path := socketDir(t) + "/s"
	ln, err := net.Listen("unix", path)
	require.NoError(t, err)
	defer ln.Close()
	many := make([]uint32, 300) // more than the first guess has room for
	for i := range many {
		many[i] = uint32(5000 + i)
	}
	for _, groups := range [][]uint32{{4245}, {7, 4245}, many} {
		fd, err := connectWith(groups, path)
		require.NoError(t, err)
		defer unix.Close(fd)
		in, err := ln.Accept()
		require.NoError(t, err)
		defer in.Close()
		p, err := Read(in)
		require.NoError(t, err)
		require.ElementsMatch(t, groups, p.Groups)
	}
}

// listenAs listens at path as another user. It needs privileges.
func listenAs(t *testing.T, uid int, path string) {
	fds := make(chan int)
	go func() {
		runtime.LockOSThread() // for good: the thread, which alone is the user, ends
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			err = unix.Bind(fd, &unix.SockaddrUnix{Name: path})
		}
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); err == nil && errno == 0 {
			err = unix.Listen(fd, 8)
		}
		if err != nil {
			fd = -1
		}
		fds <- fd
	}()
	fd := <-fds
	require.NotEqual(t, -1, fd)
	t.Cleanup(func() { unix.Close(fd) })
}

// TestAClientKnowsWhoServesIt: who can put a socket at a path may be anybody.
func TestAClientKnowsWhoServesIt(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	path := socketDir(t) + "/s"
	listenAs(t, 5003, path)
	_, err := Dial(t.Context(), path, nil)
	require.ErrorIs(t, err, fault.ErrStranger)
	require.EqualError(t, err, "rpc: a stranger serves the socket: uid 5003 serves "+path+", which is neither this user, uid 0, nor root: nothing was sent")
	_, err = Dial(t.Context(), path, []uint32{7, 5003})
	require.NoError(t, err)
	own := socketDir(t) + "/s"
	listenAs(t, 0, own)
	c, err := Dial(t.Context(), own, nil)
	require.NoError(t, err)
	c.Close()
	_, err = Dial(t.Context(), own+"no", nil)
	require.ErrorIs(t, err, os.ErrNotExist)
}
