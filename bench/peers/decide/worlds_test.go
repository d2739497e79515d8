package decide

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv/policy"
)

// worlds is how many random worlds each engine is asked about, and for ever is a time that is
// after all others.
const (
	worlds  = 10_000
	forever = 1 << 40
)

// question is one of a condition: what it asks of which field.
type question struct {
	Op    string `json:"op"`
	Field string `json:"field"`
	Value any    `json:"value,omitempty"`
}

// condition is questions that all must hold.
type condition []question

// source returns the condition as policies have it, or as Cedar has it.
func (c condition) source(cedar bool) string {
	var parts []string
	for _, q := range c {
		value, _ := json.Marshal(q.Value)
		field := q.Field
		if cedar {
			field = "context." + field
		}
		switch q.Op {
		case "true", "false":
			parts = append(parts, q.Op)
		case "eq":
			parts = append(parts, fmt.Sprintf("%s == %s", field, value))
		case "lt":
			parts = append(parts, fmt.Sprintf("%s < %s", field, value))
		case "starts":
			if cedar {
				parts = append(parts, fmt.Sprintf("%s like %q", field, q.Value.(string)+"*"))
			} else {
				parts = append(parts, fmt.Sprintf("%s startsWith %s", field, value))
			}
		case "in", "notin", "approved":
			list := string(value)
			if q.Op == "approved" {
				list = strings.Replace(field, q.Field, "approved", 1)
			}
			switch {
			case cedar && q.Op == "notin":
				parts = append(parts, fmt.Sprintf("!(%s.contains(%s))", list, field))
			case cedar:
				parts = append(parts, fmt.Sprintf("%s.contains(%s)", list, field))
			case q.Op == "notin":
				parts = append(parts, fmt.Sprintf("%s NOT IN %s", field, list))
			default:
				parts = append(parts, fmt.Sprintf("%s IN %s", field, list))
			}
		}
	}
	and := " AND "
	if cedar {
		and = " && "
	}
	return strings.Join(parts, and)
}

type agent struct {
	Status   string   `json:"status"`
	Approval []string `json:"approval"`
}

type delegation struct {
	ID         string      `json:"id"`
	Delegate   string      `json:"delegate"`
	Scope      []string    `json:"scope"`
	Approval   []string    `json:"approval"`
	From       int         `json:"from"`
	Until      int         `json:"until"`
	Limited    int         `json:"limited"`
	Max        int         `json:"max"`
	Uses       int         `json:"uses"`
	Conditions []condition `json:"conditions"`
	Active     bool        `json:"active"`
	Revoked    bool        `json:"revoked"`
}

type rule struct {
	Policy    string    `json:"policy"`
	Rule      string    `json:"rule"`
	Place     int       `json:"place"`
	Priority  int       `json:"priority"`
	Action    string    `json:"action"`
	Condition condition `json:"condition"`
}

// world is what is asked about, laid out as the rego program reads it.
type world struct {
	Settings    map[string]bool          `json:"settings"`
	Agents      map[string]agent         `json:"agents"`
	Delegations map[string][]*delegation `json:"delegations"` // by delegate
	Rules       map[string][]*rule       `json:"rules"`       // of active policies, by scope
}

// asked is a question to the engines.
type asked struct {
	Agent   string         `json:"agent"`
	Action  string         `json:"action"`
	Time    int            `json:"time"`
	Consume bool           `json:"consume"`
	Context map[string]any `json:"context"`
}

// ours puts the world into one of package policy, by its documents.
func (w *world) ours(t testing.TB) *policy.World {
	var records []policy.Record
	for id, a := range w.Agents {
		records = append(records, parsed(t, policy.ParseAgent, map[string]any{"agent_id": id, "status": a.Status,
			"config": map[string]any{"require_human_approval_for": a.Approval}}))
	}
	for _, list := range w.Delegations {
		for _, d := range list {
			records = append(records, d.ours(t))
		}
	}
	for scope, rules := range w.Rules {
		of := map[string][]any{}
		for _, r := range rules {
			of[r.Policy] = append(of[r.Policy], map[string]any{"rule_id": r.Rule, "condition": r.Condition.source(false), "action": r.Action,
				"priority": r.Priority, "transform_fn": "f"})
		}
		for id, rules := range of {
			records = append(records, parsed(t, policy.ParsePolicy, map[string]any{"policy_id": id, "scope": scope, "active": true, "rules": rules}))
		}
	}
	records = append(records, parsed(t, policy.ParseSettings, w.Settings))
	made := &policy.World{}
	made.Apply(records...)
	return made
}

func (d *delegation) ours(t testing.TB) policy.Record {
	var sources []string
	for _, c := range d.Conditions {
		sources = append(sources, c.source(false))
	}
	constraints := map[string]any{"require_approval_for": d.Approval, "conditions": sources, "valid_from": instant(d.From), "valid_until": instant(d.Until)}
	if d.Limited == 1 {
		constraints["max_uses"] = d.Max
	}
	doc := map[string]any{"delegation_id": d.ID, "delegator": "user:alexa", "delegate": "agent:" + d.Delegate, "scope": d.Scope,
		"constraints": constraints, "active": d.Active, "uses_count": d.Uses}
	if d.Revoked {
		doc["revoked_at"] = instant(1)
	}
	return parsed(t, policy.ParseDelegation, doc)
}

