package diskfile

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"path/filepath"
)

// A reference to a value in a blob file is
//
//	kind 1 | file u varint | offset u varint | size u varint | compression 1
//
// At the offset is the value; before it the key, and before that a header of 32
// bytes, which ends with the checksum of both.
const (
	refInFile  = 1
	blobHeader = 32
)

// BlobValue returns the value of key that ref, the value of a Change with Blob set,
// stands for, from a file of dir.
func BlobValue(dir string, key, ref []byte) ([]byte, error) {
	if len(ref) < 2 || ref[0] != refInFile {
		return nil, fmt.Errorf("%w: a reference to a blob file of an unknown kind", ErrDamaged)
	}
	var n [3]uint64
	rest := ref[1:]
	for i := range n {
		v, used := binary.Uvarint(rest)
		if used <= 0 {
			return nil, fmt.Errorf("%w: a reference to a blob file", ErrDamaged)
		}
		n[i], rest = v, rest[used:]
	}
	number, offset, size := n[0], n[1], n[2]
	before := uint64(len(key)) + blobHeader
	if len(rest) != 1 || size > maxBlock || offset < before || offset > maxTable {
		return nil, fmt.Errorf("%w: a reference to a blob file", ErrDamaged)
	}
	f, err := Open(filepath.Join(dir, fmt.Sprintf("%06d.blob", number)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || offset+size > uint64(st.Size()) { // before there is room for it
		return nil, fmt.Errorf("%w: a reference beyond the end of %s", ErrDamaged, f.Name())
	}
	b := make([]byte, before+size)
	if _, err := f.ReadAt(b, int64(offset-before)); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, f.Name(), err)
	}
	if masked(crc32.Checksum(b[blobHeader:], castagnoli())) != binary.LittleEndian.Uint32(b[blobHeader-4:]) || string(b[blobHeader:before]) != string(key) {
		return nil, &Damage{Offset: int64(offset), Length: int64(size), Reason: f.Name() + ": checksum mismatch"}
	}
	return unpack(nil, b[before:], rest[0])
}
