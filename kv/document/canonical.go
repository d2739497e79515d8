package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxDepth is how deep arrays and objects may be nested.
const MaxDepth = 128

// MaxSafe is the largest integer up to which every JSON reader is exact.
const MaxSafe = 1<<53 - 1

// SyntaxError is returned for what is no JSON text, or none that has a canonical form.
type SyntaxError struct {
	At     int // the byte at which it was found, from 0
	Reason string
}

// Error says where, and what is wrong. It shows nothing of the text.
func (e *SyntaxError) Error() string { return fmt.Sprintf("at byte %d: %s", e.At, e.Reason) }

// Canonical returns the canonical form (RFC 8785) of a JSON text: two values are
// equal if and only if their canonical forms are the same bytes. It refuses, by a
// *SyntaxError, what is not exactly one JSON text in UTF-8; half surrogates and
// objects with a name twice, which readers understand in different ways; integers that
// are not exact as a double, so that nothing is changed silently; and nesting deeper
// than MaxDepth.
//
// What it takes while it works is at most about three times the text, the result included:
// a long text is measured first, and refused before anything is made of it if it is
// nested too deep, or has more than 4 GiB.
func Canonical(text []byte) (json.RawMessage, error) {
	c := canonical{src: text}
	if len(text) > longText {
		m := Measure(text)
		if m.Depth > MaxDepth {
			return nil, &SyntaxError{m.deep, fmt.Sprintf("nested deeper than %d", MaxDepth)}
		}
		if int64(len(text)) > math.MaxUint32 {
			return nil, &SyntaxError{0, "longer than 4 GiB"}
		}
		c.open = make([]property, 0, min(m.Names, len(text)/leastProperty))
	}
	out, err := c.value(make([]byte, 0, len(text)), 0)
	if err == nil && c.space() < len(c.src) {
		err = c.fail("bytes after the end of the value")
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// longText is the size from which a text is measured before it is parsed, in bytes.
const longText = 64 << 10

type canonical struct {
	src     []byte
	at      int
	sorting []byte     // the properties of an object on their way into order
	open    []property // of a long text: of the objects that are under way, those within others last; nil: of a short one
}

func (c *canonical) fail(format string, args ...any) error {
	return &SyntaxError{c.at, fmt.Sprintf(format, args...)}
}

// space skips white space and returns where it ends.
func (c *canonical) space() int {
	for c.at < len(c.src) && strings.IndexByte(" \t\r\n", c.src[c.at]) >= 0 {
		c.at++
	}
	return c.at
}

// peek returns the next byte that is not white space; 0 at the end.
func (c *canonical) peek() byte {
	if c.space() == len(c.src) {
		return 0
	}
	return c.src[c.at]
}

func (c *canonical) value(dst []byte, depth int) ([]byte, error) {
	if depth > MaxDepth {
		return nil, c.fail("nested deeper than %d", MaxDepth)
	}
	switch b := c.peek(); {
	case b == '{':
		return c.object(dst, depth)
	case b == '[':
		return c.array(dst, depth)
	case b == '"':
		s, err := c.text()
		return appendText(dst, s), err
	case b == '-' || b >= '0' && b <= '9':
		return c.number(dst)
	}
	for _, word := range []string{"null", "true", "false"} {
		if bytes.HasPrefix(c.src[c.at:], []byte(word)) {
			c.at += len(word)
			return append(dst, word...), nil
		}
	}
	return nil, c.fail("no JSON value")
}

// next takes a separator: it returns true for a comma and false for end.
func (c *canonical) next(end byte) (bool, error) {
	b := c.peek()
	if b != ',' && b != end {
		return false, c.fail("neither a comma nor %q", end)
	}
	c.at++
	return b == ',', nil
}

// empty takes end if it is what comes next.
func (c *canonical) empty(end byte) bool {
	c.at++
	if c.peek() != end {
		return false
	}
	c.at++
	return true
}

func (c *canonical) array(dst []byte, depth int) ([]byte, error) {
	dst = append(dst, '[')
	more, err := !c.empty(']'), error(nil)
	for more {
		if dst, err = c.value(dst, depth+1); err != nil {
			return nil, err
		}
		if more, err = c.next(']'); err != nil {
			return nil, err
		}
		if more {
			dst = append(dst, ',')
		}
	}
	return append(dst, ']'), nil
}

// property is one of an object: where its name begins in the text, and where it stands in
// what is written.
type property struct{ name, from, to uint32 }

// leastProperty is what a property of a text has at least, about, where names are not many times
// the same, in bytes.
const leastProperty = 8

// name returns what the name of a property says, which is known to be a string, in room.
func (c *canonical) name(p property, room []byte) []byte {
	at := c.at
	c.at = int(p.name)
	name, _ := c.textIn(room)
	c.at = at
	return name
}

// sort puts properties of an object into order, and returns false if two have one name.
func (c *canonical) sort(list []property) (ok bool) {
	var room [2][64]byte
	one, other := room[0][:0], room[1][:0]
	compare := func(a, b property) int {
		one, other = c.name(a, one), c.name(b, other)
		return compareNames(one, other)
	}
	slices.SortFunc(list, compare)
	for i := range list[1:] {
		if compare(list[i], list[i+1]) == 0 {
			return false
		}
	}
	return true
}

func (c *canonical) object(dst []byte, depth int) ([]byte, error) {
	dst = append(dst, '{')
	start, sorted, first := len(dst), true, len(c.open)
	var room [16]property
	list := room[:0]
	var last []byte
	more := !c.empty('}')
	for more {
		if c.peek() != '"' {
			return nil, c.fail("no name of a property")
		}
		p := property{name: uint32(c.at)}
		name, err := c.text()
		if err != nil {
			return nil, err
		}
		if c.peek() != ':' {
			return nil, c.fail("no colon after a name")
		}
		c.at++
		if len(dst) > start {
			dst = append(dst, ',')
			order := compareNames(last, name)
			if order == 0 {
				return nil, c.fail("an object with a name twice")
			}
			sorted = sorted && order < 0
		}
		last = name
		p.from = uint32(len(dst))
		if c.open != nil {
			c.open = append(c.open, p)
		} else {
			list = append(list, p)
		}
		dst = append(appendText(dst, name), ':')
		if dst, err = c.value(dst, depth+1); err != nil {
			return nil, err
		}
		if c.open != nil {
			c.open[len(c.open)-1].to = uint32(len(dst))
		} else {
			list[len(list)-1].to = uint32(len(dst))
		}
		if more, err = c.next('}'); err != nil {
			return nil, err
		}
	}
	if c.open != nil {
		list, c.open = c.open[first:], c.open[:first]
	}
	if !sorted {
		if !c.sort(list) {
			return nil, c.fail("an object with a name twice")
		}
		c.sorting = append(c.sorting[:0], dst[start:]...)
		dst = dst[:start]
		for i, p := range list {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, c.sorting[int(p.from)-start:int(p.to)-start]...)
		}
	}
	return append(dst, '}'), nil
}

// compareNames orders names as RFC 8785 does, by their UTF-16: characters beyond 16 bits
// come before those from U+E000 on.
func compareNames(a, b []byte) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	if i == len(a) || i == len(b) {
		return len(a) - len(b)
	}
	// The first byte tells: of four bytes are those beyond 16 bits, and EE and EF begin
	// those from U+E000 on. A byte that differs later in a character has both begin alike.
	const beyond, private = 0xF0, 0xEE
	if !utf8.RuneStart(a[i]) || !utf8.RuneStart(b[i]) {
		return int(a[i]) - int(b[i])
	}
	switch {
	case a[i] >= beyond && b[i] >= private && b[i] < beyond:
		return -1
	case b[i] >= beyond && a[i] >= private && a[i] < beyond:
		return 1
	}
	return int(a[i]) - int(b[i])
}

