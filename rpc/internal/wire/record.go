package wire

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// RecordPage is a stoav1.RecordListResponse, on its way out and in. About its hundreds of
// small parts the protobuf library takes about as long as the daemon about finding them:
// BenchmarkRecord of package server.
type RecordPage struct{ page record.Page }

// Set has the message say a page, whose bytes it shares.
func (p *RecordPage) Set(page *record.Page) { p.page = *page }

// Value returns what the message says.
func (p *RecordPage) Value() (record.Page, error) { return p.page, nil }

// docRoom is what a document takes at most besides its id and its JSON: seven tags, four
// numbers, three lengths.
const docRoom = 7 + 4*10 + 3*5

// AppendTo appends the message to dst.
func (p *RecordPage) AppendTo(dst []byte) []byte {
	size := 8 + len(p.page.Next)
	for i := range p.page.Docs {
		size += docRoom + len(p.page.Docs[i].ID) + len(p.page.Docs[i].JSON)
	}
	dst = slices.Grow(dst, size)
	for i := range p.page.Docs {
		d := &p.page.Docs[i]
		dst = protowire.AppendTag(dst, 1, protowire.BytesType)
		dst = protowire.AppendVarint(dst, uint64(docSize(d)))
		dst = appendDoc(dst, d)
	}
	if p.page.Next != "" {
		dst = appendBytesField(dst, 2, p.page.Next)
	}
	return dst
}

// docSize is how many bytes appendDoc appends.
func docSize(d *record.Doc) int {
	size := numberSize(d.Revision) + numberSize(d.Ordinal) + numberSize(op.Millis(d.Written)) + numberSize(op.Millis(d.Expires))
	for _, n := range []int{len(d.ID), len(d.JSON)} {
		if n > 0 {
			size += 1 + protowire.SizeBytes(n)
		}
	}
	return size
}

func numberSize(n uint64) int {
	if n == 0 {
		return 0
	}
	return 1 + protowire.SizeVarint(n)
}

// appendDoc appends a stoav1.RecordDoc.
func appendDoc(dst []byte, d *record.Doc) []byte {
	if d.ID != "" {
		dst = appendBytesField(dst, 1, d.ID)
	}
	dst = appendNumberField(dst, 2, d.Revision)
	dst = appendNumberField(dst, 3, d.Ordinal)
	if len(d.JSON) > 0 {
		dst = appendBytesField(dst, 4, d.JSON)
	}
	dst = appendNumberField(dst, 5, op.Millis(d.Written))
	return appendNumberField(dst, 6, op.Millis(d.Expires))
}

// Parse decodes a message that came in one piece, of which it keeps nothing: the
// documents share a copy.
func (p *RecordPage) Parse(message []byte) error {
	p.page = record.Page{}
	docs := 0
	for f := (fields{rest: message}); f.next(); {
		if f.is(1, protowire.BytesType) {
			docs++
		}
	}
	p.page.Docs = make([]record.Doc, 0, docs)
	f := fields{rest: slices.Clone(message)}
	for f.next() {
		switch {
		case f.is(1, protowire.BytesType):
			d, err := parseDoc(f.bytes)
			if err != nil {
				return err
			}
			p.page.Docs = append(p.page.Docs, d)
		case f.is(2, protowire.BytesType):
			if p.page.Next = string(f.bytes); !utf8.Valid(f.bytes) {
				return fmt.Errorf("%w: next is no UTF-8", errInbound)
			}
		}
	}
	return f.err
}

// parseDoc decodes a stoav1.RecordDoc, of which it keeps the JSON.
func parseDoc(message []byte) (d record.Doc, err error) {
	err = mergeDoc(&d, message)
	return d, err
}

// mergeDoc is parseDoc of a part of a message that came in several.
func mergeDoc(d *record.Doc, message []byte) error {
	f := fields{rest: message}
	for f.next() {
		switch {
		case f.is(1, protowire.BytesType):
			if d.ID = string(f.bytes); !utf8.Valid(f.bytes) {
				return fmt.Errorf("%w: an id is no UTF-8", errInbound)
			}
		case f.is(2, protowire.VarintType):
			d.Revision = f.value
		case f.is(3, protowire.VarintType):
			d.Ordinal = f.value
		case f.is(4, protowire.BytesType):
			d.JSON = nil
			if len(f.bytes) > 0 {
				d.JSON = f.bytes
			}
		case f.is(5, protowire.VarintType):
			d.Written = op.Time(f.value)
		case f.is(6, protowire.VarintType):
			d.Expires = op.Time(f.value)
		}
	}
	return f.err
}
