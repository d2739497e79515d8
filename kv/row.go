package kv

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/stoadb/stoa/keys"
)

// Shape is what kind of row a key of a key-value scope belongs to: its byte
// after the scope.
type Shape byte

// The shapes of a space.
const (
	ShapeMeta     Shape = 'M' // counters and quotas
	ShapeRecord   Shape = 'V' // newest record of a key
	ShapeLog      Shape = 'L' // change, by revision
	ShapeHistory  Shape = 'H' // which revisions of a key are kept
	ShapeRevision Shape = 'h' // one of them
	ShapeIndex    Shape = 'I' // term of a declared index
	ShapeHead     Shape = 'N' // head of a sorted set or a stream
	ShapeScore    Shape = 'Z' // score of a member
	ShapeOrder    Shape = 'z' // member, by score
	ShapeEntry    Shape = 'Q' // entry of a stream
	ShapeGroup    Shape = 'G' // where a group is in a stream
	ShapePending  Shape = 'P' // entry that a consumer has and has not acknowledged
	ShapeJob      Shape = 'J' // job, by name
	ShapeKept     Shape = 'K' // what the owner of a space keeps beside the records, by name
)

// The shapes of the store's own rows: the scope of zeros, which is of no tenant.
const (
	ShapeDue          Shape = 'X' // what is due, by time
	ShapeTenant       Shape = 't' // number of a tenant, by name
	ShapeTenantName   Shape = 'n' // its name, by number
	ShapeSpace        Shape = 's' // number of a space, by system and name
	ShapeSpaceName    Shape = 'u' // its name, by system and number
	ShapeTenantSpaces Shape = 'i' // which spaces a tenant has
	ShapeStore        Shape = 'C' // something of the whole store, by kind
)

// Kinds of rows whose shape has several.
const (
	KindSet     byte = 'Z' // of a head: a sorted set
	KindStream  byte = 'Q' // of a head: a stream
	KindTenants byte = 'n' // of the store: the last number given to a tenant
	KindSpaces  byte = 's' // of the store: the last number given to a space
	KindSecret  byte = 'k' // of the store: what cursors are signed with
	KindTime    byte = 't' // of the store: the latest time that something expired at
)

// Row is a key of a key-value scope, parsed. Which fields a shape has, and in
// which order, is in layouts; the others are zero.
type Row struct {
	Scope  keys.Scope
	Shape  Shape
	Kind   byte       // of a head, a due row (the shape of what is due), the store; the system of a named space
	Of     keys.Scope // the scope that a row of the store speaks of
	Due    uint64     // ms since 1970
	Index  uint16
	Name   []byte // a container, a term, or the key of an old revision: text that is not last
	Group  []byte
	Score  float64
	Number uint64 // a revision, an entry, a tenant, a space
	Key    []byte // a record, a member, a name: what stands last
}

type field uint8

const (
	fieldKind field = iota + 1
	fieldOf
	fieldDue
	fieldIndex
	fieldName
	fieldGroup
	fieldScore
	fieldNumber
	fieldKey // the rest
)

// layout is the fields of a shape in the order of their bytes.
type layout struct {
	shape  Shape
	name   string
	global bool // a row of the store's own, in the scope of zeros
	kinds  string
	fields []field
}

// layouts is the one table of shapes, for both directions. It is never written
// to.
var layouts = [...]layout{
	{ShapeMeta, "meta", false, "", nil},
	{ShapeRecord, "record", false, "", []field{fieldKey}},
	{ShapeLog, "log", false, "", []field{fieldNumber}},
	{ShapeHistory, "history", false, "", []field{fieldKey}},
	{ShapeRevision, "revision", false, "", []field{fieldName, fieldNumber}},
	{ShapeIndex, "index", false, "", []field{fieldIndex, fieldName, fieldKey}},
	{ShapeHead, "head", false, "ZQ", []field{fieldKind, fieldKey}},
	{ShapeScore, "score", false, "", []field{fieldName, fieldKey}},
	{ShapeOrder, "order", false, "", []field{fieldName, fieldScore, fieldKey}},
	{ShapeEntry, "entry", false, "", []field{fieldName, fieldNumber}},
	{ShapeGroup, "group", false, "", []field{fieldName, fieldKey}},
	{ShapePending, "pending", false, "", []field{fieldName, fieldGroup, fieldNumber}},
	{ShapeJob, "job", false, "", []field{fieldKey}},
	{ShapeKept, "kept", false, "", []field{fieldKey}},
	{ShapeDue, "due", true, "VQJ", []field{fieldDue, fieldOf, fieldKind, fieldKey}},
	{ShapeTenant, "tenant", true, "", []field{fieldKey}},
	{ShapeTenantName, "tenant_name", true, "", []field{fieldNumber}},
	{ShapeSpace, "space", true, "", []field{fieldKind, fieldKey}},
	{ShapeSpaceName, "space_name", true, "", []field{fieldKind, fieldNumber}},
	{ShapeTenantSpaces, "tenant_space", true, "", []field{fieldNumber, fieldOf}},
	{ShapeStore, "store", true, "nskt", []field{fieldKind}},
}

func layoutOf(s Shape) *layout {
	for i := range layouts {
		if layouts[i].shape == s {
			return &layouts[i]
		}
	}
	return nil
}

// String is the name of the shape.
func (s Shape) String() string {
	if l := layoutOf(s); l != nil {
		return l.name
	}
	return fmt.Sprintf("Shape(%#02x)", byte(s))
}

