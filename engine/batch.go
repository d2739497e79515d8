package engine

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/stoadb/stoa/column"
)

// Durability says when a write is acknowledged. The zero Durability is the
// strongest.
type Durability uint8

const (
	// Synced waits until the write is on disk: it survives a power loss.
	Synced Durability = iota
	// WAL waits until the write is in the write-ahead log of the operating
	// system: it survives the end of the process, kill -9 included, but not a
	// power loss. It is for data that peers can send again. A batch that
	// touches Group or Identity is synced all the same.
	WAL
)

// Valid reports whether d is one of the durabilities.
func (d Durability) Valid() bool { return d <= WAL }

// String is the durability as messages and flags spell it.
func (d Durability) String() string {
	switch d {
	case Synced:
		return "synced"
	case WAL:
		return "wal"
	}
	return fmt.Sprintf("Durability(%d)", uint8(d))
}

// The tags of a batch's changes are those of RocksDB's write batch.
const (
	tagDelete      = 0x04 // column, key
	tagPut         = 0x05 // column, key, value
	tagDeleteRange = 0x0E // column, start, end

	expectAbsent = 0x00 // column, key
	expectValue  = 0x01 // column, key, value

	// BatchHeader is the length of the header of a batch's bytes: a sequence
	// of 8 bytes, zero, and the number of changes, 4 bytes little-endian.
	BatchHeader = 12
)

// Batch is a list of changes that are made together, and of expectations that
// must hold in the state before them. The zero Batch is empty, durable and
// ready to use. It is not safe for concurrent use.
type Batch struct {
	Durability Durability

	ops     []byte // header and changes; empty while there are none
	expects []byte
	lent    bool  // ops and expects belong to the caller of ParseBatch
	err     error // the first change that could not be encoded
}

// Put stores value under key. It copies both.
func (b *Batch) Put(col column.Column, key, value []byte) {
	b.change(tagPut, col, key)
	b.ops = appendPart(b.ops, value)
}

// Delete removes key, whether or not it is there. It copies key.
func (b *Batch) Delete(col column.Column, key []byte) { b.change(tagDelete, col, key) }

// DeleteRange removes all keys from start up to, but without, end, which must
// be greater than start. It copies both.
func (b *Batch) DeleteRange(col column.Column, start, end []byte) {
	b.change(tagDeleteRange, col, start)
	b.ops = appendPart(b.ops, end)
}

// Expect makes the batch fail with ErrConflict unless want is stored under key.
// It copies both.
func (b *Batch) Expect(col column.Column, key, want []byte) {
	b.expects = append(b.expects, expectValue, byte(col))
	b.expects = appendPart(appendPart(b.expects, key), want)
}

// ExpectAbsent makes the batch fail with ErrConflict if anything is stored
// under key. It copies key.
func (b *Batch) ExpectAbsent(col column.Column, key []byte) {
	b.expects = append(b.expects, expectAbsent, byte(col))
	b.expects = appendPart(b.expects, key)
}

// Fail makes Apply return err and write nothing, unless the batch has failed
// before. It is how a change that has no bytes, as a value out of its limits,
// is reported.
func (b *Batch) Fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// Append adds the changes and expectations of other, which it copies, and has b be as
// durable as other is.
func (b *Batch) Append(other *Batch) {
	b.Durability = other.Durability
	b.Fail(other.err)
	b.owned()
	b.expects = append(b.expects, other.expects...)
	if n := other.Len(); n > 0 {
		b.start()
		binary.LittleEndian.PutUint32(b.ops[8:], uint32(b.Len()+n))
		b.ops = append(b.ops, other.ops[BatchHeader:]...)
	}
}

// Len returns the number of changes.
func (b *Batch) Len() int {
	if len(b.ops) == 0 {
		return 0
	}
	return int(binary.LittleEndian.Uint32(b.ops[8:]))
}

// Size returns the bytes of the changes and the expectations.
func (b *Batch) Size() int { return len(b.ops) + len(b.expects) }

// Guarded reports whether the batch has expectations.
func (b *Batch) Guarded() bool { return len(b.expects) > 0 }

// Reset empties b, makes it durable, and keeps its memory.
func (b *Batch) Reset() {
	if b.lent {
		*b = Batch{}
	}
	b.Durability, b.ops, b.expects, b.err = Synced, b.ops[:0], b.expects[:0], nil
}

// Bytes returns the encoded changes; README.md has the format. They are valid
// until b changes.
func (b *Batch) Bytes() []byte {
	b.start()
	return b.ops
}

// Expectations returns the encoded expectations; README.md has the format.
// They are valid until b changes.
func (b *Batch) Expectations() []byte { return b.expects }

// ParseBatch returns the batch whose bytes are ops and expects, which it keeps
// and does not change. It returns ErrBatch if they are not well formed, and
// ErrTooLarge if something is over its limit, before it takes any memory.
// Empty ops are a batch without changes.
func ParseBatch(ops, expects []byte, d Durability) (*Batch, error) {
	b := &Batch{Durability: d, ops: ops[:len(ops):len(ops)], expects: expects[:len(expects):len(expects)], lent: true}
	if err := b.Check(); err != nil {
		return nil, err
	}
	return b, nil
}

// Check returns the error that Apply would return for the form and the limits
// of b: nil, ErrBatch, ErrTooLarge, or what Fail was given.
func (b *Batch) Check() error {
	if b.err != nil {
		return b.err
	}
	if !b.Durability.Valid() {
		return fmt.Errorf("%w: %s", ErrBatch, b.Durability)
	}
	if b.Size() > MaxBatch {
		return fmt.Errorf("%w: batch of %d bytes, at most %d", ErrTooLarge, b.Size(), MaxBatch)
	}
	if len(b.ops) > 0 {
		if len(b.ops) < BatchHeader {
			return fmt.Errorf("%w: %d bytes, shorter than the header", ErrBatch, len(b.ops))
		}
		if !bytes.Equal(b.ops[:8], make([]byte, 8)) {
			return fmt.Errorf("%w: the sequence in the header is not 0", ErrBatch)
		}
	}
	n := 0
	for op, err := range b.Ops {
		if err == nil {
			err = op.check()
		}
		if err != nil {
			return fmt.Errorf("change %d: %w", n, err)
		}
		n++
	}
	if n != b.Len() {
		return fmt.Errorf("%w: the header counts %d changes, there are %d", ErrBatch, b.Len(), n)
	}
	n = 0
	for e, err := range b.Expected {
		if err == nil {
			err = checkSizes(e.Key, e.Want)
		}
		if err != nil {
			return fmt.Errorf("expectation %d: %w", n, err)
		}
		n++
	}
	return nil
}

func (b *Batch) start() {
	if len(b.ops) == 0 {
		b.ops = append(b.ops, make([]byte, BatchHeader)...)
	}
}

// owned has b be changed without a change of what was lent to it.
func (b *Batch) owned() {
	if b.lent {
		b.ops, b.expects, b.lent = bytes.Clone(b.ops), bytes.Clone(b.expects), false
	}
}

func (b *Batch) change(tag byte, col column.Column, key []byte) {
	b.start()
	b.owned()
	binary.LittleEndian.PutUint32(b.ops[8:], binary.LittleEndian.Uint32(b.ops[8:])+1)
	b.ops = append(b.ops, tag, byte(col))
	b.ops = appendPart(b.ops, key)
}

func appendPart(dst, part []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(part))), part...)
}
