package dag

import (
	"math/bits"
)

// parentRows tells the seqs of the parents of an applied delta. They are less
// than its own.
type parentRows interface {
	// parents appends the parents' seqs to dst.
	parents(dst []uint64, seq uint64) ([]uint64, error)
}

// lineage walks from deltas to their ancestors, newest first by seq, in two
// colours: what is reached from the wanted ones and not from those had is a set
// difference of two histories. It ends when nothing else can be in it, so its
// cost is that of the difference and of what was applied meanwhile, not of the
// context; its memory two bits for each delta in between.
//
// Colours are added first, then next is called until it is done.
type lineage struct {
	rows parentRows
	at   uint64 // everything from here on has been looked at; 0: nothing yet
	open int    // wanted and not had, and not looked at

	// lost returns nil for what cannot be read of a delta, which has no parents then;
	// nil: that ends the walk. It may add colours to what comes before seq.
	lost func(seq uint64, had bool, err error) error

	want, have seqSet
	scratch    []uint64
}

func newLineage(rows parentRows) *lineage { return &lineage{rows: rows, at: ^uint64(0)} }

// wanted adds a delta to be returned with its ancestors.
func (l *lineage) wanted(seq uint64) {
	if l.want.add(seq) && !l.have.has(seq) {
		l.open++
	}
}

// had adds a delta that is not to be returned, nor its ancestors.
func (l *lineage) had(seq uint64) {
	if l.have.add(seq) && l.want.has(seq) {
		l.open--
	}
}

// next returns the greatest seq left that was reached from wanted deltas only, 0
// when there are none.
func (l *lineage) next() (uint64, error) {
	for l.open > 0 {
		seq := max(l.want.before(l.at), l.have.before(l.at))
		l.at = seq
		had := l.have.has(seq)
		if !had {
			l.open--
		}
		var err error
		if l.scratch, err = l.rows.parents(l.scratch[:0], seq); err != nil && l.lost != nil {
			l.scratch, err = l.scratch[:0], l.lost(seq, had, err)
		}
		if err != nil {
			return 0, err
		}
		for _, p := range l.scratch {
			if had {
				l.had(p)
			} else {
				l.wanted(p)
			}
		}
		if !had {
			return seq, nil
		}
	}
	return 0, nil
}

// alone reports whether the delta that next returns is the only one left: all
// others that are wanted descend from it or have been looked at.
func (l *lineage) alone() bool { return l.open == 1 }

// seqSet is a set of seqs, one bit each, in chunks that are made when something
// falls into them. The zero seqSet is empty.
type seqSet struct {
	chunks []*seqChunk // by seq / chunkSeqs
}

type seqChunk [chunkSeqs / 64]uint64

const chunkSeqs = 4096

func (s *seqSet) has(seq uint64) bool {
	i := seq / chunkSeqs
	return i < uint64(len(s.chunks)) && s.chunks[i] != nil && s.chunks[i][seq%chunkSeqs/64]>>(seq%64)&1 == 1
}

// add reports whether seq is new.
func (s *seqSet) add(seq uint64) bool {
	i := seq / chunkSeqs
	if need := int(i) + 1 - len(s.chunks); need > 0 {
		s.chunks = append(s.chunks, make([]*seqChunk, need)...)
	}
	if s.chunks[i] == nil {
		s.chunks[i] = new(seqChunk)
	}
	word, bit := &s.chunks[i][seq%chunkSeqs/64], uint64(1)<<(seq%64)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	return true
}

// before returns the greatest member that is less than seq, 0 if there is none.
// 0 is no seq.
func (s *seqSet) before(seq uint64) uint64 {
	if seq == 0 || len(s.chunks) == 0 {
		return 0
	}
	at := min(seq-1, uint64(len(s.chunks))*chunkSeqs-1)
	for i := int(at / chunkSeqs); i >= 0; i-- {
		c := s.chunks[i]
		if c == nil {
			continue
		}
		word := chunkSeqs/64 - 1
		mask := ^uint64(0)
		if i == int(at/chunkSeqs) {
			word = int(at % chunkSeqs / 64)
			mask >>= 63 - at%64
		}
		for ; word >= 0; word, mask = word-1, ^uint64(0) {
			if w := c[word] & mask; w != 0 {
				return uint64(i)*chunkSeqs + uint64(word)*64 + uint64(63-bits.LeadingZeros64(w))
			}
		}
	}
	return 0
}

// after returns the least member that is greater than seq, 0 if there is none.
func (s *seqSet) after(seq uint64) uint64 {
	at := seq + 1
	for i := at / chunkSeqs; i < uint64(len(s.chunks)); i++ {
		c := s.chunks[i]
		if c == nil {
			continue
		}
		word, mask := uint64(0), ^uint64(0)
		if i == at/chunkSeqs {
			word = at % chunkSeqs / 64
			mask <<= at % 64
		}
		for ; word < uint64(len(c)); word, mask = word+1, ^uint64(0) {
			if w := c[word] & mask; w != 0 {
				return i*chunkSeqs + word*64 + uint64(bits.TrailingZeros64(w))
			}
		}
	}
	return 0
}
