package policytest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/record"
)

func b17ADeactivatedPolicyIsIgnored(t *testing.T, h *Host) {
	w := h.world()
	w.delegate("del-20251130-d001", []string{"*"}, nil)
	w.policy("pol-p1", "a.*", rule("deny", 1, "true"))
	require.Equal(t, policy.Denied, w.may("a.b").Result)
	w.put(policy.Policies, "pol-p1", SomePolicy("a.*", "true", "deny", 1).With(Object{"policy_id": "pol-p1", "active": false}))
	require.Equal(t, policy.ReasonNoPolicy, w.may("a.b").Reason)
	w.policy("pol-p1", "a.c", rule("deny", 1, "true"))
	require.Equal(t, policy.ReasonNoPolicy, w.may("a.b").Reason, "another scope")
	require.Equal(t, policy.Denied, w.may("a.c").Result)
	w.remove(policy.Policies, "pol-p1")
	require.Equal(t, policy.ReasonNoPolicy, w.may("a.c").Reason)
}

func b20ResultsOfRules(t *testing.T, h *Host) {
	for action, want := range map[string]policy.Decision{
		"allow":                  {Allowed: true, Result: policy.Allowed},
		"deny":                   {Result: policy.Denied},
		"require_human_approval": {Result: policy.PendingApproval},
		"transform":              {Allowed: true, Result: policy.Transformed, Transform: "mask_pii"},
	} {
		w := h.world()
		w.delegate("del-20251130-d001", []string{"*"}, nil)
		w.policy("pol-p1", "a.b", Object{"action": "deny", "condition": "false", "priority": 5},
			Object{"action": action, "priority": 3, "reason": "so it is", "transform_fn": "mask_pii"})
		want.Policy, want.Rule, want.Reason, want.Delegation = "pol-p1", "r2", "so it is", "del-20251130-d001"
		require.Equal(t, want, w.may("a.b"))
	}
	names := map[policy.Result]string{policy.Allowed: "allowed", policy.Denied: "denied", policy.PendingApproval: "pending_approval", policy.Transformed: "transformed"}
	for result, name := range names {
		require.Equal(t, name, result.String())
	}
}

func b21PriorityAcrossPolicies(t *testing.T, h *Host) {
	w := h.world()
	w.delegate("del-20251130-d001", []string{"*"}, nil)
	w.policy("pol-p1", "a.b", rule("allow", 10, "true"))
	w.policy("pol-p2", "a.b", rule("deny", 20, "true"))
	d := w.may("a.b")
	require.Equal(t, []any{policy.Denied, "pol-p2"}, []any{d.Result, d.Policy})
	w.policy("pol-p1", "a.b", rule("allow", 20, "true"))
	w.policy("pol-p2", "a.b", rule("deny", 10, "true"))
	d = w.may("a.b")
	require.Equal(t, []any{policy.Allowed, "pol-p1"}, []any{d.Result, d.Policy})
}

func b22EqualPriority(t *testing.T, h *Host) {
	order := []string{"deny", "require_human_approval", "transform", "allow"}
	results := []policy.Result{policy.Denied, policy.PendingApproval, policy.Transformed, policy.Allowed}
	for i, first := range order {
		for _, second := range order[i:] {
			for _, scopes := range [][2]string{{"a.b", "a.b"}, {"a.*", "a.b"}, {"a.b", "*"}} {
				w := h.world()
				w.delegate("del-20251130-d001", []string{"*"}, nil)
				w.policy("pol-p2", scopes[0], Object{"action": first, "priority": 7, "transform_fn": "f"})
				w.policy("pol-p1", scopes[1], Object{"action": second, "priority": 7, "transform_fn": "f"})
				d := w.may("a.b")
				require.Equal(t, results[i], d.Result, "%s and %s", first, second)
				if first == second {
					require.Equal(t, "pol-p1", d.Policy, "the smaller id of the same action")
				}
			}
		}
	}
	w := h.world()
	w.delegate("del-20251130-d001", []string{"*"}, nil)
	w.policy("pol-p1", "a.b", rule("allow", 1, "false"), rule("allow", 1, "true"), rule("allow", 1, "true"))
	require.Equal(t, "r2", w.may("a.b").Rule, "the rule that is given first")
}

