package rocks

import (
	"encoding/binary"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// familyIDs are RocksDB's numbers of the families. They are those of the columns
// unless the families were made in another order than the schema's.
type familyIDs struct {
	of     [column.Count + 1]uint32
	differ bool
	buf    []byte // belongs to the committer
}

func (f *familyIDs) set(c column.Column, id uint32) {
	f.of[c] = id
	f.differ = f.differ || id != uint32(c)
}

// translate returns the bytes of a batch with the families' numbers in place of
// those of the columns. The result is valid until the next call.
func (f *familyIDs) translate(ops []byte) []byte {
	if !f.differ {
		return ops
	}
	f.buf = append(f.buf[:0], ops[:engine.BatchHeader]...)
	rest := ops[engine.BatchHeader:]
	for op, err := range engine.Changes(ops) {
		if err != nil {
			break // the committer has checked them
		}
		f.buf = append(f.buf, rest[0])
		f.buf = binary.AppendUvarint(f.buf, uint64(f.of[op.Column]))
		n := len(op.Key) + uvarintLen(len(op.Key))
		if op.Kind != engine.KindDelete {
			n += len(op.Value) + uvarintLen(len(op.Value))
		}
		f.buf = append(f.buf, rest[2:2+n]...)
		rest = rest[2+n:]
	}
	return f.buf
}

func uvarintLen(v int) (n int) {
	for n = 1; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}
