package rows

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/stoadb/stoa/column"
)

// Table keeps rows: a ring in each of its shards, the newest over the oldest, and buckets of
// entries that say where rows are. Positions only grow, so that nothing is to be done for
// rows that are written over. It does not know what is stored: whoever uses it takes rows out
// before they change, and puts in none that may have changed since. Its memory is not the
// collector's.
//
// All methods are safe for concurrent use but Close, and [Table.Find] waits for nobody.
type Table struct {
	layout
	memory []byte
	file   int // of a table that is shared; -1

	shards [shards]struct {
		mu sync.Mutex // of whoever changes the shard
		_  [56]byte
	}
	put atomic.Uint64 // rows, ever
}

// Stats say how a table does.
type Stats struct {
	Bytes uint64 // that it takes when it is full
	Kept  uint64 // rows that were put there, ever
}

// New returns a table of about that many bytes, which are taken from the system as they fill.
// Only this process has it.
func New(size int64) (*Table, error) {
	buckets, ring := shape(size)
	t := &Table{file: -1}
	t.layout = newLayout(nil, 0, buckets, ring)
	memory, err := unix.Mmap(-1, 0, int(t.size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("rows: %d bytes of memory: %w", t.size(), err)
	}
	t.begin(memory)
	return t, nil
}

// NewShared returns a table of about that many bytes that other processes may read; see
// [Table.File] and [SharedMemory].
func NewShared(size int64) (*Table, error) {
	buckets, ring := shape(size)
	t := &Table{}
	t.layout = newLayout(nil, 0, buckets, ring)
	file, memory, err := SharedMemory("stoa-rows", int64(t.size()))
	if err != nil {
		return nil, err
	}
	t.file = file
	t.begin(memory)
	return t, nil
}

// newSeed draws the seed of a table's hashes, so that nobody can choose keys that share a bucket.
func newSeed() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it does not fail
	return binary.NativeEndian.Uint64(b[:])
}

// shape divides the bytes of a table among buckets, a sixteenth, and rings.
func shape(size int64) (buckets, ring uint64) {
	each := uint64(size) / shards
	buckets = max(1, each/16/bucketSize)
	return buckets, max(512, each-min(each, buckets*bucketSize)) &^ 7
}

// begin writes the header of a table that has its shape and its memory.
func (t *Table) begin(memory []byte) {
	t.memory, t.base = memory, unsafe.Pointer(unsafe.SliceData(memory))
	t.seed = newSeed()
	copy(memory, magic)
	for at, n := range map[int]uint64{atSize: t.size(), atSeed: t.seed, atShards: shards, atBuckets: t.buckets, atRing: t.ring} {
		binary.NativeEndian.PutUint64(memory[at:], n)
	}
	for i := range uint64(shards) {
		t.head(i).Store(8) // 0 is no position
	}
}

// Close gives the memory back. Nobody in this process uses the table then.
func (t *Table) Close() {
	if t == nil {
		return
	}
	_ = unix.Munmap(t.memory) // it fails only for what was not mapped
	if t.file >= 0 {
		_ = unix.Close(t.file)
	}
}

// File returns the file of a table that is shared, opened once more, for its taker to close.
func (t *Table) File() (*os.File, error) {
	fd, err := unix.FcntlInt(uintptr(t.file), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("rows: %w", err)
	}
	return os.NewFile(uintptr(fd), "rows"), nil
}

// Hash is of a row of the table.
func (t *Table) Hash(col column.Column, key []byte) uint64 { return t.hash(col, key) }

// Epoch counts what is removed from a column as a whole: a row that is kept is found while
// the epoch is that which it was kept with. Odd: it is being removed.
func (t *Table) Epoch(col column.Column) *atomic.Uint64 { return t.epoch(col) }

// Writes counts the beginnings and the ends of writes: rows that were found while it stood
// still at an even number are those of one state.
func (t *Table) Writes() *atomic.Uint64 { return t.writes() }

// Stats returns how large the table is, and how many rows were put there.
func (t *Table) Stats() Stats { return Stats{t.size(), t.put.Load()} }

// Find appends the value of a row to dst, if it is kept.
func (t *Table) Find(dst []byte, hash uint64, col column.Column, key []byte) ([]byte, bool) {
	dst, old, ok := t.find(dst, hash, col, key)
	if old {
		t.renew(hash, col, key)
	}
	return dst, ok
}

// Remove takes a row out. It reports whether there was one, and its position.
func (t *Table) Remove(hash uint64, col column.Column, key []byte) (position uint64, ok bool) {
	s := &t.shards[shardOf(hash)]
	s.mu.Lock()
	defer s.mu.Unlock()
	entry, position := t.look(hash, col, key)
	if position == 0 {
		return 0, false
	}
	entry.Store(0)
	t.word(t.bucket(hash)).Add(1) // whoever reads the row meanwhile starts anew
	return position, true
}

