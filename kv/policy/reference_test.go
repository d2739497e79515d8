package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/engine/enginetest"
)

// The reference reads the rows one after the other and every record for each question. Its
// conditions are functions; nothing of it is of the package but the types of question and
// answer.

// refCondition is a condition with what it says.
type refCondition struct {
	Source string
	Says   func(context map[string]any) (bool, error) `json:"-"`
}

type refAgent struct {
	id, status string
	approval   []string
}

type refDelegation struct {
	id, delegator, delegate string
	scope, approval         []string
	from, until             int // seconds; 0: none
	max, uses               int // max -1: none
	conditions              []refCondition
	active, revoked         bool
}

type refRule struct {
	id, action, reason, transform string
	condition                     refCondition
	priority                      int
}

type refPolicy struct {
	id, scope string
	active    bool
	rules     []refRule
}

type refWorld struct {
	agents      map[string]refAgent
	delegations map[string]refDelegation
	policies    map[string]refPolicy
	defaultDeny bool
	seen        map[string]int // kinds of decisions and of ties
}

func refMatches(pattern, action string) bool {
	p, a := strings.Split(pattern, "."), strings.Split(action, ".")
	for i, segment := range p {
		if segment == "*" {
			return len(a) > i
		}
		if i >= len(a) || a[i] != segment {
			return false
		}
	}
	return len(a) == len(p)
}

func refAny(patterns []string, action string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return refMatches(p, action) })
}

func (r *refWorld) note(format string, args ...any) { r.seen[fmt.Sprintf(format, args...)]++ }

// inForce tells what keeps a delegation from being in force; "" is nothing.
func (r *refWorld) inForce(d refDelegation, at int, context map[string]any) string {
	switch {
	case d.revoked:
		return "revoked"
	case !d.active:
		return "inactive"
	case d.from > at:
		return "future"
	case d.until != 0 && d.until <= at:
		return "expired"
	}
	for _, c := range d.conditions {
		if is, err := c.Says(context); err != nil {
			return "condition failed"
		} else if !is {
			return "condition false"
		}
	}
	if d.max >= 0 && d.uses >= d.max {
		return "exhausted"
	}
	return ""
}

func (r *refWorld) decide(agent, action string, at int, context map[string]any, consume bool) Decision {
	agent = strings.TrimPrefix(agent, "agent:")
	a, registered := r.agents[agent]
	if registered && a.status != "active" {
		r.note("agent %s", a.status)
		return Decision{Result: Denied, Reason: "agent " + a.status}
	}

	// Delegations that cover, smallest id first; those without a limit before the others.
	ids := slices.Sorted(maps.Keys(r.delegations))
	slices.SortStableFunc(ids, func(x, y string) int {
		limited := func(id string) int { return min(r.delegations[id].max, 0) }
		return limited(x) - limited(y)
	})
	var free, bound, exhausted []string
	for _, id := range ids {
		d := r.delegations[id]
		if strings.TrimPrefix(d.delegate, "agent:") != agent || !refAny(d.scope, action) {
			continue
		}
		switch why := r.inForce(d, at, context); {
		case why == "exhausted":
			exhausted = append(exhausted, id)
			r.note("delegation %s", why)
		case why != "":
			r.note("delegation %s", why)
		case refAny(d.approval, action):
			bound = append(bound, id)
		default:
			free = append(free, id)
		}
	}
	if len(free)+len(bound) == 0 {
		if consume && len(exhausted) > 0 {
			r.note("exhausted")
			return Decision{Result: Denied, Reason: "exhausted", Delegation: exhausted[0]}
		}
		r.note("no delegation")
		return Decision{Result: Denied, Reason: "No delegation for this action"}
	}
	r.noteGrants(free, bound)
	used := slices.Concat(free, bound)[0]

	if len(free) == 0 {
		r.note("approval by delegation")
		return Decision{Result: PendingApproval, Reason: "Requires human approval", Policy: "delegation", Delegation: used}
	}
	if registered && refAny(a.approval, action) {
		r.note("approval by agent")
		return Decision{Result: PendingApproval, Reason: "Requires human approval", Policy: "agent", Delegation: used}
	}
	d := r.evaluate(action, context)
	d.Delegation = used
	return d
}

