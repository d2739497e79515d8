package keys

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// textState is what a coder needs to print JSON, fill a key from texts, or list
// parts.
type textState struct {
	comma bool // printing: a field precedes

	given   map[string]scalar // filling: the fields
	known   []string          // filling: the fields that were asked for
	partial bool              // filling: leading fields are enough
	missing string            // filling a part of a key: the first field not given

	fields []Field // listing
}

// scalar is a field given as text; number says that it was a bare JSON number.
type scalar struct {
	text   string
	number bool
}

// Field is one part of a key, for people and tools.
type Field struct {
	Name  string // as in JSON and on the command line
	Kind  string // GroupID, u64, ...
	Bytes int    // how many it takes; 0: as many as are left
}

func (c *coder) list(name, kind string, size int) {
	c.text.fields = append(c.text.fields, Field{Name: name, Kind: kind, Bytes: size})
}

// key prints the name of a field.
func (c *coder) key(name string) {
	if c.text.comma {
		c.buf = append(c.buf, ',')
	}
	c.text.comma = true
	c.buf = append(strconv.AppendQuote(c.buf, name), ':')
}

func (c *coder) quoted(text string) {
	c.buf = append(c.buf, '"')
	c.buf = append(c.buf, text...)
	c.buf = append(c.buf, '"')
}

// quotedText prints text that may need escapes.
func (c *coder) quotedText(text string) {
	b := bytes.NewBuffer(c.buf)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string always has a JSON form
	c.buf = bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// given returns the text of a field, and whether to go on with it.
func (c *coder) given(name string) (scalar, bool) {
	t := c.text
	t.known = append(t.known, name)
	s, ok := t.given[name]
	switch {
	case c.err != nil:
		return s, false
	case ok && t.missing != "":
		c.fail(name, "given, but "+t.missing+" before it is not: a prefix has leading fields only")
		return s, false
	case ok:
		return s, true
	case t.partial:
		if t.missing == "" {
			t.missing = name
		}
	default:
		c.fail(name, "missing")
	}
	return s, false
}

// word is given for a field that JSON has in quotes.
func (c *coder) word(name string) (string, bool) {
	s, ok := c.given(name)
	if ok && s.number {
		c.fail(name, "a number instead of a string")
		return "", false
	}
	return s.text, ok
}

// number is given for a field that is a decimal number.
func (c *coder) number(name string, bits int) (uint64, bool) {
	s, ok := c.given(name)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(s.text, 10, bits)
	if err != nil {
		c.fail(name, fmt.Sprintf("not a whole number from 0 to %d", uint64(1)<<bits-1))
	}
	return n, err == nil
}

func (c *coder) textHex(name, kind string, b []byte) {
	switch c.mode {
	case printing:
		c.key(name)
		c.quoted(hex.EncodeToString(b))
	case filling:
		text, ok := c.word(name)
		if !ok {
			return
		}
		raw, fault := parseHex(text)
		if fault == "" && len(raw) != len(b) {
			fault = fmt.Sprintf("%d hex digits instead of %d", len(text), 2*len(b))
		}
		if fault != "" {
			c.fail(name, fault)
		}
		c.buf = append(c.buf, raw...)
	case listing:
		c.list(name, kind, len(b))
	}
}

func (c *coder) textSeq(name string, p *Seq) {
	switch c.mode {
	case printing:
		c.key(name)
		c.quoted(p.String())
	case filling:
		if n, ok := c.number(name, 64); ok {
			c.buf = binary.BigEndian.AppendUint64(c.buf, n)
		}
	case listing:
		c.list(name, "u64", len(p))
	}
}

func (c *coder) textIndex(name string, p *uint32) {
	switch c.mode {
	case printing:
		c.key(name)
		c.buf = strconv.AppendUint(c.buf, uint64(*p), 10)
	case filling:
		if n, ok := c.number(name, 32); ok {
			c.buf = binary.BigEndian.AppendUint32(c.buf, uint32(n))
		}
	case listing:
		c.list(name, "u32", 4)
	}
}

func (c *coder) textBytes(name string, p *Bytes) {
	switch c.mode {
	case printing:
		c.key(name)
		c.quoted(p.String())
	case filling:
		text, ok := c.word(name)
		if !ok {
			return
		}
		raw, fault := parseHex(text)
		if fault == "" && len(raw) > MaxVariable {
			fault = fmt.Sprintf("%d bytes, more than %d", len(raw), MaxVariable)
		}
		if fault != "" {
			c.fail(name, fault)
		}
		c.buf = append(c.buf, raw...)
	case listing:
		c.list(name, "bytes", 0)
	}
}

// filled ends filling: every field given must be known.
func (c *coder) filled() ([]byte, error) {
	for _, name := range slices.Sorted(maps.Keys(c.text.given)) {
		if !slices.Contains(c.text.known, name) {
			c.fail(name, "unknown field (known: "+strings.Join(c.text.known, ", ")+")")
		}
	}
	if c.err != nil {
		return nil, c.err
	}
	return c.buf, nil
}

// parseHex decodes lower-case hex, or says why it cannot.
func parseHex(text string) (b []byte, fault string) {
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return nil, fmt.Sprintf("character %d is not a lower-case hex digit", i+1)
		}
	}
	b, err := hex.DecodeString(text)
	if err != nil {
		return nil, "an odd number of hex digits"
	}
	return b, ""
}
