package dag

import "math/bits"

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
