package group

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/keys"
)

func groupNo(n int) codec.GroupID { return codec.GroupID{1, byte(n)} }

func TestTreeHasNoCyclesAndIsNotTooDeep(t *testing.T) {
	w, last := newCase(t)
	w.ties = true
	parent := root
	for n := range maxDepth {
		last = w.root("Z", groupCreated("Z", groupNo(n), parent), last)
		w.requireVerdict(effective, last)
		parent = groupNo(n)
	}
	w.requireVerdict(skipped(TooDeep), w.root("Z", groupCreated("Z", groupNo(99), parent), last))
	w.requireVerdict(skipped(NoGroup), w.root("Z", groupCreated("Z", groupNo(98), groupNo(97)), last))
	move := func(g, to int) codec.RootOp {
		return codec.RootOp{Kind: codec.RootGroupReparented, GroupID: groupNo(g), ParentID: groupNo(to)}
	}
	w.requireVerdict(skipped(Cycle), w.root("Z", move(1, 5), last))
	w.requireVerdict(skipped(Cycle), w.root("Z", move(1, 1), last))
	other := w.root("Z", groupCreated("Z", groupNo(50), root), last)
	w.requireVerdict(skipped(TooDeep), w.root("Z", move(1, 50), w.root("Z", groupCreated("Z", groupNo(51), groupNo(50)), other),
		w.root("Z", codec.RootOp{Kind: codec.RootGroupReparented, GroupID: groupNo(50), ParentID: groupNo(0)}, other)))
	// two moves, each fine by itself, that together make a cycle: one of them
	left, right := w.root("Z", groupCreated("Z", groupNo(60), root), other), w.root("Z", groupCreated("Z", groupNo(61), root), other)
	a := w.root("Z", move(60, 61), left, right)
	b := w.root("Z", move(61, 60), left, right)
	r := w.result()
	require.NotEqual(t, r.Verdicts[a], r.Verdicts[b])
	require.ElementsMatch(t, []Verdict{effective, skipped(Cycle)}, []Verdict{r.Verdicts[a], r.Verdicts[b]})
}

func TestDeletionTakesAllBelowButNotTheHistory(t *testing.T) {
	w, z := newCase(t)
	one := w.root("Z", groupCreated("Z", groupNo(1), root), z)
	two := w.root("Z", groupCreated("Z", groupNo(2), groupNo(1)), one)
	context := codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: codec.ContextID{7}}
	home := w.in(groupNo(2), "Z", context, two)
	gone := w.root("Z", codec.RootOp{Kind: codec.RootGroupDeleted, GroupID: groupNo(1)}, home)
	r := w.result()
	tags := map[byte]int{}
	for _, row := range r.Rows {
		if i, err := keys.Identify(column.Group, row.Key); err == nil {
			tags[i.Tag]++
		}
	}
	require.Equal(t, map[byte]int{0x20: 1, 0x21: 1, 0x2C: 1, 0x31: 1, 0x39: 1}, tags)
	require.Nil(t, r.Members(groupNo(2)))
	w.requireVerdict(skipped(NoGroup), w.in(groupNo(2), "Z", named("x"), gone))
	// the context is free again
	w.requireVerdict(effective, w.op("Z", context, gone))
}

func TestContextBelongsToOneGroup(t *testing.T) {
	w, z := newCase(t)
	made := w.root("Z", groupCreated("Z", sub, root), z)
	c := codec.ContextID{7}
	register := codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: c}
	detach := codec.GroupOp{Kind: codec.OpContextDetached, ContextID: c}
	first := w.op("Z", register, made)
	w.requireVerdict(effective, first)
	w.requireVerdict(void(ContextElsewhere), w.in(sub, "Z", register, first))
	w.requireVerdict(skipped(NoContext), w.in(sub, "Z", detach, first))
	for _, b := range []codec.GroupOp{{Kind: codec.OpContextJoined, Identity: codec.Identity{1}}, {Kind: codec.OpContextMigrated, Method: "m"},
		{Kind: codec.OpContextCapabilitySet, Member: who("Z"), Capability: codec.Some(codec.ContextCapability(3))},
		{Kind: codec.OpContextAliasSet, Name: codec.Some(codec.AliasName("c"))}} {
		b.ContextID = c
		w.requireVerdict(effective, w.op("Z", b))
		w.requireVerdict(skipped(NoContext), w.in(sub, "Z", b))
	}
	require.Equal(t, codec.ContextConfigValue{ApplicationRevision: 1, MembersRevision: 2}, w.result().Claims[c].Config)
	w.op("Z", detach)
	w.requireVerdict(effective, w.in(sub, "Z", register))
	require.Equal(t, codec.ContextConfigValue{}, w.result().Claims[c].Config)
}

