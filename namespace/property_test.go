package namespace

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/group"
)

// network is nodes that work beside each other and meet at random.
type network struct {
	nodes map[string]*node
	names []string
	seals []sealing
}

// sealing is an op that was sealed, and who was no member any more for its author.
type sealing struct {
	op    *Op
	gone  []string
	group codec.GroupID
}

// settle founds a namespace with a group below it, Z's and K's, and lets everybody in.
func settle(t *rapid.T) (v *network, sub codec.GroupID) {
	v = &network{nodes: map[string]*node{"Z": found(t, "Z")}, names: []string{"Z"}}
	z := v.nodes["Z"]
	for _, name := range []string{"K", "L", "M", "N"} {
		z.do(add(name, codec.Admin))
		v.nodes[name], v.names = z.peer(name), append(v.names, name)
	}
	r := codec.RootOp{Kind: codec.RootGroupCreated, ParentID: z.namespace, Creator: idOf("Z")}
	sub, err := CreationID(&r)
	require.NoError(t, err)
	r.GroupID = sub
	z.root(r)
	for _, name := range []string{"K", "M"} {
		_, err := z.try(sub, add(name, codec.Admin))
		require.NoError(t, err)
	}
	for _, name := range v.names[1:] {
		v.nodes[name].sync(z)
	}
	return v, sub
}

// act has somebody do something in g, who knows whom as gone.
func (v *network) act(t *rapid.T, sub codec.GroupID) {
	name := rapid.SampledFrom(v.names).Draw(t, "who")
	n := v.nodes[name]
	g := rapid.SampledFrom([]codec.GroupID{n.namespace, n.namespace, sub}).Draw(t, "group")
	body := call(fmt.Sprint("name", rapid.IntRange(0, 9).Draw(t, "name")))
	switch rapid.IntRange(0, 4).Draw(t, "what") {
	case 0, 1:
		body = remove(rapid.SampledFrom(v.names).Draw(t, "whom"))
	case 2:
		body = codec.GroupOp{Kind: codec.OpMemberLeft}
	}
	before := n.result()
	ops, err := n.try(g, body)
	if errors.Is(err, ErrNotEffective) || errors.Is(err, ErrNoKey) {
		return
	}
	require.NoError(t, err)
	op, err := NewOp(ops[0])
	require.NoError(t, err)
	var gone []string
	for _, other := range v.names {
		if !slices.Contains(before.Members(g), idOf(other)) && !slices.Contains(before.Members(n.namespace), idOf(other)) {
			gone = append(gone, other)
		}
	}
	v.seals = append(v.seals, sealing{op, gone, g})
}

func (v *network) meet(t *rapid.T) {
	a, b := rapid.SampledFrom(v.names).Draw(t, "a"), rapid.SampledFrom(v.names).Draw(t, "b")
	v.nodes[a].sync(v.nodes[b])
	v.nodes[b].sync(v.nodes[a])
}

// Nodes that remove each other, leave, and go on beside each other: with everything that
// is ever sent and everything that it held, a node opens nothing that was sealed by one
// that knew its owner as no member. Nobody is added again, so that nothing is theirs by
// right. And whoever holds the same keys sees the same.
func TestRemovedMemberOpensNothingNew(t *testing.T) {
	opened, closed, histories := 0, 0, 0
	enginetest.Check(t, 30, func(t *rapid.T) {
		histories++
		v, sub := settle(t)
		for range rapid.IntRange(3, 14).Draw(t, "steps") {
			if v.act(t, sub); rapid.Bool().Draw(t, "meet") {
				v.meet(t)
			}
		}
		all := v.nodes["Z"].peer("nobody")
		for _, name := range v.names {
			all.sync(v.nodes[name])
		}
		for _, name := range v.names {
			spy := v.nodes[name]
			spy.sync(all) // every later byte
			for _, s := range v.seals {
				_, has := spy.ring[GroupKey{s.group, s.op.KeyID}]
				if slices.Contains(s.gone, name) {
					closed++
					require.False(t, has, "%s opens an op sealed without it", name)
					require.Equal(t, group.Op{ID: s.op.ID, Parents: s.op.Parents, Signer: s.op.Signer, Nonce: s.op.Nonce, Group: s.group}, spy.ring.Read(s.op))
				} else if has {
					opened++
				}
			}
		}
		v.requireAgreement(t)
	})
	if histories >= 10 {
		require.Positive(t, opened, "nobody opens anything: the property says nothing")
		require.Positive(t, closed, "nobody is ever gone: the property says nothing")
	}
}