func b23OtherPoliciesAreNeverConsidered(t *testing.T, h *Host) {
	w := h.world()
	w.delegate("del-20251130-d001", []string{"*"}, nil)
	for i, scope := range []string{"email.sendx", "emails.*", "email", "email.send.*", "Email.send"} {
		w.policy(fmt.Sprint("pol-p", i), scope, rule("deny", 1000, "missing == 1"))
	}
	require.Equal(t, policy.ReasonNoPolicy, w.may("email.send").Reason)
}

func b29AFailedConditionDenies(t *testing.T, h *Host) {
	for _, action := range []string{"allow", "deny", "require_human_approval", "transform"} {
		for _, condition := range []string{"missing == 1", "x < 'a'", "x", "all(l, all(l, # > 0))"} {
			w := h.world()
			w.delegate("del-20251130-d001", []string{"*"}, nil)
			w.policy("pol-p1", "a.*", Object{"action": action, "priority": 3, "condition": condition, "transform_fn": "f"})
			w.policy("pol-p2", "a.b", rule("allow", 3, "true"))
			l, err := json.Marshal(make([]int, 1000))
			require.NoError(t, err)
			d := w.may("a.b", `{"x": 1, "l": [`+string(l[1:len(l)-1])+`]}`)
			if condition == "all(l, all(l, # > 0))" { // the zeros end it
				require.NotContains(t, d.Reason, "failed")
				continue
			}
			require.Equal(t, []any{policy.Denied, "pol-p1", "r1"}, []any{d.Result, d.Policy, d.Rule})
			require.Contains(t, d.Reason, "the condition of rule r1 failed: 1:")
			require.Empty(t, d.Transform)

			w.policy("pol-p2", "a.b", rule("allow", 4, "true"))
			require.Equal(t, policy.Allowed, w.may("a.b", `{"x": 1}`).Result, "a rule of greater priority decides before")
			w.policy("pol-p2", "a.b", rule("deny", 3, "true"))
			require.Equal(t, "pol-p2", w.may("a.b", `{"x": 1}`).Policy, "of the same, one that denies does")
		}
	}
}

func b32TransformIsAName(t *testing.T, h *Host) {
	w := h.world()
	w.delegate("del-20251130-d001", []string{"*"}, nil)
	w.policy("pol-p1", "a.b", Object{"action": "transform", "transform_fn": "mask_pii"})
	require.Equal(t, policy.Decision{Allowed: true, Result: policy.Transformed, Reason: "rule r1 of pol-p1", Policy: "pol-p1", Rule: "r1", Transform: "mask_pii", Delegation: "del-20251130-d001"}, w.may("a.b"))
	nameless := Object{"rule_id": "r", "condition": "true", "action": "transform", "priority": 1}
	_, err := h.Try(policy.Policies, SomePolicy("a", "true", "allow", 1).With(Object{"rules": []Object{nameless}}))
	refused(t, err, record.CodeValidation, "rules.0.transform_fn")
}

func b33NoPolicyMatches(t *testing.T, h *Host) {
	w := h.world()
	w.delegate("del-20251130-d001", []string{"*"}, nil)
	w.policy("pol-p1", "a.b", rule("deny", 1, "false"))
	require.Equal(t, policy.Decision{Allowed: true, Result: policy.Allowed, Reason: "No policy restriction", Delegation: "del-20251130-d001"}, w.may("a.b"))
	w.settings(policy.Settings{DefaultDeny: true})
	require.Equal(t, policy.Decision{Result: policy.Denied, Reason: "No policy allows this action", Delegation: "del-20251130-d001"}, w.may("a.b"))
	w.remove(policy.TenantRules, policy.SettingsID)
	require.Equal(t, policy.Allowed, w.may("a.b").Result)
}

