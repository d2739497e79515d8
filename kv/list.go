package kv

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/stoadb/stoa/engine"
)

// ListOptions say what a page has. The zero ListOptions are the first records of
// the space.
type ListOptions struct {
	Prefix []byte // keys that begin with it
	Cursor string // of the page before, whose Prefix was the same; "": the first page
	Limit  int    // records of a page, at most MaxPage; 0: 100
}

// Page is a part of a listing.
type Page struct {
	Records []Record // whose bytes are the caller's
	Next    string   // the cursor of the next page; "": this is the last
}

// defaultPage is the size of a page that nobody asked a size for. A page ends
// too once its records take pageBytes.
const (
	defaultPage = 100
	pageBytes   = 8 << 20
)

// List returns a page of the records, in order of their keys. It returns
// ErrInvalidCursor for a cursor of another listing, ErrInvalidArgument for a
// limit out of its bounds. Records that come and go between two pages are listed
// or not; the others are, once.
func (s *Space) List(ctx context.Context, o ListOptions) (Page, error) { return s.now().List(ctx, o) }

// List returns a page of the records in the state of the view; see [Space.List].
func (v *View) List(ctx context.Context, o ListOptions) (Page, error) {
	if err := checkKey(o.Prefix); err != nil {
		return Page{}, err
	}
	base := Row{Scope: v.scope, Shape: ShapeRecord}.AppendKey(nil)
	r := engine.Prefixed(append(base[:len(base):len(base)], o.Prefix...))
	question := append([]byte{byte(ShapeRecord)}, o.Prefix...)
	var page Page
	next, err := v.page(ctx, r, question, o.Cursor, o.Limit, func(row storedRow) (size int, err error) {
		record, err := v.listed(row)
		if err != nil || record.Kind == 0 {
			return 0, err
		}
		page.Records = append(page.Records, record)
		return len(record.Key) + len(record.Value) + 64, nil
	})
	if err != nil {
		return Page{}, err
	}
	if page.Next = next; next != "" {
		page.Records = page.Records[:len(page.Records)-1]
	}
	return page, nil
}

// listed returns the record of a row, whose Kind is 0 if it has expired.
func (v *View) listed(row storedRow) (Record, error) {
	record, err := parseRecord(row.raw, row.Key, row.value)
	if err != nil || record.expires != 0 && record.expired(v.time()) {
		return Record{}, err
	}
	record.Value = bytes.Clone(record.Value)
	return record, nil
}

// page calls take with the rows of a range that follow a cursor, until it has
// taken limit of them, each with a size above 0. If there is another page it
// returns its cursor, and take has taken the first row of that page too: so no
// cursor leads to a page of nothing.
func (v *View) page(ctx context.Context, r engine.Range, question []byte, cursor string, limit int, take func(storedRow) (size int, err error)) (next string, err error) {
	if err := v.store.open(); err != nil {
		return "", err
	}
	if limit < 0 || limit > MaxPage {
		return "", invalid("limit", "a page has 1 to %d entries, and 0 is %d", MaxPage, defaultPage)
	}
	if limit == 0 {
		limit = defaultPage
	}
	if cursor != "" {
		position, err := v.store.position(v.scope, question, cursor)
		if err != nil {
			return "", err
		}
		after := append(v.scope[:len(v.scope):len(v.scope)], position...)
		if bytes.Compare(after, r.Start) < 0 || r.End != nil && bytes.Compare(after, r.End) >= 0 { // signed, and yet of no page of this listing
			return "", noCursor()
		}
		if r.Reverse {
			r.End = after
		} else {
			r.Start = append(after, 0)
		}
	}
	taken, size := 0, 0
	var last []byte
	for row, err := range scanRows(ctx, v.reader, r) {
		if err != nil {
			return "", err
		}
		n, err := take(row)
		if err != nil {
			return "", err
		}
		if n == 0 {
			continue
		}
		if taken == limit || size >= pageBytes {
			return v.store.cursor(v.scope, question, last[len(v.scope):]), nil
		}
		taken, size = taken+1, size+n
		last = append(last[:0], row.raw...)
	}
	return "", nil
}

// All yields the records whose keys begin with prefix, in order of their keys, as
// they are when it begins. It holds a bounded part of them in memory at a time.
// Each record's bytes are the caller's.
func (s *Space) All(ctx context.Context, prefix []byte) iter.Seq2[Record, error] {
	return s.now().All(ctx, prefix)
}

// All yields the records in the state of the view; see [Space.All].
func (v *View) All(ctx context.Context, prefix []byte) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if err := v.store.open(); err != nil {
			yield(Record{}, err)
			return
		}
		base := Row{Scope: v.scope, Shape: ShapeRecord}.AppendKey(nil)
		for row, err := range scanRows(ctx, v.reader, engine.Prefixed(append(base, prefix...))) {
			var r Record
			if err == nil {
				r, err = v.listed(row)
			}
			if (err != nil || r.Kind != 0) && !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// IndexOptions say which records of an index a page has.
type IndexOptions struct {
	From, To []byte // terms from From up to, but without, To; a To of nil is no bound
	Reverse  bool   // the last term first
	Cursor   string // of the page before, whose other options were the same; "": the first page
	Limit    int    // records of a page, at most MaxPage; 0: 100
}

// Found is a record that an index led to.
type Found struct {
	Term []byte
	Record
}

// ByIndex returns a page of the records by their terms in an index of the type,
// in order of the terms and then of the keys. A record is there once for each of
// its terms in the range. Errors are those of List.
func (s *Space) ByIndex(ctx context.Context, index uint16, o IndexOptions) ([]Found, string, error) {
	view, err := s.View()
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = view.Close() }()
	return view.ByIndex(ctx, index, o)
}

// ByIndex yields what an index has in the state of the view; see [Space.ByIndex].
func (v *View) ByIndex(ctx context.Context, index uint16, o IndexOptions) ([]Found, string, error) {
	if !slices.ContainsFunc(v.typ.Indexes, func(i Index) bool { return i.Number == index }) {
		return nil, "", invalid("index", "the type has no index %d", index)
	}
	row := Row{Scope: v.scope, Shape: ShapeIndex, Index: index, Name: o.From}
	trim := func(key []byte) []byte { return key[:len(key)-2] } // up to where a term would go on
	base := Row{Scope: v.scope, Shape: ShapeIndex, Index: index}.AppendKey(nil)
	r := engine.Range{Start: trim(row.AppendKey(nil)), End: engine.Successor(trim(base)), Reverse: o.Reverse}
	if o.To != nil {
		row.Name = o.To
		r.End = trim(row.AppendKey(nil))
	}
	if bytes.Compare(r.Start, r.End) >= 0 {
		return nil, "", nil
	}
	question := appendText(appendText([]byte{byte(ShapeIndex), byte(index >> 8), byte(index), boolByte(o.Reverse)}, o.From), o.To)
	var found []Found
	next, err := v.page(ctx, r, question, o.Cursor, o.Limit, func(row storedRow) (int, error) {
		record, err := v.Get(row.Key)
		if errors.Is(err, ErrNotFound) { // expired
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		found = append(found, Found{row.Name, record})
		return len(record.Key) + len(record.Value) + len(row.Name) + 64, nil
	})
	if err != nil {
		return nil, "", err
	}
	if next != "" {
		found = found[:len(found)-1]
	}
	return found, next, nil
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}
