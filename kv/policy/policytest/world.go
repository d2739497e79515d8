package policytest

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/record"
)

// world is a tenant with records that questions are asked of.
type world struct {
	t      testing.TB
	h      *Host
	tenant string
}

// world is a tenant that has nothing.
func (h *Host) world() *world {
	h.worlds++
	return &world{h.t, h, fmt.Sprint("world", h.worlds)}
}

// put puts a record in the place of what is there.
func (w *world) put(collection, id string, doc Object) {
	w.t.Helper()
	w.remove(collection, id)
	_, err := w.h.Records.Create(ctx, w.tenant, collection, doc.JSON(), record.WriteOptions{Durability: engine.WAL})
	require.NoError(w.t, err)
}

func (w *world) remove(collection, id string) {
	w.t.Helper()
	_, err := w.h.Records.Delete(ctx, w.tenant, collection, id, record.UpdateOptions{Durability: engine.WAL})
	if !errors.Is(err, record.ErrNotFound) {
		require.NoError(w.t, err)
	}
}

// delegate puts in a delegation for cece.
func (w *world) delegate(id string, scope []string, more Object) {
	w.t.Helper()
	w.put(policy.Delegations, id, SomeDelegation("agent:cece", scope...).With(Object{"delegation_id": id}).With(more))
}

// policy puts in a policy. A rule is its action, priority and condition.
func (w *world) policy(id, scope string, rules ...Object) {
	w.t.Helper()
	list := []Object{}
	for i, r := range rules {
		list = append(list, Object{"rule_id": fmt.Sprint("r", i+1), "condition": "true", "priority": 0}.With(r))
	}
	w.put(policy.Policies, id, SomePolicy(scope, "true", "allow", 0).With(Object{"policy_id": id, "rules": list}))
}

func (w *world) agent(id, status string, approval ...string) {
	w.t.Helper()
	w.put(policy.Agents, id, SomeAgent(id).With(Object{"status": status, "config": Object{"require_human_approval_for": append([]string{}, approval...)}}))
}

func (w *world) settings(s policy.Settings) {
	w.t.Helper()
	require.NoError(w.t, w.h.SetSettings(ctx, w.tenant, s, record.WriteOptions{Durability: engine.WAL}))
}

// may asks whether cece may do something, now.
func (w *world) may(action string, context ...string) policy.Decision {
	w.t.Helper()
	q := policy.Question{Agent: "cece", Action: action}
	for _, text := range context {
		require.NoError(w.t, json.Unmarshal([]byte(text), &q.Context))
	}
	d, err := w.h.Decide(ctx, w.tenant, q)
	require.NoError(w.t, err)
	e, err := w.h.Explain(ctx, w.tenant, q)
	require.NoError(w.t, err)
	require.Equal(w.t, d, e.Decision)
	return d
}

func (w *world) whatCan(delegate string) []policy.Grant {
	w.t.Helper()
	grants, err := w.h.WhatCan(ctx, w.tenant, delegate)
	require.NoError(w.t, err)
	return grants
}

func (w *world) whoCan(action string) []policy.Grant {
	w.t.Helper()
	grants, err := w.h.WhoCan(ctx, w.tenant, action)
	require.NoError(w.t, err)
	return grants
}

func rule(action string, priority int, condition string) Object {
	return Object{"action": action, "priority": priority, "condition": condition}
}
