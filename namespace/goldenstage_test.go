package namespace_test

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
)

// stage is a golden case as a namespace that people could have made: everybody has a key
// of Ed25519, groups and ops have the ids of their content, invitations and placements are
// signed, and what is not clear is sealed. Between the op that creates the namespace and
// those after it the creator names everybody, since a stranger is refused, in ops that admit
// nobody; and whoever creates a group gives it a key, and sends it to the reader.
type stage struct {
	*forge
	file    *golden
	drawn   int            // of signatures
	creator codec.Identity // in the case, as is whole
	whole   codec.GroupID
	ids     map[[32]byte][32]byte // of people, groups, contexts and invitations: those of the case → those here
	ops     map[codec.OpID]*namespace.Op
	salts   map[codec.GroupID]codec.Hash
	heights map[codec.OpID]int             // in the case
	sent    map[codec.OpID][]*namespace.Op // what stands between an op of the case and those after it
}

// keyOf is the key of someone of a case, or of a context.
func keyOf[T ~[32]byte](id T) codec.Secret {
	return sha256.Sum256(append([]byte("golden "), id[:]...))
}

// newStage makes the ops of a case, with other ids for each n. The reader is sent all keys.
func newStage(t require.TestingT, file *golden, n byte) *stage {
	s := &stage{forge: newForge(t, n), drawn: int(n), file: file, creator: file.Ops[0].Signer, whole: file.Ops[0].root(t).GroupID, ids: map[[32]byte][32]byte{},
		ops: map[codec.OpID]*namespace.Op{}, salts: map[codec.GroupID]codec.Hash{}, heights: map[codec.OpID]int{}, sent: map[codec.OpID][]*namespace.Op{}}
	s.guests = map[codec.Identity]codec.Secret{}
	for i := range file.Ops {
		s.name(&file.Ops[i])
	}
	for i := range file.Ops {
		s.stage(&file.Ops[i])
	}
	return s
}

// reader is who reads the ops of a stage: none of those who act.
const reader = "N"

func here[T ~[32]byte](s *stage, id T) T {
	if mapped, ok := s.ids[[32]byte(id)]; ok {
		return T(mapped)
	}
	return id
}

// person gives someone of the case a key.
func (s *stage) person(id codec.Identity) codec.Identity {
	require.False(s.t, id.IsZero())
	if _, known := s.ids[id]; !known {
		s.ids[id] = group.IdentityOf(keyOf(id))
		s.guests[here(s, id)] = keyOf(id)
	}
	return here(s, id)
}

// name gives what an op names the ids that it has here.
func (s *stage) name(o *goldenOp) {
	s.person(o.Signer)
	if o.Root == nil {
		b := o.body(s.t)
		for _, id := range append(b.Members, b.Member) {
			if !id.IsZero() {
				s.person(id)
			}
		}
		if b.Kind == codec.OpContextPlaced {
			s.ids[b.ContextID] = group.IdentityOf(keyOf(b.ContextID))
		}
		return
	}
	switch r := o.root(s.t); r.Kind {
	case codec.RootNamespaceCreated, codec.RootGroupCreated:
		s.nameGroup(&r)
	case codec.RootMemberJoined:
		s.person(r.Member)
		id, err := group.InvitationID(&r.Invitation)
		require.NoError(s.t, err)
		v := s.invitation(r.Invitation)
		s.ids[id], err = group.InvitationID(&v)
		require.NoError(s.t, err)
	}
}

// nameGroup gives a group its id, with a salt by which it is greater, or less, than the
// namespace where the group of the case is.
func (s *stage) nameGroup(r *codec.RootOp) {
	if _, again := s.ids[r.GroupID]; again {
		return
	}
	for n := 0; ; n++ {
		s.salts[r.GroupID] = sha256.Sum256(fmt.Append(nil, "golden ", n, r.GroupID[:]))
		id := s.created(*r).GroupID
		if r.Kind == codec.RootNamespaceCreated {
			s.ns = id
		} else if compare(r.GroupID, s.whole) != compare(id, s.ns) {
			continue
		}
		s.ids[r.GroupID] = id
		return
	}
}

// created returns the creation of a group as it is here.
func (s *stage) created(r codec.RootOp) codec.RootOp {
	r.ParentID, r.Creator, r.Salt = here(s, r.ParentID), s.person(r.Creator), s.salts[r.GroupID]
	id, err := namespace.CreationID(&r)
	require.NoError(s.t, err)
	r.GroupID = id
	return r
}