func (r *refWorld) noteGrants(free, bound []string) {
	if len(free) > 0 && len(bound) > 0 {
		r.note("tie of delegations: without approval")
	}
	if len(free) > 1 {
		first, second := r.delegations[free[0]], r.delegations[free[1]]
		if (first.max < 0) != (second.max < 0) {
			r.note("tie of delegations: without a limit")
		} else {
			r.note("tie of delegations: by id")
		}
	}
}

// refSaying is a rule that has a say.
type refSaying struct {
	refRule
	policy string
	place  int
	failed error
}

// rank is where a rule stands among those of its priority.
func (s refSaying) rank() int {
	if s.failed != nil {
		return 1
	}
	return map[string]int{"deny": 0, "require_human_approval": 2, "transform": 3, "allow": 4}[s.action]
}

func (r *refWorld) evaluate(action string, context map[string]any) Decision {
	var sayings []refSaying
	for _, id := range slices.Sorted(maps.Keys(r.policies)) {
		p := r.policies[id]
		if !p.active {
			r.note("inactive policy")
			continue
		}
		if !refMatches(p.scope, action) {
			continue
		}
		for place, rule := range p.rules {
			is, err := rule.condition.Says(context)
			if is || err != nil {
				sayings = append(sayings, refSaying{rule, id, place, err})
			}
		}
	}
	if len(sayings) == 0 {
		if r.defaultDeny {
			r.note("default deny")
			return Decision{Result: Denied, Reason: "No policy allows this action"}
		}
		r.note("default allow")
		return Decision{Allowed: true, Result: Allowed, Reason: "No policy restriction"}
	}
	slices.SortStableFunc(sayings, func(a, b refSaying) int {
		if a.priority != b.priority {
			return b.priority - a.priority
		}
		return a.rank() - b.rank()
	})
	first := sayings[0]
	r.noteSayings(sayings)
	d := Decision{Policy: first.policy, Rule: first.id, Reason: first.reason}
	if d.Reason == "" {
		d.Reason = "rule " + first.id + " of " + first.policy
	}
	switch {
	case first.failed != nil:
		d.Result, d.Reason = Denied, "the condition of rule "+first.id+" failed: "+first.failed.Error()
	case first.action == "deny":
		d.Result = Denied
	case first.action == "allow":
		d.Result, d.Allowed = Allowed, true
	case first.action == "transform":
		d.Result, d.Allowed, d.Transform = Transformed, true, first.transform
	default:
		d.Result = PendingApproval
	}
	return d
}

func (r *refWorld) noteSayings(sayings []refSaying) {
	first := sayings[0]
	if first.failed != nil {
		r.note("a condition failed: %s", first.action)
	} else {
		r.note("rule: %s", first.action)
	}
	if len(sayings) == 1 {
		return
	}
	switch second := sayings[1]; {
	case first.priority != second.priority:
		r.note("by priority")
	case first.rank() != second.rank():
		r.note("tie of rules: %d before %d", first.rank(), second.rank())
	case first.policy != second.policy:
		r.note("tie of rules: by policy")
	default:
		r.note("tie of rules: by place")
	}
}

// conditions are what rules and delegations are drawn with. Each is asked of a context with x, a
// number or absent.
var conditions = []refCondition{
	{"true", func(map[string]any) (bool, error) { return true, nil }},
	{"true", func(map[string]any) (bool, error) { return true, nil }},
	{"false", func(map[string]any) (bool, error) { return false, nil }},
	{"x == 1", func(c map[string]any) (bool, error) {
		x, ok := c["x"]
		if !ok {
			return false, errors.New("1:1: there is no x in the context")
		}
		return x == 1.0, nil
	}},
	{"list NOT IN [1, 2] AND true", func(c map[string]any) (bool, error) { return true, nil }},
	{"x < 1", func(c map[string]any) (bool, error) {
		switch x := c["x"].(type) {
		case nil:
			return false, errors.New("1:1: there is no x in the context")
		case float64:
			return x < 1, nil
		}
		return false, errors.New("1:5: a number where a string is wanted")
	}},
}

