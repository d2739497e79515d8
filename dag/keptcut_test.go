package dag_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
)

// lineOn returns n deltas of another node, each on the one before, the first on those given.
func lineOn(t testing.TB, by uint64, n int, on ...*dag.Delta) (line []*dag.Delta) {
	peer := node(t, by)
	for _, d := range on {
		require.Equal(t, dag.Applied, add(t, peer, d).Kind)
	}
	for i := range n {
		line = append(line, commit(t, peer, put(fmt.Sprint("of ", by), fmt.Sprint(i)), put("all", fmt.Sprint(by, " ", i))))
	}
	return line
}

// requireApplied adds a delta and returns its number.
func requireApplied(t testing.TB, s *dag.Store, d *dag.Delta) uint64 {
	a := add(t, s, d)
	require.Equal(t, dag.Applied, a.Kind, a.Refusal)
	return a.Seq
}

// requireWalked demands of how many deltas more than before what is beside them was gone through.
func requireWalked(t testing.TB, s *dag.Store, more int, fn func()) {
	t.Helper()
	before := s.CutsWalked(ctx1)
	fn()
	require.Equal(t, more, s.CutsWalked(ctx1)-before)
}

func TestWhatIsBesideIsGoneThroughOnce(t *testing.T) {
	s := node(t, 1)
	parent := lineOn(t, 10, 1)
	requireApplied(t, s, parent[0])
	for i := range 5 {
		requireApplied(t, s, lineOn(t, uint64(20+i), 1, parent...)[0])
	}
	requireWalked(t, s, 0, func() {
		for i := range 30 {
			requireApplied(t, s, lineOn(t, uint64(30+i), 1, parent...)[0])
		}
		// Lines beside them, one after the other and in turns.
		for _, d := range lineOn(t, 99, 30, parent...) {
			requireApplied(t, s, d)
		}
		var lines [][]*dag.Delta
		for i := range 20 {
			lines = append(lines, lineOn(t, uint64(100+i), 10, parent...))
		}
		for depth := range 10 {
			for _, line := range lines {
				requireApplied(t, s, line[depth])
			}
		}
		// One that forks off in the middle.
		for _, d := range lineOn(t, 150, 3, append([]*dag.Delta{parent[0]}, lines[7][:4]...)...) {
			requireApplied(t, s, d)
		}
	})
}

// Nothing is refused by what was kept alone, and what is refused leaves it as it is.
func TestWhatIsKeptOfThePastSurvivesWhatIsRefused(t *testing.T) {
	s := node(t, 1)
	parent := lineOn(t, 10, 1)
	requireApplied(t, s, parent[0])
	for i := range 10 {
		requireApplied(t, s, lineOn(t, uint64(20+i), 1, parent...)[0])
		wrong := *lineOn(t, uint64(120+i), 1, parent...)[0]
		wrong.ExpectedRoot[0]++
		a := add(t, s, &wrong)
		require.Equal(t, dag.RootMismatch, a.Refusal.Reason)
		require.NotEqual(t, wrong.ExpectedRoot, a.Refusal.Computed)
	}
	requireWalked(t, s, 0, func() { requireApplied(t, s, lineOn(t, 40, 1, parent...)[0]) })
}

func TestFewCutsOfSeveralParentsAreKept(t *testing.T) {
	s := node(t, 1)
	begin := lineOn(t, 10, 1)
	requireApplied(t, s, begin[0])
	var sides []*dag.Delta
	for i := range 21 {
		sides = append(sides, lineOn(t, uint64(20+i), 1, begin...)[0])
		requireApplied(t, s, sides[i])
	}
	var parents [][]*dag.Delta
	for i := range 20 {
		parents = append(parents, []*dag.Delta{begin[0], sides[i], sides[i+1]})
	}
	by := uint64(50)
	each := func(all [][]*dag.Delta) {
		for _, on := range all {
			requireApplied(t, s, lineOn(t, by, 1, on...)[0])
			by++
		}
	}
	requireWalked(t, s, 16, func() { each(parents[:16]) })
	requireWalked(t, s, 0, func() { each(parents[:16]) })
	requireWalked(t, s, 4, func() { each(parents[16:]) })
	requireWalked(t, s, 0, func() { each(parents[12:]) })
	requireWalked(t, s, 8, func() { each(parents[:8]) })
}

