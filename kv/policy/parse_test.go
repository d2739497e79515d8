package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv/policy/condition"
)

// with returns the document with a field set to a value, or without it if the value is
// absent.
func with(t *testing.T, doc, path string, value any) []byte {
	t.Helper()
	var root map[string]any
	require.NoError(t, json.Unmarshal([]byte(doc), &root))
	at, names := any(root), strings.Split(path, "/")
	for _, name := range names[:len(names)-1] {
		if list, ok := at.([]any); ok {
			at = list[0]
			continue
		}
		at = at.(map[string]any)[name]
	}
	if last := names[len(names)-1]; value == absent {
		delete(at.(map[string]any), last)
	} else {
		at.(map[string]any)[last] = value
	}
	text, err := json.Marshal(root)
	require.NoError(t, err)
	return text
}

const absent = "<absent>"

// Each is refused with the field's name.
func TestB10WhatDecisionsCantBeMadeBy(t *testing.T) {
	for _, tc := range []struct {
		path  string
		value any
		field string
	}{
		{"policy_id", absent, "policy_id"},
		{"policy_id", "", "policy_id"},
		{"scope", absent, "scope"},
		{"scope", "a.*.c", "scope"},
		{"scope", []string{"a"}, "scope"},
		{"active", absent, "active"},
		{"active", "true", "active"},
		{"active", nil, "active"},
		{"rules", absent, "rules"},
		{"rules", map[string]any{}, "rules"},
		{"rules", []any{1}, "rules"},
		{"rules", []any{nil}, "rules[0].rule_id"},
		{"rules/0/rule_id", absent, "rules[0].rule_id"},
		{"rules/0/rule_id", "r2", "rules[1].rule_id"},
		{"rules/0/action", absent, "rules[0].action"},
		{"rules/0/action", "permit", "rules[0].action"},
		{"rules/0/action", "", "rules[0].action"},
		{"rules/0/action", "transform", "rules[0].transform_fn"},
		{"rules/0/priority", absent, "rules[0].priority"},
		{"rules/0/priority", -1, "rules[0].priority"},
		{"rules/0/priority", 1001, "rules[0].priority"},
		{"rules/0/priority", 1.5, "rules[0].priority"},
		{"rules/0/priority", "1", "rules[0].priority"},
		{"rules/0/condition", absent, "rules[0].condition"},
		{"rules/0/condition", "", "rules[0].condition"},
		{"rules/0/condition", "a ==", "rules[0].condition"},
		{"rules/0/condition", 1, "rules[0].condition"},
		{"rules/0/reason", 1, "rules[0].reason"},
	} {
		_, err := ParsePolicy(with(t, external, tc.path, tc.value))
		requireField(t, err, tc.field, tc.path)
	}
	for _, tc := range []struct {
		path  string
		value any
		field string
	}{
		{"delegation_id", absent, "delegation_id"},
		{"delegator", absent, "delegator"},
		{"delegate", "", "delegate"},
		{"scope", absent, "scope"},
		{"scope", []string{}, "scope"},
		{"scope", "a", "scope"},
		{"scope", []any{"a", nil}, "scope[1]"},
		{"scope", []string{"a", "a.*.b"}, "scope[1]"},
		{"active", absent, "active"},
		{"uses_count", -1, "uses_count"},
		{"uses_count", "1", "uses_count"},
		{"constraints", []int{1}, "constraints"},
		{"constraints/require_approval_for", []string{"*.a"}, "constraints.require_approval_for[0]"},
		{"constraints/valid_from", "30/11/2025", "constraints.valid_from"},
		{"constraints/valid_until", "", "constraints.valid_until"},
		{"constraints/valid_until", 5, "constraints.valid_until"},
		{"constraints/max_uses", 1.5, "constraints.max_uses"},
		{"constraints/max_uses", -1, "constraints.max_uses"},
		{"constraints/conditions", []string{"true", "1 +"}, "constraints.conditions[1]"},
		{"constraints/conditions", "true", "constraints.conditions"},
	} {
		_, err := ParseDelegation(with(t, d001, tc.path, tc.value))
		requireField(t, err, tc.field, tc.path)
	}
	const agent = `{"agent_id": "cece", "status": "active", "config": {"require_human_approval_for": ["a"]}}`
	_, err := ParseAgent(with(t, agent, "agent_id", absent))
	requireField(t, err, "agent_id", agent)
	_, err = ParseAgent(with(t, agent, "status", "Active"))
	requireField(t, err, "status", agent)
	_, err = ParseAgent(with(t, agent, "config/require_human_approval_for", []string{""}))
	requireField(t, err, "config.require_human_approval_for[0]", agent)
	_, err = ParseSettings([]byte(`{"default_deny": 1}`))
	requireField(t, err, "default_deny", "settings")
	for _, text := range []string{"", "null", "[]", "1", "{", `{"a": 1} {}`} {
		_, err = ParseSettings([]byte(text))
		requireField(t, err, "", text)
	}
}

func TestTheFirstErrorIsTold(t *testing.T) {
	_, err := ParseDelegation(with(t, d001, "constraints/conditions", []string{"1 +", "2 +"}))
	requireField(t, err, "constraints.conditions[0]", "two conditions")
	_, err = ParseSettings([]byte("[]"))
	require.EqualError(t, err, "policy: it is no JSON object")
	_, err = ParseSettings([]byte(`{"default_deny": 1, "strict_chain": 1}`))
	require.EqualError(t, err, "policy: default_deny: it is no boolean")
}

func requireField(t *testing.T, err error, field, what string) {
	t.Helper()
	var e *FieldError
	require.ErrorAs(t, err, &e, what)
	require.Equal(t, field, e.Field, "%s: %v", what, err)
	require.NotEmpty(t, e.Reason)
	require.Contains(t, err.Error(), e.Reason)
}

func TestB28TheConditionsErrorIsKept(t *testing.T) {
	_, err := ParsePolicy(with(t, external, "rules/0/condition", "a ==\n b ="))
	var e *condition.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, 2, e.Line)
}

// A field of another case is another field, whatever encoding/json takes it for.
func TestNamesOfFieldsAreExact(t *testing.T) {
	p, err := ParsePolicy(with(t, external, "Active", false))
	require.NoError(t, err)
	require.True(t, p.Active)
	d, err := ParseDelegation(with(t, d001, "SCOPE", []string{"*"}))
	require.NoError(t, err)
	require.Len(t, d.Scope, 5)
	s, err := ParseSettings([]byte(`{"Default_Deny": true}`))
	require.NoError(t, err)
	require.Equal(t, &Settings{}, s)
}