func drawCondition(t *rapid.T) refCondition {
	return rapid.SampledFrom(conditions).Draw(t, "condition")
}

func drawDelegation(t *rapid.T, id string) refDelegation {
	d := refDelegation{
		id: id, delegator: "user:alexa", max: -1,
		delegate: rapid.SampledFrom([]string{"agent:one", "one", "agent:one", "one", "agent:two", "user:bob"}).Draw(t, "delegate"),
		scope:    drawPatterns(t, 1),
		approval: drawPatterns(t, 0),
		active:   rapid.IntRange(0, 19).Draw(t, "active") > 0,
		revoked:  rapid.IntRange(0, 19).Draw(t, "revoked") == 7,
	}
	if rapid.Bool().Draw(t, "limited") {
		d.max, d.uses = rapid.IntRange(0, 3).Draw(t, "max"), rapid.IntRange(0, 2).Draw(t, "uses")
	}
	if rapid.IntRange(0, 3).Draw(t, "bounded") == 0 {
		d.from, d.until = rapid.IntRange(0, 12).Draw(t, "from"), rapid.IntRange(0, 20).Draw(t, "until")
	}
	for range rapid.IntRange(-2, 2).Draw(t, "conditions") {
		d.conditions = append(d.conditions, drawCondition(t))
	}
	return d
}

// drawScope draws a pattern that often is about the actions that are asked for.
func drawScope(t *rapid.T) string {
	return rapid.SampledFrom([]string{"*", "a.*", "a.b", "a.b.*", "a.b.c", "a", "b", "ab.*"}).Draw(t, "scope")
}

func drawPatterns(t *rapid.T, least int) (texts []string) {
	for range rapid.IntRange(2*least-1, 2).Draw(t, "patterns") {
		texts = append(texts, drawScope(t))
	}
	if len(texts) < least {
		texts = append(texts, "*")
	}
	return texts
}

func drawPolicy(t *rapid.T, id string) refPolicy {
	p := refPolicy{id: id, scope: drawScope(t), active: rapid.IntRange(0, 9).Draw(t, "active") > 0}
	for i := range rapid.IntRange(0, 4).Draw(t, "rules") {
		r := refRule{
			id:        fmt.Sprint("r", i),
			action:    rapid.SampledFrom([]string{"allow", "deny", "require_human_approval", "transform"}).Draw(t, "action"),
			reason:    rapid.SampledFrom([]string{"", "because"}).Draw(t, "reason"),
			condition: drawCondition(t),
			priority:  rapid.SampledFrom([]int{10, 10, 10, 10, 0, 1000}).Draw(t, "priority"),
		}
		if r.action == "transform" {
			r.transform = "mask"
		}
		p.rules = append(p.rules, r)
	}
	return p
}

func second(n int) string { return time.Unix(int64(n), 0).UTC().Format(time.RFC3339) }

func (a refAgent) json() map[string]any {
	return map[string]any{"agent_id": a.id, "status": a.status, "config": map[string]any{"require_human_approval_for": a.approval, "mode": "operator"}}
}

func (d refDelegation) json() map[string]any {
	sources := []string{}
	for _, c := range d.conditions {
		sources = append(sources, c.Source)
	}
	constraints := map[string]any{"require_approval_for": d.approval, "conditions": sources, "valid_from": nil}
	if d.from != 0 {
		constraints["valid_from"] = second(d.from)
	}
	if d.until != 0 {
		constraints["valid_until"] = second(d.until)
	}
	if d.max >= 0 {
		constraints["max_uses"] = d.max
	}
	doc := map[string]any{"delegation_id": d.id, "delegator": d.delegator, "delegate": d.delegate, "scope": d.scope,
		"constraints": constraints, "active": d.active, "uses_count": d.uses, "other": 1}
	if d.revoked {
		doc["revoked_at"] = second(5)
	}
	return doc
}

