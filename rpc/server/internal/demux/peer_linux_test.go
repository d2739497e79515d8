package demux

import (
	"net"
	"os"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
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
		p, err := ReadPeer(in)
		require.NoError(t, err)
		require.ElementsMatch(t, groups, p.Groups)
	}
}
