package namespace_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
)

// forge makes signed ops of one namespace in the names of all: it has everybody's seed
// and every key, and so makes what a member may make, and what nobody should.
type forge struct {
	t      require.TestingT
	ns     codec.GroupID
	sub    codec.GroupID
	ops    []*namespace.Op // admissible, each after its parents
	byID   map[codec.OpID]*namespace.Op
	ring   namespace.Keyring
	random io.Reader
	count  byte
	guests map[codec.Identity]codec.Secret // the seeds of those who sign and are not of the cast

	refused []refused
	reads   map[codec.OpID]reading
	goods   map[namespace.KeyName]goodness
}

// reading is an op as it is read with its key. Opening it takes time, so that it is done
// once for all nodes.
type reading struct {
	op    group.Op
	plain []byte
}

// refused is an op that must be refused once its parents are there.
type refused struct {
	bytes  []byte
	op     *namespace.Op // nil: it is not even in form
	reason namespace.RefusalReason
}

// cast are those who act. X was never let in, and N is nobody's name in any history.
var cast = []string{"Z", "K", "L", "A", "B", "M", "X", "N"}

// identities are those of the cast, made once since it takes time.
var identities = func() map[string]codec.Identity {
	m := map[string]codec.Identity{}
	for _, name := range cast {
		m[name] = group.IdentityOf(who(name))
	}
	return m
}()

// who returns the seed of the one of that name.
func who(name string) codec.Secret { return sha256.Sum256([]byte("seed of " + name)) }

// is returns the identity of the one of that name, one of the cast.
func is(name string) codec.Identity { return identities[name] }

func all(names ...string) (ids []codec.Identity) {
	for _, name := range names {
		ids = append(ids, is(name))
	}
	return ids
}

// newForge returns a forge of a namespace that is yet to be created.
func newForge(t require.TestingT, n byte) *forge {
	return &forge{t: t, byID: map[codec.OpID]*namespace.Op{}, ring: namespace.Keyring{}, random: rand.NewChaCha8([32]byte{41 + n}),
		reads: map[codec.OpID]reading{}, goods: map[namespace.KeyName]goodness{}}
}

// forgeOf returns a forge with a namespace created by Z; n tells several namespaces apart.
func forgeOf(t require.TestingT, n byte) *forge {
	f := newForge(t, n)
	r := codec.RootOp{Kind: codec.RootNamespaceCreated, Creator: is("Z"), Salt: codec.Hash{n}, CreatedAt: 1}
	id, err := namespace.CreationID(&r)
	require.NoError(t, err)
	r.GroupID, f.ns = id, id
	s := &codec.SignedNamespaceOp{Version: codec.OpVersion2, NamespaceID: id, Nonce: 1, Op: codec.NamespaceOp{Root: r}}
	require.NoError(t, namespace.Sign(s, who("Z")))
	require.NotNil(t, f.take(s))
	return f
}

// copy returns a forge with the same ops, to go on with apart from f.
func (f *forge) copy(t require.TestingT) *forge {
	c := *f
	c.t, c.ops, c.refused, c.random = t, slices.Clone(f.ops), nil, rand.NewChaCha8([32]byte{43, f.count})
	c.byID, c.ring = map[codec.OpID]*namespace.Op{}, namespace.Keyring{}
	for id, op := range f.byID {
		c.byID[id] = op
	}
	for k, key := range f.ring {
		c.ring[k] = key
	}
	return &c
}

// take adds s, or notes that it must be refused and returns nil.
func (f *forge) take(s *codec.SignedNamespaceOp) *namespace.Op {
	b, err := s.AppendBinary(nil)
	require.NoError(f.t, err)
	op, err := namespace.Check(s)
	if err == nil {
		if known := f.byID[op.ID]; known != nil {
			return known
		}
		err = namespace.Admit(op, f.cut(op.Parents))
	}
	if err != nil {
		var r *namespace.Refusal
		require.ErrorAs(f.t, err, &r)
		f.refused = append(f.refused, refused{b, op, r.Reason})
		return nil
	}
	f.ops, f.byID[op.ID] = append(f.ops, op), op
	return op
}

// cut returns the ops with these heads and all their ancestors, in the order in which
// they were made.
func (f *forge) cut(heads []codec.OpID) (cut []*namespace.Op) {
	seen := map[codec.OpID]bool{}
	for stack := slices.Clone(heads); len(stack) > 0; {
		id := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if op := f.byID[id]; op != nil && !seen[id] {
			seen[id] = true
			stack = append(stack, op.Parents...)
		}
	}
	for _, op := range f.ops {
		if seen[op.ID] {
			cut = append(cut, op)
		}
	}
	return cut
}

func (f *forge) heads() (heads []codec.OpID) {
	inner := map[codec.OpID]bool{}
	for _, op := range f.ops {
		for _, p := range op.Parents {
			inner[p] = true
		}
	}
	for _, op := range f.ops {
		if !inner[op.ID] {
			heads = append(heads, op.ID)
		}
	}
	return heads
}

