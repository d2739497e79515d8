// Package access says what each peer of a daemon may do. Start at [Table]: it has the
// [Rights] of users and of groups, as `stoa serve --peer` and the flags beside it say, and
// is asked once for each connection. Every operation names the [Role] that it takes where
// package rpc describes it.
package access

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Role is what a peer may do, or several of that.
type Role uint8

// The roles. None includes another.
const (
	// Reader reads what is nobody's: rows, contexts, governance, blobs, and what tenants
	// have to whom no peer is bound; but no secrets.
	Reader Role = 1 << iota
	// Writer changes what is nobody's, and hands on what other nodes have signed.
	Writer
	// Signer acts as this node: it proposes, admits, invites, and commits.
	Signer
	// Secrets reads and writes secrets: identities and the keys of groups.
	Secrets
	// Operator runs the daemon and the store: copies, compaction, tenants, what is dropped
	// whole. A Reader or a Writer who is one is so for every tenant.
	Operator

	// All is every role.
	All = Reader | Writer | Signer | Secrets | Operator

	// Anyone is what every peer has who may connect.
	Anyone Role = 1 << 7
)

var roleNames = []string{"reader", "writer", "signer", "secrets", "operator"}

// Names returns the names of the roles in r, in order.
func (r Role) Names() []string {
	names := []string{}
	for i, name := range roleNames {
		if r&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// String returns the names with commas between them; "none" for no role.
func (r Role) String() string {
	if r == 0 {
		return "none"
	}
	return strings.Join(r.Names(), ",")
}

// Rights are what a peer may do. The zero Rights are of one who may connect, and ask how the
// daemon is.
type Rights struct {
	Roles Role
	// Tenant is whom the peer is bound to, "" for nobody: its roles, of which it has none but
	// Reader and Writer, are for what that tenant has, and for nothing else.
	Tenant string
}

// May reports whether the peer has all roles in need.
func (r Rights) May(need Role) bool { return (r.Roles|Anyone)&need == need }

// Runs reports whether the peer may do everything with every tenant, as operators may.
func (r Rights) Runs() bool { return r.Tenant == "" && r.May(Operator) }

// Everything reports whether the peer may do all that there is to do.
func (r Rights) Everything() bool { return r.Tenant == "" && r.May(All) }

// String returns the rights as Parse takes them.
func (r Rights) String() string {
	if r.Tenant == "" {
		return r.Roles.String()
	}
	if r.Roles == Reader|Writer {
		return tenantWord + r.Tenant
	}
	return tenantWord + r.Tenant + "," + r.Roles.String()
}

const tenantWord = "tenant:"

// ErrRights is returned for words that are no rights, and for rights that don't go together.
var ErrRights = errors.New("access: bad rights")

// Parse returns what words with commas between them say: reader, writer, signer, secrets,
// operator, all, none, or tenant:NAME, which is reader and writer of that tenant unless one of the
// two stands beside it.
func Parse(text string) (Rights, error) {
	var r Rights
	for word := range strings.SplitSeq(text, ",") {
		name, bound := strings.CutPrefix(word, tenantWord)
		i := slices.Index(roleNames, word)
		switch {
		case bound && name != "" && (r.Tenant == "" || r.Tenant == name):
			r.Tenant = name
		case bound && name != "":
			return Rights{}, fmt.Errorf("%w: two tenants, %q and %q", ErrRights, r.Tenant, name)
		case i >= 0:
			r.Roles |= 1 << i
		case word == "all":
			r.Roles |= All
		case word != "none":
			return Rights{}, fmt.Errorf("%w: %q is none of %s, all, none and tenant:NAME", ErrRights, word, strings.Join(roleNames, ", "))
		}
	}
	if r.Tenant != "" && r.Roles == 0 {
		r.Roles = Reader | Writer
	}
	return r, r.check()
}

func (r Rights) check() error {
	if more := r.Roles &^ (Reader | Writer); r.Tenant != "" && more != 0 {
		return fmt.Errorf("%w: who is bound to a tenant may be reader and writer of it, and not %s", ErrRights, more)
	}
	return nil
}

// and returns the rights of one who has r and more.
func (r Rights) and(more Rights) (Rights, error) {
	if r.Tenant != more.Tenant {
		return Rights{}, fmt.Errorf("%w: %s and %s: who is bound to a tenant is so for everything", ErrRights, r, more)
	}
	return Rights{r.Roles | more.Roles, r.Tenant}, nil
}

// Table has the rights of peers. One that is in it by its user has those; others have what
// the groups of their process have together. The zero Table lets nobody connect. It is
// not changed once it is used.
type Table struct {
	users, groups map[uint32]Rights
	tenants       map[string]bool // to whom any of them is bound
}

// User gives rights to a user, beside those that it has. It returns ErrRights where they
// don't go together.
func (t *Table) User(uid uint32, r Rights) error { return t.give(&t.users, uid, r) }

// Group gives rights to the processes that have a group, as their own or a supplementary one;
// see [Table.User].
func (t *Table) Group(gid uint32, r Rights) error { return t.give(&t.groups, gid, r) }

func (t *Table) give(all *map[uint32]Rights, id uint32, r Rights) error {
	if err := r.check(); err != nil {
		return err
	}
	if had, ok := (*all)[id]; ok {
		var err error
		if r, err = had.and(r); err != nil {
			return err
		}
	}
	if *all == nil {
		*all = make(map[uint32]Rights)
	}
	(*all)[id] = r
	if r.Tenant != "" {
		if t.tenants == nil {
			t.tenants = make(map[string]bool)
		}
		t.tenants[r.Tenant] = true
	}
	return nil
}

// Of returns the rights of a process. ok is false for one who may not connect. It returns
// ErrRights where its groups have rights that don't go together.
func (t *Table) Of(uid, gid uint32, groups []uint32) (r Rights, ok bool, err error) {
	if r, ok := t.users[uid]; ok {
		return r, true, nil
	}
	for _, gid := range append([]uint32{gid}, groups...) {
		of, in := t.groups[gid]
		switch {
		case !in:
			continue
		case !ok:
			r, ok = of, true
		default:
			if r, err = r.and(of); err != nil {
				return Rights{}, false, fmt.Errorf("%w, by its groups", err)
			}
		}
	}
	return r, ok, nil
}

// Bound reports whether a peer is bound to a tenant.
func (t *Table) Bound(tenant string) bool { return t.tenants[tenant] }

// Binds reports whether any peer is bound to a tenant.
func (t *Table) Binds() bool { return len(t.tenants) > 0 }

// Row is a line of a Table.
type Row struct {
	Group  bool   // ID is a gid
	ID     uint32 // a uid
	Rights Rights
}

// Rows returns the lines of the table, users first, in the order of their numbers.
func (t *Table) Rows() []Row {
	var rows []Row
	for _, uid := range slices.Sorted(maps.Keys(t.users)) {
		rows = append(rows, Row{ID: uid, Rights: t.users[uid]})
	}
	for _, gid := range slices.Sorted(maps.Keys(t.groups)) {
		rows = append(rows, Row{Group: true, ID: gid, Rights: t.groups[gid]})
	}
	return rows
}
