package kv

import (
	"bytes"
	"context"
	"iter"
	"slices"

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

// Past is a revision of a key before its newest one.
type Past struct {
	Key      []byte
	Revision uint64
}

// Older yields what is kept of the keys of a space with rules before their newest revision,
// in order of the keys and then of the revisions: what is beyond the rules has no part in it,
// though it may not have gone yet. The key of each is valid until the next one.
func (v *View) Older(ctx context.Context) iter.Seq2[Past, error] {
	return func(yield func(Past, error) bool) {
		stats, err := v.Stats()
		if err != nil {
			yield(Past{}, err)
			return
		}
		var key []byte
		var list []uint64 // of the key, the newest
		told := func() bool {
			for _, revision := range list {
				if !yield(Past{key, revision}, nil) {
					return false
				}
			}
			return true
		}
		for r, err := range v.rows(ctx, ShapeRevision, nil) {
			if err != nil {
				yield(Past{}, err)
				return
			}
			if !bytes.Equal(r.Key, key) {
				if !told() {
					return
				}
				key, list = append(key[:0], r.Key...), list[:0]
			}
			if list = append(list, r.Revision); len(list) > stats.Rules.History-1 {
				list = slices.Delete(list, 0, 1)
			}
		}
		told()
	}
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
