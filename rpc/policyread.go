package rpc

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/internal/policywire"
)

// policyRequest are the arguments of Approval.
type policyRequest struct {
	op.OfTenant
	ApprovalID string
}

var policyApproval = op.New(op.Method{Number: 911, Name: "Policy.Approval", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *policy.Store, a *policyRequest) (record.Doc, error) {
		return s.Approval(ctx, a.Tenant, a.ApprovalID)
	})

// Approval returns an approval request as it stands: one that nobody has answered in its
// time is rejected. It returns [ErrNotFound] if there is none.
func (p *Policy) Approval(ctx context.Context, id string) (Doc, error) {
	return call(ctx, p.c, policyApproval, policyRequest{op.Of(p.tenant), id})
}

var policySettings = op.New(op.Method{Number: 916, Name: "Policy.Settings", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *policy.Store, a *op.OfTenant) (policy.Settings, error) {
		return s.Settings(ctx, a.Tenant)
	})

// Settings returns what the tenant says where its records are silent.
func (p *Policy) Settings(ctx context.Context) (TenantSettings, error) {
	return call(ctx, p.c, policySettings, op.Of(p.tenant))
}

var policyRows = op.NewStreamBy(op.Method{Number: 918, Name: "Policy.Rows", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *policy.Store, a *recordSet) iter.Seq2[policywire.Row, error] {
		return func(yield func(policywire.Row, error) bool) {
			columns, err := policy.Columns(a.Collection)
			if err != nil {
				yield(policywire.Row{}, err)
				return
			}
			for values, err := range s.Rows(ctx, a.Tenant, a.Collection) {
				if !yield(policywire.Row{Columns: columns, Values: values}, err) || err != nil {
					return
				}
			}
		}
	}, func(r *policywire.Row) int {
		size := 64
		for _, value := range r.Values {
			size += 32 + len(value)
		}
		return size
	}, op.StreamQueue, policywire.Rows)

// Rows yields the records of a collection as rows for SQL: of each its values in the
// order of [policy.Columns]; see [policy.Store.Rows].
func (p *Policy) Rows(ctx context.Context, collection string) iter.Seq2[[]json.RawMessage, error] {
	return func(yield func([]json.RawMessage, error) bool) {
		for r, err := range streamed(ctx, p.c, policyRows, recordSet{p.tenant, collection}) {
			if !yield(r.Values, err) {
				return
			}
		}
	}
}

// policyCommand is a command for Redis.
type policyCommand struct{ Args []string }

var policyCommands = op.NewStream(op.Method{Number: 919, Name: "Policy.Commands", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *policy.Store, a *recordSet) iter.Seq2[policyCommand, error] {
		return func(yield func(policyCommand, error) bool) {
			for args, err := range s.Commands(ctx, a.Tenant, a.Collection) {
				if !yield(policyCommand{args}, err) || err != nil {
					return
				}
			}
		}
	}, func(c *policyCommand) int {
		size := 64
		for _, arg := range c.Args {
			size += 16 + len(arg)
		}
		return size
	}, op.StreamQueue)

// Commands yields the records of a collection as commands for Redis, each with its
// arguments; see [policy.Store.Commands].
func (p *Policy) Commands(ctx context.Context, collection string) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		for c, err := range streamed(ctx, p.c, policyCommands, recordSet{p.tenant, collection}) {
			if !yield(c.Args, err) {
				return
			}
		}
	}
}

// policyScope are the arguments of PoliciesFor.
type policyScope struct {
	op.OfTenant
	Scope string
}

var policyPoliciesFor = op.NewStream(op.Method{Number: 922, Name: "Policy.PoliciesFor", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *policy.Store, a *policyScope) iter.Seq2[record.Doc, error] {
		return op.Each(s.PoliciesFor(ctx, a.Tenant, a.Scope))
	}, docBytes, op.StreamQueue)

// PoliciesFor yields the active policies that are about an action, as email.send, or about
// actions of a pattern, as email.*; see [policy.Store.PoliciesFor].
func (p *Policy) PoliciesFor(ctx context.Context, scope string) iter.Seq2[Doc, error] {
	return streamed(ctx, p.c, policyPoliciesFor, policyScope{op.Of(p.tenant), scope})
}

// ClaimsAbout yields the claims about an object that hold, of a type: who owns
// org:blackroad. "" is any type. Of the query Limit, Cursor, All and Reverse count. It is
// [Records.All] of the collection claim.
func (p *Policy) ClaimsAbout(ctx context.Context, object, claimType string, q RecordQuery) iter.Seq2[Doc, error] {
	q.Filters = policy.AboutObject(object, claimType)
	return p.c.Records(p.tenant).All(ctx, policy.Claims, q)
}

// WorkOf yields the intents that an agent is assigned to, in a status: what is it working
// on. "" is any status. Of the query Limit, Cursor and Reverse count. It is [Records.All]
// of the collection intent.
func (p *Policy) WorkOf(ctx context.Context, agent, status string, q RecordQuery) iter.Seq2[Doc, error] {
	q.Filters = policy.OfAgent(agent, status)
	return p.c.Records(p.tenant).All(ctx, policy.Intents, q)
}
