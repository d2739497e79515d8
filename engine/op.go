package engine

import (
	"bytes"
	"fmt"
	"iter"

	"github.com/stoadb/stoa/column"
)

// Kind is what a change does. The zero Kind is none.
type Kind uint8

// The kinds of changes.
const (
	KindPut         Kind = 1 + iota // store Value under Key
	KindDelete                      // remove Key
	KindDeleteRange                 // remove the keys from Key up to Value
)

// Op is one change of a batch. Key and Value are parts of the batch's bytes.
type Op struct {
	Kind   Kind
	Column column.Column
	Key    []byte // the start of the range of a KindDeleteRange
	Value  []byte // the end of the range of a KindDeleteRange
}

// Expectation is a condition of a batch. Key and Want are parts of the batch's
// bytes.
type Expectation struct {
	Column column.Column
	Key    []byte
	Want   []byte
	Absent bool // nothing is stored under Key
}

// Ops yields the changes in order. It ends after an error, which is ErrBatch.
func (b *Batch) Ops(yield func(Op, error) bool) { Changes(b.ops)(yield) }

// Changes yields the changes whose bytes are ops (Batch.Bytes), as Ops does.
func Changes(ops []byte) iter.Seq2[Op, error] {
	return func(yield func(Op, error) bool) {
		if len(ops) == 0 {
			return
		}
		if len(ops) < BatchHeader {
			yield(Op{}, fmt.Errorf("%w: %d bytes, shorter than the header", ErrBatch, len(ops)))
			return
		}
		for s := ops[BatchHeader:]; len(s) > 0; {
			op, rest, err := cutOp(s)
			if !yield(op, err) || err != nil {
				return
			}
			s = rest
		}
	}
}

// Expected yields the expectations in order. It ends after an error, which is
// ErrBatch.
func (b *Batch) Expected(yield func(Expectation, error) bool) {
	s := b.expects
	for len(s) > 0 {
		e, rest, err := cutExpectation(s)
		if !yield(e, err) || err != nil {
			return
		}
		s = rest
	}
}

func cutOp(s []byte) (op Op, rest []byte, err error) {
	switch s[0] {
	case tagPut:
		op.Kind = KindPut
	case tagDelete:
		op.Kind = KindDelete
	case tagDeleteRange:
		op.Kind = KindDeleteRange
	default:
		return op, nil, fmt.Errorf("%w: unknown tag %#02x", ErrBatch, s[0])
	}
	if op.Column, op.Key, rest, err = cutTarget(s); err != nil {
		return op, nil, err
	}
	if op.Kind != KindDelete {
		var ok bool
		if op.Value, rest, ok = cut(rest); !ok {
			return op, nil, fmt.Errorf("%w: a value is cut short or its length is not minimal", ErrBatch)
		}
	}
	return op, rest, nil
}

func cutExpectation(s []byte) (e Expectation, rest []byte, err error) {
	if s[0] != expectAbsent && s[0] != expectValue {
		return e, nil, fmt.Errorf("%w: unknown expectation %#02x", ErrBatch, s[0])
	}
	e.Absent = s[0] == expectAbsent
	if e.Column, e.Key, rest, err = cutTarget(s); err != nil || e.Absent {
		return e, rest, err
	}
	var ok bool
	if e.Want, rest, ok = cut(rest); !ok {
		return e, nil, fmt.Errorf("%w: a value is cut short or its length is not minimal", ErrBatch)
	}
	return e, rest, nil
}

// cutTarget splits a tag, a column and a key off s.
func cutTarget(s []byte) (col column.Column, key, rest []byte, err error) {
	if len(s) < 2 {
		return 0, nil, nil, fmt.Errorf("%w: cut short", ErrBatch)
	}
	col = column.Column(s[1])
	if err := CheckColumn(col); err != nil {
		return 0, nil, nil, err
	}
	key, rest, ok := cut(s[2:])
	if !ok {
		return 0, nil, nil, fmt.Errorf("%w: a key of %s is cut short or its length is not minimal", ErrBatch, col)
	}
	return col, key, rest, nil
}

func (op Op) check() error {
	if op.Kind != KindDeleteRange {
		return checkSizes(op.Key, op.Value)
	}
	if bytes.Compare(op.Key, op.Value) >= 0 {
		return fmt.Errorf("%w: the end of a range of %s is not after its start", ErrBatch, op.Column)
	}
	// The first key after the longest one is one byte longer.
	if len(op.Value) > MaxKey+1 {
		return fmt.Errorf("%w: end of a range of %d bytes, at most %d", ErrTooLarge, len(op.Value), MaxKey+1)
	}
	return checkSizes(op.Key, nil)
}

func checkSizes(key, value []byte) error {
	if len(key) > MaxKey {
		return fmt.Errorf("%w: key of %d bytes, at most %d", ErrTooLarge, len(key), MaxKey)
	}
	if len(value) > MaxValue {
		return fmt.Errorf("%w: value of %d bytes, at most %d", ErrTooLarge, len(value), MaxValue)
	}
	return nil
}