// plain is how many bytes of b stand in a string for themselves, in ASCII.
func plain(b []byte) int {
	for i, one := range b {
		if one < 0x20 || one >= utf8.RuneSelf || one == '"' || one == '\\' {
			return i
		}
	}
	return len(b)
}

// text takes a string and returns what it says, as a part of src where it can.
func (c *canonical) text() ([]byte, error) { return c.textIn(nil) }

// textIn is text that puts what the string says into room, unless that is nil.
func (c *canonical) textIn(room []byte) ([]byte, error) {
	start := c.at
	c.at++
	n := plain(c.src[c.at:])
	out := c.src[c.at : c.at+n : c.at+n]
	if room != nil {
		out = append(room[:0], out...)
	}
	for c.at += n; c.at < len(c.src); {
		switch b := c.src[c.at]; {
		case b == '"':
			c.at++
			return out, nil
		case b < 0x20:
			return nil, c.fail("a control character in a string")
		case b == '\\':
			r, err := c.escape()
			if err != nil {
				return nil, err
			}
			out = utf8.AppendRune(out, r)
		case b < utf8.RuneSelf:
			n := plain(c.src[c.at:])
			out = append(out, c.src[c.at:c.at+n]...)
			c.at += n
		default:
			r, n := utf8.DecodeRune(c.src[c.at:])
			if r == utf8.RuneError && n == 1 {
				return nil, c.fail("not UTF-8")
			}
			out = append(out, c.src[c.at:c.at+n]...)
			c.at += n
		}
	}
	c.at = start
	return nil, c.fail("a string without end")
}

