package socket

import (
	"context"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// bind makes the socket with mode 0600 from the start: on Linux the file has the
// mode of the socket at the time of bind, so that no umask need be set, which
// would be that of all threads.
func bind(path string) (*net.UnixListener, error) {
	c := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var failed error
		if err := raw.Control(func(fd uintptr) { failed = unix.Fchmod(int(fd), 0o600) }); err != nil {
			return err
		}
		return failed
	}}
	ln, err := c.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, err
	}
	return ln.(*net.UnixListener), nil
}
