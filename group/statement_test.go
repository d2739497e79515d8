package group

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/keys"
)

// second has the ops that follow be of version 2.
func (w *world) second() { w.version = codec.OpVersion2 }

func stated(g codec.GroupID, admin string, members ...codec.StatedMember) codec.RootOp {
	s := codec.RootOp{Kind: codec.RootAuthorityStated, GroupID: g, Members: members}
	if admin != "" {
		s.AdminIdentity = who(admin)
	}
	return s
}

func as(name string, role codec.GroupMemberRole, caps codec.Capabilities) codec.StatedMember {
	return codec.StatedMember{Member: who(name), Role: role, Capabilities: caps}
}

func (w *world) state(name string, parents []codec.OpID, s codec.RootOp) codec.OpID {
	w.second()
	return w.root(name, s, parents...)
}

// What is stated takes the place of what version 1 has given: who is not named is no member,
// and what version 1 has beside it is void.
func TestAuthorityIsStated(t *testing.T) {
	w, z := newCase(t)
	k := w.op("Z", added("K", codec.Admin), z)
	l := w.op("K", added("L", codec.Admin), k)
	m := w.op("L", added("M", codec.Member), l)
	a := w.op("L", added("A", codec.Member), m)
	beside := w.op("L", added("X", codec.Member), a)
	by := w.state("Z", []codec.OpID{a}, stated(root, "Z", as("K", codec.Admin, 0), as("L", codec.Admin, 0), as("M", codec.ReadOnly, codec.ManageAliases)))
	w.requireVerdict(effective, by)
	w.requireVerdict(void(Revoked), beside)
	w.requireRoster("Z* K+ L+ M-20", "ZKLMAX")
	w.requireVerdict(effective, w.op("K", removed("M"), by))
	w.requireVerdict(effective, w.op("K", roleSet("L", codec.Member), by))
	w.requireVerdict(void(Revoked), w.op("A", left, by))
}

// Two may stand as the admin identity, where who is it by an op of version 2 states another:
// the row names the one that ranks first, whatever the order of arrival.
func TestTheAdminIdentityThatRanksFirstIsInTheRow(t *testing.T) {
	w, z := newCase(t)
	k := w.op("Z", added("K", codec.Admin), z)
	l := w.op("Z", added("L", codec.Admin), k)
	w.second()
	made := w.root("Z", groupCreated("Z", groupNo(1), root), l)
	w.state("Z", []codec.OpID{made}, stated(groupNo(1), "K"))
	w.state("Z", []codec.OpID{made}, stated(groupNo(1), "L"))
	for range 20 { // what is in a map comes in any order
		for _, r := range w.result().Rows {
			if i, err := keys.Identify(column.Group, r.Key); err == nil && i.Tag == 0x20 && codec.GroupID(r.Key[1:]) == groupNo(1) {
				v, err := codec.GroupMetaValue{}.Decode(r.Value)
				require.NoError(t, err)
				require.Equal(t, who("Z"), v.AdminIdentity)
			}
		}
	}
}

// Of those whom one op states, who comes first ranks above.
func TestStatedMembersRankAsTheyStand(t *testing.T) {
	w, z := newCase(t)
	k := w.op("Z", added("K", codec.Admin), z)
	l := w.op("Z", added("L", codec.Admin), k)
	by := w.state("Z", []codec.OpID{l}, stated(root, "Z", as("L", codec.Admin, 0), as("K", codec.Admin, 0)))
	down := w.op("K", removed("L"), by)
	up := w.op("L", removed("K"), by)
	w.requireVerdict(effective, up)
	w.requireVerdict(void(Revoked), down)
}

// An Admin states what is below it, and nothing above; a member nothing.
func TestAdminsStateWhatIsBelowThem(t *testing.T) {
	w, z := newCase(t)
	k := w.op("Z", added("K", codec.Admin), z)
	l := w.op("Z", added("L", codec.Admin), k)
	m := w.op("Z", added("M", codec.Member), l)
	w.requireVerdict(void(NoRight), w.state("L", []codec.OpID{m}, stated(root, "L")))
	w.requireVerdict(void(NoRight), w.state("M", []codec.OpID{m}, stated(root, "", as("M", codec.ReadOnly, 0))))
	by := w.state("K", []codec.OpID{m}, stated(root, "", as("M", codec.ReadOnly, 0)))
	w.requireVerdict(effective, by)
	w.requireRoster("Z* K+ M-", "ZKLM")
}

// A group is stated by who is an Admin there, and the others stay as they are.
func TestGroupsAreStatedByTheirAdmins(t *testing.T) {
	w, z := newCase(t)
	k := w.op("Z", added("K", codec.Admin), z)
	g := w.root("K", groupCreated("K", sub, root), k)
	m := w.op("Z", added("M", codec.Member), g)
	in := w.in(sub, "K", added("M", codec.Admin), m)
	w.requireVerdict(void(NoRight), w.state("Z", []codec.OpID{in}, stated(sub, "Z")))
	by := w.state("Z", []codec.OpID{in}, stated(root, "Z", as("K", codec.Admin, 0), as("M", codec.Member, 0)))
	require.Equal(t, "K* M+", w.result().roster(t, sub, "ZKM"))
	later := w.state("K", []codec.OpID{by}, stated(sub, "K"))
	w.requireVerdict(effective, later)
	require.Equal(t, "K*", w.result().roster(t, sub, "ZKM"))
}

// Who is no member of the namespace is none of a group below, whatever is stated.
func TestWhoIsStatedBelowIsOfTheNamespace(t *testing.T) {
	w, z := newCase(t)
	m := w.op("Z", added("M", codec.Member), z)
	g := w.root("Z", groupCreated("Z", sub, root), m)
	by := w.state("Z", []codec.OpID{g}, stated(sub, "Z", as("M", codec.Member, codec.ManageAliases), as("A", codec.Admin, 0)))
	w.requireVerdict(effective, by)
	require.Equal(t, "Z* M20", w.result().roster(t, sub, "ZMA"))
	w.requireVerdict(effective, w.op("Z", removed("M"), g))
	require.Equal(t, "Z*", w.result().roster(t, sub, "ZMA"))
}

// What version 2 has given is not stated anew, and stays as it is.
func TestAStatementTakesThePlaceOfVersion1Alone(t *testing.T) {
	w, z := newCase(t)
	m := w.op("Z", added("M", codec.Member), z)
	first := w.state("Z", []codec.OpID{m}, stated(root, "Z", as("M", codec.Member, 0)))
	k := w.op("Z", added("K", codec.Member), first)
	second := w.state("Z", []codec.OpID{first}, stated(root, "Z"))
	w.requireVerdict(effective, k)
	w.requireVerdict(effective, second)
	w.requireRoster("Z* M K", "ZMK")
}

// Who names no admin identity stays it, if they are.
func TestAStatementThatNamesNoAdminIdentityTakesNone(t *testing.T) {
	w, z := newCase(t)
	m := w.op("Z", added("M", codec.Member), z)
	beside := w.op("Z", added("K", codec.Member), m)
	by := w.state("Z", []codec.OpID{m}, stated(root, "", as("M", codec.Member, 0)))
	w.requireVerdict(effective, by)
	w.requireVerdict(effective, beside)
	w.requireRoster("Z* M", "ZMK")
}
