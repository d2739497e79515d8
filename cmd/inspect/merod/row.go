package merod

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Row is a row of a database of merod, explained. Secrets are redacted in it, and what does not parse
// is shown by its length and digest only: nobody knows that it holds none.
type Row struct {
	Column string `json:"column"`
	Type   string `json:"type,omitempty"`
	// Layout names the layouts that the value is of, with commas between them, the newest first: by the month of the
	// merod that was read to describe it, or "older".
	Layout string          `json:"layout,omitempty"`
	Key    json.RawMessage `json:"key,omitempty"`
	Value  json.RawMessage `json:"value,omitempty"`
	// Also is what the row says if it is of another layout, which fits as well, and says something else.
	Also   []Reading `json:"also,omitempty"`
	Notes  []string  `json:"notes,omitempty"` // what of it no merod of today would write
	KeyHex string    `json:"key_hex,omitempty"`
	Fault  string    `json:"fault,omitempty"` // why it is not explained
}

// Reading is what a value says in a layout.
type Reading struct {
	Type   string          `json:"type"`
	Layout string          `json:"layout"`
	Value  json.RawMessage `json:"value"`
}

// encryption is what a value is longer that merod has encrypted: version 1 ‖ nonce 12 ‖ AES-GCM with a tag of 16.
const encryption = 29

// Explain returns what a row says. Its memory is its own.
func Explain(family string, key, value []byte) Row {
	r := Row{Column: family}
	rules, known := layouts.rulesFor(family, key)
	if !known {
		return r.unknown(key, value, "no merod that is known has this column family")
	}
	var why []string
	for _, rule := range rules {
		if !rule.fits(key) || rule.fallback && r.Layout != "" {
			continue
		}
		d := decoder{in: value}
		if err := d.whole(rule.value); err != nil {
			r.Type = rule.kind
			why = append(why, rule.layouts+" "+err.Error())
			continue
		}
		r.add(rule, &d)
		if r.Key == nil {
			r.Key = rule.keyJSON(key)
		}
	}
	switch {
	case r.Layout != "":
		return r
	case r.Type == "":
		return r.unknown(key, value, "a key that no layout has")
	case len(value) >= encryption && value[0] == 1:
		return r.unknown(key, value, "of no layout; it may be encrypted, as merod does if it is told to: it begins with the version 1 of that")
	}
	return r.unknown(key, value, "of no layout: "+strings.Join(why, "; "))
}

// Kind returns what kind of row it is, and in which layouts; "" if that is not known. It is what
// Explain says, but for what the row says.
func Kind(family string, key, value []byte) (name, layout string) {
	rules, _ := layouts.rulesFor(family, key)
	for _, rule := range rules {
		if !rule.fits(key) || rule.fallback && layout != "" {
			continue
		}
		d := decoder{in: value, mute: true}
		switch {
		case d.whole(rule.value) != nil:
		case layout == "":
			name, layout = rule.kind, rule.layouts
		default:
			layout += "," + rule.layouts
		}
	}
	return name, layout
}

// add adds a reading.
func (r *Row) add(rule *rule, d *decoder) {
	if r.Layout == "" {
		r.Type, r.Layout, r.Value, r.Notes = rule.kind, rule.layouts, d.out, d.notes
		return
	}
	if r.Type == rule.kind && bytes.Equal(r.Value, d.out) {
		r.Layout += "," + rule.layouts
		return
	}
	r.Also = append(r.Also, Reading{Type: rule.kind, Layout: rule.layouts, Value: d.out})
}

// unknown says that a row is not explained, and why.
func (r Row) unknown(key, value []byte, why string) Row {
	r.KeyHex, r.Fault = hex.EncodeToString(key), fmt.Sprintf("%s (the value is %s)", why, withheld(value))
	return r
}

// fits reports whether a key is one of the rule.
func (r *rule) fits(key []byte) bool {
	rest, ok := bytes.CutPrefix(key, r.prefix)
	if !ok {
		return false
	}
	if r.quoted {
		rest = key
	}
	for _, p := range r.parts {
		n := p.size
		if n < 0 {
			n = len(rest)
		}
		if len(rest) < n || r.quoted && p.text && string(bytes.TrimRight(rest[:n], "\x00")) != string(r.prefix) {
			return false
		}
		rest = rest[n:]
	}
	return len(rest) == 0
}

// padded reports whether b is text with zeros behind it.
func padded(b []byte) bool {
	text := bytes.TrimRight(b, "\x00")
	return utf8.Valid(text) && bytes.IndexFunc(text, unicode.IsControl) < 0
}

// keyJSON returns what a key says, which fits.
func (r *rule) keyJSON(key []byte) json.RawMessage {
	d := decoder{in: key}
	if !r.quoted {
		d.at = len(r.prefix)
	}
	d.text("{")
	for i, p := range r.parts {
		if i > 0 {
			d.text(",")
		}
		d.quote(p.name)
		d.text(":")
		n := p.size
		if n < 0 {
			n = len(key) - d.at
		}
		b, _ := d.take(n) // it fits
		switch {
		case p.number && n == 1:
			d.text(strconv.Itoa(int(b[0])))
		case p.number:
			var number uint64
			for _, c := range b {
				number = number<<8 | uint64(c)
			}
			d.quote(strconv.FormatUint(number, 10))
		case p.text && padded(b):
			d.quote(string(bytes.TrimRight(b, "\x00")))
		default:
			d.hex(b)
		}
	}
	d.text("}")
	return d.out
}
