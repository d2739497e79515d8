package group

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine/enginetest"
)

// cast are those who act in random histories; the last was never let in.
var cast = []string{"Z", "K", "L", "A", "B", "M", "X"}

// history draws ops by a cast who promote, remove, demote and re-admit each other, with
// random parents: often the heads, often old ones, as of someone offline or lying.
func history(t *rapid.T, most int) *world {
	return historyIn(t, most, codec.OpVersion(rapid.IntRange(0, 1).Draw(t, "version")))
}

func historyIn(t *rapid.T, most int, version codec.OpVersion) *world {
	w, z := newWorld(t)
	if version == codec.OpVersion2 {
		w.beginVersion2()
	}
	for _, name := range cast[1:4] {
		z = w.op("Z", added(name, codec.Admin), z)
	}
	w.root("Z", groupCreated("Z", sub, root))
	name := rapid.SampledFrom(cast)
	role := rapid.SampledFrom([]codec.GroupMemberRole{codec.Admin, codec.Admin, codec.Member, codec.ReadOnly})
	group := rapid.SampledFrom([]codec.GroupID{root, root, root, sub})
	mask := rapid.SampledFrom([]codec.Capabilities{0, codec.ManageMembers, codec.ManageCapabilities, codec.InviteMembers, codec.AllCapabilities})
	for range rapid.IntRange(1, most).Draw(t, "ops") {
		signer, target, g := name.Draw(t, "signer"), name.Draw(t, "target"), group.Draw(t, "group")
		parents := w.drawParents(t)
		var b codec.GroupOp
		switch rapid.IntRange(0, 18).Draw(t, "kind") {
		case 0, 1, 2:
			b = added(target, role.Draw(t, "role"))
		case 3, 4, 5:
			b = removed(target)
		case 6, 7:
			b = roleSet(target, role.Draw(t, "role"))
		case 8:
			b = caps(target, mask.Draw(t, "mask"))
		case 9:
			b = codec.GroupOp{Kind: codec.OpDefaultCapabilitiesSet, Capabilities: mask.Draw(t, "mask")}
		case 10:
			b = left
		case 17:
			b = severalRemoved(target, name.Draw(t, "another"))
		case 11:
			b = transferred(target)
		case 12, 16:
			w.root(signer, drawJoin(t, target, g), parents...)
			continue
		case 13:
			w.root(signer, groupCreated(signer, groupOf(signer, rapid.IntRange(0, 1).Draw(t, "number")), g), parents...)
			continue
		case 14, 15:
			w.root(rapid.SampledFrom(cast[:4]).Draw(t, "revoker"), w.drawRevocation(t, g), parents...)
			continue
		default:
			b = codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: who(target), Name: codec.Some(codec.AliasName("n"))}
		}
		w.in(g, signer, b, parents...)
	}
	return w
}

// drawJoin returns the joining of target on one of few invitations, so that they meet
// again.
func drawJoin(t *rapid.T, target string, g codec.GroupID) codec.RootOp {
	inviter := rapid.SampledFrom(cast[:4]).Draw(t, "inviter")
	role := rapid.SampledFrom([]codec.GroupMemberRole{codec.Admin, codec.Member}).Draw(t, "role invited to")
	return joined(inviter, target, g, role, uint64(rapid.IntRange(0, 1).Draw(t, "number")))
}

// drawRevocation returns the revocation of an invitation: often of one that has been
// used, so that it is revoked beside or after that.
func (w *world) drawRevocation(t *rapid.T, g codec.GroupID) codec.RootOp {
	var used []codec.RootOp
	for _, op := range w.ops {
		if op.Root != nil && op.Root.Kind == codec.RootMemberJoined {
			used = append(used, *op.Root)
		}
	}
	join := drawJoin(t, "X", g)
	if len(used) > 0 && rapid.IntRange(0, 3).Draw(t, "unused") > 0 {
		join = rapid.SampledFrom(used).Draw(t, "used")
	}
	id, err := InvitationID(&join.Invitation)
	require.NoError(t, err)
	return codec.RootOp{Kind: codec.RootInvitationRevoked, GroupID: join.Invitation.GroupID, InvitationID: id}
}

// groupOf is a group that creator creates: its id covers the creator.
func groupOf(creator string, n int) codec.GroupID {
	g := codec.GroupID(who(creator))
	g[0] = byte(n)
	return g
}

func (w *world) drawParents(t *rapid.T) []codec.OpID {
	if rapid.Bool().Draw(t, "on the heads") {
		return nil
	}
	var parents []codec.OpID
	for range rapid.IntRange(1, 2).Draw(t, "parents") {
		parents = append(parents, w.ops[rapid.IntRange(0, len(w.ops)-1).Draw(t, "parent")].ID)
	}
	return slices.Compact(parents)
}

