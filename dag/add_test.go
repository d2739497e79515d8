package dag_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
)

var bg = context.Background()

func put(key, value string) codec.Action { return codec.Put([]byte(key), []byte(value)) }
func del(key string) codec.Action        { return codec.Delete([]byte(key)) }

// commit makes a delta on s and returns it.
func commit(t testing.TB, s *dag.Store, actions ...codec.Action) *dag.Delta {
	t.Helper()
	_, root, err := s.Heads(ctx1)
	require.NoError(t, err)
	done, err := s.Commit(bg, dag.Commit{Context: ctx1, Actions: actions, ReadRoot: root})
	require.NoError(t, err)
	d, err := dag.ParseDelta(done.Deltas[len(done.Deltas)-1])
	require.NoError(t, err)
	require.Equal(t, done.Delta, d.ID())
	return d
}

func add(t testing.TB, s *dag.Store, d *dag.Delta) dag.Answer {
	t.Helper()
	a, err := s.Add(bg, d, dag.AddOptions{Claimed: d.ID()})
	require.NoError(t, err)
	require.Equal(t, d.ID(), a.ID)
	return a
}

func info(t testing.TB, s *dag.Store) dag.ContextInfo {
	t.Helper()
	i, err := s.Context(ctx1)
	require.NoError(t, err)
	return i
}

func state(t testing.TB, s *dag.Store, key string) string {
	t.Helper()
	v, err := s.State(ctx1, []byte(key))
	if err != nil {
		require.ErrorIs(t, err, engine.ErrNotFound)
		return "-"
	}
	return string(v)
}

// equal demands that nodes have one state, root and heads.
func equal(t testing.TB, a, b *dag.Store) {
	t.Helper()
	ia, ib := info(t, a), info(t, b)
	require.Equal(t, ia.Root, ib.Root)
	require.Equal(t, ia.Heads, ib.Heads)
}

func ids(deltas ...*dag.Delta) (list []codec.DeltaID) {
	for _, d := range deltas {
		list = append(list, d.ID())
	}
	return list
}

func TestDeltasOnTopOfEachOther(t *testing.T) {
	a, b := node(t, 1), node(t, 2)
	d1 := commit(t, a, put("x", "1"), put("y", "1"))
	d2 := commit(t, a, put("x", "2"), del("y"))
	r1 := add(t, b, d1)
	require.Equal(t, dag.Answer{Kind: dag.Applied, ID: d1.ID(), Applied: ids(d1), Seq: 1, Root: d1.ExpectedRoot}, r1)
	require.Equal(t, "1", state(t, b, "y"))
	require.Equal(t, dag.Applied, add(t, b, d2).Kind)
	require.Equal(t, dag.Duplicate, add(t, b, d2).Kind)
	require.Equal(t, dag.Duplicate, add(t, b, d1).Kind)
	require.Equal(t, "2", state(t, b, "x"))
	require.Equal(t, "-", state(t, b, "y"))
	equal(t, a, b)
	require.Equal(t, uint64(2), info(t, b).Applied)

	got, is, err := b.Get(ctx1, d1.ID())
	require.NoError(t, err)
	require.Equal(t, dag.StateApplied, is)
	require.Equal(t, d1, got)
	_, _, err = b.Get(ctx1, codec.DeltaID{9})
	require.ErrorIs(t, err, dag.ErrNoDelta)
	_, _, err = b.Get(ctx2, codec.DeltaID{9})
	require.ErrorIs(t, err, dag.ErrNoContext)
}

