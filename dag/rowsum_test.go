package dag

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/engine/enginetest"
)

func TestSumsOfRowsTellAllButTheirOrder(t *testing.T) {
	type pair struct{ key, value []byte }
	few := rapid.SliceOfN(rapid.ByteRange(0, 2), 0, 3)
	enginetest.Check(t, 300, func(t *rapid.T) {
		draw := func(name string) []pair {
			return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) pair { return pair{few.Draw(t, "key"), few.Draw(t, "value")} }), 0, 3).Draw(t, name)
		}
		a := draw("a")
		b := rapid.OneOf(rapid.Just(slices.Clone(a)), rapid.Permutation(a), rapid.Just(draw("b"))).Draw(t, "b")
		sum, other := newRowSum(), rowSum{}
		other = sum.empty()
		for _, p := range a {
			sum.add(p.key, p.value)
		}
		for _, p := range b {
			other.add(p.key, p.value)
		}
		order := func(a, b pair) int {
			return bytes.Compare(append(append(a.key, 0xFF), a.value...), append(append(b.key, 0xFF), b.value...))
		}
		slices.SortFunc(a, order)
		slices.SortFunc(b, order)
		same := slices.EqualFunc(a, b, func(a, b pair) bool { return bytes.Equal(a.key, b.key) && bytes.Equal(a.value, b.value) })
		require.Equal(t, same, sum == other)
	})
}
