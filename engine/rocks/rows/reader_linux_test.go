package rows

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
)

// shared is a table as a daemon has it, with a term of a store.
type shared struct {
	*Table
	term *Term
}

func newShared(t testing.TB, size int64) shared {
	table, err := NewShared(size)
	require.NoError(t, err)
	t.Cleanup(table.Close)
	term, err := BeginTerm(t.TempDir(), true)
	require.NoError(t, err)
	t.Cleanup(func() { term.Close() })
	return shared{table, term}
}

// share is what a client is handed.
func (s shared) share(t testing.TB) Share {
	table, err := s.File()
	require.NoError(t, err)
	terms, err := s.term.Reading()
	require.NoError(t, err)
	share := Share{Table: table, Terms: terms, Term: s.term.Now()}
	t.Cleanup(func() { share.Close() })
	return share
}

func (s shared) reader(t testing.TB) *Reader {
	r, err := Map(s.share(t))
	require.NoError(t, err)
	return r
}

// versioned is a value that says which it is, and whether it is whole.
func versioned(row int, version uint64, size int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, version)
	b = binary.LittleEndian.AppendUint64(b, uint64(row))
	for len(b) < 16+size {
		b = append(b, byte(version)+byte(len(b)))
	}
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

// versionOf returns the version of a value.
func versionOf(b []byte, row int) (uint64, error) {
	if len(b) < 20 || crc32.ChecksumIEEE(b[:len(b)-4]) != binary.LittleEndian.Uint32(b[len(b)-4:]) {
		return 0, fmt.Errorf("torn: %x", b)
	}
	if got := binary.LittleEndian.Uint64(b[8:]); got != uint64(row) {
		return 0, fmt.Errorf("row %d instead of %d", got, row)
	}
	return binary.LittleEndian.Uint64(b), nil
}

// race is one writer of a store of few rows, and readers through a mapping of its own, who
// compare what they find with what was acknowledged before they began, and with what others
// have seen.
type race struct {
	shared
	rows         int
	stored       []atomic.Uint64 // the version of each row in the store,
	acknowledged []atomic.Uint64 // the last one that was acknowledged,
	seen         []atomic.Uint64 // and the highest that anybody has read
	marks        []atomic.Uint64 // odd while the row is written
}

func newRace(t testing.TB, size int64, rows int) *race {
	return &race{shared: newShared(t, size), rows: rows, stored: make([]atomic.Uint64, rows),
		acknowledged: make([]atomic.Uint64, rows), seen: make([]atomic.Uint64, rows), marks: make([]atomic.Uint64, rows)}
}

func (r *race) key(i int) []byte {
	return fmt.Appendf(nil, "row %d of a store that is read by others", i)
}

// write writes a row as the row cache of the engine does.
func (r *race) write(i int, random *rand.Rand) {
	key := r.key(i)
	h := r.Hash(column.State, key)
	version := r.stored[i].Load() + 1
	r.Writes().Add(1)
	r.marks[i].Add(1)
	at, kept := r.Remove(h, column.State, key)
	r.stored[i].Store(version) // from here on it can be seen
	if kept && random.IntN(8) > 0 {
		r.PutBack(h, at, r.Epoch(column.State).Load(), column.State, key, versioned(i, version, int(version*31%1800)))
	}
	r.marks[i].Add(1)
	r.Writes().Add(1)
	r.acknowledged[i].Store(version)
}

// fill reads a row from the store, and keeps it, as a read that has missed does.
func (r *race) fill(i int) {
	key := r.key(i)
	h, mark, epoch := r.Hash(column.State, key), r.marks[i].Load(), r.Epoch(column.State).Load()
	if mark&1 != 0 || epoch&1 != 0 {
		return
	}
	version := r.stored[i].Load()
	r.Put(h, epoch, column.State, key, versioned(i, version, int(version*31%1800)), func() bool { return r.marks[i].Load() == mark })
}

// read reads rows until it has found so many.
func (r *race) read(reader *Reader, hits int, random *rand.Rand) error {
	var value []byte
	for found := 0; found < hits; {
		i := random.IntN(r.rows)
		least := max(r.acknowledged[i].Load(), r.seen[i].Load())
		var ok bool
		if value, ok = reader.Get(value[:0], column.State, r.key(i)); !ok {
			r.fill(i)
			continue
		}
		found++
		version, err := versionOf(value, i)
		if err != nil {
			return err
		}
		if version < least {
			return fmt.Errorf("row %d: version %d is read, after %d was", i, version, least)
		}
		for seen := r.seen[i].Load(); seen < version && !r.seen[i].CompareAndSwap(seen, version); seen = r.seen[i].Load() {
		}
	}
	return nil
}