func b68ConditionsOfADelegation(t *testing.T, h *Host) {
	w := h.world()
	w.delegate("del-20251130-d001", []string{"a.b"}, Object{"constraints": Object{"conditions": []string{"amount < 100", "currency IN ['EUR']"}}})
	for context, want := range map[string]policy.Result{
		`{"amount": 99, "currency": "EUR"}`:   policy.Allowed,
		`{"amount": 100, "currency": "EUR"}`:  policy.Denied,
		`{"amount": 99, "currency": "USD"}`:   policy.Denied,
		`{"amount": 99}`:                      policy.Denied,
		`{"amount": "99", "currency": "EUR"}`: policy.Denied,
		`{}`:                                  policy.Denied,
	} {
		d := w.may("a.b", context)
		require.Equal(t, want, d.Result, context)
		if want == policy.Denied {
			require.Equal(t, policy.ReasonNoDelegation, d.Reason)
		}
	}
}

func b69WhatSomebodyCanDo(t *testing.T, h *Host) {
	w := h.world()
	w.delegate("del-20251130-d002", []string{"b.*", "a"}, Object{"constraints": Object{"require_approval_for": []string{"b.c"}}})
	w.delegate("del-20251130-d001", []string{"x"}, Object{"delegator": "org:blackroad", "constraints": Object{"conditions": []string{"true"}}})
	w.delegate("del-20251130-d003", []string{"y"}, Object{"active": false})
	w.delegate("del-20251130-d004", []string{"z"}, Object{"constraints": Object{"valid_until": h.Clock.Now().Add(time.Millisecond).Format(time.RFC3339Nano)}})
	w.delegate("del-20251130-d005", []string{"v"}, Object{"constraints": Object{"max_uses": 1}, "uses_count": 1})
	w.delegate("del-20251130-d006", []string{"w"}, Object{"delegate": "agent:other"})
	want := []policy.Grant{
		{Delegation: "del-20251130-d001", Delegator: "org:blackroad", Delegate: "agent:cece", Pattern: "x", Conditional: true},
		{Delegation: "del-20251130-d002", Delegator: "user:alexa", Delegate: "agent:cece", Pattern: "b.*", RequireApproval: []string{"b.c"}},
		{Delegation: "del-20251130-d002", Delegator: "user:alexa", Delegate: "agent:cece", Pattern: "a"},
	}
	require.Len(t, w.whatCan("cece"), 4)
	h.Clock.Pass(time.Millisecond)
	require.Equal(t, want, w.whatCan("agent:cece"))
	require.Equal(t, want, w.whatCan("cece"))
	require.Empty(t, w.whatCan("nobody"))
	w.agent("cece", "disabled")
	require.Empty(t, w.whatCan("cece"))
}

func b70WhoHasAScope(t *testing.T, h *Host) {
	w := h.world()
	for id, scope := range map[string]string{"del-20251130-d001": "notion.*", "del-20251130-d002": "*", "del-20251130-d003": "notion.create_page", "del-20251130-d004": "notion.read", "del-20251130-d005": "notion", "del-20251130-d006": "notion.create_page.*", "del-20251130-d007": "notion.*"} {
		w.delegate(id, []string{"x", scope, "z"}, Object{"delegate": "agent:of-" + id, "constraints": Object{"require_approval_for": []string{"notion.*", "x"}}})
	}
	w.agent("of-del-20251130-d007", "disabled")
	var who []string
	for _, g := range w.whoCan("notion.create_page") {
		who = append(who, g.Delegate+" by "+g.Pattern)
		require.Equal(t, []string{"notion.*"}, g.RequireApproval)
	}
	require.Equal(t, []string{"agent:of-del-20251130-d001 by notion.*", "agent:of-del-20251130-d002 by *", "agent:of-del-20251130-d003 by notion.create_page"}, who)
	for _, none := range []string{"", "notion.*", "*"} {
		require.Empty(t, w.whoCan(none))
	}
}

func b72AnAgentThatIsNotActive(t *testing.T, h *Host) {
	w := h.world()
	w.delegate("del-20251130-d001", []string{"*"}, nil)
	w.agent("cece", "disabled")
	require.Equal(t, policy.Decision{Result: policy.Denied, Reason: "agent disabled"}, w.may("a.b"))
	w.agent("cece", "pending")
	require.Equal(t, policy.Decision{Result: policy.Denied, Reason: "agent pending"}, w.may("a.b"))
	w.agent("cece", "active")
	require.Equal(t, policy.Allowed, w.may("a.b").Result)
	w.agent("cece", "disabled")
	w.remove(policy.Agents, "cece")
	require.Equal(t, policy.Allowed, w.may("a.b").Result)
}

