package namespace_test

import (
	"fmt"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
)

// opening is how every drawn history begins: Z, with K and L as Admins and M as a
// member, all of whom and A and B have the key, and a group below of which only Z, K
// and A have one.
func opening(t require.TestingT) *forge { return openingOf(t, 1) }

// openingOf is opening; n tells several namespaces apart.
func openingOf(t require.TestingT, n byte) *forge {
	f := forgeOf(t, n)
	for _, name := range []string{"K", "L"} {
		require.NotNil(t, f.op("Z", added(name, codec.Admin)))
	}
	require.NotNil(t, f.op("Z", added("M", codec.Member)))
	r := f.creation("Z", f.ns, 0)
	require.NotNil(t, f.root("Z", r))
	f.sub = r.GroupID
	s := f.draft("Z", nil)
	f.seal(s, f.sub, f.rotate(s, f.sub, nil, all("Z", "K", "A")), f.inner(s, f.sub, added("K", codec.Admin)))
	require.NoError(t, namespace.Sign(s, who("Z")))
	require.NotNil(t, f.take(s))
	return f
}

func added(name string, role codec.GroupMemberRole) codec.GroupOp {
	return codec.GroupOp{Kind: codec.OpMemberAdded, Member: is(name), Role: role}
}

func removed(name string) codec.GroupOp {
	return codec.GroupOp{Kind: codec.OpMemberRemoved, Member: is(name)}
}

func roleSet(name string, role codec.GroupMemberRole) codec.GroupOp {
	return codec.GroupOp{Kind: codec.OpMemberRoleSet, Member: is(name), Role: role}
}

func named(name string) codec.GroupOp {
	return codec.GroupOp{Kind: codec.OpGroupAliasSet, Name: codec.Some(codec.AliasName(name))}
}

// play draws more ops: by people who promote, demote and remove each other, on the heads
// or beside what is there, as of someone offline or lying; and what must be refused.
func (f *forge) play(t *rapid.T, most int) {
	name := rapid.SampledFrom(cast[:7])
	for range rapid.IntRange(1, most).Draw(t, "ops") {
		signer := name.Draw(t, "signer")
		g := rapid.SampledFrom([]codec.GroupID{f.ns, f.ns, f.ns, f.sub}).Draw(t, "group")
		parents := f.drawParents(t)
		switch rapid.IntRange(0, 11).Draw(t, "what") {
		case 0, 1:
			f.root(signer, f.drawRoot(t, signer, g), parents...)
		case 2:
			f.drawOdd(t, signer, g, parents)
		case 3:
			f.drawRotation(t, signer, g, parents)
		default:
			f.in(g, signer, f.drawBody(t), parents...)
		}
	}
}

func (f *forge) drawParents(t *rapid.T) []codec.OpID {
	if rapid.IntRange(0, 2).Draw(t, "on the heads") > 0 {
		return nil
	}
	var parents []codec.OpID
	for range rapid.IntRange(1, 2).Draw(t, "parents") {
		parents = append(parents, f.drawOp(t).ID)
	}
	return parents
}

func (f *forge) drawOp(t *rapid.T) *namespace.Op {
	return f.ops[rapid.IntRange(0, len(f.ops)-1).Draw(t, "op")]
}

func (f *forge) drawBody(t *rapid.T) codec.GroupOp {
	target := rapid.SampledFrom(cast[:7]).Draw(t, "target")
	role := rapid.SampledFrom([]codec.GroupMemberRole{codec.Admin, codec.Admin, codec.Member, codec.ReadOnly})
	mask := rapid.SampledFrom([]codec.Capabilities{0, codec.ManageMembers, codec.ManageCapabilities | codec.ManageAliases, codec.AllCapabilities})
	c := rapid.SampledFrom([]codec.ContextID{{1}, {2}, room(0)}).Draw(t, "context")
	alias := codec.Some(codec.AliasName(fmt.Sprint("name", rapid.IntRange(0, 1).Draw(t, "alias"))))
	switch rapid.IntRange(0, 24).Draw(t, "kind") {
	case 23, 24:
		g := rapid.SampledFrom([]codec.GroupID{f.ns, f.sub}).Draw(t, "home")
		return placedIn(0, f.ns, g, rapid.Uint64Range(1, 3).Draw(t, "placement"))
	case 0, 1, 2:
		return added(target, role.Draw(t, "role"))
	case 3, 4, 5, 6:
		return removed(target)
	case 7, 8:
		return roleSet(target, role.Draw(t, "role"))
	case 9:
		return codec.GroupOp{Kind: codec.OpMemberCapabilitySet, Member: is(target), Capabilities: mask.Draw(t, "mask")}
	case 10:
		return codec.GroupOp{Kind: codec.OpDefaultCapabilitiesSet, Capabilities: mask.Draw(t, "mask")}
	case 11:
		return codec.GroupOp{Kind: codec.OpMemberLeft}
	case 12:
		return codec.GroupOp{Kind: codec.OpAdminTransferred, Member: is(target)}
	case 13:
		return codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: c}
	case 14:
		return codec.GroupOp{Kind: codec.OpContextDetached, ContextID: c}
	case 15:
		return codec.GroupOp{Kind: codec.OpContextMigrated, ContextID: c, Method: "m"}
	case 16:
		return codec.GroupOp{Kind: codec.OpMemberAliasSet, Member: is(target), Name: alias}
	case 17:
		return codec.GroupOp{Kind: codec.OpContextAliasSet, ContextID: c, Name: alias}
	case 18:
		return codec.GroupOp{Kind: codec.OpContextJoined, ContextID: c, Identity: is(target)}
	case 19:
		return codec.GroupOp{Kind: codec.OpTargetApplicationSet, AppKey: codec.Hash(c)}
	case 20:
		return codec.GroupOp{Kind: codec.OpUpgradeStarted, ToVersion: 2, Total: uint64(c[0]), At: 3}
	case 21:
		return codec.GroupOp{Kind: codec.OpKeyRotated}
	default:
		return codec.GroupOp{Kind: codec.OpUpgradeProgressed, Completed: uint64(c[0])}
	}
}

