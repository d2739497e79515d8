package rpc

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/op"
	_ "github.com/stoadb/stoa/rpc/internal/recordwire" // says how records go over the wire
	"github.com/stoadb/stoa/rpc/internal/wire"
)

// Records are what a tenant keeps in the collections of a daemon: JSON documents with
// ids, a schema and states, which other tenants neither read nor write. Beside the
// errors of calls (ErrUnavailable, ErrBusy, ErrBound) methods return [*record.Error]
// for what is not allowed, and [ErrNotFound] for a record that is not there. It is a
// view of its client, and as safe for concurrent use.
//
// Reads are in this file, writes in recordchange.go, watches in recordwatch.go, exports
// and imports in recordtransfer.go.
type Records struct {
	c      *Client
	tenant string
}

// Records returns what a tenant keeps in collections; "" is the tenant that the daemon
// binds this user to.
func (c *Client) Records(tenant string) *Records { return &Records{c, tenant} }

// What calls of [Records] take and return, so that a program imports one package.
type (
	// Doc is a record as it is at a revision.
	Doc = record.Doc
	// RecordQuery says which page of records is asked for.
	RecordQuery = record.Query
	// RecordFilter is what records are found by.
	RecordFilter = record.Filter
	// RecordPage is a page of records.
	RecordPage = record.Page
	// RecordEvent is what a watch of records yields.
	RecordEvent = record.Event
)

// recordSet are arguments about a collection of a tenant.
type recordSet struct{ Tenant, Collection string }

// TenantName returns the tenant.
func (a *recordSet) TenantName() *string { return &a.Tenant }

// CollectionName returns the collection.
func (a *recordSet) CollectionName() string { return a.Collection }

// recordID are arguments about a record.
type recordID struct {
	recordSet
	ID string
}

var recordGet = op.New(op.Method{Number: 802, Name: "Record.Get", Role: access.Reader, Tenant: true, Short: true},
	func(ctx context.Context, s *record.Store, a *recordID) (record.Doc, error) {
		return s.Get(ctx, a.Tenant, a.Collection, a.ID)
	})

// Get returns a record. It returns [ErrNotFound] if there is none.
func (r *Records) Get(ctx context.Context, collection, id string) (Doc, error) {
	return call(ctx, r.c, recordGet, recordID{recordSet{r.tenant, collection}, id})
}

// recordListing are the arguments of List.
type recordListing struct {
	recordSet
	record.Query
}

var recordList = op.New(op.Method{Number: 806, Name: "Record.List", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *record.Store, a *recordListing) (record.Page, error) {
		return s.List(ctx, a.Tenant, a.Collection, a.Query)
	}).Answered(func() op.Handmade[record.Page] { return new(wire.RecordPage) })

// List returns a page of records, with a cursor to the next that others can be handed;
// see [record.Store.List]. Who reads all takes [Records.All].
func (r *Records) List(ctx context.Context, collection string, q RecordQuery) (RecordPage, error) {
	return call(ctx, r.c, recordList, recordListing{recordSet{r.tenant, collection}, q})
}

// All yields the records that a query has, page by page: from its cursor on, and Limit of
// them at most, all if that is 0. Records that change meanwhile may be missed, or come
// twice where what they are in order by changes.
func (r *Records) All(ctx context.Context, collection string, q RecordQuery) iter.Seq2[Doc, error] {
	return caller.Pagewise(recordList.Name, q.Limit, q.Cursor, func(cursor string, limit int) ([]Doc, string, error) {
		q.Cursor, q.Limit = cursor, limit
		p, err := r.List(ctx, collection, q)
		return p.Docs, p.Next, err
	})
}

// recordName are the arguments of Lookup.
type recordName struct{ Tenant, Key string }

// TenantName returns the tenant.
func (a *recordName) TenantName() *string { return &a.Tenant }

var recordLookup = op.New(op.Method{Number: 807, Name: "Record.Lookup", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *record.Store, a *recordName) (json.RawMessage, error) {
		return s.Lookup(ctx, a.Tenant, a.Key)
	})

// Lookup returns what a literal key stands for: a document, ids, or a number; see
// [record.Store.Lookup].
func (r *Records) Lookup(ctx context.Context, key string) (json.RawMessage, error) {
	return call(ctx, r.c, recordLookup, recordName{r.tenant, key})
}

// docBytes is about what a record takes on the wire and in memory.
func docBytes(d *record.Doc) int { return 96 + len(d.ID) + len(d.JSON) }

var recordHistory = op.NewStream(op.Method{Number: 809, Name: "Record.History", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *record.Store, a *recordID) iter.Seq2[record.Doc, error] {
		return func(yield func(record.Doc, error) bool) {
			list, err := s.History(ctx, a.Tenant, a.Collection, a.ID)
			for _, d := range list {
				if !yield(d, nil) {
					return
				}
			}
			if err != nil {
				yield(record.Doc{}, err)
			}
		}
	}, docBytes, op.StreamQueue)

// History yields what a record was at its revisions that are kept, oldest first; the JSON
// is nil where it was removed. It yields [ErrNotFound] if the collection keeps none of it.
func (r *Records) History(ctx context.Context, collection, id string) iter.Seq2[Doc, error] {
	return streamed(ctx, r.c, recordHistory, recordID{recordSet{r.tenant, collection}, id})
}

// recordOf are the arguments of Schema.
type recordOf struct{ Collection string }

var recordSchema = op.New(op.Method{Number: 810, Name: "Record.Schema", Role: access.Anyone},
	func(_ context.Context, s *record.Store, a *recordOf) (json.RawMessage, error) {
		c, err := s.Collection(a.Collection)
		if err != nil {
			return nil, err
		}
		return c.Declaration(), nil
	})

// RecordSchema returns the declaration of a collection; package record says what its
// fields are.
func (c *Client) RecordSchema(ctx context.Context, collection string) (json.RawMessage, error) {
	return call(ctx, c, recordSchema, recordOf{collection})
}

// Collection is a collection in a list.
type Collection struct {
	Name  string `json:"name"`
	About string `json:"about"` // what it is for
}

var recordCollections = op.New(op.Method{Number: 811, Name: "Record.Collections", Role: access.Anyone},
	func(_ context.Context, s *record.Store, _ *op.Nothing) (list []Collection, err error) {
		for _, name := range s.Collections() {
			c, err := s.Collection(name)
			if err != nil {
				return nil, err
			}
			list = append(list, Collection{c.Name, c.About})
		}
		return list, nil
	})

// Collections returns the collections that the daemon has, archives after what they are
// of.
func (c *Client) Collections(ctx context.Context) ([]Collection, error) {
	return call(ctx, c, recordCollections, op.Nothing{})
}