// requireAgreement demands that nodes with the same keys have the same result, and that
// all members of the namespace, to whom its key is current, can read each other.
func (v *network) requireAgreement(t *rapid.T) {
	for _, a := range v.names {
		for _, b := range v.names {
			x, y := v.nodes[a], v.nodes[b]
			same := len(x.ring) == len(y.ring)
			for k := range x.ring {
				_, has := y.ring[k]
				same = same && has
			}
			if same {
				require.Equal(t, x.result(), y.result())
			}
		}
	}
}

// After whatever happened, the admin identity can act, and its op carries or finds a key
// that all members have.
func TestProposeMends(t *testing.T) {
	enginetest.Check(t, 20, func(t *rapid.T) {
		v, sub := settle(t)
		for range rapid.IntRange(3, 10).Draw(t, "steps") {
			if v.act(t, sub); rapid.Bool().Draw(t, "meet") {
				v.meet(t)
			}
		}
		z := v.nodes["Z"]
		for _, name := range v.names {
			z.sync(v.nodes[name])
		}
		if _, err := z.try(z.namespace, call("last")); err != nil {
			require.ErrorIs(t, err, ErrNoKey)
			return
		}
		view := z.view()
		heads := view.heads()
		id, ok, err := view.currentKey(heads, z.namespace)
		require.NoError(t, err)
		require.True(t, ok)
		without, err := view.lackingAt(heads, GroupKey{z.namespace, id})
		require.NoError(t, err)
		require.Empty(t, without)
		for _, name := range v.names {
			n := v.nodes[name]
			n.sync(z)
			_, has := n.ring[GroupKey{z.namespace, id}]
			require.Equal(t, slices.Contains(z.result().Members(z.namespace), idOf(name)), has, name)
		}
	})
}

// K removes L while L removes K, each with a key that the other has: neither key is
// current where both are known, and the next op mends it.
func TestConcurrentRemovalsLeaveNoKey(t *testing.T) {
	z := found(t, "Z")
	for _, name := range []string{"K", "L", "M", "N"} {
		z.do(add(name, codec.Admin))
	}
	k, l := z.peer("K"), z.peer("L")
	k.sync(z)
	l.sync(z)
	byK, byL := k.do(remove("M"))[0], l.do(remove("N"))[0]
	require.Len(t, byK.Op.Rotations, 1)
	require.Len(t, byL.Op.Rotations, 1)
	z.sync(k)
	z.sync(l)
	_, ok, err := z.view().currentKey(z.view().heads(), z.namespace)
	require.NoError(t, err)
	require.False(t, ok)
	mended := z.do(call("x"))[0]
	require.Len(t, mended.Op.Rotations, 1)
	require.Len(t, mended.Op.Rotations[0].Envelopes, 3)
	for _, name := range []string{"M", "N"} {
		n := z.peer(name)
		n.sync(z)
		require.NotContains(t, n.ring, GroupKey{z.namespace, mended.Op.KeyID})
	}
	// a rotation that is not due gives nobody a say in the key
	rogue, err := NewKey(randomness(3))
	require.NoError(t, err)
	r, err := NewRotation(randomness(3), z.namespace, z.namespace, rogue, codec.Option[codec.Secret]{}, z.result().Members(z.namespace))
	require.NoError(t, err)
	next := z.copy().do(call("y"))[0]
	z.take(resigned(t, next, "Z", func(s *codec.SignedNamespaceOp) { s.Op.Rotations = []codec.KeyRotation{r} }))
	id, ok, err := z.view().currentKey(z.view().heads(), z.namespace)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, mended.Op.KeyID, id)
}

