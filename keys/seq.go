package keys

import (
	"encoding/binary"
	"strconv"
)

// Seq is a sequence number as a part of a key: big endian, so that keys sort by
// it.
type Seq [8]byte

// NewSeq returns n as a part of a key.
func NewSeq(n uint64) (s Seq) {
	binary.BigEndian.PutUint64(s[:], n)
	return s
}

// Uint64 returns the number that s stands for.
func (s Seq) Uint64() uint64 { return binary.BigEndian.Uint64(s[:]) }

// String returns the number in decimal.
func (s Seq) String() string { return strconv.FormatUint(s.Uint64(), 10) }
