package wire

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// RecordCreate is a stoav1.RecordCreateRequest, on its way out and in. Every event of a
// ledger is one.
type RecordCreate struct {
	Tenant, Collection string
	Document           []byte // not kept on its way out
	Durability         stoav1.Durability
	Guards             []lock.Guard
}

// Size is about how many bytes the message takes, and not less.
func (r *RecordCreate) Size() int {
	size := len(r.Tenant) + len(r.Collection) + len(r.Document) + 32
	for _, g := range r.Guards {
		size += len(g.Name) + 32
	}
	return size
}

// AppendTo appends the message to dst.
func (r *RecordCreate) AppendTo(dst []byte) []byte {
	dst = slices.Grow(dst, r.Size())
	if r.Tenant != "" {
		dst = appendBytesField(dst, 1, r.Tenant)
	}
	if r.Collection != "" {
		dst = appendBytesField(dst, 2, r.Collection)
	}
	if len(r.Document) > 0 {
		dst = appendBytesField(dst, 3, r.Document)
	}
	dst = appendNumberField(dst, 4, uint64(r.Durability))
	for _, g := range r.Guards {
		dst = appendBytesField(dst, 5, appendGuard(nil, g))
	}
	return dst
}

// appendGuard appends a stoav1.LockGuard.
func appendGuard(dst []byte, g lock.Guard) []byte {
	if g.Name != "" {
		dst = appendBytesField(dst, 1, g.Name)
	}
	return appendNumberField(dst, 2, g.Token)
}

// Parse decodes a message that came in one piece, of which it keeps nothing.
func (r *RecordCreate) Parse(message []byte) error {
	*r = RecordCreate{}
	f := fields{rest: message}
	for f.next() {
		switch {
		case f.is(1, protowire.BytesType):
			r.Tenant = string(f.bytes)
		case f.is(2, protowire.BytesType):
			if r.Collection = string(f.bytes); !utf8.Valid(f.bytes) {
				return fmt.Errorf("%w: the name of a collection is no UTF-8", errInbound)
			}
		case f.is(3, protowire.BytesType):
			r.Document = slices.Clone(f.bytes)
		case f.is(4, protowire.VarintType):
			r.Durability = stoav1.Durability(f.value)
		case f.is(5, protowire.BytesType):
			g, err := parseGuard(f.bytes)
			if err != nil {
				return err
			}
			r.Guards = append(r.Guards, g)
		}
	}
	return f.err
}

// parseGuard decodes a stoav1.LockGuard.
func parseGuard(message []byte) (g lock.Guard, err error) {
	f := fields{rest: message}
	for f.next() {
		switch {
		case f.is(1, protowire.BytesType):
			if g.Name = string(f.bytes); !utf8.Valid(f.bytes) {
				return g, fmt.Errorf("%w: the name of a lock is no UTF-8", errInbound)
			}
		case f.is(2, protowire.VarintType):
			g.Token = f.value
		}
	}
	return g, f.err
}

// RecordMade is a stoav1.RecordCreateResponse, on its way out and in.
type RecordMade struct {
	doc record.Doc
	has bool
}

// Set has the message say a record, whose bytes it shares.
func (m *RecordMade) Set(d *record.Doc) { m.doc, m.has = *d, true }

// Value returns what the message says.
func (m *RecordMade) Value() (record.Doc, error) {
	if !m.has {
		return record.Doc{}, &op.FieldError{Field: "doc", Reason: "it does not say what the record is"}
	}
	return m.doc, nil
}

// AppendTo appends the message to dst.
func (m *RecordMade) AppendTo(dst []byte) []byte {
	if !m.has {
		return dst
	}
	size := docSize(&m.doc)
	dst = protowire.AppendTag(slices.Grow(dst, size+docRoom), 1, protowire.BytesType)
	return appendDoc(protowire.AppendVarint(dst, uint64(size)), &m.doc)
}

// Parse decodes a message that came in one piece, of which it keeps nothing.
func (m *RecordMade) Parse(message []byte) error {
	*m = RecordMade{}
	f := fields{rest: message}
	for f.next() {
		if f.is(1, protowire.BytesType) { // what comes in several parts is one record
			m.has = true
			if err := mergeDoc(&m.doc, f.bytes); err != nil {
				return err
			}
		}
	}
	m.doc.JSON = slices.Clone(m.doc.JSON)
	return f.err
}
