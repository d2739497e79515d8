// Package peercred asks the kernel who is at the other end of a Unix connection. Start at
// [Read]; a client that wants to know who serves it calls [Dial].
package peercred

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"

	"github.com/stoadb/stoa/rpc/internal/fault"
)

// Peer is the process at the other end of a connection. That of a client's connection is
// who has made the socket listen.
type Peer struct {
	PID      int32 // 0 where the system does not tell
	UID, GID uint32
	Groups   []uint32 // supplementary; not all on macOS
}

// Dial connects to the socket at path, which this user or root serves, or one of those in
// trusted. It returns [fault.ErrStranger] for another: who can put a socket at the path
// would be told everything.
func Dial(ctx context.Context, path string, trusted []uint32) (*net.UnixConn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	u := conn.(*net.UnixConn)
	if err := known(u, path, trusted); err != nil {
		u.Close()
		return nil, err
	}
	return u, nil
}

func known(conn net.Conn, path string, trusted []uint32) error {
	p, err := Read(conn)
	if err != nil {
		return fmt.Errorf("%w at %s: %w", fault.ErrStranger, path, err)
	}
	if p.UID == 0 || p.UID == uint32(os.Geteuid()) || slices.Contains(trusted, p.UID) {
		return nil
	}
	return fmt.Errorf("%w: uid %d serves %s, which is neither this user, uid %d, nor root: nothing was sent", fault.ErrStranger, p.UID, path, os.Geteuid())
}
