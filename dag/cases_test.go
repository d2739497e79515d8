package dag_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/dag/merkle/merkletest"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/faulty"
)

func contextNumber(n byte) codec.ContextID { return codec.ContextID{n, 31: n} }

func appNumber(n byte) codec.ApplicationMeta {
	return codec.ApplicationMeta{ApplicationID: codec.ApplicationID{n}, Source: "test"}
}

// made is a delta of the world with the right root, at a time after dawn and its
// parents.
func (w *world) made(after time.Duration, actions []codec.Action, parents ...*fact) *fact {
	d := &dag.Delta{Context: w.context, Actions: actions, HLC: codec.HybridTimestamp{Time: uint64(hlc.ToNTP64(dawn.Add(after))), ID: authors[len(w.all)%len(authors)]}}
	for _, p := range parents {
		d.Parents = append(d.Parents, p.id)
		d.HLC.Time = max(d.HLC.Time, p.delta.HLC.Time+1)
	}
	slices.SortFunc(d.Parents, compareIDs)
	return w.add(w.seal(d))
}

func putAll(pairs ...string) (actions []codec.Action) {
	for i := 0; i < len(pairs); i += 2 {
		actions = append(actions, codec.Put([]byte(pairs[i]), []byte(pairs[i+1])))
	}
	return actions
}

// commit lets a node author a delta, and takes what it made into the world.
func (n *replica) commit(actions ...codec.Action) dag.Committed {
	n.t.Helper()
	_, root, err := n.store.Heads(n.world.context)
	require.NoError(n.t, err)
	c, err := n.store.Commit(context.Background(), dag.Commit{Context: n.world.context, Actions: actions, ReadRoot: root, Durability: engine.WAL})
	require.NoError(n.t, err)
	for _, b := range c.Deltas {
		d, err := dag.ParseDelta(b)
		require.NoError(n.t, err)
		require.Equal(n.t, naiveDelta(d), b)
		f := n.world.add(d)
		require.Zero(n.t, f.fault, "the daemon authored a delta that is refused elsewhere")
		n.delivered[f.id] = true
	}
	n.verdicts = n.world.judge(n.delivered)
	require.Equal(n.t, rootOf(n.verdicts.applied), c.Root)
	return c
}

func TestADeltaThatIsEarlyOnOneNodeIsAppliedOnBothInTheEnd(t *testing.T) {
	w := newWorld(someone)
	first := w.made(0, putAll("a", "1"))
	ahead := w.made(8*time.Second, putAll("a", "2"), first)
	child := w.made(8*time.Second+time.Millisecond, putAll("b", "3"), ahead)

	prompt, slow := startReplica(t, w, dag.Options{}), startReplica(t, w, dag.Options{})
	defer prompt.stop()
	defer slow.stop()
	prompt.clock.advance(10 * time.Second)
	for _, f := range w.all {
		require.True(t, prompt.give(f))
	}
	require.True(t, slow.give(first))
	require.False(t, slow.give(ahead))
	require.False(t, slow.give(child))
	slow.check() // nothing of them is stored

	// The child comes while the clock is right, its parent when it was set back.
	slow.clock.advance(10 * time.Second)
	require.True(t, slow.give(child))
	slow.clock.advance(-10 * time.Second)
	require.False(t, slow.give(ahead))
	slow.check() // Missing goes on listing the parent
	slow.restart(false)
	slow.check()
	slow.clock.advance(4 * time.Second)
	require.True(t, slow.give(ahead))
	slow.check()
	prompt.check()
	require.Equal(t, prompt.shared(), slow.shared())
}

// A hundred nodes with 65 heads: what they receive makes none of them write a
// delta. One that commits joins heads first.
func TestReceivingMakesNoNodeWriteADelta(t *testing.T) {
	w := newWorld(someone)
	first := w.made(0, putAll("a", "0"))
	for range 65 {
		w.made(time.Second, putAll("a", "1", "b", string(rune('a'+len(w.all)))), first)
	}
	heads := w.all[1:]
	nodes := make([]*replica, enginetest.Scale(100))
	random := rand.New(rand.NewPCG(65, 0))
	var want map[string]map[string]string
	for i := range nodes {
		n := startReplica(t, w, dag.Options{Node: codec.NodeID{Lo: uint64(1000 + i)}, MaxJoined: 64})
		defer n.stop()
		nodes[i] = n
		n.clock.advance(time.Second)
		order := slices.Clone(w.all)
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, f := range order {
			a, err := n.store.Add(context.Background(), f.delta, dag.AddOptions{Durability: engine.WAL})
			require.NoError(t, err)
			require.NotEqual(t, dag.Refused, a.Kind)
			n.delivered[f.id] = true
		}
		n.verdicts = w.judge(n.delivered)
		if want == nil {
			n.check()
			want = n.shared()
			require.Len(t, want["Delta"], 66)
		}
		require.Equal(t, want, n.shared())
	}
	for _, n := range nodes {
		writes := n.engine.Count(faulty.Writes)
		got, _, err := n.store.Heads(w.context)
		require.NoError(t, err)
		require.Len(t, got, 65)
		require.Equal(t, writes, n.engine.Count(faulty.Writes))
	}

	c := nodes[0].commit(putAll("c", "1")...)
	require.Len(t, c.Deltas, 2, "a join of 64, and the delta")
	join, err := dag.ParseDelta(c.Deltas[0])
	require.NoError(t, err)
	require.Empty(t, join.Actions)
	require.Empty(t, join.Events)
	slices.SortFunc(heads, func(a, b *fact) int { return slices.Compare([]byte(stampOf(a)), []byte(stampOf(b))) })
	var lowest []codec.DeltaID
	for _, f := range heads[:64] {
		lowest = append(lowest, f.id)
	}
	require.ElementsMatch(t, lowest, join.Parents)
	nodes[0].check()
	require.Len(t, nodes[0].verdicts.heads(), 1)
	last := nodes[len(nodes)-1]
	for _, f := range w.all[66:] {
		last.give(f)
	}
	last.check()
	require.Equal(t, nodes[0].shared(), last.shared())
}

