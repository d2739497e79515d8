package record

import (
	"context"
	"encoding/json"
	"time"

	"github.com/stoadb/stoa/kv"
)

// Get returns a document, whose bytes are the caller's, or ErrNotFound.
func (s *Store) Get(ctx context.Context, tenant, collection, id string) (Doc, error) {
	c, space, err := s.look(tenant, collection)
	if err != nil {
		return Doc{}, err
	}
	if err := ctx.Err(); err != nil {
		return Doc{}, err
	}
	if space == nil {
		return Doc{}, c.told(noRecord(id))
	}
	d, err := c.get(space, id)
	return d, c.told(err)
}

// Query says which records a page has. The zero Query are those in force, in order of
// their creation.
type Query struct {
	// Filters all hold. By the first the records are ordered: by the values of its index,
	// and where those are the same by their creation.
	Filters []Filter
	All     bool   // those that are not in force too
	Reverse bool   // the last one first
	Cursor  string // of the page before, whose query was the same but for Limit; "": the first page
	Limit   int    // records of a page, at most kv.MaxPage; 0: DefaultPage
}

// Page is a part of a list.
type Page struct {
	Docs []Doc // whose bytes are the caller's
	// Next is the cursor of the next page; "": this is the last. A page whose filters leave
	// out most of what it looks at may have fewer records than the limit and yet a next.
	Next string
}

// List returns a page of records. It returns ErrInvalidCursor for a cursor of another
// list, ErrInvalidArgument for a filter by what is no index. It reads a page of the
// first filter's index, and those records.
func (s *Store) List(ctx context.Context, tenant, collection string, q Query) (Page, error) {
	c, space, err := s.look(tenant, collection)
	if err != nil {
		return Page{}, err
	}
	if space == nil {
		return c.none(q)
	}
	view, err := space.View()
	if err != nil {
		return Page{}, c.told(err)
	}
	defer func() { _ = view.Close() }()
	page, err := c.list(ctx, view, q)
	return page, c.told(err)
}

// none is the page of a list of a tenant that has nothing.
func (c *Collection) none(q Query) (Page, error) {
	_, _, err := c.asked(q)
	if err == nil && q.Cursor != "" {
		err = refuse(CodeInvalidCursor, "cursor", "it is not of a page of this list: begin without one")
	}
	return Page{}, c.told(err)
}

// asked is a query of the collection, and what its cursors are for.
func (c *Collection) asked(q Query) (filters []filter, question []byte, err error) {
	if len(q.Filters) > maxFilters {
		return nil, nil, invalid("filters", "a list has at most %d filters", maxFilters)
	}
	if len(q.Filters) == 0 {
		q.Filters = []Filter{{}}
	}
	for _, by := range q.Filters {
		f, err := c.filter(by)
		if err != nil {
			return nil, nil, err
		}
		filters = append(filters, f)
	}
	q.Cursor, q.Limit = "", 0
	question, err = json.Marshal(q)
	return filters, question, err
}

func (c *Collection) list(ctx context.Context, view *kv.View, q Query) (page Page, err error) {
	filters, question, err := c.asked(q)
	if err != nil {
		return page, err
	}
	if q.Limit == 0 {
		q.Limit = DefaultPage
	}
	first, now := filters[0], view.Time()
	found, next, err := view.ByIndex(ctx, first.number, kv.IndexOptions{
		From: first.from, To: first.to, Reverse: q.Reverse, Cursor: q.Cursor, Limit: q.Limit, Asked: question, Look: maxLook,
		Keep: func(term []byte, r *kv.Record) bool { return c.kept(filters, term, r, q.All, now) },
	})
	if err != nil {
		return page, err
	}
	page.Next = next
	page.Docs = make([]Doc, 0, len(found))
	for _, f := range found {
		d, err := c.doc(f.Record)
		if err != nil {
			return Page{}, err
		}
		page.Docs = append(page.Docs, d)
	}
	return page, nil
}

// kept reports whether a list has the record that a term of the first filter's index
// led to. One with several terms there is listed at the first.
func (c *Collection) kept(filters []filter, term []byte, r *kv.Record, all bool, now time.Time) bool {
	_, doc := cut(r.Value)
	if !all && !c.inForce(doc, now) {
		return false
	}
	if first := filters[0]; first.index != nil && first.index.Each {
		at, ok := first.finds(doc)
		if !ok || string(at) != string(term[:len(term)-ordinalBytes]) {
			return false
		}
	}
	for _, f := range filters[1:] {
		if _, ok := f.finds(doc); !ok {
			return false
		}
	}
	return true
}

// History returns what a record was at its revisions that are kept, oldest first; the
// JSON is nil where it was removed. It returns ErrNotFound if the collection keeps none
// of it.
func (s *Store) History(ctx context.Context, tenant, collection, id string) (list []Doc, err error) {
	c, space, err := s.look(tenant, collection)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	if space == nil || !c.ID.fits(id) {
		return nil, c.told(noRecord(id))
	}
	view, err := space.View()
	if err != nil {
		return nil, c.told(err)
	}
	defer func() { _ = view.Close() }()
	records, err := view.History(c.ID.key(id))
	if err != nil {
		return nil, c.told(err)
	}
	for _, r := range records {
		d, err := c.doc(r)
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	if len(list) == 0 {
		return nil, c.told(noRecord(id))
	}
	return list, nil
}
