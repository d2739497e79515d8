package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/stoadb/stoa/cmd/inspect"
)

// documentText is the most bytes of a document on a line.
const documentText = 2000

// DocumentLine returns what a row of a collection says, on one line; a long document is
// cut.
func DocumentLine(d *inspect.Document) string {
	parts := []string{Plain(d.Tenant), Plain(d.Collection)}
	switch {
	case d.Kept != "":
		parts = append(parts, "keeps", Plain(d.Kept))
	case d.Index != "":
		parts = append(parts, "index", d.Index, Plain(d.ID))
	case d.Change != "":
		parts = append(parts, d.Change, Plain(d.ID))
	default:
		parts = append(parts, Plain(d.ID))
	}
	if d.Revision > 0 {
		parts = append(parts, fmt.Sprintf("revision=%d", d.Revision))
	}
	if d.Document != nil {
		parts = append(parts, Shorten(Plain(string(d.Document)), documentText))
	}
	return strings.Join(parts, " ")
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