func (f *forge) drawRoot(t *rapid.T, signer string, g codec.GroupID) codec.RootOp {
	n := byte(rapid.IntRange(0, 2).Draw(t, "number"))
	other := rapid.SampledFrom(cast[:7]).Draw(t, "other")
	role := rapid.SampledFrom([]codec.GroupMemberRole{codec.Admin, codec.Member}).Draw(t, "role")
	switch rapid.IntRange(0, 7).Draw(t, "root") {
	case 0:
		return f.creation(signer, g, n)
	case 1:
		return codec.RootOp{Kind: codec.RootGroupReparented, GroupID: f.creation(signer, g, n).GroupID, ParentID: f.sub}
	case 2:
		return codec.RootOp{Kind: codec.RootGroupDeleted, GroupID: f.sub}
	case 3, 4:
		return f.join(other, rapid.SampledFrom(cast[:7]).Draw(t, "joins"), g, role, n)
	case 5:
		r := f.join(other, signer, g, role, n)
		id, err := group.InvitationID(&r.Invitation)
		require.NoError(t, err)
		return codec.RootOp{Kind: codec.RootInvitationRevoked, GroupID: g, InvitationID: id}
	case 6:
		if key, ok := f.keyAt(f.heads(), g); ok {
			return f.deliver(g, key, all(other))
		}
	}
	return codec.RootOp{Kind: codec.RootMerge}
}

// drawRotation makes an op that carries a new key, with or without the one before, for
// whom it pleases its signer; whatever the op itself is worth.
func (f *forge) drawRotation(t *rapid.T, signer string, g codec.GroupID, parents []codec.OpID) {
	s := f.draft(signer, parents)
	var to []codec.Identity
	for _, name := range cast[:6] {
		if rapid.IntRange(0, 3).Draw(t, "recipient") > 0 {
			to = append(to, is(name))
		}
	}
	if len(to) == 0 {
		to = all("Z")
	}
	old, ok := f.keyAt(s.Parents, g)
	previous := &old
	if !ok || rapid.IntRange(0, 3).Draw(t, "without previous") == 0 {
		previous = nil
	}
	key := f.rotate(s, g, previous, to)
	if ok && rapid.Bool().Draw(t, "under the old one") {
		key = old
	}
	f.seal(s, g, key, f.inner(s, g, f.drawBody(t)))
	require.NoError(t, namespace.Sign(s, who(signer)))
	f.take(s)
}

// drawOdd makes what is no honest op: forgeries, replays, equivocations, inner ops that
// are another's, do not open, or are no ops.
func (f *forge) drawOdd(t *rapid.T, signer string, g codec.GroupID, parents []codec.OpID) {
	s := f.draft(signer, parents)
	key, ok := f.keyAt(s.Parents, f.ns)
	if !ok {
		return
	}
	plain := f.inner(s, f.ns, f.drawBody(t))
	kind := rapid.IntRange(0, 11).Draw(t, "odd")
	switch kind {
	case 0:
		s.Nonce--
	case 1:
		s.Nonce += uint64(rapid.IntRange(1, 9).Draw(t, "gap"))
	case 2:
		s.Nonce = ^uint64(0)
	case 3: // sealed for another group
		plain = f.inner(s, f.sub, f.drawBody(t))
	case 4:
		plain = plain[:len(plain)-1]
	case 5: // a signature of somebody else
		plain[len(plain)-1] ^= 1
	case 6: // what another has signed, in one's own op
		if other := f.drawOp(t); other.Root == nil {
			if b, err := namespace.OpenOp(other.Signed, f.ring[namespace.GroupKey{GroupID: other.GroupID, KeyID: other.KeyID}]); err == nil {
				plain = b
			}
		}
	case 7: // a key that nobody has
		key[0] ^= 1
	case 10: // a new key that is not new
		r, err := namespace.NewRotation(f.random, f.ns, f.ns, key, codec.Option[codec.Secret]{}, all("Z"))
		require.NoError(t, err)
		s.Op.Rotations = append(s.Op.Rotations, r)
	case 11: // after one that nobody has
		never := key
		never[0] ^= 1
		f.rotate(s, f.ns, &never, all("Z"))
	}
	f.seal(s, f.ns, key, plain)
	if kind == 8 {
		s.Op.Sealed[len(s.Op.Sealed)-1] ^= 1
	}
	require.NoError(t, namespace.Sign(s, who(signer)))
	if kind == 9 {
		s.Signature[rapid.IntRange(0, 63).Draw(t, "byte")] ^= 1
	}
	f.take(s)
}