// invitation returns an invitation as it is here, signed.
func (s *stage) invitation(v codec.Invitation) codec.Invitation {
	inviter := v.Inviter
	v.NamespaceID, v.GroupID = here(s, v.NamespaceID), here(s, v.GroupID)
	v.Inviter = s.person(inviter)
	if v.Invitee.Valid {
		v.Invitee.V = s.person(v.Invitee.V)
	}
	require.NoError(s.t, group.SignInvitation(&v, keyOf(inviter)))
	return v
}

// stage makes an op of the case, and what has to follow it.
func (s *stage) stage(o *goldenOp) {
	var parents []codec.OpID
	for _, p := range o.Parents {
		s.heights[o.ID] = max(s.heights[o.ID], 1+s.heights[p])
		parent := s.ops[p]
		if sent := s.sent[p]; len(sent) > 0 {
			parent = sent[len(sent)-1]
		}
		require.NotNil(s.t, parent, "it stands on an op that is refused")
		parents = append(parents, parent.ID)
	}
	d := s.draftBy(here(s, o.Signer), parents)
	seed := keyOf(o.Signer)
	if len(parents) == 0 {
		d.NamespaceID, d.Parents, d.Nonce = s.ns, nil, 1
	}
	if o.Root != nil {
		d.Op.Root = s.rootOp(o.root(s.t), d)
		for first := true; first || !s.fits(o, d); first = false {
			b, err := d.AppendBinary(nil)
			require.NoError(s.t, err)
			s.drawn++
			d.Signature = signOtherwise(s.t, seed, s.drawn, append([]byte("stoa.namespace.v2"), group.Unsigned(b)...))
		}
	} else if body := s.groupOp(here(s, o.Group), o.body(s.t)); namespace.IsClear(body.Kind) {
		s.clearFitting(o, d, body)
	} else {
		s.sealFitting(o, d, body)
	}
	if op := s.take(d); op != nil {
		s.ops[o.ID] = op
		s.sendKeys(o, op)
	}
}

func (s *stage) sealFitting(o *goldenOp, d *codec.SignedNamespaceOp, body codec.GroupOp) {
	g := here(s, o.Group)
	key, ok := s.keyAt(d.Parents, g)
	if o.KeyOp != nil {
		key, ok = s.keyAt([]codec.OpID{s.ops[*o.KeyOp].ID}, g)
	}
	if !ok {
		key.op = s.forge.ops[0].ID // which is refused
	}
	for plain := s.inner(d, g, body); ; {
		s.seal(d, g, key, plain)
		require.NoError(s.t, namespace.Sign(d, keyOf(o.Signer)))
		if s.fits(o, d) {
			return
		}
	}
}

// clearFitting makes a clear op with the keys that it introduces. Where ids decide, the
// keys make them others, or a signature.
func (s *stage) clearFitting(o *goldenOp, d *codec.SignedNamespaceOp, body codec.GroupOp) {
	g := here(s, o.Group)
	var keys []codec.NewKey
	for _, k := range o.Keys {
		var carried []heldKey
		for _, id := range k.Carries {
			key, ok := s.keyAt([]codec.OpID{s.ops[id].ID}, here(s, k.Group))
			require.True(s.t, ok)
			carried = append(carried, key)
		}
		keys = append(keys, s.newKey(d, here(s, k.Group), carried, s.membersWith(d, g, body, here(s, k.Group))))
	}
	inner, err := codec.SignedGroupOp{}.Decode(s.inner(d, g, body))
	require.NoError(s.t, err)
	d.Op = codec.NamespaceOp{Kind: codec.NamespaceClear, GroupID: g, Op: body, OpSignature: inner.Signature, Keys: keys}
	for first := true; first || !s.fits(o, d); first = false {
		b, err := d.AppendBinary(nil)
		require.NoError(s.t, err)
		s.drawn++
		d.Signature = signOtherwise(s.t, keyOf(o.Signer), s.drawn, append([]byte("stoa.namespace.v2"), group.Unsigned(b)...))
	}
}

// fits reports whether an op is, where ids decide, before and after those ops of its
// height that it is before and after in the case.
func (s *stage) fits(o *goldenOp, d *codec.SignedNamespaceOp) bool {
	op, err := namespace.NewOp(d)
	require.NoError(s.t, err)
	for id, made := range s.ops {
		if s.file.Ties && s.heights[id] == s.heights[o.ID] && compare(id, o.ID) != compare(made.ID, op.ID) {
			return false
		}
	}
	return true
}