func b73NoDelegation(t *testing.T, h *Host) {
	w := h.world()
	w.delegate("del-20251130-d001", []string{"a.b"}, nil)
	w.policy("pol-p1", "*", rule("allow", 1000, "true"))
	require.Equal(t, policy.Decision{Result: policy.Denied, Reason: "No delegation for this action"}, w.may("a.c"))
	require.Equal(t, "No delegation for this action", h.world().may("a").Reason)
	for _, action := range []string{"", "a.*", "*", "a..b", "a.b ", ".a", "a.", strings.Repeat("a", policy.MaxPattern+1)} {
		w.delegate("del-20251130-d002", []string{"*"}, nil)
		require.Equal(t, policy.Decision{Result: policy.Denied, Reason: policy.ReasonNoAction}, w.may(action), "%q is no action", action)
	}
}

func b74B75Covered(t *testing.T, h *Host) {
	w := h.world()
	w.delegate("del-20251130-d001", []string{"drive.read", "notion.*"}, nil)
	for _, action := range []string{"drive.read", "notion.create_page"} {
		require.Equal(t, policy.Decision{Allowed: true, Result: policy.Allowed, Reason: "No policy restriction", Delegation: "del-20251130-d001"}, w.may(action))
	}
}

func b76ApprovalOfADelegation(t *testing.T, h *Host) {
	w := h.world()
	w.delegate("del-20251130-d001", []string{"gmail.*"}, Object{"constraints": Object{"require_approval_for": []string{"gmail.send"}}})
	require.Equal(t, policy.Decision{Result: policy.PendingApproval, Reason: "Requires human approval", Policy: "delegation", Delegation: "del-20251130-d001"}, w.may("gmail.send"))
	require.True(t, w.may("gmail.read").Allowed)
}

func b77ApprovalOfWhatIsNotCovered(t *testing.T, h *Host) {
	w := h.world()
	d001 := Example(t, policy.Delegations)
	w.put(policy.Delegations, "del-20251130-d001", d001)
	got, err := h.Decide(ctx, w.tenant, policy.Question{Agent: "agent:cece.governor.v1", Action: "gmail.send"})
	require.NoError(t, err)
	require.Equal(t, policy.Decision{Result: policy.Denied, Reason: "No delegation for this action"}, got)
	got, err = h.Decide(ctx, w.tenant, policy.Question{Agent: "agent:cece.governor.v1", Action: "gmail.read"})
	require.NoError(t, err)
	require.True(t, got.Allowed)
}

func b78ApprovalOfAnotherDelegation(t *testing.T, h *Host) {
	w := h.world()
	w.delegate("del-20251130-d001", []string{"drive.read"}, Object{"constraints": Object{"require_approval_for": []string{"gmail.send"}}})
	w.delegate("del-20251130-d002", []string{"gmail.send"}, nil)
	require.Equal(t, policy.Allowed, w.may("gmail.send").Result)
}

func b79TheLeastRestrictiveGrant(t *testing.T, h *Host) {
	w := h.world()
	w.delegate("del-20251130-d001", []string{"gmail.*"}, Object{"constraints": Object{"require_approval_for": []string{"gmail.send"}}})
	w.delegate("del-20251130-d003", []string{"*"}, Object{"constraints": Object{"max_uses": 9}})
	require.Equal(t, "del-20251130-d003", w.may("gmail.send").Delegation)
	require.True(t, w.may("gmail.send").Allowed)
	w.delegate("del-20251130-d005", []string{"gmail.send"}, nil)
	require.Equal(t, "del-20251130-d005", w.may("gmail.send").Delegation, "one without a limit, before it is used up")
	w.delegate("del-20251130-d004", []string{"*", "gmail.send", "gmail.*"}, nil)
	require.Equal(t, "del-20251130-d004", w.may("gmail.send").Delegation, "then the smallest id")
}

