package view

import (
	"errors"
	"io"
	"net/http"
	"slices"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// How many blobs a page has.
const (
	usualBlobs = 50
	mostBlobs  = 200
)

// blobDoc is a blob; by itself, with how its content begins and what names it.
type blobDoc struct {
	ID       string    `json:"id"`
	Size     uint64    `json:"size"`
	Chunks   uint32    `json:"chunks"`
	Fault    string    `json:"fault,omitempty"`
	Begins   *valueDoc `json:"begins,omitempty"`
	Apps     []string  `json:"applications,omitempty"` // that name it
	Contexts []string  `json:"contexts,omitempty"`     // whose state has it attached: of the first ones
}

// blobsDoc is a page of blobs.
type blobsDoc struct {
	Blobs []blobDoc `json:"blobs"`
	Next  string    `json:"next,omitempty"` // pass it as after for the next page
	gaps
}

// inBlobs calls look with the blobs of the store, which are read behind damage.
func (s *Server) inBlobs(left *gaps, look func(*inspect.Source, *blob.Store) error) error {
	return s.store.with(func(src *inspect.Source) error {
		blobs, err := blob.Open(engine.ReadOnly(src.Lenient(left.tell)), blob.Options{})
		if err != nil {
			return err
		}
		return errors.Join(look(src, blobs), blobs.Close())
	})
}

// blobs answers a page of the blobs, in the order of their ids.
func (s *Server) blobs(r *http.Request) (any, error) {
	limit, err := limitOf(r, usualBlobs, mostBlobs)
	if err != nil {
		return nil, err
	}
	after, err := bytesOf(r, "after")
	if err != nil {
		return nil, err
	}
	if after != nil {
		after = engine.Successor(after)
	}
	doc := blobsDoc{Blobs: []blobDoc{}}
	err = s.inBlobs(&doc.gaps, func(_ *inspect.Source, blobs *blob.Store) error {
		for b, err := range blobs.All(r.Context(), after) {
			if err != nil {
				return err
			}
			if n := len(doc.Blobs); n == limit {
				doc.Next = doc.Blobs[n-1].ID
				return nil
			}
			doc.Blobs = append(doc.Blobs, blobDoc{ID: b.ID.String(), Size: b.Size, Chunks: b.Chunks})
		}
		return nil
	})
	return doc, err
}

// blob answers one blob.
func (s *Server) blob(r *http.Request) (any, error) {
	id, err := idOf(r, "id")
	if err != nil {
		return nil, err
	}
	var doc struct {
		blobDoc
		gaps
	}
	err = s.inBlobs(&doc.gaps, func(src *inspect.Source, blobs *blob.Store) error {
		b, err := blobs.Stat(id)
		if err != nil {
			return err
		}
		doc.blobDoc = blobDoc{ID: b.ID.String(), Size: b.Size, Chunks: b.Chunks}
		begins, err := contentStart(blobs, id)
		switch {
		case errors.Is(err, engine.ErrCorrupt):
			doc.Fault = err.Error()
		case err != nil:
			return err
		default:
			v := newValueDoc(begins)
			v.Cut, v.Size = uint64(len(begins)) < b.Size, int(b.Size)
			doc.Begins = &v
		}
		return doc.namedBy(src.Lenient(doc.tell), id)
	})
	return doc, err
}

// contentStart returns the first bytes of a blob's content.
func contentStart(blobs *blob.Store, id codec.BlobID) ([]byte, error) {
	content, err := blobs.Read(id, 0, longestValue)
	if err != nil {
		return nil, err
	}
	all, err := io.ReadAll(content)
	return all, errors.Join(err, content.Close())
}

// namedBy finds the applications and contexts that name a blob.
func (d *blobDoc) namedBy(r engine.Reader, id codec.BlobID) error {
	for e, err := range engine.Scan[keys.ApplicationMeta](r, keys.Prefix[keys.ApplicationMeta]{}) {
		if err != nil {
			return err
		}
		for named := range blob.Named(&e.Value) {
			if app := e.Key.App.String(); named == id && !slices.Contains(d.Apps, app) {
				d.Apps = append(d.Apps, app)
			}
		}
	}
	seen := 0
	for e, err := range engine.Scan[keys.ContextMeta](r, keys.Prefix[keys.ContextMeta]{}) {
		if err != nil {
			return err
		}
		if seen++; seen > mostIDs {
			return nil
		}
		_, err := engine.Get(r, keys.ContextState{Context: e.Key.Context, AppKey: keys.NewBytes(blob.AttachedKey(id))})
		switch {
		case err == nil:
			d.Contexts = append(d.Contexts, e.Key.Context.String())
		case !errors.Is(err, engine.ErrNotFound):
			return err
		}
	}
	return nil
}
