package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/keys"
)

// field is one field of a record as text. The path of a nested one has dots and
// indexes, as services[1].name.
type field struct{ path, text string }

// meaning returns what a number says to people: the time of a stamp in seconds, the
// names of a set of capabilities; "" for any other field.
func (f field) meaning() string {
	name := f.path[strings.LastIndexByte(f.path, '.')+1:]
	n, err := strconv.ParseUint(f.text, 10, 64)
	switch {
	case err != nil:
		return ""
	case (name == "at" || strings.HasSuffix(name, "_at")) && n > 0 && n < yearTenThousand:
		return stamp(n)
	case name == "capabilities" || name == "capability":
		return codec.Capabilities(n).String()
	}
	return ""
}

// yearTenThousand is the first second that RFC 3339 has no text for.
const yearTenThousand = 253_402_300_800

// flatten returns the fields of a JSON object that this program has made, in
// their order.
func flatten(object json.RawMessage) ([]field, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	var fields []field
	err := walk(d, "", func(path, text string) {
		if path == "hlc.id" || strings.HasSuffix(path, ".hlc.id") {
			if id, err := codec.ParseNodeID(text); err == nil {
				text = id.Hex() // as everything else that people are shown
			}
		}
		fields = append(fields, field{path, text})
	})
	return fields, err
}

// walk calls show with the path and the text of each leaf of the next value.
func walk(d *json.Decoder, path string, show func(path, text string)) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	switch t := t.(type) {
	case json.Delim:
		return walkInto(d, t, path, show)
	case string:
		show(path, plain(t))
	case nil:
		show(path, "none")
	default:
		show(path, fmt.Sprint(t))
	}
	return nil
}

// walkInto is walk for the inside of an object or a list.
func walkInto(d *json.Decoder, open json.Delim, path string, show func(path, text string)) error {
	count := 0
	for ; d.More(); count++ {
		inner := fmt.Sprintf("%s[%d]", path, count)
		if open == '{' {
			name, err := d.Token()
			if err != nil {
				return err
			}
			inner = strings.TrimPrefix(path+"."+name.(string), ".")
		}
		if err := walk(d, inner, show); err != nil {
			return err
		}
	}
	if count == 0 && path != "" {
		show(path, "empty")
	}
	_, err := d.Token()
	return err
}

// plain returns s as it is where that is clear and harmless on a terminal, else
// quoted.
func plain(s string) string {
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) || strings.TrimSpace(s) != s {
		return strconv.Quote(s)
	}
	return s
}

// writeFields writes the fields of an object, one a line, aligned. Those named
// in raw are bytes in hex, and get beside them what they say, if that is text.
func writeFields(w io.Writer, object json.RawMessage, raw []string, indent string) error {
	fields, err := flatten(object)
	if err != nil {
		return err
	}
	var t table
	for _, f := range fields {
		if slices.Contains(raw, f.path) {
			f.text = withText(f.text)
		} else if means := f.meaning(); means != "" {
			f.text += "  " + means
		}
		t.add(f.path, f.text)
	}
	if len(fields) == 0 {
		t.add("no fields")
	}
	t.write(w, indent)
	return nil
}

// rawFields returns the names of the fields of a value type that are bytes.
func rawFields(t codec.Type) (names []string) {
	for _, f := range t.Fields {
		if f.Kind == "raw bytes" || f.Kind == "Vec<u8>" {
			names = append(names, f.Name)
		}
	}
	return names
}

// rawParts returns the names of the parts of a key type that are bytes.
func rawParts(i keys.Info) (names []string) {
	for _, f := range i.Fields {
		if f.Bytes == 0 {
			names = append(names, f.Name)
		}
	}
	return names
}

// readable returns bytes as quoted text if they are printable text, so that it
// can stand beside their hex.
func readable(b []byte) (string, bool) {
	text := string(b)
	quoted := strconv.Quote(text)
	if text == "" || len(text) > 256 || quoted != `"`+text+`"` {
		return "", false
	}
	return quoted, true
}

// withText appends to the hex of raw bytes what they say, if that is text.
func withText(text string) string {
	if said, ok := readableHex(text); ok {
		return text + "  " + said
	}
	return text
}

// inline returns the text of the field for a line of several: what bytes say
// instead of their hex, and only the beginning of what is long.
func (f field) inline(raw []string) string {
	if slices.Contains(raw, f.path) {
		if said, ok := readableHex(f.text); ok {
			return shortened(said, lineText)
		}
	}
	if means := f.meaning(); means != "" {
		return f.text + " (" + means + ")"
	}
	return shortened(f.text, lineText)
}

func readableHex(text string) (string, bool) {
	b, err := hex.DecodeString(text)
	if err != nil {
		return "", false
	}
	return readable(b)
}
