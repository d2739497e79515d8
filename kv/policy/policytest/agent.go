package policytest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/record"
)

func b47AgentsAreChecked(t *testing.T, h *Host) {
	for field, values := range map[string][]any{
		"class": {"boss", "", nil, 1}, "status": {"gone", "", 1}, "owner": {"a", "agent:a", "user:", "blackroad", nil}, "name": {nil, ""}, "capabilities": {"a", Object{}},
		"config": {Object{"require_human_approval_for": []string{"a.*.b"}}, "c"}, "agent_id": {nil, "a b", "a:b", ""},
	} {
		for _, value := range values {
			_, err := h.Try(policy.Agents, SomeAgent("a").With(Object{field: value}))
			var e *record.Error
			require.ErrorAs(t, err, &e, "%s %v", field, value)
			require.Equal(t, record.CodeValidation, e.Code, "%s %v", field, value)
			require.Contains(t, e.Field, field)
		}
	}
	for field, values := range map[string][]any{"class": {"lucidia", "worker", "system", "integration"}, "status": {"active", "disabled", "pending"}, "owner": {"user:a", "org:b", "blackroad.system"}} {
		for i, value := range values {
			h.Create(policy.Agents, SomeAgent(field+"."+string(rune('a'+i))).With(Object{field: value}))
		}
	}
	d := h.Create(policy.Agents, SomeAgent("silent").With(Object{"status": nil}))
	require.Equal(t, "pending", h.Get(policy.Agents, d.ID)["status"])
}

func b48AgentsUnderTheirKeys(t *testing.T, h *Host) {
	h.Create(policy.Agents, SomeAgent("a"))
	h.Create(policy.Agents, SomeAgent("b").With(Object{"status": "pending"}))
	require.Equal(t, []string{"a"}, h.IDs("agent:active"))
	require.Equal(t, []string{"a", "b"}, h.IDs("agent:by_class:worker"))
	h.Update(policy.Agents, "b", Object{"status": "active", "class": "system", "owner": "org:o"})
	h.Update(policy.Agents, "a", Object{"status": "disabled"})
	require.Equal(t, []string{"b"}, h.IDs("agent:active"))
	require.Equal(t, []string{"a"}, h.IDs("agent:by_class:worker"))
	require.Equal(t, []string{"b"}, h.IDs("agent:by_class:system"))
	require.Equal(t, []string{"a"}, h.IDs("agent:by_owner:user:a"))
	require.Equal(t, []string{"b"}, h.IDs("agent:by_owner:org:o"))
}

func b49AnActiveAgentHasItsPolicies(t *testing.T, h *Host) {
	one := h.Create(policy.Policies, SomePolicy("a", "true", "allow", 1))
	agent := SomeAgent("a").With(Object{"policies_required": []string{one.ID, "pol-none"}})
	_, err := h.Try(policy.Agents, agent)
	refused(t, err, record.CodePrecondition, "pol-none")
	h.Create(policy.Agents, agent.With(Object{"status": "pending"}))
	_, err = h.TryUpdate(policy.Agents, "a", Object{"status": "active"})
	refused(t, err, record.CodePrecondition, "pol-none")
	h.Create(policy.Policies, SomePolicy("a", "true", "allow", 1).With(Object{"policy_id": "pol-none", "active": false}))
	_, err = h.TryUpdate(policy.Agents, "a", Object{"status": "active"})
	refused(t, err, record.CodePrecondition, "pol-none")
	h.Update(policy.Policies, "pol-none", Object{"active": true})
	h.Update(policy.Agents, "a", Object{"status": "active"})
	h.Update(policy.Policies, "pol-none", Object{"active": false})
	h.Update(policy.Agents, "a", Object{"name": "still active"})
	_, err = h.TryUpdate(policy.Agents, "a", Object{"policies_required": []string{"pol-none"}})
	refused(t, err, record.CodePrecondition, "pol-none")
}

func b50HeartbeatsMoveForwardOnly(t *testing.T, h *Host) {
	h.Create(policy.Agents, SomeAgent("a"))
	before := h.Get(policy.Agents, "a")
	last := time.Time{}
	for range 50 {
		h.Clock.Pass(time.Millisecond)
		d, err := h.Heartbeat(ctx, "t", "a", engine.WAL)
		require.NoError(t, err)
		at, err := document.ParseInstant(fieldText(d, "last_seen"))
		require.NoError(t, err)
		require.True(t, at.After(last))
		last = at
	}
	after := h.Get(policy.Agents, "a")
	require.Equal(t, before, after.With(Object{"last_seen": nil}))
	_, err := h.TryUpdate(policy.Agents, "a", Object{"last_seen": "2020-01-01T00:00:00Z"})
	refused(t, err, record.CodeImmutable, "last_seen")
	h.Create(policy.Agents, SomeAgent("future").With(Object{"last_seen": "2100-01-01T00:00:00Z"}))
	_, err = h.Heartbeat(ctx, "t", "future", engine.WAL)
	require.NoError(t, err)
	require.Equal(t, "2100-01-01T00:00:00Z", h.Get(policy.Agents, "future")["last_seen"])
	_, err = h.Heartbeat(ctx, "t", "none", engine.WAL)
	refused(t, err, record.CodeNotFound, "id")
	_, err = h.Records.History(ctx, "t", policy.Agents, "a")
	refused(t, err, record.CodeNotFound, "id")
}

func b51ConfigAndCapabilitiesComeBack(t *testing.T, h *Host) {
	config := map[string]any{"a": []any{1.5, nil, map[string]any{"b": "ü"}}, "require_human_approval_for": []any{"*"}}
	h.Create(policy.Agents, SomeAgent("a").With(Object{"config": config, "capabilities": []any{"x.y", "z"}}))
	require.Equal(t, config, h.Get(policy.Agents, "a")["config"])
	require.Equal(t, []any{"x.y", "z"}, h.Get(policy.Agents, "a")["capabilities"])
}

func b90Bootstrap(t *testing.T, h *Host) {
	before := h.Create(policy.Delegations, SomeDelegation("agent:other", "x").With(Object{"delegator": "blackroad.system"}))
	made, err := h.Bootstrap(ctx, "t", engine.WAL)
	require.NoError(t, err)
	require.Len(t, made, 4)
	require.Equal(t, []string{"pol-core-safety", "pol-core-audit"}, h.IDs("policy:active"))
	require.Equal(t, []string{policy.Governor}, h.IDs("agent:active"))
	require.Equal(t, []string{before.ID, made[3].ID}, h.IDs("delegation:by_delegator:blackroad.system"))
	require.Equal(t, []string{"pol-core-safety"}, h.IDs("policy:scope:core.safety"))
	d, err := h.Decide(ctx, "t", policy.Question{Agent: "agent:" + policy.Governor, Action: "tool.invoke"})
	require.NoError(t, err)
	require.True(t, d.Allowed, d.Reason)
	h.Update(policy.Agents, policy.Governor, Object{"name": "mine"})
	_, err = h.Revoke(ctx, "t", policy.Delegations, made[3].ID, "", record.UpdateOptions{})
	require.NoError(t, err)
	again, err := h.Bootstrap(ctx, "t", engine.WAL)
	require.NoError(t, err)
	for i := range again {
		require.Equal(t, made[i].ID, again[i].ID)
	}
	require.Equal(t, "mine", h.Get(policy.Agents, policy.Governor)["name"])
	third, err := h.Bootstrap(ctx, "t", engine.WAL)
	require.NoError(t, err)
	require.Equal(t, again, third)
}