func TestNamesAreUniqueWhereTheyAreLookedUp(t *testing.T) {
	w, z := newCase(t)
	w.ties = true
	name := func(m, n string) codec.GroupOp {
		b := codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: who(m)}
		if n != "" {
			b.Name = codec.Some(codec.AliasName(n))
		}
		return b
	}
	m := w.op("Z", added("M", codec.Member), z)
	w.requireVerdict(effective, w.op("M", name("M", "em"), m))
	w.requireVerdict(void(NoRight), w.op("M", name("Z", "zet")))
	w.requireVerdict(skipped(NameTaken), w.op("Z", name("Z", "em")))
	w.requireVerdict(effective, w.op("M", name("M", "")))
	w.requireVerdict(effective, w.op("Z", name("Z", "em")))
	a := w.root("Z", groupCreated("Z", groupNo(1), root))
	b := w.root("Z", groupCreated("Z", groupNo(2), root), a)
	c := w.root("Z", groupCreated("Z", groupNo(3), groupNo(1)), b)
	w.requireVerdict(effective, w.in(groupNo(1), "Z", named("x"), c))
	w.requireVerdict(skipped(NameTaken), w.in(groupNo(2), "Z", named("x")))
	w.requireVerdict(effective, w.in(groupNo(3), "Z", named("x")))
	w.requireVerdict(skipped(NameTaken), w.root("Z", codec.RootOp{Kind: codec.RootGroupReparented, GroupID: groupNo(3), ParentID: root}))
	w.requireVerdict(effective, w.op("Z", named("x")))
	// concurrent claims: one of them, by (height, id)
	heads := w.heads()
	first, second := w.in(groupNo(2), "Z", named("y"), heads...), w.in(groupNo(1), "Z", named("y"), heads...)
	r := w.result()
	require.ElementsMatch(t, []Verdict{effective, skipped(NameTaken)}, []Verdict{r.Verdicts[first], r.Verdicts[second]})
}

func TestUpgradeCompletesNoMoreThanItHas(t *testing.T) {
	w, z := newCase(t)
	w.op("Z", codec.GroupOp{Kind: codec.OpUpgradeStarted, FromVersion: 1, ToVersion: 2, Total: 3, At: 9}, z)
	w.requireVerdict(effective, w.op("Z", codec.GroupOp{Kind: codec.OpUpgradeProgressed, Completed: 3}))
	w.requireVerdict(skipped(NoUpgrade), w.op("Z", codec.GroupOp{Kind: codec.OpUpgradeProgressed, Completed: 4}))
}

func TestUpgradeRunsFromStartToEnd(t *testing.T) {
	w, z := newCase(t)
	progress := func(done, failed uint64) codec.GroupOp {
		return codec.GroupOp{Kind: codec.OpUpgradeProgressed, Completed: done, Failed: failed}
	}
	w.requireVerdict(skipped(NoUpgrade), w.op("Z", progress(1, 0), z))
	w.op("Z", codec.GroupOp{Kind: codec.OpUpgradeStarted, FromVersion: 1, ToVersion: 2, Total: 3, At: 9})
	w.requireVerdict(effective, w.op("Z", progress(2, 1)))
	w.requireVerdict(skipped(NoUpgrade), w.op("Z", progress(2, 2)))
	w.requireVerdict(skipped(NoUpgrade), w.op("Z", progress(1, ^uint64(0))))
	status := func() codec.GroupUpgradeStatus {
		for _, row := range w.result().Rows {
			if row.Key[0] == 0x24 {
				v, err := codec.GroupUpgradeValue{}.Decode(row.Value)
				require.NoError(t, err)
				require.Equal(t, who("Z"), v.InitiatedBy)
				return v.Status
			}
		}
		return codec.GroupUpgradeStatus{}
	}
	require.Equal(t, codec.GroupUpgradeStatus{Total: 3, Completed: 2, Failed: 1}, status())
	w.op("Z", codec.GroupOp{Kind: codec.OpUpgradeCompleted, At: 10})
	require.Equal(t, codec.GroupUpgradeStatus{Phase: codec.UpgradeCompleted, CompletedAt: 10}, status())
	w.requireVerdict(skipped(NoUpgrade), w.op("Z", progress(3, 0)))
}

// A later op by height wins, whatever its author's clock says; between equals the id.
func TestOtherRowsAreTheLastEffectiveOps(t *testing.T) {
	w, z := newCase(t)
	w.ties = true
	k := w.op("Z", added("K", codec.Admin), z)
	apps := [2]codec.ApplicationID{{1}, {2}}
	ids := map[codec.OpID]codec.ApplicationID{}
	for i, name := range []string{"Z", "K"} {
		ids[w.op(name, codec.GroupOp{Kind: codec.OpTargetApplicationSet, TargetApplicationID: apps[i]}, k)] = apps[i]
	}
	var last codec.OpID
	for id := range ids {
		if string(id[:]) > string(last[:]) {
			last = id
		}
	}
	meta := func() codec.GroupMetaValue {
		for _, row := range w.result().Rows {
			if row.Key[0] == 0x20 {
				v, err := codec.GroupMetaValue{}.Decode(row.Value)
				require.NoError(t, err)
				return v
			}
		}
		return codec.GroupMetaValue{}
	}
	require.Equal(t, ids[last], meta().TargetApplicationID)
	w.op("Z", codec.GroupOp{Kind: codec.OpMigrationSet, Migration: codec.Some("m")})
	w.op("Z", codec.GroupOp{Kind: codec.OpUpgradePolicySet, UpgradePolicy: codec.UpgradeFrozen}, k)
	require.Equal(t, codec.Some("m"), meta().Migration)
	require.Equal(t, codec.UpgradeFrozen, meta().UpgradePolicy)
}

// Every row is one that may be written.
func TestRowsAreValid(t *testing.T) {
	w, z := newCase(t)
	m := w.op("Z", added("M", codec.Member), z)
	w.op("Z", caps("M", codec.AllCapabilities), m)
	w.root("M", groupCreated("M", sub, root))
	for n := range 3 {
		w.in(sub, "M", codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: codec.ContextID{byte(n)}})
	}
	r := w.result()
	require.Greater(t, len(r.Rows), 10)
	for _, row := range r.Rows {
		require.NoError(t, keys.Check(column.Group, row.Key, row.Value), fmt.Sprintf("%x", row.Key))
	}
}
