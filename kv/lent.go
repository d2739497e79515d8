package kv

import (
	"context"
	"iter"

	"github.com/stoadb/stoa/engine"
)

// Lent is All for who keeps nothing of the records: the value of each is valid until the
// next one.
func (v *View) Lent(ctx context.Context, prefix []byte) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for r, err := range v.rows(ctx, ShapeRecord, prefix) {
			if err == nil && r.expired(v.time()) {
				continue
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// Older yields what is kept of the keys of a space with rules before their newest revision,
// in order of the keys and then of the revisions. The value of each is valid until the next
// one.
func (v *View) Older(ctx context.Context) iter.Seq2[Record, error] {
	return v.rows(ctx, ShapeRevision, nil)
}

// rows yields the records that rows of a shape have, ShapeRecord or ShapeRevision, expired or
// not, and ends with the first error.
func (v *View) rows(ctx context.Context, shape Shape, prefix []byte) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if err := v.store.open(); err != nil {
			yield(Record{}, err)
			return
		}
		base := append(v.scope[:len(v.scope):len(v.scope)], byte(shape))
		for row, err := range scanRows(ctx, v.reader, engine.Prefixed(append(base, prefix...))) {
			key := row.Key
			if shape == ShapeRevision {
				key = row.Name
			}
			var r Record
			if err == nil {
				r, err = parseRecord(row.raw, key, row.value)
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}
