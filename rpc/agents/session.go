package agents

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/kv/session"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/op"
	_ "github.com/stoadb/stoa/rpc/internal/recordwire" // carries records
)

// Sessions are that users of a tenant are signed in; see package session. They are records of
// the collection session. Beside the errors of calls methods return [*record.Error]. It is a
// view of its client, and as safe for concurrent use.
type Sessions struct {
	c      caller.Caller
	tenant string
}

// NewSessions returns the sessions of a tenant, for package rpc.
func NewSessions(c caller.Caller, tenant string) *Sessions { return &Sessions{c, tenant} }

// sessionDocument are the arguments of Create.
type sessionDocument struct {
	op.OfTenant
	Document   []byte
	Durability engine.Durability
}

var sessionCreate = op.New(op.Method{Number: 1121, Name: "Session.Create", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *session.Store, a *sessionDocument) (record.Doc, error) {
		return s.Create(ctx, a.Tenant, a.Document, record.WriteOptions{Durability: a.Durability})
	})

// Create makes a session of what doc is as JSON, and returns it with its id; see
// [session.Store.Create].
func (s *Sessions) Create(ctx context.Context, doc any, d engine.Durability) (record.Doc, error) {
	text, err := caller.JSONOf("session", doc)
	if err != nil {
		return record.Doc{}, err
	}
	return caller.Call(ctx, s.c, sessionCreate, sessionDocument{op.Of(s.tenant), text, d})
}

// sessionID are arguments about a session.
type sessionID struct {
	op.OfTenant
	SessionID string
}

var sessionGet = op.New(op.Method{Number: 1122, Name: "Session.Get", Role: access.Reader, Tenant: true, Short: true},
	func(ctx context.Context, s *session.Store, a *sessionID) (record.Doc, error) {
		return s.Get(ctx, a.Tenant, a.SessionID)
	})

// Get returns the session of an id, with that, or of a handle, without; see
// [session.Store.Get].
func (s *Sessions) Get(ctx context.Context, ref string) (record.Doc, error) {
	return caller.Call(ctx, s.c, sessionGet, sessionID{op.Of(s.tenant), ref})
}

// sessionChange are the arguments of Touch and Revoke.
type sessionChange struct {
	sessionID
	Durability engine.Durability
}

var sessionTouch = op.New(op.Method{Number: 1123, Name: "Session.Touch", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *session.Store, a *sessionChange) (record.Doc, error) {
		return s.Touch(ctx, a.Tenant, a.SessionID, record.WriteOptions{Durability: a.Durability})
	})

// Touch notes that the holder of an id is active, and returns the session; see
// [session.Store.Touch].
func (s *Sessions) Touch(ctx context.Context, id string, d engine.Durability) (record.Doc, error) {
	return caller.Call(ctx, s.c, sessionTouch, sessionChange{sessionID{op.Of(s.tenant), id}, d})
}

// sessionPage are the arguments of List.
type sessionPage struct {
	op.OfTenant
	User, Cursor string
	Limit        int
	Reverse      bool
}

var sessionList = op.New(op.Method{Number: 1124, Name: "Session.List", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *session.Store, a *sessionPage) (record.Page, error) {
		return s.List(ctx, a.Tenant, a.User, record.Query{Cursor: a.Cursor, Limit: a.Limit, Reverse: a.Reverse})
	})

// List returns a page of the sessions of a user, or, for "", of all users, without their ids;
// see [session.Store.List]. Of the query cursor, limit and reverse count. Who reads all takes
// [Sessions.All].
func (s *Sessions) List(ctx context.Context, user string, q record.Query) (record.Page, error) {
	return caller.Call(ctx, s.c, sessionList, sessionPage{op.Of(s.tenant), user, q.Cursor, q.Limit, q.Reverse})
}

// All yields the sessions of a user, or, for "", of all users, page by page: from the cursor
// on, and Limit of them at most, all if that is 0.
func (s *Sessions) All(ctx context.Context, user string, q record.Query) iter.Seq2[record.Doc, error] {
	return caller.Pagewise(sessionList.Name, q.Limit, q.Cursor, func(cursor string, most int) ([]record.Doc, string, error) {
		q.Cursor, q.Limit = cursor, most
		page, err := s.List(ctx, user, q)
		return page.Docs, page.Next, err
	})
}

var sessionRevoke = op.New(op.Method{Number: 1125, Name: "Session.Revoke", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *session.Store, a *sessionChange) (was bool, err error) {
		return s.Revoke(ctx, a.Tenant, a.SessionID, a.Durability)
	})

// Revoke ends the session of an id or of a handle, and says whether there was one.
func (s *Sessions) Revoke(ctx context.Context, ref string, d engine.Durability) (was bool, err error) {
	return caller.Call(ctx, s.c, sessionRevoke, sessionChange{sessionID{op.Of(s.tenant), ref}, d})
}

// sessionUser are the arguments of RevokeAll.
type sessionUser struct {
	op.OfTenant
	User       string
	Durability engine.Durability
}

var sessionRevokeAll = op.New(op.Method{Number: 1126, Name: "Session.RevokeAll", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *session.Store, a *sessionUser) (revoked int, err error) {
		return s.RevokeAll(ctx, a.Tenant, a.User, a.Durability)
	})

// RevokeAll ends all sessions of a user at once, and returns how many there were.
func (s *Sessions) RevokeAll(ctx context.Context, user string, d engine.Durability) (revoked int, err error) {
	return caller.Call(ctx, s.c, sessionRevokeAll, sessionUser{op.Of(s.tenant), user, d})
}

// sessionKey are the arguments of Lookup.
type sessionKey struct {
	op.OfTenant
	Key string
}

var sessionLookup = op.New(op.Method{Number: 1127, Name: "Session.Lookup", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *session.Store, a *sessionKey) (json.RawMessage, error) {
		return s.Lookup(ctx, a.Tenant, a.Key)
	})

// Lookup returns what a literal key stands for; that of a user has the ids. See
// [session.Store.Lookup].
func (s *Sessions) Lookup(ctx context.Context, key string) (json.RawMessage, error) {
	return caller.Call(ctx, s.c, sessionLookup, sessionKey{op.Of(s.tenant), key})
}

// sessionImport are the arguments of Import.
type sessionImport struct {
	op.OfTenant
	Docs       [][]byte
	Durability engine.Durability
}

var sessionImporting = op.New(op.Method{Number: 1128, Name: "Session.Import", Role: access.Operator, Long: true},
	func(ctx context.Context, s *session.Store, a *sessionImport) (session.Imported, error) {
		docs := make([]json.RawMessage, len(a.Docs))
		for i, doc := range a.Docs {
			docs[i] = doc
		}
		return s.Import(ctx, a.Tenant, docs, a.Durability)
	})

// Import takes sessions that another system had, as many as go into a message of 33 MiB; see
// [session.Store.Import]. It is for those who look after tenants. What was stored of an import
// that fails is there, and may be imported again.
func (s *Sessions) Import(ctx context.Context, docs []json.RawMessage, d engine.Durability) (session.Imported, error) {
	all := make([][]byte, len(docs))
	for i, doc := range docs {
		all[i] = doc
	}
	return caller.Call(ctx, s.c, sessionImporting, sessionImport{op.Of(s.tenant), all, d})
}
