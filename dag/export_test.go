package dag

import "github.com/stoadb/stoa/codec"

// Of most cuts that tests draw, three keys differ, and of some fewer.
func init() { keptFrom = 3 }

// LimitCuts sets how many bytes a kept cut may take, and returns what it was.
func LimitCuts(n int) (was int) {
	was, keptMemory = keptMemory, n
	return was
}

// CutsUsed returns, of the cuts that a context keeps, the numbers of the deltas that used them
// last.
func (s *Store) CutsUsed(id codec.ContextID) (used []uint64) {
	q, err := s.writeQueue(id)
	if err != nil {
		return nil
	}
	defer s.release(q)
	if q.state != nil {
		for _, k := range q.state.cuts {
			used = append(used, k.used)
		}
	}
	return used
}
