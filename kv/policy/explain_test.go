package policy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/enginetest"
)

func TestAnExplanationListsWhatWasLookedAt(t *testing.T) {
	w := newWorld(t)
	w.agent("cece", "active", "finance.*")
	w.delegate("del-1", []string{"gmail.*"}, fields{"active": false})
	w.delegate("del-2", []string{"notion.*"}, nil)
	w.delegate("del-3", []string{"gmail.send"}, fields{"constraints": fields{"conditions": []string{"amount < 5", "true"}, "max_uses": 3, "require_approval_for": []string{"a.b"}, "valid_from": "2025-01-01T00:00:00Z", "valid_until": "2026-01-01T00:00:00Z"}})
	w.delegate("del-4", []string{"*"}, fields{"constraints": fields{"conditions": []string{"missing"}}})
	w.delegate("del-5", []string{"gmail.*"}, nil)
	w.delegate("del-6", []string{"gmail.*"}, nil)
	w.policy("pol-1", "gmail.*", rule("allow", 5, "true"), rule("deny", 10, "amount > 100"))
	w.policy("pol-2", "*", rule("deny", 9, "amount == 7"), rule("allow", 1, "true"))
	q := &Question{Agent: "agent:cece", Action: "gmail.send", Context: map[string]any{"amount": 7.0}, Time: noon}
	text, err := json.MarshalIndent(w.Explain(q), "", "  ")
	require.NoError(t, err)
	want, err := os.ReadFile(filepath.Join("testdata", "explanation.json"))
	require.NoError(t, err)
	require.Equal(t, string(want), string(text)+"\n")
}

// What decided is marked, once in each level, and steps behind it were not looked at.
func TestAnExplanationMarksWhatDecides(t *testing.T) {
	w := newWorld(t)
	check := func(step int, parts ...string) {
		t.Helper()
		e := w.Explain(&Question{Agent: "cece", Action: "a.b", Time: noon})
		nodes, path := e.Steps, []string{}
		for level := 0; ; level++ {
			var next *Node
			for i := range nodes {
				n := &nodes[i]
				if n.Decides {
					require.Nil(t, next, "two decide")
					next = n
				} else if level == 0 && i > step {
					require.Equal(t, "not looked at", n.Verdict)
					require.Empty(t, n.Parts)
				}
				require.NotEmpty(t, n.Verdict)
			}
			if next == nil {
				break
			}
			path, nodes = append(path, next.Kind), next.Parts
		}
		require.Equal(t, parts, path)
		require.True(t, e.Steps[step].Decides)
		require.Contains(t, e.Steps[step].Verdict, e.Decision.Reason)
		require.Equal(t, w.agents["cece"] != nil && len(w.agents["cece"].RequireApproval) > 0, e.Steps[2].Text != "")
	}
	check(1, "delegations")
	require.Contains(t, w.Explain(&Question{Agent: "cece", Action: "a.b", Time: noon}).Steps[0].Verdict, "not registered")
	w.agent("cece", "pending")
	check(0, "agent")
	w.agent("cece", "active", "a.b")
	w.delegate("del-1", []string{"a.b"}, nil)
	check(2, "approval")
	w.agent("cece", "active")
	check(4, "default")
	w.policy("pol-1", "a.*", rule("deny", 1, "false"), rule("allow", 0, "true"))
	w.policy("pol-2", "a.*", rule("allow", 0, "true"))
	check(3, "policies", "policy", "rule")
	w.policy("pol-3", "*", rule("allow", 1, "false"), rule("deny", 0, "true"), rule("deny", 2, "false"))
	check(3, "policies", "policy", "rule")
	var order []string
	for _, p := range w.Explain(&Question{Agent: "cece", Action: "a.b", Time: noon}).Steps[3].Parts {
		order = append(order, p.ID)
		for _, r := range p.Parts {
			order = append(order, r.ID)
		}
	}
	require.Equal(t, []string{"pol-3", "r3", "r1", "r2", "pol-1", "r1", "r2", "pol-2", "r1"}, order, "in the order in which they count")

	text := func() string { return w.Explain(&Question{Agent: "cece", Action: "a.b", Time: noon}).Steps[4].Text }
	require.Contains(t, text(), "allowed")
	w.Apply(&Settings{DefaultDeny: true})
	require.Contains(t, text(), "denied")

	w.delegate("del-1", []string{"a.b"}, fields{"constraints": fields{"max_uses": 0}})
	e := w.Explain(&Question{Agent: "cece", Action: "a.b", Time: noon, Consume: true})
	require.Equal(t, "exhausted", e.Steps[1].Parts[0].Verdict)
}

// A decision sees all of an Apply or nothing: in each state one of two policies denies.
func TestB88ReadersSeeWholeStates(t *testing.T) {
	w := newWorld(t)
	w.delegate("del-1", []string{"*"}, nil)
	states := [2][]Record{}
	for i, actions := range [2][2]string{{"deny", "allow"}, {"allow", "deny"}} {
		for j, action := range actions {
			doc := fields{"policy_id": []string{"pol-1", "pol-2"}[j], "scope": []string{"a.b", "*"}[j], "active": true,
				"rules": []fields{{"rule_id": "r1", "condition": "x == 1", "action": action, "priority": 1}}}
			states[i] = append(states[i], parsed(t, ParsePolicy, doc))
		}
	}
	w.Apply(states[0]...)
	var stop atomic.Bool
	var readers sync.WaitGroup
	asked := [2]atomic.Int64{}
	for range 4 {
		readers.Go(func() {
			for !stop.Load() {
				d := w.Decide(&Question{Agent: "cece", Action: "a.b", Context: map[string]any{"x": 1.0}, Time: noon})
				if d.Result != Denied {
					t.Errorf("%+v", d)
					return
				}
				asked[d.Policy[4]-'1'].Add(1)
			}
		})
	}
	for i := 0; i < enginetest.Scale(10_000) || asked[0].Load() == 0 || asked[1].Load() == 0; i++ {
		w.Apply(states[i%2]...)
		w.delegate("del-2", []string{"b.*"}, nil)
	}
	stop.Store(true)
	readers.Wait()
}

// Once Apply has returned no decision is made by what was before.
func TestB88NoStaleAllow(t *testing.T) {
	w := newWorld(t)
	w.delegate("del-1", []string{"*"}, nil)
	for range 100 {
		w.policy("pol-1", "a.b", rule("allow", 1, "true"))
		require.Equal(t, Allowed, w.may("a.b").Result)
		w.policy("pol-1", "a.b", rule("deny", 1, "true"))
		require.Equal(t, Denied, w.may("a.b").Result)
	}
}
