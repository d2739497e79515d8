package view

import (
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/namespace"
)

// What a search comes to at most, and what it takes.
const (
	mostHits     = 60
	hitsOfAKind  = 12
	mostNames    = 20_000
	fewestDigits = 4 // of an id
	searchTime   = 3 * time.Second
)

// kindsOfNamed are what names are of, in words.
var kindsOfNamed = map[namespace.Named]string{namespace.NamedGroup: "group", namespace.NamedMember: "member", namespace.NamedContext: "context"}

// nameDoc is what an id is called.
type nameDoc struct {
	Name string `json:"name"`
	Of   string `json:"of"`
}

// names answers what groups, members and contexts are called, by their ids. One that two
// namespaces call by two names has that of the first.
func (s *Server) names(r *http.Request) (any, error) {
	doc := struct {
		Names map[string]nameDoc `json:"names"`
		More  bool               `json:"more,omitempty"` // than mostNames
		gaps
	}{Names: map[string]nameDoc{}}
	err := s.store.governed(func(_ *inspect.Source, rules *governance) error {
		err := rules.eachName(r.Context(), func(n namespace.Name, id, shown string) bool {
			if doc.More = len(doc.Names) == mostNames; doc.More {
				return false
			}
			if _, known := doc.Names[id]; !known {
				doc.Names[id] = nameDoc{shown, kindsOfNamed[n.Of]}
			}
			return true
		})
		doc.gaps = rules.gaps()
		return err
	})
	return doc, err
}

