package group

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
)

// joined is the op by which somebody joins a group on an invitation.
func joined(inviter, member string, g codec.GroupID, role codec.GroupMemberRole, expires uint64) codec.RootOp {
	return codec.RootOp{Kind: codec.RootMemberJoined, Member: who(member), Invitation: codec.Invitation{NamespaceID: root,
		GroupID: g, Role: role, Inviter: who(inviter), ExpiresAt: expires}}
}

func revoked(t *testing.T, r codec.RootOp) codec.RootOp {
	id, err := InvitationID(&r.Invitation)
	require.NoError(t, err)
	return codec.RootOp{Kind: codec.RootInvitationRevoked, GroupID: r.Invitation.GroupID, InvitationID: id}
}

// invitingWorld has an Admin K and a member I who may invite, who is the op last.
func invitingWorld(t *testing.T, variant ...string) (w *world, last codec.OpID) {
	w, z := newCase(t, variant...)
	k := w.op("Z", added("K", codec.Admin), z)
	i := w.op("K", added("I", codec.Member), k)
	m := w.op("K", added("M", codec.Member), i)
	return w, w.op("K", caps("I", codec.InviteMembers), m)
}

func TestJoinIsEffectiveUnderTheInvitersGrant(t *testing.T) {
	w, last := invitingWorld(t)
	join := w.root("M", joined("I", "J", root, codec.Member, 5), last)
	w.requireVerdict(effective, join)
	w.requireRoster("J", "J")
	w.requireVerdict(void(NoRight), w.root("I", joined("M", "X", root, codec.Member, 5), last))
	w.requireVerdict(void(NoRight), w.root("I", joined("I", "X", root, codec.Admin, 5), last))
	w.requireVerdict(void(NoRight), w.root("stranger", joined("I", "X", root, codec.Member, 6), last))
	w.requireVerdict(void(NoRight), w.root("I", joined("K", "X", root, codec.Admin, 6), last))
	w.requireVerdict(effective, w.root("K", joined("K", "X", root, codec.Admin, 7), last))
	w.op("Z", removed("I"), last)
	w.requireVerdict(void(Revoked), join)
}

// The admitting member's clock said that the invitation was still good: no other clock
// is asked, whatever is delivered first.
func TestJoinThatStraddlesTheExpiryIsOneThing(t *testing.T) {
	for _, expires := range []uint64{0, 1, 1 << 63} {
		w, last := invitingWorld(t, fmt.Sprint(expires))
		join := w.root("M", joined("I", "J", root, codec.Member, expires), last)
		w.op("J", left, join)
		w.requireVerdict(effective, join)
	}
}

func TestInvitationIsUsedOnceAmongAncestors(t *testing.T) {
	w, last := invitingWorld(t)
	first := w.root("M", joined("I", "J", root, codec.Member, 5), last)
	w.requireVerdict(void(Consumed), w.root("M", joined("I", "L", root, codec.Member, 5), first))
	w.requireVerdict(effective, w.root("I", joined("I", "X", root, codec.Member, 5), last))
	w.requireVerdict(effective, first)
	w.requireRoster("J X", "JLX")
}

func TestRevokedInvitationAdmitsNobody(t *testing.T) {
	w, last := invitingWorld(t)
	join := joined("I", "J", root, codec.Member, 5)
	before := w.root("M", join, last)
	w.root("K", revoked(t, join), before)
	w.requireVerdict(effective, before)
	w.requireVerdict(void(Consumed), w.root("M", join))
	// one that nobody used: neither after its revocation nor beside it
	other := joined("I", "X", root, codec.Member, 6)
	end := w.root("K", revoked(t, other), last)
	w.requireVerdict(void(Withdrawn), w.root("M", other, end))
	w.requireVerdict(void(Withdrawn), w.root("I", other, last))
	// who may not revoke it, does not
	third := joined("I", "Y", root, codec.Member, 7)
	w.requireVerdict(void(NoRight), w.root("M", revoked(t, third), last))
	w.requireVerdict(effective, w.root("M", third, last))
}

// Someone removed may still hold an invitation, and back-date its use.
func TestRemovedMemberAdmitsNobody(t *testing.T) {
	w, last := invitingWorld(t)
	w.op("K", removed("M"), last)
	w.requireVerdict(void(Revoked), w.root("M", joined("I", "J", root, codec.Member, 5), last))
	w.requireRoster("", "J")
}

// An invitation to a group that was deleted meanwhile admits nobody, and takes nothing down.
func TestJoinToAGroupThatIsGoneMeanwhileChangesNothing(t *testing.T) {
	w, z := newWorld(t)
	last := w.op("Z", added("K", codec.Admin), w.op("Z", added("M", codec.Member), z))
	made := w.root("Z", groupCreated("Z", groupNo(1), root), last)
	w.root("Z", codec.RootOp{Kind: codec.RootGroupDeleted, GroupID: groupNo(1)}, made)
	later := w.op("K", named("x"), made)
	w.requireVerdict(skipped(NoGroup), w.root("Z", joined("Z", "M", groupNo(1), codec.Member, 5), later))
	require.Nil(t, w.result().Members(groupNo(1)))
}