// A rotation that is due, but leaves a member out, makes no key current: the one who
// was left out mends it like anybody else.
func TestRotationToOthersThanTheMembersDoesNotCount(t *testing.T) {
	z := found(t, "Z")
	for _, name := range []string{"K", "L", "M"} {
		z.do(add(name, codec.Admin))
	}
	l := z.peer("L")
	l.sync(z)
	removal := z.do(remove("M"))[0]
	key := z.ring[GroupKey{z.namespace, removal.Op.Rotations[0].NewKeyID}]
	for _, to := range [][]codec.Identity{{idOf("Z"), idOf("K")}, {idOf("K"), idOf("L")}, {idOf("Z"), idOf("K"), idOf("L"), idOf("X")}} {
		unfair := resigned(t, removal, "Z", func(s *codec.SignedNamespaceOp) {
			envelopes, err := SealKeyTo(randomness(5), z.namespace, z.namespace, key, to)
			require.NoError(t, err)
			s.Op.Rotations[0].Envelopes = envelopes
		})
		other := l.peer("L")
		other.sync(l)
		other.take(unfair)
		view := other.view()
		_, ok, err := view.currentKey(view.heads(), z.namespace)
		require.NoError(t, err)
		require.False(t, ok)
		require.Len(t, other.do(call("x"))[0].Op.Rotations[0].Envelopes, 3)
	}
}

// A removal from the namespace carries rotations for the groups below as well.
func TestRemovalFromTheNamespaceRotatesBelow(t *testing.T) {
	z := found(t, "Z")
	z.do(add("M", codec.Member))
	r := codec.RootOp{Kind: codec.RootGroupCreated, ParentID: z.namespace, Creator: idOf("Z")}
	sub, err := CreationID(&r)
	require.NoError(t, err)
	r.GroupID = sub
	z.root(r)
	_, err = z.try(sub, add("M", codec.Member))
	require.NoError(t, err)
	removal := z.do(remove("M"))[0]
	require.Len(t, removal.Op.Rotations, 2)
	view := z.view()
	for _, g := range []codec.GroupID{z.namespace, sub} {
		id, ok, err := view.currentKey(view.heads(), g)
		require.NoError(t, err)
		require.True(t, ok)
		require.True(t, slices.ContainsFunc(removal.Op.Rotations, func(r codec.KeyRotation) bool { return r.NewKeyID == id }))
	}
	m := z.peer("M")
	m.sync(z)
	for _, r := range removal.Op.Rotations {
		require.NotContains(t, m.ring, GroupKey{r.GroupID, r.NewKeyID})
	}
}

// C is removed, which makes a second key, and comes back; D is let in, and opens by the
// second key the first, which nobody sent to it. When D leaves, the first is no way out.
func TestHoldersFollowTheChain(t *testing.T) {
	z := found(t, "Z")
	z.do(add("C", codec.Member))
	z.do(remove("C"))
	z.do(add("C", codec.Member))
	z.do(add("D", codec.Member))
	d := z.peer("D")
	d.sync(z)
	require.Len(t, d.ring, 2)
	d.do(codec.GroupOp{Kind: codec.OpMemberLeft})
	z.sync(d)
	_, ok, err := z.view().currentKey(z.view().heads(), z.namespace)
	require.NoError(t, err)
	require.False(t, ok)
	next := z.do(call("x"))[0]
	d.sync(z)
	require.NotContains(t, d.ring, GroupKey{z.namespace, next.Op.KeyID})
}

// However long the chain is, and in whatever order its ops are given.
func TestHoldersOfALongChain(t *testing.T) {
	var ops []*Op
	for n := range byte(5) {
		r := codec.RotationSkeleton{NewKeyID: codec.KeyID{n + 1}, Recipients: []codec.Identity{{n}}}
		if n > 0 {
			r.Previous = codec.Some(codec.KeyID{n})
		}
		ops = append(ops, &Op{Signer: codec.Identity{n}, Rotations: []codec.RotationSkeleton{r}})
	}
	for range 2 {
		held := holdings(ops)
		for n := range byte(5) {
			require.Len(t, held[GroupKey{KeyID: codec.KeyID{n + 1}}], 5-int(n))
		}
		slices.Reverse(ops)
	}
}
