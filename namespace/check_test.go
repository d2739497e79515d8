package namespace

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
)

func requireRefused(t *testing.T, reason RefusalReason, err error) {
	t.Helper()
	var r *Refusal
	require.ErrorAs(t, err, &r)
	require.ErrorIs(t, err, ErrRefused)
	require.Equal(t, reason, r.Reason, err)
}

// resigned changes a copy of s and signs it anew, as its author could.
func resigned(t *testing.T, s *codec.SignedNamespaceOp, name string, change func(*codec.SignedNamespaceOp)) *codec.SignedNamespaceOp {
	b, err := s.AppendBinary(nil)
	require.NoError(t, err)
	c, err := codec.SignedNamespaceOp{}.Decode(b)
	require.NoError(t, err)
	change(&c)
	require.NoError(t, Sign(&c, seedOf(name)))
	return &c
}

func restate(s *codec.SignedNamespaceOp, admin codec.Identity, members ...codec.Identity) {
	reroot(s, codec.RootAuthorityStated)
	s.Op.Root.AdminIdentity = admin
	for _, m := range members {
		s.Op.Root.Members = append(s.Op.Root.Members, codec.StatedMember{Member: m})
	}
}

func TestFormIsRefused(t *testing.T) {
	z := found(t, "Z")
	creating := z.ops[0].Signed
	made := z.do(call("z"))
	require.Len(t, made, 2, "the first sealed op needs a key")
	clear, sealed := made[0], made[1]
	for name, change := range map[string]func(*codec.SignedNamespaceOp){
		"another id":         func(s *codec.SignedNamespaceOp) { s.Op.Root.GroupID[0]++ },
		"another salt":       func(s *codec.SignedNamespaceOp) { s.Op.Root.Salt[0]++ },
		"another creator":    func(s *codec.SignedNamespaceOp) { s.Op.Root.Creator = idOf("M") },
		"another namespace":  func(s *codec.SignedNamespaceOp) { s.NamespaceID[0]++ },
		"with a parent":      func(s *codec.SignedNamespaceOp) { s.Parents = []codec.OpID{{1}} },
		"no creating op":     func(s *codec.SignedNamespaceOp) { s.Op.Root = codec.RootOp{Kind: codec.RootMerge} },
		"a group it is not":  func(s *codec.SignedNamespaceOp) { s.Op.Root.Kind = codec.RootGroupCreated },
		"the root moved":     func(s *codec.SignedNamespaceOp) { reroot(s, codec.RootGroupReparented) },
		"the root deleted":   func(s *codec.SignedNamespaceOp) { reroot(s, codec.RootGroupDeleted) },
		"empty key delivery": func(s *codec.SignedNamespaceOp) { reroot(s, codec.RootKeyDelivered) },
		"version 1's":        func(s *codec.SignedNamespaceOp) { reroot(s, codec.RootKeyDelivery) },
		"stated twice":       func(s *codec.SignedNamespaceOp) { restate(s, idOf("M"), idOf("K"), idOf("K")) },
		"stated again":       func(s *codec.SignedNamespaceOp) { restate(s, idOf("M"), idOf("M")) },
		"zeros stated":       func(s *codec.SignedNamespaceOp) { restate(s, idOf("M"), codec.Identity{}) },
		"no key's rights":    func(s *codec.SignedNamespaceOp) { restate(s, codec.Identity{2}) },
	} {
		_, err := Check(resigned(t, creating, "Z", change))
		require.Error(t, err, name)
		requireRefused(t, BadForm, err)
	}
	many := make([]codec.OpID, MaxParents+1)
	for i := range many {
		many[i][0] = byte(i)
	}
	for name, change := range map[string]func(*codec.SignedNamespaceOp){
		"no parents":       func(s *codec.SignedNamespaceOp) { s.Parents = nil },
		"65 parents":       func(s *codec.SignedNamespaceOp) { s.Parents = many },
		"unsorted parents": func(s *codec.SignedNamespaceOp) { s.Parents = []codec.OpID{{2}, {1}} },
		"parents twice":    func(s *codec.SignedNamespaceOp) { s.Parents = []codec.OpID{{1}, {1}} },
		"nothing sealed":   func(s *codec.SignedNamespaceOp) { s.Op.Sealed = s.Op.Sealed[:sealOverhead-1] },
		"too large":        func(s *codec.SignedNamespaceOp) { s.Op.Sealed = make([]byte, MaxOp) },
		"version 1":        func(s *codec.SignedNamespaceOp) { s.Version = codec.OpVersion1 },
		"as version 1 seals": func(s *codec.SignedNamespaceOp) {
			s.Op = codec.NamespaceOp{Kind: codec.NamespaceGroup, GroupID: s.Op.GroupID, Sealed: s.Op.Sealed}
		},
	} {
		_, err := Check(resigned(t, sealed, "Z", change))
		require.Error(t, err, name)
		requireRefused(t, BadForm, err)
	}
	body := func(b codec.GroupOp) func(s *codec.SignedNamespaceOp) {
		return func(s *codec.SignedNamespaceOp) { s.Op.Op = b }
	}
	for name, change := range map[string]func(*codec.SignedNamespaceOp){
		"keys twice":       func(s *codec.SignedNamespaceOp) { s.Op.Keys = append(s.Op.Keys, s.Op.Keys[0]) },
		"envelopes twice":  func(s *codec.SignedNamespaceOp) { e := &s.Op.Keys[0].Envelopes; *e = append(*e, (*e)[0]) },
		"no envelopes":     func(s *codec.SignedNamespaceOp) { s.Op.Keys[0].Envelopes = nil },
		"to a small point": func(s *codec.SignedNamespaceOp) { s.Op.Keys[0].Envelopes[0].Recipient = codec.Identity{1} },
		"unsorted carried": func(s *codec.SignedNamespaceOp) {
			s.Op.Keys[0].Carried = []codec.CarriedKey{{Op: codec.OpID{2}}, {Op: codec.OpID{1}}}
		},
		"carried twice": func(s *codec.SignedNamespaceOp) {
			s.Op.Keys[0].Carried = []codec.CarriedKey{{Op: codec.OpID{2}}, {Op: codec.OpID{2}}}
		},
		"what is not clear":  body(call("x")),
		"a small point":      body(codec.GroupOp{Kind: codec.OpMemberAdded, Member: codec.Identity{1}}),
		"nobody is removed":  body(codec.GroupOp{Kind: codec.OpMembersRemoved}),
		"removed twice":      body(codec.GroupOp{Kind: codec.OpMembersRemoved, Members: []codec.Identity{{1}, {1}}}),
		"unsorted removals":  body(codec.GroupOp{Kind: codec.OpMembersRemoved, Members: []codec.Identity{{2}, {1}}}),
		"clear in version 1": func(s *codec.SignedNamespaceOp) { s.Version = codec.OpVersion1 },
	} {
		_, err := Check(resigned(t, clear, "Z", change))
		require.Error(t, err, name)
		requireRefused(t, BadForm, err)
	}
	for _, s := range made {
		_, err := Check(resigned(t, s, "Z", func(*codec.SignedNamespaceOp) {}))
		require.NoError(t, err)
	}
	_, err := Check(resigned(t, clear, "Z", func(s *codec.SignedNamespaceOp) { s.Op.OpSignature[0] ^= 1 }))
	requireRefused(t, BadSignature, err)
}

