package document

import "encoding/json"

// Merge returns what a merge patch (RFC 7386) makes of a document, all three in
// canonical form: a property of the patch that is null removes one of the document,
// any other takes its place, and objects are merged in turn.
func Merge(doc, patch json.RawMessage) json.RawMessage {
	return appendMerged(make([]byte, 0, len(doc)+len(patch)), doc, patch)
}

func appendMerged(dst, doc, patch []byte) []byte {
	if Kind(patch) != '{' {
		return append(dst, patch...)
	}
	return combine(dst, doc, patch, func(dst []byte, old, p field) []byte {
		switch Kind(p.value) {
		case 'n':
			return dst
		case '{':
			dst = append(append(separate(dst), p.name...), ':')
			return appendMerged(dst, old.value, p.value)
		}
		return appendField(dst, p.name, p.value)
	})
}

// combine appends an object of the properties of two: those that only base has, and
// for each of top what change appends, which is told what base has under its name.
func combine(dst, base, top []byte, change func(dst []byte, old, new field) []byte) []byte {
	dst = append(dst, '{')
	below, above := fieldsOf(base), fieldsOf(top)
	old, more := below.next()
	for f, ok := above.next(); ok; f, ok = above.next() {
		order := 1
		for more {
			if order = compareQuoted(old.name, f.name); order >= 0 {
				break
			}
			dst = appendField(dst, old.name, old.value)
			old, more = below.next()
		}
		if !more || order > 0 {
			dst = change(dst, field{}, f)
			continue
		}
		dst = change(dst, old, f)
		old, more = below.next()
	}
	for more {
		dst = appendField(dst, old.name, old.value)
		old, more = below.next()
	}
	return append(dst, '}')
}

// separate appends a comma unless an object has just begun.
func separate(dst []byte) []byte {
	if dst[len(dst)-1] == '{' {
		return dst
	}
	return append(dst, ',')
}

func appendField(dst, name, value []byte) []byte {
	return append(append(append(separate(dst), name...), ':'), value...)
}

// compareQuoted orders names as they stand in canonical objects.
func compareQuoted(a, b []byte) int {
	return compareNames(unquoted(a), unquoted(b))
}

func unquoted(name []byte) []byte {
	for _, b := range name {
		if b == '\\' {
			text, _ := Text(name)
			return []byte(text)
		}
	}
	return name[1 : len(name)-1]
}
