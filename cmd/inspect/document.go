package inspect

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/record"
)

// Document is what a row of a collection says, for people.
type Document struct {
	Tenant     string          `json:"tenant"`
	Collection string          `json:"collection"`
	Row        string          `json:"row"`            // its shape: record, log, index, …
	ID         string          `json:"id,omitempty"`   // of the record
	Kept       string          `json:"kept,omitempty"` // of what is kept beside the records, its name
	Index      string          `json:"index,omitempty"`
	Change     string          `json:"change,omitempty"` // of the log: what was done
	Revision   uint64          `json:"revision,string,omitempty"`
	Document   json.RawMessage `json:"document,omitempty"` // of what is kept, a number or what else is JSON; of the space, what it counts
}

// Printer makes of rows what is shown of them: documents of collections as JSON, with the
// names of their tenants, and secrets redacted unless they are asked for. It is not safe
// for concurrent use.
type Printer struct {
	spaces *spaces
	reveal bool
	names  map[string][]byte // of spaces and tenants, where they come with the rows; nil: they are looked up
}

// Printer returns one of the rows of the store.
func (s *Source) Printer(reveal bool) *Printer { return &Printer{spaces: s.spaces(), reveal: reveal} }

// NewPrinter returns one of the rows of a store, whose names it looks up there.
func NewPrinter(g engine.Getter, reveal bool) *Printer {
	if s, ok := g.(*Source); ok {
		return s.Printer(reveal)
	}
	return &Printer{spaces: spacesOf(g), reveal: reveal}
}

// mostNames is how many names a Printer remembers that come with the rows.
const mostNames = 10_000

// newLogPrinter returns one of rows that come in the order in which they were written,
// of a store that is not to be read.
func newLogPrinter() *Printer {
	p := &Printer{names: map[string][]byte{}}
	p.spaces = spacesOf(nil)
	p.spaces.get = func(key []byte) ([]byte, error) {
		if name, ok := p.names[string(key)]; ok {
			return name, nil
		}
		return nil, engine.ErrNotFound
	}
	return p
}

// learn remembers the name of a space or of a tenant that comes with the rows.
func (p *Printer) learn(row kv.Row, key, value []byte) {
	if p.names == nil || row.Shape != kv.ShapeSpaceName && row.Shape != kv.ShapeTenantName {
		return
	}
	if len(p.names) == mostNames {
		clear(p.names)
	}
	p.names[string(key)] = bytes.Clone(value)
	p.spaces.last = nil
}

// Hides reports whether the value of a row is not shown as it is, because it is a secret,
// has one, or may have one. Errors are those of looking up names.
func (p *Printer) Hides(col column.Column, key, value []byte) (bool, error) {
	if p.reveal {
		return false, nil
	}
	if keys.Secret(col, key) {
		return true, nil
	}
	_, hidden, err := p.document(col, key, value)
	return hidden, err
}

// document returns what a row of a collection says; nil if it is none. Hidden is whether
// its value is not to be shown as it is: it has what is writeOnly, or nobody knows.
func (p *Printer) document(col column.Column, key, value []byte) (d *Document, hidden bool, err error) {
	if col != column.Generic || !keys.Scope(key).IsKV() {
		return nil, false, nil
	}
	row, err := kv.ParseRow(key)
	if err != nil {
		return nil, false, nil
	}
	p.learn(row, key, value)
	in, err := p.spaces.of(row.Scope)
	if err != nil || in == nil || in.System != kv.SystemRecord {
		return nil, false, err
	}
	has := hasDocument(row)
	if in.Collection == nil {
		return nil, has, nil
	}
	d = &Document{Tenant: in.Tenant, Collection: in.Name, Row: row.Shape.String()}
	r, whole, err := kv.RecordOf(row, value)
	switch {
	case err != nil:
		return d, has && in.secret(), nil
	case row.Shape == kv.ShapeIndex:
		d.Index, d.ID = in.Collection.IndexName(row.Index), in.id(row.Key)
	case row.Shape == kv.ShapeMeta:
		if m, err := kv.StatsOf(row, value); err == nil {
			d.Document = fmt.Appendf(nil, `{"bytes":%d,"floor":%d,"keys":%d,"revision":%d}`, m.Bytes, m.Floor, m.Keys, m.Revision)
		}
	case row.Shape == kv.ShapeHistory:
		d.ID = in.id(row.Key)
	case row.Shape == kv.ShapeKept:
		return p.kept(d, in, row, value)
	case has:
		d.ID, d.Revision = in.id(r.Key), r.Revision
		if row.Shape == kv.ShapeLog {
			d.Change = r.Kind.String()
		}
		if !whole || len(r.Value) == 0 {
			return d, false, nil
		}
		text, ok := in.Collection.DocumentOf(r)
		if !ok {
			return d, in.secret(), nil
		}
		d.Document = in.Collection.Redacted(text)
		hidden = !bytes.Equal(d.Document, text)
		if p.reveal {
			d.Document = text
		}
		return d, hidden, nil
	}
	return d, false, nil
}

// hasDocument reports whether rows of a shape have documents of a collection, or what it
// keeps for itself.
func hasDocument(row kv.Row) bool {
	switch row.Shape {
	case kv.ShapeRecord, kv.ShapeRevision, kv.ShapeLog, kv.ShapeKept:
		return true
	}
	return false
}

// secret reports whether documents of the space may have what is writeOnly.
func (s *space) secret() bool { return len(s.Collection.Withheld()) > 0 }

// kept shows what a collection keeps beside its records.
func (p *Printer) kept(d *Document, in *space, row kv.Row, value []byte) (*Document, bool, error) {
	d.Kept = string(row.Key)
	stored, err := in.Collection.ParseRow(row, value)
	switch {
	case err != nil:
	case stored.Kind == record.RowCounter:
		d.Document = fmt.Append(nil, stored.Count)
	default:
		if _, err := document.Canonical(stored.Kept); err == nil {
			d.Document = bytes.Clone(stored.Kept)
		}
	}
	return d, false, nil
}

// Record returns the row; secrets, and a value that does not parse, are shown only where
// they are asked for. Names that can't be looked up are not known.
func (p *Printer) Record(col column.Column, key, value []byte) Record {
	r := recordOf(col, key)
	if r.Type == "" {
		r.hideOrShow(value, p.reveal)
		return r
	}
	if id := sealedWith(col, key, value); id != "" {
		r.Sealed = id
		return r
	}
	info, _ := keys.Identify(col, key) // recordOf has found it
	var err error
	r.Document, r.Value, err = p.Value(info, key, value)
	if err != nil {
		r.Value, r.Fault = nil, err.Error()
		r.hideOrShow(value, p.reveal)
	}
	return r
}

// Value returns the value of a row that parses as JSON, with its secrets redacted unless
// they are asked for, and what it says if it is of a collection. It returns an error that
// is codec.ErrMalformed if it does not parse.
func (p *Printer) Value(info keys.Info, key, value []byte) (*Document, json.RawMessage, error) {
	d, hidden, err := p.document(info.Column, key, value)
	if err != nil {
		return nil, nil, err
	}
	if !p.reveal && (hidden || !info.Secret && keys.Secret(info.Column, key)) { // raw bytes
		sum := sha256.Sum256(value)
		text, err := json.Marshal(map[string]string{"value": fmt.Sprintf("redacted:%x", sum[:4])})
		return d, text, err
	}
	text, err := info.Value.JSON(value, p.reveal)
	return d, text, err
}