func (s *stage) rootOp(r codec.RootOp, d *codec.SignedNamespaceOp) codec.RootOp {
	switch r.Kind {
	case codec.RootNamespaceCreated, codec.RootGroupCreated:
		return s.created(r)
	case codec.RootMemberJoined:
		member := r.Member
		r.Invitation, r.Member = s.invitation(r.Invitation), s.person(member)
		var err error
		r.JoinerSignature, err = group.SignJoin(&r.Invitation, keyOf(member))
		require.NoError(s.t, err)
	case codec.RootKeyDelivery, codec.RootKeyDelivered:
		g := here(s, r.GroupID)
		key, ok := s.keyAt(d.Parents, g)
		require.True(s.t, ok)
		made, err := namespace.IntroduceKey(d, g, key.key, nil, all(reader))
		require.NoError(s.t, err)
		return codec.RootOp{Kind: codec.RootKeyDelivered, GroupID: g, KeyOp: key.op, Envelopes: made.Envelopes}
	}
	r.GroupID, r.ParentID, r.InvitationID = here(s, r.GroupID), here(s, r.ParentID), here(s, r.InvitationID)
	return r
}

func (s *stage) groupOp(g codec.GroupID, b codec.GroupOp) codec.GroupOp {
	b.Member, b.Identity = here(s, b.Member), here(s, b.Identity)
	for i, id := range b.Members {
		b.Members[i] = here(s, id)
	}
	slices.SortFunc(b.Members, compare)
	if b.Kind == codec.OpContextPlaced {
		b.Placement = group.SignPlacement(s.ns, g, b.Number, keyOf(b.ContextID))
	}
	b.ContextID = here(s, b.ContextID)
	return b
}

// sendKeys has who has created a group give it a key, and send that to the reader; of the
// namespace, everybody is named too.
func (s *stage) sendKeys(o *goldenOp, op *namespace.Op) {
	creates := op.Root != nil && (op.Root.Kind == codec.RootNamespaceCreated || op.Root.Kind == codec.RootGroupCreated)
	for _, k := range op.Keys {
		s.send(o, op, k.GroupID)
	}
	if !creates {
		return
	}
	if op.Root.GroupID == s.ns {
		for _, id := range slices.SortedFunc(maps.Keys(s.guests), compare) {
			if id == op.Signer {
				continue
			}
			v := codec.Invitation{NamespaceID: s.ns, GroupID: s.ns, Inviter: id}
			require.NoError(s.t, group.SignInvitation(&v, s.guests[id]))
			sig, err := group.SignJoin(&v, s.guests[id])
			require.NoError(s.t, err)
			d := s.after(o, op)
			d.Op.Root = codec.RootOp{Kind: codec.RootMemberJoined, Invitation: v, Member: id, JoinerSignature: sig}
			s.follow(o, op, d)
		}
	}
	d := s.after(o, op)
	if _, has := s.keyAt(d.Parents, op.Root.GroupID); has {
		return
	}
	d.Op = codec.NamespaceOp{Kind: codec.NamespaceClear, GroupID: op.Root.GroupID, Op: codec.GroupOp{Kind: codec.OpKeyRotated}}
	inner, err := codec.SignedGroupOp{}.Decode(s.inner(d, op.Root.GroupID, d.Op.Op))
	require.NoError(s.t, err)
	d.Op.OpSignature, d.Op.Keys = inner.Signature, []codec.NewKey{s.newKey(d, op.Root.GroupID, nil, []codec.Identity{op.Signer})}
	s.follow(o, op, d)
	s.send(o, op, op.Root.GroupID)
}

// send sends the last key of a group to the reader.
func (s *stage) send(o *goldenOp, op *namespace.Op, g codec.GroupID) {
	d := s.after(o, op)
	key, _ := s.keyAt(d.Parents, g)
	made, err := namespace.IntroduceKey(d, g, key.key, nil, all(reader))
	require.NoError(s.t, err)
	d.Op.Root = codec.RootOp{Kind: codec.RootKeyDelivered, GroupID: g, KeyOp: key.op, Envelopes: made.Envelopes}
	s.follow(o, op, d)
}

// after returns the next op of the signer of op that stands between op and those after it.
func (s *stage) after(o *goldenOp, op *namespace.Op) *codec.SignedNamespaceOp {
	if sent := s.sent[o.ID]; len(sent) > 0 {
		op = sent[len(sent)-1]
	}
	return s.draftBy(op.Signer, []codec.OpID{op.ID})
}

func (s *stage) follow(o *goldenOp, op *namespace.Op, d *codec.SignedNamespaceOp) {
	require.NoError(s.t, namespace.Sign(d, s.seedOf(op.Signer)))
	made := s.take(d)
	require.NotNil(s.t, made)
	s.sent[o.ID] = append(s.sent[o.ID], made)
}