// TestNoReadIsTornOrStale holds what is read beside a writer to be whole, and no older than
// what was acknowledged before or anybody has seen, while rows are written in place and
// elsewhere, written over by the ring, pushed out of buckets, and read by misses.
func TestNoReadIsTornOrStale(t *testing.T) {
	hits := enginetest.Scale(200_000)
	for name, size := range map[string]int64{"roomy": 4 << 20, "tight": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			r := newRace(t, size, 300)
			var reading, writing sync.WaitGroup
			done, errs := make(chan struct{}), make(chan error, 2)
			writing.Go(func() {
				random := rand.New(rand.NewPCG(1, 2))
				for {
					select {
					case <-done:
						return
					default:
						for range 20 {
							r.write(random.IntN(1+random.IntN(r.rows)), random)
						}
					}
				}
			})
			for i := range cap(errs) {
				reader := r.reader(t)
				reading.Go(func() { errs <- r.read(reader, hits, rand.New(rand.NewPCG(3, uint64(i)))) })
			}
			reading.Wait()
			close(done)
			writing.Wait()
			for range cap(errs) {
				require.NoError(t, <-errs)
			}
		})
	}
}

// TestRowsOfOneStateAreReadTogether reads two rows that are written one after the other, with
// many between them, so that both are written while it does.
func TestRowsOfOneStateAreReadTogether(t *testing.T) {
	r := newRace(t, 4<<20, 300)
	lookups := make([]engine.Lookup, 0, r.rows)
	for i := range r.rows {
		lookups = append(lookups, engine.Lookup{Column: column.State, Key: r.key(i)})
		r.fill(i)
	}
	last := &lookups[r.rows-1]
	reader := r.reader(t)
	written := make(chan struct{})
	go func() {
		defer close(written)
		random := rand.New(rand.NewPCG(1, 2))
		for range enginetest.Scale(500) {
			r.write(0, random)
			r.write(r.rows-1, random)
			for range random.IntN(4000) { // which takes longer than reading does, more often than not
				_ = versioned(0, 0, 100)
			}
		}
	}()
	refill := func() {
		for i := range lookups {
			if _, ok := reader.Get(nil, column.State, lookups[i].Key); !ok {
				r.fill(i)
			}
		}
	}
	var buf []byte
	for over := false; !over; {
		select {
		case <-written:
			over = true
		default:
		}
		var ok bool
		if buf, ok = reader.MultiGet(append(buf[:0], "before"...), lookups); !ok {
			refill()
			continue
		}
		first, err := versionOf(lookups[0].Value, 0)
		require.NoError(t, err)
		second, err := versionOf(last.Value, r.rows-1)
		require.NoError(t, err)
		require.True(t, first == second || first == second+1, "%d and %d are of no state", first, second)
		require.True(t, lookups[1].Found)
		require.Equal(t, "before", string(buf[:6]))
	}
	refill()
	_, ok := reader.MultiGet(nil, lookups)
	require.True(t, ok)
	r.Writes().Add(1)
	_, ok = reader.MultiGet(nil, lookups)
	require.False(t, ok, "while something is written")
	r.Writes().Add(1)
	_, ok = reader.MultiGet(nil, append(lookups, engine.Lookup{Column: column.State, Key: []byte("missing")}))
	require.False(t, ok)
	_, ok = reader.MultiGet(nil, append(lookups, engine.Lookup{Key: []byte("of no column")}))
	require.False(t, ok)
}