func TestConcurrentDeltasMergeByStampInAnyOrder(t *testing.T) {
	a, b := node(t, 1), node(t, 2)
	base := commit(t, a, put("x", "0"), put("y", "0"), put("z", "0"))
	add(t, b, base)
	d1 := commit(t, a, put("x", "a"), del("y"))
	d2 := commit(t, a, put("z", "a"))
	e1 := commit(t, b, put("x", "b"), put("y", "b"), put("w", "b"))

	orders := [][]*dag.Delta{{base, d1, d2, e1}, {base, e1, d1, d2}, {base, d1, e1, d2}, {d2, e1, d1, base}}
	var nodes []*dag.Store
	for i, order := range orders {
		n := node(t, uint64(10+i))
		for _, d := range order {
			add(t, n, d)
		}
		require.Equal(t, uint64(4), info(t, n).Applied)
		require.Len(t, info(t, n).Heads, 2)
		nodes = append(nodes, n)
	}
	for _, n := range nodes[1:] {
		equal(t, nodes[0], n)
	}
	// e1 has the same times as d1 and the greater node.
	require.Equal(t, "b", state(t, nodes[0], "x"))
	require.Equal(t, "b", state(t, nodes[0], "y"))
	require.Equal(t, "a", state(t, nodes[0], "z"))
	merge := commit(t, nodes[0], put("m", "m"))
	require.Len(t, merge.Parents, 2)
	for _, n := range nodes[1:] {
		require.Equal(t, dag.Applied, add(t, n, merge).Kind)
		equal(t, nodes[0], n)
	}
}

func TestDeltasWaitForTheirParents(t *testing.T) {
	a, b := node(t, 1), node(t, 2)
	var chain []*dag.Delta
	for i := range 600 {
		chain = append(chain, commit(t, a, put(fmt.Sprint("k", i%7), fmt.Sprint(i))))
	}
	for i := len(chain) - 1; i > 0; i-- {
		r := add(t, b, chain[i])
		require.Equal(t, dag.Pending, r.Kind)
		require.Equal(t, ids(chain[i-1]), r.Missing)
	}
	require.Equal(t, dag.Duplicate, add(t, b, chain[5]).Kind)
	missing, err := b.Missing(ctx1, codec.DeltaID{}, 0)
	require.NoError(t, err)
	require.Equal(t, ids(chain[0]), missing)
	require.Equal(t, 599, info(t, b).Pending)
	r := add(t, b, chain[0])
	require.Equal(t, ids(chain...), r.Applied)
	require.Equal(t, chain[599].ExpectedRoot, r.Root)
	equal(t, a, b)
	now := info(t, b)
	require.Zero(t, now.Pending)
	require.Zero(t, now.PendingBytes)
	missing, err = b.Missing(ctx1, codec.DeltaID{}, 0)
	require.NoError(t, err)
	require.Empty(t, missing)
}

func TestAWrongRootIsRefusedWithWhatDescendsFromIt(t *testing.T) {
	a, b := node(t, 1), node(t, 2)
	d1 := commit(t, a, put("x", "1"))
	d2 := commit(t, a, put("x", "2"))
	bad := *d2
	bad.ExpectedRoot = codec.Hash{1}
	child := *d2
	child.Parents, child.HLC.Time = ids(&bad), d2.HLC.Time+1
	grandchild := child
	grandchild.Parents, grandchild.HLC.Time = ids(&child), child.HLC.Time+1

	add(t, b, d1)
	before := info(t, b)
	require.Equal(t, dag.Pending, add(t, b, &grandchild).Kind)
	require.Equal(t, dag.Pending, add(t, b, &child).Kind)
	r := add(t, b, &bad)
	require.Equal(t, dag.Refused, r.Kind)
	require.Equal(t, &dag.Refusal{Delta: bad.ID(), Reason: dag.RootMismatch, Expected: bad.ExpectedRoot, Computed: d2.ExpectedRoot}, r.Refusal)
	require.Equal(t, []dag.Refusal{
		{Delta: child.ID(), Reason: dag.RefusedAncestor, Ancestor: bad.ID()},
		{Delta: grandchild.ID(), Reason: dag.RefusedAncestor, Ancestor: child.ID()},
	}, r.Refused)
	require.ErrorIs(t, r.Refusal, dag.ErrRefused)
	require.Equal(t, r.Refusal, add(t, b, &bad).Refusal)
	require.Equal(t, dag.RefusedAncestor, add(t, b, &child).Refusal.Reason)
	list, err := b.Refusals(ctx1, 0, 0)
	require.NoError(t, err)
	require.Len(t, list, 3)
	require.Equal(t, *r.Refusal, list[0].Refusal)
	after := info(t, b)
	after.Refused = 0
	require.Equal(t, before, after)

	early := child
	early.Parents, early.HLC = ids(d1), d1.HLC
	require.Equal(t, &dag.Refusal{Delta: early.ID(), Reason: dag.BadTime, Ancestor: d1.ID()}, add(t, b, &early).Refusal)
	require.Equal(t, dag.Applied, add(t, b, d2).Kind)
	equal(t, a, b)
}

