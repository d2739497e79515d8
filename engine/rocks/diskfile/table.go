package diskfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Table is an open table file, of format version 5, as package rocks writes them, or 6,
// as RocksDB does by itself from 9 on:
//
//	data blocks | filter | index | properties | meta index | footer 53
//
// It is not safe for concurrent use.
type Table struct {
	// Family is the name of the column family; "" if that cannot be read.
	Family string
	// Scanned says that the index cannot be read, so that the blocks are found one
	// after the other.
	Scanned bool
	// Deletes are the deletions of ranges.
	Deletes []Change
	// Unread says what of the blocks beside rows and index cannot be read: each is
	// ErrDamaged. Without the deletions of ranges rows seem to be there that they deleted.
	// nil: all can.
	Unread []error

	file     *os.File
	size     int64
	foot     footer
	space    []byte // a block as it is stored: space for the next one
	blocks   []handle
	ends     [][]byte // of the blocks, as the index has them; nil if it was not read
	userKeys bool     // the keys of the index have no sequence
	kept     int64    // bytes of Deletes and ends
	beyond   int64    // of those, what the size of the file does not allow
	shared   *Allowance
}

// Allowance is what tables that are open at once may keep together beyond what the sizes
// of their files allow. The zero Allowance is all of it; it is not safe for concurrent
// use.
type Allowance struct{ taken int64 }

const (
	maxTable   = 1 << 40
	scanWindow = 256 << 10 // the largest block that is looked for without an index

	// What is kept of tables that are open, their indexes and deletions of ranges, is at
	// most keptPerByte bytes for each byte of their files and keptLeast for all together. In a file that was
	// made up a few hundred bytes may stand for any number: keys that share their
	// beginnings are written out, and zstd stores what repeats once.
	keptLeast   = 16 << 20
	keptPerByte = 64
	keptEntry   = 64 // what an entry costs besides its bytes

	typeDelete  = 0x0
	typePut     = 0x1
	typeSingle  = 0x7
	typeRange   = 0xF
	typeBlobRef = 0x11
)

// OpenTable opens a table file. It returns ErrDamaged where not even the first
// block can be found, or where more would have to be kept of it than its size and what
// is left of shared allow.
func OpenTable(path string, shared *Allowance) (*Table, error) {
	return openTable(path, shared, func(t *Table) error { return t.read(true) })
}

// OpenListedTable opens a table that a manifest lists. It returns ErrDamaged where
// its footer or its index cannot be read.
func OpenListedTable(path string) (*Table, error) {
	return openTable(path, new(Allowance), func(t *Table) error { return t.read(false) })
}

