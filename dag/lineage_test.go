package dag

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/engine/enginetest"
)

// parentLists are the parents of every seq, from 1.
type parentLists [][]uint64

func (p parentLists) parents(dst []uint64, seq uint64) ([]uint64, error) {
	return append(dst, p[seq]...), nil
}

// drawParents draws a DAG of n deltas.
func drawParents(t *rapid.T, n int) parentLists {
	p := make(parentLists, n+1)
	for seq := 2; seq <= n; seq++ {
		last := max(1, seq-rapid.SampledFrom([]int{1, 3, 10, seq}).Draw(t, "reach"))
		for range rapid.IntRange(0, 3).Draw(t, "parents") {
			q := uint64(rapid.IntRange(last, seq-1).Draw(t, "parent"))
			if !slices.Contains(p[seq], q) {
				p[seq] = append(p[seq], q)
			}
		}
	}
	return p
}

// above returns all of from and their ancestors, by recursion.
func (p parentLists) above(from []uint64) map[uint64]bool {
	seen := map[uint64]bool{}
	var visit func(uint64)
	visit = func(seq uint64) {
		if !seen[seq] {
			seen[seq] = true
			for _, q := range p[seq] {
				visit(q)
			}
		}
	}
	for _, seq := range from {
		visit(seq)
	}
	return seen
}

func TestLineageIsTheDifferenceOfTwoHistories(t *testing.T) {
	enginetest.Check(t, 300, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, 5, 30, 200}).Draw(t, "deltas")
		p := drawParents(t, n)
		some := rapid.SliceOfN(rapid.Uint64Range(1, uint64(n)), 0, 5)
		want, have := some.Draw(t, "want"), some.Draw(t, "have")
		l := newLineage(p)
		for _, seq := range want {
			l.wanted(seq)
		}
		for _, seq := range have {
			l.had(seq)
		}
		var got []uint64
		for {
			seq, err := l.next()
			require.NoError(t, err)
			if seq == 0 {
				break
			}
			got = append(got, seq)
		}
		var expected []uint64
		had := p.above(have)
		for seq := range p.above(want) {
			if !had[seq] {
				expected = append(expected, seq)
			}
		}
		slices.Sort(expected)
		slices.Reverse(expected)
		require.Equal(t, expected, got)
	})
}

// counted counts how many deltas a walk looks at.
type counted struct {
	parentRows
	reads int
}

func (c *counted) parents(dst []uint64, seq uint64) ([]uint64, error) {
	c.reads++
	return c.parentRows.parents(dst, seq)
}

func TestLineageCostsTheDifference(t *testing.T) {
	const n = 1_000_000
	p := make(parentLists, n+1)
	for seq := uint64(2); seq <= n; seq++ {
		p[seq] = []uint64{seq - 1}
	}
	rows := &counted{parentRows: p}
	l := newLineage(rows)
	l.wanted(n)
	l.had(n - 100)
	for seq := uint64(n); seq > n-100; seq-- {
		got, err := l.next()
		require.NoError(t, err)
		require.Equal(t, seq, got)
	}
	got, err := l.next()
	require.NoError(t, err)
	require.Zero(t, got)
	require.Equal(t, 100, rows.reads)
}

func TestSeqSetFindsItsNeighbours(t *testing.T) {
	enginetest.Check(t, 100, func(t *rapid.T) {
		members := rapid.SliceOfDistinct(rapid.Uint64Range(1, 3*chunkSeqs), rapid.ID[uint64]).Draw(t, "members")
		var s seqSet
		for _, m := range members {
			require.True(t, s.add(m))
			require.False(t, s.add(m))
		}
		at := rapid.Uint64Range(0, 4*chunkSeqs).Draw(t, "at")
		var before, after uint64
		for _, m := range members {
			if m < at {
				before = max(before, m)
			}
			if m > at && (after == 0 || m < after) {
				after = m
			}
		}
		require.Equal(t, slices.Contains(members, at), s.has(at))
		require.Equal(t, before, s.before(at))
		require.Equal(t, after, s.after(at))
		require.Equal(t, s.before(^uint64(0)), slices.Max(append(members, 0)))
	})
}

// A history of a million deltas side by side takes two bits for each.
func TestLineageTakesTwoBitsForEachDelta(t *testing.T) {
	const n = 1_000_000
	p := make(parentLists, n+1)
	first := []uint64{1}
	for seq := 2; seq <= n; seq++ {
		p[seq] = first
	}
	l := newLineage(p)
	for seq := uint64(2); seq <= n; seq++ {
		if seq%2 == 0 {
			l.had(seq)
		}
		l.wanted(seq)
	}
	found := 0
	for {
		seq, err := l.next()
		require.NoError(t, err)
		if seq == 0 {
			break
		}
		found++
	}
	require.Equal(t, n/2-1, found)
	bytes := 8 * (cap(l.want.chunks) + cap(l.have.chunks))
	for _, c := range slices.Concat(l.want.chunks, l.have.chunks) {
		bytes += len(c) * 8
	}
	require.Less(t, bytes, 2*n/8*11/10)
}
