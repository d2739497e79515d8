package session

import (
	"context"

	"github.com/stoadb/stoa/kv/record"
)

// Get returns the session of an id, with the id; or that of a handle, without it. It returns
// record.ErrNotFound from the instant on at which its time is over.
func (s *Store) Get(ctx context.Context, tenant, ref string) (record.Doc, error) {
	handle, byID, err := handled(ref)
	if err != nil {
		return record.Doc{}, err
	}
	d, err := s.records.Get(ctx, tenant, Sessions, handle)
	if err != nil {
		return record.Doc{}, unless(err)
	}
	if !byID {
		d.JSON = s.collection.Without(d.JSON)
	}
	return d, nil
}

// List returns a page of the sessions of a user, or, for "", of all users: without their ids,
// the oldest first. Filters of the query say nothing.
func (s *Store) List(ctx context.Context, tenant, user string, q record.Query) (record.Page, error) {
	q.Filters = nil
	if user != "" {
		q.Filters = []record.Filter{ofUser(user)}
	}
	page, err := s.records.List(ctx, tenant, Sessions, q)
	for i := range page.Docs {
		page.Docs[i].JSON = s.collection.Without(page.Docs[i].JSON)
	}
	return page, err
}