func TestCommitJoinsAsOftenAsNeeded(t *testing.T) {
	w := newWorld(someone)
	for range 130 {
		w.made(time.Duration(len(w.all)%7)*time.Second/7, putAll("a", string(rune('a'+len(w.all)))))
	}
	n := startReplica(t, w, dag.Options{MaxJoined: 64})
	defer n.stop()
	for _, f := range w.all {
		require.True(t, n.give(f))
	}
	require.Len(t, n.verdicts.heads(), 130)
	c := n.commit(putAll("b", "1")...)
	require.Len(t, c.Deltas, 3, "130 heads, 67 after a join, 4 after another")
	n.check()
	require.Equal(t, []codec.DeltaID{c.Delta}, n.verdicts.heads())

	other := startReplica(t, w, dag.Options{})
	defer other.stop()
	other.clock.advance(time.Second)
	for _, f := range slices.Backward(w.all) {
		other.give(f)
	}
	other.check()
	require.Equal(t, n.shared(), other.shared())
}

// A and B are at h. B makes d1 on it while it is offline, A makes d2. C, who has
// all that A has, and then what A makes of both, ends where they do.
func TestOfflineWorkIsMergedOnAThirdNode(t *testing.T) {
	for name, concurrent := range map[string][2][]codec.Action{
		"different keys": {putAll("x", "b"), putAll("y", "a")},
		"the same key":   {putAll("x", "b"), putAll("x", "a")},
		"a deletion":     {{codec.Delete([]byte("k"))}, putAll("k", "a")},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(someone)
			start := func(id uint64) *replica { return startReplica(t, w, dag.Options{Node: codec.NodeID{Lo: id}}) }
			a, b, c := start(1), start(2), start(3)
			for _, n := range []*replica{a, b, c} {
				defer n.stop()
			}
			a.commit(putAll("k", "h")...)
			h := w.all[0]
			require.True(t, b.give(h))
			b.clock.advance(2 * time.Second) // d1 is later than d2
			b.commit(concurrent[0]...)
			d1 := w.all[1]
			a.commit(concurrent[1]...)
			d2 := w.all[2]
			require.True(t, c.give(h))
			require.True(t, c.give(d2))
			require.True(t, a.give(d1))
			a.commit(putAll("merged", "1")...)
			merge := w.all[3]
			require.ElementsMatch(t, []codec.DeltaID{d1.id, d2.id}, merge.delta.Parents)
			require.True(t, c.give(merge), "waits for d1")
			c.check()
			require.True(t, c.give(d1))
			require.True(t, b.give(merge))
			require.True(t, b.give(d2))
			for _, n := range []*replica{a, b, c} {
				n.check()
				require.Equal(t, a.shared(), n.shared())
			}
		})
	}
}

// An author that takes the root of all that it has for that of its parents is
// refused, though that is a root that the receiver has had, and so is all that
// follows; who brings the same delta with the right root is not.
func TestTheRootAtTheCutCountsNotTheRootHere(t *testing.T) {
	w := newWorld(someone)
	h := w.made(0, putAll("a", "0", "b", "0"))
	left := w.made(time.Second, putAll("a", "left"), h)
	right := &dag.Delta{Context: someone, Parents: []codec.DeltaID{h.id}, Actions: putAll("b", "right"),
		HLC: codec.HybridTimestamp{Time: left.delta.HLC.Time + 5, ID: authors[1]}}
	right.ExpectedRoot = merkletest.Root(map[string]string{"a": "left", "b": "right"})
	wrong := w.add(right)
	follows := w.made(2*time.Second, putAll("c", "1"), wrong)
	good := *right
	goodFact := w.add(w.seal(&good))
	require.NotEqual(t, wrong.id, goodFact.id)

	n := startReplica(t, w, dag.Options{})
	defer n.stop()
	n.clock.advance(time.Second)
	for _, f := range []*fact{follows, h, left, wrong, wrong, follows, goodFact} {
		require.True(t, n.give(f))
		n.check()
	}
	require.Len(t, n.verdicts.refused, 2)
	n.restart(true)
	require.True(t, n.give(follows))
	n.check()
}

// A kind of action that there is not is refused where the delta is parsed.
func TestAnActionIsAPutOrARemoval(t *testing.T) {
	d := dag.Delta{Actions: []codec.Action{{Kind: codec.ActionDelete, Key: []byte("k")}}, HLC: codec.HybridTimestamp{Time: uint64(hlc.ToNTP64(dawn)), ID: authors[0]}}
	b, err := d.AppendBinary(nil)
	require.NoError(t, err)
	at := bytes.Index(b, append([]byte{byte(codec.ActionDelete), 1, 0, 0, 0}, 'k'))
	require.Positive(t, at)
	_, err = dag.ParseDelta(b)
	require.NoError(t, err)
	b[at] = byte(codec.ActionDelete) + 1
	_, err = dag.ParseDelta(b)
	require.ErrorIs(t, err, codec.ErrMalformed)
	require.ErrorContains(t, err, "neither a put nor a removal")
}