// hit is something that a search has found. What leads to it beside its id depends on what
// it is.
type hit struct {
	Of         string `json:"of"` // group, member, context, namespace, delta, op, blob, application, tenant, key, record or bucket
	ID         string `json:"id"` // in hex; a name where it is of key-value systems
	Name       string `json:"name,omitempty"`
	Context    string `json:"context,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Group      string `json:"group,omitempty"`
	Tenant     string `json:"tenant,omitempty"`
	Collection string `json:"collection,omitempty"`
	Bucket     string `json:"bucket,omitempty"`
}

// search answers what is called so, or whose id begins so.
func (s *Server) search(r *http.Request) (any, error) {
	text := strings.TrimSpace(r.URL.Query().Get("q"))
	if text == "" {
		return nil, bad("q: nothing is searched for")
	}
	ctx, cancel := context.WithTimeout(r.Context(), searchTime)
	defer cancel()
	f := finder{ctx: ctx, text: text, hits: []hit{}, of: map[string]int{}}
	if id := strings.ToLower(strings.TrimPrefix(text, "0x")); len(id) >= fewestDigits && len(id) <= 64 && strings.Trim(id, "0123456789abcdef") == "" {
		f.id = id
	}
	err := s.store.governed(func(src *inspect.Source, rules *governance) error {
		f.rows = src.AsIs(f.tell)
		return errors.Join(f.named(rules), f.ids())
	})
	if err == nil {
		err = s.store.recorded(f.systems)
	}
	if r.Context().Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		f.more, err = true, nil
	}
	return struct {
		Hits []hit `json:"hits"`
		More bool  `json:"more,omitempty"` // there may be others
		gaps
	}{f.hits, f.more, f.gaps}, err
}

// finder gathers what a search finds.
type finder struct {
	ctx  context.Context
	text string
	id   string        // the text, if an id can begin so: in hex
	rows engine.Reader // that goes on behind damage
	hits []hit
	of   map[string]int // hits by what they are
	more bool
	gaps
}

// found adds a hit, unless it is one, or there are as many as a search has of its kind or in all.
func (f *finder) found(h hit) {
	switch {
	case slices.Contains(f.hits, h):
	case f.of[h.Of] >= hitsOfAKind || len(f.hits) >= mostHits:
		f.more = true
	default:
		f.hits = append(f.hits, h)
		f.of[h.Of]++
	}
}

// called reports whether a name has the text that is searched for in it.
func (f *finder) called(name string) bool {
	return strings.Contains(strings.ToLower(name), strings.ToLower(f.text))
}

// named finds groups, members and contexts by their names and ids.
func (f *finder) named(rules *governance) error {
	return rules.eachName(f.ctx, func(n namespace.Name, id, shown string) bool {
		h := hit{Of: kindsOfNamed[n.Of], ID: id, Name: shown}
		if n.Of == namespace.NamedMember {
			h.Group = n.In.String()
		}
		if f.called(string(n.Name)) || f.id != "" && strings.HasPrefix(id, f.id) {
			f.found(h)
		}
		return true
	})
}

// known reports whether an id was found by its name.
func (f *finder) known(of, id string) bool {
	return slices.ContainsFunc(f.hits, func(h hit) bool { return h.Of == of && h.ID == id })
}

// ids finds what has an id that begins so.
func (f *finder) ids() error {
	if f.id == "" {
		return nil
	}
	group, head := keys.GroupMeta{}.Slot().Tag, keys.NamespaceGovHead{}.Slot().Tag
	for _, of := range []struct {
		name string
		col  column.Column
		tag  []byte
	}{
		{"context", column.Meta, nil}, {"group", column.Group, []byte{group}}, {"namespace", column.Group, []byte{head}},
		{"blob", column.Blobs, nil}, {"application", column.Application, nil},
	} {
		err := f.below(of.col, of.tag, func(id string) {
			if !f.known(of.name, id) {
				f.found(hit{Of: of.name, ID: id})
			}
		})
		if err != nil {
			return err
		}
	}
	err := f.inEach(column.Meta, nil, func(context [32]byte) error {
		return f.below(column.Delta, context[:], func(id string) {
			f.found(hit{Of: "delta", ID: id, Context: codec.ContextID(context).String()})
		})
	})
	if err != nil {
		return err
	}
	return f.inEach(column.Group, []byte{head}, func(ns [32]byte) error {
		tag := []byte{keys.NamespaceGovOp{}.Slot().Tag}
		return f.below(column.Group, append(tag, ns[:]...), func(id string) {
			f.found(hit{Of: "op", ID: id, Namespace: codec.GroupID(ns).String()})
		})
	})
}

// inEach calls look with the first ids that stand behind prefix in the keys of a column.
func (f *finder) inEach(col column.Column, prefix []byte, look func([32]byte) error) error {
	rg := engine.Prefixed(prefix)
	rg.Limit = mostIDs
	it, err := f.rows.Iterate(col, rg)
	if err != nil {
		return err
	}
	defer func() { _ = it.Close() }() // what it has to say, Err has said
	for it.Next() {
		if id := it.Key()[len(prefix):]; len(id) == 32 {
			if err := errors.Join(f.ctx.Err(), look([32]byte(id))); err != nil {
				return err
			}
		}
	}
	return it.Err()
}

// below calls take with the ids that begin with the id that is searched for and stand behind
// prefix in the keys of a column, as far as a search goes.
func (f *finder) below(col column.Column, prefix []byte, take func(id string)) error {
	whole, err := hex.DecodeString(f.id[:len(f.id)/2*2]) // of an odd digit more, the text tells
	if err != nil {
		return err
	}
	start := append(prefix[:len(prefix):len(prefix)], whole...)
	end := engine.Successor(start)
	for range 4 * hitsOfAKind {
		it, err := f.rows.Iterate(col, engine.Range{Start: start, End: end, Limit: 1})
		if err != nil {
			return err
		}
		next := it.Next()
		key := append([]byte(nil), it.Key()...)
		if err := errors.Join(f.ctx.Err(), it.Err(), it.Close()); err != nil || !next {
			return err
		}
		id := key[len(prefix):]
		if len(id) > 32 { // a row of what has that id, as a chunk of a blob
			id = id[:32]
		}
		if text := hex.EncodeToString(id); len(id) == 32 && strings.HasPrefix(text, f.id) {
			take(text)
		}
		if start = engine.Successor(key[:len(prefix)+len(id)]); start == nil {
			return nil
		}
	}
	return nil
}

// systems finds tenants, and keys, records and buckets of theirs.
func (f *finder) systems(p *policies) error {
	seen := 0
	for t, err := range p.kv.Tenants(f.ctx, "", false) {
		if err != nil {
			return err
		}
		if seen++; seen > mostTenants {
			f.more = true
			break
		}
		if f.called(t.Name) {
			f.found(hit{Of: "tenant", ID: t.Name, Tenant: t.Name})
		}
		if err := errors.Join(f.ctx.Err(), f.keysOf(p, t.Name), f.recordsOf(p, t.Name), f.bucketsOf(p, t.Name)); err != nil {
			return err
		}
	}
	f.add(p.gaps())
	return nil
}

func (f *finder) keysOf(p *policies, tenant string) error {
	page, err := p.values.List(f.ctx, tenant, kvstorage.ListOptions{Prefix: f.text, Limit: hitsOfAKind, KeysOnly: true})
	if statusOf(err) == http.StatusBadRequest {
		return nil // no key begins so
	}
	for i := range page.Items {
		f.found(hit{Of: "key", ID: page.Items[i].Key, Tenant: tenant})
	}
	return err
}

func (f *finder) recordsOf(p *policies, tenant string) error {
	for _, name := range p.rules.Records().Collections() {
		d, err := p.rules.Records().Get(f.ctx, tenant, name, f.text)
		if err != nil {
			if statusOf(err) == http.StatusInternalServerError {
				return err
			}
			continue // it has none, or an id is otherwise there
		}
		f.found(hit{Of: "record", ID: d.ID, Tenant: tenant, Collection: name})
	}
	return nil
}

func (f *finder) bucketsOf(p *policies, tenant string) error {
	all, err := p.buckets.List(f.ctx, tenant)
	if err != nil {
		return err
	}
	for i := range all {
		name := all[i].Name
		if f.called(name) {
			f.found(hit{Of: "bucket", ID: name, Tenant: tenant, Bucket: name})
		}
		b, err := p.buckets.Open(tenant, name)
		if err != nil {
			return err
		}
		page, err := b.List(f.ctx, f.text, "", hitsOfAKind)
		if statusOf(err) == http.StatusBadRequest {
			continue // no key of a bucket begins so
		}
		if err != nil {
			return err
		}
		for j := range page.Entries {
			f.found(hit{Of: "key", ID: page.Entries[j].Key, Tenant: tenant, Bucket: name})
		}
	}
	return nil
}
