package dag

import (
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag/merkle"
)

// Of most cuts that tests draw, three keys differ, and of some fewer; and they have not thousands of deltas.
func init() { keptFrom, keptFor = 3, 100 }

// LimitPast has a store keep no more than some bytes of what contexts were.
func (s *Store) LimitPast(bytes int) { s.past = merkle.NewCache(bytes) }

// CutsWalked returns of how many deltas the causal cut was found by going through what is beside them,
// since the context was loaded.
func (s *Store) CutsWalked(id codec.ContextID) int {
	q, err := s.writeQueue(id)
	if err != nil {
		return -1
	}
	defer s.release(q)
	if q.state == nil {
		return -1
	}
	return q.state.tips.walked
}
