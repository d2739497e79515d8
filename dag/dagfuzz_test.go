package dag_test

import (
	"context"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
)

// oddDeltas are deltas of every form, some of which no store takes.
func oddDeltas() []*dag.Delta {
	w := newWorld(someone)
	h := w.made(0, append(manyActions(3), putAll("", "", "a", "\x00")...))
	left := w.made(1, append(putAll("b", "1"), codec.Delete([]byte("a"))), h)
	right := w.made(1, nil, h)
	both := w.made(2, putAll("c", "3"), left, right)
	all := []*dag.Delta{h.delta, left.delta, right.delta, both.delta}
	change := func(fn func(d *dag.Delta)) {
		d := *both.delta
		fn(&d)
		all = append(all, &d)
	}
	change(func(d *dag.Delta) { d.Events = []codec.Event{{}, {Kind: "käse", Data: []byte{0}}} })
	change(func(d *dag.Delta) { d.Parents = []codec.DeltaID{d.Parents[1], d.Parents[0]} })
	change(func(d *dag.Delta) { d.Parents = []codec.DeltaID{d.Parents[0], d.Parents[0]} })
	change(func(d *dag.Delta) { d.Parents = []codec.DeltaID{{}} })
	change(func(d *dag.Delta) { d.Parents = make([]codec.DeltaID, dag.MaxParents+1) })
	change(func(d *dag.Delta) { d.Actions = putAll("a", "1", "a", "1") })
	change(func(d *dag.Delta) { d.Actions = putAll(strings.Repeat("k", 65536), "1") })
	change(func(d *dag.Delta) { d.HLC.Time = math.MaxUint64 })
	change(func(d *dag.Delta) { d.HLC.Time = 0 })
	change(func(d *dag.Delta) { d.Context[0]++ })
	return all
}

// FuzzDelta reads any bytes as a delta and gives it to a store. Bytes that are a
// delta are the only ones that it has; a store answers, whatever it is.
func FuzzDelta(f *testing.F) {
	for _, d := range oddDeltas() {
		f.Add(naiveDelta(d))
	}
	world := newWorld(someone)
	for _, d := range oddDeltas()[:3] {
		world.add(d)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		before := string(b)
		var d *dag.Delta
		var err error
		requireBounded(t, len(b), func() { d, err = dag.ParseDelta(b) })
		if err != nil {
			require.ErrorIs(t, err, codec.ErrMalformed)
			require.Nil(t, d)
			return
		}
		again, err := d.AppendBinary([]byte("x"))
		require.NoError(t, err)
		require.Equal(t, "x"+before, string(again))
		require.Equal(t, before, string(naiveDelta(d)))
		require.Equal(t, naiveID(d), d.ID())
		clear(b)
		require.Equal(t, before, string(naiveDelta(d)), "keeps its input")
		faulty := d.Check()

		n := startReplica(t, world, dag.Options{})
		defer n.stop()
		for _, w := range world.all {
			n.give(w)
		}
		a, err := n.store.Add(context.Background(), d, dag.AddOptions{Durability: engine.WAL})
		if d.Context != someone {
			if faulty == nil && a.Kind != dag.TooEarly { // which are answered without a look at the context
				require.ErrorIs(t, err, dag.ErrNoContext)
			}
			return
		}
		require.NoError(t, err)
		require.Equal(t, d.ID(), a.ID)
		if faulty != nil {
			var r *dag.Refusal
			require.ErrorAs(t, faulty, &r)
			require.Equal(t, dag.Refused, a.Kind)
			require.Equal(t, r.Reason, a.Refusal.Reason)
			n.check()
			return
		}
		require.NotEqual(t, dag.AnswerKind(0), a.Kind)
		if fact := n.world.byID[d.ID()]; fact == nil {
			n.world = worldWith(world, d)
		}
		if a.Kind != dag.TooEarly {
			n.delivered = withID(n.delivered, d.ID())
		}
		n.verdicts = n.world.judge(n.delivered)
		n.check()
	})
}

// worldWith returns a copy of a world with one more delta.
func worldWith(w *world, d *dag.Delta) *world {
	c := newWorld(w.context)
	for _, f := range w.all {
		c.add(f.delta)
	}
	c.add(d)
	return c
}

// FuzzDeliveries draws deltas and their deliveries from the bytes of the fuzzer.
func FuzzDeliveries(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		w := drawWorld(t, 14)
		n := startReplica(t, w, dag.Options{})
		defer n.stop()
		n.deliver(t)
		n.check()
	}))
}