func instant(seconds int) any {
	if seconds == 0 || seconds == forever {
		return nil
	}
	return time.Unix(int64(seconds), 0).UTC().Format(time.RFC3339)
}

func parsed[T any](t testing.TB, parse func([]byte) (T, error), doc any) T {
	text, err := json.Marshal(doc)
	require.NoError(t, err)
	record, err := parse(text)
	require.NoError(t, err, "%s", text)
	return record
}

// question returns what is asked as package policy has it.
func (q *asked) question() *policy.Question {
	return &policy.Question{Agent: q.Agent, Action: q.Action, Context: q.Context, Time: time.Unix(int64(q.Time), 0), Consume: q.Consume}
}

// drawer draws worlds. With simple it draws what Cedar can say: no approval, rules that allow or
// deny with one priority, fields that are there.
type drawer struct {
	*rand.Rand
	simple bool
}

// newDrawer draws the same each time, unless STOA_DECIDE_SEED says otherwise.
func newDrawer(t testing.TB, simple bool) *drawer {
	seed := uint64(20261123)
	if text := os.Getenv("STOA_DECIDE_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("STOA_DECIDE_SEED=%d", seed)
	return &drawer{rand.New(rand.NewPCG(seed, 14)), simple}
}

func pick[T any](d *drawer, from ...T) T { return from[d.IntN(len(from))] }

// one is true once in n times.
func (d *drawer) one(n int) bool { return d.IntN(n) == 0 }

func (d *drawer) condition() (c condition) {
	for range 1 + d.IntN(2) {
		c = append(c, pick(d, question{Op: "true"}, question{Op: "true"}, question{Op: "false"},
			question{"eq", "x", 1}, question{"lt", "x", 2}, question{"in", "s", []string{"a", "ab"}}, question{"notin", "s", []string{"b", "ab"}},
			question{"approved", "s", nil}, question{"starts", "s", "a"}))
	}
	return c
}

func (d *drawer) patterns(least, most int) []string {
	list := []string{}
	for range least + d.IntN(most-least+1) {
		list = append(list, pick(d, "*", "a.*", "a.b", "a.b.*", "a.b.c", "a", "b", "ab.*"))
	}
	return list
}

func (d *drawer) delegation(id string) *delegation {
	made := &delegation{ID: id, Delegate: pick(d, "one", "one", "two"), Scope: d.patterns(1, 2), Approval: []string{}, Until: forever, Max: forever, Conditions: []condition{},
		Active: !d.one(15), Revoked: d.one(15)}
	if !d.simple {
		made.Approval = d.patterns(0, 1)
	}
	if d.one(3) {
		made.From, made.Until = 1+d.IntN(6), 8+d.IntN(8)
	}
	if d.one(2) {
		made.Limited, made.Max, made.Uses = 1, 1+d.IntN(3), d.IntN(3)
	}
	for range d.IntN(3) / 2 {
		made.Conditions = append(made.Conditions, d.condition())
	}
	return made
}

func (d *drawer) world() *world {
	w := &world{map[string]bool{"default_deny": !d.simple && d.one(2)}, map[string]agent{}, map[string][]*delegation{}, map[string][]*rule{}}
	for _, id := range []string{"one", "two"} {
		if d.one(2) {
			a := agent{pick(d, "active", "active", "active", "active", "disabled", "pending"), []string{}}
			if !d.simple {
				a.Approval = d.patterns(0, 1)
			}
			w.Agents[id] = a
		}
	}
	for i := range d.IntN(8) {
		made := d.delegation(fmt.Sprint("del-", i))
		w.Delegations[made.Delegate] = append(w.Delegations[made.Delegate], made)
	}
	for i := range d.IntN(6) {
		scope := d.patterns(1, 1)[0]
		for place := range d.IntN(4) {
			r := &rule{fmt.Sprint("pol-", i), fmt.Sprint("r", place), place, pick(d, 5, 5, 5, 9), pick(d, "allow", "deny", "require_human_approval", "transform"), d.condition()}
			if d.simple {
				r.Priority, r.Action = 5, pick(d, "allow", "deny")
			}
			w.Rules[scope] = append(w.Rules[scope], r)
		}
	}
	return w
}

func (d *drawer) asked() *asked {
	q := &asked{Agent: pick(d, "one", "one", "two", "nobody"), Action: pick(d, "a.b", "a.b", "a.b.c", "a", "ab.c"), Time: 1 + d.IntN(15), Consume: d.one(2),
		Context: map[string]any{"s": pick(d, "a", "ab", "b", ""), "approved": []any{"a", "b"}}}
	if d.simple || !d.one(4) {
		q.Context["x"] = float64(d.IntN(4))
	}
	return q
}
