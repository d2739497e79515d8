package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"iter"

	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/internal/policywire"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Policy is what a tenant lets others do, and the ledger of what they did. Agents,
// delegations, policies, intents and claims are records: [Client.Records] makes, changes
// and lists them, as the collections agent, delegation, policy, intent and claim.
// Methods fail as those of [Records] do. It is a view of its client, and as safe for
// concurrent use.
//
// Questions are in this file, what is written in policychange.go, the ledger in
// policyledger.go, other ways to read in policyread.go.
type Policy struct {
	c      *Client
	tenant string
}

// Policy returns what a tenant lets others do; "" is the tenant that the daemon binds
// this user to.
func (c *Client) Policy(tenant string) *Policy { return &Policy{c, tenant} }

// What calls of [Policy] return, so that a program imports one package.
type (
	// Decision is the answer to a question: what decided, and why.
	Decision = policy.Decision
	// Used is an answer, and what it has left behind.
	Used = policy.Used
	// Explanation is an answer with everything that was looked at.
	Explanation = policy.Explanation
	// Grant is a pattern of a delegation that is in force.
	Grant = policy.Grant
	// LedgerHead is the newest end of a ledger.
	LedgerHead = policy.Head
	// LedgerFinding is something that is wrong with a ledger.
	LedgerFinding = policy.Finding
	// TenantSettings are what a tenant says where its records are silent.
	TenantSettings = policy.Settings
	// UseOptions say what an answer leaves behind.
	UseOptions = policy.UseOptions
)

// What a [Decision] comes to.
const (
	Allowed         = policy.Allowed
	Denied          = policy.Denied
	PendingApproval = policy.PendingApproval
	Transformed     = policy.Transformed
)

// Question asks whether somebody may do something now.
type Question struct {
	Agent  string // who: agent:NAME, user:NAME or org:NAME; a name without a colon is an agent's
	Action string // what, as email.send; no pattern
	// Context is what conditions are asked of: what it is as JSON, an object of at most
	// policy.MaxContext bytes. nil: an object without fields.
	Context any
}

// policyQuestion are the arguments of a question.
type policyQuestion struct {
	op.OfTenant
	Agent, Action string
	Context       []byte
}

func (p *Policy) question(q *Question) (a policyQuestion, err error) {
	a = policyQuestion{OfTenant: op.Of(p.tenant), Agent: q.Agent, Action: q.Action}
	if q.Context != nil {
		var text json.RawMessage
		text, err = caller.JSONOf("context", q.Context)
		a.Context = text
	}
	return a, err
}

// asked returns the question as the domain has it.
func (a *policyQuestion) asked() (policy.Question, error) {
	return policy.NewQuestion(a.Agent, a.Action, a.Context)
}

// In frames directDecide of package server answers instead.
var policyDecide = op.New(op.Method{Number: 901, Name: "Policy.Decide", Role: access.Reader, Tenant: true, Short: true},
	func(ctx context.Context, s *policy.Store, a *policyQuestion) (policy.Decision, error) {
		q, err := a.asked()
		if err != nil {
			return policy.Decision{}, err
		}
		return s.Decide(ctx, a.Tenant, q)
	})

// Decide answers a question by what the tenant's records say now, and changes nothing. A
// denial is an answer, and no error; see [policy.Store.Decide].
func (p *Policy) Decide(ctx context.Context, q Question) (Decision, error) {
	a, err := p.question(&q)
	if err != nil {
		return Decision{}, err
	}
	if err := errors.Join(op.CheckText("agent", q.Agent), op.CheckText("action", q.Action)); err != nil {
		return Decision{}, err
	}
	var answer stoav1.PolicyDecideResponse
	ask := &wire.PolicyDecide{Tenant: []byte(a.Tenant), Agent: a.Agent, Action: a.Action, Context: a.Context}
	if err := p.c.unary(ctx, &policyDecide.Method, ask, &answer); err != nil {
		return Decision{}, err
	}
	d, err := policywire.Decision("decision", answer.GetDecision())
	return d, caller.Senseless(&policyDecide.Method, err)
}