// requireBounded demands that f, which reads n bytes of input, allocates no more
// than 16 times as much and 4 KiB. The least of a few runs counts: the rest of
// the process allocates too.
func requireBounded(t *testing.T, n int, f func()) {
	t.Helper()
	bound, least := 16*uint64(n)+4<<10, uint64(math.MaxUint64)
	for range 4 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		if least = min(least, after.TotalAlloc-before.TotalAlloc); least <= bound {
			return
		}
	}
	require.LessOrEqual(t, least, bound, "bytes allocated for %d bytes of input", n)
}

// What is wrong with a delta by itself is refused at once, with the reason, in
// whatever state the context is, and is not remembered.
func TestDeltasOfABadFormAreRefusedAndForgotten(t *testing.T) {
	e := mem.New()
	defer e.Close()
	w := newWorld(someone)
	h := w.made(0, putAll("a", "1"))
	n := startReplica(t, w, dag.Options{})
	defer n.stop()
	n.give(h)
	ids := func(count int) (ids []codec.DeltaID) {
		for i := range count {
			ids = append(ids, codec.DeltaID{1, byte(i >> 8), byte(i)})
		}
		return ids
	}
	big := make([]codec.Action, dag.MaxActions+1)
	for i := range big {
		big[i] = codec.Put([]byte{byte(i >> 16), byte(i >> 8), byte(i)}, nil)
	}
	large := putAll("a", strings.Repeat("v", dag.MaxDelta))
	for name, c := range map[string]struct {
		reason dag.RefusalReason
		change func(d *dag.Delta)
	}{
		"8193 parents":           {dag.OverLimit, func(d *dag.Delta) { d.Parents = ids(dag.MaxParents + 1) }},
		"too many actions":       {dag.OverLimit, func(d *dag.Delta) { d.Actions = big }},
		"too many bytes":         {dag.OverLimit, func(d *dag.Delta) { d.Actions = large }},
		"a key too long":         {dag.OverLimit, func(d *dag.Delta) { d.Actions = putAll(strings.Repeat("k", 65536), "") }},
		"parents out of order":   {dag.BadForm, func(d *dag.Delta) { d.Parents = []codec.DeltaID{{2}, {1}} }},
		"a parent twice":         {dag.BadForm, func(d *dag.Delta) { d.Parents = []codec.DeltaID{{2}, {2}} }},
		"the zero parent":        {dag.BadForm, func(d *dag.Delta) { d.Parents = []codec.DeltaID{{}} }},
		"a key twice":            {dag.BadForm, func(d *dag.Delta) { d.Actions = putAll("a", "1", "b", "", "a", "2") }},
		"node 0":                 {dag.BadForm, func(d *dag.Delta) { d.HLC.ID = codec.NodeID{} }},
		"a removal with a value": {dag.BadForm, func(d *dag.Delta) { d.Actions = []codec.Action{{Kind: codec.ActionDelete, Value: []byte("v")}} }},
		"no such action":         {dag.BadForm, func(d *dag.Delta) { d.Actions = []codec.Action{{Kind: 2}} }},
		"an event not of UTF-8":  {dag.BadForm, func(d *dag.Delta) { d.Events = []codec.Event{{Kind: "\xFF"}} }},
	} {
		d := &dag.Delta{Context: someone, Parents: []codec.DeltaID{h.id}, HLC: codec.HybridTimestamp{Time: h.delta.HLC.Time + 1, ID: authors[0]}}
		c.change(d)
		for range 2 {
			a, err := n.store.Add(context.Background(), d, dag.AddOptions{Durability: engine.WAL})
			require.NoError(t, err, name)
			require.Equal(t, dag.Refused, a.Kind, name)
			require.Equal(t, c.reason, a.Refusal.Reason, name)
			require.Equal(t, d.ID(), a.ID, name)
			require.Equal(t, d.ID(), a.Refusal.Delta, name)
		}
	}
	wrong := w.made(1, putAll("b", "1"), h)
	a, err := n.store.Add(context.Background(), wrong.delta, dag.AddOptions{Claimed: h.id, Durability: engine.WAL})
	require.NoError(t, err)
	require.Equal(t, dag.BadID, a.Refusal.Reason)
	n.check()
	n.give(wrong)

	// At the limits, not over them.
	most := w.made(2, big[:dag.MaxActions], wrong)
	n.give(most)
	n.check()
}
