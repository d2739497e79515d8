package cli

import (
	"fmt"
	"os/user"
	"strconv"

	"github.com/stoadb/stoa/rpc"
)

// UserID returns the number of a user that is given by name or number.
func UserID(name string) (uint32, error) {
	return idOf(name, func() (string, error) {
		u, err := user.Lookup(name)
		if err != nil {
			return "", err
		}
		return u.Uid, nil
	})
}

// GroupID returns the number of a group that is given by name or number.
func GroupID(name string) (uint32, error) {
	return idOf(name, func() (string, error) {
		g, err := user.LookupGroup(name)
		if err != nil {
			return "", err
		}
		return g.Gid, nil
	})
}

func idOf(name string, lookUp func() (string, error)) (uint32, error) {
	text := name
	if _, err := strconv.ParseUint(name, 10, 32); err != nil {
		if text, err = lookUp(); err != nil {
			return 0, err
		}
	}
	id, err := strconv.ParseUint(text, 10, 32)
	return uint32(id), err
}

// daemonUserVar names who runs the daemon, where that is neither this user nor root.
const daemonUserVar = "STOA_DAEMON_USER"

// DialDaemon connects to the daemon at a path that this user serves, or root, or the user of this name:
// "" for the one whom $STOA_DAEMON_USER names, if any.
func (p *Process) DialDaemon(path, name string, with ...rpc.Option) (*rpc.Client, error) {
	from := "--daemon-user"
	if name == "" {
		name, from = p.Getenv(daemonUserVar), daemonUserVar
	}
	if name != "" {
		uid, err := UserID(name)
		if err != nil {
			return nil, Bad(fmt.Errorf("%s: no user %q", from, name), "give a name or a uid")
		}
		with = append(with, rpc.WithDaemonUser(uid))
	}
	return rpc.Dial(p.Ctx, path, with...)
}
