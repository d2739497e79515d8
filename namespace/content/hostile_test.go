package content_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/namespace"
	"github.com/stoadb/stoa/namespace/content"
	"github.com/stoadb/stoa/namespace/envelope"
)

// at returns where a node would write now, and under which key.
func (n *node) at() (envelope.Place, codec.Secret) {
	a, err := n.gov.Author(bg, n.w.ns, n.w.context)
	require.NoError(n.w.t, err)
	return envelope.Place{Cut: a.Cut, KeyOp: a.KeyOp}, a.Key
}

// forge returns an envelope of a person at a place, on top of what a node has.
func (n *node) forge(name string, at envelope.Place, key codec.Secret, change func(*dag.Delta)) []byte {
	w := n.w
	heads, root, err := n.dag.Heads(w.context)
	require.NoError(w.t, err)
	d := &dag.Delta{Context: w.context, ExpectedRoot: root, HLC: codec.HybridTimestamp{Time: uint64(hlc.ToNTP64(w.now))}}
	for _, h := range heads {
		d.Parents = append(d.Parents, h.ID)
		d.HLC.Time = max(d.HLC.Time, h.HLC.Time+1)
	}
	at.Parents, err = n.content.Heads(bg, w.context)
	require.NoError(w.t, err)
	if len(at.Parents) > 1 {
		require.Len(w.t, at.Parents, 1, "sorted otherwise")
	}
	if change != nil {
		change(d)
	}
	d.HLC.ID, err = envelope.Node(idOf(name), w.context, at)
	require.NoError(w.t, err)
	e, err := envelope.Seal(d, at, key, seedOf(name))
	require.NoError(w.t, err)
	return e.Bytes()
}

// take offers an envelope.
func (n *node) take(b []byte) content.Answer {
	answers, err := n.content.Offer(bg, n.w.context, [][]byte{b})
	require.NoError(n.w.t, err)
	return answers[0]
}

func TestNobodyHangsAnOldCutOnWhatHasSeenTheRemoval(t *testing.T) {
	w := newWorld(t, 1, "Z", "K", "L")
	defer w.close()
	z, l := w.nodes[0], w.nodes[2]
	require.True(t, z.commit(put("a", "z")))
	w.heal(w.nodes...)
	at, key := l.at()
	z.do(remove("L"))
	require.True(t, z.commit(put("b", "closes")))
	a := z.take(z.forge("L", at, key, nil))
	require.Equal(t, content.Refused, a.Kind)
	require.Contains(t, a.Reason, "knew less of governance")
}

func TestWhatIsNotAsItsAuthorSaysIsRefused(t *testing.T) {
	w := newWorld(t, 1, "Z", "K", "L")
	defer w.close()
	z, l := w.nodes[0], w.nodes[2]
	require.True(t, z.commit(put("a", "z")))
	w.heal(w.nodes...)
	at, key := l.at()
	for reason, b := range map[string][]byte{
		"not the deltas in the envelopes": z.forge("L", at, key, func(d *dag.Delta) { d.Parents[0][0]++ }),
		"root":                            z.forge("L", at, key, func(d *dag.Delta) { d.ExpectedRoot[0]++ }),
		"may not write":                   z.forge("X", at, key, nil),
		"does not open":                   z.forge("L", at, codec.Secret{1}, nil),
		"time":                            z.forge("L", at, key, func(d *dag.Delta) { d.HLC.Time -= 1 << 40 }),
	} {
		for range 2 {
			a := z.take(b)
			require.Equal(t, content.Refused, a.Kind, reason)
			require.Contains(t, a.Reason, reason)
		}
	}
	good := z.forge("L", at, key, nil)
	bad := append([]byte{}, good...)
	bad[len(bad)-1] ^= 1
	require.Contains(t, z.take(bad).Reason, "not signed by its author")
	require.Contains(t, z.take(bad[:100]).Reason, "codec")
	require.Equal(t, content.Counts, z.take(good).Kind)
	require.Equal(t, content.Duplicate, z.take(good).Kind)

	early := z.forge("L", at, key, func(d *dag.Delta) { d.HLC.Time = uint64(hlc.ToNTP64(w.now.Add(time.Hour))) })
	a := z.take(early)
	require.Equal(t, content.TooEarly, a.Kind)
	require.InDelta(t, time.Hour, a.RetryAfter, float64(time.Minute))
	w.now = w.now.Add(2 * time.Hour)
	require.Equal(t, content.Counts, z.take(early).Kind)
}

