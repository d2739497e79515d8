package dag_test

import (
	"context"
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
)

// all returns what a stream of deltas yields.
func all(t require.TestingT, stream iter.Seq2[dag.AppliedDelta, error]) []dag.AppliedDelta {
	var list []dag.AppliedDelta
	for a, err := range stream {
		require.NoError(t, err)
		require.Equal(t, a.Position.Delta, a.Delta.ID())
		list = append(list, a)
	}
	return list
}

// fresh returns a store in memory with an empty ctx1.
func fresh(t require.TestingT, o dag.Options) (*dag.Store, engine.Engine, func()) {
	db := mem.New()
	s, err := dag.Open(db, o)
	require.NoError(t, err)
	require.NoError(t, s.CreateContext(ctx1, codec.ApplicationMeta{Package: "p"}))
	return s, db, func() { _ = s.Close(); _ = db.Close() }
}

// shuffled returns the deltas of g in another order, parents first.
func (g *grove) shuffled(t *rapid.T) []*dag.Delta {
	left := slices.Clone(g.all)
	done := map[codec.DeltaID]bool{}
	var list []*dag.Delta
	for len(left) > 0 {
		i := rapid.IntRange(0, len(left)-1).Draw(t, "next")
		for slices.ContainsFunc(left[i].Parents, func(p codec.DeltaID) bool { return !done[p] }) {
			i = (i + 1) % len(left)
		}
		done[left[i].ID()] = true
		list = append(list, left[i])
		left = slices.Delete(left, i, i+1)
	}
	return list
}

func someIDs(t *rapid.T, g *grove, least, most int, name string) []codec.DeltaID {
	var ids []codec.DeltaID
	for _, d := range rapid.SliceOfN(rapid.SampledFrom(g.all), least, most).Draw(t, name) {
		ids = append(ids, d.ID())
	}
	return ids
}

func TestStreamsOfDeltasAreSetsOfAncestors(t *testing.T) {
	enginetest.Check(t, 60, func(t *rapid.T) {
		g := newGrove()
		g.draw(t, rapid.IntRange(1, 30).Draw(t, "deltas"))
		s, _, closed := fresh(t, options(9))
		defer closed()
		order := g.shuffled(t)
		give(t, s, order...)

		heads := someIDs(t, g, 0, 4, "heads")
		had := g.above(heads...)
		var lacking []codec.DeltaID
		for _, d := range order {
			if !had[d.ID()] {
				lacking = append(lacking, d.ID())
			}
		}
		var unknown []codec.DeltaID
		o := dag.SinceOptions{Unknown: func(ids []codec.DeltaID) { unknown = ids }}
		stranger := codec.DeltaID{7}
		since := all(t, s.Since(bg, ctx1, append(heads, stranger), o))
		require.Equal(t, lacking, idsOf(since))
		require.Equal(t, []codec.DeltaID{stranger}, unknown)
		for i := range since {
			require.Equal(t, order[since[i].Seq-1].ID(), since[i].Position.Delta)
		}
		if len(since) > 0 {
			i := rapid.IntRange(0, len(since)-1).Draw(t, "resume")
			rest := all(t, s.Since(bg, ctx1, heads, dag.SinceOptions{After: since[i].Position}))
			require.Equal(t, lacking[i+1:], append([]codec.DeltaID{}, idsOf(rest)...))
		}

		from := someIDs(t, g, 1, 3, "from")
		reached := g.above(from...)
		var down []codec.DeltaID
		for _, d := range slices.Backward(order) {
			if reached[d.ID()] {
				down = append(down, d.ID())
			}
		}
		walk := all(t, s.Walk(bg, ctx1, dag.WalkOptions{From: from}))
		require.Equal(t, down, idsOf(walk))
		i := rapid.IntRange(0, len(walk)-1).Draw(t, "before")
		n := rapid.IntRange(1, 5).Draw(t, "limit")
		page := all(t, s.Walk(bg, ctx1, dag.WalkOptions{From: from, Before: walk[i].Position, Limit: n}))
		require.Equal(t, append([]codec.DeltaID{}, down[i+1:min(len(down), i+1+n)]...), append([]codec.DeltaID{}, idsOf(page)...))
		whole := idsOf(all(t, s.Walk(bg, ctx1, dag.WalkOptions{})))
		slices.Reverse(whole)
		require.Equal(t, idsOf(all(t, s.Follow(bg, ctx1, dag.FollowOptions{}))), whole)
		require.Len(t, whole, len(g.all))

		a, b := someIDs(t, g, 1, 1, "a")[0], someIDs(t, g, 1, 1, "b")[0]
		is, err := s.IsAncestor(bg, ctx1, a, b)
		require.NoError(t, err)
		require.Equal(t, a != b && g.above(b)[a], is)
	})
}