// policyUsing are the arguments of Use.
type policyUsing struct {
	policyQuestion
	DryRun, Log bool
	IntentID    string
	AskForMs    uint64
	ApprovalID  string
	Durability  Durability
}

var policyUse = op.New(op.Method{Number: 902, Name: "Policy.Use", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *policy.Store, a *policyUsing) (policy.Used, error) {
		q, err := a.asked()
		if err != nil {
			return policy.Used{}, err
		}
		return s.Use(ctx, a.Tenant, q, policy.UseOptions{Durability: a.Durability, DryRun: a.DryRun, Log: a.Log, Intent: a.IntentID,
			AskFor: op.FromMs(a.AskForMs), Approval: a.ApprovalID})
	})

// Use answers a question, to do what it asks about, and counts a use of the delegation
// that allows it; see [policy.Store.Use]. AskFor counts in milliseconds, of which a part
// is one.
func (p *Policy) Use(ctx context.Context, q Question, o UseOptions) (Used, error) {
	a, err := p.question(&q)
	if err != nil {
		return Used{}, err
	}
	return call(ctx, p.c, policyUse, policyUsing{policyQuestion: a, DryRun: o.DryRun, Log: o.Log, IntentID: o.Intent,
		AskForMs: op.InMs(max(o.AskFor, 0)), ApprovalID: o.Approval, Durability: o.Durability})
}

var policyExplain = op.New(op.Method{Number: 903, Name: "Policy.Explain", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *policy.Store, a *policyQuestion) (policy.Explanation, error) {
		q, err := a.asked()
		if err != nil {
			return policy.Explanation{}, err
		}
		return s.Explain(ctx, a.Tenant, q)
	})

// Explain answers as Decide does, with all that was looked at.
func (p *Policy) Explain(ctx context.Context, q Question) (Explanation, error) {
	a, err := p.question(&q)
	if err != nil {
		return Explanation{}, err
	}
	return call(ctx, p.c, policyExplain, a)
}

// grantBytes is about what a grant takes on the wire and in memory.
func grantBytes(g *policy.Grant) int {
	return 128 + len(g.Delegation) + len(g.Delegator) + len(g.Delegate) + len(g.Pattern)
}

// policyDelegate are the arguments of WhatCan.
type policyDelegate struct {
	op.OfTenant
	Delegate string
}

var policyWhatCan = op.NewStream(op.Method{Number: 904, Name: "Policy.WhatCan", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *policy.Store, a *policyDelegate) iter.Seq2[policy.Grant, error] {
		return op.Each(s.WhatCan(ctx, a.Tenant, a.Delegate))
	}, grantBytes, op.StreamQueue)

// WhatCan yields what somebody can do now, as agent:cece.governor.v1; see
// [policy.World.WhatCan].
func (p *Policy) WhatCan(ctx context.Context, delegate string) iter.Seq2[Grant, error] {
	return streamed(ctx, p.c, policyWhatCan, policyDelegate{op.Of(p.tenant), delegate})
}

// policyAction are the arguments of WhoCan.
type policyAction struct {
	op.OfTenant
	Action string
}

var policyWhoCan = op.NewStream(op.Method{Number: 905, Name: "Policy.WhoCan", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *policy.Store, a *policyAction) iter.Seq2[policy.Grant, error] {
		return op.Each(s.WhoCan(ctx, a.Tenant, a.Action))
	}, grantBytes, op.StreamQueue)

// WhoCan yields who can perform an action now; see [policy.World.WhoCan].
func (p *Policy) WhoCan(ctx context.Context, action string) iter.Seq2[Grant, error] {
	return streamed(ctx, p.c, policyWhoCan, policyAction{op.Of(p.tenant), action})
}
