package policy

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"time"

	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/record"
)

// Decide answers a question by what a tenant's records say now, and changes nothing. The
// time of the question is the store's. No answer is older than what was written, and
// answered, before it was asked.
func (s *Store) Decide(ctx context.Context, tenant string, q Question) (d Decision, err error) {
	err = s.asked(ctx, tenant, &q, func(world *World, _ positions) { d = world.Decide(&q) })
	return d, err
}

// Explain answers as Decide does, with all that was looked at.
func (s *Store) Explain(ctx context.Context, tenant string, q Question) (e Explanation, err error) {
	err = s.asked(ctx, tenant, &q, func(world *World, _ positions) { e = world.Explain(&q) })
	return e, err
}

// WhatCan answers what somebody can do now, as agent:cece.governor.v1: see [World.WhatCan].
func (s *Store) WhatCan(ctx context.Context, tenant, delegate string) (grants []Grant, err error) {
	var q Question
	err = s.asked(ctx, tenant, &q, func(world *World, _ positions) { grants = world.WhatCan(delegate, q.Time) })
	return grants, err
}

// WhoCan answers who can perform an action now: see [World.WhoCan].
func (s *Store) WhoCan(ctx context.Context, tenant, action string) (grants []Grant, err error) {
	var q Question
	err = s.asked(ctx, tenant, &q, func(world *World, _ positions) { grants = world.WhoCan(action, q.Time) })
	return grants, err
}

// asked calls fn with the world of a tenant, once the question has its time.
func (s *Store) asked(ctx context.Context, tenant string, q *Question, fn func(*World, positions)) error {
	if tenant == "" {
		return &record.Error{Code: record.CodeInvalidArgument, Field: "tenant", Reason: "a tenant is required"}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.worlds.ask(ctx, tenant, func(world *World, at positions, now time.Time) {
		q.Time = now
		fn(world, at)
	})
}

// content is the hash of a document, to see whether it is still the one that something
// was decided by.
type content [sha256.Size]byte

// withoutUses takes what counts the uses of a delegation out of it.
var withoutUses = json.RawMessage(`{"uses_count":null}`)

// contentOfDelegation is that of a delegation, but for its uses.
func contentOfDelegation(doc json.RawMessage) content {
	return sha256.Sum256(document.Merge(doc, withoutUses))
}

// contentOfAgent is that of what decisions need of an agent.
func contentOfAgent(doc json.RawMessage) content {
	status := document.Field(doc, document.Path{"status"})
	approval := document.Field(doc, document.Path{"config", "require_human_approval_for"})
	return sha256.Sum256(append(append(append([]byte{}, status...), 0), approval...))
}
