package view

import (
	"net/http"
	"time"

	"github.com/stoadb/stoa/kv/kvstorage"
)

// keyValuesDoc is a page of what a tenant has.
type keyValuesDoc struct {
	Keys     uint64      `json:"keys"`  // of the tenant, those that have expired and are not swept yet included
	Bytes    uint64      `json:"bytes"` // of their keys and values
	Revision uint64      `json:"revision,string"`
	MaxKeys  uint64      `json:"max_keys,omitempty"`
	MaxBytes uint64      `json:"max_bytes,omitempty"`
	Items    []keyValDoc `json:"items"`
	Next     string      `json:"next,omitempty"` // pass it as cursor for the next page
	gaps
}

// keyValDoc is a key with its value.
type keyValDoc struct {
	Key      string    `json:"key"`
	Revision uint64    `json:"revision,string"`
	Written  time.Time `json:"written_at"`
	Expires  time.Time `json:"expires_at,omitzero"`
	valueDoc
}

// keyValues answers a page of the key-values of a tenant.
func (s *Server) keyValues(r *http.Request) (any, error) {
	limit, err := limitOf(r, usualEntries, mostEntries)
	if err != nil {
		return nil, err
	}
	q, doc := r.URL.Query(), keyValuesDoc{Items: []keyValDoc{}}
	err = s.store.recorded(func(p *policies) error {
		stats, err := p.values.Stats(q.Get("tenant"))
		if err != nil {
			return err
		}
		doc.Keys, doc.Bytes, doc.Revision = stats.Keys, stats.Bytes, stats.Revision
		doc.MaxKeys, doc.MaxBytes = stats.Quota.Keys, stats.Quota.Bytes
		page, err := p.values.List(r.Context(), q.Get("tenant"), kvstorage.ListOptions{Prefix: q.Get("prefix"), Cursor: q.Get("cursor"), Limit: limit})
		for i := range page.Items {
			item := &page.Items[i]
			doc.Items = append(doc.Items, keyValDoc{Key: item.Key, Revision: item.Revision, Written: item.Written.UTC(), Expires: item.Expires.UTC(),
				valueDoc: newValueDoc(item.Value)})
		}
		doc.Next, doc.gaps = page.Next, p.gaps()
		return err
	})
	return doc, err
}
