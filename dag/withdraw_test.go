package dag_test

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/faulty"
	"github.com/stoadb/stoa/engine/mem"
)

// withdrawable are the deltas of a world that are applied, and a node that has those alone.
func withdrawable(t *rapid.T, w *world, o dag.Options) (n *replica, facts []*fact) {
	applied := w.judge(setOf(w.all)).applied
	for _, f := range w.all {
		if applied[f.id] != nil {
			facts = append(facts, f)
		}
	}
	n = startReplica(t, w, o)
	n.clock.advance(time.Hour)
	for _, f := range facts {
		require.True(t, n.give(f))
	}
	return n, facts
}

// drawTop returns some deltas of facts with all that descends from them, in any order.
func drawTop(t *rapid.T, facts []*fact) (top []codec.DeltaID) {
	in := map[codec.DeltaID]bool{}
	for _, f := range facts {
		if rapid.IntRange(0, 4).Draw(t, "withdraw") == 0 ||
			slices.ContainsFunc(f.delta.Parents, func(p codec.DeltaID) bool { return in[p] }) {
			in[f.id] = true
			top = append(top, f.id)
		}
	}
	rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 1)).Shuffle(len(top), func(i, j int) { top[i], top[j] = top[j], top[i] })
	return top
}

// withdraw takes deltas off a node, and off what it is compared with.
func (n *replica) withdraw(ids []codec.DeltaID) error {
	err := n.store.Withdraw(context.Background(), dag.Withdrawal{Context: n.world.context, Deltas: ids, Durability: engine.WAL})
	if err == nil {
		for _, id := range ids {
			delete(n.delivered, id)
		}
		n.verdicts = n.world.judge(n.delivered)
	}
	return err
}

// What is withdrawn leaves nothing of it: all rows are those of the other deltas. It can come again.
func TestWhatIsWithdrawnLeavesNothing(t *testing.T) {
	enginetest.Check(t, 500, func(t *rapid.T) {
		w := drawWorld(t, 14)
		n, facts := withdrawable(t, w, dag.Options{})
		defer n.stop()
		for range rapid.IntRange(1, 3).Draw(t, "times") {
			before := n.shared()
			top := drawTop(t, facts)
			require.NoError(t, n.withdraw(top))
			n.check()
			n.verify()
			if rapid.Bool().Draw(t, "restart") {
				n.restart(true)
			}
			for _, f := range facts {
				if slices.Contains(top, f.id) {
					require.True(t, n.give(f))
				}
			}
			n.check()
			n.verify()
			require.Equal(t, before, n.shared())
		}
	})
}

// It is withdrawn or not, wherever the process ends.
func TestAWithdrawalIsDoneOrNotWhereverItEnds(t *testing.T) {
	enginetest.Check(t, 100, func(t *rapid.T) {
		w := drawWorld(t, 10)
		n, facts := withdrawable(t, w, dag.Options{})
		defer n.stop()
		top := drawTop(t, facts)
		fault := rapid.SampledFrom([]faulty.Fault{faulty.Fail, faulty.CrashBefore, faulty.CrashAfter}).Draw(t, "fault")
		calls := rapid.SampledFrom([]faulty.Calls{faulty.Writes, faulty.Reads}).Draw(t, "calls")
		at := rapid.IntRange(1, 8).Draw(t, "at")
		armed := true
		n.faults = func() faulty.Options {
			if !armed {
				return faulty.Options{}
			}
			armed = false
			return faulty.Options{At: at, Calls: calls, Fault: fault}
		}
		n.restart(false)
		if err := n.withdraw(top); err != nil {
			require.True(t, n.broken(err), "%v", err)
			n.restart(true)
			info, err := n.store.Context(w.context)
			require.NoError(t, err)
			if int(info.Applied) != len(facts) {
				require.Equal(t, len(facts)-len(top), int(info.Applied))
				require.NoError(t, n.withdraw(top), "what is gone is none")
			}
		}
		n.check()
		n.verify()
	})
}

