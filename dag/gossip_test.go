package dag_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
)

// letter is gossip on its way.
type letter struct {
	to    int
	bytes []byte
}

// gossip are nodes and a pipe between them that loses, repeats and reorders.
type gossip struct {
	t     *rapid.T
	nodes []*replica
	pipe  []letter
}

func (g *gossip) send(from int, deltas ...[]byte) {
	for _, b := range deltas {
		for to := range g.nodes {
			if to == from {
				continue
			}
			for range rapid.SampledFrom([]int{0, 0, 1, 1, 1, 2}).Draw(g.t, "copies") {
				g.pipe = append(g.pipe, letter{to, b})
			}
		}
	}
}

// receive lets any letter arrive.
func (g *gossip) receive() {
	if len(g.pipe) == 0 {
		return
	}
	i := rapid.IntRange(0, len(g.pipe)-1).Draw(g.t, "letter")
	l := g.pipe[i]
	g.pipe = slices.Delete(g.pipe, i, i+1)
	g.take(l.to, l.bytes)
}

func (g *gossip) take(to int, b []byte) dag.Answer {
	d, err := dag.ParseDelta(b)
	require.NoError(g.t, err)
	a, err := g.nodes[to].store.Add(context.Background(), d, dag.AddOptions{Durability: engine.WAL})
	require.NoError(g.t, err)
	require.Contains(g.t, []dag.AnswerKind{dag.Applied, dag.Pending, dag.Duplicate, dag.TooEarly}, a.Kind, "of honest authors nothing is refused")
	return a
}

func (g *gossip) commit(i int) {
	n := g.nodes[i]
	_, root, err := n.store.Heads(someone)
	require.NoError(g.t, err)
	c, err := n.store.Commit(context.Background(), dag.Commit{Context: someone, Actions: drawActions(g.t), ReadRoot: root, Durability: engine.WAL})
	if err != nil {
		require.ErrorIs(g.t, err, hlc.ErrAhead)
		return
	}
	g.send(i, c.Deltas...)
}

// ask lets a node ask another for what it lacks, from the heads back.
func (g *gossip) ask(who, whom int) {
	heads, _, err := g.nodes[whom].store.Heads(someone)
	require.NoError(g.t, err)
	var want []codec.DeltaID
	for _, h := range heads {
		want = append(want, h.ID)
	}
	missing, err := g.nodes[who].store.Missing(someone, codec.DeltaID{}, 0)
	require.NoError(g.t, err)
	want = append(want, missing...)
	asked := map[codec.DeltaID]bool{}
	for ; len(want) > 0; want = want[1:] {
		if asked[want[0]] {
			continue
		}
		asked[want[0]] = true
		d, _, err := g.nodes[whom].store.Get(someone, want[0])
		if err != nil {
			require.ErrorIs(g.t, err, dag.ErrNoDelta)
			continue
		}
		b, err := d.AppendBinary(nil)
		require.NoError(g.t, err)
		want = append(want, g.take(who, b).Missing...)
	}
}

// Three nodes that author, gossip through a lossy, reordering pipe, are killed
// and ask each other now and then have the same bytes in the end.
func TestGossipThroughALossyPipeEndsEqual(t *testing.T) {
	enginetest.Check(t, 60, func(t *rapid.T) {
		g := &gossip{t: t}
		w := newWorld(someone)
		for i := range 3 {
			n := startReplica(t, w, dag.Options{Node: codec.NodeID{Lo: uint64(10 + i)}})
			defer n.stop()
			n.clock.advance(time.Duration(i) * 2 * time.Second) // the third is early for the first
			g.nodes = append(g.nodes, n)
		}
		any := rapid.IntRange(0, len(g.nodes)-1)
		for range rapid.IntRange(5, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 12).Draw(t, "step") {
			case 0, 1, 2:
				g.commit(any.Draw(t, "author"))
			case 3:
				g.ask(any.Draw(t, "who"), any.Draw(t, "whom"))
			case 4:
				g.nodes[any.Draw(t, "node")].restart(rapid.Bool().Draw(t, "kill"))
			case 5:
				g.nodes[any.Draw(t, "node")].clock.advance(time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond)
			default:
				g.receive()
			}
		}
		for _, n := range g.nodes {
			n.clock.advance(time.Hour)
		}
		for range 2 { // each from each, and what it got by that
			for who := range g.nodes {
				for whom := range g.nodes {
					g.ask(who, whom)
				}
			}
		}
		g.equal()
	})
}

// equal demands that all nodes have the same, and that it is what the deltas
// make.
func (g *gossip) equal() {
	for _, n := range g.nodes {
		n.world = worldOf(g.t, n.inner)
		n.delivered = setOf(n.world.all)
		n.verdicts = n.world.judge(n.delivered)
		require.Empty(g.t, n.verdicts.pending)
		n.check()
		require.Equal(g.t, g.nodes[0].shared(), n.shared())
	}
}
