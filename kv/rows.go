package kv

import (
	"context"
	"iter"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// storedRow is a row, and the bytes of its key and its value, which are valid
// until the next one.
type storedRow struct {
	Row
	raw, value []byte
}

// under returns the range of the rows of a shape whose first text is name.
func under(scope keys.Scope, shape Shape, names ...[]byte) engine.Range {
	prefix := append(scope[:len(scope):len(scope)], byte(shape))
	for _, name := range names {
		prefix = appendText(prefix, name)
	}
	return engine.Prefixed(prefix)
}

// scanRows yields the rows of a range of the Generic column, in the state that it
// has now, parsed. It ends with the error of ctx or of reading, if there is one;
// a key that does not parse is an error too, after which it goes on if it may.
func scanRows(ctx context.Context, r engine.Reader, in engine.Range) iter.Seq2[storedRow, error] {
	return func(yield func(storedRow, error) bool) {
		it, err := r.Iterate(column.Generic, in)
		if err != nil {
			yield(storedRow{}, err)
			return
		}
		defer func() { _ = it.Close() }()
		for it.Next() {
			if err := ctx.Err(); err != nil {
				yield(storedRow{}, err)
				return
			}
			row, err := ParseRow(it.Key())
			if !yield(storedRow{row, it.Key(), it.Value()}, err) {
				return
			}
		}
		if err := it.Err(); err != nil {
			yield(storedRow{}, err)
		}
	}
}
