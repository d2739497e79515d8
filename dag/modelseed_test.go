package dag_test

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
)

// base returns the newest applied delta without which no other has come from what
// is before it: each is an ancestor of it, or has it and its descendants only as
// parents. nil: there is none.
func (o outcome) base(w *world) (base *fact) {
	for _, f := range o.applied {
		if len(o.after(w, f)) == len(o.applied) && (base == nil || f.cut[base.id] != nil) {
			base = f
		}
	}
	return base
}

// after returns what a node has that is seeded with base: its ancestors, in effect,
// and of the applied deltas those that lead to it by all of their parents.
func (o outcome) after(w *world, base *fact) map[codec.DeltaID]*fact {
	set := maps.Clone(base.cut)
	for _, f := range w.all {
		leads := o.applied[f.id] != nil && len(f.delta.Parents) > 0
		for _, p := range f.delta.Parents {
			leads = leads && set[p] != nil && w.byID[p].cut[base.id] != nil
		}
		if leads {
			set[f.id] = f
		}
	}
	return set
}

// later returns f if it descends from base and is not base.
func (f *fact) later(base *fact) *fact {
	if f == nil || f == base || f.cut[base.id] == nil {
		return nil
	}
	return f
}

// has demands that a node shows the state that deltas make, whatever it keeps of
// them.
func (n *replica) has(deltas map[codec.DeltaID]*fact) {
	n.t.Helper()
	require.Equal(n.t, foldState(deltas), n.shared()["State"])
	info, err := n.store.Context(n.world.context)
	require.NoError(n.t, err)
	require.Equal(n.t, rootOf(deltas), info.Root)
	require.Equal(n.t, outcome{applied: deltas}.heads(), info.Heads)
	n.verify()
}

// verify demands that a replay finds nothing.
func (n *replica) verify() {
	n.t.Helper()
	report, err := n.store.Verify(context.Background(), n.world.context, inMemory())
	require.NoError(n.t, err)
	require.Empty(n.t, report.Findings)
}

// A node that is seeded has the state of the sender, and goes on with whatever
// descends from the base as the sender does. What does not is turned away and asks
// for another seeding, after which it has all again.
func TestASeededNodeEndsAsTheOthersDo(t *testing.T) {
	enginetest.Check(t, 300, func(t *rapid.T) {
		w := drawWorld(t, 14)
		o := dag.Options{BaseAge: -1}
		defer dag.LimitLater(rapid.SampledFrom([]int{1 << 18, 3, 0}).Draw(t, "later"))()
		sender, seeded := startReplica(t, w, o), startReplica(t, w, o)
		defer sender.stop()
		defer seeded.stop()
		sender.clock.advance(time.Hour)
		seeded.clock.advance(time.Hour)
		for _, f := range w.all[:rapid.IntRange(0, len(w.all)).Draw(t, "at first")] {
			sender.give(f)
		}
		seed := func() dag.Seeded {
			result, err := seeded.store.Seed(context.Background(), someone, sender.store.Snapshot(context.Background(), someone, nil), dag.SeedOptions{})
			require.NoError(t, err)
			return result
		}
		base := sender.verdicts.base(w)
		result := seed()
		if base == nil {
			require.Zero(t, result.Base)
		} else {
			require.Equal(t, base.id, result.Base)
		}
		seeded.has(sender.verdicts.applied)

		turnedAway := false
		for _, f := range drawDeliveries(t, w) {
			sender.give(f)
			if rapid.IntRange(0, 9).Draw(t, "restart") == 0 {
				seeded.restart(rapid.Bool().Draw(t, "kill"))
			}
			a, err := seeded.store.Add(context.Background(), f.delta, dag.AddOptions{Durability: engine.WAL})
			require.NoError(t, err)
			if a.Kind == dag.BeforeSnapshot {
				turnedAway = true
				require.NotNil(t, base)
				require.Nil(t, sender.verdicts.after(w, base)[f.id].later(base), "turned away, though it comes after the base")
			}
		}
		want := maps.Clone(sender.verdicts.applied)
		if base != nil {
			want = sender.verdicts.after(w, base)
		}
		seeded.has(want)
		info, err := seeded.store.Context(someone)
		require.NoError(t, err)
		require.Equal(t, turnedAway, info.Reseed)
		if turnedAway {
			seed()
			seeded.has(sender.verdicts.applied)
		}
	})
}