func reroot(s *codec.SignedNamespaceOp, kind codec.RootOpKind) {
	s.Parents = []codec.OpID{{1}}
	s.Op.Root = codec.RootOp{Kind: kind, GroupID: s.NamespaceID}
}

func TestSignaturesAreRefused(t *testing.T) {
	z := found(t, "Z")
	s := *z.do(add("M", codec.Member))[0]
	s.Nonce++
	_, err := Check(&s)
	requireRefused(t, BadSignature, err)
	s.Nonce--
	s.Signer = idOf("M")
	_, err = Check(&s)
	requireRefused(t, BadSignature, err)

	join := codec.RootOp{Kind: codec.RootMemberJoined, Member: idOf("J"), Invitation: codec.Invitation{NamespaceID: z.namespace,
		GroupID: z.namespace, Role: codec.Member, Inviter: idOf("Z")}}
	require.NoError(t, group.SignInvitation(&join.Invitation, seedOf("Z")))
	join.JoinerSignature, err = group.SignJoin(&join.Invitation, seedOf("J"))
	require.NoError(t, err)
	good := z.root(join)
	for name, change := range map[string]func(*codec.SignedNamespaceOp){
		"by nobody":       func(s *codec.SignedNamespaceOp) { s.Op.Root.Invitation.Signature[40] ^= 1 },
		"better role":     func(s *codec.SignedNamespaceOp) { s.Op.Root.Invitation.Role = codec.Admin },
		"somebody else":   func(s *codec.SignedNamespaceOp) { s.Op.Root.Member = idOf("K") },
		"without consent": func(s *codec.SignedNamespaceOp) { s.Op.Root.JoinerSignature = codec.Signature{} },
	} {
		_, err := Check(resigned(t, good, "Z", change))
		require.Error(t, err, name)
		requireRefused(t, BadSignature, err)
	}
	for _, change := range []func(*codec.SignedNamespaceOp){
		func(s *codec.SignedNamespaceOp) { s.Op.Root.Invitation.NamespaceID[0]++ },
		func(s *codec.SignedNamespaceOp) { s.Op.Root.Invitation.Invitee = codec.Some(idOf("K")) },
	} {
		_, err := Check(resigned(t, good, "Z", change))
		requireRefused(t, BadForm, err)
	}
}

