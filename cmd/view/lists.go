package view

import (
	"encoding/hex"
	"errors"
	"net/http"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/dag"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/keys"
)

// How many contexts or namespaces a list has.
const (
	usualIDs = 100
	mostIDs  = 1000
)

// listDoc is a page of ids with what there is to say of them.
type listDoc struct {
	Items []itemDoc `json:"items"`
	Next  string    `json:"next,omitempty"` // pass it as after for the next page
	gaps
}

type itemDoc struct {
	ID    string `json:"id"`
	Heads int    `json:"heads"`
	Root  string `json:"root_hash,omitempty"`
	Group string `json:"group_id,omitempty"` // that a context is of
	Alias string `json:"alias,omitempty"`
	Fault string `json:"fault,omitempty"`
}

// contexts answers the contexts that have a description.
func (s *Server) contexts(r *http.Request) (any, error) {
	return s.list(r, column.Meta, nil, func(src engine.Reader, item *itemDoc, id [32]byte, value []byte) error {
		meta, err := codec.ContextMetaValue{}.Decode(value)
		if err != nil {
			item.Fault = err.Error()
			return nil
		}
		heads, err := dag.HeadsOf(src, id, meta.DagHeads)
		if err != nil {
			item.Fault = err.Error()
			return nil
		}
		item.Heads, item.Root = len(heads), meta.RootHash.String()
		of, err := engine.Get(src, keys.ContextGroupRef{Context: id})
		if err == nil {
			item.Group = of.GroupID.String()
			item.Alias, err = alias(src, keys.GroupContextAlias{Group: of.GroupID, Context: id})
		}
		return passable(err)
	})
}

// namespaces answers the namespaces that have ops.
func (s *Server) namespaces(r *http.Request) (any, error) {
	return s.list(r, column.Group, []byte{keys.NamespaceGovHead{}.Slot().Tag}, func(src engine.Reader, item *itemDoc, id [32]byte, value []byte) error {
		head, err := codec.NamespaceGovHeadValue{}.Decode(value)
		if err != nil {
			item.Fault = err.Error()
			return nil
		}
		item.Heads = len(head.DagHeads)
		item.Alias, err = alias(src, keys.GroupAlias{Group: id})
		return passable(err)
	})
}

// list answers the rows whose keys are prefix and an id.
func (s *Server) list(r *http.Request, col column.Column, prefix []byte, describe func(engine.Reader, *itemDoc, [32]byte, []byte) error) (any, error) {
	limit, err := limitOf(r, usualIDs, mostIDs)
	if err != nil {
		return nil, err
	}
	after, err := bytesOf(r, "after")
	if err != nil {
		return nil, err
	}
	rg := engine.Prefixed(prefix)
	rg.Limit = limit + 1
	if after != nil {
		rg.Start = append(append(append([]byte{}, prefix...), after...), 0)
	}
	doc := listDoc{Items: []itemDoc{}}
	err = s.store.with(func(src *inspect.Source) error {
		store := src.AsIs(doc.tell)
		it, err := store.Iterate(col, rg)
		if err != nil {
			return err
		}
		defer func() { _ = it.Close() }() // what it has to say, Err has said
		for it.Next() {
			id := it.Key()[len(prefix):]
			if n := len(doc.Items); n == limit {
				doc.Next = doc.Items[n-1].ID
				return nil
			}
			item := itemDoc{ID: hex.EncodeToString(id)}
			if len(id) != 32 {
				item.Fault = "the key is not one of the schema"
			} else if err := describe(store, &item, [32]byte(id), it.Value()); err != nil {
				return err
			}
			doc.Items = append(doc.Items, item)
		}
		return it.Err()
	})
	return doc, err
}

// passable returns nil for errors of what a list can do without.
func passable(err error) error {
	if errors.Is(err, engine.ErrNotFound) || errors.Is(err, engine.ErrCorrupt) {
		return nil
	}
	return err
}
