package policy

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/record"
)

// HeadName is the name under which the collection of the ledger keeps its head.
const HeadName = "head"

// draft is an event that has its place in the ledger yet to be given.
type draft struct {
	pieces pieces
	intent string
}

func newDraft(event json.RawMessage) (record.Placer, error) {
	p, _, err := cut(event)
	intent, _ := document.Text(document.Field(event, document.Path{"intent_id"}))
	return &draft{p, intent}, err
}

// Place gives the event its place behind the head of the ledger, which it becomes. Its
// intent must be there, unless the tenant has it otherwise.
func (d *draft) Place(tx *record.Tx) (record.Placed, error) {
	known, err := tx.Has(Intents, d.intent)
	if err != nil {
		return record.Placed{}, err
	}
	if !known {
		if s, err := settings(tx); err != nil {
			return record.Placed{}, err
		} else if !s.AllowUnknownIntents {
			return record.Placed{}, &record.Error{Code: record.CodeNotFound, Field: "intent_id", Reason: "there is no such intent: make it first, or have the settings allow unknown ones"}
		}
	}
	kept, err := tx.Kept(Ledger, HeadName)
	if err != nil {
		return record.Placed{}, err
	}
	h, err := ParseHead(kept)
	if err != nil {
		return record.Placed{}, err
	}
	event, id, next := d.pieces.behind(h, tx.Now())
	return record.Placed{ID: id.String(), JSON: event, Keep: HeadName, Kept: next.text()}, nil
}

// Append appends an event to the ledger of a tenant, and returns it as it is stored. In
// the place of inputs_hash and outputs_hash it may have inputs and outputs, which are
// not stored. It returns record.ErrValidation, with the field; record.ErrNotFound for
// an intent that is not there, unless the settings allow it.
func (s *Store) Append(ctx context.Context, tenant string, event []byte, o record.WriteOptions) (record.Doc, error) {
	return s.records.Create(ctx, tenant, Ledger, event, o)
}

// Head returns the head of the ledger of a tenant.
func (s *Store) Head(ctx context.Context, tenant string) (Head, error) {
	view, err := s.records.View(tenant)
	if err != nil {
		return Head{}, err
	}
	defer func() { _ = view.Close() }()
	return viewHead(view)
}

func viewHead(view *record.View) (Head, error) {
	text, err := view.Kept(Ledger, HeadName)
	if err != nil {
		return Head{}, err
	}
	return ParseHead(text)
}

// Verify goes through the ledger of a tenant and yields what is wrong with it: events
// that were changed, replaced or taken away, and a head that does not fit. It is
// finished with a state of one moment, of which it holds one event in memory.
func (s *Store) Verify(ctx context.Context, tenant string) iter.Seq2[Finding, error] {
	return func(yield func(Finding, error) bool) {
		view, err := s.records.View(tenant)
		if err != nil {
			yield(Finding{}, err)
			return
		}
		defer func() { _ = view.Close() }()
		var c Chain
		for d, err := range view.All(ctx, Ledger) {
			if err != nil {
				yield(Finding{}, err)
				return
			}
			id, ok := ParseEventID(d.ID)
			if !ok {
				if !yield(Finding{d.ID, "it is no id of an event"}, nil) {
					return
				}
				continue
			}
			for _, f := range c.Next(id, d.JSON) {
				if !yield(f, nil) {
					return
				}
			}
		}
		head, err := viewHead(view)
		if err != nil {
			yield(Finding{HeadName, err.Error()}, nil)
			return
		}
		for _, f := range c.End(head) {
			if !yield(f, nil) {
				return
			}
		}
	}
}

// Events yields the events of a tenant whose times are at from or after, and before to,
// oldest first, in one state. The zero Time is no bound.
func (s *Store) Events(ctx context.Context, tenant string, from, to time.Time) iter.Seq2[record.Doc, error] {
	return func(yield func(record.Doc, error) bool) {
		view, err := s.records.View(tenant)
		if err != nil {
			yield(record.Doc{}, err)
			return
		}
		defer func() { _ = view.Close() }()
		by := record.Filter{Index: "by_date", From: document.FromText(from.UTC().Format(time.DateOnly))}
		if !to.IsZero() {
			by.To = document.FromText(to.UTC().AddDate(0, 0, 1).Format(time.DateOnly))
		}
		q := record.Query{All: true, Filters: []record.Filter{by}}
		for d, err := range each(ctx, view, Ledger, q) {
			if err == nil {
				at, _ := document.ParseInstant(text(d, "timestamp"))
				if at.Before(from) {
					continue
				}
				if !to.IsZero() && !at.Before(to) { // times don't go back
					return
				}
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// each yields the records of all pages of a query.
func each(ctx context.Context, view *record.View, collection string, q record.Query) iter.Seq2[record.Doc, error] {
	return func(yield func(record.Doc, error) bool) {
		for q.Limit = 1000; ; {
			page, err := view.List(ctx, collection, q)
			if err != nil {
				yield(record.Doc{}, err)
				return
			}
			for _, d := range page.Docs {
				if !yield(d, nil) {
					return
				}
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				return
			}
		}
	}
}
