package dag_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/dag/hlc"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
)

// grove grows deltas of ctx1, with the roots that their ancestors make.
type grove struct {
	now  time.Time // of the next delta; it goes on by a second
	all  []*dag.Delta
	byID map[codec.DeltaID]*dag.Delta
}

func newGrove() *grove {
	return &grove{now: begin.Add(-time.Hour), byID: map[codec.DeltaID]*dag.Delta{}}
}

// above returns the deltas of ids and all their ancestors.
func (g *grove) above(ids ...codec.DeltaID) map[codec.DeltaID]bool {
	seen := map[codec.DeltaID]bool{}
	ids = slices.Clone(ids)
	for len(ids) > 0 {
		id := ids[len(ids)-1]
		ids = ids[:len(ids)-1]
		if !seen[id] {
			seen[id] = true
			ids = append(ids, g.byID[id].Parents...)
		}
	}
	return seen
}

// fold returns the state that a set of deltas makes.
func (g *grove) fold(set map[codec.DeltaID]bool) map[string]string {
	ids := slices.SortedFunc(maps.Keys(set), func(a, b codec.DeltaID) int {
		if c := g.byID[a].HLC.Compare(g.byID[b].HLC); c != 0 {
			return c
		}
		return bytes.Compare(a[:], b[:])
	})
	state := map[string]string{}
	for _, id := range ids {
		for _, a := range g.byID[id].Actions {
			if delete(state, string(a.Key)); a.Kind == codec.ActionPut {
				state[string(a.Key)] = string(a.Value)
			}
		}
	}
	return state
}

// rootFor returns the root of a state.
func rootFor(t require.TestingT, state map[string]string) codec.Hash {
	db := mem.New()
	defer db.Close()
	trie := merkle.Open(merkle.NewCache(-1), db, ctx1, merkle.EmptyRoot())
	var changes []merkle.Change
	for k, v := range state {
		changes = append(changes, merkle.Change{Key: merkle.HashKey([]byte(k)), Value: merkle.HashValue([]byte(v))})
	}
	merkle.SortChanges(changes)
	require.NoError(t, trie.Update(changes))
	return trie.Root()
}

// grow returns a delta of a node on top of parents.
func (g *grove) grow(t require.TestingT, node uint64, parents []*dag.Delta, actions ...codec.Action) *dag.Delta {
	d := &dag.Delta{Context: ctx1, Actions: actions, HLC: codec.HybridTimestamp{Time: uint64(hlc.ToNTP64(g.now)) &^ 0xFFFF, ID: codec.NodeID{Lo: node}}}
	g.now = g.now.Add(time.Second)
	for _, p := range parents {
		d.Parents = append(d.Parents, p.ID())
	}
	slices.SortFunc(d.Parents, func(a, b codec.DeltaID) int { return bytes.Compare(a[:], b[:]) })
	set := g.above(d.Parents...)
	g.byID[codec.DeltaID{}] = d // it is newer than its ancestors
	set[codec.DeltaID{}] = true
	d.ExpectedRoot = rootFor(t, g.fold(set))
	delete(g.byID, codec.DeltaID{})
	g.all, g.byID[d.ID()] = append(g.all, d), d
	return d
}

// draw grows n deltas on top of what is there.
func (g *grove) draw(t *rapid.T, n int) {
	for i := range n {
		var parents []*dag.Delta
		if len(g.all) > 0 {
			reach := rapid.SampledFrom([]int{1, 1, 3, len(g.all)}).Draw(t, "reach")
			for range rapid.IntRange(1, 3).Draw(t, "parents") {
				p := g.all[len(g.all)-1-rapid.IntRange(0, min(reach, len(g.all))-1).Draw(t, "parent")]
				if !slices.Contains(parents, p) {
					parents = append(parents, p)
				}
			}
			if rapid.IntRange(0, 19).Draw(t, "first") == 0 {
				parents = nil
			}
		}
		var actions []codec.Action
		for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"", "a", "b", "c", "d", "e"}), 0, 4, rapid.ID[string]).Draw(t, "keys") {
			if rapid.IntRange(0, 3).Draw(t, "delete") == 0 {
				actions = append(actions, codec.Delete([]byte(key)))
			} else {
				actions = append(actions, put(key, fmt.Sprint(len(g.all), i)))
			}
		}
		g.grow(t, rapid.Uint64Range(1, 3).Draw(t, "node"), parents, actions...)
	}
}

// give offers deltas to a store, all of which it is to apply.
func give(t require.TestingT, s *dag.Store, deltas ...*dag.Delta) {
	for _, d := range deltas {
		a, err := s.Add(bg, d, dag.AddOptions{})
		require.NoError(t, err)
		require.Contains(t, []dag.AnswerKind{dag.Applied, dag.Duplicate}, a.Kind, "%s: %+v", d.ID(), a)
	}
}

// stateRows returns the state of ctx1 in an engine.
func stateRows(t require.TestingT, db engine.Reader) map[string]string {
	state := map[string]string{}
	it, err := db.Iterate(column.State, engine.Prefixed(ctx1[:]))
	require.NoError(t, err)
	defer it.Close()
	for it.Next() {
		state[string(it.Key()[32:])] = string(it.Value())
	}
	require.NoError(t, it.Err())
	return state
}

// whole checks that what is stored of ctx1 is the state of the deltas of heads.
func (g *grove) whole(t require.TestingT, s *dag.Store, db engine.Reader, heads ...codec.DeltaID) {
	slices.SortFunc(heads, func(a, b codec.DeltaID) int { return bytes.Compare(a[:], b[:]) })
	info, err := s.Context(ctx1)
	require.NoError(t, err)
	require.Equal(t, heads, info.Heads)
	state := g.fold(g.above(heads...))
	require.Equal(t, state, stateRows(t, db))
	require.Equal(t, rootFor(t, state), info.Root)
	s.EndTail(ctx1)
	require.NoError(t, merkle.Check(db, ctx1, info.Root, nil))
}

// heads returns the deltas without children, in the order of their ids.
func (g *grove) heads() []codec.DeltaID {
	heads := map[codec.DeltaID]bool{}
	for _, d := range g.all {
		heads[d.ID()] = true
	}
	for _, d := range g.all {
		for _, p := range d.Parents {
			delete(heads, p)
		}
	}
	return slices.SortedFunc(maps.Keys(heads), func(a, b codec.DeltaID) int { return bytes.Compare(a[:], b[:]) })
}
