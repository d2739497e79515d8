// Package rows keeps single rows in memory that other processes may read: the daemon's
// row cache, which a client maps and reads without a call. README.md of engine/rocks has
// the layout and the argument.
//
// Start at [Table], which keeps rows, and at [Reader], which reads those of a table of
// another process. Both find rows by the same code.
package rows

import (
	"encoding/binary"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/zeebo/xxh3"

	"github.com/stoadb/stoa/column"
)

// MaxRow is the size of the largest key and value that are kept together: to read a larger
// row takes long for other reasons.
const MaxRow = 2 << 10

// The layout; README.md of engine/rocks has it in words.
const (
	magic = "STOAROW1"

	// The header: what does not change, and the counters, on lines of their own.
	atSize    = 8
	atSeed    = 16
	atShards  = 24
	atBuckets = 32 // of a shard
	atRing    = 40 // bytes of a shard's
	atWrites  = 128
	atEpochs  = 192 // by column
	atHeads   = 1024
	headSize  = 64 // one line for each shard
	header    = 8 << 10

	shards     = 64
	bucketSize = 64 // a sequence, and entries
	entries    = bucketSize/8 - 1

	// An entry: tag u16 | position/8 u48.
	tagShift = 48

	// A row: epoch u64, key u16, value u16, column u8, 3 unused; key; value.
	rowHeader = 16
)

// layout is where everything is in the memory of a table. Its methods read it while the
// table is written to.
type layout struct {
	base    unsafe.Pointer
	seed    uint64
	buckets uint64 // of a shard
	ring    uint64 // bytes of a shard's
	turn    uint64 // how far apart positions are of one place: the ring, rounded up to a power of two
	rings   uintptr
}

// newLayout returns the layout of a table with so many buckets and bytes of ring in each shard.
func newLayout(base unsafe.Pointer, seed, buckets, ring uint64) layout {
	return layout{base, seed, buckets, ring, 1 << bits.Len64(ring-1), uintptr(header + shards*buckets*bucketSize)}
}

// size is how many bytes the table has.
func (l *layout) size() uint64 { return uint64(l.rings) + shards*l.ring }

// word is 8 bytes of the table. All that others may write meanwhile is read so, and in the
// order of the program.
func (l *layout) word(at uintptr) *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Add(l.base, at)) }

func (l *layout) writes() *atomic.Uint64 { return l.word(atWrites) }

func (l *layout) epoch(col column.Column) *atomic.Uint64 {
	return l.word(atEpochs + 8*uintptr(col))
}

// head is the position of what comes next in a shard's ring.
func (l *layout) head(shard uint64) *atomic.Uint64 {
	return l.word(atHeads + headSize*uintptr(shard))
}

// hash is of a row, and says where it may be.
func (l *layout) hash(col column.Column, key []byte) uint64 {
	const odd = 0x9E3779B97F4A7C15
	return xxh3.HashSeed(key, l.seed) ^ uint64(col)*odd
}

func shardOf(hash uint64) uint64 { return hash >> 32 % shards }

// bucket is where the bucket of a hash is: its sequence, and the entries after that.
func (l *layout) bucket(hash uint64) uintptr {
	return uintptr(header + (shardOf(hash)*l.buckets+(hash&0xFFFFFFFF)*l.buckets>>32)*bucketSize)
}

// at is where the row at a position is.
func (l *layout) at(shard, position uint64) uintptr {
	return l.rings + uintptr(shard*l.ring+position&(l.turn-1))
}

// positionOf is the position that an entry says; 0: it is free.
func (l *layout) positionOf(entry uint64) uint64 {
	return entry << (64 - tagShift) >> (64 - tagShift - 3)
}

// there reports whether what was at a position has not been written over.
func (l *layout) there(head, position uint64) bool { return head-position <= l.turn }

// soonGone reports whether the ring will come around to a position within a quarter of it.
func (l *layout) soonGone(head, position uint64) bool { return head-position > l.turn-l.ring/4 }

// tries is how often a row is looked for that is changed meanwhile.
const tries = 4

