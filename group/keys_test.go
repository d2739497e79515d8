package group

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
)

// One op removes several. Who is not removed by it alone, since another one stands beside
// it, is removed by both.
func TestSeveralAreRemovedAtOnce(t *testing.T) {
	w, z := newCase(t)
	k := w.op("Z", added("K", codec.Admin), z)
	a := w.op("K", added("A", codec.Member), k)
	b := w.op("K", added("B", codec.Admin), a)
	byA := w.op("A", named("a"), b)
	byB := w.op("B", added("M", codec.Member), b)
	w.requireVerdict(effective, w.op("Z", severalRemoved("A", "B", "X"), b))
	w.requireVerdict(void(NoRight), byA)
	w.requireVerdict(void(Revoked), byB)
	w.requireRoster("Z* K+", "ZKABM")
}

// The admin identity is not removed, and then none of those with it.
func TestSeveralAreNotRemovedWithTheAdminIdentity(t *testing.T) {
	w, z := newCase(t)
	k := w.op("Z", added("K", codec.Admin), z)
	a := w.op("K", added("A", codec.Member), k)
	w.requireVerdict(void(AdminIdentity), w.op("K", severalRemoved("A", "Z"), a))
	w.requireRoster("Z* K+ A", "ZKA")
}

// Out of the namespace is out of all groups below it.
func TestSeveralAreRemovedFromGroupsBelow(t *testing.T) {
	w, z := newCase(t)
	g := w.root("Z", groupCreated("Z", sub, root), z)
	a := w.op("Z", added("A", codec.Member), g)
	b := w.op("Z", added("B", codec.Member), a)
	below := w.in(sub, "Z", added("A", codec.Member), b)
	also := w.in(sub, "Z", added("B", codec.Member), below)
	w.op("Z", severalRemoved("A", "B"), also)
	require.Equal(t, "Z*", w.result().roster(t, sub, "ZAB"))
}

// What an Admin's rotation does not carry, itself or by what it carries, has no effect,
// wherever it stands; what a member's does not carry has.
func TestAnAdminLeavesKeysBehind(t *testing.T) {
	w, z := newCase(t)
	k := w.op("Z", added("K", codec.Admin), z)
	m := w.op("K", added("M", codec.Member), k)
	first := w.rotated("Z", nil, m)
	kept := w.under(first, "Z", named("kept"), first)
	hostile := w.rotated("M", nil, kept)
	alone := w.under(hostile, "Z", named("alone"), hostile)
	second := w.rotated("K", []codec.OpID{first}, alone)
	third := w.rotated("Z", []codec.OpID{second}, second)
	w.requireVerdict(effective, kept)
	w.requireVerdict(void(Abandoned), alone)
	w.requireVerdict(void(Abandoned), w.under(hostile, "Z", named("late"), hostile))
	w.requireVerdict(effective, w.under(second, "K", named("goes on"), third))
}

// A rotation that descends from no op of a key says nothing about it.
func TestAKeyBesideAnAdminsRotationStays(t *testing.T) {
	w, z := newCase(t)
	m := w.op("Z", added("M", codec.Member), z)
	beside := w.rotated("M", nil, m)
	w.rotated("Z", nil, m)
	w.requireVerdict(effective, w.under(beside, "Z", named("beside"), beside))
}

// Nor does one that has no effect, since whoever made it was no Admin any more.
func TestARotationThatIsVoidAbandonsNothing(t *testing.T) {
	w, z := newCase(t)
	k := w.op("Z", added("K", codec.Admin), z)
	first := w.rotated("Z", nil, k)
	sealed := w.under(first, "Z", named("sealed"), first)
	w.rotated("K", nil, sealed)
	w.requireVerdict(void(Abandoned), sealed)
	w.op("Z", removed("K"), sealed) // beside K's rotation
	w.requireVerdict(effective, sealed)
}

// Nor does one by who had been an Admin, and is a member.
func TestAMemberWhoWasAnAdminAbandonsNothing(t *testing.T) {
	w, z := newCase(t)
	k := w.op("Z", added("K", codec.Admin), z)
	first := w.rotated("Z", nil, k)
	sealed := w.under(first, "Z", named("sealed"), first)
	demoted := w.op("Z", roleSet("K", codec.Member), sealed)
	w.requireVerdict(effective, w.rotated("K", nil, demoted))
	w.requireVerdict(effective, sealed)
}

// The row of nonces does not depend on keys: ops that only some can read are in it.
func TestNoncesOfSealedOpsAreKnownToAll(t *testing.T) {
	w, z := newWorld(t)
	first := w.rotated("Z", nil, z)
	sealed := w.under(first, "Z", named("sealed"), first)
	with := w.result()
	w.ops[len(w.ops)-1].Body = nil
	without := w.result()
	require.Equal(t, "sealed", without.Verdicts[sealed].String())
	nonces := func(r *Result) (rows []Row) {
		for _, row := range r.Rows {
			if row.Key[0] == 0x2C {
				rows = append(rows, row)
			}
		}
		return rows
	}
	require.NotEmpty(t, nonces(with))
	require.Equal(t, nonces(with), nonces(without))
}
