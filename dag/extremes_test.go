package dag_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/dag/merkle/merkletest"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/faulty"
)

// line returns a world of n deltas, each on the one before.
func line(n int) *world {
	w := newWorld(someone)
	state := map[string]string{}
	var last []codec.DeltaID
	for i := range n {
		key, value := fmt.Sprint(i%5), fmt.Sprint(i)
		state[key] = value
		d := &dag.Delta{Context: someone, Parents: last, Actions: putAll(key, value), ExpectedRoot: merkletest.Root(state),
			HLC: codec.HybridTimestamp{Time: uint64(hlc.ToNTP64(dawn)) + uint64(i), ID: authors[0]}}
		f := &fact{delta: d, id: naiveID(d), correct: d.ExpectedRoot} // without its cut, which would take n² memory
		w.all, w.byID[f.id] = append(w.all, f), f
		last = []codec.DeltaID{f.id}
	}
	return w
}

// offerAll gives a node deltas, whatever it answers.
func (n *replica) offerAll(facts iter.Seq2[int, *fact]) {
	n.t.Helper()
	for _, f := range facts {
		_, err := n.store.Add(context.Background(), f.delta, dag.AddOptions{Durability: engine.WAL})
		require.NoError(n.t, err)
		n.delivered[f.id] = true
	}
	n.verdicts = n.world.judge(n.delivered)
	n.settle()
}

// ends waits until the node has applied everything, and compares it with a node
// that was given all in order.
func (n *replica) ends() {
	n.t.Helper()
	n.verdicts = n.world.judge(setOf(n.world.all))
	n.settle()
	direct := startReplica(n.t, n.world, n.options)
	defer direct.stop()
	direct.clock.advance(time.Hour)
	for _, f := range n.world.all {
		a, err := direct.store.Add(context.Background(), f.delta, dag.AddOptions{Durability: engine.WAL})
		require.NoError(n.t, err)
		require.Equal(n.t, dag.Applied, a.Kind)
	}
	direct.verdicts = n.verdicts
	require.Equal(n.t, direct.shared(), n.shared())
}

// A long line comes from its end. Its first delta is killed at each of its
// writes: what has begun is finished by the next process, without a further
// delivery of anything but the first.
func TestALongCascadeIsFinishedAfterAKill(t *testing.T) {
	w := line(enginetest.Scale(1000) + 300)
	for at := 1; ; at++ {
		n := startReplica(t, w, dag.Options{})
		for _, f := range slices.Backward(w.all[1:]) {
			a, err := n.store.Add(context.Background(), f.delta, dag.AddOptions{Durability: engine.WAL})
			require.NoError(t, err)
			require.Equal(t, dag.Pending, a.Kind)
		}
		n.engine.Restart()
		require.NoError(t, n.store.Close())
		n.engine = faulty.New(n.inner, faulty.Options{At: at, Fault: faulty.CrashAfter})
		n.open()
		first := w.all[0].delta
		_, err := n.store.Add(context.Background(), first, dag.AddOptions{Durability: engine.WAL})
		if err == nil { // the rest goes on in the background
			require.Eventually(t, func() bool {
				info, err := n.store.Context(w.context)
				return n.engine.Tripped() || err == nil && info.Pending == 0
			}, time.Minute, 100*time.Microsecond)
		}
		tripped := n.engine.Tripped()
		n.restart(true)
		if err != nil {
			a, err := n.store.Add(context.Background(), first, dag.AddOptions{Durability: engine.WAL})
			require.NoError(t, err)
			require.Contains(t, []dag.AnswerKind{dag.Applied, dag.Duplicate}, a.Kind)
		}
		n.ends()
		n.stop()
		if !tripped {
			break
		}
	}
}

// One delta for which many wait, and many of which are as large as can be: no
// batch is larger than an engine takes.
func TestACascadeOfLargeDeltasFitsItsBatches(t *testing.T) {
	w := newWorld(someone)
	first := w.made(0, putAll("a", "1"))
	for i := range 12 {
		w.made(time.Second, []codec.Action{codec.Put([]byte("large"), bytes.Repeat([]byte{byte(i)}, 4_000_000))}, first)
	}
	n := startReplica(t, w, dag.Options{})
	defer n.stop()
	n.clock.advance(time.Second)
	n.offerAll(slices.Backward(w.all))
	n.check()
}

