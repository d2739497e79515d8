package inspect

import (
	"bytes"
	"encoding/json"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/record"
)

// secretFields leaves what is writeOnly out of the rows of collections, on their way into
// a dump without secrets: out of documents, changes and history, and out of what the
// space counts, so that the rows fit each other as if it had never been set.
type secretFields struct {
	walk   *walker
	source *Source
	spaces *spaces
	reveal bool // nothing is left out
}

// left returns the value of a row as it is then, and, of a record, the fields that it has
// lost. A row that does not parse stays as it is.
func (f *secretFields) left(col column.Column, key, value []byte) (left []byte, fields []string, err error) {
	if f.reveal || col != column.Generic || !keys.Scope(key).IsKV() {
		return value, nil, nil
	}
	row, err := kv.ParseRow(key)
	if err != nil {
		return value, nil, nil
	}
	in, err := f.spaces.of(row.Scope)
	if err != nil || in == nil || in.Collection == nil || !in.secret() {
		return value, nil, err
	}
	if row.Shape == kv.ShapeMeta {
		return f.counters(in, row, value)
	}
	left, doc, ok := without(in.Collection, row, value)
	if !ok || bytes.Equal(left, value) {
		return value, nil, nil
	}
	if row.Shape == kv.ShapeRecord {
		fields = lost(in.Collection, doc)
	}
	return left, fields, nil
}

// without is the value of a row without what is writeOnly, and the document that it had;
// false for a row that has none.
func without(c *record.Collection, row kv.Row, value []byte) (left, doc []byte, ok bool) {
	r, whole, err := kv.RecordOf(row, value)
	if err != nil || !whole || len(r.Value) == 0 {
		return nil, nil, false
	}
	rest, ok := c.WithoutSecrets(r)
	if !ok {
		return nil, nil, false
	}
	doc, _ = c.DocumentOf(r)
	return kv.WithValue(row, value, rest), doc, true
}

// lost are the fields of a document that are writeOnly and there.
func lost(c *record.Collection, doc []byte) (fields []string) {
	for _, name := range c.Withheld() {
		there := false
		_, _ = document.Each(doc, document.ParsePath(name), func(v json.RawMessage) (json.RawMessage, error) {
			there = true
			return v, nil
		}) // the function has no error
		if there {
			fields = append(fields, name)
		}
	}
	return fields
}

// counters is what a space counts once its records have lost what is writeOnly.
func (f *secretFields) counters(in *space, meta kv.Row, value []byte) ([]byte, []string, error) {
	less := uint64(0)
	records := engine.Prefixed(append(meta.Scope[:len(meta.Scope):len(meta.Scope)], byte(kv.ShapeRecord)))
	err := f.walk.each(f.source, column.Generic, records, func(key, value []byte) error {
		if row, err := kv.ParseRow(key); err == nil {
			if left, _, ok := without(in.Collection, row, value); ok {
				less += uint64(len(value) - len(left))
			}
		}
		return nil
	})
	if err != nil && !isDamage(err) { // which the export meets again
		return nil, nil, err
	}
	left, err := kv.WithFewerBytes(meta, value, less)
	if err != nil {
		return value, nil, nil
	}
	return left, nil, nil
}
