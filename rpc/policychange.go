package rpc

import (
	"context"
	"encoding/json"

	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// policyAnswering are the arguments of Answer.
type policyAnswering struct {
	op.OfTenant
	ApprovalID string
	Approve    bool
	By, Reason string
	Durability Durability
}

var policyAnswer = op.New(op.Method{Number: 910, Name: "Policy.Answer", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *policy.Store, a *policyAnswering) (record.Doc, error) {
		return s.Answer(ctx, a.Tenant, a.ApprovalID, a.Approve, a.By, a.Reason, record.WriteOptions{Durability: a.Durability})
	})

// Answer approves an approval request, or rejects it, for a user; once. See
// [policy.Store.Answer]. AtRevision says nothing.
func (p *Policy) Answer(ctx context.Context, approval string, approve bool, by, reason string, with ...RecordOption) (Doc, error) {
	return call(ctx, p.c, policyAnswer, policyAnswering{op.Of(p.tenant), approval, approve, by, reason, updated(with).Durability})
}

// policyWrite are the arguments of what is written about a tenant.
type policyWrite struct {
	op.OfTenant
	Durability Durability
}

var policyBootstrap = op.New(op.Method{Number: 912, Name: "Policy.Bootstrap", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *policy.Store, a *policyWrite) ([]record.Doc, error) {
		return s.Bootstrap(ctx, a.Tenant, a.Durability)
	})

// Bootstrap makes what a tenant begins with, unless it is there: policies, the agent
// [policy.Governor], and a delegation to it. It returns them in this order.
func (p *Policy) Bootstrap(ctx context.Context, with ...RecordOption) ([]Doc, error) {
	return call(ctx, p.c, policyBootstrap, policyWrite{op.Of(p.tenant), updated(with).Durability})
}

// policyAgent are the arguments of Heartbeat.
type policyAgent struct {
	policyWrite
	AgentID string
}

var policyHeartbeat = op.New(op.Method{Number: 913, Name: "Policy.Heartbeat", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *policy.Store, a *policyAgent) (record.Doc, error) {
		return s.Heartbeat(ctx, a.Tenant, a.AgentID, a.Durability)
	})

// Heartbeat notes that an agent was heard of now, and returns the agent, or [ErrNotFound].
// AtRevision says nothing.
func (p *Policy) Heartbeat(ctx context.Context, agent string, with ...RecordOption) (Doc, error) {
	return call(ctx, p.c, policyHeartbeat, policyAgent{policyWrite{op.Of(p.tenant), updated(with).Durability}, agent})
}

// policyPlan are the arguments of Step.
type policyPlan struct {
	policyWrite
	IntentID string
	Step     uint32
	Patch    []byte
}

var policyStep = op.New(op.Method{Number: 914, Name: "Policy.Step", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *policy.Store, a *policyPlan) (record.Doc, error) {
		return s.Step(ctx, a.Tenant, a.IntentID, int(a.Step), a.Patch, a.Durability)
	})

// Step applies what patch is as JSON, a merge patch, to one step of the plan of an intent,
// and returns the intent. It returns [ErrNotFound] where there is no such intent, or no
// such step. AtRevision says nothing.
func (p *Policy) Step(ctx context.Context, intent string, step int, patch any, with ...RecordOption) (Doc, error) {
	a := policyPlan{policyWrite: policyWrite{op.Of(p.tenant), updated(with).Durability}, IntentID: intent, Step: uint32(max(step, 0))}
	var text json.RawMessage
	text, err := caller.JSONOf(intent, patch)
	if err != nil {
		return Doc{}, err
	}
	a.Patch = text
	return call(ctx, p.c, policyStep, a)
}

// policyRevoking are the arguments of Revoke.
type policyRevoking struct {
	recordID
	record.UpdateOptions
	Reason string
}

var policyRevoke = op.New(op.Method{Number: 915, Name: "Policy.Revoke", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *policy.Store, a *policyRevoking) (record.Doc, error) {
		return s.Revoke(ctx, a.Tenant, a.Collection, a.ID, a.Reason, a.UpdateOptions)
	})

// Revoke takes a claim or a delegation back, which is for good, and returns it as it is
// then; see [policy.Store.Revoke]. The collection is claim or delegation.
func (p *Policy) Revoke(ctx context.Context, collection, id, reason string, with ...RecordOption) (Doc, error) {
	return call(ctx, p.c, policyRevoke, policyRevoking{recordID{recordSet{p.tenant, collection}, id}, updated(with).UpdateOptions, reason})
}

// policySetting are the arguments of SetSettings.
type policySetting struct {
	policyWrite
	Settings policy.Settings
}

var policySetSettings = op.New(op.Method{Number: 917, Name: "Policy.SetSettings", Role: access.Operator},
	func(ctx context.Context, s *policy.Store, a *policySetting) (op.Nothing, error) {
		return op.Nothing{}, s.SetSettings(ctx, a.Tenant, a.Settings, record.WriteOptions{Durability: a.Durability})
	})

// SetSettings sets what the tenant says. Users who are bound to a tenant get [ErrBound],
// as they do from Migrate and Drop. AtRevision says nothing.
func (p *Policy) SetSettings(ctx context.Context, s TenantSettings, with ...RecordOption) error {
	_, err := call(ctx, p.c, policySetSettings, policySetting{policyWrite{op.Of(p.tenant), updated(with).Durability}, s})
	return err
}

// policyMigration are the arguments of Migrate.
type policyMigration struct {
	recordSet
	From, To uint32
}

var policyMigrate = op.New(op.Method{Number: 920, Name: "Policy.Migrate", Role: access.Operator, Long: true},
	func(ctx context.Context, s *policy.Store, a *policyMigration) (copied int, err error) {
		return s.Migrate(ctx, a.Tenant, a.Collection, int(a.From), int(a.To))
	})

// Migrate copies the records of a version of a collection to another, and returns how
// many; see [policy.Store.Migrate]. It takes as long as it takes, unless ctx ends.
func (p *Policy) Migrate(ctx context.Context, collection string, from, to int) (copied int, err error) {
	return call(ctx, p.c, policyMigrate, policyMigration{recordSet{p.tenant, collection}, uint32(max(from, 0)), uint32(max(to, 0))})
}

// policyDropping are the arguments of Drop.
type policyDropping struct {
	recordSet
	Version    uint32
	Durability Durability
}

var policyDrop = op.New(op.Method{Number: 921, Name: "Policy.Drop", Role: access.Operator, Long: true},
	func(ctx context.Context, s *policy.Store, a *policyDropping) (dropped int, err error) {
		return s.Drop(ctx, a.Tenant, a.Collection, int(a.Version), a.Durability)
	})

// Drop removes all records of a version of a collection, in batches, and returns how many.
// It takes as long as it takes, unless ctx ends. AtRevision says nothing.
func (p *Policy) Drop(ctx context.Context, collection string, version int, with ...RecordOption) (dropped int, err error) {
	return call(ctx, p.c, policyDrop, policyDropping{recordSet{p.tenant, collection}, uint32(max(version, 0)), updated(with).Durability})
}
