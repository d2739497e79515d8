package agents

import (
	"context"
	"encoding/json"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// Approvals are what people of a tenant are asked about its tasks; see package approval.
// They are records of the collection approval_request, by which they are listed and watched,
// and policies by which they are delegated those of delegation_policy. Methods fail as
// those of [Tasks] do. It is a view of its client, and as safe for concurrent use.
type Approvals struct {
	c      caller.Caller
	tenant string
}

// NewApprovals returns the approvals of a tenant, for package rpc.
func NewApprovals(c caller.Caller, tenant string) *Approvals { return &Approvals{c, tenant} }

// approvalAsking are the arguments of Request.
type approvalAsking struct {
	taskID
	Approvals  [][]byte
	Required   int
	Durability engine.Durability
}

var approvalRequest = op.New(op.Method{Number: 1201, Name: "Approval.Request", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *approval.Store, a *approvalAsking) ([]record.Doc, error) {
		asking := approval.Asking{Required: a.Required}
		for _, doc := range a.Approvals {
			asking.Approvals = append(asking.Approvals, doc)
		}
		return s.Request(ctx, a.Tenant, a.TaskID, asking, record.WriteOptions{Durability: a.Durability})
	})

// Request asks people about a task; see [approval.Store.Request].
func (p *Approvals) Request(ctx context.Context, task string, a approval.Asking, d engine.Durability) ([]record.Doc, error) {
	asking := approvalAsking{taskID: taskID{op.Of(p.tenant), task}, Required: a.Required, Durability: d}
	for _, doc := range a.Approvals {
		asking.Approvals = append(asking.Approvals, doc)
	}
	return caller.Call(ctx, p.c, approvalRequest, asking)
}

// approvalID are arguments about an approval.
type approvalID struct {
	op.OfTenant
	ApprovalID string
}

var approvalGet = op.New(op.Method{Number: 1202, Name: "Approval.Get", Role: access.Reader, Tenant: true, Short: true},
	func(ctx context.Context, s *approval.Store, a *approvalID) (record.Doc, error) {
		return s.Approval(ctx, a.Tenant, a.ApprovalID)
	})

// Get returns an approval that is not archived.
func (p *Approvals) Get(ctx context.Context, id string) (record.Doc, error) {
	return caller.Call(ctx, p.c, approvalGet, approvalID{op.Of(p.tenant), id})
}

// approvalPage are the arguments of Queue.
type approvalPage struct {
	op.OfTenant
	User, Cursor string
	Limit        int
}

var approvalQueue = op.New(op.Method{Number: 1203, Name: "Approval.Queue", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *approval.Store, a *approvalPage) (record.Page, error) {
		return s.Queue(ctx, a.Tenant, a.User, record.Query{Cursor: a.Cursor, Limit: a.Limit})
	})

// Queue returns a page of what waits for answers, of a user or, for "", of all; see
// [approval.Store.Queue]. Of the query cursor and limit count.
func (p *Approvals) Queue(ctx context.Context, user string, q record.Query) (record.Page, error) {
	return caller.Call(ctx, p.c, approvalQueue, approvalPage{op.Of(p.tenant), user, q.Cursor, q.Limit})
}

// approvalAnswer are the arguments of Respond.
type approvalAnswer struct {
	op.OfTenant
	Answer     *approval.Answer
	Durability engine.Durability
}

var approvalRespond = op.New(op.Method{Number: 1204, Name: "Approval.Respond", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *approval.Store, a *approvalAnswer) (record.Doc, error) {
		answer := a.Answer
		if answer == nil {
			answer = &approval.Answer{}
		}
		return s.Respond(ctx, a.Tenant, *answer, a.Durability)
	})

// Respond gives an approval its answer, once; see [approval.Store.Respond].
func (p *Approvals) Respond(ctx context.Context, a approval.Answer, d engine.Durability) (record.Doc, error) {
	return caller.Call(ctx, p.c, approvalRespond, approvalAnswer{op.Of(p.tenant), &a, d})
}

// approvalAnswers are the arguments of RespondAll.
type approvalAnswers struct {
	op.OfTenant
	Answers    []approval.Answer
	Durability engine.Durability
}

var approvalRespondAll = op.New(op.Method{Number: 1205, Name: "Approval.RespondAll", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *approval.Store, a *approvalAnswers) ([]record.Doc, error) {
		return s.RespondAll(ctx, a.Tenant, a.Answers, a.Durability)
	})

// RespondAll gives several approvals their answers, all of them or none; see
// [approval.Store.RespondAll].
func (p *Approvals) RespondAll(ctx context.Context, list []approval.Answer, d engine.Durability) ([]record.Doc, error) {
	return caller.Call(ctx, p.c, approvalRespondAll, approvalAnswers{op.Of(p.tenant), list, d})
}

// approvalDelegation are the arguments of Delegate.
type approvalDelegation struct {
	approvalID
	By, To, Reason string
	Durability     engine.Durability
}

var approvalDelegate = op.New(op.Method{Number: 1206, Name: "Approval.Delegate", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *approval.Store, a *approvalDelegation) (record.Doc, error) {
		return s.Delegate(ctx, a.Tenant, approval.Delegation{Approval: a.ApprovalID, By: a.By, To: a.To, Reason: a.Reason}, a.Durability)
	})

// Delegate has somebody else asked; see [approval.Store.Delegate].
func (p *Approvals) Delegate(ctx context.Context, g approval.Delegation, d engine.Durability) (record.Doc, error) {
	return caller.Call(ctx, p.c, approvalDelegate, approvalDelegation{approvalID{op.Of(p.tenant), g.Approval}, g.By, g.To, g.Reason, d})
}

var approvalEscalate = op.New(op.Method{Number: 1207, Name: "Approval.Escalate", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *approval.Store, a *approvalID) (record.Doc, error) {
		return s.Escalate(ctx, a.Tenant, a.ApprovalID)
	})

// Escalate does with an approval that is due what its request says, and returns it; for
// workers of the queue [approval.QueueApprovalTimeout].
func (p *Approvals) Escalate(ctx context.Context, id string) (record.Doc, error) {
	return caller.Call(ctx, p.c, approvalEscalate, approvalID{op.Of(p.tenant), id})
}

var approvalEscalateDue = op.New(op.Method{Number: 1208, Name: "Approval.EscalateDue", Role: access.Writer, Tenant: true, Long: true},
	func(ctx context.Context, s *approval.Store, a *op.OfTenant) (escalated int, err error) {
		return s.EscalateDue(ctx, a.Tenant)
	})

// EscalateDue escalates all approvals that are due, and returns how many. It takes as long
// as it takes, unless ctx ends.
func (p *Approvals) EscalateDue(ctx context.Context) (escalated int, err error) {
	return caller.Call(ctx, p.c, approvalEscalateDue, op.Of(p.tenant))
}

var approvalArchive = op.New(op.Method{Number: 1209, Name: "Approval.Archive", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *approval.Store, a *approvalID) (moved bool, err error) {
		return s.Archive(ctx, a.Tenant, a.ApprovalID)
	})

// Archive moves an approval to the archive, if it was answered thirty days ago, and says
// whether it did; for workers of the queue [approval.QueueArchive].
func (p *Approvals) Archive(ctx context.Context, id string) (moved bool, err error) {
	return caller.Call(ctx, p.c, approvalArchive, approvalID{op.Of(p.tenant), id})
}

// approvalUser are the arguments of Stats.
type approvalUser struct {
	op.OfTenant
	User string
}

var approvalStats = op.New(op.Method{Number: 1210, Name: "Approval.Stats", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *approval.Store, a *approvalUser) (json.RawMessage, error) {
		stats, err := s.UserStats(ctx, a.Tenant, a.User)
		return encoded(stats, err)
	})

// Stats counts what a user is asked, and has answered.
func (p *Approvals) Stats(ctx context.Context, user string) (approval.UserStats, error) {
	text, err := caller.Call(ctx, p.c, approvalStats, approvalUser{op.Of(p.tenant), user})
	return decoded[approval.UserStats](&approvalStats.Method, text, err)
}
