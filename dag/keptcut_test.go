package dag_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
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

func TestDeltasBesideEachOtherAreJudgedAtOneCut(t *testing.T) {
	s := node(t, 1)
	parent := lineOn(t, 10, 1)
	requireApplied(t, s, parent[0])
	for i := range 30 {
		seq := requireApplied(t, s, lineOn(t, uint64(20+i), 1, parent...)[0])
		if i > 3 {
			require.Equal(t, []uint64{seq}, s.CutsUsed(ctx1))
		}
	}
	// A line beside them goes on from cut to cut.
	for _, d := range lineOn(t, 99, 30, parent...) {
		seq := requireApplied(t, s, d)
		require.Equal(t, []uint64{seq}, s.CutsUsed(ctx1))
	}
	// Another is on a parent that has been left.
	again := requireApplied(t, s, lineOn(t, 98, 1, parent...)[0])
	require.Contains(t, s.CutsUsed(ctx1), again)
	require.Len(t, s.CutsUsed(ctx1), 2)
}

// Nothing is refused by a kept cut alone, and what is refused leaves one to go on from.
func TestAKeptCutSurvivesWhatIsRefused(t *testing.T) {
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
	seq := requireApplied(t, s, lineOn(t, 40, 1, parent...)[0])
	require.Equal(t, []uint64{seq}, s.CutsUsed(ctx1))
}

func TestFewCutsAreKeptAndNotForLong(t *testing.T) {
	s := node(t, 1)
	begin := lineOn(t, 10, 1)
	requireApplied(t, s, begin[0])
	var parents [][]*dag.Delta
	for i := range 6 {
		line := lineOn(t, uint64(20+i), 1, begin...)
		requireApplied(t, s, line[0])
		parents = append(parents, []*dag.Delta{begin[0], line[0]})
	}
	for by := uint64(30); by < 42; by++ {
		requireApplied(t, s, lineOn(t, by, 1, parents[by%6]...)[0])
		require.LessOrEqual(t, len(s.CutsUsed(ctx1)), 2)
	}
	require.Len(t, s.CutsUsed(ctx1), 2)

	old := s.CutsUsed(ctx1)
	var offers []dag.Offer
	for i := range 4100 {
		offers = append(offers, dag.Offer{Delta: firstDelta(t, i)})
	}
	_, err := s.AddMany(bg, offers, engine.WAL)
	require.NoError(t, err)
	require.Equal(t, old, s.CutsUsed(ctx1))
	seq := requireApplied(t, s, lineOn(t, 50, 1, parents[0]...)[0])
	require.Equal(t, []uint64{seq}, s.CutsUsed(ctx1))

	defer dag.LimitCuts(dag.LimitCuts(1))
	require.Positive(t, requireApplied(t, s, lineOn(t, 51, 1, begin...)[0]))
	require.Len(t, s.CutsUsed(ctx1), 1, "the one before was over the limit")
}