func TestWhatTheAncestorsSayIsRefused(t *testing.T) {
	z := found(t, "Z")
	z.do(add("M", codec.Member))
	first := z.do(call("z"))[0]
	key := z.ops[len(z.ops)-2].ID
	m := z.peer("M")
	m.sync(z)
	next := m.copy().root(codec.RootOp{Kind: codec.RootMerge})
	admit := func(name string, change func(*codec.SignedNamespaceOp)) error {
		return m.copy().offer(resigned(t, next, name, change))
	}
	require.NoError(t, admit("M", func(*codec.SignedNamespaceOp) {}))
	requireRefused(t, Replay, admit("M", func(s *codec.SignedNamespaceOp) { s.Nonce = 0 }))
	requireRefused(t, BadNonce, admit("M", func(s *codec.SignedNamespaceOp) { s.Nonce = 2 }))
	requireRefused(t, BadNonce, admit("M", func(s *codec.SignedNamespaceOp) { s.Nonce = ^uint64(0) }))
	requireRefused(t, Stranger, admit("X", func(*codec.SignedNamespaceOp) {}))
	requireRefused(t, Replay, admit("Z", func(*codec.SignedNamespaceOp) {}))

	sealed := func(change func(*codec.SignedNamespaceOp)) func(s *codec.SignedNamespaceOp) {
		return func(s *codec.SignedNamespaceOp) {
			s.Op = codec.NamespaceOp{Kind: codec.NamespaceSealed, GroupID: z.namespace, KeyOp: key, Sealed: make([]byte, 100)}
			change(s)
		}
	}
	require.NoError(t, admit("M", sealed(func(*codec.SignedNamespaceOp) {})))
	requireRefused(t, UnknownKey, admit("M", sealed(func(s *codec.SignedNamespaceOp) { s.Op.KeyOp[0]++ })))
	requireRefused(t, UnknownGroup, admit("M", sealed(func(s *codec.SignedNamespaceOp) { s.Op.GroupID[0]++ })))
	requireRefused(t, UnknownKey, admit("M", sealed(func(s *codec.SignedNamespaceOp) { s.Op.KeyOp = z.ops[0].ID })))
	rotated := func(carried ...codec.OpID) func(s *codec.SignedNamespaceOp) {
		return func(s *codec.SignedNamespaceOp) {
			body := codec.GroupOp{Kind: codec.OpKeyRotated}
			inner := codec.SignedGroupOp{GroupID: z.namespace, Parents: s.Parents, Signer: idOf("M"), Nonce: s.Nonce, Op: body}
			require.NoError(t, group.SignOp(&inner, seedOf("M")))
			k := first.Op.Keys[0]
			for _, op := range carried {
				k.Carried = append(k.Carried, codec.CarriedKey{Op: op})
			}
			s.Op = codec.NamespaceOp{Kind: codec.NamespaceClear, GroupID: z.namespace, Op: body, OpSignature: inner.Signature, Keys: []codec.NewKey{k}}
		}
	}
	require.NoError(t, admit("M", rotated()))
	require.NoError(t, admit("M", rotated(key)))
	requireRefused(t, UnknownKey, admit("M", rotated(codec.OpID{1})))
	deliver := func(op codec.OpID) func(s *codec.SignedNamespaceOp) {
		return func(s *codec.SignedNamespaceOp) {
			s.Op.Root = codec.RootOp{Kind: codec.RootKeyDelivered, GroupID: z.namespace, KeyOp: op, Envelopes: first.Op.Keys[0].Envelopes}
		}
	}
	require.NoError(t, admit("M", deliver(key)))
	requireRefused(t, UnknownKey, admit("M", deliver(codec.OpID{1})))
	requireRefused(t, BadForm, admit("M", func(s *codec.SignedNamespaceOp) { s.Version = codec.OpVersion1 }))
}

// A second op without parents for a namespace id is another op with the same content: it
// is in form, but no set of ops has room for it.
func TestNamespaceBeginsOnce(t *testing.T) {
	z := found(t, "Z")
	second, err := Check(resigned(t, z.ops[0].Signed, "Z", func(s *codec.SignedNamespaceOp) {}))
	require.NoError(t, err)
	require.Equal(t, z.ops[0].ID, second.ID, "Ed25519 as Go signs gives one signature")
	_, err = Check(resigned(t, z.ops[0].Signed, "Z", func(s *codec.SignedNamespaceOp) { s.Nonce = 2 }))
	require.NoError(t, err)
	again, _ := Check(resigned(t, z.ops[0].Signed, "Z", func(s *codec.SignedNamespaceOp) { s.Nonce = 2 }))
	requireRefused(t, BadNonce, admit(again, nil))
}

func TestSkeletonKeepsWhatTheDAGNeeds(t *testing.T) {
	z := found(t, "Z")
	z.do(call("z"))
	z.do(add("M", codec.Member))
	z.do(call("again"))
	for _, op := range z.ops {
		if !op.sealed() {
			continue
		}
		row, err := op.Skeleton().AppendBinary(nil)
		require.NoError(t, err)
		back, err := ParseOp(row)
		require.NoError(t, err)
		whole := *op
		whole.Signed, whole.signed = nil, nil
		require.Equal(t, &whole, back)
		row, err = codec.StoredNamespaceOp{Signed: *op.Signed}.AppendBinary(nil)
		require.NoError(t, err)
		back, err = ParseOp(row)
		require.NoError(t, err)
		require.Equal(t, op, back)
	}
}
