package group

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
)

// K and L are admins under Z. L promotes B, K promotes A, K promotes B again. A, who
// has seen the second and third, removes B, while B, who has seen the first and
// second, removes A.
func TestMutualRemovalHasOneOutcome(t *testing.T) {
	w, z := newCase(t)
	w.ties = true
	k := w.op("Z", added("K", codec.Admin), z)
	l := w.op("Z", added("L", codec.Admin), k)
	a := w.op("Z", added("A", codec.Member), l)
	b := w.op("Z", added("B", codec.Member), a)
	first := w.op("L", roleSet("B", codec.Admin), b)
	second := w.op("K", roleSet("A", codec.Admin), b)
	third := w.op("K", roleSet("B", codec.Admin), second)
	byA := w.op("A", removed("B"), third)
	byB := w.op("B", removed("A"), first, second)
	r := w.result()
	require.NotEqual(t, r.Verdicts[byA].Outcome == Effective, r.Verdicts[byB].Outcome == Effective)
	roster := r.roster(t, root, "ZKLAB")
	require.Contains(t, []string{"Z* K+ L+ A+", "Z* K+ L+ B+"}, roster)
	// which it is, is for the ranks of the first two to say: their heights are equal
	if string(first[:]) < string(second[:]) {
		require.Equal(t, "Z* K+ L+ B+", roster)
	} else {
		require.Equal(t, "Z* K+ L+ A+", roster)
	}
}

func TestBackDatedOpOfARemovedAdminChangesNothing(t *testing.T) {
	w, z := newCase(t)
	k := w.op("Z", added("K", codec.Admin), z)
	m := w.op("Z", added("M", codec.Member), k)
	w.op("Z", removed("K"), m)
	before := w.result()
	for _, op := range []codec.GroupOp{removed("M"), added("X", codec.Member), roleSet("M", codec.Admin), caps("M", codec.ManageMembers), named("k")} {
		old := w.op("K", op, k) // an old nonce, low height
		w.requireVerdict(void(Revoked), old)
	}
	after := w.result()
	require.Equal(t, before.roster(t, root, "ZKMX"), after.roster(t, root, "ZKMX"))
	require.Len(t, after.Equivocations, 1)
	require.Equal(t, 5, after.Equivocations[0].Count)
}

// An op is void until the revocation that struck its signer is itself voided: it is
// then effective, on every node.
func TestVoidUntilTheRevocationIsVoided(t *testing.T) {
	w, z := newCase(t)
	k := w.op("Z", added("K", codec.Admin), z)
	l := w.op("Z", added("L", codec.Admin), k)
	byL := w.op("L", added("X", codec.Member), l)
	removal := w.op("K", removed("L"), l)
	w.requireVerdict(effective, removal)
	w.requireVerdict(void(Revoked), byL)
	w.requireRoster("Z* K+", "ZKLX")
	w.op("Z", removed("K"), l) // concurrent to both
	w.requireVerdict(void(Revoked), removal)
	w.requireVerdict(effective, byL)
	w.requireRoster("Z* L+ X", "ZKLX")
}

func TestOldAdminCannotBackDateAfterTheTransfer(t *testing.T) {
	w, z := newCase(t)
	k := w.op("Z", added("K", codec.Admin), z)
	transfer := w.op("Z", transferred("K"), k)
	w.requireRoster("Z+ K*", "ZK")
	old := w.op("Z", added("X", codec.Admin), k)
	w.requireVerdict(void(Revoked), old)
	again := w.op("Z", transferred("X"), k, old)
	w.requireVerdict(void(Revoked), again)
	w.requireVerdict(effective, transfer)
	// as an Admin, which the transfer made it anew, Z may still act
	w.requireVerdict(effective, w.op("Z", added("M", codec.Member), transfer))
	w.requireRoster("Z+ K* M", "ZKXM")
	w.requireVerdict(void(Revoked), w.op("Z", transferred("M"), transfer))
}

// What a grant's own holder signs twice is for the order by (height, id) to settle, as
// nothing above it can: of two transfers the first counts, though it came later. It is
// reported.
func TestOfTwoTransfersTheFirstCounts(t *testing.T) {
	w, z := newCase(t)
	k := w.op("Z", added("K", codec.Admin), z)
	l := w.op("Z", added("L", codec.Admin), k)
	late := w.op("Z", transferred("L"), l)
	w.requireRoster("Z+ K+ L*", "ZKL")
	early := w.op("Z", transferred("K"), k)
	r := w.requireRoster("Z+ K*", "ZKL")
	require.Equal(t, effective, r.Verdicts[early])
	require.Equal(t, void(Revoked), r.Verdicts[late])
	require.Len(t, r.Equivocations, 1)
	require.Equal(t, who("Z"), r.Equivocations[0].Signer)
}