// openTable opens a table file, and closes it again if read, which reads what is to be
// known of it, fails.
func openTable(path string, shared *Allowance, read func(*Table) error) (*Table, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	t := &Table{file: f, shared: shared}
	st, err := f.Stat()
	if err == nil {
		t.size = st.Size()
		err = read(t)
	}
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// Close closes the file, and gives back what was taken of the allowance.
func (t *Table) Close() error {
	t.shared.taken -= t.beyond
	t.beyond = 0
	return t.file.Close()
}

// Name returns the name of the file.
func (t *Table) Name() string { return filepath.Base(t.file.Name()) }

// Size returns how many bytes the file has.
func (t *Table) Size() int64 { return t.size }

// Blocks returns how many data blocks there are.
func (t *Table) Blocks() int { return len(t.blocks) }

// read reads the footer and what it leads to. Unless scan is set, it returns ErrDamaged for a
// table that was not written to its end.
func (t *Table) read(scan bool) error {
	b, err := t.end()
	if err != nil {
		return err
	}
	if t.foot, err = parseFooter(b, t.size-footerSize); err == nil {
		err = t.readFooter()
	}
	if err == nil || !scan || errors.Is(err, errTooMuch) {
		return err
	}
	t.Scanned, t.blocks, t.ends = true, nil, nil
	if serr := t.scan(); serr != nil && !errors.Is(err, ErrFormat) {
		return serr
	} else if serr == nil { // a table of ours all the same, whose end is damaged
		return nil
	}
	return err
}

// readFooter reads what the footer leads to. Only what else than the index cannot be read
// is no error of its own; see Unread.
func (t *Table) readFooter() error {
	if err := t.readMeta(t.foot.meta); errors.Is(err, errTooMuch) {
		return err
	}
	if err := t.readIndex(t.foot.index); err != nil {
		if errors.Is(err, errTooMuch) || errors.Is(err, ErrFormat) {
			return err
		}
		return errNoIndex
	}
	return nil
}

// errTooMuch marks a table of which more would have to be kept than may be.
var errTooMuch = errors.New("more than its size allows")

// keep counts what is kept of an entry.
func (t *Table) keep(bytes int) error {
	n := int64(bytes) + keptEntry
	t.kept += n
	beyond := max(0, min(n, t.kept-keptPerByte*t.size))
	t.beyond += beyond
	if t.shared.taken += beyond; t.shared.taken > keptLeast {
		return fmt.Errorf("%w: the index and the deletions of ranges of a table of %d bytes take %w", ErrDamaged, t.size, errTooMuch)
	}
	return nil
}

// block returns what a block holds.
func (t *Table) block(h handle) ([]byte, error) { return t.blockIn(nil, h) }

// blockIn returns what a block holds, in dst if that has room.
func (t *Table) blockIn(dst []byte, h handle) ([]byte, error) {
	b, err := t.stored(t.space, h)
	if err != nil {
		return dst, err
	}
	t.space = b
	return unpack(dst, b[:h.size], b[h.size])
}

// stored returns a block as it is stored, with its trailer, in buf if that has room.
func (t *Table) stored(buf []byte, h handle) ([]byte, error) {
	if h.size > maxBlock || h.offset > uint64(t.size) || h.offset+h.size+blockTrailer > uint64(t.size) {
		return nil, &Damage{Offset: int64(h.offset), Reason: "a block beyond the file"}
	}
	b := slices.Grow(buf[:0], int(h.size+blockTrailer))[:h.size+blockTrailer]
	if _, err := t.file.ReadAt(b, int64(h.offset)); err != nil {
		return nil, err
	}
	if !checkBlock(b[:h.size], b[h.size:], t.foot.salt(int64(h.offset))) {
		return nil, &Damage{Offset: int64(h.offset), Length: int64(h.size), Reason: "checksum mismatch"}
	}
	return b, nil
}

// End returns a key that is not below those of data block i, and below those of the
// next; nil if the index was not read.
func (t *Table) End(i int) []byte {
	if t.ends == nil {
		return nil
	}
	return t.ends[i]
}

// Check returns ErrDamaged if data block i is not what its checksum says. It reads
// into buf, and returns that, grown, for the next call.
func (t *Table) Check(buf []byte, i int) ([]byte, error) {
	b, err := t.stored(buf, t.blocks[i])
	if err != nil {
		return buf, err
	}
	return b, nil
}

// readMeta reads the name of the family and the deletions of ranges. What cannot be
// read of them goes to Unread; its error is errTooMuch.
func (t *Table) readMeta(h handle) error {
	b, err := t.block(h)
	if err == nil {
		err = entries(b, false, t.readPart)
	}
	if errors.Is(err, errTooMuch) {
		return err
	}
	t.unread("the list of its properties and deletions of ranges", err)
	return nil
}

func (t *Table) unread(what string, err error) {
	if err != nil {
		t.Unread = append(t.Unread, fmt.Errorf("%s cannot be read: %w", what, err))
	}
}

// readPart reads what an entry of the meta index leads to. Its error is errTooMuch.
func (t *Table) readPart(key, value []byte) error {
	var what string
	var read func(key, value []byte) error
	switch string(key) {
	case "rocksdb.properties":
		what, read = "its properties", t.readProperty
	case "rocksdb.range_del":
		what, read = "its deletions of ranges", t.readDelete
	case "rocksdb.index": // of version 5 it is in the footer
		t.foot.index, _, _ = cutHandle(value)
		return nil
	default:
		return nil
	}
	at, _, ok := cutHandle(value)
	if !ok {
		t.unread(what, fmt.Errorf("%w: where they are", ErrDamaged))
		return nil
	}
	part, err := t.block(at)
	if err == nil {
		err = entries(part, false, read)
	}
	if errors.Is(err, errTooMuch) {
		return err
	}
	t.unread(what, err)
	return nil
}

func (t *Table) readProperty(key, value []byte) error {
	switch string(key) {
	case "rocksdb.column.family.name":
		t.Family = string(value)
	case "rocksdb.index.key.is.user.key":
		t.userKeys = len(value) == 1 && value[0] == 1
	}
	return nil
}

func (t *Table) readDelete(key, value []byte) error {
	c, ok := internal(key, value)
	if !ok || c.Kind != DeleteRange {
		return fmt.Errorf("%w: an entry that deletes no range", ErrDamaged)
	}
	if err := t.keep(len(key) + len(value)); err != nil {
		return err
	}
	c.Key, c.Value = append([]byte(nil), c.Key...), append([]byte(nil), value...)
	t.Deletes = append(t.Deletes, c)
	return nil
}

func (t *Table) readIndex(h handle) error {
	b, err := t.block(h)
	if err != nil {
		return err
	}
	return entries(b, true, func(key, value []byte) error {
		at, _, ok := cutHandle(value)
		if !ok || !t.userKeys && len(key) < 8 {
			return fmt.Errorf("%w: an index entry", ErrDamaged)
		}
		if !t.userKeys {
			key = key[:len(key)-8]
		}
		if err := t.keep(len(key)); err != nil {
			return err
		}
		t.blocks, t.ends = append(t.blocks, at), append(t.ends, append([]byte(nil), key...))
		return nil
	})
}

// scan finds the data blocks without the index: they come one after the other from
// the start, and each ends where its checksum is.
func (t *Table) scan() error {
	window := make([]byte, scanWindow)
	for at := int64(0); at < t.size; {
		n, err := t.file.ReadAt(window, at)
		if n == 0 {
			return err
		}
		size, ok := findBlock(window[:n], t.foot.salt(at))
		if !ok {
			break
		}
		h := handle{uint64(at), uint64(size)}
		if !t.isData(h) {
			break
		}
		t.blocks = append(t.blocks, h)
		at += int64(size) + blockTrailer
	}
	if len(t.blocks) == 0 {
		return fmt.Errorf("%w: neither an index nor a first block", ErrDamaged)
	}
	return nil
}

func findBlock(b []byte, salt uint32) (size int, ok bool) {
	for size := 1; size+blockTrailer <= len(b); size++ {
		switch b[size] {
		case blockPlain, blockSnappy, blockLZ4, blockZSTD:
			if checkBlock(b[:size], b[size:size+blockTrailer], salt) {
				return size, true
			}
		}
	}
	return 0, false
}

// isData reports whether a block holds entries of rows.
func (t *Table) isData(h handle) bool {
	b, err := t.block(h)
	if err != nil {
		return false
	}
	n := 0
	err = entries(b, false, func(key, value []byte) error {
		if _, ok := internal(key, value); !ok {
			return ErrDamaged
		}
		n++
		return nil
	})
	return err == nil && n > 0
}

// internal returns the change that an entry of a table is. Its key ends with the
// sequence and the kind. A value that stands in a blob file has Blob set.
func internal(key, value []byte) (c Change, ok bool) {
	if len(key) < 8 {
		return c, false
	}
	packed := binary.LittleEndian.Uint64(key[len(key)-8:])
	c.Key, c.Sequence, c.Value = key[:len(key)-8], packed>>8, value
	switch packed & 0xFF {
	case typePut:
		c.Kind = Put
	case typeBlobRef:
		c.Kind, c.Blob = Put, true
	case typeDelete, typeSingle:
		c.Kind = Delete
	case typeRange:
		c.Kind = DeleteRange
	default:
		return c, false
	}
	return c, true
}

// Read calls visit with the entries of data block i, in the order of their keys,
// the newest of a key first. They are valid until it returns, but for their values, which
// are parts of the block that was read for this call. It returns ErrDamaged if the block
// cannot be read, before any of it was visited.
func (t *Table) Read(i int, visit func(Change) error) error {
	_, err := t.readIn(nil, i, visit)
	return err
}

// readIn is Read with the block in dst, if that has room. It returns that, grown, for the next
// call.
func (t *Table) readIn(dst []byte, i int, visit func(Change) error) ([]byte, error) {
	b, err := t.blockIn(dst, t.blocks[i])
	if err != nil {
		return dst, err
	}
	return b, entries(b, false, func(key, value []byte) error {
		c, ok := internal(key, value)
		if !ok {
			return fmt.Errorf("%w: an entry of a kind that this build does not know", ErrDamaged)
		}
		return visit(c)
	})
}