func TestDeltasOfAWrongFormAreRefusedAndForgotten(t *testing.T) {
	a, b := node(t, 1), node(t, 2)
	good := commit(t, a, put("x", "1"))
	change := func(fn func(d *dag.Delta)) *dag.Delta {
		d := *good
		fn(&d)
		return &d
	}
	many := make([]codec.DeltaID, dag.MaxParents+1)
	for i := range many {
		many[i][0], many[i][1], many[i][2] = 1, byte(i>>8), byte(i)
	}
	for name, tc := range map[string]struct {
		d      *dag.Delta
		reason dag.RefusalReason
	}{
		"zero parent":    {change(func(d *dag.Delta) { d.Parents = []codec.DeltaID{{}} }), dag.BadForm},
		"parent twice":   {change(func(d *dag.Delta) { d.Parents = []codec.DeltaID{{1}, {1}} }), dag.BadForm},
		"out of order":   {change(func(d *dag.Delta) { d.Parents = []codec.DeltaID{{2}, {1}} }), dag.BadForm},
		"key twice":      {change(func(d *dag.Delta) { d.Actions = []codec.Action{put("x", ""), del("x")} }), dag.BadForm},
		"no node":        {change(func(d *dag.Delta) { d.HLC.ID = codec.NodeID{} }), dag.BadForm},
		"kind not UTF-8": {change(func(d *dag.Delta) { d.Events = []codec.Event{{Kind: "\xff"}} }), dag.BadForm},
		"long key":       {change(func(d *dag.Delta) { d.Actions = []codec.Action{codec.Put(make([]byte, 65536), nil)} }), dag.OverLimit},
		"large":          {change(func(d *dag.Delta) { d.Actions = []codec.Action{codec.Put(nil, make([]byte, dag.MaxDelta))} }), dag.OverLimit},
		"actions":        {change(func(d *dag.Delta) { d.Actions = make([]codec.Action, dag.MaxActions+1) }), dag.OverLimit},
		"parents":        {change(func(d *dag.Delta) { d.Parents = many }), dag.OverLimit},
	} {
		r, err := b.Add(bg, tc.d, dag.AddOptions{})
		require.NoError(t, err)
		require.Equal(t, dag.Refused, r.Kind, name)
		require.Equal(t, tc.reason, r.Refusal.Reason, name)
		require.ErrorIs(t, tc.d.Check(), dag.ErrRefused)
	}
	r, err := b.Add(bg, good, dag.AddOptions{Claimed: codec.DeltaID{1}})
	require.NoError(t, err)
	require.Equal(t, dag.BadID, r.Refusal.Reason)
	require.Zero(t, info(t, b).Refused)
	require.NoError(t, good.Check())
	require.Equal(t, dag.Applied, add(t, b, good).Kind)
	_, err = b.Add(bg, change(func(d *dag.Delta) { d.Context = ctx2 }), dag.AddOptions{})
	require.ErrorIs(t, err, dag.ErrNoContext)
}