// TestARowThatIsChangedWhileItIsReadIsNotReturned changes a row, or what says whether it is
// there, between its being copied and the look at what has become of it.
func TestARowThatIsChangedWhileItIsReadIsNotReturned(t *testing.T) {
	const key = "k"
	for name, c := range map[string]struct {
		change func(s shared, hash uint64)
		want   outcome
	}{
		"nothing":            {func(shared, uint64) {}, stood},
		"another row":        {func(s shared, _ uint64) { put(s.Table, column.State, "other", "v") }, stood},
		"it is read again":   {func(s shared, _ uint64) { put(s.Table, column.State, key, "v") }, stood},
		"it is removed":      {func(s shared, hash uint64) { s.Remove(hash, column.State, []byte(key)) }, changed},
		"its column changes": {func(s shared, _ uint64) { s.Epoch(column.State).Add(1) }, gone},
		"another column":     {func(s shared, _ uint64) { s.Epoch(column.Delta).Add(1) }, stood},
		"it is written in place": {func(s shared, hash uint64) {
			at, ok := s.Remove(hash, column.State, []byte(key))
			require.True(t, ok)
			s.PutBack(hash, at, 0, column.State, []byte(key), []byte("w"))
		}, changed},
		"the ring comes around": {func(s shared, hash uint64) {
			for i := 0; s.there(s.head(shardOf(hash)).Load(), 8); i++ {
				put(s.Table, column.State, fmt.Sprint("row ", i), "v")
			}
		}, gone},
		"the ring comes to it": {func(s shared, hash uint64) {
			s.head(shardOf(hash)).Store(s.turn + 8)
		}, stood},
		"the ring begins on it": {func(s shared, hash uint64) {
			s.head(shardOf(hash)).Store(s.turn + 16)
		}, gone},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShared(t, 1<<20)
			put(s.Table, column.State, key, "v")
			r := s.reader(t)
			hash := r.hash(column.State, []byte(key))
			look := r.begin(hash)
			value, ok := r.copyRow(nil, &look, hash, column.State, []byte(key))
			require.True(t, ok)
			require.Equal(t, "v", string(value))
			c.change(s, hash)
			require.Equal(t, c.want, r.end(&look, column.State))
		})
	}
}