// draft returns an unsigned op of name on parents; none: on all heads.
func (f *forge) draft(name string, parents []codec.OpID) *codec.SignedNamespaceOp {
	return f.draftBy(is(name), parents)
}

func (f *forge) draftBy(signer codec.Identity, parents []codec.OpID) *codec.SignedNamespaceOp {
	if len(parents) == 0 {
		parents = f.heads()
	}
	parents = slices.Clone(parents)
	slices.SortFunc(parents, compare)
	s := &codec.SignedNamespaceOp{Version: codec.OpVersion2, NamespaceID: f.ns, Parents: slices.Compact(parents), Signer: signer}
	for _, op := range f.cut(parents) {
		if op.Signer == s.Signer {
			s.Nonce = max(s.Nonce, op.Nonce)
		}
	}
	s.Nonce++
	return s
}

func compare[T ~[32]byte](a, b T) int { return slices.Compare(a[:], b[:]) }

// root makes a root op.
func (f *forge) root(name string, r codec.RootOp, parents ...codec.OpID) *namespace.Op {
	s := f.draft(name, parents)
	s.Op.Root = r
	require.NoError(f.t, namespace.Sign(s, who(name)))
	return f.take(s)
}

// creation returns the op by which name creates a group below parent; n tells several
// apart.
func (f *forge) creation(name string, parent codec.GroupID, n byte) codec.RootOp {
	r := codec.RootOp{Kind: codec.RootGroupCreated, ParentID: parent, Creator: is(name), Salt: codec.Hash{n}}
	id, err := namespace.CreationID(&r)
	require.NoError(f.t, err)
	r.GroupID = id
	return r
}

// join returns the op by which whoever signs it admits member on an invitation of
// inviter; n tells several apart.
func (f *forge) join(inviter, member string, g codec.GroupID, role codec.GroupMemberRole, n byte) codec.RootOp {
	v := codec.Invitation{NamespaceID: f.ns, GroupID: g, Role: role, Inviter: is(inviter), ExpiresAt: 1000, Nonce: codec.Hash{n}}
	require.NoError(f.t, group.SignInvitation(&v, who(inviter)))
	sig, err := group.SignJoin(&v, who(member))
	require.NoError(f.t, err)
	return codec.RootOp{Kind: codec.RootMemberJoined, Invitation: v, Member: is(member), JoinerSignature: sig}
}

// in makes an op of g: clear, or sealed under the key that was introduced there last; where
// there is none, under a new one for the members.
func (f *forge) in(g codec.GroupID, name string, body codec.GroupOp, parents ...codec.OpID) *namespace.Op {
	s := f.draft(name, parents)
	if namespace.IsClear(body.Kind) {
		return f.clear(s, g, body)
	}
	key, ok := f.keyAt(s.Parents, g)
	if !ok {
		made := f.rotated(g, name, nil, f.members(s.Parents, g), s.Parents...)
		if made == nil {
			return nil
		}
		s = f.draft(name, []codec.OpID{made.ID})
		key, _ = f.keyAt(s.Parents, g)
	}
	return f.sealed(s, g, key, f.inner(s, g, body))
}

// op makes an op of the namespace.
func (f *forge) op(name string, body codec.GroupOp, parents ...codec.OpID) *namespace.Op {
	return f.in(f.ns, name, body, parents...)
}

// clear signs s as a clear op, which introduces keys, and takes it.
func (f *forge) clear(s *codec.SignedNamespaceOp, g codec.GroupID, body codec.GroupOp, keys ...codec.NewKey) *namespace.Op {
	inner, err := codec.SignedGroupOp{}.Decode(f.inner(s, g, body))
	require.NoError(f.t, err)
	slices.SortFunc(keys, func(a, b codec.NewKey) int { return compare(a.GroupID, b.GroupID) })
	s.Op = codec.NamespaceOp{Kind: codec.NamespaceClear, GroupID: g, Op: body, OpSignature: inner.Signature, Keys: keys}
	require.NoError(f.t, namespace.Sign(s, f.seedOf(s.Signer)))
	return f.take(s)
}

// rotated makes an op that introduces a key of g, which carries others, for some.
func (f *forge) rotated(g codec.GroupID, name string, carried []heldKey, to []codec.Identity, parents ...codec.OpID) *namespace.Op {
	s := f.draft(name, parents)
	return f.clear(s, g, codec.GroupOp{Kind: codec.OpKeyRotated}, f.newKey(s, g, carried, to))
}

// heldKey is a key of a group with the op that introduces it.
type heldKey struct {
	op  codec.OpID
	key codec.Secret
}

// newKey makes a key of g that s introduces.
func (f *forge) newKey(s *codec.SignedNamespaceOp, g codec.GroupID, carried []heldKey, to []codec.Identity) codec.NewKey {
	key, err := namespace.NewKey(f.random)
	require.NoError(f.t, err)
	earlier := map[codec.OpID]codec.Secret{}
	for _, k := range carried {
		earlier[k.op] = k.key
	}
	made, err := namespace.IntroduceKey(s, g, key, earlier, to)
	require.NoError(f.t, err)
	f.ring[namespace.GroupKey{GroupID: g, KeyID: made.KeyID}] = key
	return made
}