// The past is kept for a while after the last delta that had others beside it.
func TestThePastIsNotKeptForLong(t *testing.T) {
	s, peer, late := node(t, 1), node(t, 2), node(t, 3)
	begin := lineOn(t, 10, 1)
	sides := []*dag.Delta{lineOn(t, 11, 1, begin...)[0], lineOn(t, 12, 1, begin...)[0]}
	for _, x := range []*dag.Store{s, peer, late} {
		for _, d := range append(begin, sides...) {
			requireApplied(t, x, d)
		}
	}
	// fork has a peer make a line, and another node go on from before its last ten deltas.
	fork := func(n int) *dag.Delta {
		var offers []dag.Offer
		for i := range n {
			offers = append(offers, dag.Offer{Delta: commit(t, peer, put("all", fmt.Sprint(i)), put(fmt.Sprint(i%5), fmt.Sprint(n, i)))})
		}
		_, err := s.AddMany(bg, offers, engine.WAL)
		require.NoError(t, err)
		_, err = late.AddMany(bg, offers[:n-10], engine.WAL)
		require.NoError(t, err)
		d := commit(t, late, put("late", "1"))
		_, err = late.AddMany(bg, offers[n-10:], engine.WAL)
		require.NoError(t, err)
		requireApplied(t, peer, d)
		return d
	}
	for _, c := range []struct{ line, walked int }{{30, 0}, {90, 0}, {120, 1}, {90, 0}} {
		d := fork(c.line)
		requireWalked(t, s, c.walked, func() { requireApplied(t, s, d) })
	}
}

// What a context makes does not depend on whether there is room for its past.
func TestWithoutRoomForThePastAllIsTheSame(t *testing.T) {
	s, poor := node(t, 1), node(t, 2)
	poor.LimitPast(-1)
	parent := lineOn(t, 10, 1)
	requireApplied(t, s, parent[0])
	requireApplied(t, poor, parent[0])
	var lines [][]*dag.Delta
	for i := range 10 {
		lines = append(lines, lineOn(t, uint64(100+i), 5, parent...))
	}
	for depth := range 5 {
		for _, line := range lines {
			requireApplied(t, s, line[depth])
			requireApplied(t, poor, line[depth])
		}
	}
	require.Greater(t, poor.CutsWalked(ctx1), 40)
	require.Less(t, s.CutsWalked(ctx1), 5)
	a, err := s.Context(ctx1)
	require.NoError(t, err)
	b, err := poor.Context(ctx1)
	require.NoError(t, err)
	require.Equal(t, a.Root, b.Root)
	require.Equal(t, a.Heads, b.Heads)
}

// readDeltas counts the deltas that are read.
type readDeltas struct {
	engine.Engine
	n int
}

func (e *readDeltas) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	if col == column.Delta {
		e.n++
	}
	return e.Engine.Get(dst, col, key)
}

func TestADeltaOfManyLargeValuesIsNotReadForEach(t *testing.T) {
	base := lineOn(t, 10, 1)
	wide := func(by uint64) *dag.Delta {
		peer := node(t, by)
		add(t, peer, base[0])
		var actions []codec.Action
		for i := range 100 {
			actions = append(actions, put(fmt.Sprint("key ", i), fmt.Sprint("a value by ", by)))
		}
		return commit(t, peer, actions...)
	}
	db := &readDeltas{Engine: mem.New()}
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	s := open(t, db, options(1))
	require.NoError(t, s.CreateContext(ctx1, codec.ApplicationMeta{}))
	requireApplied(t, s, base[0])
	requireApplied(t, s, wide(2))
	db.n = 0
	requireWalked(t, s, 1, func() { requireApplied(t, s, wide(3)) })
	require.Less(t, db.n, 10)
}
