package group

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/keys"
)

// Cases of what a second implementation could read otherwise.

// Who is a member where an op stands is not a question of its ancestors only: a removal
// beside it counts too, as it does for the right of its signer.
func TestWhatIsBesideCountsWhereAnOpStands(t *testing.T) {
	w, z := newCase(t, "namespace")
	m := w.op("Z", added("M", codec.Member), z)
	made := w.root("Z", groupCreated("Z", sub, root), m)
	beside := w.in(sub, "Z", added("M", codec.Member), made)
	bits := w.op("Z", caps("M", codec.ManageAliases), made)
	w.requireVerdict(effective, beside)
	w.requireVerdict(effective, bits)
	w.op("Z", removed("M"), made)
	w.requireVerdict(void(NotInNamespace), beside)
	w.requireVerdict(skipped(NotMember), bits)

	// the admin identity that has been given away beside a removal is none for it
	w, z = newCase(t, "admin identity")
	k := w.op("Z", added("K", codec.Admin), z)
	removal := w.op("K", removed("Z"), k)
	w.requireVerdict(void(AdminIdentity), removal)
	w.op("Z", transferred("K"), k)
	w.requireVerdict(effective, removal)
	w.requireRoster("K*", "ZK")
}

// A leaving ends every right that its signer has there, those with which the membership
// came among them.
func TestLeavingEndsTheDefaultsToo(t *testing.T) {
	w, z := newCase(t)
	d := w.op("Z", codec.GroupOp{Kind: codec.OpDefaultCapabilitiesSet, Capabilities: codec.ManageAliases}, z)
	m := w.op("Z", added("M", codec.Member), d)
	w.requireRoster("Z* M20", "ZM")
	beside := w.op("M", named("x"), m)
	w.requireVerdict(effective, beside)
	w.op("M", left, m)
	w.requireVerdict(void(Revoked), beside)
	w.requireRoster("Z*", "ZM")
}

// Of what is about somebody who is no member, only giving a capability is skipped.
func TestOpsAboutNobodyAreEffective(t *testing.T) {
	w, z := newCase(t)
	c := w.op("Z", codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: codec.ContextID{7}}, z)
	for _, body := range []codec.GroupOp{
		{Kind: codec.OpMemberAliasSet, Member: who("X"), Name: codec.Some(codec.AliasName("x"))},
		{Kind: codec.OpContextCapabilitySet, ContextID: codec.ContextID{7}, Member: who("X"), Capability: codec.Some(codec.ContextCapability(1))},
		roleSet("X", codec.ReadOnly), removed("X"), caps("X", 0),
	} {
		w.requireVerdict(effective, w.op("Z", body, c))
	}
	w.requireVerdict(skipped(NotMember), w.op("Z", caps("X", codec.ManageAliases), c))
	w.requireRoster("Z*", "ZX")
	// the role that was set is the one that X begins to have
	w.op("Z", roleSet("X", codec.Admin))
	w.requireRoster("Z* X+", "ZX")
	w.op("Z", roleSet("X", codec.Member), w.heads()...)
	w.requireRoster("Z* X", "ZX")
}

// Names stay when their holders go, and are theirs when they come back.
func TestNamesOutliveARemoval(t *testing.T) {
	w, z := newCase(t)
	m := w.op("Z", added("M", codec.Member), z)
	n := w.op("M", codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: who("M"), Name: codec.Some(codec.AliasName("em"))}, m)
	gone := w.op("Z", removed("M"), n)
	rows := map[string][]byte{}
	for _, row := range w.result().Rows {
		rows[string(row.Key)] = row.Value
	}
	require.NotNil(t, get(t, rows, keys.GroupMemberAlias{Group: root, Identity: who("M")}))
	w.requireVerdict(skipped(NameTaken), w.op("Z", codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: who("Z"), Name: codec.Some(codec.AliasName("em"))}, gone))
}

// 0x29 is there once it was set, also to nothing, and not before.
func TestDefaultsHaveARowOnceSet(t *testing.T) {
	has := func(w *world) bool {
		rows := map[string][]byte{}
		for _, row := range w.result().Rows {
			rows[string(row.Key)] = row.Value
		}
		return get(t, rows, keys.GroupDefaultCaps{Group: root}) != nil
	}
	w, z := newCase(t)
	require.False(t, has(w))
	w.op("Z", codec.GroupOp{Kind: codec.OpDefaultCapabilitiesSet}, z)
	require.True(t, has(w))
}

// Where several reasons hold, the right of the signer comes first, then the admin
// identity, the namespace, the invitation; and after all of them what rows forbid.
func TestOneReasonOfSeveralIsGiven(t *testing.T) {
	w, z := newCase(t)
	k := w.op("Z", added("K", codec.Member), z)
	made := w.root("Z", groupCreated("Z", sub, root), k)
	w.requireVerdict(void(NoRight), w.in(sub, "K", added("X", codec.Member), made))
	w.requireVerdict(void(NoRight), w.op("K", removed("Z"), made))
	w.requireVerdict(void(NotInNamespace), w.in(sub, "Z", added("X", codec.Member), made))
	join := joined("Z", "X", sub, codec.Member, 1)
	w.requireVerdict(void(NoRight), w.root("K", join, made)) // the one who admits is no member of sub
	end := w.root("Z", revoked(t, join), made)
	w.requireVerdict(void(NotInNamespace), w.root("Z", join, end)) // and not: invitation revoked
	gone := w.root("Z", codec.RootOp{Kind: codec.RootGroupDeleted, GroupID: sub}, end)
	w.requireVerdict(void(NotInNamespace), w.in(sub, "Z", added("X", codec.Member), gone)) // and not: no such group
	w.requireVerdict(skipped(NoGroup), w.in(sub, "Z", caps("X", codec.ManageAliases), gone))
}

