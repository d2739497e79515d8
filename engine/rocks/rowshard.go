package rocks

import (
	"bytes"
	"encoding/binary"
	"sync"

	"github.com/stoadb/stoa/column"
)

const (
	// maxRow is the size of the largest key and value that are kept together: to
	// read a larger row takes long for other reasons.
	maxRow = 2 << 10

	rowHeader = 16 // epoch u64, key u16, value u16, column u8, 3 unused
	slotBytes = 8
	bucket    = 8 // slots that a row may be in
)

// rowShard is a part of a rowCache. Rows stand one after the other in a ring, the
// newest over the oldest. Positions only grow: the row at one is still there if
// the ring has not come around to it since, so that nothing is to be done for
// those that are written over. Slots, eight for a row to choose from, say where
// rows are:
//
//	tag u16 | position/8 u48
type rowShard struct {
	mu    sync.Mutex
	slots []byte // of 8 bytes; 0: none
	ring  []byte
	head  uint64 // the position of what comes next
	_     [64]byte
}

// row names a row, and is what it is kept with.
type row struct {
	rowVersion
	col column.Column
	key []byte
}

// init gives the shard its memory, a sixteenth to the slots.
func (s *rowShard) init(memory []byte) {
	buckets := len(memory) / 16 / slotBytes / bucket
	s.slots, s.ring = memory[:buckets*bucket*slotBytes], memory[buckets*bucket*slotBytes:]
	s.head = 8 // 0 is no position
}

func (s *rowShard) find(dst []byte, r row) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slot, at, ok := s.look(r)
	if !ok {
		return dst, false
	}
	e := s.ring[at%uint64(len(s.ring)):]
	if binary.NativeEndian.Uint64(e) != r.epoch {
		return dst, false
	}
	start := rowHeader + int(binary.NativeEndian.Uint16(e[8:]))
	size := start + int(binary.NativeEndian.Uint16(e[10:]))
	dst = append(dst, e[start:size]...)
	if s.head-at > uint64(len(s.ring))/4*3 { // it would soon be gone
		to := s.reserve(size)
		copy(s.ring[to%uint64(len(s.ring)):], e[:size])
		setSlot(slot, r.hash, to)
	}
	return dst, true
}

// remove reports whether there was something to remove, and where it is.
func (s *rowShard) remove(r row) (at uint64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slot, at, ok := s.look(r)
	if ok {
		clear(slot)
	}
	return at, ok
}

// put keeps a row: in place of what is kept of it, in a slot that is free, or in
// that of the oldest one. The caller holds mu.
func (s *rowShard) put(r row, value []byte) {
	size := rowHeader + len(r.key) + len(value)
	if size > len(s.ring)/8 {
		return
	}
	slot, _, ok := s.look(r)
	if !ok {
		slot = s.oldest(r.hash)
	}
	s.fill(slot, s.reserve(size), r, value)
}

// putBack keeps a row that remove has taken out at a position, there if it fits: one
// that is written again and again takes no room from others. The caller holds mu.
func (s *rowShard) putBack(r row, value []byte, at uint64) {
	if s.there(at) {
		e := s.ring[at%uint64(len(s.ring)):]
		was := int(binary.NativeEndian.Uint16(e[8:])) + int(binary.NativeEndian.Uint16(e[10:]))
		if len(r.key)+len(value) <= was {
			s.fill(s.oldest(r.hash), at, r, value)
			return
		}
	}
	s.put(r, value)
}

// fill writes a row to a position, and the position to a slot.
func (s *rowShard) fill(slot []byte, at uint64, r row, value []byte) {
	e := s.ring[at%uint64(len(s.ring)):]
	binary.NativeEndian.PutUint64(e, r.epoch)
	binary.NativeEndian.PutUint16(e[8:], uint16(len(r.key)))
	binary.NativeEndian.PutUint16(e[10:], uint16(len(value)))
	e[12] = byte(r.col)
	copy(e[rowHeader:], r.key)
	copy(e[rowHeader+len(r.key):], value)
	setSlot(slot, r.hash, at)
}

// reserve returns the position of size bytes in one piece.
func (s *rowShard) reserve(size int) uint64 {
	n, ring := uint64(size+7)&^7, uint64(len(s.ring))
	if rest := ring - s.head%ring; rest < n {
		s.head += rest
	}
	at := s.head
	s.head += n
	return at
}

// look returns the slot and the position of a row.
func (s *rowShard) look(r row) (slot []byte, at uint64, ok bool) {
	b := s.bucket(r.hash)
	for ; len(b) > 0; b = b[slotBytes:] {
		v := binary.NativeEndian.Uint64(b)
		if at = v << 16 >> 13; v>>48 != r.hash>>48 || !s.there(at) {
			continue
		}
		e := s.ring[at%uint64(len(s.ring)):]
		n := int(binary.NativeEndian.Uint16(e[8:]))
		if e[12] == byte(r.col) && bytes.Equal(e[rowHeader:rowHeader+n], r.key) {
			return b[:slotBytes], at, true
		}
	}
	return nil, 0, false
}

func (s *rowShard) oldest(hash uint64) []byte {
	var slot []byte
	oldest := ^uint64(0)
	for b := s.bucket(hash); len(b) > 0; b = b[slotBytes:] {
		at := binary.NativeEndian.Uint64(b) << 16 >> 13
		if !s.there(at) {
			return b[:slotBytes]
		}
		if at < oldest {
			slot, oldest = b[:slotBytes], at
		}
	}
	return slot
}

// there reports whether what was at a position has not been written over.
func (s *rowShard) there(at uint64) bool { return at != 0 && s.head-at <= uint64(len(s.ring)) }

func (s *rowShard) bucket(hash uint64) []byte {
	const size = bucket * slotBytes
	i := int(hash&0xFFFFFFFF) % (len(s.slots) / size) * size
	return s.slots[i : i+size]
}

func setSlot(slot []byte, hash, at uint64) {
	binary.NativeEndian.PutUint64(slot, hash>>48<<48|at>>3)
}
