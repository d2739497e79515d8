package records

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/keys"
)

// row is a stored record.
type row struct {
	info       keys.Info
	key, value []byte
}

// rowDoc is a record as JSON.
type rowDoc struct {
	Column string          `json:"column"`
	Type   string          `json:"type"`
	Key    json.RawMessage `json:"key"`
	Value  json.RawMessage `json:"value,omitempty"`
	// KV is what a row of key-values has in its key.
	KV json.RawMessage `json:"kv,omitempty"`
	// Record is what a row of a collection says.
	Record *inspect.Document `json:"record,omitempty"`
}

// malformed is why a stored record does not parse.
type malformed struct {
	column column.Column
	key    []byte
	err    error
}

func (m *malformed) Error() string { return fmt.Sprintf("%s %x: %v", m.column, m.key, m.err) }

func (m *malformed) Unwrap() error { return m.err }

// newRow returns the record that is stored under key. A key that does not parse
// is damage.
func newRow(col column.Column, key, value []byte) (row, error) {
	info, err := keys.Identify(col, key)
	if err != nil {
		return row{}, damaged(&malformed{col, key, err})
	}
	return row{info, key, value}, nil
}

// doc returns the record as JSON, as p shows it. A value that does not parse is damage.
func (r row) doc(p *inspect.Printer) (d rowDoc, err error) {
	d = rowDoc{Column: r.info.Column.String(), Type: r.info.Name, KV: inspect.KeyValues(r.info.Column, r.key)}
	if d.Key, err = r.info.KeyJSON(r.key); err == nil {
		d.Record, d.Value, err = p.Value(r.info, r.key, r.value)
	}
	if err != nil {
		return d, damaged(&malformed{r.info.Column, r.key, err})
	}
	return d, nil
}

// write writes the record for people, one field a line.
func (d rowDoc) write(w io.Writer, info keys.Info) error {
	fmt.Fprintf(w, "%s in %s\n", d.Type, d.Column)
	if err := writeFields(w, d.Key, cli.RawParts(info), "  "); err != nil {
		return err
	}
	if d.Record != nil {
		cli.WriteDocument(w, d.Record)
		return nil
	}
	fmt.Fprintln(w, info.Value.Name)
	return writeFields(w, d.Value, cli.RawFields(info.Value), "  ")
}

// line returns the record for people, on one line; long fields are cut.
func (d rowDoc) line(info keys.Info) (string, error) {
	if d.Record != nil {
		return info.Name + "  " + cli.DocumentLine(d.Record), nil
	}
	if d.KV != nil {
		return cli.KeyValuesLine(info, d.KV, d.Value)
	}
	return cli.RecordLine(info, d.Key, d.Value)
}

// keyText returns the type and the fields of a key, on one line.
func keyText(info keys.Info, key []byte) string {
	object, err := info.KeyJSON(key)
	if err != nil {
		return fmt.Sprintf("%s %x", info.Name, key)
	}
	text, err := cli.Inline(object, cli.RawParts(info))
	if err != nil {
		return fmt.Sprintf("%s %x", info.Name, key)
	}
	return info.Name + " " + text
}

// damaged returns a failure for stored bytes that do not parse.
func damaged(err error) error {
	return cli.Fail(cli.ExitDamage, err, "the stored bytes are damaged, or were written by another version of the schema")
}
