package diskfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// A footer ends a table, in one of two formats (RocksDB, table/format.cc):
//
//	version 5: kind of checksums 1 | handle of the meta index | handle of the index | zeros to 41 | version 4 | magic 8
//	version 6: kind of checksums 1 | 3E 00 7A 00 | checksum of the footer 4 | base 4 | size of the meta index 4 | zeros 24 | version 4 | magic 8
//
// In version 6 the meta index ends before the footer, and has the handle of the index; the checksum of a
// block has something added that the base and the place of the block make.
const (
	footerSize = 53
	tableMagic = 0x88e241b785f4cff7
	checkXXH3  = 4
	version    = 5 // that package rocks writes
	version6   = 6
)

var extendedMagic = []byte{0x3e, 0, 0x7a, 0}

var errNoIndex = fmt.Errorf("%w: a table without an index", ErrDamaged)

// footer is what a footer says. The zero footer is that of a table whose checksums have
// nothing added.
type footer struct {
	meta, index handle // of version 6 the index is not known before the meta index is read
	base        uint32
}

// salt returns what is added to the checksum of a block at a place.
func (f footer) salt(at int64) uint32 {
	if f.base == 0 {
		return 0
	}
	return f.base ^ (uint32(at) + uint32(at>>32))
}

// end returns the footer, of whatever format it is.
func (t *Table) end() ([]byte, error) {
	if t.size < footerSize || t.size > maxTable {
		return nil, fmt.Errorf("%w: a table of %d bytes", ErrDamaged, t.size)
	}
	b := make([]byte, footerSize)
	_, err := t.file.ReadAt(b, t.size-footerSize)
	return b, err
}

// parseFooter returns what the footer b says, which stands at a place of its file. It returns
// ErrFormat for one of another format than this package reads.
func parseFooter(b []byte, at int64) (f footer, err error) {
	written := binary.LittleEndian.Uint32(b[footerSize-12:])
	known := written == version || written == version6 && bytes.Equal(b[1:5], extendedMagic)
	switch {
	case binary.LittleEndian.Uint64(b[footerSize-8:]) != tableMagic:
		return f, errNoIndex
	case !known || b[0] != checkXXH3:
		return f, unknownFormat(fmt.Sprintf("a table of format version %d with checksums of kind %d, as another RocksDB writes it or one with other settings; known are versions %d and %d and kind %d",
			written, b[0], version, version6, checkXXH3))
	case written == version6:
		return parseFooter6(b, at)
	}
	meta, rest, ok := cutHandle(b[1:])
	if !ok {
		return f, errNoIndex
	}
	index, _, _ := cutHandle(rest) // else what it leads to is no index
	return footer{meta: meta, index: index}, nil
}

func parseFooter6(b []byte, at int64) (f footer, err error) {
	f.base = binary.LittleEndian.Uint32(b[9:])
	size := int64(binary.LittleEndian.Uint32(b[13:]))
	sum := binary.LittleEndian.Uint32(b[5:])
	plain := bytes.Clone(b)
	clear(plain[5:9])
	if checksum(plain[:footerSize-1], plain[footerSize-1])+f.salt(at) != sum {
		return f, &Damage{Offset: at, Length: footerSize, Reason: "the footer of a table: checksum mismatch"}
	}
	if size > at-blockTrailer {
		return f, errNoIndex
	}
	f.meta = handle{uint64(at - blockTrailer - size), uint64(size)}
	return f, nil
}