func TestAnEarlyDeltaIsTakenLater(t *testing.T) {
	now := begin
	db := mem.New()
	defer db.Close()
	b := open(t, db, dag.Options{Node: codec.NodeID{Lo: 2}, Now: func() time.Time { return now }})
	require.NoError(t, b.CreateContext(ctx1, codec.ApplicationMeta{}))
	fast := dag.Options{Node: codec.NodeID{Lo: 1}, Now: func() time.Time { return begin.Add(8 * time.Second) }}
	other := mem.New()
	defer other.Close()
	a := open(t, other, fast)
	require.NoError(t, a.CreateContext(ctx1, codec.ApplicationMeta{}))
	d1, d2 := commit(t, a, put("x", "1")), commit(t, a, put("x", "2"))
	r := add(t, b, d1)
	require.Equal(t, dag.TooEarly, r.Kind)
	require.InDelta(t, 3*time.Second, r.RetryAfter, float64(time.Millisecond))
	require.Zero(t, info(t, b).Pending)
	now = now.Add(3*time.Second + time.Millisecond)
	require.Equal(t, dag.Pending, add(t, b, d2).Kind)
	require.Len(t, add(t, b, d1).Applied, 2)
	equal(t, a, b)
	require.Greater(t, commit(t, b, put("y", "1")).HLC.Time, d2.HLC.Time)
}

func TestWhatWaitsIsBounded(t *testing.T) {
	a := node(t, 1)
	db := mem.New()
	defer db.Close()
	o := options(2)
	o.MaxPending = 3
	b := open(t, db, o)
	require.NoError(t, b.CreateContext(ctx1, codec.ApplicationMeta{}))
	var chain []*dag.Delta
	for i := range 6 {
		chain = append(chain, commit(t, a, put("k", fmt.Sprint(i))))
	}
	for _, i := range []int{3, 4, 5} {
		require.Empty(t, add(t, b, chain[i]).Evicted)
	}
	r := add(t, b, chain[2])
	require.Equal(t, ids(chain[3]), r.Evicted)
	missing, err := b.Missing(ctx1, codec.DeltaID{}, 0)
	require.NoError(t, err)
	require.ElementsMatch(t, ids(chain[1], chain[3]), missing)
	waiting, err := b.Pending(ctx1, 0, 0)
	require.NoError(t, err)
	require.Len(t, waiting, 3)
	require.Equal(t, chain[4].ID(), waiting[0].ID)
	r = add(t, b, chain[1])
	require.Equal(t, ids(chain[4]), r.Evicted)
	require.Equal(t, ids(chain[0]), r.Missing)
	require.Equal(t, ids(chain[0], chain[1], chain[2]), add(t, b, chain[0]).Applied)
	require.Equal(t, ids(chain[3]), add(t, b, chain[3]).Applied)
	require.Equal(t, ids(chain[4], chain[5]), add(t, b, chain[4]).Applied)
	equal(t, a, b)
	left := 0
	it, err := db.Iterate(column.Generic, engine.Range{})
	require.NoError(t, err)
	defer it.Close()
	for it.Next() {
		if string(it.Key()[:11]) == "dag-pending" {
			left++
		}
	}
	require.Zero(t, left, "rows of what waits")
}

func TestCostlyCutsAreVerifiedInTheBackground(t *testing.T) {
	a, b := node(t, 1), node(t, 2)
	db := mem.New()
	defer db.Close()
	o := options(3)
	o.CutBudget = 5
	c := open(t, db, o)
	require.NoError(t, c.CreateContext(ctx1, codec.ApplicationMeta{}))
	first := commit(t, a, put("first", "a"))
	add(t, b, first)
	add(t, c, first)
	for i := range 20 {
		add(t, c, commit(t, a, put(fmt.Sprint(i), "a")))
	}
	d, e := commit(t, b, put("1", "b")), commit(t, b, put("2", "b"))
	bad := *e
	bad.ExpectedRoot = codec.Hash{1}
	r := add(t, c, d)
	require.Equal(t, dag.Pending, r.Kind)
	require.True(t, r.Verifying)
	require.Empty(t, r.Missing)
	add(t, c, &bad)
	require.Eventually(t, func() bool { i := info(t, c); return i.Pending == 0 && i.Applied == 22 && i.Refused == 1 }, time.Minute, time.Millisecond)
	add(t, c, e)
	require.Eventually(t, func() bool { return info(t, c).Applied == 23 }, time.Minute, time.Millisecond)
	for _, d := range []*dag.Delta{d, e} {
		require.Equal(t, dag.Applied, add(t, a, d).Kind)
	}
	equal(t, a, c)
}