func (p refPolicy) json() map[string]any {
	rules := []any{}
	for _, r := range p.rules {
		rule := map[string]any{"rule_id": r.id, "condition": r.condition.Source, "action": r.action, "priority": r.priority}
		if r.reason != "" {
			rule["reason"] = r.reason
		}
		if r.transform != "" {
			rule["transform_fn"] = r.transform
		}
		rules = append(rules, rule)
	}
	return map[string]any{"policy_id": p.id, "scope": p.scope, "active": p.active, "rules": rules, "name": "a name"}
}

// parsed makes a record of a document, as the store does.
func parsed[T any](t require.TestingT, parse func([]byte) (T, error), doc any) T {
	text, err := json.Marshal(doc)
	require.NoError(t, err)
	record, err := parse(text)
	require.NoError(t, err, "%s", text)
	return record
}

// change draws a change of the world and makes it in both.
func (r *refWorld) change(t *rapid.T) Record {
	pick := func(names ...string) string { return rapid.SampledFrom(names).Draw(t, "id") }
	remove := rapid.IntRange(0, 7).Draw(t, "remove") == 0
	switch rapid.SampledFrom([]Kind{KindDelegation, KindDelegation, KindPolicy, KindPolicy, KindAgent, KindSettings}).Draw(t, "kind") {
	case KindDelegation:
		id := pick("del-1", "del-2", "del-3", "del-4", "del-5", "del-6")
		if remove {
			delete(r.delegations, id)
			return Removed{KindDelegation, id}
		}
		r.delegations[id] = drawDelegation(t, id)
		return parsed(t, ParseDelegation, r.delegations[id].json())
	case KindPolicy:
		id := pick("pol-1", "pol-2", "pol-3", "pol-4")
		if remove {
			delete(r.policies, id)
			return Removed{KindPolicy, id}
		}
		r.policies[id] = drawPolicy(t, id)
		return parsed(t, ParsePolicy, r.policies[id].json())
	case KindAgent:
		id := pick("one", "two")
		if remove {
			delete(r.agents, id)
			return Removed{KindAgent, id}
		}
		status := rapid.SampledFrom([]string{"active", "active", "active", "active", "active", "active", "active", "disabled", "pending"}).Draw(t, "status")
		r.agents[id] = refAgent{id, status, drawPatterns(t, 0)}
		return parsed(t, ParseAgent, r.agents[id].json())
	}
	r.defaultDeny = !remove && rapid.Bool().Draw(t, "deny")
	if remove {
		return Removed{KindSettings, ""}
	}
	return parsed(t, ParseSettings, map[string]any{"default_deny": r.defaultDeny})
}

// kindsDrawn are the decisions and ties that the random worlds have to come to, each
// often.
var kindsDrawn = []string{
	"agent disabled", "agent pending", "no delegation", "exhausted", "approval by delegation", "approval by agent", "default allow", "default deny",
	"delegation revoked", "delegation inactive", "delegation future", "delegation expired", "delegation exhausted", "delegation condition false", "delegation condition failed",
	"rule: allow", "rule: deny", "rule: transform", "rule: require_human_approval", "inactive policy", "by priority",
	"a condition failed: allow", "a condition failed: deny", "a condition failed: transform", "a condition failed: require_human_approval",
	"tie of rules: 0 before 1", "tie of rules: 0 before 2", "tie of rules: 0 before 3", "tie of rules: 0 before 4", "tie of rules: 1 before 2", "tie of rules: 1 before 3",
	"tie of rules: 1 before 4", "tie of rules: 2 before 3", "tie of rules: 2 before 4", "tie of rules: 3 before 4", "tie of rules: by policy", "tie of rules: by place",
	"tie of delegations: without approval", "tie of delegations: without a limit", "tie of delegations: by id",
}