// A node that was seeded has what its base says again.
func TestWhatWasSeededComesBack(t *testing.T) {
	enginetest.Check(t, 300, func(t *rapid.T) {
		w := drawWorld(t, 14)
		o := dag.Options{BaseAge: -1}
		sender, facts := withdrawable(t, w, o)
		defer sender.stop()
		half := len(facts) / 2
		require.NoError(t, sender.withdraw(slices.Collect(maps.Keys(setOf(facts[half:])))))
		var nodes [2]*replica
		for i := range nodes {
			nodes[i] = startReplica(t, w, o)
			defer nodes[i].stop()
			nodes[i].clock.advance(time.Hour)
			_, err := nodes[i].store.Seed(context.Background(), w.context, sender.store.Snapshot(context.Background(), w.context, nil), dag.SeedOptions{})
			require.NoError(t, err)
		}
		var later []*fact
		for _, f := range facts[half:] {
			a, err := nodes[0].store.Add(context.Background(), f.delta, dag.AddOptions{Durability: engine.WAL})
			require.NoError(t, err)
			if a.Kind == dag.Applied {
				later = append(later, f)
			}
		}
		top := drawTop(t, later)
		w0 := dag.Withdrawal{Context: w.context, Deltas: top, Durability: engine.WAL}
		require.NoError(t, nodes[0].store.Withdraw(context.Background(), w0))
		for _, f := range later {
			if !slices.Contains(top, f.id) {
				_, err := nodes[1].store.Add(context.Background(), f.delta, dag.AddOptions{Durability: engine.WAL})
				require.NoError(t, err)
			}
		}
		var rows [2]map[string]map[string]string
		for i, n := range nodes {
			n.verify()
			n.store.EndTail(w.context)
			rows[i] = map[string]map[string]string{"State": rowsOf(t, n.inner, column.State, w.context[:]), "Meta": rowsOf(t, n.inner, column.Meta, w.context[:]),
				"versions": versionsOf(t, n.inner, w.context), "trie": unmarked(scopedRows(t, n.inner, "dag-trie", w.context)),
				"seeded": scopedRows(t, n.inner, "dag-seeded", w.context)}
		}
		require.Equal(t, rows[1], rows[0])
		if info, err := nodes[0].store.Context(w.context); err == nil && !info.Base.IsZero() {
			w0.Deltas = []codec.DeltaID{info.Base}
			require.ErrorIs(t, nodes[0].store.Withdraw(context.Background(), w0), dag.ErrNotLast)
		}
	})
}

func TestWhatOthersNeedIsNotWithdrawn(t *testing.T) {
	s := node(t, 1)
	first := commit(t, s, put("a", "1"))
	second := commit(t, s, put("b", "2"))
	before := info(t, s)
	w := dag.Withdrawal{Context: ctx1, Deltas: ids(first)}
	require.ErrorIs(t, s.Withdraw(t.Context(), w), dag.ErrNotLast)
	require.Equal(t, before, info(t, s))
	w.Deltas = []codec.DeltaID{{9}}
	require.NoError(t, s.Withdraw(t.Context(), w), "what is not here is withdrawn")
	require.Equal(t, before, info(t, s))

	refused := errors.New("refused")
	w.Deltas = ids(second)
	w.Beside = func(*dag.Delta, codec.DeltaID, *engine.Batch) error { return refused }
	require.ErrorIs(t, s.Withdraw(t.Context(), w), refused)
	require.Equal(t, before, info(t, s))
	require.Equal(t, "2", state(t, s, "b"))
	commit(t, s, put("c", "3"))
}

