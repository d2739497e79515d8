package namespace

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
)

// written is a namespace of which Z, K and L are members, with a context of it.
type written struct {
	t       *testing.T
	z, k    *Store
	ns      codec.GroupID
	context codec.ContextID
}

func newWritten(t *testing.T) *written {
	w := &written{t: t, context: codec.ContextID{7}}
	w.z, w.k, w.ns = pairOf(t)
	w.do(w.z, add("L", codec.Member))
	w.do(w.z, codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: w.context})
	exchange(t, w.ns, w.z, w.k)
	return w
}

func (w *written) do(s *Store, body codec.GroupOp) { proposed(w.t, s, w.ns, w.ns, body) }

// from is a delta of who on top of all that s has.
func (w *written) from(s *Store, name string) Origin {
	heads, err := s.Heads(bg, w.ns)
	require.NoError(w.t, err)
	o := Origin{Context: w.context, Author: idOf(name), Cut: heads}
	require.NoError(w.t, s.judging(w.ns, func(b *batch) error {
		key, has, err := b.sealingKey(w.ns)
		require.True(w.t, has)
		o.KeyOp = key.name.Op
		return err
	}))
	return o
}

func (w *written) judge(s *Store, o Origin) Admission {
	found, err := s.Origins(w.ns, []Origin{o})
	require.NoError(w.t, err)
	return found[0]
}

func (w *written) allowed(s *Store, o Origin) Permit {
	a := w.judge(s, o)
	require.Equal(w.t, OriginAllowed, a.Kind, "%s %v", a.Reason, a.Missing)
	return a.Permit
}

func (w *written) refused(s *Store, o Origin, reason string) {
	a := w.judge(s, o)
	require.Equal(w.t, OriginRefused, a.Kind)
	require.Contains(w.t, a.Reason, reason)
	require.Empty(w.t, a.Permit.By)
}

func (w *written) stands(s *Store, p Permit) bool {
	stand, err := s.Standing(w.ns, []Permit{p})
	require.NoError(w.t, err)
	return stand[0]
}

func (w *written) closed(s *Store, p Permit, cuts ...[]codec.OpID) bool {
	closed, err := s.Closed(w.ns, []Permit{p}, cuts)
	require.NoError(w.t, err)
	return closed[0]
}

func TestMembersWriteAtTheirCuts(t *testing.T) {
	w := newWritten(t)
	o := w.from(w.z, "L")
	p := w.allowed(w.z, o)
	require.Equal(t, p, w.allowed(w.k, o), "all nodes say the same")
	require.True(t, w.stands(w.z, p))

	a, err := w.z.Author(bg, w.ns, w.context)
	require.NoError(t, err)
	require.Empty(t, a.Made.Wire)
	require.Equal(t, a.Permit, w.allowed(w.k, a.Origin))
	require.Equal(t, a.Key, w.judge(w.k, a.Origin).Key)

	stranger := w.from(w.z, "N")
	w.refused(w.k, stranger, "may not write")

	unknown := o
	unknown.Cut = []codec.OpID{{1}}
	require.Equal(t, Admission{Kind: OriginWaits, Missing: unknown.Cut}, w.judge(w.z, unknown))

	elsewhere := o
	elsewhere.Context = codec.ContextID{99}
	require.Equal(t, Admission{Kind: OriginWaits}, w.judge(w.z, elsewhere), "its group may be said by what is not opened here")

	unkeyed := o
	unkeyed.KeyOp = o.Cut[0]
	w.refused(w.z, unkeyed, "introduces the key")

	_, err = w.z.Author(bg, w.ns, codec.ContextID{99})
	require.ErrorIs(t, err, ErrNotWriter)
}

func TestWhoIsRemovedWritesNoMore(t *testing.T) {
	w := newWritten(t)
	before := w.from(w.z, "L")
	p := w.allowed(w.z, before)
	w.do(w.z, remove("L"))
	after := w.from(w.z, "L")
	w.refused(w.z, after, "may not write")
	require.Equal(t, OriginWaits, w.judge(w.k, after).Kind)

	backdated := before
	require.Equal(t, p, w.allowed(w.z, backdated), "at the cut alone it is as it was")
	require.False(t, w.stands(w.z, p))
	require.True(t, w.stands(w.k, p), "which has not heard of it")
	require.True(t, w.closed(w.z, p, before.Cut, after.Cut))
	require.False(t, w.closed(w.z, p, before.Cut))
	require.False(t, w.closed(w.z, p))

	exchange(t, w.ns, w.z, w.k)
	require.False(t, w.stands(w.k, p))

	w.do(w.z, add("L", codec.Member))
	again := w.from(w.z, "L")
	require.NotEqual(t, p.By, w.allowed(w.z, again).By)
	require.True(t, w.stands(w.z, w.allowed(w.z, again)))
	require.False(t, w.stands(w.z, p), "what is given anew revives nothing")
	require.True(t, w.closed(w.z, p, again.Cut))
	require.False(t, w.closed(w.z, w.allowed(w.z, again), after.Cut, again.Cut), "closing is of the grants that ended")
}