// What is never drawn is never tried: every kind of op is, in as few histories as any
// test draws.
func TestHistoriesHaveEveryKindOfOp(t *testing.T) {
	drawn := map[string]int{}
	histories := rapid.Custom(func(t *rapid.T) *world {
		w := history(t, 25)
		w.decorate(t, 20)
		return w
	})
	for seed := range 60 {
		for kind, n := range histories.Example(seed).kinds() {
			drawn[kind] += n
		}
	}
	for _, kind := range everyKind() {
		require.Positive(t, drawn[kind], "no history has a %s: %v", kind, drawn)
	}
}

func TestResultIsAFunctionOfTheSetOfOps(t *testing.T) {
	enginetest.Check(t, 200, func(t *rapid.T) {
		w := history(t, 30)
		w.result()
	})
}

// Whatever happens, somebody is the admin identity of the namespace, and one only.
func TestNamespaceNeverLosesItsAdmin(t *testing.T) {
	enginetest.Check(t, 200, func(t *rapid.T) {
		r := history(t, 30).result()
		for _, row := range r.Rows {
			if row.Key[0] != 0x20 || codec.GroupID(row.Key[1:]) != root {
				continue
			}
			v, err := codec.GroupMetaValue{}.Decode(row.Value)
			require.NoError(t, err)
			require.False(t, v.AdminIdentity.IsZero())
			require.Contains(t, r.Members(root), v.AdminIdentity)
		}
	})
}

// Who is not in the namespace is in no group of it. In version 1 somebody may be who was removed by
// an Admin below.
func TestEveryMemberIsOneOfTheNamespace(t *testing.T) {
	enginetest.Check(t, 1000, func(t *rapid.T) {
		r := historyIn(t, 30, codec.OpVersion2).result()
		for g, members := range r.members {
			for _, m := range members {
				require.Contains(t, r.Members(root), m, g)
			}
		}
	})
}

// An op by someone who is no member at the end, and was never there but for what came
// before a removal that it does not descend from, leaves all rows of members as they
// were: the back-dated ops of the removed.
func TestRemovedMembersCannotBackDate(t *testing.T) {
	enginetest.Check(t, 100, func(t *rapid.T) {
		w := history(t, 25)
		before := w.result()
		for _, name := range cast {
			if slices.Contains(before.Members(root), who(name)) {
				continue
			}
			crowned := name == "Z" || slices.ContainsFunc(w.ops, func(op Op) bool {
				return op.Body != nil && op.Body.Kind == codec.OpAdminTransferred && op.Body.Member == who(name)
			})
			late := &world{t: t, ops: slices.Clone(w.ops), byID: w.byID, names: w.names, count: w.count}
			for n := range 6 {
				parents := late.drawParents(t)
				ops := []codec.GroupOp{removed("K"), added("X", codec.Member), roleSet("B", codec.Admin), caps("M", codec.AllCapabilities),
					roleSet("K", codec.ReadOnly), transferred("X")}
				if crowned && ops[n].Kind == codec.OpAdminTransferred {
					continue // see TestOfTwoTransfersTheFirstCounts
				}
				late.in(root, name, ops[n], parents...)
			}
			after := late.result()
			for _, op := range late.ops[len(w.ops):] {
				require.Equal(t, Void, after.Verdicts[op.ID].Outcome, "%s: %v", name, op.Body)
			}
			for id, v := range before.Verdicts {
				require.Equal(t, v, after.Verdicts[id])
			}
			names := "ZKLABMX"
			require.Equal(t, before.roster(t, root, names), after.roster(t, root, names))
		}
	})
}

// The judge asks only about grants above: no history makes it go round. The panic in
// strikes is what this is about.
func TestEvaluationEnds(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range enginetest.Scale(20) {
		w, _ := newWorld(t)
		for n := range 120 {
			signer, target := cast[random.IntN(5)], cast[random.IntN(5)]
			var parents []codec.OpID
			for range 1 + random.IntN(3) {
				parents = append(parents, w.ops[random.IntN(len(w.ops))].ID)
			}
			switch n % 4 {
			case 0:
				w.op(signer, roleSet(target, codec.Admin), parents...)
			case 1:
				w.op(signer, removed(target), parents...)
			case 2:
				w.op("Z", added(target, codec.Admin), parents...)
			default:
				w.op(signer, caps(target, codec.Capabilities(random.IntN(128))), parents...)
			}
		}
		_, err := Evaluate(w.ops, codec.Identity{})
		require.NoError(t, err, fmt.Sprint(len(w.ops)))
	}
}
