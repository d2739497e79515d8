package document

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"
)

// What follows reads canonical JSON: without white space, names in order. Of what is none,
// as damage of a store leaves it, it reads some of what is there, or nothing.

// end returns where the value ends that begins at a byte of canonical JSON, within an
// object or an array; the end of src if it does not.
func end(src []byte, at int) int {
	if at >= len(src) {
		return len(src)
	}
	switch src[at] {
	case '"':
		for at++; ; {
			i := bytes.IndexByte(src[at:], '"')
			if i < 0 {
				return len(src)
			}
			escapes := 0
			for at += i; src[at-1-escapes] == '\\'; escapes++ {
			}
			if at++; escapes%2 == 0 {
				return at
			}
		}
	case '{', '[':
		depth := 0
		for at < len(src) {
			switch src[at] {
			case '"':
				at = end(src, at)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			if at++; depth == 0 {
				return at
			}
		}
		return len(src)
	}
	if i := bytes.IndexAny(src[at:], ",]}"); i >= 0 {
		return at + i
	}
	return len(src)
}

// Kind is the first byte of a value in canonical form, which says what it is: '{', '[',
// '"', 't' or 'f', 'n', and for a number '0'; 0 if there is no value.
func Kind(value json.RawMessage) byte {
	if len(value) == 0 {
		return 0
	}
	if b := value[0]; b == '-' || b >= '0' && b <= '9' {
		return '0'
	}
	return value[0]
}

// field is a property of an object as it stands: its name with quotes, and its value.
type field struct{ name, value []byte }

// fields are the properties of a canonical object, in order, of which next takes one.
type fields struct{ rest []byte }

// fieldsOf are those of a value; of one that is no object there are none.
func fieldsOf(value []byte) fields {
	if len(value) == 0 || value[0] != '{' {
		return fields{}
	}
	return fields{value}
}

// next returns the property that comes next; false at the end.
func (f *fields) next() (p field, ok bool) {
	if len(f.rest) < 2 || f.rest[1] != '"' { // rest begins with a brace, or with the comma between two
		return p, false
	}
	name := end(f.rest, 1)
	if name == len(f.rest) || f.rest[name] != ':' {
		return p, false
	}
	value := end(f.rest, name+1)
	p = field{f.rest[1:name:name], f.rest[name+1 : value : value]}
	f.rest = f.rest[value:]
	return p, true
}

// Elements yields the elements of a canonical array; none of another value.
func Elements(array json.RawMessage) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		if len(array) == 0 || array[0] != '[' {
			return
		}
		for at := 1; at < len(array) && array[at] != ']'; {
			if array[at] == ',' {
				at++
			}
			to := end(array, at)
			if to == at || !yield(array[at:to:to]) {
				return
			}
			at = to
		}
	}
}

// Names yields the names of the properties of a canonical object; none of another
// value.
func Names(object json.RawMessage) iter.Seq[string] {
	return func(yield func(string) bool) {
		all := fieldsOf(object)
		for f, ok := all.next(); ok; f, ok = all.next() {
			if name, _ := Text(f.name); !yield(name) {
				return
			}
		}
	}
}

// Properties yields the properties of a canonical object: the name as it stands, with its
// quotes and escapes, and the value; none of another value.
func Properties(object json.RawMessage) iter.Seq2[json.RawMessage, json.RawMessage] {
	return func(yield func(name, value json.RawMessage) bool) {
		all := fieldsOf(object)
		for f, ok := all.next(); ok; f, ok = all.next() {
			if !yield(f.name, f.value) {
				return
			}
		}
	}
}

// Text returns the string that a canonical value is, or false if it is none.
func Text(value json.RawMessage) (string, bool) {
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return "", false
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return string(value[1 : len(value)-1]), true
	}
	c := canonical{src: value}
	s, err := c.text()
	return string(s), err == nil
}

// FromText returns the canonical form of a string, which must be UTF-8.
func FromText(text string) json.RawMessage { return appendText(nil, []byte(text)) }

// Path names a field of a document: the names from the outermost object on.
type Path []string

// ParsePath returns the path of names with dots between them, as constraints.max_uses.
func ParsePath(dotted string) Path { return strings.Split(dotted, ".") }

// String returns the names with dots between them.
func (p Path) String() string { return strings.Join(p, ".") }

// Field returns the value of a field of a canonical document; nil if it has no such
// field. Null is a value.
func Field(doc json.RawMessage, p Path) json.RawMessage {
	for _, name := range p {
		doc = get(doc, name)
	}
	return doc
}

func get(object []byte, name string) json.RawMessage {
	all, plain := fieldsOf(object), isPlain(name)
	for f, ok := all.next(); ok; f, ok = all.next() {
		if string(f.name[1:len(f.name)-1]) == name && plain || !plain && f.is(name) {
			return f.value
		}
		if behind(f.name, name) {
			break
		}
	}
	return nil
}

// isPlain reports whether a name stands in canonical JSON as it is, between quotes.
func isPlain(name string) bool {
	for i := range len(name) {
		if name[i] < ' ' || name[i] == '"' || name[i] == '\\' {
			return false
		}
	}
	return true
}

// is reports whether the property has that name.
func (f field) is(name string) bool {
	text, _ := Text(f.name)
	return text == name
}

// behind reports whether a name, as it stands, comes after another in an object, as far
// as the first characters tell where that of the other is ASCII.
func behind(quoted []byte, name string) bool {
	first := quoted[1]
	return name != "" && name[0] < 0x80 && first > name[0] && first != '"' && first != '\\'
}

// With returns a canonical document with a field set to a canonical value; objects on
// the way there are made, in place of what is none.
func With(doc json.RawMessage, p Path, value json.RawMessage) json.RawMessage {
	if len(p) == 0 {
		return value
	}
	inner := With(get(doc, p[0]), p[1:], value)
	one := append(make([]byte, 0, len(p[0])+len(inner)+8), '{')
	one = append(append(append(appendText(one, []byte(p[0])), ':'), inner...), '}')
	return Over(doc, one)
}

// Over returns the properties of two canonical objects as one: where both have a name,
// the value of top. What is no object counts as one without properties.
func Over(base, top json.RawMessage) json.RawMessage {
	if below := fieldsOf(base); Kind(top) == '{' {
		if _, any := below.next(); !any {
			return top
		}
	}
	return combine(make([]byte, 0, len(base)+len(top)), base, top, func(dst []byte, _, top field) []byte {
		return appendField(dst, top.name, top.value)
	})
}

// Each calls fn with every value of a document that a path leads to, and returns the
// document with what fn returns in their place. A name * stands for all elements of an
// array. It returns the document as it is if fn changes nothing.
func Each(doc json.RawMessage, p Path, fn func(json.RawMessage) (json.RawMessage, error)) (json.RawMessage, error) {
	if len(p) == 0 {
		return fn(doc)
	}
	if p[0] == "*" {
		return eachElement(doc, p[1:], fn)
	}
	old := get(doc, p[0])
	if old == nil {
		return doc, nil
	}
	value, err := Each(old, p[1:], fn)
	if err != nil || bytes.Equal(value, old) {
		return doc, err
	}
	return With(doc, p[:1], value), nil
}

func eachElement(array json.RawMessage, p Path, fn func(json.RawMessage) (json.RawMessage, error)) (json.RawMessage, error) {
	if Kind(array) != '[' {
		return array, nil
	}
	out := []byte{'['}
	for old := range Elements(array) {
		value, err := Each(old, p, fn)
		if err != nil {
			return nil, err
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, value...)
	}
	return append(out, ']'), nil
}
