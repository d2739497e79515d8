package namespace_test

import (
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
)

// opening is how every drawn history begins: Z, with K and L as Admins and M as a
// member, all of whom have a key, and a group below of which Z and K are members and have
// one.
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
	require.NotNil(t, f.in(f.sub, "Z", added("K", codec.Admin)))
	for _, g := range []codec.GroupID{f.ns, f.sub} {
		require.NotNil(t, f.rotated(g, "Z", nil, f.members(f.heads(), g)))
	}
	return f
}

// lateOpening is an opening in which M may do all that can be given to it before K and L are
// let in, and A and B are after there are keys, which they do not get: there are cuts at which
// a member may do much and an Admin is nobody, and members who hold nothing.
func lateOpening(t require.TestingT) *forge {
	f := forgeOf(t, 2)
	require.NotNil(t, f.op("Z", added("M", codec.Member)))
	require.NotNil(t, f.op("Z", codec.GroupOp{Kind: codec.OpMemberCapabilitySet, Member: is("M"), Capabilities: codec.AllCapabilities}))
	for _, name := range []string{"K", "L"} {
		require.NotNil(t, f.op("Z", added(name, codec.Admin)))
	}
	require.NotNil(t, f.rotated(f.ns, "Z", nil, f.members(f.heads(), f.ns)))
	for _, name := range []string{"A", "B"} {
		require.NotNil(t, f.op("Z", added(name, codec.Member)))
	}
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
	if rapid.Bool().Draw(t, "furnished") {
		f.furnish()
	}
	name := rapid.SampledFrom(append([]string{"Z", "Z", "K", "L"}, cast[:7]...)) // more who may than who may not
	for range rapid.IntRange(1, most).Draw(t, "ops") {
		signer := name.Draw(t, "signer")
		g := rapid.SampledFrom([]codec.GroupID{f.ns, f.ns, f.ns, f.sub}).Draw(t, "group")
		parents := f.drawParents(t)
		switch rapid.IntRange(0, 11).Draw(t, "what") {
		case 0, 1:
			if rapid.IntRange(0, 5).Draw(t, "delivery") == 0 {
				f.drawDelivery(t, signer, g, parents, anyKey)
			} else {
				f.root(signer, f.drawRoot(t, signer, g), parents...)
			}
		case 2:
			f.drawOdd(t, signer, g, parents)
		case 3:
			f.drawRotation(t, signer, g, parents, anyKey)
		default:
			f.in(g, signer, f.drawBody(t), parents...)
		}
	}
}

