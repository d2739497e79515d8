package namespace_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/namespace"
)

// What is never drawn is never tried, and what is never effective changes no row: of
// every kind of op that codec has, histories as the other tests draw them have one that
// a store takes, and that is effective there.
func TestHistoriesHaveEveryKindOfOp(t *testing.T) {
	enginetest.SkipUnderRace(t, "it draws and opens no store")
	base := opening(t)
	lacking := map[string]int{} // how often they were drawn
	for _, k := range kindsOf[codec.GroupOpKind]("GroupOp") {
		lacking[k.String()] = 0
	}
	for _, k := range kindsOf[codec.RootOpKind]("RootOp") {
		lacking[k.String()] = 0
	}
	histories := rapid.Custom(func(t *rapid.T) *forge {
		f := base.copy(t)
		f.play(t, 14)
		return f
	})
	delete(lacking, codec.RootKeyDelivery.String()) // of version 1
	const most = 400
	for seed := 0; seed < most && len(lacking) > 0; seed++ {
		f := histories.Example(seed).copy(t)
		if !slices.ContainsFunc(f.ops, func(op *namespace.Op) bool { _, lacks := lacking[f.kindOf(op)]; return lacks }) {
			continue
		}
		w := f.holding(t, "Z")
		for _, op := range f.ops {
			kind := f.kindOf(op)
			if _, lacks := lacking[kind]; !lacks {
				continue
			}
			lacking[kind]++
			info, err := w.store.Op(f.ns, op.ID)
			require.NoError(t, err)
			if info.Verdict.Outcome == group.Effective {
				delete(lacking, kind)
			}
		}
		w.close()
	}
	require.Empty(t, lacking, "never effective, though drawn so often")
}

// Histories are not all short: of every length up to the longest there are some, and many
// of the longer half.
func TestHistoriesHaveEveryLength(t *testing.T) {
	enginetest.SkipUnderRace(t, "it draws and opens no store")
	base := opening(t)
	const longest, drawn = 14, 200
	histories := rapid.Custom(func(t *rapid.T) int {
		f := base.copy(t)
		f.play(t, longest)
		return len(f.ops) - len(base.ops) + len(f.refused)
	})
	seen, long := map[int]int{}, 0
	for seed := range drawn {
		n := histories.Example(seed)
		if seen[n]++; n > longest/2 {
			long++
		}
	}
	for n := 1; n <= longest; n++ {
		require.Positive(t, seen[n], "%d ops: %v", n, seen)
	}
	require.Greater(t, long, drawn/4)
}

// kindOf returns the name of the kind of an op; where nobody can read it, "sealed".
func (f *forge) kindOf(op *namespace.Op) string {
	switch read := f.read(op, f.ring).op; {
	case read.Root != nil:
		return read.Root.Kind.String()
	case read.Body != nil:
		return read.Body.Kind.String()
	default:
		return "sealed"
	}
}
