package namespace_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/group"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/namespace"
)

// lost reports whether the node has forgotten the payload of an op that it has.
func (w *witness) lost(id codec.OpID) bool {
	if !w.forgets {
		return false
	}
	v, err := engine.Get(w.db, keys.NamespaceGovOp{Namespace: w.ns, Delta: id})
	require.NoError(w.t, err)
	return codec.StoredOpKind(v.SkeletonBytes[0]) == codec.StoredForgotten
}

// heldKeys returns the keys that a node which forgets has: some of those that it could
// have had.
func (w *witness) heldKeys(could namespace.Keyring) namespace.Keyring {
	held := namespace.Keyring{}
	for e, err := range engine.Scan(w.db, keys.Prefix[keys.GroupKeyEntry]{}) {
		require.NoError(w.t, err)
		k := namespace.GroupKey{GroupID: e.Key.Group, KeyID: e.Key.Key}
		require.Equal(w.t, could[k], e.Value.Key)
		held[k] = e.Value.Key
	}
	return held
}

// read returns an op as the node reads it with the keys of ring.
func (w *witness) read(op *namespace.Op, ring namespace.Keyring) reading {
	if w.lost(op.ID) {
		require.Nil(w.t, op.Root, "what is clear is never forgotten")
		require.Nil(w.t, op.Clear, "what is clear is never forgotten")
		return reading{op: namespace.ClearOf(op)}
	}
	r := w.forge.read(op, ring)
	if w.forgets && op.Root == nil {
		require.True(w.t, r.op.Body != nil || r.op.Fault != 0, "what can't be read is forgotten")
	}
	return r
}

// Nodes that forget what they can't open when it comes have the rows of the definition,
// over what they have kept, in any order and with restarts; the same heads as all; and
// hand on nothing that they have not.
func TestNodesThatForgetFollowTheDefinition(t *testing.T) {
	base := opening(t)
	lost, kept, histories := 0, 0, 0
	enginetest.Check(t, 120, func(t *rapid.T) {
		histories++
		f := base.copy(t)
		f.play(t, 12)
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		d := &delivery{newWitness(t, f, cast[random.IntN(6)], newMem()), random, map[codec.OpID]group.Verdict{}}
		defer d.close()
		d.forgets = true
		d.restart()
		d.run(f)
		require.Equal(t, d.check().Verdicts, d.told)
		require.ElementsMatch(t, f.heads(), d.heads())
		sent := map[codec.OpID]bool{}
		for op, err := range d.store.OpsSince(t.Context(), f.ns, nil, 0) {
			require.NoError(t, err)
			require.Equal(t, bytesOf(t, f.byID[op.ID]), op.Wire)
			sent[op.ID] = true
		}
		for id := range d.has {
			require.NotEqual(t, d.lost(id), sent[id])
			info, err := d.store.Op(f.ns, id)
			require.NoError(t, err)
			require.Equal(t, sent[id], info.Wire != nil)
			if sent[id] {
				kept++
			} else {
				lost++
			}
		}
	})
	if histories >= 10 {
		require.Positive(t, lost, "nothing is ever forgotten: the property says nothing")
		require.Positive(t, kept)
	}
}