// One that is offered with what it stands on, which is refused, waits for that.
func TestWhatStandsOnWhatIsRefusedWaits(t *testing.T) {
	w := newWorld(t, 1, "Z", "K", "L")
	defer w.close()
	z, k, l := w.nodes[0], w.nodes[1], w.nodes[2]
	require.True(t, z.commit(put("a", "z")))
	w.heal(w.nodes...)
	at, key := k.at()
	bad := z.forge("K", at, key, func(d *dag.Delta) { d.ExpectedRoot[0]++ })
	e, err := envelope.Parse(bad)
	require.NoError(t, err)
	below, err := e.Open(key)
	require.NoError(t, err)
	at, key = l.at()
	at.Parents = []codec.EnvelopeID{e.ID}
	d := &dag.Delta{Context: w.context, Parents: []codec.DeltaID{below.ID()}, HLC: codec.HybridTimestamp{Time: below.HLC.Time + 1}, ExpectedRoot: below.ExpectedRoot}
	d.HLC.ID, err = envelope.Node(idOf("L"), w.context, at)
	require.NoError(t, err)
	above, err := envelope.Seal(d, at, key, seedOf("L"))
	require.NoError(t, err)
	z.do(remove("L"))
	answers, err := z.content.Offer(bg, w.context, [][]byte{bad, above.Bytes()})
	require.NoError(t, err)
	require.Equal(t, content.Refused, answers[0].Kind)
	require.Equal(t, content.Waits, answers[1].Kind)
	require.Equal(t, at.Parents, answers[1].Parents)
	require.True(t, z.commit(put("a", "goes on")))
}

func TestAnEnvelopeThatNeedsOthersSaysWhich(t *testing.T) {
	w := newWorld(t, 1, "Z", "K")
	defer w.close()
	z, k := w.nodes[0], w.nodes[1]
	require.True(t, z.commit(put("a", "1")))
	first, err := z.content.Heads(bg, w.context)
	require.NoError(t, err)
	require.True(t, z.commit(put("a", "2")))
	a := k.take(z.last())
	require.Equal(t, content.Waits, a.Kind)
	require.Equal(t, first, a.Parents)
	z.do(codec.GroupOp{Kind: codec.OpKeyRotated})
	require.True(t, z.commit(put("a", "3")))
	a = k.take(z.last())
	require.Equal(t, content.Waits, a.Kind)
	heads, err := z.gov.Heads(bg, w.ns)
	require.NoError(t, err)
	require.Equal(t, heads, a.Ops)
	w.heal(z, k)
	require.Equal(t, "3", k.state("a"))
}

// A cut at which nobody who may write had written closes the context once somebody has.
func TestAVouchedDeltaClosesAtACutThatIsKnown(t *testing.T) {
	w := newWorld(t, 1, "Z", "K", "L", "M", "N")
	defer w.close()
	z, k, l, m, n := w.nodes[0], w.nodes[1], w.nodes[2], w.nodes[3], w.nodes[4]
	require.True(t, z.commit(put("a", "z")))
	w.heal(w.nodes...)
	z.do(remove("M"))
	z.govern(l, -1)
	z.govern(n, -1)
	z.do(remove("L"))
	z.govern(k, -1)
	require.True(t, l.commit(put("l", "unvouched")))
	require.True(t, m.commit(put("m", "unvouched")))
	require.Equal(t, content.Counts, k.take(l.last()).Kind)
	require.Equal(t, content.Counts, k.take(m.last()).Kind)
	require.True(t, n.commit(put("n", "vouches, at the cut of l")))
	require.Equal(t, content.Counts, k.take(n.last()).Kind)
	require.Equal(t, "", k.state("m"), "closed against M")
	require.Equal(t, "unvouched", k.state("l"), "and not against L")
	require.Equal(t, w.naive(k), counting(k.envelopes()))
}

