package kv

import (
	"bytes"
	"context"
	"iter"

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
	limit, err = v.resume(&r, question, cursor, limit)
	if err != nil {
		return "", err
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

// resume makes r what follows a cursor, and returns how many entries a page has.
func (v *View) resume(r *engine.Range, question []byte, cursor string, limit int) (int, error) {
	if err := v.store.open(); err != nil {
		return 0, err
	}
	if limit < 0 || limit > MaxPage {
		return 0, invalid("limit", "a page has 1 to %d entries, and 0 is %d", MaxPage, defaultPage)
	}
	if limit == 0 {
		limit = defaultPage
	}
	if cursor == "" {
		return limit, nil
	}
	position, err := v.store.position(v.scope, question, cursor)
	if err != nil {
		return 0, err
	}
	after := append(v.scope[:len(v.scope):len(v.scope)], position...)
	if bytes.Compare(after, r.Start) < 0 || r.End != nil && bytes.Compare(after, r.End) >= 0 { // signed, and yet of no page of this listing
		return 0, noCursor()
	}
	if r.Reverse {
		r.End = after
	} else {
		r.Start = append(after, 0)
	}
	return limit, nil
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
		for r, err := range v.Lent(ctx, prefix) {
			r.Value = bytes.Clone(r.Value)
			if !yield(r, err) {
				return
			}
		}
	}
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}
