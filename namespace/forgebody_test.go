package namespace_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
)

// bodiesDrawn and rootsDrawn are all kinds of op that histories draw, and those again
// which are about rights, so that they meet.
var (
	bodiesDrawn = append(kindsOf[codec.GroupOpKind]("GroupOp"), codec.OpMemberAdded, codec.OpMemberAdded, codec.OpMemberRemoved,
		codec.OpMemberRemoved, codec.OpMemberRemoved, codec.OpMemberRoleSet, codec.OpContextPlaced)
	rootsDrawn = append(kindsOf[codec.RootOpKind]("RootOp")[codec.RootGroupCreated:], codec.RootMemberJoined)
)

// kindsOf returns the kinds of an op, as codec has them.
func kindsOf[K ~uint8](name string) (kinds []K) {
	typ, ok := codec.TypeByName(name)
	if !ok {
		panic(name)
	}
	for _, f := range typ.Fields {
		if strings.HasPrefix(f.Kind, "variant ") {
			kinds = append(kinds, K(len(kinds)))
		}
	}
	return kinds
}

// drawBody draws what an op does to a group.
func (f *forge) drawBody(t *rapid.T) codec.GroupOp {
	b := codec.GroupOp{Kind: rapid.SampledFrom(bodiesDrawn).Draw(t, "kind")}
	target := is(rapid.SampledFrom(cast[:7]).Draw(t, "target"))
	mask := rapid.SampledFrom([]codec.Capabilities{0, codec.ManageMembers, codec.ManageCapabilities | codec.ManageAliases, codec.AllCapabilities})
	switch b.Kind {
	case codec.OpMemberAdded, codec.OpMemberRoleSet:
		b.Member = target
		b.Role = rapid.SampledFrom([]codec.GroupMemberRole{codec.Admin, codec.Admin, codec.Member, codec.ReadOnly}).Draw(t, "role")
	case codec.OpMemberRemoved, codec.OpAdminTransferred:
		b.Member = target
	case codec.OpMemberCapabilitySet:
		b.Member, b.Capabilities = target, mask.Draw(t, "mask")
	case codec.OpDefaultCapabilitiesSet:
		b.Capabilities = mask.Draw(t, "mask")
	case codec.OpMemberAliasSet:
		b.Member, b.Name = target, drawName(t)
	case codec.OpGroupAliasSet:
		b.Name = drawName(t)
	case codec.OpMemberLeft, codec.OpKeyRotated:
	case codec.OpMembersRemoved:
		b.Members = append(b.Members, target)
		if other := is(rapid.SampledFrom(cast[:7]).Draw(t, "another target")); other != target {
			b.Members = append(b.Members, other)
		}
		slices.SortFunc(b.Members, compare)
	case codec.OpUpgradePolicySet, codec.OpTargetApplicationSet, codec.OpUpgradeStarted, codec.OpUpgradeProgressed,
		codec.OpUpgradeCompleted, codec.OpMigrationSet:
		drawUpgrade(t, &b)
	default:
		f.drawContext(t, &b, target)
	}
	return b
}

// drawName draws one of two names, so that they are taken; or none.
func drawName(t *rapid.T) codec.Option[codec.AliasName] {
	if n := rapid.IntRange(0, 4).Draw(t, "name"); n > 0 {
		return codec.Some(codec.AliasName(fmt.Sprint("name", n%2)))
	}
	return codec.Option[codec.AliasName]{}
}

// drawUpgrade fills in an op about the application of a group.
func drawUpgrade(t *rapid.T, b *codec.GroupOp) {
	n := rapid.Uint64Range(0, 2).Draw(t, "of the application")
	migration := codec.Option[string]{V: "m", Valid: n > 0}
	if n == 0 {
		migration.V = ""
	}
	switch b.Kind {
	case codec.OpUpgradePolicySet:
		b.UpgradePolicy = []codec.UpgradePolicy{codec.UpgradeAuto, codec.UpgradeManual, codec.UpgradeFrozen}[n]
	case codec.OpTargetApplicationSet:
		b.AppKey, b.TargetApplicationID = codec.Hash{byte(n)}, codec.ApplicationID{byte(n + 1)}
	case codec.OpUpgradeStarted:
		b.FromVersion, b.ToVersion, b.Total, b.Migration, b.At = n, n+1, 2, migration, 3
	case codec.OpUpgradeProgressed:
		b.Completed, b.Failed = n, rapid.Uint64Range(0, 1).Draw(t, "failed")
	case codec.OpUpgradeCompleted:
		b.At = n
	case codec.OpMigrationSet:
		b.Migration = migration
	}
}

// drawContext fills in an op about a context: one of two that nobody has the key of, or
// one that has placements.
func (f *forge) drawContext(t *rapid.T, b *codec.GroupOp, target codec.Identity) {
	b.ContextID = rapid.SampledFrom([]codec.ContextID{{1}, {1}, {2}, room(0)}).Draw(t, "context")
	switch b.Kind {
	case codec.OpContextRegistered, codec.OpContextDetached:
	case codec.OpContextMigrated:
		b.Method = "m"
	case codec.OpContextAliasSet:
		b.Name = drawName(t)
	case codec.OpContextJoined:
		b.Identity = target
	case codec.OpContextCapabilitySet:
		b.Member = target
		if n := rapid.IntRange(0, 2).Draw(t, "mask"); n > 0 {
			b.Capability = codec.Some(codec.ContextCapability(n))
		}
	case codec.OpContextPlaced:
		g := rapid.SampledFrom([]codec.GroupID{f.ns, f.sub}).Draw(t, "home")
		*b = placedIn(0, f.ns, g, rapid.Uint64Range(1, 3).Draw(t, "placement"))
	default:
		require.Fail(t, "nobody draws it", b.Kind)
	}
}
