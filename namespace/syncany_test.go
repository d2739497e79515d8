package namespace_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/namespace"
)

// Two nodes of which each was given some ops, in an order of its own, have after a sync
// all that can stand on its ancestors among what either was given; and what they hold
// are the rows of the definition.
func TestAnyTwoNodesAreBroughtLevel(t *testing.T) {
	base := opening(t)
	exchanged := 0
	enginetest.Check(t, 80, func(t *rapid.T) {
		f := base.copy(t)
		f.play(t, 14)
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 4))
		names := random.Perm(6)
		pool := map[codec.OpID]*namespace.Op{}
		var both []*witness
		for _, i := range names[:2] {
			w := newWitness(t, f, cast[i], newMem())
			defer w.close()
			for _, k := range random.Perm(len(f.ops)) {
				if op := f.ops[k]; random.IntN(10) > 0 {
					w.give(op)
					pool[op.ID] = op
				}
			}
			both = append(both, w)
		}
		a, b := both[0], both[1]
		beforeA, beforeB := len(a.has), len(b.has)
		r, err := namespace.Sync(t.Context(), f.ns, a.store, b.store)
		if pool[f.ops[0].ID] == nil {
			require.ErrorIs(t, err, namespace.ErrNoNamespace)
			return
		}
		require.NoError(t, err)
		for _, w := range both {
			for _, op := range pool {
				if w.has[op.ID] == nil {
					w.note(op)
				}
			}
			w.check()
			require.Equal(t, r.Heads, w.heads())
		}
		require.Equal(t, []int{len(a.has) - beforeA, len(b.has) - beforeB}, []int{r.ToA.Stored, r.ToB.Stored})
		require.Zero(t, r.ToA.Refused+r.ToB.Refused)
		exchanged += r.ToA.Stored + r.ToB.Stored
		again, err := namespace.Sync(t.Context(), f.ns, b.store, a.store)
		require.NoError(t, err)
		require.Equal(t, namespace.SyncReport{Heads: r.Heads}, again)
	})
	require.Positive(t, exchanged)
}

// A node that has forgotten payloads can't bring another level, and says so; with a third
// that has them all three are.
func TestSyncWithANodeThatForgets(t *testing.T) {
	f := opening(t)
	f.op("K", named("k"))
	f.op("Z", added("A", codec.Member))
	forgetful := newWitness(t, f, "X", newMem())
	defer forgetful.close()
	forgetful.forgets = true
	forgetful.restart()
	for _, op := range f.ops {
		forgetful.give(op)
	}
	fresh := newWitness(t, f, "M", newMem())
	defer fresh.close()
	r, err := namespace.Sync(t.Context(), f.ns, forgetful.store, fresh.store)
	require.ErrorIs(t, err, namespace.ErrUneven)
	require.Positive(t, r.ToB.Pending)
	whole := f.holding(t, "K")
	defer whole.close()
	_, err = namespace.Sync(t.Context(), f.ns, whole.store, fresh.store)
	require.NoError(t, err)
	for _, op := range f.ops {
		fresh.note(op)
	}
	fresh.check()
	_, err = namespace.Sync(t.Context(), f.ns, forgetful.store, fresh.store)
	require.NoError(t, err)
}
