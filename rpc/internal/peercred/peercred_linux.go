package peercred

import (
	"fmt"
	"net"
	"unsafe"

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
	var cred *unix.Ucred
	var groups []uint32
	var failed error
	if err := raw.Control(func(fd uintptr) {
		if cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); failed == nil {
			groups, failed = peerGroups(fd)
		}
	}); err != nil {
		return Peer{}, err
	}
	if failed != nil {
		return Peer{}, fmt.Errorf("rpc: credentials of a peer: %w", failed)
	}
	return Peer{PID: cred.Pid, UID: cred.Uid, GID: cred.Gid, Groups: groups}, nil
}

// peerGroups returns the supplementary groups of the process at the other end,
// which most members of a group have it among. Kernels before 4.13 do not tell.
func peerGroups(fd uintptr) ([]uint32, error) {
	groups := make([]uint32, 32)
	for {
		size := uint32(len(groups)) * 4
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_SOCKET, unix.SO_PEERGROUPS,
			uintptr(unsafe.Pointer(&groups[0])), uintptr(unsafe.Pointer(&size)), 0)
		switch {
		case errno == 0:
			return groups[:size/4], nil
		case errno == unix.ENOPROTOOPT:
			return nil, nil
		case errno != unix.ERANGE || int(size/4) <= len(groups): // ERANGE: size is what it takes
			return nil, errno
		}
		groups = make([]uint32, size/4)
	}
}
