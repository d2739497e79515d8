package policytest

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/record"
)

// Records are the verbs of collections that are tested, as [record.Store] has them.
type Records interface{ verbs }

// Policies are what is tested of [policy.Store].
type Policies interface {
	questions
	ledger
	changes
	queries
}

type verbs interface {
	Create(ctx context.Context, tenant, collection string, doc []byte, o record.WriteOptions) (record.Doc, error)
	Get(ctx context.Context, tenant, collection, id string) (record.Doc, error)
	Update(ctx context.Context, tenant, collection, id string, patch []byte, o record.UpdateOptions) (record.Doc, error)
	Transition(ctx context.Context, tenant, collection, id, to string, patch []byte, o record.UpdateOptions) (record.Doc, error)
	Delete(ctx context.Context, tenant, collection, id string, o record.UpdateOptions) (record.Doc, error)
	List(ctx context.Context, tenant, collection string, q record.Query) (record.Page, error)
	Lookup(ctx context.Context, tenant, key string) (json.RawMessage, error)
	History(ctx context.Context, tenant, collection, id string) ([]record.Doc, error)
	PutAside(ctx context.Context, tenant, collection string) (int, error)
	Export(ctx context.Context, tenant, collection string, w io.Writer) error
	Import(ctx context.Context, tenant, collection string, r io.Reader) (int, error)
}

type questions interface {
	Decide(ctx context.Context, tenant string, q policy.Question) (policy.Decision, error)
	Use(ctx context.Context, tenant string, q policy.Question, o policy.UseOptions) (policy.Used, error)
	Explain(ctx context.Context, tenant string, q policy.Question) (policy.Explanation, error)
	WhatCan(ctx context.Context, tenant, delegate string) ([]policy.Grant, error)
	WhoCan(ctx context.Context, tenant, action string) ([]policy.Grant, error)
}

type ledger interface {
	Append(ctx context.Context, tenant string, event []byte, o record.WriteOptions) (record.Doc, error)
	Events(ctx context.Context, tenant string, from, to time.Time) iter.Seq2[record.Doc, error]
	Head(ctx context.Context, tenant string) (policy.Head, error)
	Verify(ctx context.Context, tenant string) iter.Seq2[policy.Finding, error]
}

type changes interface {
	Answer(ctx context.Context, tenant, id string, approve bool, by, reason string, o record.WriteOptions) (record.Doc, error)
	Approval(ctx context.Context, tenant, id string) (record.Doc, error)
	Bootstrap(ctx context.Context, tenant string, d engine.Durability) ([]record.Doc, error)
	Heartbeat(ctx context.Context, tenant, agent string, d engine.Durability) (record.Doc, error)
	Step(ctx context.Context, tenant, intent string, step int, patch []byte, d engine.Durability) (record.Doc, error)
	Revoke(ctx context.Context, tenant, collection, id, reason string, o record.UpdateOptions) (record.Doc, error)
	Settings(ctx context.Context, tenant string) (policy.Settings, error)
	SetSettings(ctx context.Context, tenant string, s policy.Settings, o record.WriteOptions) error
}

type queries interface {
	Rows(ctx context.Context, tenant, collection string) iter.Seq2[[]json.RawMessage, error]
	Commands(ctx context.Context, tenant, collection string) iter.Seq2[[]string, error]
	Migrate(ctx context.Context, tenant, collection string, from, to int) (int, error)
	Drop(ctx context.Context, tenant, collection string, version int, d engine.Durability) (int, error)
	PoliciesFor(ctx context.Context, tenant, scope string) ([]record.Doc, error)
	ClaimsAbout(ctx context.Context, tenant, object, claimType string, q record.Query) (record.Page, error)
	WorkOf(ctx context.Context, tenant, agent, status string, q record.Query) (record.Page, error)
	Day(ctx context.Context, tenant string, day time.Time, q record.Query) (record.Page, error)
}
