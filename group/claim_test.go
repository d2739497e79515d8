package group

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
)

func placed(c codec.ContextID, number uint64) codec.GroupOp {
	return codec.GroupOp{Kind: codec.OpContextPlaced, ContextID: c, Number: number}
}

// A context goes where its own key has said last, whichever op is judged first; nothing
// else takes it from a group.
func TestContextGoesWhereItsKeyHasSaidLast(t *testing.T) {
	w, z := newCase(t)
	made := w.root("Z", groupCreated("Z", sub, root), z)
	c := codec.ContextID{7}
	register, detach := codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: c}, codec.GroupOp{Kind: codec.OpContextDetached, ContextID: c}
	home := func() codec.GroupID { return w.result().Claims[c].Group }

	w.op("Z", register, made)
	w.op("Z", codec.GroupOp{Kind: codec.OpContextAliasSet, ContextID: c, Name: codec.Some(codec.AliasName("c"))})
	w.requireVerdict(effective, w.in(sub, "Z", placed(c, 5)))
	require.Equal(t, sub, home())
	w.requireVerdict(skipped(NoContext), w.op("Z", codec.GroupOp{Kind: codec.OpContextMigrated, ContextID: c, Method: "m"}))
	for _, b := range []codec.GroupOp{register, placed(c, 4)} {
		w.requireVerdict(void(ContextElsewhere), w.op("Z", b))
	}
	w.requireVerdict(effective, w.in(sub, "Z", register)) // which takes nothing back of what was signed
	require.Equal(t, Claim{Group: sub, Number: 5}, w.result().Claims[c])
	w.requireVerdict(effective, w.op("Z", placed(c, 6)))
	require.Equal(t, root, home())
	w.requireVerdict(void(ContextElsewhere), w.in(sub, "Z", placed(c, 5)))
	for _, row := range w.result().Rows {
		require.NotEqual(t, byte(0x2F), row.Key[0], "the name is gone with the group that gave it")
	}

	// A group that gives a context up leaves it to whoever may register it.
	w.op("Z", detach)
	w.requireVerdict(effective, w.in(sub, "Z", register))
	require.Equal(t, Claim{Group: sub}, w.result().Claims[c])
}

// Of two placements with one number, by a key that has signed two things, the greater
// group has the context, in either order.
func TestPlacementsWithOneNumberAreOrderedByGroup(t *testing.T) {
	for _, first := range []codec.GroupID{root, sub} {
		w, z := newCase(t, map[bool]string{true: "root first", false: "root last"}[first == root])
		made := w.root("Z", groupCreated("Z", sub, root), z)
		c, greater := codec.ContextID{7}, slices.MaxFunc([]codec.GroupID{root, sub}, codec.CompareID)
		other := root
		if first == root {
			other = sub
		}
		w.in(first, "Z", placed(c, 3), made)
		w.in(other, "Z", placed(c, 3))
		require.Equal(t, greater, w.result().Claims[c].Group)
	}
}

func TestHomeIsTheClaimThatBeatsAllOthers(t *testing.T) {
	a, b := codec.GroupID{1}, codec.GroupID{2}
	for name, x := range map[string]struct {
		claims []Claim
		home   codec.GroupID // zero: none
	}{
		"nobody claims it":                      {nil, codec.GroupID{}},
		"one does, without a signature":         {[]Claim{{Group: a}}, a},
		"two do, without one":                   {[]Claim{{Group: a}, {Group: b}}, codec.GroupID{}},
		"what is signed beats what is not":      {[]Claim{{Group: a, Number: 1}, {Group: b}}, a},
		"and any number of those":               {[]Claim{{Group: b}, {Group: a, Number: 1}, {Group: codec.GroupID{3}}}, a},
		"the greater number":                    {[]Claim{{Group: a, Number: 2}, {Group: b, Number: 1}}, a},
		"of one number the greater group":       {[]Claim{{Group: a, Number: 2}, {Group: b, Number: 2}}, b},
		"revisions have no say":                 {[]Claim{{Group: a, Number: 2, Config: codec.ContextConfigValue{MembersRevision: 1}}, {Group: b, Number: 1, Config: codec.ContextConfigValue{MembersRevision: 9}}}, a},
		"without one, beside a signed one more": {[]Claim{{Group: a}, {Group: b}, {Group: b, Number: 1}}, b},
	} {
		for range 2 {
			home, ok := Home(x.claims)
			require.Equal(t, x.home, home.Group, name)
			require.Equal(t, !x.home.IsZero(), ok, name)
			slices.Reverse(x.claims)
		}
	}
}

func TestPlacementIsForOneGroupOfOneNamespace(t *testing.T) {
	seed, other := codec.Secret{1}, codec.Secret{2}
	c := codec.ContextID(IdentityOf(seed))
	ns, g := codec.GroupID{1}, codec.GroupID{2}
	good := codec.GroupOp{Kind: codec.OpContextPlaced, ContextID: c, Number: 7, Placement: SignPlacement(ns, g, 7, seed)}
	require.NoError(t, VerifyPlacement(ns, g, &good))
	refused := func(name string, ns, g codec.GroupID, change func(*codec.GroupOp)) {
		op := good
		change(&op)
		require.ErrorIs(t, VerifyPlacement(ns, g, &op), ErrSignature, name)
	}
	refused("another namespace", codec.GroupID{3}, g, func(*codec.GroupOp) {})
	refused("another group", ns, ns, func(*codec.GroupOp) {})
	refused("swapped", g, ns, func(*codec.GroupOp) {})
	refused("another number", ns, g, func(op *codec.GroupOp) { op.Number++ })
	refused("another context", ns, g, func(op *codec.GroupOp) { op.ContextID = codec.ContextID(IdentityOf(other)) })
	refused("another key", ns, g, func(op *codec.GroupOp) { op.Placement = SignPlacement(ns, g, 7, other) })
	refused("no number", ns, g, func(op *codec.GroupOp) { op.Number, op.Placement = 0, SignPlacement(ns, g, 0, seed) })
	refused("a context that is no key", ns, g, func(op *codec.GroupOp) { op.ContextID = codec.ContextID{1} })
}