// Worlds that change step by step answer as the reference does, which reads all of them.
func TestB87RandomWorldsAgreeWithTheReference(t *testing.T) {
	seen := map[string]int{}
	worlds := 0
	enginetest.Check(t, 10_000, func(t *rapid.T) {
		worlds++
		r := &refWorld{agents: map[string]refAgent{}, delegations: map[string]refDelegation{}, policies: map[string]refPolicy{}, seen: seen}
		w := &World{}
		for range rapid.IntRange(2, 4).Draw(t, "batches") {
			var batch []Record
			for range rapid.IntRange(3, 8).Draw(t, "changes") {
				batch = append(batch, r.change(t))
			}
			w.Apply(batch...)
		}
		for range 4 {
			r.ask(t, w)
		}
	})
	if worlds >= 10_000 {
		for _, kind := range kindsDrawn {
			require.Greater(t, seen[kind], 20, "%s: %v", kind, seen)
		}
	}
	t.Log(seen)
}

// ask draws a question and compares what both answer, in all the ways to ask it.
func (r *refWorld) ask(t *rapid.T, w *World) {
	at := rapid.IntRange(1, 15).Draw(t, "at")
	context := map[string]any{"list": []any{}}
	switch rapid.IntRange(0, 4).Draw(t, "x") {
	case 0:
	case 1:
		context["x"] = "text"
	case 2:
		context["x"] = 0.0
	default:
		context["x"] = 1.0
	}
	q := &Question{
		Agent:   rapid.SampledFrom([]string{"one", "agent:one", "agent:one", "one", "one", "two", "user:bob", "nobody"}).Draw(t, "agent"),
		Action:  rapid.SampledFrom([]string{"a.b", "a.b", "a.b.c", "a", "ab.c", "c"}).Draw(t, "action"),
		Context: context, Time: time.Unix(int64(at), 0), Consume: rapid.Bool().Draw(t, "consume"),
	}
	want := r.decide(q.Agent, q.Action, at, context, q.Consume)
	require.Equal(t, want, w.Decide(q))
	require.Equal(t, want, w.Explain(q).Decision)

	require.Equal(t, r.whatCan(q.Agent, at), w.WhatCan(q.Agent, q.Time))
	require.Equal(t, r.whoCan(q.Action, at), w.WhoCan(q.Action, q.Time))
}

func (r *refWorld) holds(d refDelegation, at int) bool {
	d.conditions = nil
	a, registered := r.agents[strings.TrimPrefix(d.delegate, "agent:")]
	return r.inForce(d, at, nil) == "" && (!registered || a.status == "active")
}

func (r *refWorld) whatCan(delegate string, at int) (grants []Grant) {
	for _, id := range slices.Sorted(maps.Keys(r.delegations)) {
		d := r.delegations[id]
		if strings.TrimPrefix(d.delegate, "agent:") != strings.TrimPrefix(delegate, "agent:") || !r.holds(d, at) {
			continue
		}
		for _, p := range d.scope {
			var approval []string
			for _, q := range d.approval {
				if refOverlap(p, q) {
					approval = append(approval, q)
				}
			}
			grants = append(grants, Grant{id, d.delegator, d.delegate, p, approval, len(d.conditions) > 0})
		}
	}
	return grants
}

// refOverlap tells whether there is an action that two patterns match: one of them has it
// in its own text, with a last segment of some name.
func refOverlap(p, q string) bool {
	for _, text := range []string{p, q} {
		action := strings.TrimPrefix(strings.TrimSuffix(text, "*")+"x", ".")
		if !strings.HasSuffix(text, "*") {
			action = text
		}
		if refMatches(p, action) && refMatches(q, action) {
			return true
		}
	}
	return false
}

func (r *refWorld) whoCan(action string, at int) (grants []Grant) {
	for _, id := range slices.Sorted(maps.Keys(r.delegations)) {
		d := r.delegations[id]
		if !r.holds(d, at) || !refAny(d.scope, action) {
			continue
		}
		var approval []string
		for _, p := range d.approval {
			if refMatches(p, action) {
				approval = append(approval, p)
			}
		}
		by := slices.IndexFunc(d.scope, func(p string) bool { return refMatches(p, action) })
		grants = append(grants, Grant{id, d.delegator, d.delegate, d.scope[by], approval, len(d.conditions) > 0})
	}
	return grants
}
