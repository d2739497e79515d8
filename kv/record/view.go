package record

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/stoadb/stoa/kv"
)

// View is the collections of a tenant as they are at one moment. Any number of
// goroutines may use it at once.
type View struct {
	s        *Store
	tenant   string
	snapshot *kv.Snapshot
}

// View returns the collections of a tenant as they are now. It holds back the room of
// what is overwritten until it is closed.
func (s *Store) View(tenant string) (*View, error) {
	if tenant == "" {
		return nil, invalid("tenant", "a tenant is required")
	}
	snapshot, err := s.kv.View()
	if err != nil {
		return nil, err
	}
	return &View{s, tenant, snapshot}, nil
}

// Close gives back what the view holds.
func (v *View) Close() error { return v.snapshot.Close() }

// in returns a collection in the state of the view; the view is nil if the tenant has
// none of it.
func (v *View) in(name string) (*Collection, *kv.View, error) {
	c, space, err := v.s.look(v.tenant, name)
	if err != nil || space == nil {
		return c, nil, err
	}
	inner := v.snapshot.In(space)
	_, err = inner.Stats()
	if errors.Is(err, kv.ErrSpaceNotFound) { // it was made since
		return c, nil, nil
	}
	return c, inner, err
}

// Get returns a document; see [Store.Get].
func (v *View) Get(collection, id string) (Doc, error) {
	c, inner, err := v.in(collection)
	if err != nil {
		return Doc{}, err
	}
	if inner == nil {
		return Doc{}, c.told(noRecord(id))
	}
	d, err := c.get(inner, id)
	return d, c.told(err)
}

// Revision is the revision of the last change of a collection; 0: there was none yet.
func (v *View) Revision(collection string) (uint64, error) {
	c, inner, err := v.in(collection)
	if err != nil || inner == nil {
		return 0, err
	}
	stats, err := inner.Stats()
	return stats.Revision, c.told(err)
}

// All yields the records of a collection, in force or not, in order of their ids. Their
// bytes are the caller's.
func (v *View) All(ctx context.Context, collection string) iter.Seq2[Doc, error] {
	return func(yield func(Doc, error) bool) {
		c, inner, err := v.in(collection)
		if err != nil || inner == nil {
			if err != nil {
				yield(Doc{}, err)
			}
			return
		}
		for r, err := range inner.All(ctx, nil) {
			var d Doc
			if err == nil {
				d, err = c.doc(r)
			}
			if !yield(d, c.told(err)) || err != nil {
				return
			}
		}
	}
}

// Change is what a revision did to a record.
type Change struct {
	Doc // its JSON is nil if the record was removed
	// Overtaken says that the document is not kept: a later change of the record follows.
	Overtaken bool
}

// Changes returns the changes of a collection after a revision, oldest first and without
// a gap, at most limit of them, and whether there are more. It returns ErrTrimmed where
// they are not kept: then the records are to be read again.
func (v *View) Changes(ctx context.Context, collection string, after uint64, limit int) (list []Change, more bool, err error) {
	c, inner, err := v.in(collection)
	if err != nil || inner == nil {
		return nil, false, err
	}
	changes, more, err := inner.Changes(ctx, after, limit)
	if err != nil {
		return nil, false, c.told(err)
	}
	for _, one := range changes {
		change := Change{Doc: Doc{Revision: one.Revision, Written: one.Written}, Overtaken: one.Overtaken}
		if one.Overtaken {
			change.ID = c.ID.of(one.Key)
		} else if change.Doc, err = c.doc(one.Record); err != nil {
			return nil, false, err
		}
		list = append(list, change)
	}
	return list, more, nil
}

// Time is the moment of the view.
func (v *View) Time() time.Time { return v.snapshot.Time() }

// List returns a page of records; see [Store.List].
func (v *View) List(ctx context.Context, collection string, q Query) (Page, error) {
	c, inner, err := v.in(collection)
	if err != nil {
		return Page{}, err
	}
	if inner == nil {
		return c.none(q)
	}
	page, err := c.list(ctx, inner, q)
	return page, c.told(err)
}