// AppendKey appends the bytes of the row's key. It panics if there is no such
// shape.
func (r Row) AppendKey(dst []byte) []byte {
	dst = append(append(dst, r.Scope[:]...), byte(r.Shape))
	for _, f := range layoutOf(r.Shape).fields {
		switch f {
		case fieldKind:
			dst = append(dst, r.Kind)
		case fieldOf:
			dst = append(dst, r.Of[:]...)
		case fieldDue:
			dst = appendU64(dst, r.Due)
		case fieldIndex:
			dst = binary.BigEndian.AppendUint16(dst, r.Index)
		case fieldName:
			dst = appendText(dst, r.Name)
		case fieldGroup:
			dst = appendText(dst, r.Group)
		case fieldScore:
			dst = appendU64(dst, OrderedScore(r.Score))
		case fieldNumber:
			dst = appendU64(dst, r.Number)
		case fieldKey:
			dst = append(dst, r.Key...)
		}
	}
	return dst
}

// ParseRow parses a key of a key-value scope. It returns engine.ErrCorrupt if it
// is none. The row does not share memory with key. AppendKey gives back exactly
// the bytes that were parsed.
func ParseRow(key []byte) (Row, error) {
	var r Row
	if len(key) < len(r.Scope)+1 {
		return Row{}, damaged(key, "shorter than a scope and a shape")
	}
	rest := key[copy(r.Scope[:], key):]
	r.Shape, rest = Shape(rest[0]), rest[1:]
	l := layoutOf(r.Shape)
	if l == nil {
		return Row{}, damaged(key, "no such shape: "+r.Shape.String())
	}
	if fault := scopeFault(r.Scope, l.global); fault != "" {
		return Row{}, damaged(key, fault)
	}
	for _, f := range l.fields {
		var ok bool
		if rest, ok = r.parse(f, rest); !ok {
			return Row{}, damaged(key, "a "+l.name+" row that is cut short or malformed")
		}
	}
	if len(rest) > 0 {
		return Row{}, damaged(key, "bytes after the end of a "+l.name+" row")
	}
	if l.kinds != "" && bytes.IndexByte([]byte(l.kinds), r.Kind) < 0 {
		return Row{}, damaged(key, fmt.Sprintf("no such kind of %s row: %#02x", l.name, r.Kind))
	}
	return r, nil
}

func scopeFault(s keys.Scope, global bool) string {
	switch {
	case !s.IsKV() || s[2] != 0 || s[3] != 0:
		return "not a key-value scope"
	case global && s != keys.Scope{}:
		return "a row of the house in the scope of a tenant"
	case !global && s.System() == 0:
		return "a row of a space in the scope of the house"
	}
	return ""
}

func (r *Row) parse(f field, src []byte) (rest []byte, ok bool) {
	need := 0
	switch f {
	case fieldKind:
		need = 1
	case fieldIndex:
		need = 2
	case fieldDue, fieldScore, fieldNumber:
		need = 8
	case fieldOf:
		need = len(r.Of)
	}
	if len(src) < need {
		return nil, false
	}
	rest, ok = src[need:], true
	switch f {
	case fieldKind:
		r.Kind = src[0]
	case fieldOf:
		copy(r.Of[:], src)
		ok = scopeFault(r.Of, false) == ""
	case fieldDue:
		r.Due = binary.BigEndian.Uint64(src)
	case fieldIndex:
		r.Index = binary.BigEndian.Uint16(src)
	case fieldName:
		r.Name, rest, ok = cutText(src)
	case fieldGroup:
		r.Group, rest, ok = cutText(src)
	case fieldScore:
		r.Score, ok = scoreOf(binary.BigEndian.Uint64(src))
	case fieldNumber:
		r.Number = binary.BigEndian.Uint64(src)
	case fieldKey:
		r.Key, rest = bytes.Clone(src), nil
		if r.Key == nil {
			r.Key = []byte{}
		}
	}
	return rest, ok
}

// shapeOf is the shape that a row's key says; 0: it is too short to say one.
func shapeOf(key []byte) Shape {
	if n := len(keys.Scope{}); len(key) > n {
		return Shape(key[n])
	}
	return 0
}

// MarshalJSON shows the fields that the shape has, for inspection: ids and
// numbers of 64 bits as strings, texts that are UTF-8 as such and others in
// hexadecimal under a name with _hex.
func (r Row) MarshalJSON() ([]byte, error) {
	out := map[string]any{"shape": r.Shape.String()}
	if r.Scope != (keys.Scope{}) {
		out["system"], out["space"], out["tenant"] = r.Scope.System(), r.Scope.Space(), fmt.Sprint(r.Scope.Tenant())
	}
	l := layoutOf(r.Shape)
	if l == nil {
		return nil, fmt.Errorf("kv: %s has no JSON", r.Shape)
	}
	for _, f := range l.fields {
		switch f {
		case fieldKind:
			out["kind"] = r.Kind
			if l.kinds != "" {
				out["kind"] = string(rune(r.Kind))
			}
		case fieldOf:
			out["of"] = r.Of.String()
		case fieldDue:
			out["due"] = timeOf(r.Due)
		case fieldIndex:
			out["index"] = r.Index
		case fieldName:
			printText(out, "name", r.Name)
		case fieldGroup:
			printText(out, "group", r.Group)
		case fieldScore:
			out["score"] = fmt.Sprint(r.Score)
		case fieldNumber:
			out["number"] = fmt.Sprint(r.Number)
		case fieldKey:
			printText(out, "key", r.Key)
		}
	}
	return json.Marshal(out)
}

// printText puts text under name, or its hexadecimal form where it is not UTF-8.
func printText(out map[string]any, name string, text []byte) {
	if utf8.Valid(text) {
		out[name] = string(text)
		return
	}
	out[name+"_hex"] = hex.EncodeToString(text)
}