func TestAdminIdentityIsTheLastAdmin(t *testing.T) {
	w, z := newCase(t)
	w.beginVersion2()
	k := w.op("Z", added("K", codec.Admin), z)
	w.requireVerdict(void(AdminIdentity), w.op("Z", left, k))
	w.requireVerdict(void(AdminIdentity), w.op("K", removed("Z"), k))
	w.requireVerdict(void(AdminIdentity), w.op("K", roleSet("Z", codec.Member), k))
	w.requireVerdict(void(AdminIdentity), w.op("Z", removed("Z"), k))
	w.requireRoster("Z* K+", "ZK")
	// who becomes it is safe from a removal that did not know
	w.op("Z", added("L", codec.Admin), k)
	w.op("Z", transferred("K"))
	w.op("L", removed("K"), w.ops[len(w.ops)-2].ID)
	require.Contains(t, w.result().roster(t, root, "ZKL"), "K*")
}

func TestLeaving(t *testing.T) {
	w, z := newCase(t)
	m := w.op("Z", added("M", codec.Member), z)
	bits := w.op("Z", caps("M", codec.ManageAliases), m)
	leaving := w.op("M", left, m)
	w.requireVerdict(effective, leaving)
	w.requireRoster("Z*", "ZM")
	w.requireVerdict(skipped(NotMember), bits)
	w.requireVerdict(void(NoRight), w.op("M", named("x"), bits))
	w.requireVerdict(void(Revoked), w.op("M", left, leaving))
	back := w.op("Z", added("M", codec.ReadOnly), leaving)
	w.requireRoster("Z* M-", "ZM")
	w.requireVerdict(effective, w.op("M", left, back))
}

// A leaving that a removal beside it made void strikes nothing: what its signer did
// before the removal stays.
func TestVoidLeavingStrikesNothing(t *testing.T) {
	w, z := newCase(t)
	m := w.op("Z", added("M", codec.Member), z)
	named := w.op("M", codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: who("M"), Name: codec.Some(codec.AliasName("m"))}, m)
	removal := w.op("Z", removed("M"), named)
	leaving := w.op("M", left, m)
	r := w.result()
	require.Equal(t, void(Revoked), r.Verdicts[leaving])
	require.Equal(t, effective, r.Verdicts[removal])
	require.Equal(t, effective, r.Verdicts[named])
}

// C, an Admin, leaves. Beside that stands what C did, or what lets C into a group below,
// and on top of it a lower Admin D removes C. The leaving is under C's standing as Admin,
// which outranks all that D can do: it ends C's membership, whatever D does.
func TestLeavingOfAnAdminOutranksALaterRemoval(t *testing.T) {
	for _, what := range []string{"an op", "a group below", "nothing above"} {
		w, z := newCase(t, what)
		c := w.op("Z", added("C", codec.Admin), z)
		d := w.op("Z", added("D", codec.Admin), c)
		made := w.root("Z", groupCreated("Z", sub, root), d)
		leaving := w.op("C", left, made)
		var beside codec.OpID
		if what == "a group below" {
			beside = w.in(sub, "Z", added("C", codec.Member), made)
		} else {
			beside = w.op("C", codec.GroupOp{Kind: codec.OpKeyRotated}, made)
		}
		var removal codec.OpID
		if what != "nothing above" {
			removal = w.op("D", removed("C"), beside)
			w.requireVerdict(effective, removal)
		}
		w.requireVerdict(effective, leaving)
		want := void(Revoked)
		if what == "a group below" {
			want = void(NotInNamespace)
		}
		w.requireVerdict(want, beside)
		w.requireRoster("Z* D+", "ZCD")
		require.Empty(t, w.result().roster(t, sub, "C"))
	}
}

// So it is with a capability that is cleared on top of what was done with it: the leaving
// is under the membership, which came before it.
func TestLeavingEndsACapabilityThatIsClearedElsewhere(t *testing.T) {
	w, z := newCase(t)
	m := w.op("Z", added("M", codec.Member), z)
	d := w.op("Z", added("D", codec.Admin), m)
	bit := w.op("Z", caps("M", codec.ManageAliases), d)
	leaving := w.op("M", left, bit)
	beside := w.op("M", named("x"), bit)
	w.op("D", caps("M", 0), beside)
	w.requireVerdict(effective, leaving)
	w.requireVerdict(void(Revoked), beside)
}

