package kv

import (
	"bytes"
	"context"
	"iter"

	"github.com/stoadb/stoa/engine"
)

// Lent is All for who keeps nothing of the records: the bytes of each are valid until the
// next one.
func (v *View) Lent(ctx context.Context, prefix []byte) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if err := v.store.open(); err != nil {
			yield(Record{}, err)
			return
		}
		base := Row{Scope: v.scope, Shape: ShapeRecord}.AppendKey(nil)
		for row, err := range scanRows(ctx, v.reader, engine.Prefixed(append(base, prefix...))) {
			var r Record
			if err == nil {
				r, err = parseRecord(row.raw, row.Key, row.value)
			}
			if err == nil && r.expired(v.time()) {
				continue
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// Older yields what is kept of the keys of a space with rules before their newest revision,
// in order of the keys and then of the revisions. The bytes of each are valid until the next
// one.
func (v *View) Older(ctx context.Context, prefix []byte) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if err := v.store.open(); err != nil {
			yield(Record{}, err)
			return
		}
		base := append(v.scope[:len(v.scope):len(v.scope)], byte(ShapeRevision))
		for row, err := range scanRows(ctx, v.reader, engine.Prefixed(append(base, bytes.ReplaceAll(prefix, []byte{0}, []byte{0, zeroEscaped})...))) {
			var r Record
			if err == nil {
				r, err = parseRecord(row.raw, row.Name, row.value)
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}
