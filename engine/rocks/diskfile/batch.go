package diskfile

import (
	"encoding/binary"
	"fmt"
)

// Kind is what a change of a log does. The zero Kind is none.
type Kind uint8

// The kinds of changes.
const (
	Put         Kind = 1 + iota
	Delete           // of one key
	DeleteRange      // of the keys from Key up to and without Value
)

// String is the kind in a word.
func (k Kind) String() string {
	switch k {
	case Put:
		return "put"
	case Delete:
		return "delete"
	case DeleteRange:
		return "delete_range"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Change is one change of a batch. Key and Value are parts of the batch's bytes.
type Change struct {
	Kind     Kind
	Family   uint32 // RocksDB's number of the column family
	Sequence uint64
	Key      []byte
	Value    []byte
	Blob     bool // Value says where in a blob file the value stands; see BlobValue
}

// Batch is what a record of a write-ahead log holds:
//
//	sequence of the first change 8 | count 4 | changes
type Batch struct {
	Sequence uint64
	Count    uint32
	changes  []byte
}

const batchHeader = 12

// ParseBatch returns the batch of a record, of which it is a part. It looks at
// the header only.
func ParseBatch(data []byte) (Batch, error) {
	if len(data) < batchHeader {
		return Batch{}, fmt.Errorf("%w: a batch of %d bytes, shorter than its header", ErrDamaged, len(data))
	}
	return Batch{binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint32(data[8:]), data[batchHeader:]}, nil
}

// Tags of changes. One of a family other than the default has its number behind
// the tag.
const (
	tagDelete            = 0x00
	tagPut               = 0x01
	tagLogData           = 0x03
	tagFamilyDelete      = 0x04
	tagFamilyPut         = 0x05
	tagSingleDelete      = 0x07
	tagFamilySingle      = 0x08
	tagNoop              = 0x0D
	tagFamilyDeleteRange = 0x0E
	tagDeleteRange       = 0x0F
)

// Changes yields the changes in order. It ends after an error, which is
// ErrDamaged.
func (b Batch) Changes(yield func(Change, error) bool) {
	seq, rest := b.Sequence, b.changes
	n := uint32(0)
	for len(rest) > 0 {
		c, after, err := cutChange(rest)
		if err != nil {
			yield(Change{}, fmt.Errorf("change %d of the batch at sequence %d: %w", n, b.Sequence, err))
			return
		}
		if rest = after; c.Kind == 0 {
			continue
		}
		c.Sequence = seq
		seq++
		n++
		if !yield(c, nil) {
			return
		}
	}
	if n != b.Count {
		yield(Change{}, fmt.Errorf("%w: the batch at sequence %d has %d changes, and counts %d", ErrDamaged, b.Sequence, n, b.Count))
	}
}

// cutChange splits a change off s. A Kind of 0 is an entry that changes nothing.
func cutChange(s []byte) (c Change, rest []byte, err error) {
	tag := s[0]
	rest = s[1:]
	switch tag {
	case tagNoop:
		return c, rest, nil
	case tagFamilyDelete, tagFamilyPut, tagFamilySingle, tagFamilyDeleteRange:
		family, n := binary.Uvarint(rest)
		if n <= 0 || family > 1<<31 {
			return c, nil, fmt.Errorf("%w: a family that is no number", ErrDamaged)
		}
		c.Family, rest = uint32(family), rest[n:]
	}
	ok := true
	if c.Key, rest, ok = cutPart(rest); !ok {
		return c, nil, fmt.Errorf("%w: a key is cut short", ErrDamaged)
	}
	switch tag {
	case tagLogData:
		return Change{}, rest, nil
	case tagDelete, tagFamilyDelete, tagSingleDelete, tagFamilySingle:
		c.Kind = Delete
		return c, rest, nil
	case tagPut, tagFamilyPut:
		c.Kind = Put
	case tagDeleteRange, tagFamilyDeleteRange:
		c.Kind = DeleteRange
	default:
		return c, nil, fmt.Errorf("%w: an unknown tag %#02x", ErrDamaged, tag)
	}
	if c.Value, rest, ok = cutPart(rest); !ok {
		return c, nil, fmt.Errorf("%w: a value is cut short", ErrDamaged)
	}
	return c, rest, nil
}

// cutPart splits a length and as many bytes off s.
func cutPart(s []byte) (part, rest []byte, ok bool) {
	n, k := binary.Uvarint(s)
	if k <= 0 || n > uint64(len(s)-k) {
		return nil, nil, false
	}
	end := k + int(n)
	return s[k:end:end], s[end:], true
}
