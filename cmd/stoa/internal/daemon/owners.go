package daemon

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// parseUsers returns the uids of users that are given by name or number: nil for
// nil, and none for a list that is set and empty.
func parseUsers(flag string, names []string) ([]uint32, error) {
	if names == nil {
		return nil, nil
	}
	uids := make([]uint32, 0, len(names))
	for _, name := range names {
		uid, err := parseUser(flag, name)
		if err != nil {
			return nil, err
		}
		uids = append(uids, uid)
	}
	return uids, nil
}

// parseUser returns the uid of a user that is given by name or number.
func parseUser(flag, name string) (uint32, error) {
	uid, err := cli.UserID(name)
	if err != nil {
		return 0, cli.Bad(fmt.Errorf("--%s: no user %q", flag, name), "give names or uids, with commas between them")
	}
	return uid, nil
}

// parseTenants returns the tenants of users that are given as USER=TENANT, by
// uid.
func parseTenants(flag string, pairs []string) (map[uint32]string, error) {
	tenants := make(map[uint32]string, len(pairs))
	for _, pair := range pairs {
		name, tenant, ok := strings.Cut(pair, "=")
		if !ok || tenant == "" {
			return nil, cli.Bad(fmt.Errorf("--%s: %q is not USER=TENANT", flag, pair), "as in: --"+flag+" 1001=acme")
		}
		uid, err := parseUser(flag, name)
		if err != nil {
			return nil, err
		}
		if other, twice := tenants[uid]; twice && other != tenant {
			return nil, cli.Bad(fmt.Errorf("--%s: user %s has two tenants, %q and %q", flag, name, other, tenant), "")
		}
		tenants[uid] = tenant
	}
	return tenants, nil
}

// parseGroup returns the gid of a group that is given by name or number.
func parseGroup(flag, name string) (uint32, error) {
	gid, err := cli.GroupID(name)
	if err != nil {
		return 0, cli.Bad(fmt.Errorf("--%s: no group %q", flag, name), "give a name or a gid")
	}
	return gid, nil
}

// parseMode returns the permissions that octal digits stand for.
func parseMode(flag, text string) (fs.FileMode, error) {
	mode, err := strconv.ParseUint(text, 8, 32)
	if err != nil || mode > 0o777 {
		return 0, cli.Bad(fmt.Errorf("--%s: %q is not a mode in octal, as 0600 or 0660", flag, text), "")
	}
	return fs.FileMode(mode), nil
}
