package policy

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/enginetest"
)

// noon is the moment that tests ask about, unless they say otherwise.
var noon = time.Date(2025, 11, 30, 12, 0, 0, 0, time.UTC)

// fields is a document in a test.
type fields map[string]any

// testWorld is a world with records that are put in as documents.
type testWorld struct {
	World
	t testing.TB
}

func newWorld(t testing.TB) *testWorld { return &testWorld{t: t} }

// delegate puts in a delegation for cece.
func (w *testWorld) delegate(id string, scope []string, more fields) {
	w.t.Helper()
	doc := fields{"delegation_id": id, "delegator": "user:alexa", "delegate": "agent:cece", "scope": scope, "active": true}
	for name, value := range more {
		doc[name] = value
	}
	w.Apply(parsed(w.t, ParseDelegation, doc))
}

// policy puts in a policy. A rule is its action, priority and condition.
func (w *testWorld) policy(id, scope string, rules ...fields) {
	w.t.Helper()
	list := []fields{}
	for i, r := range rules {
		rule := fields{"rule_id": fmt.Sprint("r", i+1), "condition": "true", "priority": 0}
		for name, value := range r {
			rule[name] = value
		}
		list = append(list, rule)
	}
	w.Apply(parsed(w.t, ParsePolicy, fields{"policy_id": id, "scope": scope, "active": true, "rules": list}))
}

func (w *testWorld) agent(id, status string, approval ...string) {
	w.t.Helper()
	w.Apply(parsed(w.t, ParseAgent, fields{"agent_id": id, "status": status, "config": fields{"require_human_approval_for": approval}}))
}

// may asks whether cece may do something, at noon.
func (w *testWorld) may(action string, context ...string) Decision {
	w.t.Helper()
	q := &Question{Agent: "cece", Action: action, Time: noon}
	for _, text := range context {
		require.NoError(w.t, json.Unmarshal([]byte(text), &q.Context))
	}
	d := w.Decide(q)
	require.Equal(w.t, d, w.Explain(q).Decision)
	return d
}

func rule(action string, priority int, condition string) fields {
	return fields{"action": action, "priority": priority, "condition": condition}
}

// d001 is the example of the source.
const d001 = `{"delegation_id": "del-20251130-d001", "delegator": "user:alexa", "delegate": "agent:cece.governor.v1",
	"scope": ["drive.read", "drive.search", "notion.*", "gmail.draft", "gmail.read"],
	"constraints": {"require_approval_for": ["gmail.send", "drive.delete", "drive.share"], "valid_until": "2026-11-30T00:00:00Z"},
	"active": true, "created_at": "2025-11-30T00:00:00Z", "updated_at": "2025-11-30T00:00:00Z", "uses_count": 47}`

// external is the example of the source.
const external = `{"policy_id": "pol-20251130-a1b2c3", "scope": "email.send", "name": "External Email Approval",
	"description": "Require human approval for emails to external domains",
	"rules": [
		{"rule_id": "r1", "condition": "recipient.domain NOT IN approved_domains", "action": "require_human_approval", "priority": 100, "reason": "Prevent accidental external disclosure"},
		{"rule_id": "r2", "condition": "true", "action": "allow", "priority": 0}],
	"active": true, "created_at": "2025-11-30T12:00:00Z", "updated_at": "2025-11-30T12:00:00Z", "created_by": "user:alexa"}`