func TestTheKeyOfADeltaIsWhatOnlyMembersHold(t *testing.T) {
	w := newWritten(t)
	old := w.from(w.z, "K")
	w.do(w.z, remove("L"))
	now := w.from(w.z, "K")
	require.NotEqual(t, old.KeyOp, now.KeyOp, "a removal brings a key")
	w.allowed(w.z, now)
	mixed := now
	mixed.KeyOp = old.KeyOp
	w.refused(w.z, mixed, "others than members hold its key")
	mixed = old
	mixed.KeyOp = now.KeyOp
	w.refused(w.z, mixed, "introduces the key")
}

func TestWhoReadsOnlyWritesNothing(t *testing.T) {
	w := newWritten(t)
	before := w.from(w.z, "L")
	p := w.allowed(w.z, before)
	w.do(w.z, codec.GroupOp{Kind: codec.OpMemberRoleSet, Member: idOf("L"), Role: codec.ReadOnly})
	after := w.from(w.z, "L")
	w.refused(w.z, after, "may not write")
	require.False(t, w.stands(w.z, p), "a cut from before does not help")
	require.True(t, w.closed(w.z, p, after.Cut))

	w.do(w.z, codec.GroupOp{Kind: codec.OpMemberRoleSet, Member: idOf("L"), Role: codec.Member})
	again := w.from(w.z, "L")
	require.True(t, w.stands(w.z, w.allowed(w.z, again)))
	require.False(t, w.stands(w.z, p))

	w.do(w.z, add("M", codec.ReadOnly))
	w.refused(w.z, w.from(w.z, "M"), "may not write")
}

// An Admin's own standing is above what an equal says of the role.
func TestAnAdminWhoOutranksStaysAWriter(t *testing.T) {
	w := newWritten(t)
	p := w.allowed(w.z, w.from(w.z, "K"))
	require.Contains(t, p.By, group.Grant{Op: p.By[0].Op, Right: 1}, "as an Admin")
	w.do(w.z, codec.GroupOp{Kind: codec.OpMemberRoleSet, Member: idOf("K"), Role: codec.Member})
	require.True(t, w.stands(w.z, p), "who is a member no less, if no Admin")
	require.True(t, w.stands(w.z, w.allowed(w.z, w.from(w.z, "K"))))
}

func TestIncludes(t *testing.T) {
	w := newWritten(t)
	before := w.from(w.z, "Z").Cut
	w.do(w.z, call("another"))
	after := w.from(w.z, "Z").Cut
	for _, c := range []struct {
		heads, of []codec.OpID
		has       bool
	}{
		{after, before, true}, {before, after, false}, {after, after, true}, {before, nil, true},
		{after, []codec.OpID{{1}}, false}, {[]codec.OpID{{1}}, before, false},
	} {
		has, err := w.z.Includes(w.ns, c.heads, c.of)
		require.NoError(t, err)
		require.Equal(t, c.has, has)
	}
}

// A cut that continues none that is kept, and one that does, are judged alike.
func TestCutsInAnyOrderAreJudgedAlike(t *testing.T) {
	w := newWritten(t)
	var origins []Origin
	for range 2 * keptPasts {
		origins = append(origins, w.from(w.z, "L"))
		w.do(w.z, remove("L"))
		origins = append(origins, w.from(w.z, "L"))
		w.do(w.z, add("L", codec.Member))
	}
	want, err := w.z.Origins(w.ns, origins)
	require.NoError(t, err)
	for i := range want {
		require.Equal(t, []OriginKind{OriginAllowed, OriginRefused}[i%2], want[i].Kind, want[i].Reason)
	}
	z := w.z.reopened(t, 5)
	for _, i := range []int{15, 3, 8, 0, 1, 14, 2, 9, 4, 12, 5, 7, 6, 10, 11, 13} {
		require.Equal(t, want[i], w.judge(z, origins[i]), i)
	}
}