// TestNobodyWritesToWhatIsShared tries all that a client could with what it is handed.
func TestNobodyWritesToWhatIsShared(t *testing.T) {
	s := newShared(t, 1<<20)
	share := s.share(t)
	fd := int(share.Table.Fd())
	_, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.ErrorIs(t, err, unix.EPERM)
	_, err = unix.Pwrite(fd, []byte("x"), 0)
	require.ErrorIs(t, err, unix.EPERM)
	require.ErrorIs(t, unix.Ftruncate(fd, 0), unix.EPERM)
	require.ErrorIs(t, unix.Ftruncate(fd, 1<<30), unix.EPERM)
	require.ErrorIs(t, unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, 4096), unix.EPERM)
	read, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ, unix.MAP_SHARED)
	require.NoError(t, err)
	defer unix.Munmap(read)
	require.ErrorIs(t, unix.Mprotect(read, unix.PROT_READ|unix.PROT_WRITE), unix.EACCES)
	again, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), os.O_RDWR, 0)
	require.NoError(t, err)
	defer again.Close()
	_, err = again.WriteAt([]byte("x"), 0)
	require.ErrorIs(t, err, unix.EPERM)

	_, err = unix.Pwrite(int(share.Terms.Fd()), []byte("x"), 0)
	require.ErrorIs(t, err, unix.EBADF)
	_, err = unix.Mmap(int(share.Terms.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.ErrorIs(t, err, unix.EACCES)
}

// TestATermThatHasEndedIsNotRead holds a reader to what it may read: nothing, once its term
// has ended, whether the daemon did so or the next one, which finds the file.
func TestATermThatHasEndedIsNotRead(t *testing.T) {
	s := newShared(t, 1<<20)
	dir := filepath.Dir(s.term.file.Name())
	put(s.Table, column.State, "k", "v")
	lookups := []engine.Lookup{{Column: column.State, Key: []byte("k")}}
	reads := func(r *Reader) bool {
		_, one := r.Get(nil, column.State, []byte("k"))
		_, all := r.MultiGet(nil, lookups)
		require.Equal(t, one, all)
		require.Equal(t, one, r.Current())
		return one
	}
	r := s.reader(t)
	require.True(t, reads(r))
	require.NoError(t, s.term.Next())
	require.False(t, reads(r))
	r = s.reader(t)
	require.True(t, reads(r))

	next, err := BeginTerm(dir, false) // as a daemon that comes after one that was killed
	require.NoError(t, err)
	require.False(t, reads(r))
	require.NoError(t, next.Close())

	old := s.term.Now()
	require.NoError(t, os.Truncate(dir+"/"+TermName, 20)) // a copy that was cut short
	next, err = BeginTerm(dir, false)
	require.NoError(t, err)
	require.Greater(t, next.Now(), old)
	require.NoError(t, next.Close())
	st, err := os.Stat(dir + "/" + TermName)
	require.NoError(t, err)
	require.EqualValues(t, termSize, st.Size())

	none, err := BeginTerm(t.TempDir(), false)
	require.NoError(t, err)
	require.Nil(t, none)
}

// TestWhatIsNoTableIsNotMapped hands over files that are something else.
func TestWhatIsNoTableIsNotMapped(t *testing.T) {
	s := newShared(t, 1<<20)
	plain, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer plain.Close()
	_, err = plain.Write(s.memory)
	require.NoError(t, err)
	good := s.share(t)
	_, err = Map(Share{Table: plain, Terms: good.Terms})
	require.ErrorIs(t, err, ErrTable, "it could be cut short")
	empty, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer empty.Close()
	_, err = Map(Share{Table: good.Table, Terms: empty})
	require.ErrorIs(t, err, ErrTable)

	for name, spoil := range map[string]func(b []byte){
		"magic":      func(b []byte) { b[0]++ },
		"shards":     func(b []byte) { b[atShards]++ },
		"no buckets": func(b []byte) { clear(b[atBuckets : atBuckets+8]) },
		"many":       func(b []byte) { b[atBuckets+7] = 0xFF },
		"ring":       func(b []byte) { b[atRing+6] = 1 },
		"odd ring":   func(b []byte) { b[atRing]++ },
		"no ring":    func(b []byte) { clear(b[atRing : atRing+8]) },
		"size":       func(b []byte) { b[atSize]++ },
	} {
		t.Run(name, func(t *testing.T) {
			bad := newShared(t, 1<<20)
			spoil(bad.memory)
			_, err := Map(bad.share(t))
			require.ErrorIs(t, err, ErrTable)
		})
	}
}

// TestAReaderStaysWithinTheTable reads tables whose entries, rows and heads are anything: what
// is found lies within the ring.
func TestAReaderStaysWithinTheTable(t *testing.T) {
	s := newShared(t, 1<<20)
	r := s.reader(t)
	found := 0
	enginetest.Check(t, 2000, func(t *rapid.T) {
		key := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "key")
		h := s.Hash(column.State, key)
		place := rapid.OneOf(rapid.Uint64Range(0, s.turn-1), rapid.Uint64Range(s.ring-300, s.ring-1), rapid.Uint64Range(0, 16)).Draw(t, "place") &^ 7
		position := rapid.Uint64Range(0, 1<<20).Draw(t, "turn")*s.turn + place
		head := position + rapid.OneOf(rapid.Uint64Range(0, 2*s.turn), rapid.Just(s.turn), rapid.Just(^uint64(7))).Draw(t, "head")
		size := rapid.OneOf(rapid.Uint16(), rapid.Uint16Range(0, 300)).Draw(t, "size")
		word := func(at uintptr, w uint64) { binary.NativeEndian.PutUint64(s.memory[at:], w) }
		word(s.bucket(h)+8, h>>tagShift<<tagShift|position>>3)
		word(atHeads+headSize*uintptr(shardOf(h)), head)
		if at := int(s.at(shardOf(h), position)); at+rowHeader+len(key)+8 <= len(s.memory) {
			copy(s.memory[at:], make([]byte, rowHeader+padded(len(key))))
			word(uintptr(at)+8, uint64(len(key))|uint64(size)<<16|uint64(column.State)<<32)
			copy(s.memory[at+rowHeader:], key)
		}
		value, ok := r.Get(nil, column.State, key)
		whole := uint64(rowHeader + padded(len(key)) + padded(int(size)))
		require.Equal(t, position != 0 && head-position <= s.turn && place+whole <= s.ring, ok)
		if ok {
			found++
			require.Len(t, value, int(size))
		}
	})
	require.Positive(t, found)
}

// TestAReaderGivesItsMemoryBack looks at the mappings of the process.
func TestAReaderGivesItsMemoryBack(t *testing.T) {
	s := newShared(t, 1<<20)
	before := mappings(t)
	for range 10 {
		require.True(t, s.reader(t).Current())
	}
	for try := 0; mappings(t) > before; try++ {
		require.Less(t, try, 1000)
		runtime.GC()
	}
}

func mappings(t *testing.T) (n int) {
	b, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, "stoa-rows") || strings.Contains(line, TermName) {
			n++
		}
	}
	return n
}

// TestATermThatCannotBeBegunIsAnError has something else in place of the file.
func TestATermThatCannotBeBegunIsAnError(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(dir+"/"+TermName, 0o700))
	_, err := BeginTerm(dir, true)
	require.ErrorContains(t, err, "rows: term")
	require.True(t, errors.Is(err, unix.EISDIR), err)
}
