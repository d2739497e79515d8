package content_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace/content"
)

func put(key, value string) codec.Action { return codec.Put([]byte(key), []byte(value)) }

func remove(name string) codec.GroupOp {
	return codec.GroupOp{Kind: codec.OpMemberRemoved, Member: idOf(name)}
}

func add(name string) codec.GroupOp {
	return codec.GroupOp{Kind: codec.OpMemberAdded, Member: idOf(name), Role: codec.Member}
}

func TestWhatMembersWriteComesTogether(t *testing.T) {
	w := newWorld(t, 1, "Z", "K", "L")
	defer w.close()
	z, k, l := w.nodes[0], w.nodes[1], w.nodes[2]
	require.True(t, z.commit(put("a", "z")))
	w.heal(z, k, l)
	require.True(t, k.commit(put("b", "k")))
	require.True(t, l.commit(put("c", "l")))
	w.heal(z, k, l)
	require.Equal(t, z.rows(), k.rows())
	require.Equal(t, z.rows(), l.rows())
	require.Equal(t, "k", z.state("b"))
	for _, b := range z.lacking(&node{w: w, content: content.New(l.db, l.dag, l.gov, content.Options{})}) {
		t.Fatal("nothing is lacking", b)
	}
}

// What a removed member writes on a past from before counts as long as nobody who knows of the
// removal has written, and then no more; one who may write can have it count.
func TestARemovedMemberAddsNothingOnceTheContextIsClosed(t *testing.T) {
	w := newWorld(t, 1, "Z", "K", "L")
	defer w.close()
	z, k, l := w.nodes[0], w.nodes[1], w.nodes[2]
	require.True(t, z.commit(put("a", "z")))
	w.heal(z, k, l)
	z.do(remove("L"))
	require.True(t, l.commit(put("a", "late")), "which does not know of it")
	require.Equal(t, content.Counts, l.offer(z, l.last(), 0), "the context is not closed")
	require.Equal(t, content.Counts, l.offer(k, l.last(), 0))
	require.Equal(t, "late", z.state("a"))

	z.govern(k, -1)
	require.True(t, k.commit(put("b", "k")), "which vouches for it")
	w.heal(z, k)
	require.Equal(t, "late", z.state("a"))
	require.True(t, l.commit(put("a", "too late")))
	require.Equal(t, content.SetAside, l.offer(z, l.last(), 0))
	require.Equal(t, "late", z.state("a"))
	held, err := z.content.Held(bg, w.context)
	require.NoError(t, err)
	require.Len(t, held, 1)
	require.Equal(t, idOf("L"), held[0].Author)
	require.Equal(t, content.Duplicate, l.offer(z, l.last(), 0))

	z.restart()
	_, err = z.content.Adopt(bg, w.context, []codec.EnvelopeID{held[0].ID})
	require.NoError(t, err)
	require.Equal(t, "too late", z.state("a"))
	w.heal(z, k)
	require.Equal(t, z.rows(), k.rows())
	require.Equal(t, "too late", k.state("a"))
	_, err = z.content.Adopt(bg, w.context, []codec.EnvelopeID{held[0].ID})
	require.ErrorIs(t, err, content.ErrNoEnvelope)
}

// The order in which a removal and what was written beside it come does not matter.
func TestARemovalThatComesLaterSetsAside(t *testing.T) {
	w := newWorld(t, 1, "Z", "K", "L")
	defer w.close()
	z, k, l := w.nodes[0], w.nodes[1], w.nodes[2]
	require.True(t, z.commit(put("a", "z")))
	w.heal(z, k, l)
	z.do(remove("L"))
	require.True(t, z.commit(put("b", "closes")))
	require.True(t, l.commit(put("a", "beside")))
	require.Equal(t, content.Counts, l.offer(k, l.last(), 0), "who knows of no removal")
	require.Equal(t, "beside", k.state("a"))
	require.Equal(t, content.SetAside, l.offer(z, l.last(), 0))
	w.heal(z, k)
	require.Equal(t, z.rows(), k.rows())
	require.Equal(t, "z", k.state("a"))
	k.restart()
	k.look()
	require.Equal(t, z.rows(), k.rows())
	require.Equal(t, w.naive(z, k), counting(k.envelopes()))

	z.do(add("L"))
	w.heal(z, k)
	require.Equal(t, "z", z.state("a"), "to be added again revives nothing")
	require.Equal(t, z.rows(), k.rows())
}

// A removal that turns out to be void gives back what was set aside by it; until the context is looked at,
// a verification says how much.
func TestAVerificationSaysWhatIsToBeJudged(t *testing.T) {
	w := newWorld(t, 1, "Z", "K", "L", "M")
	defer w.close()
	z, k, l, m := w.nodes[0], w.nodes[1], w.nodes[2], w.nodes[3]
	z.do(codec.GroupOp{Kind: codec.OpMemberRoleSet, Member: idOf("K"), Role: codec.Admin})
	require.True(t, z.commit(put("a", "z")))
	w.heal(z, k, l, m)
	k.do(remove("L"))
	require.True(t, k.commit(put("b", "closes")))
	require.True(t, l.commit(put("a", "beside")))
	k.govern(m, -1)
	require.Equal(t, content.Counts, k.offer(m, k.last(), 0))
	require.Equal(t, content.SetAside, l.offer(m, l.last(), 0))
	require.Zero(t, m.verify())
	z.do(remove("K"))
	z.govern(m, -1)
	require.Equal(t, 1, m.verify())
	require.Equal(t, "z", m.state("a"))
	m.look()
	require.Zero(t, m.verify())
	require.Equal(t, "beside", m.state("a"))
}

// ends is a context that has ended from the nth time on that it is asked.
type ends struct {
	context.Context
	after int
}

func (c *ends) Err() error {
	if c.after--; c.after < 0 {
		return context.Canceled
	}
	return nil
}

// A call that fails after it has taken something in leaves the context to be judged: a look at all of them
// does so, even though the ops are those of the look before.
func TestALookAtAllComesBackToWhatACallHasNotFinished(t *testing.T) {
	w := newWorld(t, 1, "Z", "K", "L")
	defer w.close()
	z, k, l := w.nodes[0], w.nodes[1], w.nodes[2]
	require.True(t, z.commit(put("a", "z")))
	w.heal(z, k, l)
	z.do(remove("L"))
	require.True(t, l.commit(put("a", "beside")))
	require.Equal(t, content.Counts, l.offer(k, l.last(), 0))
	z.govern(k, -1)
	require.NoError(t, k.content.LookAll(bg, w.ns))
	require.Equal(t, "beside", k.state("a"), "nothing closes the context")
	require.True(t, z.commit(put("b", "closes")))
	failed := false
	for n := range 100 {
		_, err := k.content.Offer(&ends{bg, n}, w.context, [][]byte{z.last()})
		if err == nil {
			break
		}
		require.ErrorIs(t, err, context.Canceled)
		failed = failed || k.state("b") != ""
		require.NoError(t, k.content.LookAll(bg, w.ns))
		require.Zero(t, k.verify())
	}
	require.True(t, failed, "no call failed after it took in what closes the context")
	require.Equal(t, "z", k.state("a"))
}
