package server

import (
	"context"
	"encoding/binary"
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

// gossip are daemons of one context that hear of each other's deltas through a
// pipe that loses, repeats and reorders, and by asking over their sockets.
type gossip struct {
	t       *rapid.T
	context codec.ContextID
	nodes   []*dagDaemon
	pipe    []letter
	made    [][]byte // all that were committed
}

// letter is a delta on its way.
type letter struct {
	to    int
	delta []byte
}

func (g *gossip) commit(from int) {
	d := g.nodes[from].dag
	_, root, err := d.Heads(context.Background(), g.context)
	require.NoError(g.t, err)
	key := []byte{rapid.ByteRange('a', 'f').Draw(g.t, "key")}
	action := codec.Put(key, []byte{byte(len(g.made))})
	if rapid.IntRange(0, 3).Draw(g.t, "delete") == 0 {
		action = codec.Delete(key)
	}
	done, err := d.Commit(g.t.Context(), dag.Commit{Context: g.context, Actions: []codec.Action{action}, ReadRoot: root, Durability: engine.WAL})
	if err != nil {
		require.ErrorIs(g.t, err, hlc.ErrAhead)
		return
	}
	g.made = append(g.made, done.Deltas...)
	for _, delta := range done.Deltas {
		for to := range g.nodes {
			for range rapid.SampledFrom([]int{0, 1, 1, 2}).Draw(g.t, "copies") {
				g.pipe = append(g.pipe, letter{to, delta})
			}
		}
	}
}

// receive lets any of the letters arrive.
func (g *gossip) receive() {
	if len(g.pipe) == 0 {
		return
	}
	i := rapid.IntRange(0, len(g.pipe)-1).Draw(g.t, "letter")
	l := g.pipe[i]
	g.pipe = slices.Delete(g.pipe, i, i+1)
	a, err := g.nodes[l.to].dag.Add(g.t.Context(), l.delta, dag.AddOptions{Durability: engine.WAL})
	g.taken(a, err)
}

func (g *gossip) taken(a dag.Answer, err error) {
	require.NoError(g.t, err)
	require.Contains(g.t, []dag.AnswerKind{dag.Applied, dag.Pending, dag.Duplicate, dag.TooEarly}, a.Kind, "of honest authors nothing is refused")
}

// ask lets a node take what another has beyond its heads: from one stream into the
// other.
func (g *gossip) ask(who, whom int) {
	heads, _, err := g.nodes[who].dag.Heads(context.Background(), g.context)
	require.NoError(g.t, err)
	var have []codec.DeltaID
	for _, h := range heads {
		have = append(have, h.ID)
	}
	var failed error
	lacks := func(yield func([]byte) bool) {
		for a, err := range g.nodes[whom].dag.Since(g.t.Context(), g.context, have, dag.SinceOptions{}) {
			var b []byte
			if err == nil {
				b, err = a.Delta.AppendBinary(nil)
			}
			if failed = err; err != nil || !yield(b) {
				return
			}
		}
	}
	for a, err := range g.nodes[who].dag.AddMany(g.t.Context(), lacks, engine.WAL) {
		g.taken(a, err)
	}
	require.NoError(g.t, failed)
}

// fold returns the state that the committed deltas make, the newest write of each
// key by stamp and id.
func (g *gossip) fold() map[string]string {
	deltas := make([]*dag.Delta, len(g.made))
	for i, b := range g.made {
		var err error
		deltas[i], err = dag.ParseDelta(b)
		require.NoError(g.t, err)
	}
	slices.SortFunc(deltas, func(a, b *dag.Delta) int {
		if c := a.HLC.Compare(b.HLC); c != 0 {
			return c
		}
		x, y := a.ID(), b.ID()
		return slices.Compare(x[:], y[:])
	})
	state := map[string]string{}
	for _, d := range deltas {
		for _, a := range d.Actions {
			if a.Kind == codec.ActionDelete {
				delete(state, string(a.Key))
			} else {
				state[string(a.Key)] = string(a.Value)
			}
		}
	}
	return state
}

// equal demands that all daemons show the same, and that it is what the deltas
// make.
func (g *gossip) equal() {
	heads, root, err := g.nodes[0].dag.Heads(context.Background(), g.context)
	require.NoError(g.t, err)
	want := g.fold()
	for _, n := range g.nodes {
		info, err := n.dag.Context(context.Background(), g.context)
		require.NoError(g.t, err)
		require.Equal(g.t, root, info.Root)
		require.Len(g.t, info.Heads, len(heads))
		for i := range heads {
			require.Equal(g.t, heads[i].ID, info.Heads[i])
		}
		require.EqualValues(g.t, len(g.made), info.Applied)
		require.Zero(g.t, info.Pending)
		state := map[string]string{}
		for e, err := range n.dag.ScanState(g.t.Context(), g.context, engine.Range{}) {
			require.NoError(g.t, err)
			state[string(e.AppKey)] = string(e.Value)
		}
		require.Equal(g.t, want, state)
		report, err := n.dag.Verify(g.t.Context(), g.context)
		require.NoError(g.t, err)
		require.Empty(g.t, report.Findings)
	}
}

// Three daemons that author, gossip through a lossy, reordering pipe, and ask each
// other now and then, end equal.
func TestDaemonsThatGossipThroughALossyPipeEndEqual(t *testing.T) {
	var nodes []*dagDaemon
	for i := range 3 {
		nodes = append(nodes, startDag(t, uint64(i+1), Options{}))
	}
	contexts := uint64(0)
	enginetest.Check(t, 40, func(t *rapid.T) {
		contexts++
		g := &gossip{t: t, nodes: nodes}
		binary.BigEndian.PutUint64(g.context[:], contexts)
		start := nodes[0].now.Load()
		for i, n := range nodes {
			require.NoError(t, n.dag.CreateContext(context.Background(), g.context, codec.ApplicationMeta{}))
			n.now.Store(start + int64(i)*int64(3*time.Second)) // the third is early for the first
		}
		any := rapid.IntRange(0, len(nodes)-1)
		for range rapid.IntRange(5, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0, 1, 2:
				g.commit(any.Draw(t, "author"))
			case 3:
				g.ask(any.Draw(t, "who"), any.Draw(t, "whom"))
			case 4:
				nodes[any.Draw(t, "node")].now.Add(int64(rapid.IntRange(0, 3000).Draw(t, "ms")) * 1e6)
			default:
				g.receive()
			}
		}
		for _, n := range nodes { // what was early is no longer, and the next case begins after it
			n.now.Store(start + int64(time.Hour))
		}
		for range 2 { // each from each, and what it got by that
			for who := range nodes {
				for whom := range nodes {
					g.ask(who, whom)
				}
			}
		}
		g.equal()
	})
}
