package record

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/document"
)

// Index is an index of a collection: records are found by the values of its fields, in
// order of the values and then of their creation. A record that lacks one of the
// fields, or has null there, is not in it.
type Index struct {
	Number uint16   `json:"number"` // from 1 on; never given to another index of the collection
	Name   string   `json:"name"`
	Fields []string `json:"fields"` // none: all that When takes
	Each   bool     `json:"each"`   // the last field is an array: the record is found by each of its elements
	// As says what of the last field, an instant, counts: "instant", so that they are in
	// order of time, or "day", the date in UTC. "": its value as it stands.
	As string `json:"as"`
	// When says which records are in the index, as Valid.When does.
	When When `json:"when"`

	paths []document.Path
	ids   *ID // the index is of the day of the ids, by which it is answered; nil: it has rows
}

const (
	asInstant = "instant"
	asDay     = "day"
)

func (c *Collection) compileIndexes() *Error {
	numbers, names := map[uint16]bool{}, map[string]bool{}
	for at, i := range c.Indexes {
		field := "indexes." + strconv.Itoa(at)
		switch {
		case i == nil || i.Number == 0 || numbers[i.Number]:
			return invalid(field, "an index has a number from 1 on, and each its own")
		case i.Name == "" || names[i.Name]:
			return invalid(field, "an index has a name, and each its own")
		case len(i.Fields) == 0 && (i.Each || i.As != "" || len(i.When.fields) == 0):
			return invalid(field, "an index has fields, or says when a record is in it")
		case i.As != "" && i.As != asInstant && i.As != asDay:
			return invalid(field, "a field counts as %s or as %s", asInstant, asDay)
		}
		numbers[i.Number], names[i.Name] = true, true
		for _, f := range i.Fields {
			i.paths = append(i.paths, document.ParsePath(f))
		}
		if i.As != "" {
			p := slices.Clone(i.paths[len(i.paths)-1])
			if i.Each {
				p = append(p, "*")
			}
			if !c.schema.isInstant(p) {
				return invalid(field, "the schema does not say that %s is a date-time", p)
			}
		}
		// The day of the creation is that of the id, and where nothing is changed nor
		// removed ids are in order of the creation.
		if c.inOrder() && i.As == asDay && len(i.Fields) == 1 && i.Fields[0] == c.Stamps.Created && !i.Each && len(i.When.fields) == 0 {
			i.ids = &c.ID
		}
	}
	return nil
}

// inOrder reports whether ids are in order of the creation.
func (c *Collection) inOrder() bool {
	return c.ID.Kind == idDaily && c.AppendOnly && c.Archive == nil && !c.archived
}

// A term is a piece for each field ‖ ordinal u64, big endian: so records of the same
// values are in order of their creation. A piece begins with what it is of:
const (
	pieceFalse   = 1
	pieceTrue    = 2
	pieceNumber  = 3 // ‖ an IEEE 754 double whose bits are all inverted where it is negative, and else its first
	pieceText    = 4 // ‖ UTF-8, in which 00 becomes 00 FF ‖ 00 01
	pieceInstant = 5 // ‖ seconds since 1970 + 2⁶³ u64 ‖ nanoseconds u32
)

// appendPiece appends the piece of a value; false if it has none.
func appendPiece(dst []byte, value json.RawMessage, as string) ([]byte, bool) {
	switch document.Kind(value) {
	case 'f':
		return append(dst, pieceFalse), as == ""
	case 't':
		return append(dst, pieceTrue), as == ""
	case '0':
		f, err := strconv.ParseFloat(string(value), 64)
		return binary.BigEndian.AppendUint64(append(dst, pieceNumber), kv.OrderedScore(f)), err == nil && as == ""
	case '"':
		text, _ := document.Text(value)
		if as != "" {
			return appendMoment(dst, text, as)
		}
		return appendText(dst, text), true
	}
	return dst, false
}

func appendText(dst []byte, text string) []byte {
	dst = slices.Grow(dst, 1+len(text)+2+ordinalBytes)
	dst = append(dst, pieceText)
	for at := strings.IndexByte(text, 0); at >= 0; at = strings.IndexByte(text, 0) {
		dst = append(append(dst, text[:at]...), 0, 0xFF)
		text = text[at+1:]
	}
	return append(append(dst, text...), 0, 1)
}

// day is the day in UTC of an instant, or of a date.
func day(text string) (time.Time, bool) {
	if len(text) == len(time.DateOnly) {
		text += "T00:00:00Z"
	}
	at, err := document.ParseInstant(text)
	return at, err == nil
}

// appendMoment appends an instant, or its day.
func appendMoment(dst []byte, text, as string) ([]byte, bool) {
	if as == asDay {
		at, ok := day(text)
		return appendText(dst, at.Format(time.DateOnly)), ok
	}
	at, err := document.ParseInstant(text)
	if err != nil {
		return dst, false
	}
	dst = binary.BigEndian.AppendUint64(append(dst, pieceInstant), uint64(at.Unix())^1<<63)
	return binary.BigEndian.AppendUint32(dst, uint32(at.Nanosecond())), true
}

// as is how the n-th field counts.
func (i *Index) as(n int) string {
	if n == len(i.Fields)-1 {
		return i.As
	}
	return ""
}

