package policy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/record"
)

func someAgent(id string) object {
	return object{"agent_id": id, "name": id, "description": "d", "class": "worker", "owner": "user:a", "status": "active"}
}

func TestB47AgentsAreChecked(t *testing.T) {
	h := newHost(t)
	for field, values := range map[string][]any{
		"class": {"boss", "", nil, 1}, "status": {"gone", "", 1}, "owner": {"a", "agent:a", "user:", "blackroad", nil}, "name": {nil, ""}, "capabilities": {"a", object{}},
		"config": {object{"require_human_approval_for": []string{"a.*.b"}}, "c"}, "agent_id": {nil, "a b", "a:b", ""},
	} {
		for _, value := range values {
			_, err := h.try(Agents, someAgent("a").with(object{field: value}))
			var e *record.Error
			require.ErrorAs(t, err, &e, "%s %v", field, value)
			require.Equal(t, record.CodeValidation, e.Code, "%s %v", field, value)
			require.Contains(t, e.Field, field)
		}
	}
	for field, values := range map[string][]any{"class": {"lucidia", "worker", "system", "integration"}, "status": {"active", "disabled", "pending"}, "owner": {"user:a", "org:b", "blackroad.system"}} {
		for i, value := range values {
			h.create(Agents, someAgent(field+"."+string(rune('a'+i))).with(object{field: value}))
		}
	}
	d := h.create(Agents, someAgent("silent").with(object{"status": nil}))
	require.Equal(t, "pending", h.get(Agents, d.ID)["status"])
}

func TestB48AgentsUnderTheirKeys(t *testing.T) {
	h := newHost(t)
	h.create(Agents, someAgent("a"))
	h.create(Agents, someAgent("b").with(object{"status": "pending"}))
	require.Equal(t, []string{"a"}, h.ids("agent:active"))
	require.Equal(t, []string{"a", "b"}, h.ids("agent:by_class:worker"))
	h.update(Agents, "b", object{"status": "active", "class": "system", "owner": "org:o"})
	h.update(Agents, "a", object{"status": "disabled"})
	require.Equal(t, []string{"b"}, h.ids("agent:active"))
	require.Equal(t, []string{"a"}, h.ids("agent:by_class:worker"))
	require.Equal(t, []string{"b"}, h.ids("agent:by_class:system"))
	require.Equal(t, []string{"a"}, h.ids("agent:by_owner:user:a"))
	require.Equal(t, []string{"b"}, h.ids("agent:by_owner:org:o"))
}

func TestB49AnActiveAgentHasItsPolicies(t *testing.T) {
	h := newHost(t)
	one := h.create(Policies, somePolicy("a", "true", "allow", 1))
	agent := someAgent("a").with(object{"policies_required": []string{one.ID, "pol-none"}})
	_, err := h.try(Agents, agent)
	refused(t, err, record.CodePrecondition, "pol-none")
	h.create(Agents, agent.with(object{"status": "pending"}))
	_, err = h.tryUpdate(Agents, "a", object{"status": "active"})
	refused(t, err, record.CodePrecondition, "pol-none")
	h.create(Policies, somePolicy("a", "true", "allow", 1).with(object{"policy_id": "pol-none", "active": false}))
	_, err = h.tryUpdate(Agents, "a", object{"status": "active"})
	refused(t, err, record.CodePrecondition, "pol-none")
	h.update(Policies, "pol-none", object{"active": true})
	h.update(Agents, "a", object{"status": "active"})
	h.update(Policies, "pol-none", object{"active": false})
	h.update(Agents, "a", object{"name": "still active"})
	_, err = h.tryUpdate(Agents, "a", object{"policies_required": []string{"pol-none"}})
	refused(t, err, record.CodePrecondition, "pol-none")
}

func TestB50HeartbeatsMoveForwardOnly(t *testing.T) {
	h := newHost(t)
	h.create(Agents, someAgent("a"))
	before := h.get(Agents, "a")
	last := time.Time{}
	for range 50 {
		h.clock.Pass(time.Millisecond)
		d, err := h.Heartbeat(ctx, "t", "a", engine.WAL)
		require.NoError(t, err)
		at, err := document.ParseInstant(text(d, "last_seen"))
		require.NoError(t, err)
		require.True(t, at.After(last))
		last = at
	}
	after := h.get(Agents, "a")
	require.Equal(t, before, after.with(object{"last_seen": nil}))
	_, err := h.tryUpdate(Agents, "a", object{"last_seen": "2020-01-01T00:00:00Z"})
	refused(t, err, record.CodeImmutable, "last_seen")
	h.create(Agents, someAgent("future").with(object{"last_seen": "2100-01-01T00:00:00Z"}))
	_, err = h.Heartbeat(ctx, "t", "future", engine.WAL)
	require.NoError(t, err)
	require.Equal(t, "2100-01-01T00:00:00Z", h.get(Agents, "future")["last_seen"])
	_, err = h.Heartbeat(ctx, "t", "none", engine.WAL)
	refused(t, err, record.CodeNotFound, "id")
	_, err = h.records.History(ctx, "t", Agents, "a")
	refused(t, err, record.CodeNotFound, "id")
}

func TestB51ConfigAndCapabilitiesComeBack(t *testing.T) {
	h := newHost(t)
	config := map[string]any{"a": []any{1.5, nil, map[string]any{"b": "ü"}}, "require_human_approval_for": []any{"*"}}
	h.create(Agents, someAgent("a").with(object{"config": config, "capabilities": []any{"x.y", "z"}}))
	require.Equal(t, config, h.get(Agents, "a")["config"])
	require.Equal(t, []any{"x.y", "z"}, h.get(Agents, "a")["capabilities"])
}

func TestB90Bootstrap(t *testing.T) {
	h := newHost(t)
	before := h.create(Delegations, someDelegation("agent:other", "x").with(object{"delegator": "blackroad.system"}))
	made, err := h.Bootstrap(ctx, "t", engine.WAL)
	require.NoError(t, err)
	require.Len(t, made, 4)
	require.Equal(t, []string{"pol-core-safety", "pol-core-audit"}, h.ids("policy:active"))
	require.Equal(t, []string{Governor}, h.ids("agent:active"))
	require.Equal(t, []string{before.ID, made[3].ID}, h.ids("delegation:by_delegator:blackroad.system"))
	require.Equal(t, []string{"pol-core-safety"}, h.ids("policy:scope:core.safety"))
	d, err := h.Decide(ctx, "t", Question{Agent: "agent:" + Governor, Action: "tool.invoke"})
	require.NoError(t, err)
	require.True(t, d.Allowed, d.Reason)
	h.update(Agents, Governor, object{"name": "mine"})
	_, err = h.Revoke(ctx, "t", Delegations, made[3].ID, "", record.UpdateOptions{})
	require.NoError(t, err)
	again, err := h.Bootstrap(ctx, "t", engine.WAL)
	require.NoError(t, err)
	for i := range again {
		require.Equal(t, made[i].ID, again[i].ID)
	}
	require.Equal(t, "mine", h.get(Agents, Governor)["name"])
	third, err := h.Bootstrap(ctx, "t", engine.WAL)
	require.NoError(t, err)
	require.Equal(t, again, third)
}
