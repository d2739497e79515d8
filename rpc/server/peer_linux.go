package server

import (
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// readPeer asks the kernel who is at the other end of a Unix connection.
func readPeer(conn net.Conn) (Peer, error) {
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return Peer{}, fmt.Errorf("server: %T is not a Unix connection", conn)
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return Peer{}, err
	}
	var cred *unix.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) {
		cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return Peer{}, err
	}
	if failed != nil {
		return Peer{}, fmt.Errorf("server: SO_PEERCRED: %w", failed)
	}
	return Peer{PID: cred.Pid, UID: cred.Uid, GID: cred.Gid}, nil
}
