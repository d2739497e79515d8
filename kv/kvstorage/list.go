package kvstorage

import (
	"context"
	"iter"

	"github.com/stoadb/stoa/kv"
)

// ListOptions say what a page has.
type ListOptions struct {
	Prefix string // keys that begin with it; "": all
	Cursor string // of the page before; "": the first page
	Limit  int    // at most kv.MaxPage; 0: 100
	// KeysOnly leaves the values out: those of the items are nil.
	KeysOnly bool
}

// Page is a part of a listing, in byte order of the keys.
type Page struct {
	Items []Item
	Next  string // the cursor of the next page; "": this is the last
}

// List returns a page of what a tenant has.
func (s *Storage) List(ctx context.Context, tenant string, o ListOptions) (Page, error) {
	found, err := s.read(tenant)
	if err != nil {
		return Page{}, err
	}
	if found == nil {
		if o.Cursor != "" {
			return Page{}, refuse(InvalidCursor, "cursor", "it is not of a page of this listing: begin without one")
		}
		return Page{}, nil
	}
	page, err := found.List(ctx, kv.ListOptions{Prefix: []byte(o.Prefix), Cursor: o.Cursor, Limit: o.Limit})
	if err != nil {
		return Page{}, s.clientError(err)
	}
	out := Page{Next: page.Next}
	for _, r := range page.Records {
		i := s.item(r)
		if o.KeysOnly {
			i.Value = nil
		}
		out.Items = append(out.Items, i)
	}
	return out, nil
}

// All yields what a tenant has under keys that begin with prefix, in byte order,
// as it is when it begins. It holds a bounded part of it in memory.
func (s *Storage) All(ctx context.Context, tenant, prefix string) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		found, err := s.read(tenant)
		if err != nil {
			yield(Item{}, err)
			return
		}
		if found == nil {
			return
		}
		for r, err := range found.All(ctx, []byte(prefix)) {
			var i Item
			if err == nil {
				i = s.item(r)
			}
			if !yield(i, s.clientError(err)) || err != nil {
				return
			}
		}
	}
}

// Keys is All without the values: those of the items are nil.
func (s *Storage) Keys(ctx context.Context, tenant, prefix string) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for i, err := range s.All(ctx, tenant, prefix) {
			i.Value = nil
			if !yield(i, err) {
				return
			}
		}
	}
}

// Event is what a watcher is told; see [kv.Event].
type Event struct {
	Kind     kv.EventKind
	Revision uint64
	Item     Item // of put; of delete and expire only Key is set, and Found is false
}

// Watch yields what happens to keys of a tenant that begin with the options'
// prefixes. A watch has begun once it yields; for one from now on that is
// kv.EventSynced; see [kv.Space.Watch]. A tenant that has nothing gets its space by it.
func (s *Storage) Watch(ctx context.Context, tenant string, o kv.WatchOptions) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if err := s.begin(tenant); err != nil {
			yield(Event{}, s.clientError(err))
			return
		}
		found, err := s.store.CreateSpace(ctx, tenant, kv.SystemStorage, space, s.o.Quota)
		if err != nil {
			yield(Event{}, s.clientError(err))
			return
		}
		for e, err := range found.Watch(ctx, o) {
			if err != nil {
				yield(Event{}, s.clientError(err))
				return
			}
			out := Event{Kind: e.Kind, Revision: e.Revision, Item: nothing(string(e.Record.Key))}
			if e.Kind == kv.EventPut {
				out.Item = s.item(e.Record)
			}
			if !yield(out, nil) {
				return
			}
		}
	}
}