// What is set aside is bounded, for each author: others' stays.
func TestOneAuthorsFloodThrowsNobodyElsesOut(t *testing.T) {
	w := newWorld(t, 1, "Z", "L", "M")
	defer w.close()
	w.options = content.Options{MaxHeld: 16}
	z, l, m := w.nodes[0], w.nodes[1], w.nodes[2]
	z.restart()
	require.True(t, z.commit(put("a", "z")))
	w.heal(w.nodes...)
	z.do(remove("L"))
	z.do(remove("M"))
	require.True(t, z.commit(put("b", "closes")))
	require.True(t, m.commit(put("m", "m")))
	require.Equal(t, content.SetAside, z.take(m.last()).Kind)
	for i := range 5 {
		require.True(t, l.commit(put("l", string(rune('0'+i)))))
		l.offer(z, l.last(), 100)
	}
	held, err := z.content.Held(bg, w.context)
	require.NoError(t, err)
	of := map[codec.Identity]int{}
	for _, h := range held {
		of[h.Author]++
	}
	require.Equal(t, 1, of[idOf("M")])
	require.Equal(t, 2, of[idOf("L")])
	require.Equal(t, content.NoRoom, z.take(l.first(4)).Kind)
	z.restart()
	again, err := z.content.Held(bg, w.context)
	require.NoError(t, err)
	require.Equal(t, held, again)
}

func TestAContextIsSignedOrNot(t *testing.T) {
	w := newWorld(t, 1, "Z", "L")
	defer w.close()
	z := w.nodes[0]
	require.NoError(t, z.content.Unsigned(w.context))
	other := codec.ContextID{9}
	require.NoError(t, z.dag.CreateContext(other, codec.ApplicationMeta{}))
	require.NoError(t, z.content.Unsigned(other), "no group has it")
	done, err := z.content.Commit(bg, dag.Commit{Context: other, ReadRoot: mustRoot(t, z, other)})
	require.NoError(t, err)
	require.Len(t, done.Deltas, 1)
	require.Empty(t, done.Envelopes)

	done, err = z.try(put("a", "1"))
	require.NoError(t, err)
	require.Len(t, done.Envelopes, 1)
	require.ErrorIs(t, z.content.Unsigned(w.context), content.ErrSigned)

	// One that had deltas when a group got it.
	z.do(codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: other})
	require.NoError(t, z.content.Unsigned(other))
	done, err = z.content.Commit(bg, dag.Commit{Context: other, ReadRoot: mustRoot(t, z, other)})
	require.NoError(t, err)
	require.Len(t, done.Deltas, 1)
	_, err = z.content.Offer(bg, other, nil)
	require.ErrorIs(t, err, content.ErrUnsigned)
	_, err = z.content.Offer(bg, codec.ContextID{10}, nil)
	require.ErrorIs(t, err, namespace.ErrNoContext)
}

// What was made while no group had a context stays as it is, and what comes after goes on so.
func TestAContextThatWasDetachedGoesOnUnsigned(t *testing.T) {
	w := newWorld(t, 1, "Z", "K")
	defer w.close()
	z, k := w.nodes[0], w.nodes[1]
	require.True(t, z.commit(put("a", "1")))
	w.heal(z, k)
	z.do(codec.GroupOp{Kind: codec.OpContextDetached, ContextID: w.context})
	done, err := z.try(put("a", "2"))
	require.NoError(t, err)
	require.Len(t, done.Deltas, 1)
	z.do(codec.GroupOp{Kind: codec.OpContextRegistered, ContextID: w.context})
	require.True(t, k.commit(put("b", "1")))
	_, err = z.content.Offer(bg, w.context, [][]byte{k.last()})
	require.ErrorIs(t, err, content.ErrUnsigned)
	done, err = z.try(put("a", "3"))
	require.NoError(t, err)
	require.Len(t, done.Deltas, 1)
	require.Equal(t, "3", z.state("a"))
}

func mustRoot(t *testing.T, n *node, id codec.ContextID) codec.Hash {
	_, root, err := n.dag.Heads(id)
	require.NoError(t, err)
	return root
}

func TestWhoMayNotWriteCommitsNothing(t *testing.T) {
	w := newWorld(t, 1, "Z", "L")
	defer w.close()
	z, l := w.nodes[0], w.nodes[1]
	z.do(remove("L"))
	z.govern(l, -1)
	_, err := l.try(put("a", "1"))
	require.ErrorIs(t, err, namespace.ErrNotWriter)
	require.Empty(t, l.envelopes())
}

// A commit that loses against another is a conflict, and leaves nothing.
func TestACommitOnAnotherRootIsAConflict(t *testing.T) {
	w := newWorld(t, 1, "Z")
	defer w.close()
	z := w.nodes[0]
	require.True(t, z.commit(put("a", "1")))
	before := z.envelopes()
	_, err := z.content.Commit(bg, dag.Commit{Context: w.context, ReadRoot: codec.Hash{1}})
	var moved *dag.RootMoved
	require.ErrorAs(t, err, &moved)
	require.Equal(t, before, z.envelopes())
	require.True(t, z.commit(put("a", "2")))
}