// A removal by someone who outranks the one who leaves closes what came before it: a
// leaving that is signed beside it afterwards disowns nothing.
func TestRemovalFromAboveVoidsTheLeavingBesideIt(t *testing.T) {
	w, z := newCase(t)
	d := w.op("Z", added("D", codec.Admin), z)
	c := w.op("Z", added("C", codec.Admin), d)
	beside := w.op("C", named("x"), c)
	removal := w.op("D", removed("C"), beside)
	leaving := w.op("C", left, c)
	w.requireVerdict(void(Revoked), leaving)
	w.requireVerdict(effective, beside)
	w.requireVerdict(effective, removal)
	// and where it demotes only, the leaving ends the membership, not what the Admin did
	w, z = newCase(t, "demotion")
	d = w.op("Z", added("D", codec.Admin), z)
	c = w.op("Z", added("C", codec.Admin), d)
	beside = w.op("C", named("x"), c)
	w.op("D", roleSet("C", codec.Member), beside)
	leaving = w.op("C", left, c)
	w.requireVerdict(effective, leaving)
	w.requireVerdict(effective, beside)
	w.requireRoster("Z* D+", "ZCD")
}

// Nobody takes the role from an Admin who ranks above, or, but by leaving, from oneself.
func TestWhoRanksAboveIsNeitherRemovedNorDemoted(t *testing.T) {
	w, z := newCase(t)
	w.beginVersion2()
	k := w.op("Z", added("K", codec.Admin), z)
	l := w.op("Z", added("L", codec.Admin), k)
	m := w.op("Z", added("M", codec.Member), l)
	for _, by := range []string{"L", "K"} {
		for _, op := range []codec.GroupOp{removed("K"), severalRemoved("K", "M"), roleSet("K", codec.Member)} {
			w.requireVerdict(void(Outranked), w.op(by, op, m))
		}
	}
	w.requireRoster("Z* K+ L+ M", "ZKLM")
	w.requireVerdict(void(NoRight), w.op("M", removed("K"), m))
	// L can once the role is gone
	demotion := w.op("Z", roleSet("K", codec.Member))
	w.requireRoster("Z* K L+ M", "ZKLM")
	w.requireVerdict(effective, w.op("L", removed("K"), demotion))
	w.requireRoster("Z* L+ M", "ZKLM")
}

// A removal that does not know of the role leaves the membership that came with it: else whoever
// is taken into a group below for that role would be a member there, and none of the namespace,
// once it is taken away.
func TestTheMembershipOfAnAdminFallsWithTheRole(t *testing.T) {
	w, z := newCase(t)
	w.beginVersion2()
	m := w.op("Z", added("M", codec.Member), z)
	role := w.op("Z", roleSet("M", codec.Admin), m)
	below := w.root("Z", groupCreated("Z", sub, root), m)
	l := w.op("Z", added("L", codec.Admin), below)
	removal := w.op("L", removed("M"), l)
	w.requireVerdict(effective, removal)
	w.requireRoster("Z* L+ M+", "ZLM")
	w.requireVerdict(effective, w.in(sub, "Z", added("M", codec.Member), role, removal))
	w.op("Z", roleSet("M", codec.Member))
	w.requireRoster("Z* L+ M", "ZLM")
	require.Contains(t, w.result().Members(sub), who("M"))
	// and goes where the role is taken away beside the removal
	w, z = newCase(t, "or without the removal")
	w.beginVersion2()
	m = w.op("Z", added("M", codec.Admin), z)
	l = w.op("Z", added("L", codec.Admin), m)
	w.op("Z", roleSet("M", codec.Member), l)
	w.requireVerdict(effective, w.op("L", removed("M"), l))
	w.requireRoster("Z* L+", "ZLM")
}

func TestDemotion(t *testing.T) {
	w, z := newCase(t)
	k := w.op("Z", added("K", codec.Admin), z)
	l := w.op("Z", added("L", codec.Admin), k)
	demotion := w.op("K", roleSet("L", codec.ReadOnly), l)
	w.requireRoster("Z* K+ L-", "ZKL")
	w.requireVerdict(void(Revoked), w.op("L", named("x"), l))
	w.requireVerdict(void(Revoked), w.op("L", named("x"), demotion))
	// L ranks below K, and so cannot strike it
	w.op("L", removed("K"), l)
	w.requireRoster("Z* K+ L-", "ZKL")
	w.op("Z", roleSet("L", codec.Admin), demotion)
	w.requireRoster("Z* K+ L+", "ZKL")
}

