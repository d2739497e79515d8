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
)

// network is nodes that work beside each other and meet at random.
type network struct {
	nodes map[string]*node
	names []string
	seals []sealing
}

// sealing is an op under whose key something was sealed, or that introduced one, and who
// was no member for its author.
type sealing struct {
	op    *Op
	name  KeyName
	keyID codec.KeyID
	gone  []string
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
	ops, err := n.try(g, body)
	if errors.Is(err, ErrNotEffective) || errors.Is(err, ErrNoKey) {
		return
	}
	require.NoError(t, err)
	view, after := n.view(), n.result()
	for _, s := range ops {
		op, err := NewOp(s)
		require.NoError(t, err)
		var named []KeyName
		if op.sealed() {
			named = append(named, KeyName{op.GroupID, op.KeyOp})
		}
		for _, k := range op.Keys {
			named = append(named, KeyName{k.GroupID, op.ID})
		}
		for _, name := range named {
			made := sealing{op, name, view.newKey(name).KeyID, nil}
			for _, other := range v.names {
				if !slices.Contains(after.Members(name.GroupID), idOf(other)) {
					made.gone = append(made.gone, other)
				}
			}
			v.seals = append(v.seals, made)
		}
	}
}

// isLetIn reports whether an op that op does not descend from hands somebody a key of the
// group as a member: because a removal has turned out to be void.
func (v *view) isLetIn(op *Op, g codec.GroupID, who codec.Identity) (bool, error) {
	past := v.cut([]codec.OpID{op.ID})
	for _, o := range v.ops {
		if slices.Contains(past, o) {
			continue
		}
		to := map[codec.GroupID][]codec.Identity{}
		if r := o.Root; r != nil && r.Kind == codec.RootKeyDelivered {
			to[r.GroupID] = recipients(r.Envelopes)
		}
		for _, k := range o.Keys {
			to[k.GroupID] = k.Recipients
		}
		if !slices.Contains(to[g], who) {
			continue
		}
		r, err := v.at([]codec.OpID{o.ID})
		if err != nil || slices.Contains(r.Members(g), who) {
			return true, err
		}
	}
	return false, nil
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
			view := spy.view()
			for _, s := range v.seals {
				_, has := spy.ring[GroupKey{s.name.GroupID, s.keyID}]
				if slices.Contains(s.gone, name) {
					again, err := view.isLetIn(s.op, s.name.GroupID, idOf(name))
					require.NoError(t, err)
					if again {
						continue
					}
					closed++
					require.False(t, has, "%s opens an op sealed without it", name)
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
		_, err := z.try(z.namespace, call("last"))
		require.NoError(t, err, "an Admin can always go on")
		view := z.view()
		heads := view.heads()
		name, ok, err := view.sealingKey(heads, z.namespace)
		require.NoError(t, err)
		require.True(t, ok)
		without, err := view.lacking(heads, name)
		require.NoError(t, err)
		require.Empty(t, without)
		for _, who := range v.names {
			n := v.nodes[who]
			n.sync(z)
			_, has := n.ring[GroupKey{z.namespace, view.newKey(name).KeyID}]
			require.Equal(t, slices.Contains(z.result().Members(z.namespace), idOf(who)), has, who)
		}
	})
}

// K removes M while L removes N, each with a key that the other's victim has: under
// neither is sealed where both are known, and the next op mends it.
func TestConcurrentRemovalsLeaveNoKey(t *testing.T) {
	z := found(t, "Z")
	for _, name := range []string{"K", "L", "M", "N"} {
		z.do(add(name, codec.Admin))
	}
	z.do(call("z"))
	k, l := z.peer("K"), z.peer("L")
	k.sync(z)
	l.sync(z)
	byK, byL := k.do(remove("M"))[0], l.do(remove("N"))[0]
	require.Len(t, byK.Op.Keys, 1)
	require.Len(t, byL.Op.Keys, 1)
	z.sync(k)
	z.sync(l)
	_, ok, err := z.view().sealingKey(z.view().heads(), z.namespace)
	require.NoError(t, err)
	require.False(t, ok)
	mended := z.do(call("x"))[0]
	require.Len(t, mended.Op.Keys, 1)
	require.Len(t, mended.Op.Keys[0].Envelopes, 3)
	require.Len(t, mended.Op.Keys[0].Carried, 2)
	for _, name := range []string{"M", "N"} {
		n := z.peer(name)
		n.sync(z)
		require.NotContains(t, n.ring, GroupKey{z.namespace, mended.Op.Keys[0].KeyID})
	}
}

