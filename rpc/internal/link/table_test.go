package link

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestTheTableIsAMapOfAsManyCallsAsThereMayBe compares it with a map.
func TestTheTableIsAMapOfAsManyCallsAsThereMayBe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := table{limit: rapid.IntRange(1, 4).Draw(t, "limit")}
		model := make(map[uint64]*call) // nil: a ghost
		var ids []uint64                // all that ever were
		some := func() uint64 {
			if len(ids) == 0 {
				return 0
			}
			return rapid.SampledFrom(ids).Draw(t, "id")
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				k := new(call)
				id, ok := m.put(k)
				require.Equal(t, len(model) < m.limit, ok)
				if ok {
					require.NotZero(t, id)
					require.NotContains(t, ids, id)
					ids, model[id] = append(ids, id), k
				}
			},
			"drop": func(*rapid.T) {
				id := some()
				m.drop(id)
				delete(model, id)
			},
			"haunt": func(*rapid.T) {
				if id := some(); model[id] != nil {
					m.haunt(id)
					model[id] = nil
				}
			},
			"": func(t *rapid.T) {
				require.Equal(t, len(model), m.under())
				ghosts := 0
				for _, k := range model {
					if k == nil {
						ghosts++
					}
				}
				require.Equal(t, ghosts, m.ghosts)
				for _, id := range ids {
					k, there := model[id]
					require.Same(t, k, m.open(id))
					require.Equal(t, there, m.at(id) != nil)
				}
				require.Nil(t, m.open(0))
				require.Nil(t, m.open(1<<40|uint64(len(m.slots))))
			},
		})
	})
}

// TestWhoWaitsForASlotIsCalledInOrder frees slots while some wait, one of whom
// gives up when it was called already.
func TestWhoWaitsForASlotIsCalledInOrder(t *testing.T) {
	m := table{limit: 1}
	id, ok := m.put(new(call))
	require.True(t, ok)
	first, second, third := m.wait(false), m.wait(false), m.wait(false)
	m.giveUp(second)
	m.drop(id)
	require.Equal(t, []bool{true, false}, []bool{called(first), called(third)})
	early := m.wait(true) // the first came too late, and is the first again
	require.Equal(t, 0, slices.Index(m.waiting, early))
	m.giveUp(first) // it was called, so that another is
	require.True(t, called(early))
	require.False(t, called(third))
	m.next()
	require.True(t, called(third))
	m.next()
}

func called(w chan struct{}) bool {
	select {
	case <-w:
		return true
	default:
		return false
	}
}
