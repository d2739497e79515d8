package rpc

import (
	"context"
	"encoding/json"

	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/internal/wire"
)

// RecordOption says how a record is changed.
type RecordOption func(*recordOptions)

type recordOptions struct {
	record.UpdateOptions
	op.Guarding
}

// AtRevision has a change made only if the record has the revision. Otherwise it is
// record.ErrConflict, whose Revision is the one that it has.
func AtRevision(revision uint64) RecordOption {
	return func(o *recordOptions) { o.Revision = revision }
}

// RecordDurability has a change wait for d, which otherwise is [Synced].
func RecordDurability(d Durability) RecordOption {
	return func(o *recordOptions) { o.Durability = d }
}

// RecordGuarded is [Guarded] for a change of a record. Changes by [Policy] it says nothing of.
func RecordGuarded(name string, token uint64) RecordOption {
	return func(o *recordOptions) { o.Guards = append(o.Guards, lock.Guard{Name: name, Token: token}) }
}

// updated returns options as the domain has them.
func updated(with []RecordOption) (o recordOptions) {
	for _, set := range with {
		set(&o)
	}
	return o
}

// recordWrite are the arguments of a change of a record.
type recordWrite struct {
	recordID
	record.UpdateOptions
	op.Guarding
	Document []byte
	Patch    []byte
	To       string
}

func (r *Records) write(collection, id string, with []RecordOption) recordWrite {
	o := updated(with)
	return recordWrite{recordID: recordID{recordSet{r.tenant, collection}, id}, UpdateOptions: o.UpdateOptions, Guarding: o.Guarding}
}

var recordCreate = op.New(op.Method{Number: 801, Name: "Record.Create", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *record.Store, a *recordWrite) (record.Doc, error) {
		return s.Create(ctx, a.Tenant, a.Collection, a.Document, record.WriteOptions{Durability: a.Durability})
	}).Asked(func() op.Handmade[recordWrite] { return new(recordAsked) }).Answered(func() op.Handmade[record.Doc] { return new(wire.RecordMade) })

// recordAsked is what is asked of Create.
type recordAsked struct{ wire.RecordCreate }

// Set has the message say what is asked.
func (m *recordAsked) Set(a *recordWrite) {
	m.RecordCreate = wire.RecordCreate{Tenant: a.Tenant, Collection: a.Collection, Document: a.Document, Durability: op.Durability(a.Durability), Guards: a.Guards}
}

// Value returns what the message asks.
func (m *recordAsked) Value() (a recordWrite, err error) {
	a.Tenant, a.Collection, a.Document, a.Guards = m.Tenant, m.Collection, m.Document, m.Guards
	a.Durability, err = op.ParseDurability("durability", m.RecordCreate.Durability)
	return a, err
}

// Create makes a record of what doc is as JSON, and returns it as it is stored: with its
// id, its stamps, its state, and defaults; see [record.Store.Create]. There is no revision
// yet that it could be made at: [AtRevision] says nothing.
func (r *Records) Create(ctx context.Context, collection string, doc any, with ...RecordOption) (Doc, error) {
	a := r.write(collection, "", with)
	a.Revision = 0
	var err error
	if a.Document, err = caller.JSONOf(collection, doc); err != nil {
		return Doc{}, err
	}
	return change(ctx, r.c, recordCreate, a)
}

var recordUpdate = op.New(op.Method{Number: 803, Name: "Record.Update", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *record.Store, a *recordWrite) (record.Doc, error) {
		return s.Update(ctx, a.Tenant, a.Collection, a.ID, a.Patch, a.UpdateOptions)
	})

// Update applies what patch is as JSON, a merge patch (RFC 7386), to a record, and returns
// what it is then; see [record.Store.Update].
func (r *Records) Update(ctx context.Context, collection, id string, patch any, with ...RecordOption) (Doc, error) {
	a := r.write(collection, id, with)
	var err error
	if a.Patch, err = caller.JSONOf(id, patch); err != nil {
		return Doc{}, err
	}
	return change(ctx, r.c, recordUpdate, a)
}

var recordTransition = op.New(op.Method{Number: 804, Name: "Record.Transition", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *record.Store, a *recordWrite) (record.Doc, error) {
		var patch []byte // nil: none
		if len(a.Patch) > 0 {
			patch = a.Patch
		}
		return s.Transition(ctx, a.Tenant, a.Collection, a.ID, a.To, patch, a.UpdateOptions)
	})

// Transition moves a record to a state, with a merge patch of other fields; nil: none. See
// [record.Store.Transition].
func (r *Records) Transition(ctx context.Context, collection, id, to string, patch any, with ...RecordOption) (Doc, error) {
	a := r.write(collection, id, with)
	a.To = to
	if patch != nil {
		var text json.RawMessage
		text, err := caller.JSONOf(id, patch)
		if err != nil {
			return Doc{}, err
		}
		a.Patch = text
	}
	return change(ctx, r.c, recordTransition, a)
}

var recordDelete = op.New(op.Method{Number: 805, Name: "Record.Delete", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *record.Store, a *recordWrite) (record.Doc, error) {
		return s.Delete(ctx, a.Tenant, a.Collection, a.ID, a.UpdateOptions)
	})

// Delete removes a record, and returns what it was, or [ErrNotFound].
func (r *Records) Delete(ctx context.Context, collection, id string, with ...RecordOption) (Doc, error) {
	return change(ctx, r.c, recordDelete, r.write(collection, id, with))
}

var recordPutAside = op.New(op.Method{Number: 814, Name: "Record.PutAside", Role: access.Writer, Tenant: true, Long: true},
	func(ctx context.Context, s *record.Store, a *recordSet) (moved int, err error) {
		return s.PutAside(ctx, a.Tenant, a.Collection)
	})

// PutAside moves the records that the declaration says into the archive of the collection,
// and returns how many; see [record.Store.PutAside]. It takes as long as it takes, unless
// ctx ends.
func (r *Records) PutAside(ctx context.Context, collection string) (moved int, err error) {
	return call(ctx, r.c, recordPutAside, recordSet{r.tenant, collection})
}
