package rows

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// ErrTable is returned for files that are no shared table of this layout.
var ErrTable = errors.New("rows: no shared table")

// Share is what another process reads the rows of a store with; see [Map]. The files are
// open, and their taker's to close.
type Share struct {
	Table, Terms *os.File
	Term         uint64
	Ended        <-chan struct{} // closed when there are no such rows any more
}

// Close closes the files.
func (s *Share) Close() error { return errors.Join(s.Table.Close(), s.Terms.Close()) }

// Reader reads rows of a table of another process. All methods are safe for concurrent use.
// The memory is given back when nobody has the Reader any more.
type Reader struct {
	layout
	term *atomic.Uint64 // of the store,
	mine uint64         // while it is this
}

// mapping is what a Reader has of the system.
type mapping struct{ table, term []byte }

// Map returns a reader of what is shared. It needs the files no longer than that. It returns
// ErrTable.
func Map(s Share) (*Reader, error) {
	var m mapping
	var err error
	if m.table, err = MapShared(s.Table, header); err != nil {
		return nil, err
	}
	r := &Reader{mine: s.Term}
	if r.layout, err = parseHeader(m.table); err == nil {
		m.term, err = mapFile(s.Terms, termSize)
	}
	if err != nil {
		m.unmap()
		return nil, err
	}
	r.base = unsafe.Pointer(unsafe.SliceData(m.table))
	r.term = (*atomic.Uint64)(unsafe.Pointer(&m.term[atTerm]))
	runtime.AddCleanup(r, mapping.unmap, m)
	return r, nil
}

// MapShared maps, to be read, what [SharedMemory] has made in another process, if it has at
// least that size. It returns ErrTable.
func MapShared(f *os.File, least int64) ([]byte, error) {
	if !sealed(int(f.Fd())) {
		return nil, fmt.Errorf("%w: it could be cut short, or written to", ErrTable)
	}
	return mapFile(f, least)
}

// mapFile maps a file of at least that size to be read.
func mapFile(f *os.File, least int64) ([]byte, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTable, err)
	}
	if st.Size() < least || st.Size() > math.MaxInt {
		return nil, fmt.Errorf("%w: a file of %d bytes", ErrTable, st.Size())
	}
	b, err := unix.Mmap(int(f.Fd()), 0, int(st.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTable, err)
	}
	return b, nil
}

// unmap gives the memory back; it fails only for what is not mapped.
func (m mapping) unmap() {
	for _, b := range [][]byte{m.table, m.term} {
		if b != nil {
			_ = unix.Munmap(b)
		}
	}
}

// parseHeader returns the layout of a table, without its memory.
func parseHeader(b []byte) (layout, error) {
	word := func(at int) uint64 { return binary.NativeEndian.Uint64(b[at:]) }
	buckets, ring := word(atBuckets), word(atRing)
	most := uint64(len(b)) / shards
	if string(b[:len(magic)]) != magic || word(atShards) != shards || buckets == 0 || buckets > most/bucketSize || ring < rowHeader || ring > most || ring%8 != 0 {
		return layout{}, fmt.Errorf("%w: its header is of another layout", ErrTable)
	}
	l := newLayout(nil, word(atSeed), buckets, ring)
	if l.size() != word(atSize) || l.size() > uint64(len(b)) {
		return layout{}, fmt.Errorf("%w: %d bytes, its header says %d", ErrTable, len(b), word(atSize))
	}
	return l, nil
}

// Current reports whether the term of the reader goes on. Once it has ended, nothing is found.
func (r *Reader) Current() bool { return r.term.Load() == r.mine }

// Get appends the value of a row to dst, if the table has it. It is what the row was at one
// moment of the call, whoever wrote it.
func (r *Reader) Get(dst []byte, col column.Column, key []byte) ([]byte, bool) {
	if !col.Valid() {
		return dst, false
	}
	out, _, ok := r.find(dst, r.hash(col, key), col, key)
	ok = ok && r.Current()
	runtime.KeepAlive(r)
	if !ok {
		return dst, false
	}
	return out, true
}

// MultiGet appends the values of all lookups to buf, which the lookups then have, if the table
// has all of them, and they are of one state. Else nothing is changed but the room of buf.
func (r *Reader) MultiGet(buf []byte, lookups []engine.Lookup) ([]byte, bool) {
	before := r.writes().Load()
	start := len(buf)
	for i := range lookups {
		l, at := &lookups[i], len(buf)
		l.Found = l.Column.Valid()
		if l.Found {
			buf, _, l.Found = r.find(buf, r.hash(l.Column, l.Key), l.Column, l.Key)
		}
		if !l.Found {
			return buf[:start], false
		}
		l.Value = buf[at:]
	}
	ok := before&1 == 0 && r.writes().Load() == before && r.Current()
	runtime.KeepAlive(r)
	if !ok {
		return buf[:start], false
	}
	engine.PlaceValues(buf, start, lookups)
	return buf, true
}
