package socket

import (
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A socket that cannot be given to its group is not left for those who may use it as it is.
func TestASocketThatIsNotTheGroupsIsRemoved(t *testing.T) {
	path := filepath.Join(socketDir(t), "s")
	failed := make(chan error)
	go func() { // on a thread that ends with it, for good without the right to give files away
		runtime.LockOSThread()
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var caps [2]unix.CapUserData
		err := unix.Capget(&header, &caps[0])
		if err == nil {
			caps[0].Effective &^= 1 << unix.CAP_CHOWN
			err = unix.Capset(&header, &caps[0])
		}
		if err == nil {
			_, err = Listen(path, Options{Group: "2147483646"})
		}
		failed <- err
	}()
	require.ErrorIs(t, <-failed, unix.EPERM)
	require.NoFileExists(t, path)
	s, err := Listen(path, Options{})
	require.NoError(t, err, "and its lock is free")
	require.NoError(t, s.Close())
}