func TestTheExamplesOfTheSource(t *testing.T) {
	w := newWorld(t)
	d, err := ParseDelegation([]byte(d001))
	require.NoError(t, err)
	p, err := ParsePolicy([]byte(external))
	require.NoError(t, err)
	w.Apply(d, p)
	w.delegate("del-mail", []string{"email.*"}, nil)
	for _, agent := range []string{"cece.governor.v1", "agent:cece.governor.v1"} {
		for action, reason := range map[string]string{"notion.create_page": ReasonNoPolicy, "drive.read": ReasonNoPolicy, "gmail.send": ReasonNoDelegation, "email.send": ReasonNoDelegation} {
			require.Equal(t, reason, w.Decide(&Question{Agent: agent, Action: action, Time: noon}).Reason, action)
		}
	}
	require.Equal(t, Decision{Result: PendingApproval, Reason: "Prevent accidental external disclosure", Policy: "pol-20251130-a1b2c3", Rule: "r1", Delegation: "del-mail"},
		w.may("email.send", `{"recipient": {"domain": "evil.com"}, "approved_domains": ["a.io"]}`))
	require.Equal(t, Decision{Allowed: true, Result: Allowed, Reason: "rule r2 of pol-20251130-a1b2c3", Policy: "pol-20251130-a1b2c3", Rule: "r2", Delegation: "del-mail"},
		w.may("email.send", `{"recipient": {"domain": "a.io"}, "approved_domains": ["a.io"]}`))
	text, err := json.Marshal(w.may("email.send", `{"recipient": {"domain": "a.io"}, "approved_domains": ["a.io"]}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"allowed": true, "result": "allowed", "reason": "rule r2 of pol-20251130-a1b2c3", "policy_id": "pol-20251130-a1b2c3", "rule_matched": "r2", "delegation_id": "del-mail"}`, string(text))
}

func TestB17ADeactivatedPolicyIsIgnored(t *testing.T) {
	w := newWorld(t)
	w.delegate("del-1", []string{"*"}, nil)
	w.policy("pol-1", "a.*", rule("deny", 1, "true"))
	require.Equal(t, Denied, w.may("a.b").Result)
	w.Apply(parsed(t, ParsePolicy, fields{"policy_id": "pol-1", "scope": "a.*", "active": false, "rules": []fields{{"rule_id": "r1", "condition": "true", "action": "deny", "priority": 1}}}))
	require.Equal(t, ReasonNoPolicy, w.may("a.b").Reason)
	w.policy("pol-1", "a.c", rule("deny", 1, "true"))
	require.Equal(t, ReasonNoPolicy, w.may("a.b").Reason, "another scope")
	require.Equal(t, Denied, w.may("a.c").Result)
	w.Apply(Removed{KindPolicy, "pol-1"})
	require.Equal(t, ReasonNoPolicy, w.may("a.c").Reason)
}

func TestB20ResultsOfRules(t *testing.T) {
	for action, want := range map[string]Decision{
		"allow":                  {Allowed: true, Result: Allowed},
		"deny":                   {Result: Denied},
		"require_human_approval": {Result: PendingApproval},
		"transform":              {Allowed: true, Result: Transformed, Transform: "mask_pii"},
	} {
		w := newWorld(t)
		w.delegate("del-1", []string{"*"}, nil)
		w.policy("pol-1", "a.b", fields{"action": "deny", "condition": "false", "priority": 5},
			fields{"action": action, "priority": 3, "reason": "so it is", "transform_fn": "mask_pii"})
		want.Policy, want.Rule, want.Reason, want.Delegation = "pol-1", "r2", "so it is", "del-1"
		require.Equal(t, want, w.may("a.b"))
	}
	names := map[Result]string{Allowed: "allowed", Denied: "denied", PendingApproval: "pending_approval", Transformed: "transformed"}
	for result, name := range names {
		require.Equal(t, name, result.String())
	}
}

func TestB21PriorityAcrossPolicies(t *testing.T) {
	w := newWorld(t)
	w.delegate("del-1", []string{"*"}, nil)
	w.policy("pol-1", "a.b", rule("allow", 10, "true"))
	w.policy("pol-2", "a.b", rule("deny", 20, "true"))
	d := w.may("a.b")
	require.Equal(t, []any{Denied, "pol-2"}, []any{d.Result, d.Policy})
	w.policy("pol-1", "a.b", rule("allow", 20, "true"))
	w.policy("pol-2", "a.b", rule("deny", 10, "true"))
	d = w.may("a.b")
	require.Equal(t, []any{Allowed, "pol-1"}, []any{d.Result, d.Policy})
}

func TestB22EqualPriority(t *testing.T) {
	order := []string{"deny", "require_human_approval", "transform", "allow"}
	results := []Result{Denied, PendingApproval, Transformed, Allowed}
	for i, first := range order {
		for _, second := range order[i:] {
			for _, scopes := range [][2]string{{"a.b", "a.b"}, {"a.*", "a.b"}, {"a.b", "*"}} {
				w := newWorld(t)
				w.delegate("del-1", []string{"*"}, nil)
				w.policy("pol-2", scopes[0], fields{"action": first, "priority": 7, "transform_fn": "f"})
				w.policy("pol-1", scopes[1], fields{"action": second, "priority": 7, "transform_fn": "f"})
				d := w.may("a.b")
				require.Equal(t, results[i], d.Result, "%s and %s", first, second)
				if first == second {
					require.Equal(t, "pol-1", d.Policy, "the smaller id of the same action")
				}
			}
		}
	}
	w := newWorld(t)
	w.delegate("del-1", []string{"*"}, nil)
	w.policy("pol-1", "a.b", rule("allow", 1, "false"), rule("allow", 1, "true"), rule("allow", 1, "true"))
	require.Equal(t, "r2", w.may("a.b").Rule, "the rule that is given first")
}

func TestB23OtherPoliciesAreNeverConsidered(t *testing.T) {
	w := newWorld(t)
	w.delegate("del-1", []string{"*"}, nil)
	for i, scope := range []string{"email.sendx", "emails.*", "email", "email.send.*", "Email.send"} {
		w.policy(fmt.Sprint("pol-", i), scope, rule("deny", 1000, "missing == 1"))
	}
	require.Equal(t, ReasonNoPolicy, w.may("email.send").Reason)
}

func TestB29AFailedConditionDenies(t *testing.T) {
	for _, action := range []string{"allow", "deny", "require_human_approval", "transform"} {
		for _, condition := range []string{"missing == 1", "x < 'a'", "x", "all(l, all(l, # > 0))"} {
			w := newWorld(t)
			w.delegate("del-1", []string{"*"}, nil)
			w.policy("pol-1", "a.*", fields{"action": action, "priority": 3, "condition": condition, "transform_fn": "f"})
			w.policy("pol-2", "a.b", rule("allow", 3, "true"))
			l, err := json.Marshal(make([]int, 1000))
			require.NoError(t, err)
			d := w.may("a.b", `{"x": 1, "l": [`+string(l[1:len(l)-1])+`]}`)
			if condition == "all(l, all(l, # > 0))" { // the zeros end it
				require.NotContains(t, d.Reason, "failed")
				continue
			}
			require.Equal(t, []any{Denied, "pol-1", "r1"}, []any{d.Result, d.Policy, d.Rule})
			require.Contains(t, d.Reason, "the condition of rule r1 failed: 1:")
			require.Empty(t, d.Transform)

			w.policy("pol-2", "a.b", rule("allow", 4, "true"))
			require.Equal(t, Allowed, w.may("a.b", `{"x": 1}`).Result, "a rule of greater priority decides before")
			w.policy("pol-2", "a.b", rule("deny", 3, "true"))
			require.Equal(t, "pol-2", w.may("a.b", `{"x": 1}`).Policy, "of the same, one that denies does")
		}
	}
}

func TestB29ADecisionHasOneBudget(t *testing.T) {
	w := newWorld(t)
	w.delegate("del-1", []string{"*"}, nil)
	var rules []fields
	for range 100 {
		rules = append(rules, rule("deny", 1, "not all(l, all(l, # == 1))"))
	}
	w.policy("pol-1", "a.b", rules...)
	list := make([]any, 150)
	for i := range list {
		list[i] = 1.0
	}
	began := time.Now()
	d := w.Decide(&Question{Agent: "cece", Action: "a.b", Context: map[string]any{"l": list}, Time: noon})
	require.Equal(t, Denied, d.Result)
	require.Contains(t, d.Reason, "steps of work")
	require.Less(t, time.Since(began), 200*time.Millisecond)
}

func TestB32TransformIsAName(t *testing.T) {
	w := newWorld(t)
	w.delegate("del-1", []string{"*"}, nil)
	w.policy("pol-1", "a.b", fields{"action": "transform", "transform_fn": "mask_pii"})
	require.Equal(t, Decision{Allowed: true, Result: Transformed, Reason: "rule r1 of pol-1", Policy: "pol-1", Rule: "r1", Transform: "mask_pii", Delegation: "del-1"}, w.may("a.b"))
	_, err := ParsePolicy([]byte(`{"policy_id": "pol-1", "scope": "a", "active": true, "rules": [{"rule_id": "r", "condition": "true", "action": "transform", "priority": 1}]}`))
	require.ErrorContains(t, err, "rules[0].transform_fn")
}

func TestB33NoPolicyMatches(t *testing.T) {
	w := newWorld(t)
	w.delegate("del-1", []string{"*"}, nil)
	w.policy("pol-1", "a.b", rule("deny", 1, "false"))
	require.Equal(t, Decision{Allowed: true, Result: Allowed, Reason: "No policy restriction", Delegation: "del-1"}, w.may("a.b"))
	w.Apply(parsed(t, ParseSettings, fields{"default_deny": true}))
	require.Equal(t, Decision{Result: Denied, Reason: "No policy allows this action", Delegation: "del-1"}, w.may("a.b"))
	require.True(t, w.Settings().DefaultDeny)
	w.Apply(Removed{Kind: KindSettings})
	require.Equal(t, Settings{}, w.Settings())
	require.Equal(t, Allowed, w.may("a.b").Result)
}

func TestB64TheTimeOfADelegation(t *testing.T) {
	w := newWorld(t)
	w.delegate("del-1", []string{"a.b"}, fields{"constraints": fields{"valid_from": "2025-11-30T13:00:00+01:00", "valid_until": "2025-11-30T13:00:00Z"}})
	at := func(moment time.Time) Result {
		return w.Decide(&Question{Agent: "cece", Action: "a.b", Time: moment}).Result
	}
	require.Equal(t, Denied, at(noon.Add(-1)))
	require.Equal(t, Allowed, at(noon))
	require.Equal(t, Allowed, at(noon.Add(time.Hour-1)))
	require.Equal(t, Denied, at(noon.Add(time.Hour)))
}

func TestB65B66UsesOfADelegation(t *testing.T) {
	w := newWorld(t)
	uses := func(n int) {
		w.delegate("del-1", []string{"a.b"}, fields{"uses_count": n, "constraints": fields{"max_uses": 10}})
	}
	for n := range 10 {
		uses(n)
		for range 3 {
			require.Equal(t, Allowed, w.may("a.b").Result, "asking uses nothing up")
		}
	}
	uses(10)
	q := &Question{Agent: "cece", Action: "a.b", Time: noon, Consume: true}
	require.Equal(t, Decision{Result: Denied, Reason: "exhausted", Delegation: "del-1"}, w.Decide(q))
	require.Equal(t, ReasonNoDelegation, w.may("a.b").Reason)
	w.delegate("del-2", []string{"a.*"}, fields{"constraints": fields{"max_uses": 0}})
	require.Equal(t, "exhausted", w.Decide(q).Reason)
	w.delegate("del-3", []string{"a.*"}, nil)
	require.Equal(t, "del-3", w.Decide(q).Delegation)
}

func TestB67ARevokedDelegation(t *testing.T) {
	w := newWorld(t)
	w.delegate("del-1", []string{"a.b"}, nil)
	require.Equal(t, Allowed, w.may("a.b").Result)
	w.delegate("del-1", []string{"a.b"}, fields{"revoked_at": "2025-11-30T11:00:00Z", "revoked_reason": "over"})
	require.Equal(t, ReasonNoDelegation, w.may("a.b").Reason)
}

func TestB68ConditionsOfADelegation(t *testing.T) {
	w := newWorld(t)
	w.delegate("del-1", []string{"a.b"}, fields{"constraints": fields{"conditions": []string{"amount < 100", "currency IN ['EUR']"}}})
	for context, want := range map[string]Result{
		`{"amount": 99, "currency": "EUR"}`:   Allowed,
		`{"amount": 100, "currency": "EUR"}`:  Denied,
		`{"amount": 99, "currency": "USD"}`:   Denied,
		`{"amount": 99}`:                      Denied,
		`{"amount": "99", "currency": "EUR"}`: Denied,
		`{}`:                                  Denied,
	} {
		d := w.may("a.b", context)
		require.Equal(t, want, d.Result, context)
		if want == Denied {
			require.Equal(t, ReasonNoDelegation, d.Reason)
		}
	}
}

func TestB69WhatSomebodyCanDo(t *testing.T) {
	w := newWorld(t)
	w.delegate("del-2", []string{"b.*", "a"}, fields{"constraints": fields{"require_approval_for": []string{"b.c"}}})
	w.delegate("del-1", []string{"x"}, fields{"delegator": "org:blackroad", "constraints": fields{"conditions": []string{"true"}}})
	w.delegate("del-3", []string{"y"}, fields{"active": false})
	w.delegate("del-4", []string{"z"}, fields{"constraints": fields{"valid_until": "2025-11-30T12:00:00Z"}})
	w.delegate("del-5", []string{"v"}, fields{"constraints": fields{"max_uses": 1}, "uses_count": 1})
	w.delegate("del-6", []string{"w"}, fields{"delegate": "agent:other"})
	want := []Grant{
		{Delegation: "del-1", Delegator: "org:blackroad", Delegate: "agent:cece", Pattern: "x", Conditional: true},
		{Delegation: "del-2", Delegator: "user:alexa", Delegate: "agent:cece", Pattern: "b.*", RequireApproval: []string{"b.c"}},
		{Delegation: "del-2", Delegator: "user:alexa", Delegate: "agent:cece", Pattern: "a", RequireApproval: []string{"b.c"}},
	}
	require.Equal(t, want, w.WhatCan("agent:cece", noon))
	require.Equal(t, want, w.WhatCan("cece", noon))
	require.Len(t, w.WhatCan("cece", noon.Add(-1)), 4)
	require.Empty(t, w.WhatCan("nobody", noon))
	w.agent("cece", "disabled")
	require.Empty(t, w.WhatCan("cece", noon))
}

func TestB70WhoHasAScope(t *testing.T) {
	w := newWorld(t)
	for id, scope := range map[string]string{"del-1": "notion.*", "del-2": "*", "del-3": "notion.create_page", "del-4": "notion.read", "del-5": "notion", "del-6": "notion.create_page.*", "del-7": "notion.*"} {
		w.delegate(id, []string{"x", scope, "*.z"[2:]}, fields{"delegate": "agent:of-" + id, "constraints": fields{"require_approval_for": []string{"notion.*", "x"}}})
	}
	w.agent("of-del-7", "disabled")
	var who []string
	for _, g := range w.WhoCan("notion.create_page", noon) {
		who = append(who, g.Delegate+" by "+g.Pattern)
		require.Equal(t, []string{"notion.*"}, g.RequireApproval)
	}
	require.Equal(t, []string{"agent:of-del-1 by notion.*", "agent:of-del-2 by *", "agent:of-del-3 by notion.create_page"}, who)
	for _, none := range []string{"", "notion.*", "*"} {
		require.Empty(t, w.WhoCan(none, noon))
	}
}

func TestB72AnAgentThatIsNotActive(t *testing.T) {
	w := newWorld(t)
	w.delegate("del-1", []string{"*"}, nil)
	w.agent("cece", "disabled")
	require.Equal(t, Decision{Result: Denied, Reason: "agent disabled"}, w.may("a.b"))
	w.agent("cece", "pending")
	require.Equal(t, Decision{Result: Denied, Reason: "agent pending"}, w.may("a.b"))
	w.agent("cece", "active")
	require.Equal(t, Allowed, w.may("a.b").Result)
	w.agent("cece", "disabled")
	w.Apply(Removed{KindAgent, "cece"})
	require.Equal(t, Allowed, w.may("a.b").Result)
}

func TestB73NoDelegation(t *testing.T) {
	w := newWorld(t)
	w.delegate("del-1", []string{"a.b"}, nil)
	w.policy("pol-1", "*", rule("allow", 1000, "true"))
	require.Equal(t, Decision{Result: Denied, Reason: "No delegation for this action"}, w.may("a.c"))
	require.Equal(t, "No delegation for this action", (&World{}).Decide(&Question{Agent: "x", Action: "a", Time: noon}).Reason)
	for _, action := range []string{"", "a.*", "*", "a..b", "a.b ", ".a", "a.", strings.Repeat("a", MaxPattern+1)} {
		w.delegate("del-2", []string{"*"}, nil)
		require.Equal(t, Decision{Result: Denied, Reason: ReasonNoAction}, w.may(action), "%q is no action", action)
	}
}

func TestB74B75Covered(t *testing.T) {
	w := newWorld(t)
	w.delegate("del-1", []string{"drive.read", "notion.*"}, nil)
	for _, action := range []string{"drive.read", "notion.create_page"} {
		require.Equal(t, Decision{Allowed: true, Result: Allowed, Reason: "No policy restriction", Delegation: "del-1"}, w.may(action))
	}
}

func TestB76ApprovalOfADelegation(t *testing.T) {
	w := newWorld(t)
	w.delegate("del-1", []string{"gmail.*"}, fields{"constraints": fields{"require_approval_for": []string{"gmail.send"}}})
	require.Equal(t, Decision{Result: PendingApproval, Reason: "Requires human approval", Policy: "delegation", Delegation: "del-1"}, w.may("gmail.send"))
	require.True(t, w.may("gmail.read").Allowed)
}

func TestB77ApprovalOfWhatIsNotCovered(t *testing.T) {
	w := newWorld(t)
	d, err := ParseDelegation([]byte(d001))
	require.NoError(t, err)
	w.Apply(d)
	got := w.Decide(&Question{Agent: "agent:cece.governor.v1", Action: "gmail.send", Time: noon})
	require.Equal(t, Decision{Result: Denied, Reason: "No delegation for this action"}, got)
}

func TestB78ApprovalOfAnotherDelegation(t *testing.T) {
	w := newWorld(t)
	w.delegate("del-1", []string{"drive.read"}, fields{"constraints": fields{"require_approval_for": []string{"gmail.send"}}})
	w.delegate("del-2", []string{"gmail.send"}, nil)
	require.Equal(t, Allowed, w.may("gmail.send").Result)
}

func TestB79TheLeastRestrictiveGrant(t *testing.T) {
	w := newWorld(t)
	w.delegate("del-1", []string{"gmail.*"}, fields{"constraints": fields{"require_approval_for": []string{"gmail.send"}}})
	w.delegate("del-3", []string{"*"}, fields{"constraints": fields{"max_uses": 9}})
	require.Equal(t, "del-3", w.may("gmail.send").Delegation)
	require.True(t, w.may("gmail.send").Allowed)
	w.delegate("del-5", []string{"gmail.send"}, nil)
	require.Equal(t, "del-5", w.may("gmail.send").Delegation, "one without a limit, before it is used up")
	w.delegate("del-4", []string{"*", "gmail.send", "gmail.*"}, nil)
	require.Equal(t, "del-4", w.may("gmail.send").Delegation, "then the smallest id")
}

func TestB80ApprovalByTheAgentsConfiguration(t *testing.T) {
	w := newWorld(t)
	w.delegate("del-1", []string{"*"}, nil)
	w.agent("cece", "active", "finance.*", "email.send_external")
	for action, want := range map[string]Result{"finance.charge": PendingApproval, "finance": Allowed, "email.send_external": PendingApproval, "email.send": Allowed} {
		require.Equal(t, want, w.may(action).Result, action)
	}
	require.Equal(t, Decision{Result: PendingApproval, Reason: "Requires human approval", Policy: "agent", Delegation: "del-1"}, w.may("finance.charge"))
	w.agent("cece", "active")
	require.Equal(t, Allowed, w.may("finance.charge").Result)
}

func TestB81B82PolicyOverDelegation(t *testing.T) {
	w := newWorld(t)
	w.delegate("del-1", []string{"a.b"}, nil)
	w.policy("pol-1", "a.b", rule("deny", 1, "true"))
	require.Equal(t, Decision{Result: Denied, Reason: "rule r1 of pol-1", Policy: "pol-1", Rule: "r1", Delegation: "del-1"}, w.may("a.b"))
	w.policy("pol-1", "a.b", rule("require_human_approval", 1, "true"))
	require.Equal(t, PendingApproval, w.may("a.b").Result)
	require.Equal(t, "pol-1", w.may("a.b").Policy)
}

func TestB83PoliciesOfEveryScopeAreConsidered(t *testing.T) {
	for _, denies := range []string{"a.b.c", "a.b.*", "a.*", "*"} {
		w := newWorld(t)
		w.delegate("del-1", []string{"*"}, nil)
		for i, scope := range []string{"a.b.c", "a.b.*", "a.*", "*"} {
			action := "allow"
			if scope == denies {
				action = "deny"
			}
			w.policy(fmt.Sprint("pol-", i), scope, rule(action, 5, "true"))
		}
		require.Equal(t, Denied, w.may("a.b.c").Result, denies)
	}
}

func TestB84ADelegationThatIsNotInForceIsNone(t *testing.T) {
	for name, more := range map[string]fields{
		"expired":   {"constraints": fields{"valid_until": "2025-11-30T11:00:00Z"}},
		"revoked":   {"revoked_at": "2025-11-30T11:00:00Z"},
		"inactive":  {"active": false},
		"future":    {"constraints": fields{"valid_from": "2025-11-30T13:00:00Z"}},
		"exhausted": {"constraints": fields{"max_uses": 1}, "uses_count": 1},
	} {
		w := newWorld(t)
		w.delegate("del-1", []string{"*"}, more)
		require.Equal(t, Decision{Result: Denied, Reason: ReasonNoDelegation}, w.may("a.b"), name)
	}
}

// Everything is wrong at first, and is put right in the order of the steps.
func TestB85TheFirstStepThatFailsDecides(t *testing.T) {
	w := newWorld(t)
	w.agent("cece", "disabled", "a.b")
	w.policy("pol-1", "a.b", rule("deny", 1, "true"))
	w.Apply(&Settings{DefaultDeny: true})
	require.Equal(t, "agent disabled", w.may("a.b").Reason)
	w.agent("cece", "active", "a.b")
	require.Equal(t, ReasonNoDelegation, w.may("a.b").Reason)
	w.delegate("del-1", []string{"a.b"}, fields{"constraints": fields{"require_approval_for": []string{"a.b"}}})
	require.Equal(t, "delegation", w.may("a.b").Policy)
	w.delegate("del-1", []string{"a.b"}, nil)
	require.Equal(t, "agent", w.may("a.b").Policy)
	w.agent("cece", "active")
	require.Equal(t, "pol-1", w.may("a.b").Policy)
	w.policy("pol-1", "a.b", rule("deny", 1, "false"))
	require.Equal(t, ReasonDefaultDeny, w.may("a.b").Reason)
	w.Apply(&Settings{})
	require.Equal(t, ReasonNoPolicy, w.may("a.b").Reason)
}

func TestAnUnreadablePolicyDenies(t *testing.T) {
	w := newWorld(t)
	w.delegate("del-1", []string{"*"}, nil)
	w.policy("pol-1", "*", rule("allow", 1000, "true"))
	w.Apply(UnreadablePolicy("pol-2", fmt.Errorf("rules: it is missing")))
	d := w.may("a.b")
	require.Equal(t, []any{Denied, "pol-2", "policy pol-2 can't be read: rules: it is missing"}, []any{d.Result, d.Policy, d.Reason})
	w.policy("pol-2", "b")
	require.Equal(t, Allowed, w.may("a.b").Result)
}

func TestADecisionAllocatesNothingAndKeepsNothing(t *testing.T) {
	enginetest.SkipUnderRace(t, "the detector makes pools forget")
	w := newWorld(t)
	w.delegate("del-1", []string{"*"}, fields{"constraints": fields{"conditions": []string{"x == 1"}}})
	w.policy("pol-1", "a.*", rule("deny", 1, "x in [2, 3]"), rule("allow", 0, "(y ?? 2) == 1"))
	q := &Question{Agent: "agent:cece", Action: "a.b.c", Context: map[string]any{"x": 1.0, "y": 1.0}, Time: noon}
	require.Equal(t, Allowed, w.Decide(q).Result)
	require.Less(t, testing.AllocsPerRun(1000, func() { w.Decide(q) }), 0.1)
	env := w.env(q)
	require.NotEmpty(t, env.Context)
	w.giveBack(env)
	require.Equal(t, []any{"", "", 0}, []any{env.Agent, env.Action, len(env.Context)})
}

func TestARemovedRecordLeavesNothing(t *testing.T) {
	w := newWorld(t)
	w.delegate("del-1", []string{"*", "a.*", "a.b"}, nil)
	w.delegate("del-2", []string{"a.*"}, nil)
	w.policy("pol-1", "a.*", rule("deny", 1, "true"))
	w.policy("pol-2", "*", rule("deny", 1, "true"))
	w.Apply(Removed{KindDelegation, "del-1"}, Removed{KindPolicy, "pol-1"}, Removed{KindPolicy, "pol-1"}, Removed{KindAgent, "x"})
	require.Len(t, w.holders["cece"].held, 1)
	w.Apply(Removed{KindDelegation, "del-2"}, Removed{KindDelegation, "del-2"}, Removed{KindPolicy, "pol-2"})
	for _, n := range []int{len(w.holders), len(w.delegations), len(w.policies), len(w.granted.exact), len(w.granted.below), len(w.granted.all), len(w.rules.below), len(w.rules.all)} {
		require.Zero(t, n)
	}
}
