package view

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/stoadb/stoa/kv/bucket"
)

// How many keys of a bucket a page has.
const (
	usualEntries = 50
	mostEntries  = 200
)

// bucketsDoc is the buckets of a tenant, and the services with what was agreed with them.
type bucketsDoc struct {
	Buckets  []bucketDoc         `json:"buckets"`
	Services []*bucket.Authority `json:"services"`
	gaps
}

// bucketDoc is what a bucket is and has.
type bucketDoc struct {
	Bucket   string          `json:"bucket"`
	Service  string          `json:"service,omitempty"`
	Alias    string          `json:"alias,omitempty"`
	Adopted  bool            `json:"adopted,omitempty"`
	History  int             `json:"history"`
	TTLMs    int64           `json:"ttl_ms"`
	MaxValue uint64          `json:"max_value_bytes"`
	Schema   json.RawMessage `json:"schema,omitempty"`
	Created  time.Time       `json:"created_at"`
	Revision uint64          `json:"revision,string"`
	Keys     uint64          `json:"keys"`
	Kept     uint64          `json:"revisions_kept"`
	Bytes    uint64          `json:"bytes"`
}

func newBucketDoc(b *bucket.Bucket) (d bucketDoc, err error) {
	s, err := b.Status()
	if err != nil {
		return d, err
	}
	d = bucketDoc{
		Bucket: s.Name, Service: s.Service, Alias: s.Alias, Adopted: s.Adopted, History: s.History, TTLMs: s.TTL.Milliseconds(), MaxValue: s.MaxValue,
		Schema: s.Schema, Created: s.Created.UTC(), Revision: s.Revision, Keys: s.Keys, Kept: s.Values, Bytes: s.Bytes,
	}
	if d.MaxValue == 0 {
		d.MaxValue = bucket.MaxValue
	}
	return d, nil
}

// bucketList answers the buckets of a tenant and its services.
func (s *Server) bucketList(r *http.Request) (any, error) {
	tenant := r.URL.Query().Get("tenant")
	doc := bucketsDoc{Buckets: []bucketDoc{}, Services: []*bucket.Authority{}}
	err := s.store.recorded(func(p *policies) error {
		all, err := p.buckets.List(r.Context(), tenant)
		if err != nil {
			return err
		}
		for i := range all {
			b, err := p.buckets.Open(tenant, all[i].Name)
			if err != nil {
				return err
			}
			d, err := newBucketDoc(b)
			if err != nil {
				return err
			}
			doc.Buckets = append(doc.Buckets, d)
		}
		services, err := p.buckets.Authorities(r.Context(), tenant)
		doc.Services, doc.gaps = append(doc.Services, services...), p.gaps()
		return err
	})
	return doc, err
}

// entriesDoc is a page of what a bucket has.
type entriesDoc struct {
	Bucket  bucketDoc  `json:"bucket"`
	Entries []entryDoc `json:"entries"`
	Next    string     `json:"next,omitempty"` // pass it as cursor for the next page
	gaps
}

// entryDoc is a revision of a key.
type entryDoc struct {
	Key      string    `json:"key"`
	Op       string    `json:"op"`
	Revision uint64    `json:"revision,string"`
	Created  time.Time `json:"created_at"`
	Expires  time.Time `json:"expires_at,omitzero"`
	valueDoc
}

func newEntryDoc(e *bucket.Entry) entryDoc {
	d := entryDoc{Key: e.Key, Op: e.Op.String(), Revision: e.Revision, Created: e.Created.UTC(), Expires: e.Expires.UTC()}
	if e.Op == bucket.OpPut {
		d.valueDoc = newValueDoc(e.Value)
	}
	return d
}

// inBucket calls look with the bucket that a request names.
func (s *Server) inBucket(r *http.Request, look func(*policies, *bucket.Bucket) error) error {
	q := r.URL.Query()
	return s.store.recorded(func(p *policies) error {
		b, err := p.buckets.Open(q.Get("tenant"), q.Get("bucket"))
		if err != nil {
			return err
		}
		return look(p, b)
	})
}

// entries answers a page of the keys of a bucket, with their newest revisions.
func (s *Server) entries(r *http.Request) (any, error) {
	limit, err := limitOf(r, usualEntries, mostEntries)
	if err != nil {
		return nil, err
	}
	q, doc := r.URL.Query(), entriesDoc{Entries: []entryDoc{}}
	err = s.inBucket(r, func(p *policies, b *bucket.Bucket) (err error) {
		if doc.Bucket, err = newBucketDoc(b); err != nil {
			return err
		}
		page, err := b.List(r.Context(), q.Get("prefix"), q.Get("cursor"), limit)
		for i := range page.Entries {
			doc.Entries = append(doc.Entries, newEntryDoc(&page.Entries[i]))
		}
		doc.Next, doc.gaps = page.Next, p.gaps()
		return err
	})
	return doc, err
}

// keyDoc is a key with what is kept of it, oldest first.
type keyDoc struct {
	History []entryDoc `json:"history"`
	gaps
}

// bucketKey answers the revisions of a key.
func (s *Server) bucketKey(r *http.Request) (any, error) {
	doc := keyDoc{History: []entryDoc{}}
	err := s.inBucket(r, func(p *policies, b *bucket.Bucket) error {
		history, err := b.History(r.URL.Query().Get("key"))
		for i := range history {
			doc.History = append(doc.History, newEntryDoc(&history[i]))
		}
		doc.gaps = p.gaps()
		return err
	})
	return doc, err
}

// contractDoc is what was agreed with a service, and, where a contract waits, what accepting that
// changes.
type contractDoc struct {
	Authority *bucket.Authority `json:"authority"`
	Plan      *bucket.Proposal  `json:"plan,omitempty"`
	gaps
}

// serviceContract answers the contracts of a service.
func (s *Server) serviceContract(r *http.Request) (any, error) {
	q := r.URL.Query()
	tenant, service := q.Get("tenant"), q.Get("service")
	var doc contractDoc
	err := s.store.recorded(func(p *policies) (err error) {
		if doc.Authority, err = p.buckets.Authority(tenant, service); err != nil {
			return err
		}
		if doc.Authority.Proposed != nil {
			doc.Plan, err = p.buckets.Plan(r.Context(), tenant, service)
		}
		doc.gaps = p.gaps()
		return err
	})
	return doc, err
}

// ofBuckets returns the status of an error of buckets; 0: it is none.
func ofBuckets(err error) int {
	var of *bucket.Error
	switch {
	case !errors.As(err, &of):
		return 0
	case errors.Is(err, bucket.ErrNotFound):
		return http.StatusNotFound
	}
	return http.StatusBadRequest
}