func b80ApprovalByTheAgentsConfiguration(t *testing.T, h *Host) {
	w := h.world()
	w.delegate("del-20251130-d001", []string{"*"}, nil)
	w.agent("cece", "active", "finance.*", "email.send_external")
	for action, want := range map[string]policy.Result{"finance.charge": policy.PendingApproval, "finance": policy.Allowed, "email.send_external": policy.PendingApproval, "email.send": policy.Allowed} {
		require.Equal(t, want, w.may(action).Result, action)
	}
	require.Equal(t, policy.Decision{Result: policy.PendingApproval, Reason: "Requires human approval", Policy: "agent", Delegation: "del-20251130-d001"}, w.may("finance.charge"))
	w.agent("cece", "active")
	require.Equal(t, policy.Allowed, w.may("finance.charge").Result)
}

func b81B82PolicyOverDelegation(t *testing.T, h *Host) {
	w := h.world()
	w.delegate("del-20251130-d001", []string{"a.b"}, nil)
	w.policy("pol-p1", "a.b", rule("deny", 1, "true"))
	require.Equal(t, policy.Decision{Result: policy.Denied, Reason: "rule r1 of pol-p1", Policy: "pol-p1", Rule: "r1", Delegation: "del-20251130-d001"}, w.may("a.b"))
	w.policy("pol-p1", "a.b", rule("require_human_approval", 1, "true"))
	require.Equal(t, policy.PendingApproval, w.may("a.b").Result)
	require.Equal(t, "pol-p1", w.may("a.b").Policy)
}

func b83PoliciesOfEveryScopeAreConsidered(t *testing.T, h *Host) {
	for _, denies := range []string{"a.b.c", "a.b.*", "a.*", "*"} {
		w := h.world()
		w.delegate("del-20251130-d001", []string{"*"}, nil)
		for i, scope := range []string{"a.b.c", "a.b.*", "a.*", "*"} {
			action := "allow"
			if scope == denies {
				action = "deny"
			}
			w.policy(fmt.Sprint("pol-p", i), scope, rule(action, 5, "true"))
		}
		require.Equal(t, policy.Denied, w.may("a.b.c").Result, denies)
	}
}

func b84ADelegationThatIsNotInForceIsNone(t *testing.T, h *Host) {
	for name, more := range map[string]Object{
		"expired":   {"constraints": Object{"valid_until": "2025-11-30T11:00:00Z"}},
		"revoked":   {"revoked_at": "2025-11-30T11:00:00Z", "active": false},
		"inactive":  {"active": false},
		"future":    {"constraints": Object{"valid_from": h.Clock.Now().Add(time.Second).Format(time.RFC3339)}},
		"exhausted": {"constraints": Object{"max_uses": 1}, "uses_count": 1},
	} {
		w := h.world()
		w.delegate("del-20251130-d001", []string{"*"}, more)
		require.Equal(t, policy.Decision{Result: policy.Denied, Reason: policy.ReasonNoDelegation}, w.may("a.b"), name)
	}
}

// Everything is wrong at first, and is put right in the order of the steps.
func b85TheFirstStepThatFailsDecides(t *testing.T, h *Host) {
	w := h.world()
	w.agent("cece", "disabled", "a.b")
	w.policy("pol-p1", "a.b", rule("deny", 1, "true"))
	w.settings(policy.Settings{DefaultDeny: true})
	require.Equal(t, "agent disabled", w.may("a.b").Reason)
	w.agent("cece", "active", "a.b")
	require.Equal(t, policy.ReasonNoDelegation, w.may("a.b").Reason)
	w.delegate("del-20251130-d001", []string{"a.b"}, Object{"constraints": Object{"require_approval_for": []string{"a.b"}}})
	require.Equal(t, "delegation", w.may("a.b").Policy)
	w.delegate("del-20251130-d001", []string{"a.b"}, nil)
	require.Equal(t, "agent", w.may("a.b").Policy)
	w.agent("cece", "active")
	require.Equal(t, "pol-p1", w.may("a.b").Policy)
	w.policy("pol-p1", "a.b", rule("deny", 1, "false"))
	require.Equal(t, policy.ReasonDefaultDeny, w.may("a.b").Reason)
	w.settings(policy.Settings{})
	require.Equal(t, policy.ReasonNoPolicy, w.may("a.b").Reason)
}