// A key that leaves a member out, or is for others too, is not good: what is sealed under
// it has no effect, and who was left out goes on like anybody else.
func TestKeyForOthersThanTheMembersIsNotGood(t *testing.T) {
	z := found(t, "Z")
	for _, name := range []string{"K", "L", "M"} {
		z.do(add(name, codec.Admin))
	}
	z.do(call("z"))
	l := z.peer("L")
	l.sync(z)
	removal := z.do(remove("M"))[0]
	key := z.ring[GroupKey{z.namespace, removal.Op.Keys[0].KeyID}]
	for _, to := range [][]codec.Identity{{idOf("Z"), idOf("K")}, {idOf("K"), idOf("L")}, {idOf("Z"), idOf("K"), idOf("L"), idOf("X")}} {
		unfair := resigned(t, removal, "Z", func(s *codec.SignedNamespaceOp) {
			envelopes, err := siteOf(s, z.namespace).envelopes(key, to)
			require.NoError(t, err)
			s.Op.Keys[0].Envelopes = envelopes
		})
		other := l.peer("L")
		other.sync(l)
		other.take(unfair)
		view := other.view()
		_, ok, err := view.sealingKey(view.heads(), z.namespace)
		require.NoError(t, err)
		require.False(t, ok)
		require.Len(t, other.do(call("x"))[0].Op.Keys[0].Envelopes, 3)
	}
}

// A removal from the namespace brings keys of the groups below as well.
func TestRemovalFromTheNamespaceRotatesBelow(t *testing.T) {
	z := found(t, "Z")
	z.do(add("M", codec.Member))
	z.do(call("z"))
	r := codec.RootOp{Kind: codec.RootGroupCreated, ParentID: z.namespace, Creator: idOf("Z")}
	sub, err := CreationID(&r)
	require.NoError(t, err)
	r.GroupID = sub
	z.root(r)
	_, err = z.try(sub, add("M", codec.Member))
	require.NoError(t, err)
	_, err = z.try(sub, call("sub"))
	require.NoError(t, err)
	removal := z.do(remove("M"))[0]
	require.Len(t, removal.Op.Keys, 2)
	op, err := NewOp(removal)
	require.NoError(t, err)
	view := z.view()
	for _, g := range []codec.GroupID{z.namespace, sub} {
		name, ok, err := view.sealingKey(view.heads(), g)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, op.ID, name.Op)
	}
	m := z.peer("M")
	m.sync(z)
	for _, k := range removal.Op.Keys {
		require.NotContains(t, m.ring, GroupKey{k.GroupID, k.KeyID})
	}
}

// C is removed, which makes a second key, and comes back; D is let in, and opens by the
// second key the first, which nobody sent to it. When D leaves, the first is no way out.
func TestHoldersFollowTheChain(t *testing.T) {
	z := found(t, "Z")
	z.do(add("C", codec.Member))
	z.do(call("z"))
	z.do(remove("C"))
	z.do(add("C", codec.Member))
	z.do(add("D", codec.Member))
	d := z.peer("D")
	d.sync(z)
	require.Len(t, d.ring, 2)
	d.do(codec.GroupOp{Kind: codec.OpMemberLeft})
	z.sync(d)
	_, ok, err := z.view().sealingKey(z.view().heads(), z.namespace)
	require.NoError(t, err)
	require.False(t, ok)
	next := z.do(call("x"))[0]
	d.sync(z)
	require.NotContains(t, d.ring, GroupKey{z.namespace, next.Op.Keys[0].KeyID})
}
