package rpc

import (
	"context"
	"iter"
	"time"

	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// Append appends what event is as JSON to the ledger, and returns it as it is stored, with
// its id, its time and the hash of the one before; see [policy.Store.Append]. It is
// [Records.Create] in the collection ledger.
func (p *Policy) Append(ctx context.Context, event any, with ...RecordOption) (Doc, error) {
	return p.c.Records(p.tenant).Create(ctx, policy.Ledger, event, with...)
}

// Day yields the events of a day of UTC, oldest first: what happened. Of the query Limit,
// Cursor and Reverse count. It is [Records.All] of the collection ledger.
func (p *Policy) Day(ctx context.Context, day time.Time, q RecordQuery) iter.Seq2[Doc, error] {
	q.Filters = policy.OfDay(day)
	return p.c.Records(p.tenant).All(ctx, policy.Ledger, q)
}

// policyTime are the arguments of Events.
type policyTime struct {
	op.OfTenant
	From time.Time `wire:"from_ms"`
	To   time.Time `wire:"to_ms"`
}

var policyEvents = op.NewStream(op.Method{Number: 907, Name: "Policy.Events", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *policy.Store, a *policyTime) iter.Seq2[record.Doc, error] {
		return s.Events(ctx, a.Tenant, a.From, a.To)
	}, docBytes, op.StreamQueue)

// Events yields the events whose times are at from or after, and before to, oldest first,
// in one state. The zero Time is no bound.
func (p *Policy) Events(ctx context.Context, from, to time.Time) iter.Seq2[Doc, error] {
	return streamed(ctx, p.c, policyEvents, policyTime{op.Of(p.tenant), from, to})
}

var policyHead = op.New(op.Method{Number: 908, Name: "Policy.Head", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *policy.Store, a *op.OfTenant) (policy.Head, error) {
		return s.Head(ctx, a.Tenant)
	})

// Head returns the newest end of the ledger, zero if there are no events.
func (p *Policy) Head(ctx context.Context) (LedgerHead, error) {
	return call(ctx, p.c, policyHead, op.Of(p.tenant))
}

var policyVerify = op.NewStream(op.Method{Number: 909, Name: "Policy.Verify", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *policy.Store, a *op.OfTenant) iter.Seq2[policy.Finding, error] {
		return s.Verify(ctx, a.Tenant)
	}, func(f *policy.Finding) int { return 64 + len(f.Event) + len(f.Problem) }, op.StreamQueue)

// Verify goes through the ledger and yields what is wrong with it, nothing if it is whole:
// events that were changed, replaced or taken away; see [policy.Store.Verify].
func (p *Policy) Verify(ctx context.Context) iter.Seq2[LedgerFinding, error] {
	return streamed(ctx, p.c, policyVerify, op.Of(p.tenant))
}