// furnish gives the namespace what some kinds of op are about: a context, and an upgrade
// that runs.
func (f *forge) furnish() {
	require.NotNil(f.t, f.op("Z", registered(codec.ContextID{1})))
	require.NotNil(f.t, f.op("Z", codec.GroupOp{Kind: codec.OpUpgradeStarted, ToVersion: 2, Total: 2}))
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

// drawRoot draws a root op. The namespace is created once, so that its creation is not
// among them.
func (f *forge) drawRoot(t *rapid.T, signer string, g codec.GroupID) codec.RootOp {
	n := byte(rapid.IntRange(0, 2).Draw(t, "number"))
	other := rapid.SampledFrom(cast[:7]).Draw(t, "other")
	role := rapid.SampledFrom([]codec.GroupMemberRole{codec.Admin, codec.Member}).Draw(t, "role")
	switch kind := rapid.SampledFrom(rootsDrawn).Draw(t, "root"); kind {
	case codec.RootGroupCreated:
		return f.creation(signer, g, n)
	case codec.RootGroupReparented:
		return codec.RootOp{Kind: kind, GroupID: f.drawGroup(t), ParentID: f.drawGroup(t)}
	case codec.RootGroupDeleted:
		return codec.RootOp{Kind: kind, GroupID: f.sub}
	case codec.RootMemberJoined:
		return f.join(other, rapid.SampledFrom(cast[:7]).Draw(t, "joins"), g, role, n)
	case codec.RootInvitationRevoked:
		r := f.join(other, signer, g, role, n)
		id, err := group.InvitationID(&r.Invitation)
		require.NoError(t, err)
		return codec.RootOp{Kind: kind, GroupID: g, InvitationID: id}
	case codec.RootAuthorityStated:
		s := codec.RootOp{Kind: kind, GroupID: g, Defaults: codec.Capabilities(n)}
		if rapid.Bool().Draw(t, "names itself") {
			s.AdminIdentity = is(signer)
		}
		if other != signer {
			s.Members = append(s.Members, codec.StatedMember{Member: is(other), Role: role, Capabilities: codec.Capabilities(n)})
		}
		return s
	case codec.RootMerge, codec.RootKeyDelivery, codec.RootKeyDelivered: // see drawDelivery
		return codec.RootOp{Kind: codec.RootMerge}
	default:
		require.Fail(t, "nobody draws it", kind)
		return codec.RootOp{}
	}
}

// drawGroup draws a group that was created, the namespace among them.
func (f *forge) drawGroup(t *rapid.T) codec.GroupID {
	groups := []codec.GroupID{f.ns}
	for _, op := range f.ops {
		if op.Root != nil && op.Root.Kind == codec.RootGroupCreated {
			groups = append(groups, op.Root.GroupID)
		}
	}
	return rapid.SampledFrom(groups).Draw(t, "created")
}

// drawDelivery makes an op that sends a key of g, where its signer holds it, to some of whom it
// pleases its signer, or bytes that are none.
func (f *forge) drawDelivery(t *rapid.T, signer string, g codec.GroupID, parents []codec.OpID, holds func(codec.Secret) bool) {
	held := f.keysAt(f.draft(signer, parents).Parents, g)
	if len(held) == 0 {
		return
	}
	key := rapid.SampledFrom(held).Draw(t, "key")
	if rapid.IntRange(0, 4).Draw(t, "another key") == 0 || !holds(key.key) {
		key.key[0] ^= 1
	}
	to := f.drawPeople(t)
	if rapid.Bool().Draw(t, "members alone") {
		members := f.members(f.draft(signer, parents).Parents, g)
		to = slices.DeleteFunc(to, func(id codec.Identity) bool { return !slices.Contains(members, id) })
	}
	if len(to) > 0 {
		f.deliver(g, signer, key, to, parents...)
	}
}

func (f *forge) drawPeople(t *rapid.T) (to []codec.Identity) {
	for _, name := range cast[:6] {
		if rapid.IntRange(0, 3).Draw(t, "recipient") > 0 {
			to = append(to, is(name))
		}
	}
	if len(to) == 0 {
		to = all("Z")
	}
	return to
}

// keysAt returns the keys of g that a cut introduces.
func (f *forge) keysAt(heads []codec.OpID, g codec.GroupID) (found []heldKey) {
	for _, op := range f.cut(heads) {
		for _, k := range op.Keys {
			if k.GroupID == g {
				found = append(found, heldKey{op.ID, f.ring[namespace.GroupKey{GroupID: g, KeyID: k.KeyID}]})
			}
		}
	}
	return found
}

// heldAt is keysAt of the keys that somebody holds.
func (f *forge) heldAt(heads []codec.OpID, g codec.GroupID, holds func(codec.Secret) bool) []heldKey {
	return slices.DeleteFunc(f.keysAt(heads, g), func(k heldKey) bool { return !holds(k.key) })
}

// membersWith returns the members of a group with what an op does that d is to be.
func (f *forge) membersWith(d *codec.SignedNamespaceOp, in codec.GroupID, body codec.GroupOp, g codec.GroupID) []codec.Identity {
	clear := []group.Op{{Version: d.Version, Parents: d.Parents, Signer: d.Signer, Nonce: d.Nonce, Group: in, Body: &body}}
	for _, op := range f.cut(d.Parents) {
		clear = append(clear, namespace.ClearOf(op))
	}
	r, err := group.Evaluate(clear, codec.Identity{})
	require.NoError(f.t, err)
	return r.Members(g)
}

// drawRotation makes an op that introduces a new key, with some of those before that its signer
// holds, for whom it pleases its signer, and one sealed under it; whatever the ops themselves are
// worth.
func (f *forge) drawRotation(t *rapid.T, signer string, g codec.GroupID, parents []codec.OpID, holds func(codec.Secret) bool) {
	s := f.draft(signer, parents)
	to := f.members(s.Parents, g)
	if len(to) == 0 || rapid.IntRange(0, 2).Draw(t, "for others") == 0 {
		to = f.drawPeople(t)
	}
	var carried []heldKey
	for _, k := range f.heldAt(s.Parents, g, holds) {
		if rapid.IntRange(0, 3).Draw(t, "carried") > 0 {
			if rapid.IntRange(0, 7).Draw(t, "another key") == 0 {
				k.key[0] ^= 1
			}
			carried = append(carried, k)
		}
	}
	body := rapid.SampledFrom([]codec.GroupOp{{Kind: codec.OpKeyRotated}, {Kind: codec.OpKeyRotated}, removed("M"), {Kind: codec.OpMemberLeft}}).Draw(t, "with it")
	made := f.newKey(s, g, carried, to)
	if rapid.IntRange(0, 4).Draw(t, "garbage") == 0 {
		e := &made.Envelopes[rapid.IntRange(0, len(made.Envelopes)-1).Draw(t, "envelope")]
		e.Sealed[rapid.IntRange(0, 47).Draw(t, "byte")] ^= 1
	}
	op := f.clear(s, g, body, made)
	if op == nil || rapid.Bool().Draw(t, "nothing under it") {
		return
	}
	key, _ := f.keyAt([]codec.OpID{op.ID}, g)
	under := f.draft(rapid.SampledFrom(cast[:6]).Draw(t, "seals"), []codec.OpID{op.ID})
	f.sealed(under, g, key, f.inner(under, g, f.drawBody(t)))
}

// drawOdd makes what is no honest op: forgeries, replays, equivocations, inner ops that
// are another's, do not open, or are no ops.
func (f *forge) drawOdd(t *rapid.T, signer string, g codec.GroupID, parents []codec.OpID) {
	s := f.draft(signer, parents)
	key, ok := f.keyAt(s.Parents, f.ns)
	if !ok {
		return
	}
	kind := rapid.IntRange(0, 12).Draw(t, "odd")
	switch kind {
	case 0:
		s.Nonce--
	case 1:
		s.Nonce += uint64(rapid.IntRange(1, 9).Draw(t, "gap"))
	case 2:
		s.Nonce = ^uint64(0)
	}
	plain := f.inner(s, f.ns, f.drawBody(t)) // often of what is not to be sealed
	switch kind {
	case 3: // sealed for another group
		plain = f.inner(s, f.sub, f.drawBody(t))
	case 4:
		plain = plain[:len(plain)-1]
	case 5: // a signature of somebody else
		plain[len(plain)-1] ^= 1
	case 6: // what another has signed, in one's own op
		if other := f.drawOp(t); other.Root == nil {
			if b := f.read(other, f.ring).plain; b != nil {
				plain = b
			}
		}
	case 7: // a key that nobody has
		key.key[0] ^= 1
	case 10: // a key that no ancestor has introduced
		key.op = f.drawOp(t).ID
	case 11: // that carries one which nobody has introduced
		f.clear(s, f.ns, codec.GroupOp{Kind: codec.OpKeyRotated}, f.newKey(s, f.ns, []heldKey{{codec.OpID{1}, key.key}}, all("Z")))
		return
	case 12: // of the version before
		s.Version = codec.OpVersion1
		s.Op.Root = codec.RootOp{Kind: codec.RootMerge}
		require.NoError(t, namespace.Sign(s, who(signer)))
		f.take(s)
		return
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

// anyKey is what somebody holds who has been told all keys.
func anyKey(codec.Secret) bool { return true }
