//go:build !linux

package socket

import (
	"net"
	"sync"
	"syscall"
)

var umask sync.Mutex

// bind makes the socket with mode 0600 from the start. The umask is that of the
// whole process: a file that another goroutine makes in this moment gets mode
// 0600 at most, which is why a program listens before it does anything else.
func bind(path string) (*net.UnixListener, error) {
	umask.Lock()
	defer umask.Unlock()
	defer syscall.Umask(syscall.Umask(0o177))
	return net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
}