// Put keeps a row, with the epoch of its column, if check returns true: nothing of the
// shard is removed while it runs, nor before the row is there.
func (t *Table) Put(hash, epoch uint64, col column.Column, key, value []byte, check func() bool) {
	if len(key)+len(value) > MaxRow {
		return
	}
	s := &t.shards[shardOf(hash)]
	s.mu.Lock()
	defer s.mu.Unlock()
	if check() {
		t.keep(hash, epoch, col, key, value)
	}
}

// PutBack keeps a row that Remove has taken out at a position, there if it fits: one that is
// written again and again takes no room from others.
func (t *Table) PutBack(hash, position, epoch uint64, col column.Column, key, value []byte) {
	if len(key)+len(value) > MaxRow {
		return
	}
	shard := shardOf(hash)
	s := &t.shards[shard]
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.there(t.head(shard).Load(), position) {
		if was := t.word(t.at(shard, position) + 8).Load(); int(was&0xFFFF) == len(key) && padded(len(value)) <= padded(int(was>>16&0xFFFF)) {
			t.fill(t.oldest(hash), hash, position, epoch, col, key, value)
			return
		}
	}
	t.keep(hash, epoch, col, key, value)
}

// keep keeps a row: in place of what is kept of it, in an entry that is free, or in that of
// the oldest. The caller holds the shard.
func (t *Table) keep(hash, epoch uint64, col column.Column, key, value []byte) {
	position := t.reserve(shardOf(hash), rowHeader+padded(len(key))+padded(len(value)))
	if position == 0 {
		return
	}
	entry, was := t.look(hash, col, key)
	if was == 0 {
		entry = t.oldest(hash)
	}
	t.fill(entry, hash, position, epoch, col, key, value)
}

// fill writes a row to a position, and then the position to an entry.
func (t *Table) fill(entry *atomic.Uint64, hash, position, epoch uint64, col column.Column, key, value []byte) {
	at := t.at(shardOf(hash), position)
	t.store(at, epoch)
	t.store(at+8, uint64(len(key))|uint64(len(value))<<16|uint64(col)<<32)
	t.storeBytes(at+rowHeader, key)
	t.storeBytes(at+rowHeader+uintptr(padded(len(key))), value)
	entry.Store(hash>>tagShift<<tagShift | position>>3)
	t.put.Add(1)
}

// renew moves a row to where it stays for a turn of the ring.
func (t *Table) renew(hash uint64, col column.Column, key []byte) {
	s := &t.shards[shardOf(hash)]
	s.mu.Lock()
	defer s.mu.Unlock()
	entry, position := t.look(hash, col, key)
	if position == 0 || !t.soonGone(t.head(shardOf(hash)).Load(), position) {
		return // another was quicker
	}
	at := t.at(shardOf(hash), position)
	var value [MaxRow]byte
	size := int(t.word(at+8).Load() >> 16 & 0xFFFF)
	kept := t.appendWords(value[:0], at+rowHeader+uintptr(padded(len(key))), size)
	epoch := t.word(at).Load()
	if to := t.reserve(shardOf(hash), rowHeader+padded(len(key))+padded(size)); to != 0 {
		t.fill(entry, hash, to, epoch, col, key, kept)
	}
}

// lastPosition is the last that an entry has room for: a table that comes there keeps no more
// rows. It is 2⁵¹ bytes away.
const lastPosition = 1<<51 - 1<<32

// reserve returns the position of size bytes in one piece, 0 if there is none. They are
// the row's before anything of it is written.
func (t *Table) reserve(shard uint64, size int) uint64 {
	n, head := uint64(size), t.head(shard).Load()
	if n > t.ring/8 || head > lastPosition {
		return 0
	}
	if head&(t.turn-1)+n > t.ring {
		head = (head/t.turn + 1) * t.turn
	}
	t.head(shard).Store(head + n)
	return head
}

// look returns the entry and the position of a row; 0 if it is not kept. The caller
// holds the shard.
func (t *Table) look(hash uint64, col column.Column, key []byte) (entry *atomic.Uint64, position uint64) {
	bucket, shard := t.bucket(hash), shardOf(hash)
	for i := uintptr(1); i <= entries; i++ {
		entry = t.word(bucket + 8*i)
		v := entry.Load()
		if position = t.positionOf(v); v>>tagShift != hash>>tagShift || position == 0 || !t.there(t.head(shard).Load(), position) {
			continue
		}
		at := t.at(shard, position)
		if about := t.word(at + 8).Load(); about>>32&0xFF == uint64(col) && int(about&0xFFFF) == len(key) && t.same(at+rowHeader, key) {
			return entry, position
		}
	}
	return nil, 0
}

// oldest returns the entry of a bucket that is free, or was kept first.
func (t *Table) oldest(hash uint64) (entry *atomic.Uint64) {
	bucket, head := t.bucket(hash), t.head(shardOf(hash)).Load()
	oldest := ^uint64(0)
	for i := uintptr(1); i <= entries; i++ {
		e := t.word(bucket + 8*i)
		position := t.positionOf(e.Load())
		if position == 0 || !t.there(head, position) {
			return e
		}
		if position < oldest {
			entry, oldest = e, position
		}
	}
	return entry
}
