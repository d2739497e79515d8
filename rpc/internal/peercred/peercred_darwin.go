package peercred

import (
	"fmt"
	"net"
	"slices"

	"golang.org/x/sys/unix"
)

// Read asks the kernel who is at the other end of a Unix connection.
func Read(conn net.Conn) (Peer, error) {
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return Peer{}, fmt.Errorf("rpc: %T is not a Unix connection", conn)
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return Peer{}, err
	}
	var p Peer
	var failed error
	if err := raw.Control(func(fd uintptr) {
		var cred *unix.Xucred
		if cred, failed = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED); failed != nil {
			return
		}
		p.UID, p.GID = cred.Uid, cred.Groups[0]
		p.Groups = slices.Clone(cred.Groups[1:max(1, min(int(cred.Ngroups), len(cred.Groups)))])
		if pid, err := unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID); err == nil {
			p.PID = int32(pid)
		}
	}); err != nil {
		return Peer{}, err
	}
	if failed != nil {
		return Peer{}, fmt.Errorf("rpc: LOCAL_PEERCRED: %w", failed)
	}
	return p, nil
}
