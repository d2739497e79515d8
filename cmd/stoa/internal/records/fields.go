package records

import (
	"encoding/json"
	"io"
	"slices"

	"github.com/stoadb/stoa/cmd/stoa/internal/cli"
)

// writeFields writes the fields of an object, one a line, aligned. Those named
// in raw are bytes in hex, and get beside them what they say, if that is text.
func writeFields(w io.Writer, object json.RawMessage, raw []string, indent string) error {
	fields, err := cli.Flatten(object)
	if err != nil {
		return err
	}
	var t cli.Table
	for _, f := range fields {
		if slices.Contains(raw, f.Path) {
			f.Text = withText(f.Text)
		} else if means := f.Meaning(); means != "" {
			f.Text += "  " + means
		}
		t.Add(f.Path, f.Text)
	}
	if len(fields) == 0 {
		t.Add("no fields")
	}
	t.Write(w, indent)
	return nil
}

// withText appends to the hex of raw bytes what they say, if that is text.
func withText(text string) string {
	if said, ok := cli.ReadableHex(text); ok {
		return text + "  " + said
	}
	return text
}