func TestManyDeltasThatWaitForOneAreAllApplied(t *testing.T) {
	w := newWorld(someone)
	first := w.made(0, putAll("a", "1"))
	for range 600 {
		w.made(time.Millisecond, putAll(fmt.Sprint(len(w.all)%7), fmt.Sprint(len(w.all))), first)
	}
	n := startReplica(t, w, dag.Options{})
	defer n.stop()
	n.offerAll(slices.Backward(w.all))
	n.check()
}

// The longest keys, the most actions and the ids at the ends of their range.
func TestTheLargestOfEverything(t *testing.T) {
	for _, id := range []codec.ContextID{{31: 1}, codec.ContextID(bytes.Repeat([]byte{0xFF}, 32))} {
		w := newWorld(id)
		var actions []codec.Action
		for i := range 30 {
			actions = append(actions, codec.Put(bytes.Repeat([]byte{0xFF, byte(i)}, 32767), []byte{byte(i)}), codec.Put(append([]byte{0xFF}, bytes.Repeat([]byte{0xFF, byte(i)}, 32767)...), nil))
		}
		first := w.made(0, actions)
		w.made(0, []codec.Action{codec.Delete(actions[0].Key), codec.Delete(actions[1].Key), codec.Put(nil, nil)}, first)
		n := startReplica(t, w, dag.Options{})
		for _, f := range slices.Backward(w.all) {
			require.True(t, n.give(f))
		}
		n.check()
		require.NoError(t, n.store.DeleteContext(id))
		for name, rows := range n.shared() {
			require.Empty(t, rows, name)
		}
		n.stop()
	}
}

// Many goroutines add the same deltas in orders of their own.
func TestConcurrentDeliveriesEndInTheSameBytes(t *testing.T) {
	enginetest.Check(t, 40, func(t *rapid.T) {
		w := drawWorld(t, 14)
		n := startReplica(t, w, dag.Options{MaxContexts: 1})
		defer n.stop()
		n.clock.advance(time.Hour)
		seed := rapid.Uint64().Draw(t, "seed")
		var wg sync.WaitGroup
		errs := make([]error, 4)
		for g := range errs {
			wg.Go(func() {
				order := slices.Clone(w.all)
				rand.New(rand.NewPCG(seed, uint64(g))).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
				for _, f := range order {
					if _, err := n.store.Add(context.Background(), f.delta, dag.AddOptions{Durability: engine.WAL}); err != nil {
						errs[g] = err
					}
				}
			})
		}
		wg.Wait()
		for _, err := range errs {
			require.NoError(t, err)
		}
		n.delivered = setOf(w.all)
		n.verdicts = w.judge(n.delivered)
		n.settle()
		n.check()
	})
}

// However few refusals are remembered, nothing that is wrong is ever applied.
func TestForgettingRefusalsIsHarmless(t *testing.T) {
	enginetest.Check(t, 100, func(t *rapid.T) {
		w := drawWorld(t, 14)
		n := startReplica(t, w, dag.Options{MaxRefused: 1})
		defer n.stop()
		n.clock.advance(time.Hour)
		for range 2 {
			for _, f := range drawDeliveries(t, w) {
				_, err := n.store.Add(context.Background(), f.delta, dag.AddOptions{Durability: engine.WAL})
				require.NoError(t, err)
			}
		}
		n.verdicts = w.judge(setOf(w.all))
		rows := n.shared()
		require.Equal(t, foldState(n.verdicts.applied), rows["State"])
		require.Equal(t, n.verdicts.versions(), rows["versions"])
		info, err := n.store.Context(someone)
		require.NoError(t, err)
		require.Equal(t, len(n.verdicts.applied), int(info.Applied))
		require.Equal(t, n.verdicts.heads(), info.Heads)
		require.LessOrEqual(t, info.Refused, 1)
	})
}
