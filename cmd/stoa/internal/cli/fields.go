package cli

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/keys"
)

// Field is one field of a record as text. The path of a nested one has dots and
// indexes, as services[1].name.
type Field struct{ Path, Text string }

// Meaning returns what a number says to people: the time of a stamp in seconds, the
// names of a set of capabilities; "" for any other field.
func (f Field) Meaning() string {
	name := f.Path[strings.LastIndexByte(f.Path, '.')+1:]
	n, err := strconv.ParseUint(f.Text, 10, 64)
	switch {
	case err != nil:
		return ""
	case (name == "at" || strings.HasSuffix(name, "_at")) && n > 0 && n < yearTenThousand:
		return UnixTime(n)
	case name == "capabilities" || name == "capability" || name == "default_capabilities":
		return codec.Capabilities(n).String()
	}
	return ""
}

// yearTenThousand is the first second that RFC 3339 has no text for.
const yearTenThousand = 253_402_300_800

// Flatten returns the fields of a JSON object that this program has made, in
// their order.
func Flatten(object json.RawMessage) ([]Field, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	var fields []Field
	err := walk(d, "", func(path, text string) {
		if path == "hlc.id" || strings.HasSuffix(path, ".hlc.id") {
			if id, err := codec.ParseNodeID(text); err == nil {
				text = id.Hex() // as everything else that people are shown
			}
		}
		fields = append(fields, Field{path, text})
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
		show(path, Plain(t))
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

// Plain returns s as it is where that is clear and harmless on a terminal, else
// quoted.
func Plain(s string) string {
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) || strings.TrimSpace(s) != s {
		return strconv.Quote(s)
	}
	return s
}

// RawFields returns the names of the fields of a value type that are bytes.
func RawFields(t codec.Type) (names []string) {
	for _, f := range t.Fields {
		if f.Kind == "raw bytes" || f.Kind == "Vec<u8>" {
			names = append(names, f.Name)
		}
	}
	return names
}

// RawParts returns the names of the parts of a key type that are bytes.
func RawParts(i keys.Info) (names []string) {
	for _, f := range i.Fields {
		if f.Bytes == 0 {
			names = append(names, f.Name)
		}
	}
	return names
}

// Readable returns bytes as quoted text if they are printable text, so that it
// can stand beside their hex.
func Readable(b []byte) (string, bool) {
	text := string(b)
	quoted := strconv.Quote(text)
	if text == "" || len(text) > 256 || quoted != `"`+text+`"` {
		return "", false
	}
	return quoted, true
}

// inline returns the text of the field for a line of several: what bytes say
// instead of their hex, and only the beginning of what is long.
func (f Field) inline(raw []string) string {
	if slices.Contains(raw, f.Path) {
		if said, ok := ReadableHex(f.Text); ok {
			return Shorten(said, LineText)
		}
	}
	if means := f.Meaning(); means != "" {
		return f.Text + " (" + means + ")"
	}
	return Shorten(f.Text, LineText)
}

// ReadableHex is Readable for bytes in hex.
func ReadableHex(text string) (string, bool) {
	b, err := hex.DecodeString(text)
	if err != nil {
		return "", false
	}
	return Readable(b)
}

// UnixTime returns a time of an op: its author's words, in unix seconds.
func UnixTime(seconds uint64) string { return time.Unix(int64(seconds), 0).UTC().Format(time.RFC3339) }

// RecordLine returns a record of a type, as JSON, for people, on one line; long fields are cut.
func RecordLine(info keys.Info, key, value json.RawMessage) (string, error) {
	keyText, err := Inline(key, RawParts(info))
	if err != nil {
		return "", err
	}
	valueText, err := Inline(value, RawFields(info.Value))
	if err != nil {
		return "", err
	}
	return strings.TrimRight(info.Name+"  "+keyText+"  "+valueText, " "), nil
}

// Inline returns the fields of an object on one line; bytes that are text are
// shown as that.
func Inline(object json.RawMessage, raw []string) (string, error) {
	fields, err := Flatten(object)
	if err != nil {
		return "", err
	}
	var parts []string
	for _, f := range fields {
		parts = append(parts, f.Path+"="+f.inline(raw))
	}
	return strings.Join(parts, " "), nil
}
