package view

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/bucket"
	kvjob "github.com/stoadb/stoa/kv/job"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/kv/session"
)

// policies are the records of collections of a source, behind damage, and what is decided
// by them. They are safe for concurrent use.
type policies struct {
	kv      *kv.Store
	rules   *policy.Store
	tasks   *approval.Store
	locks   *lock.Store
	jobs    *kvjob.Store
	buckets *bucket.Store
	values  *kvstorage.Storage

	mu   sync.Mutex
	lost gaps // met so far
}

// policiesOf returns the records of src, which must outlive them.
func policiesOf(src *inspect.Source) (*policies, error) {
	p := &policies{}
	db := engine.ReadOnly(withoutSecrets{src.Lenient(p.tell)})
	var err error
	// It logs what is due and can't be done, which a store that is only read says all the time.
	if p.kv, err = kv.Open(db, kv.Options{Log: slog.New(slog.DiscardHandler)}); err != nil {
		return nil, err
	}
	if p.values, err = kvstorage.New(p.kv, kvstorage.Options{}); err != nil {
		return nil, errors.Join(err, p.kv.Close())
	}
	if p.rules, err = policy.New(p.kv, policy.Options{}); err != nil {
		return nil, errors.Join(err, p.kv.Close())
	}
	if p.tasks, err = approval.New(p.rules.Records(), approval.Options{}); err != nil {
		return nil, errors.Join(err, p.kv.Close())
	}
	if _, err = session.New(p.rules.Records(), session.Options{}); err != nil { // so that they are listed
		return nil, errors.Join(err, p.kv.Close())
	}
	if p.buckets, err = bucket.New(p.kv, bucket.Options{}); err != nil {
		return nil, errors.Join(err, p.kv.Close())
	}
	if p.locks, err = lock.New(p.kv, lock.Options{Log: slog.New(slog.DiscardHandler)}); err != nil {
		return nil, errors.Join(err, p.kv.Close())
	}
	if p.jobs, err = kvjob.New(p.kv, kvjob.Options{Log: slog.New(slog.DiscardHandler)}); err != nil {
		p.locks.Close()
		return nil, errors.Join(err, p.kv.Close())
	}
	return p, nil
}

func (p *policies) tell(f inspect.Finding) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost.tell(f)
}

// gaps returns what could not be read so far.
func (p *policies) gaps() gaps {
	p.mu.Lock()
	defer p.mu.Unlock()
	return gaps{p.lost.Left, append([]inspect.Finding(nil), p.lost.Places...)}
}

// What a list of tenants, and a page of records, has.
const (
	mostTenants  = 1000
	usualRecords = 50
	mostRecords  = 200
)

// tenantsDoc is the first tenants.
type tenantsDoc struct {
	Tenants     []string        `json:"tenants"`
	More        bool            `json:"more,omitempty"`
	Collections []collectionDoc `json:"collections"`
	gaps
}

// collectionDoc is a collection, whoever has records of it.
type collectionDoc struct {
	Name  string `json:"name"`
	About string `json:"about"`
}

// tenants answers the first tenants, and what collections there are; those that are
// versions of another come last.
func (s *Server) tenants(r *http.Request) (any, error) {
	doc := tenantsDoc{Tenants: []string{}}
	err := s.store.recorded(func(p *policies) error {
		var versions []collectionDoc
		for _, name := range p.rules.Records().Collections() {
			c, err := p.rules.Records().Collection(name)
			if err != nil {
				return err
			}
			if one := (collectionDoc{name, c.About}); strings.Contains(name, ".") {
				versions = append(versions, one)
			} else {
				doc.Collections = append(doc.Collections, one)
			}
		}
		doc.Collections = append(doc.Collections, versions...)
		for t, err := range p.kv.Tenants(r.Context(), "", true) {
			if err != nil {
				return err
			}
			if doc.More = len(doc.Tenants) == mostTenants; doc.More {
				break
			}
			doc.Tenants = append(doc.Tenants, t.Name)
		}
		doc.gaps = p.gaps()
		return nil
	})
	return doc, err
}

// recordsDoc is a page of records.
type recordsDoc struct {
	Records []recordDoc `json:"records"`
	Next    string      `json:"next,omitempty"` // pass it as cursor for the next page
	gaps
}

// recordDoc is a record at one of its revisions.
type recordDoc struct {
	ID       string          `json:"id"`
	Revision uint64          `json:"revision,string"`
	Document json.RawMessage `json:"document,omitempty"` // none: it was removed
	Written  time.Time       `json:"written_at,omitzero"`
	Expires  time.Time       `json:"expires_at,omitzero"`
}

// newRecordDoc returns the document of a collection, its secrets redacted.
func newRecordDoc(c *record.Collection, d record.Doc) recordDoc {
	if d.JSON != nil {
		d.JSON = c.Redacted(d.JSON)
	}
	return recordDoc{d.ID, d.Revision, d.JSON, d.Written.UTC(), d.Expires.UTC()}
}

// records answers a page of the records of a collection, those that are not in force too,
// in order of their creation; with reverse=1 the newest first.
func (s *Server) records(r *http.Request) (any, error) {
	limit, err := limitOf(r, usualRecords, mostRecords)
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	doc := recordsDoc{Records: []recordDoc{}}
	err = s.store.recorded(func(p *policies) error {
		c, err := p.rules.Records().Collection(q.Get("collection"))
		if err != nil {
			return err
		}
		page, err := p.rules.Records().List(r.Context(), q.Get("tenant"), c.Name,
			record.Query{All: true, Reverse: q.Get("reverse") == "1", Cursor: q.Get("cursor"), Limit: limit})
		for _, d := range page.Docs {
			doc.Records = append(doc.Records, newRecordDoc(c, d))
		}
		doc.Next, doc.gaps = page.Next, p.gaps()
		return err
	})
	return doc, err
}

// historyDoc is a record with what is kept of it.
type historyDoc struct {
	recordDoc
	History []recordDoc `json:"history,omitempty"` // oldest first
	gaps
}

// record answers one record.
func (s *Server) record(r *http.Request) (any, error) {
	q := r.URL.Query()
	tenant, collection, id := q.Get("tenant"), q.Get("collection"), q.Get("id")
	var doc historyDoc
	err := s.store.recorded(func(p *policies) error {
		d, err := p.rules.Records().Get(r.Context(), tenant, collection, id)
		if err != nil {
			return err
		}
		c, err := p.rules.Records().Collection(collection)
		if err != nil {
			return err
		}
		doc.recordDoc = newRecordDoc(c, d)
		history, err := p.rules.Records().History(r.Context(), tenant, collection, id)
		if errors.Is(err, engine.ErrNotFound) { // the collection keeps none
			err = nil
		}
		for _, d := range history {
			doc.History = append(doc.History, newRecordDoc(c, d))
		}
		doc.gaps = p.gaps()
		return err
	})
	return doc, err
}

// decision answers whether somebody may do something, with all that was looked at.
func (s *Server) decision(r *http.Request) (any, error) {
	q := r.URL.Query()
	asked := policy.Question{Agent: q.Get("agent"), Action: q.Get("action")}
	var err error
	if asked.Context, err = policy.ParseContext([]byte(q.Get("context"))); err != nil {
		return nil, badRequest{err}
	}
	var doc struct {
		policy.Explanation
		gaps
	}
	err = s.store.recorded(func(p *policies) (err error) {
		doc.Explanation, err = p.rules.Explain(r.Context(), q.Get("tenant"), asked)
		doc.gaps = p.gaps()
		return err
	})
	return doc, err
}
