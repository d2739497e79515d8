package view

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net/http"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// What one page of rows may have.
const (
	usualRows  = 50
	mostRows   = 1000
	inlineSize = 8 << 10  // bytes of a value from which on a page has only its beginning
	pageSize   = 1 << 20  // bytes of values after which a page ends
	wholeSize  = 1 << 20  // bytes of a value from which on not even a row by itself shows it whole
	beginning  = 64       // bytes that are shown of one that is cut
	wholeStart = 64 << 10 // likewise, of a row by itself
)

// columnDoc is what the schema says of a column.
type columnDoc struct {
	Name  string    `json:"name"`
	Kinds []kindDoc `json:"kinds"`
}

// kindDoc is a type of key, or a scope of Generic, and where its rows are.
type kindDoc struct {
	Name   string   `json:"name"`
	Prefix string   `json:"prefix"` // the leading bytes of its keys, in hex
	Fields []string `json:"fields,omitempty"`
	Holds  string   `json:"holds,omitempty"`
	Secret bool     `json:"secret,omitempty"`
}

func schema() (docs []columnDoc) {
	for c := range column.All {
		doc := columnDoc{Name: c.String(), Kinds: []kindDoc{}}
		for info := range keys.Schema() {
			if info.Column != c || c == column.Generic {
				continue
			}
			k := kindDoc{Name: info.Name, Secret: info.Secret}
			if info.Tag != 0 {
				k.Prefix = hex.EncodeToString([]byte{info.Tag})
			}
			for _, f := range info.Fields {
				k.Fields = append(k.Fields, f.Name)
			}
			doc.Kinds = append(doc.Kinds, k)
		}
		if c == column.Generic {
			for s := range keys.Scopes() {
				at := s.Scope()
				doc.Kinds = append(doc.Kinds, kindDoc{Name: s.Name, Prefix: hex.EncodeToString(at[:]), Holds: s.Holds})
			}
		}
		docs = append(docs, doc)
	}
	return docs
}

// rowDoc is a row of a page. Secrets are redacted in it.
type rowDoc struct {
	inspect.Record
	At   string `json:"at"`   // its key in hex
	Size int    `json:"size"` // bytes of its value
	Cut  bool   `json:"cut,omitempty"`
}

// newRowDoc returns the row; of a value of more than whole bytes only the first
// start.
func newRowDoc(p *inspect.Printer, col column.Column, key, value []byte, whole, start int) rowDoc {
	doc := rowDoc{At: hex.EncodeToString(key), Size: len(value)}
	// A secret is no longer for being redacted, and nor is what does not parse.
	hidden, err := p.Hides(col, key, value)
	if len(value) <= whole || hidden || err != nil || keys.Check(col, key, value) != nil {
		doc.Record = p.Record(col, key, value)
		return doc
	}
	doc.Cut = true
	doc.Record = p.Record(col, key, nil)
	doc.Value, doc.Fault, doc.Hex = nil, "", hex.EncodeToString(value[:start])
	return doc
}

// pageDoc is a page of rows.
type pageDoc struct {
	Rows  []rowDoc `json:"rows"`
	Next  string   `json:"next,omitempty"`  // pass it as after for the next page
	Fault string   `json:"fault,omitempty"` // why nothing behind the last row can be read
	gaps
}

// rows answers a page of the rows of a column: those whose keys begin with
// prefix, behind after; with reverse=1 the last first.
func (s *Server) rows(r *http.Request) (any, error) {
	col, err := columnOf(r)
	if err != nil {
		return nil, err
	}
	limit, err := limitOf(r, usualRows, mostRows)
	if err != nil {
		return nil, err
	}
	prefix, err := bytesOf(r, "prefix")
	if err != nil {
		return nil, err
	}
	after, err := bytesOf(r, "after")
	if err != nil {
		return nil, err
	}
	rg := rangeOf(prefix, after, r.URL.Query().Get("reverse") == "1")
	var page pageDoc
	err = s.store.with(func(src *inspect.Source) (err error) {
		var left gaps
		page, err = pageOf(src.Printer(false), src.AsIs(left.tell), col, rg, limit)
		page.gaps = left
		return err
	})
	return page, err
}

// rangeOf returns the range of the keys that begin with prefix, behind after; nil:
// from the first, or in reverse from the last.
func rangeOf(prefix, after []byte, reverse bool) engine.Range {
	rg := engine.Prefixed(prefix)
	rg.Reverse = reverse
	switch {
	case after == nil:
	case reverse:
		rg.End = after
	default:
		rg.Start = append(after, 0)
	}
	return rg
}

func pageOf(p *inspect.Printer, r engine.Reader, col column.Column, rg engine.Range, limit int) (page pageDoc, err error) {
	rg.Limit = limit + 2
	it, err := r.Iterate(col, rg)
	if err != nil {
		return page, err
	}
	defer func() { _ = it.Close() }() // what it has to say, Err has said
	page.Rows = []rowDoc{}
	size := 0
	for it.Next() {
		// Behind the empty key, which only damage makes, there would be no next.
		if n := len(page.Rows); (n >= limit || size > pageSize) && page.Rows[n-1].At != "" {
			page.Next = page.Rows[n-1].At
			return page, nil
		}
		page.Rows = append(page.Rows, newRowDoc(p, col, it.Key(), it.Value(), inlineSize, beginning))
		size += len(it.Value())
	}
	if err := it.Err(); err != nil {
		if len(page.Rows) == 0 && statusOf(err) != http.StatusInternalServerError {
			return page, err
		}
		page.Fault = err.Error()
	}
	return page, nil
}

// row answers one row, with more of its value than a page has.
func (s *Server) row(r *http.Request) (any, error) {
	col, err := columnOf(r)
	if err != nil {
		return nil, err
	}
	key, err := bytesOf(r, "key")
	if err != nil {
		return nil, err
	}
	var doc rowDoc
	err = s.store.with(func(src *inspect.Source) error {
		it, err := src.Iterate(col, engine.Range{Start: key, Limit: 1})
		if err != nil {
			return err
		}
		defer func() { _ = it.Close() }() // what it has to say, Err has said
		if !it.Next() || !bytes.Equal(it.Key(), key) {
			if err := it.Err(); err != nil {
				return err
			}
			return fmt.Errorf("%w: %s %x", engine.ErrNotFound, col, key)
		}
		doc = newRowDoc(src.Printer(false), col, key, it.Value(), wholeSize, wholeStart)
		return nil
	})
	return doc, err
}

func columnOf(r *http.Request) (column.Column, error) {
	name := r.URL.Query().Get("column")
	for c := range column.All {
		if c.String() == name {
			return c, nil
		}
	}
	return 0, bad("column: there is no %q", name)
}

// bytesOf returns the bytes that a request names in hex; nil if it does not.
func bytesOf(r *http.Request, name string) ([]byte, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return nil, nil
	}
	b, err := hex.DecodeString(text)
	if err != nil {
		return nil, bad("%s: %q is not hex", name, text)
	}
	if len(b) > keys.MaxFixed+keys.MaxVariable {
		return nil, bad("%s: no key has %d bytes", name, len(b))
	}
	return b, nil
}
