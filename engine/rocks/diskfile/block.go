package diskfile

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/zeebo/xxh3"
)

// Compressions of a block, the byte behind it.
const (
	blockPlain  = 0
	blockSnappy = 1
	blockLZ4    = 4
	blockZSTD   = 7

	blockTrailer = 5        // that byte, and the checksum
	maxBlock     = 64 << 20 // of a block once it is decompressed
)

// handle says where a block is.
type handle struct{ offset, size uint64 }

func cutHandle(b []byte) (h handle, rest []byte, ok bool) {
	n := 0
	if h.offset, n = binary.Uvarint(b); n <= 0 {
		return h, nil, false
	}
	b = b[n:]
	if h.size, n = binary.Uvarint(b); n <= 0 {
		return h, nil, false
	}
	return h, b[n:], true
}

// checksum returns that of bytes, of which the last is given by itself.
func checksum(b []byte, last byte) uint32 { return uint32(xxh3.Hash(b)) ^ uint32(last)*0x6b9083d9 }

// checkBlock reports whether the checksum behind a block is that of it and of its
// kind, with salt added.
func checkBlock(block, trailer []byte, salt uint32) bool {
	return checksum(block, trailer[0])+salt == binary.LittleEndian.Uint32(trailer[1:])
}

// unpack returns what a block holds, in dst if that has room. It keeps nothing of block.
func unpack(dst, block []byte, kind byte) ([]byte, error) {
	switch kind {
	case blockPlain:
		return append(dst[:0], block...), nil
	case blockSnappy:
		return unpackSnappy(dst, block)
	case blockLZ4, blockZSTD:
	default:
		return nil, unknownFormat(fmt.Sprintf("a block with the compression %d, which this build does not know", kind))
	}
	size, n := binary.Uvarint(block)
	if n <= 0 || size > maxBlock {
		return nil, fmt.Errorf("%w: a compressed block without a size", ErrDamaged)
	}
	if kind == blockLZ4 {
		return unpackLZ4(dst, block[n:], int(size))
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBlock))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	b, err := z.DecodeAll(block[n:], slices.Grow(dst[:0], int(size)))
	if err != nil || uint64(len(b)) != size {
		return nil, fmt.Errorf("%w: not a block of zstd", ErrDamaged)
	}
	return b, nil
}

// unpackSnappy returns what src, a block of Snappy, which says its own size, stands for.
func unpackSnappy(dst, src []byte) ([]byte, error) {
	size, err := snappy.DecodedLen(src)
	if err == nil && size <= maxBlock {
		var b []byte
		if b, err = snappy.Decode(dst[:cap(dst)], src); err == nil {
			return b, nil
		}
	}
	return nil, fmt.Errorf("%w: not a block of Snappy", ErrDamaged)
}

// unpackLZ4 returns the size bytes that src, a block of LZ4, stands for. It returns
// ErrDamaged if it stands for fewer, for more, or for none.
func unpackLZ4(dst, src []byte, size int) ([]byte, error) {
	dst = slices.Grow(dst[:0], max(size, 1))[:size] // lz4 v4.1.33 writes to address 0 if there is none
	if n, err := lz4.UncompressBlock(src, dst); err != nil || n != size {
		return nil, fmt.Errorf("%w: not a block of LZ4", ErrDamaged)
	}
	return dst, nil
}

// entries calls visit with the entries of a block, whose keys share their
// beginnings. Where the values are handles, as in an index, they have no length.
func entries(block []byte, index bool, visit func(key, value []byte) error) error {
	bad := fmt.Errorf("%w: the entries of a block do not parse", ErrDamaged)
	if len(block) < 4 {
		return bad
	}
	restarts := int(binary.LittleEndian.Uint32(block[len(block)-4:]) & 0x7FFFFFFF)
	end := len(block) - 4 - 4*restarts
	if restarts > len(block)/4 || end < 0 {
		return bad
	}
	var key []byte
	for rest := block[:end]; len(rest) > 0; {
		var n [3]uint64 // shared, not shared, bytes of the value
		count := len(n)
		if index {
			count--
		}
		for i := range count {
			v, used := binary.Uvarint(rest)
			if used <= 0 || v > uint64(len(block)) {
				return bad
			}
			n[i], rest = v, rest[used:]
		}
		if n[0] > uint64(len(key)) || n[1] > uint64(len(rest)) {
			return bad
		}
		key = append(key[:n[0]], rest[:n[1]]...)
		rest = rest[n[1]:]
		if index {
			_, after, ok := cutHandle(rest)
			if !ok || n[0] != 0 {
				return bad
			}
			n[2] = uint64(len(rest) - len(after))
		}
		if n[2] > uint64(len(rest)) {
			return bad
		}
		if err := visit(key, rest[:n[2]:n[2]]); err != nil {
			return err
		}
		rest = rest[n[2]:]
	}
	return nil
}
