package namespace_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/namespace"
)

// What is made of an origin follows from the ops of its cut alone: a node that has more says what one
// says that has these only, as far as that one can open them.
func TestOriginsAreJudgedByTheirCutsAlone(t *testing.T) {
	base := opening(t)
	seen := map[namespace.OriginKind]int{}
	enginetest.Check(t, 60, func(t *rapid.T) {
		f := base.copy(t)
		f.play(t, 14)
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		all := newBystander(t, "Z", f)
		defer all.close()
		all.give(f.ops...)
		for range 4 {
			heads := []codec.OpID{f.ops[random.IntN(len(f.ops))].ID}
			if other := f.ops[random.IntN(len(f.ops))].ID; other != heads[0] {
				heads = append(heads, other)
			}
			slices.SortFunc(heads, func(a, b codec.OpID) int { return slices.Compare(a[:], b[:]) })
			cut := f.cut(heads)
			var origins []namespace.Origin
			for _, name := range cast {
				for _, c := range []codec.ContextID{{1}, {2}, room(0)} {
					keyOp := cut[random.IntN(len(cut))].ID
					for _, op := range cut {
						if len(op.Keys) > 0 && random.IntN(2) == 0 {
							keyOp = op.ID
						}
					}
					origins = append(origins, namespace.Origin{Context: c, Author: is(name), Cut: heads, KeyOp: keyOp})
				}
			}
			few := newBystander(t, "Z", f)
			few.give(cut...)
			want, err := few.store.Origins(f.ns, origins)
			require.NoError(t, err)
			few.close()
			have, err := all.store.Origins(f.ns, origins)
			require.NoError(t, err)
			for i := range want {
				if seen[have[i].Kind]++; want[i].Kind != namespace.OriginWaits {
					require.Equal(t, want[i], have[i])
				}
			}
		}
	})
	t.Log(seen)
	if enginetest.Scale(60) >= 60 {
		for _, k := range []namespace.OriginKind{namespace.OriginAllowed, namespace.OriginWaits, namespace.OriginRefused} {
			require.Positive(t, seen[k])
		}
	}
}