func (c *canonical) escape() (rune, error) {
	if c.at++; c.at == len(c.src) {
		return 0, c.fail("an escape without end")
	}
	b := c.src[c.at]
	if i := strings.IndexByte(`"\/bfnrt`, b); i >= 0 {
		c.at++
		return rune("\"\\/\b\f\n\r\t"[i]), nil
	}
	r, ok := c.unit()
	if !ok {
		return 0, c.fail("no such escape")
	}
	if !utf16.IsSurrogate(r) {
		return r, nil
	}
	if c.at < len(c.src) && c.src[c.at] == '\\' {
		c.at++
		if low, ok := c.unit(); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, nil
			}
		}
	}
	return 0, c.fail("half a surrogate pair")
}

// unit takes uXXXX.
func (c *canonical) unit() (rune, bool) {
	if len(c.src)-c.at < 5 || c.src[c.at] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(c.src[c.at+1:c.at+5]), 16, 16)
	if err != nil {
		return 0, false
	}
	c.at += 5
	return rune(n), true
}

func (c *canonical) digits() bool {
	start := c.at
	for c.at < len(c.src) && c.src[c.at] >= '0' && c.src[c.at] <= '9' {
		c.at++
	}
	return c.at > start
}

func (c *canonical) has(chars string) bool {
	if c.at < len(c.src) && strings.IndexByte(chars, c.src[c.at]) >= 0 {
		c.at++
		return true
	}
	return false
}

// exactDigits is how many digits an integer has at most that is below MaxSafe for sure.
const exactDigits = 15

func (c *canonical) number(dst []byte) ([]byte, error) {
	start := c.at
	c.has("-")
	first := c.at
	ok := c.digits()
	if ok && c.src[first] == '0' && c.at > first+1 {
		ok = false
	}
	integer := true
	if ok && c.has(".") {
		integer, ok = false, c.digits()
	}
	if ok && c.has("eE") {
		c.has("+-")
		integer, ok = false, c.digits()
	}
	if !ok {
		return nil, c.fail("a malformed number")
	}
	if integer && c.at-first <= exactDigits && c.src[first] != '0' {
		return append(dst, c.src[start:c.at]...), nil // as ECMAScript writes it
	}
	text := string(c.src[start:c.at])
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, c.fail("a number that is out of range")
	}
	if integer && math.Abs(f) > MaxSafe && strconv.FormatFloat(f, 'f', -1, 64) != text {
		if n, err := strconv.ParseInt(text, 10, 64); err != nil || int64(f) != n {
			return nil, c.fail("an integer that is not exact as a double: send it as a string")
		}
	}
	return appendNumber(dst, f), nil
}

// appendNumber writes a number as ECMAScript does.
func appendNumber(dst []byte, f float64) []byte {
	if f == 0 {
		return append(dst, '0') // minus zero too
	}
	if abs := math.Abs(f); abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	if n := len(dst); dst[n-2] == '0' && dst[n-3] == '-' { // e-09 is e-9; the others have two digits
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

// appendText writes a string with the fewest escapes.
func appendText(dst, text []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := range len(text) {
		b := text[i]
		if b >= 0x20 && b != '"' && b != '\\' {
			continue
		}
		dst = append(append(dst, text[from:i]...), '\\')
		from = i + 1
		if at := strings.IndexByte("\"\\\b\t\n\f\r", b); at >= 0 {
			dst = append(dst, "\"\\btnfr"[at])
		} else {
			dst = append(dst, 'u', '0', '0', hex[b>>4], hex[b&15])
		}
	}
	return append(append(dst, text[from:]...), '"')
}
