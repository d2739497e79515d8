package daemon

import (
	"fmt"
	"io"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// groupWord stands before the name of a group where that of a user is asked for.
const groupWord = "group:"

// What those who are only allowed may do, and what --secret-peers gives beside it: who has the
// keys can sign by them, here or elsewhere.
const (
	allowedRoles = access.Reader | access.Writer
	secretRoles  = access.Secrets | access.Signer
)

// table returns what all flags about peers say together: the daemon's own user and root
// may do everything unless --allow-peers, --tenant-map or --peer say something else of them.
func (s *settings) table() (*access.Table, error) {
	allowed, err := parseUsers("allow-peers", s.allowPeers)
	if err != nil {
		return nil, err
	}
	secret, err := parseUsers("secret-peers", s.secretPeers)
	if err != nil {
		return nil, err
	}
	tenants, err := parseTenants("tenant-map", s.tenantMap)
	if err != nil {
		return nil, err
	}
	host := []uint32{uint32(os.Geteuid()), 0}
	if s.allowPeers == nil {
		allowed = host
	}
	t, given := new(access.Table), make(map[uint32]bool) // users of whom --peer says something
	for _, line := range s.peers {
		if err := addPeer(t, given, line); err != nil {
			return nil, err
		}
	}
	for uid, tenant := range tenants {
		if err := t.User(uid, access.Rights{Roles: allowedRoles, Tenant: tenant}); err != nil {
			return nil, flagError("tenant-map", err)
		}
	}
	for _, uid := range allowed {
		if _, bound := tenants[uid]; bound || given[uid] && slices.Contains(host, uid) {
			continue
		}
		roles := allowedRoles
		switch has := slices.Contains(secret, uid); {
		case slices.Contains(host, uid) && (has || s.secretPeers == nil):
			roles = access.All
		case slices.Contains(host, uid):
			roles = access.All &^ access.Secrets
		case has:
			roles |= secretRoles
		}
		if err := t.User(uid, access.Rights{Roles: roles}); err != nil {
			return nil, flagError("allow-peers", err)
		}
	}
	for _, gid := range s.gids {
		if err := t.Group(gid, access.Rights{Roles: allowedRoles}); err != nil {
			return nil, flagError("group", err)
		}
	}
	return t, nil
}

// addPeer adds what --peer says, and notes the user that it is about.
func addPeer(t *access.Table, given map[uint32]bool, line string) error {
	name, words, ok := strings.Cut(line, "=")
	if !ok {
		return flagError("peer", fmt.Errorf("%q is not USER=ROLES", line))
	}
	r, err := access.Parse(words)
	if err != nil {
		return flagError("peer", fmt.Errorf("%q: %w", line, err))
	}
	if group, is := strings.CutPrefix(name, groupWord); is {
		gid, err := parseGroup("peer", group)
		if err != nil {
			return err
		}
		return flagError("peer", t.Group(gid, r))
	}
	uid, err := parseUser("peer", name)
	if err != nil {
		return err
	}
	given[uid] = true
	return flagError("peer", t.User(uid, r))
}

// flagError says of which flag an error is; nil is nil.
func flagError(flag string, err error) error {
	if err == nil {
		return nil
	}
	return cli.Bad(fmt.Errorf("--%s: %w", flag, err), "as in: --peer alice=reader,writer --peer 1001=tenant:acme --peer group:ops=reader,operator")
}

// peersDoc is what peers prints with --json.
type peersDoc struct {
	Peers []rightsDoc `json:"peers"`
	Users []userDoc   `json:"users"`
}

type rightsDoc struct {
	Group  bool     `json:"group,omitempty"`
	ID     uint32   `json:"id"`
	Name   string   `json:"name,omitempty"`
	Roles  []string `json:"roles"`
	Tenant string   `json:"tenant,omitempty"`
}

type userDoc struct {
	UID  uint32   `json:"uid"`
	Name string   `json:"name,omitempty"`
	Uses []useDoc `json:"uses"`
}

type useDoc struct {
	What  string `json:"what"`
	Used  uint64 `json:"used"`
	Share uint64 `json:"share"`
	Limit uint64 `json:"limit"`
}

func newPeers(p *cli.Process) *cobra.Command {
	var from cli.DaemonFlags
	cmd := &cobra.Command{
		Use:   "peers",
		Short: "Say who may do what, and who takes how much of the daemon",
		Long: `Say what each user and group may do, as --peer and the flags beside it have it, and
what the users who are connected take now: of connections, calls, streams and memory,
with how much each may have while the others take what they do. Operators may ask.`,
		Example: "  stoa peers\n  stoa peers --json",
		Args:    cli.Exactly(),
		RunE: func(*cobra.Command, []string) error {
			return connected(p, &from, func(client *rpc.Client) error {
				res, err := client.Peers(p.Ctx)
				if err != nil {
					return err
				}
				d := newPeersDoc(res)
				return p.Emit(d, d.write)
			})
		},
	}
	from.Register(cmd.Flags())
	return cmd
}

func newPeersDoc(res *stoav1.PeersResponse) peersDoc {
	d := peersDoc{Peers: []rightsDoc{}, Users: []userDoc{}}
	for _, r := range res.Table {
		name := userName(r.Id)
		if r.Group {
			name = groupName(r.Id)
		}
		d.Peers = append(d.Peers, rightsDoc{r.Group, r.Id, name, append([]string{}, r.Roles...), r.Tenant})
	}
	for _, u := range res.Users {
		doc := userDoc{UID: u.Uid, Name: userName(u.Uid), Uses: []useDoc{}}
		for _, use := range u.Uses {
			doc.Uses = append(doc.Uses, useDoc{use.What, use.Used, use.Share, use.Limit})
		}
		d.Users = append(d.Users, doc)
	}
	return d
}

func (d peersDoc) write(w io.Writer) {
	var t cli.Table
	t.Add("PEER", "MAY")
	for _, r := range d.Peers {
		who := called("user", r.ID, r.Name)
		if r.Group {
			who = called("group", r.ID, r.Name)
		}
		t.Add(who, mayText(r.Roles, r.Tenant))
	}
	t.Write(w, "")
	for _, u := range d.Users {
		fmt.Fprintf(w, "\n%s takes\n", called("user", u.UID, u.Name))
		var t cli.Table
		for _, use := range u.Uses {
			show := func(n uint64) string { return strconv.FormatUint(n, 10) }
			if use.What == "requests" || use.What == "answers" { // of which the bytes count
				show = cli.SizeText
			}
			t.Add(use.What, show(use.Used), fmt.Sprintf("of %s, all together %s", show(use.Share), show(use.Limit)))
		}
		t.Write(w, "  ")
	}
}

// mayText says what roles, for a tenant or not, are.
func mayText(roles []string, tenant string) string {
	if len(roles) == 0 {
		roles = []string{"connect"}
	}
	text := strings.Join(roles, ", ")
	if tenant != "" {
		text += " of the tenant " + strconv.Quote(tenant)
	}
	return text
}

// called names a user or a group, by number and, where there is one, name.
func called(kind string, id uint32, name string) string {
	if name == "" {
		return fmt.Sprintf("%s %d", kind, id)
	}
	return fmt.Sprintf("%s %d (%s)", kind, id, name)
}

// userName returns the name of a user, "" if the system has none.
func userName(uid uint32) string {
	u, err := user.LookupId(strconv.FormatUint(uint64(uid), 10))
	if err != nil {
		return ""
	}
	return u.Username
}

// groupName returns the name of a group, "" if the system has none.
func groupName(gid uint32) string {
	g, err := user.LookupGroupId(strconv.FormatUint(uint64(gid), 10))
	if err != nil {
		return ""
	}
	return g.Name
}
