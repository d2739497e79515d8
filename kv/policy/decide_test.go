package policy

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/kv/record"
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
	// Each of the rules takes a fifth of what a condition may, all of them four times what a
	// decision may.
	d := w.Decide(&Question{Agent: "cece", Action: "a.b", Context: map[string]any{"l": list}, Time: noon})
	require.Equal(t, Denied, d.Result)
	require.Contains(t, d.Reason, "steps of work")
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

// What can't be read counts as what allows least.
func TestRecordsThatCantBeReadAllowNothing(t *testing.T) {
	broken := record.Doc{ID: "broken", JSON: []byte(`{"policy_id":1}`)}
	var w World
	w.Apply(&Delegation{ID: "d", Delegate: "a", Scope: []Pattern{{"*"}}, Active: true}, &Delegation{ID: "broken", Delegate: "b", Scope: []Pattern{{"*"}}, Active: true})
	require.True(t, w.Decide(&Question{Agent: "b", Action: "x"}).Allowed)
	w.Apply(parse(1, broken))
	require.False(t, w.Decide(&Question{Agent: "b", Action: "x"}).Allowed)
	w.Apply(parse(0, record.Doc{ID: "a", JSON: broken.JSON}))
	require.Equal(t, ReasonAgentDisabled, w.Decide(&Question{Agent: "a", Action: "x"}).Reason)
	w.Apply(parse(0, record.Doc{ID: "a"}), parse(3, record.Doc{ID: SettingsID, JSON: []byte(`{"default_deny":1}`)}))
	require.Equal(t, ReasonDefaultDeny, w.Decide(&Question{Agent: "a", Action: "x"}).Reason)
	w.Apply(parse(3, record.Doc{ID: SettingsID}), parse(2, broken))
	require.Equal(t, "broken", w.Decide(&Question{Agent: "a", Action: "x"}).Policy)
}