// keyAt returns the key of g made last of those that the cut introduces.
func (f *forge) keyAt(heads []codec.OpID, g codec.GroupID) (key heldKey, ok bool) {
	for _, op := range f.cut(heads) {
		for _, k := range op.Keys {
			if k.GroupID == g {
				key.op = op.ID
				key.key, ok = f.ring[namespace.GroupKey{GroupID: g, KeyID: k.KeyID}]
			}
		}
	}
	return key, ok
}

// members returns the members of g at a cut.
func (f *forge) members(heads []codec.OpID, g codec.GroupID) []codec.Identity {
	var clear []group.Op
	for _, op := range f.cut(heads) {
		clear = append(clear, namespace.ClearOf(op))
	}
	r, err := group.Evaluate(clear, codec.Identity{})
	require.NoError(f.t, err)
	return r.Members(g)
}

// inner returns what is sealed in s: body, signed by the signer of s.
func (f *forge) inner(s *codec.SignedNamespaceOp, g codec.GroupID, body codec.GroupOp) []byte {
	inner := codec.SignedGroupOp{GroupID: g, Parents: s.Parents, Signer: s.Signer, Nonce: s.Nonce, Op: body}
	require.NoError(f.t, group.SignOp(&inner, f.seedOf(s.Signer)))
	b, err := inner.AppendBinary(nil)
	require.NoError(f.t, err)
	return b
}

func (f *forge) seedOf(id codec.Identity) codec.Secret {
	for _, name := range cast {
		if identities[name] == id {
			return who(name)
		}
	}
	if seed, ok := f.guests[id]; ok {
		return seed
	}
	panic(fmt.Sprintf("nobody is %s", id))
}

// sealed signs s as the op of g that seals plain under a key, and takes it.
func (f *forge) sealed(s *codec.SignedNamespaceOp, g codec.GroupID, key heldKey, plain []byte) *namespace.Op {
	f.seal(s, g, key, plain)
	require.NoError(f.t, namespace.Sign(s, f.seedOf(s.Signer)))
	return f.take(s)
}

// seal makes s the op of g that seals plain under a key.
func (f *forge) seal(s *codec.SignedNamespaceOp, g codec.GroupID, key heldKey, plain []byte) {
	s.Op = codec.NamespaceOp{Kind: codec.NamespaceSealed, GroupID: g, KeyOp: key.op}
	require.NoError(f.t, namespace.SealOp(f.random, s, key.key, plain))
}

// deliver makes the op of name that sends a key of g to some.
func (f *forge) deliver(g codec.GroupID, name string, key heldKey, to []codec.Identity, parents ...codec.OpID) *namespace.Op {
	s := f.draft(name, parents)
	made, err := namespace.IntroduceKey(s, g, key.key, nil, to)
	require.NoError(f.t, err)
	s.Op.Root = codec.RootOp{Kind: codec.RootKeyDelivered, GroupID: g, KeyOp: key.op, Envelopes: made.Envelopes}
	require.NoError(f.t, namespace.Sign(s, f.seedOf(s.Signer)))
	return f.take(s)
}

func bytesOf(t require.TestingT, op *namespace.Op) []byte {
	b, err := op.Signed.AppendBinary(nil)
	require.NoError(t, err)
	return b
}

// read returns op as who has the keys of ring reads it.
func (f *forge) read(op *namespace.Op, ring namespace.Keyring) reading {
	if op.Root != nil || op.Clear != nil {
		r := reading{op: namespace.ClearOf(op)}
		if op.Clear != nil {
			r.plain = namespace.InnerOf(op)
		}
		return r
	}
	name := namespace.KeyName{GroupID: op.GroupID, Op: op.KeyOp}
	id, clear, all := f.good(name)
	_, has := ring[namespace.GroupKey{GroupID: op.GroupID, KeyID: id}]
	switch {
	case !clear || has && !all:
		r := reading{op: namespace.ClearOf(op)}
		r.op.Fault = group.BadKey
		return r
	case !has:
		return reading{op: namespace.ClearOf(op)}
	}
	r, known := f.reads[op.ID]
	if !known {
		r.op, r.plain = namespace.ReadWith(op, f.ring[namespace.GroupKey{GroupID: op.GroupID, KeyID: id}])
		f.reads[op.ID] = r
	}
	return r
}

// goodness is what the reference says of a key, with the key.
type goodness struct {
	id         codec.KeyID
	clear, all bool
}

// good returns whether a key is good, by what is clear of it and in all.
func (f *forge) good(name namespace.KeyName) (id codec.KeyID, clear, all bool) {
	g, known := f.goods[name]
	if !known {
		var err error
		g.id, g.clear, g.all, err = namespace.IsGood(f.ns, f.cut([]codec.OpID{name.Op}), f.ring, name)
		require.NoError(f.t, err)
		f.goods[name] = g
	}
	return g.id, g.clear, g.all
}
