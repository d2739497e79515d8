package dag

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag/merkle"
	"github.com/stoadb/stoa/engine"
)

// errNotLean says that a replay has made something that a lean engine does not keep
// and has no other place for.
var errNotLean = errors.New("dag: not to be replayed in a lean engine")

// lean is the engine of a replay that finds nothing wrong. Most of what a replay
// writes are rows that are stored already: a lean engine does not write them again.
// Deltas it reads from the past, as far as the replay has come; the
// state it drops, for the trie has it. What is read from the past may be false until
// the end: if anything differs then, nothing has been shown.
type lean struct {
	engine.Engine // keeps the rest: the order, numbers, newest versions, the trie
	past          *history

	mu    sync.Mutex
	batch engine.Batch // what of a batch is kept
}

// Apply writes what a lean engine keeps of a batch. It returns errNotLean for a change that no replay of what is
// right makes.
func (l *lean) Apply(b *engine.Batch) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.batch.Reset()
	l.batch.Durability = engine.WAL
	for op, err := range b.Ops {
		if err != nil {
			return err
		}
		kept, err := takes(&op)
		if err != nil {
			return err
		}
		switch {
		case !kept:
		case op.Kind == engine.KindDelete:
			l.batch.Delete(op.Column, op.Key)
		default:
			l.batch.Put(op.Column, op.Key, op.Value)
		}
	}
	return l.Engine.Apply(&l.batch)
}

// takes reports whether a change is to be written.
func takes(op *engine.Op) (kept bool, err error) {
	switch {
	case op.Kind != engine.KindPut && op.Kind != engine.KindDelete:
		return false, fmt.Errorf("%w: a range is removed", errNotLean)
	case op.Column == column.State:
		return false, nil
	case op.Column == column.Delta && op.Kind == engine.KindPut:
		return false, nil
	case op.Column == column.Delta, inScope(op.Key, pendingScope), inScope(op.Key, refusedScope):
		return false, fmt.Errorf("%w: a delta waits, or is refused", errNotLean)
	}
	return true, nil
}

// inScope reports whether a key of Generic lies in a scope.
func inScope(key []byte, scope [16]byte) bool {
	return len(key) >= len(scope) && [16]byte(key) == scope
}

// Get appends what the replay has under a key. A delta comes from the past: only one
// that is applied is asked for.
func (l *lean) Get(dst []byte, col column.Column, key []byte) ([]byte, error) {
	if col == column.Delta {
		return l.past.r.Get(dst, col, key)
	}
	return l.Engine.Get(dst, col, key)
}

// same compares what a lean replay does not write with what is stored. It returns
// errNotLean if anything differs. leaves are those of the trie, which has the root
// that the replay ends with.
func (v *verifier) same(leaves *rowSum) error {
	id := &v.past.context
	state := leaves.empty()
	it, err := v.past.r.Iterate(column.State, engine.Prefixed(id[:]))
	if err != nil {
		return err
	}
	defer it.Close()
	for it.Next() {
		state.leaf(&merkle.Leaf{Key: merkle.HashKey(it.Key()[len(id):]), Value: merkle.HashValue(it.Value())})
		if err := v.ctx.Err(); err != nil {
			return err
		}
	}
	if err := it.Err(); err != nil {
		return err
	}
	if state != *leaves {
		return fmt.Errorf("%w: the state differs", errNotLean)
	}
	v.report.Rows += state.rows
	return nil
}

// rowSum is a sum over rows, in any order: two that began alike and are equal are of
// the same rows. It is 128 bits wide, of hashes whose seeds nobody knows, so that
// rows can't be made to fit.
type rowSum struct {
	seeds [2]maphash.Seed
	sums  [2]uint64
	rows  uint64
}

func newRowSum() rowSum {
	return rowSum{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
}

// empty returns the sum of no rows, to be compared with s.
func (s *rowSum) empty() rowSum { return rowSum{seeds: s.seeds} }

// add adds a row.
func (s *rowSum) add(key, value []byte) {
	var length [4]byte
	binary.LittleEndian.PutUint32(length[:], uint32(len(key)))
	for i := range s.seeds {
		var h maphash.Hash
		h.SetSeed(s.seeds[i])
		_, _ = h.Write(length[:]) // it takes everything
		_, _ = h.Write(key)
		_, _ = h.Write(value)
		s.sums[i] += h.Sum64()
	}
	s.rows++
}

// leaf adds a leaf of a trie.
func (s *rowSum) leaf(l *merkle.Leaf) { s.add(l.Key[:], l.Value[:]) }