// A revocation of an invitation counts by the grant under which it is made: against what
// the join gives, not against the one who invites.
func TestRevocationThatTheJoinOutranksDoesNothing(t *testing.T) {
	w, z := newCase(t)
	k := w.op("Z", added("K", codec.Admin), z)
	m := w.op("Z", added("M", codec.Member), k)
	may := w.op("Z", caps("M", codec.ManageMembers), m)
	asAdmin, asMember := joined("K", "A", root, codec.Admin, 1), joined("K", "B", root, codec.Member, 2)
	w.requireVerdict(effective, w.root("M", revoked(t, asAdmin), may))
	w.requireVerdict(effective, w.root("M", revoked(t, asMember), may))
	w.requireVerdict(effective, w.root("K", asAdmin, may))
	w.requireVerdict(void(Withdrawn), w.root("K", asMember, may))
	// and what is named as another group's does not count either
	third := joined("K", "C", root, codec.Member, 3)
	elsewhere := revoked(t, third)
	elsewhere.GroupID = sub
	made := w.root("Z", groupCreated("Z", sub, root), may)
	w.root("Z", elsewhere, made)
	w.requireVerdict(effective, w.root("K", third, made))
}

// Who admits has to be a member, and of an Admin an Admin: a capability is not enough,
// nor is being a member of another group.
func TestWhoAdmitsIsOneOfTheGroup(t *testing.T) {
	w, z := newCase(t)
	k := w.op("Z", added("K", codec.Admin), z)
	m := w.op("Z", added("M", codec.ReadOnly), k)
	made := w.root("Z", groupCreated("Z", sub, root), m)
	in := w.in(sub, "Z", added("M", codec.Member), made)
	w.requireVerdict(effective, w.root("M", joined("K", "A", root, codec.Member, 1), in))
	w.requireVerdict(void(NoRight), w.root("M", joined("K", "A", root, codec.Admin, 2), in))
	w.requireVerdict(void(NoRight), w.root("K", joined("Z", "M", sub, codec.Member, 3), in))
}

// Root ops that only members may make, whoever else can send them.
func TestMembersMergeAndDeliver(t *testing.T) {
	w, z := newCase(t)
	m := w.op("Z", added("M", codec.ReadOnly), z)
	made := w.root("Z", groupCreated("Z", sub, root), m)
	w.requireVerdict(effective, w.root("M", codec.RootOp{Kind: codec.RootMerge}, made))
	w.requireVerdict(void(NoRight), w.root("X", codec.RootOp{Kind: codec.RootMerge}, made))
	w.requireVerdict(effective, w.root("M", codec.RootOp{Kind: codec.RootKeyDelivery, GroupID: root}, made))
	w.requireVerdict(void(NoRight), w.root("M", codec.RootOp{Kind: codec.RootKeyDelivery, GroupID: sub}, made))
	w.requireVerdict(effective, w.root("Z", codec.RootOp{Kind: codec.RootKeyDelivery, GroupID: sub}, made))
	w.requireVerdict(effective, w.root("M", codec.RootOp{Kind: codec.RootKeyDelivered, GroupID: root}, made))
	w.requireVerdict(void(NoRight), w.root("M", codec.RootOp{Kind: codec.RootKeyDelivered, GroupID: sub}, made))
	w.requireVerdict(effective, w.op("M", codec.GroupOp{Kind: codec.OpKeyRotated}, made))
}

// Ids of nothing but zeros are ids as others.
func TestZeroIdsAreIds(t *testing.T) {
	w, z := newCase(t)
	c := w.op("Z", codec.GroupOp{Kind: codec.OpContextRegistered}, z)
	w.requireVerdict(effective, c)
	w.op("Z", codec.GroupOp{Kind: codec.OpContextAliasSet, Name: codec.Some(codec.AliasName("c"))}, c)
	w.op("Z", codec.GroupOp{Kind: codec.OpContextJoined, Identity: who("Z")})
	w.requireVerdict(void(NoRight), w.in(codec.GroupID{}, "Z", left))
	require.Len(t, w.result().Claims, 1)
}

// A group whose creator has created it twice is one, with the rank of the first by
// (height, id), in whatever order the two come.
func TestRepeatedCreationHasTheRankOfTheFirst(t *testing.T) {
	w, z := newCase(t)
	k := w.op("Z", added("K", codec.Admin), z)
	high := k
	for range 4 {
		high = w.root("Z", codec.RootOp{Kind: codec.RootMerge}, high)
	}
	late := w.root("Z", groupCreated("Z", sub, root), high)
	early := w.root("Z", groupCreated("Z", sub, root), k)
	given := w.in(sub, "Z", transferred("K"), early)
	w.requireVerdict(effective, early)
	w.requireVerdict(skipped(Exists), late)
	w.requireVerdict(effective, given)
	require.Equal(t, "Z+ K*", w.result().roster(t, sub, "ZK"))
}