// find appends the value of a row to dst, if it is kept. What it returns is what the row was
// at one moment while it ran. old is set if the row will soon make room for others.
func (l *layout) find(dst []byte, hash uint64, col column.Column, key []byte) (_ []byte, old, ok bool) {
	for range tries {
		r := l.begin(hash)
		out, ok := l.copyRow(dst, &r, hash, col, key)
		if !ok {
			return dst, false, false
		}
		switch l.end(&r, col) {
		case gone:
			return dst, false, false
		case stood:
			return out, l.soonGone(r.head, r.position), true
		}
	}
	return dst, false, false
}

// reading is one look at a row.
type reading struct {
	bucket                uintptr
	shard, sequence       uint64 // of the bucket, before anything else of it was read
	position, epoch, head uint64
}

// outcome says what has become of a row while it was read.
type outcome int

const (
	stood   outcome = iota // nothing: what was read is the row
	changed                // it was written, or another of its bucket
	gone                   // it was written over, or its column was emptied
)

func (l *layout) begin(hash uint64) reading {
	bucket := l.bucket(hash)
	return reading{bucket: bucket, shard: shardOf(hash), sequence: l.word(bucket).Load()}
}

// end says what copyRow has read. It comes after it.
func (l *layout) end(r *reading, col column.Column) outcome {
	r.head = l.head(r.shard).Load()
	switch {
	case l.word(r.bucket).Load() != r.sequence:
		return changed
	case !l.there(r.head, r.position), l.epoch(col).Load() != r.epoch:
		return gone
	}
	return stood
}

// copyRow appends what stands for the value of a row to dst. Nothing of what it reads can be
// relied on before end has said so.
func (l *layout) copyRow(dst []byte, r *reading, hash uint64, col column.Column, key []byte) (_ []byte, ok bool) {
	for i := uintptr(1); i <= entries; i++ {
		entry := l.word(r.bucket + 8*i).Load()
		if entry>>tagShift != hash>>tagShift {
			continue
		}
		position := l.positionOf(entry)
		if position == 0 || !l.there(l.head(r.shard).Load(), position) {
			continue
		}
		at := l.at(r.shard, position)
		room := l.ring - position&(l.turn-1)
		if room < rowHeader || room > l.ring {
			continue
		}
		about := l.word(at + 8).Load()
		keySize, size := int(about&0xFFFF), int(about>>16&0xFFFF)
		if about>>32&0xFF != uint64(col) || keySize != len(key) || uint64(rowHeader+padded(keySize)+padded(size)) > room {
			continue
		}
		if !l.same(at+rowHeader, key) {
			continue
		}
		r.position, r.epoch = position, l.word(at).Load()
		return l.appendWords(dst, at+rowHeader+uintptr(padded(keySize)), size), true
	}
	return dst, false
}

// padded is how many bytes of whole words n bytes take.
func padded(n int) int { return (n + 7) &^ 7 }

// same reports whether key stands at a place, with zeros behind it to the end of a word.
func (l *layout) same(at uintptr, key []byte) bool {
	for ; len(key) >= 8; key, at = key[8:], at+8 {
		if l.word(at).Load() != binary.NativeEndian.Uint64(key) {
			return false
		}
	}
	return len(key) == 0 || l.word(at).Load() == lastWord(key)
}

// lastWord is less than a word, with zeros behind it.
func lastWord(b []byte) uint64 {
	var w [8]byte
	copy(w[:], b)
	return binary.NativeEndian.Uint64(w[:])
}

// appendWords appends so many bytes from a place to dst, and touches nothing behind them.
func (l *layout) appendWords(dst []byte, at uintptr, size int) []byte {
	start := len(dst)
	if cap(dst)-start < size {
		dst = append(make([]byte, 0, start+size), dst...)
	}
	dst = dst[:start+size]
	out := dst[start:]
	for ; len(out) >= 8; out, at = out[8:], at+8 {
		binary.NativeEndian.PutUint64(out, l.word(at).Load())
	}
	if len(out) > 0 {
		var w [8]byte
		binary.NativeEndian.PutUint64(w[:], l.word(at).Load())
		copy(out, w[:])
	}
	return dst
}