// Followers hear of it, wherever they are.
func TestFollowersHearOfWhatIsWithdrawn(t *testing.T) {
	s := node(t, 1)
	first, second := commit(t, s, put("a", "1")), commit(t, s, put("a", "2"))
	require.NoError(t, s.Withdraw(t.Context(), dag.Withdrawal{Context: ctx1, Deltas: ids(second)}))
	third := commit(t, s, put("b", "3"))
	for from, want := range map[uint64]string{0: "applied 1, withdrawn 2, withdrawn 3, applied 4", 2: "withdrawn 3, applied 4", 3: "applied 4"} {
		got := ""
		for a, err := range s.Follow(t.Context(), ctx1, dag.FollowOptions{From: from}) {
			require.NoError(t, err)
			if got != "" {
				got += ", "
			}
			if a.Withdrawn {
				require.Equal(t, second.ID(), a.Position.Delta)
				require.Nil(t, a.Delta)
				got += "withdrawn "
			} else {
				got += "applied "
			}
			got += string('0' + byte(a.Seq))
		}
		require.Equal(t, want, got)
	}
	var since []codec.DeltaID
	for a, err := range s.Since(t.Context(), ctx1, nil, dag.SinceOptions{}) {
		require.NoError(t, err)
		since = append(since, a.Position.Delta)
	}
	require.Equal(t, ids(first, third), since)
	since = nil
	for a, err := range s.Walk(t.Context(), ctx1, dag.WalkOptions{}) {
		require.NoError(t, err)
		since = append(since, a.Position.Delta)
	}
	require.Equal(t, ids(third, first), since)
	require.EqualValues(t, 2, info(t, s).Applied)
}

// What belongs to a delta is there with it, or neither is.
func TestWhatIsBesideADeltaIsWrittenWithIt(t *testing.T) {
	db := mem.New()
	defer db.Close()
	s := open(t, db, options(1))
	require.NoError(t, s.CreateContext(ctx1, codec.ApplicationMeta{Package: "p"}))
	key := []byte("beside...........")
	with := func(fail error) dag.Beside {
		return func(d *dag.Delta, id codec.DeltaID, b *engine.Batch) error {
			require.Equal(t, d.ID(), id)
			b.Put(column.Generic, key, id[:])
			return fail
		}
	}
	has := func() bool {
		_, err := db.Get(nil, column.Generic, key)
		return err == nil
	}
	refused := errors.New("refused")
	before := info(t, s)
	c := dag.Commit{Context: ctx1, Actions: []codec.Action{put("a", "1")}, ReadRoot: before.Root, Beside: with(refused), Author: func(parents []codec.DeltaID) (codec.NodeID, error) {
		require.Empty(t, parents)
		return codec.NodeID{Lo: 77}, nil
	}}
	_, err := s.Commit(t.Context(), c)
	require.ErrorIs(t, err, refused)
	require.False(t, has())
	require.Equal(t, before, info(t, s))
	c.Beside = with(nil)
	done, err := s.Commit(t.Context(), c)
	require.NoError(t, err)
	require.True(t, has())
	d, err := dag.ParseDelta(done.Deltas[0])
	require.NoError(t, err)
	require.Equal(t, codec.NodeID{Lo: 77}, d.HLC.ID)

	second := mem.New()
	defer second.Close()
	other := open(t, second, options(2))
	require.NoError(t, other.CreateContext(ctx1, codec.ApplicationMeta{Package: "p"}))
	child := commit(t, s, put("b", "2"))
	o := dag.AddOptions{Beside: with(nil)}
	a, err := other.Add(t.Context(), child, o)
	require.NoError(t, err)
	require.Equal(t, dag.Pending, a.Kind)
	require.Equal(t, []codec.DeltaID{d.ID()}, a.Missing)
	require.Zero(t, info(t, other).Pending, "it does not wait")
	a, err = other.Add(t.Context(), d, o)
	require.NoError(t, err)
	require.Equal(t, dag.Applied, a.Kind)
	_, err = second.Get(nil, column.Generic, key)
	require.NoError(t, err)
}

// However costly its cut is, a delta that has something beside it is judged at once.
func TestACostlyDeltaWithSomethingBesideItIsJudgedAtOnce(t *testing.T) {
	enginetest.Check(t, 50, func(t *rapid.T) {
		w := drawWorld(t, 12)
		applied := w.judge(setOf(w.all)).applied
		n := startReplica(t, w, dag.Options{CutBudget: 1})
		defer n.stop()
		n.clock.advance(time.Hour)
		besides := 0
		for _, f := range w.all {
			if applied[f.id] == nil {
				continue
			}
			a, err := n.store.Add(context.Background(), f.delta, dag.AddOptions{Durability: engine.WAL,
				Beside: func(*dag.Delta, codec.DeltaID, *engine.Batch) error { besides++; return nil }})
			require.NoError(t, err)
			require.True(t, n.answered(f, a))
		}
		require.Equal(t, len(applied), besides)
		n.check()
	})
}
