package dag_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/faulty"
)

// deliver gives a node all deltas of its world in a drawn order, between
// restarts and while its clock moves, so that some come early and again.
func (n *replica) deliver(t *rapid.T) {
	order := drawDeliveries(t, n.world)
	restarts := rapid.Bool().Draw(t, "restarts")
	for len(order) > 0 {
		var late []*fact
		for _, f := range order {
			if restarts && rapid.IntRange(0, 7).Draw(t, "restart") == 0 {
				n.restart(rapid.Bool().Draw(t, "kill"))
			}
			if !n.give(f) {
				late = append(late, f)
				n.clock.advance(time.Duration(rapid.IntRange(0, 2).Draw(t, "s")) * time.Second)
			}
		}
		n.clock.advance(time.Second)
		order = late
	}
	require.Len(t, n.delivered, len(n.world.all))
}

// Whatever the order, with deltas that come twice, too early or again after a
// restart: every answer is what the model says, and State, versions, trie, Meta
// and deltas are the same bytes on every node (P5). Each root is checked at the
// cut of its delta, and none else is taken (P6).
func TestEveryOrderOfDeliveryEndsInTheSameBytes(t *testing.T) {
	enginetest.Check(t, 1000, func(t *rapid.T) {
		w := drawWorld(t, 14)
		var first map[string]map[string]string
		for range 2 {
			n := startReplica(t, w, dag.Options{})
			n.deliver(t)
			n.check()
			if rows := n.shared(); first == nil {
				first = rows
				n.verify()
			} else {
				require.Equal(t, first, rows)
			}
			n.stop()
		}
	})
}

// The same, while calls of the engine fail and the process is killed in them.
func TestDeliveryThroughFaultsEndsInTheSameBytes(t *testing.T) {
	enginetest.Check(t, 300, func(t *rapid.T) {
		w := drawWorld(t, 10)
		n := startReplica(t, w, dag.Options{})
		defer n.stop()
		left := rapid.IntRange(1, 20).Draw(t, "faults")
		n.faults = func() faulty.Options {
			if left--; left < 0 {
				return faulty.Options{}
			}
			return faulty.Options{At: rapid.IntRange(1, 12).Draw(t, "at"),
				Calls: rapid.SampledFrom([]faulty.Calls{faulty.Writes, faulty.Reads}).Draw(t, "calls"),
				Fault: rapid.SampledFrom([]faulty.Fault{faulty.Fail, faulty.CrashBefore, faulty.CrashAfter}).Draw(t, "fault")}
		}
		n.restart(true)
		n.deliver(t)
		left = 0
		n.restart(true)
		n.check()
	})
}

// With a budget that no walk keeps to, roots are worked out in the background:
// the end is the same.
func TestWhatIsVerifiedInTheBackgroundEndsInTheSameBytes(t *testing.T) {
	enginetest.Check(t, 200, func(t *rapid.T) {
		w := drawWorld(t, 12)
		n := startReplica(t, w, dag.Options{CutBudget: 1})
		defer n.stop()
		n.lazy = true
		n.clock.advance(time.Hour)
		n.deliver(t)
		n.settle()
		n.check()
	})
}

// However few deltas may wait: what is thrown out is reported, the rest is kept,
// and all is well once everything has been offered often enough.
func TestBoundedPendingReportsWhatItThrowsOutAndConverges(t *testing.T) {
	enginetest.Check(t, 200, func(t *rapid.T) {
		w := drawWorld(t, 14)
		limit := rapid.IntRange(1, 4).Draw(t, "pending")
		n := startReplica(t, w, dag.Options{MaxPending: limit})
		defer n.stop()
		n.clock.advance(time.Hour)
		rounds := [][]*fact{drawDeliveries(t, w), drawDeliveries(t, w), slices.Clone(w.all)}
		for _, order := range rounds {
			for _, f := range order {
				n.giveBounded(f, limit)
				if rapid.IntRange(0, 9).Draw(t, "restart") == 0 {
					n.restart(false)
				}
			}
		}
		all := w.judge(setOf(w.all))
		require.Equal(t, sortedIDs(all.applied), sortedIDs(n.verdicts.applied), "all that can be applied is")
		n.check()
	})
}

// Of several contexts in one engine each is what its own deltas make it.
func TestContextsDoNotTouchEachOther(t *testing.T) {
	enginetest.Check(t, 50, func(t *rapid.T) {
		w := drawWorld(t, 10)
		other := newWorld(contextNumber(8))
		for _, f := range w.all {
			d := *f.delta
			d.Context = other.context
			d.Parents = nil
			other.add(other.seal(&d))
		}
		n := startReplica(t, w, dag.Options{})
		defer n.stop()
		n.clock.advance(time.Hour)
		m := *n
		m.world, m.delivered = other, maps.Clone(n.delivered)
		m.verdicts = other.judge(m.delivered)
		require.NoError(t, m.store.CreateContext(other.context, appNumber(1)))
		for i := range max(len(w.all), len(other.all)) {
			if i < len(w.all) {
				n.give(w.all[i])
			}
			if i < len(other.all) {
				m.give(other.all[len(other.all)-1-i])
			}
		}
		n.check()
		m.check()
		require.NoError(t, n.store.DeleteContext(w.context))
		m.check()
		for name, rows := range n.shared() {
			require.Empty(t, rows, name)
		}
	})
}

// AddMany answers as Add does for each, and leaves the same bytes.
func TestAddManyIsAddOneByOne(t *testing.T) {
	enginetest.Check(t, 150, func(t *rapid.T) {
		w := drawWorld(t, 14)
		order := drawDeliveries(t, w)
		late := time.Duration(rapid.IntRange(0, 4).Draw(t, "late")) * time.Second
		o := dag.Options{MaxPending: rapid.SampledFrom([]int{0, 1, 3}).Draw(t, "pending")}
		one, many := startReplica(t, w, o), startReplica(t, w, o)
		defer one.stop()
		defer many.stop()
		one.clock.advance(late)
		many.clock.advance(late)
		for len(order) > 0 {
			run := order[:rapid.IntRange(1, len(order)).Draw(t, "run")]
			order = order[len(run):]
			var offers []dag.Offer
			var want []dag.Answer
			for _, f := range run {
				offers = append(offers, dag.Offer{Delta: f.delta})
				a, err := one.store.Add(context.Background(), f.delta, dag.AddOptions{Durability: engine.WAL})
				require.NoError(t, err)
				want = append(want, a)
			}
			got, err := many.store.AddMany(context.Background(), offers, engine.WAL)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
		require.Equal(t, everything(t, one.inner), everything(t, many.inner))
	})
}
