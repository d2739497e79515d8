package decide

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cedar-policy/cedar-go"
	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv/policy"
)

// cedarWorld is a world as Cedar says it: a permit for each delegation, a forbid for each
// rule that denies and each agent that is not active; patterns are groups of actions.
type cedarWorld struct {
	policies *cedar.PolicySet
	entities cedar.EntityMap
}

func (w *world) cedar(t testing.TB, actions []string) *cedarWorld {
	var b strings.Builder
	for id, a := range w.Agents {
		if a.Status != "active" {
			fmt.Fprintf(&b, "forbid(principal == Agent::%q, action, resource);\n", id)
		}
	}
	for _, list := range w.Delegations {
		for _, d := range list {
			if !d.Active || d.Revoked {
				continue
			}
			groups := make([]string, len(d.Scope))
			for i, p := range d.Scope {
				groups[i] = fmt.Sprintf("Action::%q", p)
			}
			when := []string{fmt.Sprintf("%d < %d", d.Uses, d.Max)}
			if d.From != 0 {
				when = append(when, fmt.Sprintf("context.now >= %d", d.From))
			}
			if d.Until != forever {
				when = append(when, fmt.Sprintf("context.now < %d", d.Until))
			}
			for _, c := range d.Conditions {
				when = append(when, c.source(true))
			}
			fmt.Fprintf(&b, "permit(principal == Agent::%q, action in [%s], resource) when { %s };\n", d.Delegate, strings.Join(groups, ", "), strings.Join(when, " && "))
		}
	}
	for scope, rules := range w.Rules {
		for _, r := range rules {
			if r.Action == "deny" {
				fmt.Fprintf(&b, "forbid(principal, action in [Action::%q], resource) when { %s };\n", scope, r.Condition.source(true))
			}
		}
	}
	policies, err := cedar.NewPolicySetFromBytes("world.cedar", []byte(b.String()))
	require.NoError(t, err, b.String())
	made := &cedarWorld{policies, cedar.EntityMap{}}
	for _, action := range actions {
		var above []cedar.EntityUID
		for _, p := range policy.PatternsOf(action)[1:] {
			above = append(above, cedar.NewEntityUID("Action", cedar.String(p.String())))
		}
		id := cedar.NewEntityUID("Action", cedar.String(action))
		made.entities[id] = cedar.Entity{UID: id, Parents: cedar.NewEntityUIDSet(above...)}
	}
	return made
}

// request is a question as Cedar has it.
func (q *asked) request(t testing.TB) cedar.Request {
	context := map[string]any{"now": q.Time}
	for name, v := range q.Context {
		context[name] = v
	}
	text, err := json.Marshal(context)
	require.NoError(t, err)
	var record cedar.Record
	require.NoError(t, json.Unmarshal(text, &record))
	return cedar.Request{
		Principal: cedar.NewEntityUID("Agent", cedar.String(q.Agent)), Action: cedar.NewEntityUID("Action", cedar.String(q.Action)),
		Resource: cedar.NewEntityUID("System", "stoa"), Context: record,
	}
}

// Where Cedar can say the same, it decides the same: what a delegation permits, unless something
// forbids it.
func TestB87CedarDecidesAlike(t *testing.T) {
	d := newDrawer(t, true)
	seen := map[string]int{}
	for range worlds {
		w := d.world()
		made, others := w.ours(t), w.cedar(t, []string{"a.b", "a.b.c", "a", "ab.c"})
		for range 2 {
			q := d.asked()
			got := made.Decide(q.question())
			want, diagnostic := cedar.Authorize(others.policies, others.entities, q.request(t))
			require.Empty(t, diagnostic.Errors)
			require.Equal(t, bool(want), got.Allowed, "%+v of %s: %+v", q, others.policies.MarshalCedar(), got)
			kind := got.Result.String()
			if got.Rule != "" {
				kind += " by a rule"
			} else {
				kind += ": " + got.Reason
			}
			seen[kind]++
		}
	}
	for _, kind := range []string{"allowed by a rule", "allowed: No policy restriction", "denied by a rule", "denied: No delegation for this action", "denied: agent disabled", "denied: agent pending", "denied: exhausted"} {
		require.Greater(t, seen[kind], 50, "%v", seen)
	}
	t.Log(seen)
}
