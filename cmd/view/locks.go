package view

import (
	"context"
	"net/http"
	"time"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/kv/lock"
)

// How many locks a page has.
const (
	usualLocks = 50
	mostLocks  = 200
)

// locksDoc is a page of the locks that are held.
type locksDoc struct {
	Locks []lockDoc `json:"locks"`
	Live  bool      `json:"live"`           // they are those of now, and who waits is known
	Next  string    `json:"next,omitempty"` // pass it as cursor for the next page
	gaps
}

// lockDoc is a lock with who holds it, and who waits for it, in order.
type lockDoc struct {
	Name    string      `json:"name"`
	Mode    string      `json:"mode"`
	Holders []holderDoc `json:"holders"`
	Waiting []waiterDoc `json:"waiting,omitempty"`
}

type holderDoc struct {
	Agent    string    `json:"agent"`
	Token    uint64    `json:"token,string"`
	Acquired time.Time `json:"acquired_at"`
	Expires  time.Time `json:"expires_at"`
	Purpose  string    `json:"purpose,omitempty"`
}

type waiterDoc struct {
	Agent    string    `json:"agent"`
	Mode     string    `json:"mode"`
	Priority int       `json:"priority"`
	Since    time.Time `json:"since"`
}

// storedLocks are the locks of a tenant as its rows have them.
type storedLocks struct {
	store  *lock.Store
	tenant string
}

func (l storedLocks) List(ctx context.Context, o lock.ListOptions) (lock.Page, error) {
	return l.store.List(ctx, l.tenant, o)
}

func (l storedLocks) Queue(context.Context, string) ([]lock.Waiting, error) { return nil, nil }

// locks answers a page of the locks of a tenant.
func (s *Server) locks(r *http.Request) (any, error) {
	limit, err := limitOf(r, usualLocks, mostLocks)
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	o := lock.ListOptions{Prefix: q.Get("prefix"), Cursor: q.Get("cursor"), Limit: limit}
	var doc *locksDoc
	var live inspect.Locks
	err = s.store.with(func(src *inspect.Source) (err error) {
		if src.Locks != nil {
			live = src.Locks(q.Get("tenant"))
			doc, err = locksOf(r.Context(), live, o)
		}
		return err
	})
	if err != nil || live != nil {
		return doc, err
	}
	err = s.store.recorded(func(p *policies) (err error) {
		if doc, err = locksOf(r.Context(), storedLocks{p.locks, q.Get("tenant")}, o); err == nil {
			doc.Live, doc.gaps = false, p.gaps()
		}
		return err
	})
	return doc, err
}

// locksOf is a page of locks as they are now.
func locksOf(ctx context.Context, locks inspect.Locks, o lock.ListOptions) (*locksDoc, error) {
	page, err := locks.List(ctx, o)
	if err != nil {
		return nil, err
	}
	doc := &locksDoc{Locks: []lockDoc{}, Live: true, Next: page.Next}
	for _, l := range page.Locks {
		one := lockDoc{Name: l.Name, Mode: l.Mode.String(), Holders: []holderDoc{}}
		for _, h := range l.Holders {
			one.Holders = append(one.Holders, holderDoc{h.Agent, h.Token, h.Acquired.UTC(), h.Expires.UTC(), h.Purpose})
		}
		if l.Waiting > 0 {
			list, err := locks.Queue(ctx, l.Name)
			if err != nil {
				return nil, err
			}
			for _, w := range list {
				one.Waiting = append(one.Waiting, waiterDoc{w.Agent, w.Mode.String(), w.Priority, time.UnixMilli(int64(w.Since)).UTC()})
			}
		}
		doc.Locks = append(doc.Locks, one)
	}
	return doc, nil
}