// terms are those of a document without the ordinal, which each of them ends with; of an
// index of ids the key of the record.
func (i *Index) terms(doc json.RawMessage) (list [][]byte) {
	if !i.When.holds(doc) {
		return nil
	}
	if i.ids != nil {
		id, _ := document.Text(document.Field(doc, document.Path{i.ids.Field}))
		return [][]byte{i.ids.key(id)}
	}
	var term []byte
	for n, p := range i.paths {
		value, ok := document.Field(doc, p), false
		if i.Each && n == len(i.paths)-1 {
			for element := range document.Elements(value) {
				if one, ok := appendPiece(bytes.Clone(term), element, i.as(n)); ok {
					list = append(list, one)
				}
			}
			slices.SortFunc(list, bytes.Compare)
			return slices.CompactFunc(list, bytes.Equal)
		}
		if term, ok = appendPiece(term, value, i.as(n)); !ok {
			return nil
		}
	}
	return [][]byte{term}
}

// ofStored are the terms of a row.
func (i *Index) ofStored(_, value []byte) [][]byte {
	ordinal, doc := cut(value)
	if doc == nil {
		return nil
	}
	list := i.terms(doc)
	for n := range list {
		list[n] = binary.BigEndian.AppendUint64(list[n], ordinal)
	}
	return list
}

// allTerms are those of the index 0, which every collection has: the ordinal.
func allTerms(_, value []byte) [][]byte {
	if ordinal, doc := cut(value); doc != nil {
		return [][]byte{binary.BigEndian.AppendUint64(nil, ordinal)}
	}
	return nil
}

// bounded refuses a document with more or longer terms than an index takes.
func (c *Collection) bounded(doc json.RawMessage) error {
	if 2*len(doc)+64 <= min(kv.MaxTerm, 2*MaxTerms) { // nothing in it is too long, nor too many
		return nil
	}
	for _, i := range c.Indexes {
		list := i.terms(doc)
		field := i.Name
		if len(i.Fields) > 0 {
			field = i.Fields[len(i.Fields)-1]
		}
		if len(list) > MaxTerms {
			return &Error{Code: CodeValidation, Field: field, Limit: MaxTerms, Have: uint64(len(list)), Reason: "the index " + i.Name + " takes no more different elements of a record"}
		}
		for _, term := range list {
			if n := len(term) + ordinalBytes; n > kv.MaxTerm {
				return &Error{Code: CodeValidation, Field: field, Limit: kv.MaxTerm, Have: uint64(n), Reason: "the value is too long for the index " + i.Name}
			}
		}
	}
	return nil
}

// Filter is what records are found by: the values that fields of an index have.
type Filter struct {
	Index string // its name; "": all records
	// Equal are values of the first fields, in canonical form; fewer than the index has:
	// the others may be any.
	Equal []json.RawMessage
	// From and To bound the field that follows those of Equal: from one value on, up to,
	// but without, another. nil: no bound.
	From, To json.RawMessage
}

// Equal is the filter of an index whose first fields have texts.
func Equal(index string, texts ...string) Filter {
	f := Filter{Index: index}
	for _, text := range texts {
		f.Equal = append(f.Equal, document.FromText(text))
	}
	return f
}

// filter is a filter of a collection.
type filter struct {
	number uint16
	index  *Index // nil: all
	from   []byte // the terms that it finds; to is nil: to the last
	to     []byte
}

func (c *Collection) filter(f Filter) (found filter, err error) {
	if f.Index == "" {
		if len(f.Equal) > 0 || f.From != nil || f.To != nil {
			return found, invalid("filters", "values are those of an index: name it")
		}
		return found, nil
	}
	at := slices.IndexFunc(c.Indexes, func(i *Index) bool { return i.Name == f.Index })
	if at < 0 {
		return found, invalid("filters", "there is no index %q; the indexes are %q", shortened(f.Index), c.indexNames())
	}
	i := c.Indexes[at]
	found.number, found.index = i.Number, i
	n := len(f.Equal)
	if n > len(i.Fields) || n == len(i.Fields) && (f.From != nil || f.To != nil) {
		return found, invalid("filters", "the index %s has %d fields: %q", i.Name, len(i.Fields), i.Fields)
	}
	var prefix []byte
	for n, value := range f.Equal {
		if prefix, err = i.piece(prefix, n, value); err != nil {
			return found, err
		}
	}
	found.from, found.to = prefix, engine.Successor(prefix)
	if f.From != nil {
		if found.from, err = i.piece(bytes.Clone(prefix), n, f.From); err != nil {
			return found, err
		}
	}
	if f.To != nil {
		found.to, err = i.piece(bytes.Clone(prefix), n, f.To)
	}
	return found, err
}

func (i *Index) piece(dst []byte, n int, value json.RawMessage) ([]byte, error) {
	canonical, err := document.Canonical(value)
	if err == nil && i.ids != nil {
		text, _ := document.Text(canonical)
		if day, ok := day(text); ok {
			return append(dst, i.ids.ofDay(day)...), nil
		}
	} else if err == nil {
		if out, ok := appendPiece(dst, canonical, i.as(n)); ok {
			return out, nil
		}
	}
	return nil, invalid("filters", "what the field %s of the index %s is compared with is no value that it can have", i.Fields[n], i.Name)
}

func (c *Collection) indexNames() (names []string) {
	for _, i := range c.Indexes {
		names = append(names, i.Name)
	}
	return names
}

// finds reports whether a document has a term of the filter, and which comes first.
func (f *filter) finds(doc json.RawMessage) (first []byte, ok bool) {
	if f.index == nil {
		return nil, true
	}
	for _, term := range f.index.terms(doc) { // an each index has them in order, others one
		if bytes.Compare(term, f.from) >= 0 && (f.to == nil || bytes.Compare(term, f.to) < 0) {
			return term, true
		}
	}
	return nil, false
}
