package record

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/document"
)

// RowKind says what a row of a collection's space is.
type RowKind uint8

// The kinds of rows.
const (
	RowRecord  RowKind = iota + 1 // a document
	RowCounter                    // how many ids a day has been given
	RowKept                       // what the collection keeps for itself
)

// Row is what kv stores of a collection under one key, for whoever reads a store
// without a Store.
type Row struct {
	Kind  RowKind
	Name  string // of a record its id, of a counter its day as 20251130, of what is kept its name
	Doc   Doc    // of a record
	Count uint64 // of a counter: the last number that was given
	Kept  []byte
}

// ParseRow returns what a row of the space of the collection says, as kv stores it; a Row
// of no kind for one that only follows from others. It returns engine.ErrCorrupt, with
// the reason, for what no row of a collection is. What it returns shares memory with
// value.
func (c *Collection) ParseRow(row kv.Row, value []byte) (Row, error) {
	switch row.Shape {
	case kv.ShapeKept:
		return c.parseKept(string(row.Key), value)
	case kv.ShapeRecord:
	default:
		return Row{}, nil
	}
	r, _, err := kv.RecordOf(row, value)
	if err != nil || r.Kind != kv.Put {
		return Row{}, err
	}
	d, err := c.doc(r)
	if err != nil {
		return Row{}, unread("it has no document")
	}
	if !c.ID.fits(d.ID) || !bytes.Equal(c.ID.key(d.ID), row.Key) {
		return Row{}, unread("its key is that of no id of the collection")
	}
	return Row{Kind: RowRecord, Name: d.ID, Doc: d}, nil
}

func unread(reason string) error { return fmt.Errorf("%w: %s", engine.ErrCorrupt, reason) }

// parseKept is what is kept under a name in the space of the collection.
func (c *Collection) parseKept(name string, value []byte) (Row, error) {
	if kept, ok := strings.CutPrefix(name, keptName); ok {
		return Row{Kind: RowKept, Name: kept, Kept: value}, nil
	}
	day, ok := strings.CutPrefix(name, counterName)
	at, err := time.Parse(dayLayout, day)
	switch {
	case !ok:
		return Row{}, unread("a name that the collection keeps nothing under")
	case c.ID.Kind != idDaily || c.Placer != nil || err != nil || at.Format(dayLayout) != day:
		return Row{}, unread("a counter of no day of the collection")
	case len(value) != 8:
		return Row{}, unread("a counter that is no number of 8 bytes")
	}
	return Row{Kind: RowCounter, Name: day, Count: binary.BigEndian.Uint64(value)}, nil
}

// DocumentOf is the document of a record of the collection's space as kv has it; false
// if there is none in canonical form. It shares memory with the record.
func (c *Collection) DocumentOf(r kv.Record) (json.RawMessage, bool) {
	_, doc := cut(r.Value)
	canonical, err := document.Canonical(doc)
	return doc, err == nil && bytes.Equal(canonical, doc)
}

// WithoutSecrets is the value of a record of the collection's space without what is
// writeOnly; false if it has no document in canonical form.
func (c *Collection) WithoutSecrets(r kv.Record) ([]byte, bool) {
	doc, ok := c.DocumentOf(r)
	if !ok {
		return nil, false
	}
	ordinal, _ := cut(r.Value)
	return stored(ordinal, c.Without(doc)), true
}

// IDOf is the id of the record of a key of the collection's space.
func (c *Collection) IDOf(key []byte) string { return c.ID.of(key) }

// IndexName is the name of the index of a number; all for that which every collection
// has.
func (c *Collection) IndexName(number uint16) string {
	for _, i := range c.Indexes {
		if i.Number == number {
			return i.Name
		}
	}
	return "all"
}

// Verify returns what of the declaration a stored document does not hold to; nil: it
// holds to all of it. What Prepare makes of a document is asked too, unless it is only
// for new ones, as where records are only appended. The states that it has come through,
// and what other records say, are not looked at.
func (c *Collection) Verify(d Doc) error {
	canonical, err := document.Canonical(d.JSON)
	switch {
	case err != nil:
		return malformed("doc", "%s", err)
	case document.Kind(canonical) != '{':
		return malformed("doc", "it is to be an object")
	case !bytes.Equal(canonical, d.JSON):
		return malformed("doc", "it is not in canonical form")
	case d.Ordinal == 0 || d.Ordinal > d.Revision:
		return malformed("doc", "its ordinal %d is no revision up to its own, %d", d.Ordinal, d.Revision)
	}
	if id, _ := document.Text(document.Field(d.JSON, document.Path{c.ID.Field})); id != d.ID {
		return malformed(c.ID.Field, "it says that its id is %q", shortened(id))
	}
	if err := c.check(d.JSON); err != nil {
		return err
	}
	utc, err := c.schema.inUTC(d.JSON)
	if err == nil && !c.AppendOnly {
		utc, err = c.prepared(utc)
	}
	if err != nil {
		return err
	}
	if !bytes.Equal(utc, d.JSON) {
		return malformed("doc", "it is not as a write would have left it")
	}
	if err := c.checkLifetime(d); err != nil {
		return err
	}
	if c.States != nil && !c.States.known(c.States.of(d.JSON)) {
		return malformed(c.States.Field, "the collection has no state %q", shortened(c.States.of(d.JSON)))
	}
	return c.nameable(d)
}

// known reports whether the machine has a state.
func (s *States) known(state string) bool {
	if state == s.Initial || s.In[state] != nil || s.Transitions[state] != nil {
		return true
	}
	for _, next := range s.Transitions {
		if slices.Contains(next, state) {
			return true
		}
	}
	return false
}

// nameable refuses a document whose own literal keys would not be read as its own.
func (c *Collection) nameable(d Doc) error {
	for _, k := range c.Keys {
		if k.Counter || k.Index != "" {
			continue
		}
		want := k.valuesOf(d.JSON)
		if got, ok := k.match(k.of(want)); !ok || !slices.Equal(got, want) {
			return malformed(strings.Join(k.values, ", "), "by its key %s it can't be found: a part of it is empty", k.Pattern)
		}
	}
	return nil
}

// valuesOf are the texts that a document has for the names in braces.
func (k *Key) valuesOf(doc json.RawMessage) []string {
	values := make([]string, len(k.values))
	for i, field := range k.values {
		values[i], _ = document.Text(document.Field(doc, document.ParsePath(field)))
	}
	return values
}