func idsOf(list []dag.AppliedDelta) (ids []codec.DeltaID) {
	for _, a := range list {
		ids = append(ids, a.Position.Delta)
	}
	return ids
}

func TestStreamsSayWhatIsWrong(t *testing.T) {
	s := node(t, 1)
	g := newGrove()
	d := g.grow(t, 1, nil, put("a", "1"))
	give(t, s, d)
	first := func(stream iter.Seq2[dag.AppliedDelta, error]) error {
		for _, err := range stream {
			return err
		}
		return nil
	}
	require.ErrorIs(t, first(s.Since(bg, ctx2, nil, dag.SinceOptions{})), dag.ErrNoContext)
	require.ErrorIs(t, first(s.Since(bg, ctx1, nil, dag.SinceOptions{After: dag.Position{Seq: 2}})), dag.ErrPosition)
	require.ErrorIs(t, first(s.Since(bg, ctx1, nil, dag.SinceOptions{After: dag.Position{Seq: 1, Delta: codec.DeltaID{1}}})), dag.ErrPosition)
	require.NoError(t, first(s.Since(bg, ctx1, nil, dag.SinceOptions{After: dag.Position{Seq: 1, Delta: d.ID()}})))
	require.ErrorIs(t, first(s.Walk(bg, ctx1, dag.WalkOptions{From: []codec.DeltaID{{1}}})), dag.ErrNoDelta)
	require.ErrorIs(t, first(s.Follow(bg, ctx1, dag.FollowOptions{From: 2})), dag.ErrPosition)
	require.ErrorIs(t, first(s.Follow(bg, ctx1, dag.FollowOptions{Cursor: string(make([]byte, 65))})), dag.ErrCursor)
	_, err := s.IsAncestor(bg, ctx1, d.ID(), codec.DeltaID{1})
	require.ErrorIs(t, err, dag.ErrNoDelta)
	ended, cancel := context.WithCancel(bg)
	cancel()
	require.ErrorIs(t, first(s.Since(ended, ctx1, nil, dag.SinceOptions{})), context.Canceled)
	require.NoError(t, s.Close())
	require.ErrorIs(t, first(s.Since(bg, ctx1, nil, dag.SinceOptions{})), dag.ErrClosed)
}

func TestStreamsGoOnOverPages(t *testing.T) {
	s := node(t, 1)
	g := newGrove()
	var last []*dag.Delta
	for range 600 {
		last = []*dag.Delta{g.grow(t, 1, last)}
	}
	give(t, s, g.all...)
	require.Len(t, all(t, s.Since(bg, ctx1, nil, dag.SinceOptions{})), 600)
	since := all(t, s.Since(bg, ctx1, []codec.DeltaID{g.all[9].ID()}, dag.SinceOptions{}))
	require.Len(t, since, 590)
	require.Equal(t, g.all[10].ID(), since[0].Position.Delta)
	walk := all(t, s.Walk(bg, ctx1, dag.WalkOptions{From: []codec.DeltaID{g.all[400].ID()}}))
	require.Len(t, walk, 401)
	require.Len(t, all(t, s.Walk(bg, ctx1, dag.WalkOptions{})), 600)
}
