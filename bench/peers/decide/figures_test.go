package decide

import (
	"encoding/json"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/cedar-policy/cedar-go"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv/policy"
)

// large is a world of 200 policies, with two rules each, and 1,000 delegations for 100 agents. With
// simple no rule wants approval.
func large(simple bool) *world {
	w := &world{map[string]bool{"default_deny": false}, map[string]agent{}, map[string][]*delegation{}, map[string][]*rule{}}
	for i := range 100 {
		w.Agents[fmt.Sprint("a", i)] = agent{"active", []string{}}
	}
	for i := range 1000 {
		d := &delegation{ID: fmt.Sprintf("del-%04d", i), Delegate: fmt.Sprint("a", i%100), Scope: []string{fmt.Sprintf("tool%d.*", i/100), fmt.Sprintf("other%d.read", i%7)},
			Approval: []string{}, From: 1, Until: 20, Max: forever, Conditions: []condition{}, Active: true}
		w.Delegations[d.Delegate] = append(w.Delegations[d.Delegate], d)
	}
	for i := range 200 {
		scope := fmt.Sprintf("tool%d.action%d", i%20, i%40/20)
		if i%10 == 0 {
			scope = fmt.Sprintf("tool%d.*", i%20)
		}
		action, priority := "require_human_approval", 100
		if simple {
			action, priority = "deny", 5
		}
		id := fmt.Sprintf("pol-%03d", i)
		w.Rules[scope] = append(w.Rules[scope],
			&rule{id, "r1", 0, priority, action, condition{{"notin", "s", []string{"a", "ab"}}, {"lt", "x", 3}}},
			&rule{id, "r2", 1, 5, "allow", condition{{Op: "true"}}})
	}
	return w
}

// largeActions are those that the large world is asked about.
func largeActions() (actions []string) {
	for i := range 20 {
		actions = append(actions, fmt.Sprintf("tool%d.action%d", i%10, i/10))
	}
	return actions
}

func largeQuestions() (questions []*asked) {
	actions := largeActions()
	for i := range 1000 {
		s := "a"
		if i%4 == 0 {
			s = "b"
		}
		questions = append(questions, &asked{Agent: fmt.Sprint("a", i%100), Action: actions[i%20], Time: 10,
			Context: map[string]any{"s": s, "x": float64(i % 4), "approved": []any{"a"}}})
	}
	return questions
}

// subject answers the questions by their numbers, at a cost of processor time.
type subject struct {
	name   string
	turn   int // questions of a turn
	answer func(i int)
	each   []float64 // ns for a question, of each turn
}

// processor is the processor time that the process has used.
func processor(t testing.TB) time.Duration {
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// measure lets subjects take turns and returns the median of each.
func measure(t testing.TB, subjects ...*subject) (medians []float64) {
	for round := range 8 {
		for _, s := range subjects {
			before := processor(t)
			for i := range s.turn {
				s.answer(i % 1000)
			}
			if round > 0 { // the first warms up
				s.each = append(s.each, float64(processor(t)-before)/float64(s.turn))
			}
		}
	}
	for _, s := range subjects {
		slices.Sort(s.each)
		medians = append(medians, s.each[len(s.each)/2])
		t.Logf("%-9s %12.0f ns of processor time for a decision, %.0f to %.0f", s.name, medians[len(medians)-1], s.each[0], s.each[len(s.each)-1])
	}
	return medians
}

// ours is package policy with the large world.
func ours(t testing.TB, w *world, questions []*asked) *subject {
	made := w.ours(t)
	return &subject{name: "stoa", turn: 100_000, answer: func(i int) {
		q := questions[i]
		made.Decide(q.question())
	}}
}

// A decision takes at most a tenth of what Open Policy Agent takes.
func TestFiguresBesideOPA(t *testing.T) {
	w, questions := large(false), largeQuestions()
	text, err := json.Marshal(map[string]any{"records": w})
	require.NoError(t, err)
	var data map[string]any
	require.NoError(t, json.Unmarshal(text, &data))
	query := prepare(t, "data.records", inmem.NewFromObjectWithOpts(data, inmem.OptRoundTripOnWrite(false), inmem.OptReturnASTValuesOnRead(true)))
	var inputs []ast.Value
	made, results := w.ours(t), map[string]int{}
	for _, q := range questions {
		inputs = append(inputs, value(t, q))
		got := made.Decide(q.question())
		require.Equal(t, opa(t, query, inputs[len(inputs)-1])["rule"], got.Rule)
		results[got.Result.String()]++
	}
	require.Len(t, results, 2, "%v", results)
	medians := measure(t, ours(t, w, questions), &subject{name: "opa", turn: 1000, answer: func(i int) { opa(t, query, inputs[i]) }})
	t.Logf("%.0f times OPA's rate", medians[1]/medians[0])
	require.Greater(t, medians[1], 10*medians[0])
}

// A decision takes no more than one of cedar-go, where that can say the same.
func TestFiguresBesideCedar(t *testing.T) {
	w, questions := large(true), largeQuestions()
	others := w.cedar(t, largeActions())
	var requests []cedar.Request
	made, results := w.ours(t), map[bool]int{}
	for _, q := range questions {
		requests = append(requests, q.request(t))
		want, _ := cedar.Authorize(others.policies, others.entities, requests[len(requests)-1])
		got := made.Decide(q.question())
		require.Equal(t, bool(want), got.Allowed)
		results[got.Allowed]++
	}
	require.Len(t, results, 2, "%v", results)
	var parts []*cedarWorld
	for i, q := range questions {
		parts = append(parts, w.about(q).cedar(t, []string{q.Action}))
		whole, _ := cedar.Authorize(others.policies, others.entities, requests[i])
		of, _ := cedar.Authorize(parts[i].policies, parts[i].entities, requests[i])
		require.Equal(t, whole, of)
	}
	medians := measure(t, ours(t, w, questions),
		&subject{name: "cedar-go", turn: 1000, answer: func(i int) { cedar.Authorize(others.policies, others.entities, requests[i]) }},
		&subject{name: "sliced", turn: 5000, answer: func(i int) { cedar.Authorize(parts[i].policies, parts[i].entities, requests[i]) }})
	t.Logf("%.1f times cedar-go's rate, %.1f times that of cedar-go with nothing but the policies of the question", medians[1]/medians[0], medians[2]/medians[0])
	require.Greater(t, medians[1], medians[0])
	require.Greater(t, medians[2], medians[0])
}

// about is the part of the world that a question is about: what somebody would give to an engine
// that goes through all that it has.
func (w *world) about(q *asked) *world {
	part := &world{w.Settings, map[string]agent{}, map[string][]*delegation{q.Agent: w.Delegations[q.Agent]}, map[string][]*rule{}}
	if a, ok := w.Agents[q.Agent]; ok {
		part.Agents[q.Agent] = a
	}
	for _, p := range policy.PatternsOf(q.Action) {
		if rules := w.Rules[p.String()]; rules != nil {
			part.Rules[p.String()] = rules
		}
	}
	return part
}
