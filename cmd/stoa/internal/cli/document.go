package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/keys"
)

// documentText is the most bytes of a document on a line.
const documentText = 2000

// DocumentLine returns what a row of a collection says, on one line; a long document is
// cut.
func DocumentLine(d *inspect.Document) string {
	parts := []string{Plain(d.Tenant), Plain(d.Collection), d.Row}
	for _, name := range []string{d.Kept, d.Index, d.Change, d.ID} {
		if name != "" {
			parts = append(parts, Plain(name))
		}
	}
	if d.Revision > 0 {
		parts = append(parts, fmt.Sprintf("revision=%d", d.Revision))
	}
	if d.Document != nil {
		parts = append(parts, Shorten(Plain(string(d.Document)), documentText))
	}
	return strings.Join(parts, " ")
}

// KeyValuesLine returns a row of key-values by what is in its key, on one line; long
// fields are cut.
func KeyValuesLine(info keys.Info, kv, value json.RawMessage) (string, error) {
	key, err := Inline(kv, nil)
	if err != nil {
		return "", err
	}
	text, err := Inline(value, RawFields(info.Value))
	return strings.TrimRight(info.Name+"  "+key+"  "+text, " "), err
}

// WriteDocument writes what a row of a collection says, the document over several lines.
func WriteDocument(w io.Writer, d *inspect.Document) {
	short := *d
	short.Document = nil
	fmt.Fprintln(w, DocumentLine(&short))
	if d.Document == nil {
		return
	}
	var indented bytes.Buffer
	if Plain(string(d.Document)) != string(d.Document) || json.Indent(&indented, d.Document, "  ", "  ") != nil {
		indented.Reset()
		indented.WriteString(Plain(string(d.Document)))
	}
	fmt.Fprintf(w, "  %s\n", indented.Bytes())
}
