package view

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/namespace"
)

// longText is how much of a text a label has.
const longText = 40

// contentOf returns what an op does as JSON, without secrets, and the kind of op it is;
// nil where that cannot be read.
func contentOf(op *namespace.OpInfo) (content json.RawMessage, kind string, err error) {
	var b []byte
	name := "GroupOp"
	switch {
	case op.Root != nil:
		name, kind = "RootOp", op.Root.Kind.String()
		b, err = op.Root.AppendBinary(nil)
	case op.Body != nil:
		kind = op.Body.Kind.String()
		b, err = op.Body.AppendBinary(nil)
	default:
		return nil, "", nil
	}
	t, known := codec.TypeByName(name)
	if err == nil && !known {
		err = fmt.Errorf("view: no type %s", name)
	}
	if err != nil {
		return nil, "", err
	}
	content, err = t.JSON(b, false)
	return content, kind, err
}

// brief says in a line what an op does: its kind, the group that it is of (empty: it is
// clear to all members), and the fields that people read, with names where there are some.
func brief(kind, of string, content json.RawMessage, named map[string]string) (string, error) {
	what := strings.ReplaceAll(kind, "_", " ")
	if of != "" {
		what += " in " + called(of, named)
	}
	var fields []string
	d := json.NewDecoder(bytes.NewReader(content))
	d.UseNumber()
	err := leaves(d, "", func(field, text string) {
		switch field {
		case "kind", kind, "signature", "joiner_signature", "placement", "salt", "ephemeral", "sealed", "nonce":
			return
		}
		if n, err := strconv.ParseUint(text, 10, 64); err == nil {
			if field == "at" || strings.HasSuffix(field, "_at") {
				if n == 0 {
					return
				}
				if at := stamp(n); at != "" {
					text = at
				}
			} else if strings.HasPrefix(field, "capabilit") {
				text = spaced(codec.Capabilities(n).String())
			}
		}
		if id, err := hex.DecodeString(text); err == nil && len(id) == 32 {
			if bytes.Equal(id, make([]byte, 32)) {
				return
			}
			text = called(text, named)
		}
		if r := []rune(text); len(r) > longText {
			text = string(r[:longText]) + "…"
		}
		fields = append(fields, strings.ReplaceAll(strings.TrimSuffix(field, "_id"), "_", " ")+" "+text)
	})
	if len(fields) > 0 {
		what += ": " + strings.Join(fields, ", ")
	}
	return what, err
}

// called returns the name of an id, or its first digits.
func called(id string, named map[string]string) string {
	if name := named[id]; name != "" {
		return name
	}
	return id[:shownDigits] + "…"
}

// stamp returns unix seconds as RFC 3339 has them; of years that it has not, none.
func stamp(seconds uint64) string {
	if seconds == 0 || seconds >= 1<<37 { // its author's words
		return ""
	}
	return time.Unix(int64(seconds), 0).UTC().Format(time.RFC3339)
}

// spaced returns a set of flags for people.
func spaced(flags string) string {
	return strings.ReplaceAll(strings.ReplaceAll(flags, "|", ", "), "_", " ")
}

// leaves calls show with every text, number and flag of the next value, and the name of
// the nearest field that it is in.
func leaves(d *json.Decoder, field string, show func(field, text string)) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	open, nested := t.(json.Delim)
	if !nested {
		if t != nil {
			show(field, fmt.Sprint(t))
		}
		return nil
	}
	for d.More() {
		inner := field
		if open == '{' {
			name, err := d.Token()
			if err != nil {
				return err
			}
			inner = name.(string) // the decoder lets nothing else pass
		}
		if err := leaves(d, inner, show); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}