func TestCapabilities(t *testing.T) {
	w, z := newCase(t)
	m := w.op("Z", added("M", codec.Member), z)
	set := w.op("Z", caps("M", codec.ManageMembers|codec.ManageAliases), m)
	w.requireRoster("Z* M21", "ZM")
	n := w.op("M", added("N", codec.Member), set)
	w.requireVerdict(effective, n)
	w.requireVerdict(void(NoRight), w.op("M", added("O", codec.Admin), set))
	cleared := w.op("Z", caps("M", codec.ManageAliases), set)
	w.requireVerdict(void(Revoked), n) // concurrent with the clearing of its bit
	w.requireVerdict(effective, w.op("M", named("x"), cleared))
	w.requireRoster("Z* M20", "ZMN")
	w.requireVerdict(skipped(NotMember), w.op("Z", caps("X", codec.ManageAliases), cleared))
	w.requireRoster("Z* M20", "ZMNX")
}

func TestDefaultCapabilitiesAreThoseAtTheCut(t *testing.T) {
	w, z := newCase(t)
	early := w.op("Z", added("E", codec.Member), z)
	defaults := w.op("Z", codec.GroupOp{Kind: codec.OpDefaultCapabilitiesSet, Capabilities: codec.ManageContexts}, early)
	w.op("Z", added("R", codec.ReadOnly), defaults)
	late := w.op("Z", added("L", codec.Member))
	w.requireRoster("Z* E L02 R-", "ZELR")
	w.op("Z", caps("L", 0), late)
	w.requireRoster("Z* E L R-", "ZELR")
}

func TestRemovalFromTheNamespaceEndsEveryMembershipBelow(t *testing.T) {
	w, z := newCase(t)
	m := w.op("Z", added("M", codec.Member), z)
	s := w.op("Z", caps("M", codec.ManageSubgroups), m)
	made := w.root("M", groupCreated("M", sub, root), s)
	n := w.op("Z", added("N", codec.Member), made)
	inSub := w.in(sub, "M", added("N", codec.Admin), n)
	require.Equal(t, "M* N+", w.result().roster(t, sub, "MN"))
	w.requireVerdict(void(NotInNamespace), w.in(sub, "M", added("X", codec.Member), inSub))
	w.op("Z", removed("M"), inSub)
	require.Equal(t, "N+", w.result().roster(t, sub, "MN"))
	w.requireVerdict(void(Revoked), w.in(sub, "M", removed("N"), inSub))
	w.in(sub, "N", left, inSub)
	require.Empty(t, w.result().roster(t, sub, "MN"))
	require.Equal(t, "Z* N", w.result().roster(t, root, "ZMN"))
}

// Whoever created a group and gave it away does not get it back by creating it again.
func TestGroupIsCreatedOnce(t *testing.T) {
	w, z := newCase(t)
	w.ties = true // of two creations of one height
	m := w.op("Z", added("M", codec.Admin), z)
	n := w.op("Z", added("N", codec.Member), m)
	made := w.root("M", groupCreated("M", sub, root), n)
	given := w.in(sub, "M", transferred("N"), made)
	w.in(sub, "N", removed("M"), given)
	require.Equal(t, "N*", w.result().roster(t, sub, "MN"))
	again := w.root("M", groupCreated("M", sub, root))
	w.requireVerdict(skipped(Exists), again)
	w.requireVerdict(void(Revoked), w.in(sub, "M", removed("N"), again))
	back := w.root("M", groupCreated("M", sub, root), n)
	w.requireVerdict(void(Revoked), w.in(sub, "M", removed("N"), back))
	require.Equal(t, "N*", w.result().roster(t, sub, "MN"))
}

func TestCreatingOp(t *testing.T) {
	w, z := newCase(t)
	w.op("Z", added("M", codec.Member), z)
	_, err := Evaluate(w.ops[1:], codec.Identity{})
	require.ErrorIs(t, err, ErrIncomplete)
	_, err = Evaluate(nil, codec.Identity{})
	require.ErrorIs(t, err, ErrIncomplete)
	second := Op{ID: codec.OpID{1}, Signer: who("M"), Nonce: 1, Root: w.ops[0].Root}
	_, err = Evaluate(append(w.ops, second), codec.Identity{})
	require.ErrorIs(t, err, ErrIncomplete)
	loop := Op{ID: codec.OpID{2}, Parents: []codec.OpID{{2}}, Body: &left}
	_, err = Evaluate(append(w.ops, loop), codec.Identity{})
	require.ErrorIs(t, err, ErrIncomplete)
}
