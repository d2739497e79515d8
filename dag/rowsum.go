package dag

import (
	"encoding/binary"
	"github.com/stoadb/stoa/dag/merkle"
	"hash/maphash"
)

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
