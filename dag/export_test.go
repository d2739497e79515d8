package dag

import (
	"context"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
)

// Of most cuts that tests draw, three keys differ, and of some fewer; and they have not thousands of deltas.
func init() { keptFrom, keptFor = 3, 100 }

// And what they make anew of older builds is a few rows.
func init() { convertBytes, convertKeys = 100, 3 }

// And values are of a few bytes, and what is read together is of a few keys.
func init() { smallValue, manyKeys = 2, 2 }

// LimitPast has a store keep no more than some bytes of what contexts were.
func (s *Store) LimitPast(bytes int) { s.past = merkle.NewCache(bytes) }

// LimitTails has the tails of contexts take so many bytes at most, and those of a store together, and returns
// what undoes it. No store may be open.
func LimitTails(one int, all int64) (undo func()) {
	before, beforeAll := tailBytes, tailsBytes
	tailBytes, tailsBytes = one, all
	return func() { tailBytes, tailsBytes = before, beforeAll }
}

// EndTail has the rows of a context's trie be of what is applied, if that can be written.
func (s *Store) EndTail(id codec.ContextID) { s.endTail(context.Background(), id) }

// LimitLater has snapshots keep so many writes in mind, and returns what undoes it.
func LimitLater(n int) (undo func()) {
	before := maxLater
	maxLater = n
	return func() { maxLater = before }
}

// WithoutTails returns what reads a store as it is when the tails of all contexts have been ended.
func WithoutTails(r engine.Reader) (engine.Reader, error) {
	b := new(engine.Batch)
	err := each(r, engine.Prefixed(tailScope[:]), func(key, _ []byte) error {
		return endStored(r, merkle.NewCache(-1), codec.ContextID(key[len(tailScope):]), b)
	})
	o := new(engine.Overlay)
	o.Reset(r, b)
	return o, err
}

// TailBytes returns what the pages take that are in memory alone.
func (s *Store) TailBytes() int64 { return s.tails.Load() }

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
