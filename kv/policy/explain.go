package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stoadb/stoa/kv/policy/condition"
)

// Explanation is a decision with everything that was looked at for it.
type Explanation struct {
	Decision Decision `json:"decision"`
	// Steps are the agent, the delegations, approval, the policies and the default, in this order; those
	// behind the one that decided were not looked at.
	Steps []Node `json:"steps"`
}

// Node is one thing that was looked at, with what it consists of.
type Node struct {
	Kind string `json:"kind"`         // agent, delegations, delegation, condition, approval, policies, policy, rule or default
	ID   string `json:"id,omitempty"` // of the record, or the rule
	// Text is what it says itself: patterns, a condition, a rule's action and priority.
	Text string `json:"text,omitempty"`
	// Verdict is what came of it, in a few words.
	Verdict string `json:"verdict"`
	// Decides is set at what decided, and at what that is in.
	Decides bool   `json:"decides,omitempty"`
	Parts   []Node `json:"parts,omitempty"`
}

// The steps of a decision.
const (
	stepAgent = iota
	stepDelegations
	stepApproval
	stepPolicies
	stepDefault
)

// trace notes what a decision looks at. A nil trace notes nothing.
type trace struct {
	step        int // that was reached
	delegations map[*Delegation]look
	conditions  map[*condition.Program]look
	rules       map[*Rule]look
}

// look is what came of looking at something.
type look struct {
	state state
	err   error
}

func (l look) verdict() string {
	switch {
	case l.state == "":
		return string(stateNotReached)
	case l.err != nil:
		return fmt.Sprintf("%s: %v", l.state, l.err)
	}
	return string(l.state)
}

// answer is what came of asking a condition.
func answer(is bool, err error) look {
	switch {
	case err != nil:
		return look{"failed", err}
	case is:
		return look{"true", nil}
	}
	return look{"false", nil}
}

func (t *trace) reach(step int) {
	if t != nil {
		t.step = step
	}
}

func (t *trace) delegation(d *Delegation, s state, err error) {
	if t != nil {
		t.delegations[d] = look{s, err}
	}
}

func (t *trace) condition(c *condition.Program, is bool, err error) {
	if t != nil {
		t.conditions[c] = answer(is, err)
	}
}

func (t *trace) rule(r *Rule, is bool, err error) {
	if t != nil {
		t.rules[r] = answer(is, err)
	}
}

// Explain answers as Decide does, and lists what was looked at: all delegations of whoever asks,
// and all rules of the policies of the action.
func (w *World) Explain(q *Question) Explanation {
	var r room
	v := w.look(q, &r)
	env := w.env(q)
	defer w.giveBack(env)
	t := &trace{0, map[*Delegation]look{}, map[*condition.Program]look{}, map[*Rule]look{}}
	d := v.decide(q, env, t)
	steps := []Node{v.agentNode(q), v.delegationsNode(q, t, d), v.approvalNode(), v.policiesNode(t), v.defaultNode()}
	for i := t.step + 1; i < len(steps); i++ {
		steps[i].Verdict, steps[i].Parts = string(stateNotReached), nil
	}
	mark(&steps[t.step], d)
	return Explanation{d, steps}
}

// mark marks what decided.
func mark(n *Node, d Decision) {
	n.Decides, n.Verdict = true, d.Result.String()+": "+d.Reason
	if n.Kind == "policies" {
		policy := slices.IndexFunc(n.Parts, func(p Node) bool { return p.ID == d.Policy })
		n.Parts[policy].Decides = true
		n.Parts[policy].Verdict = d.Result.String()
		rule := slices.IndexFunc(n.Parts[policy].Parts, func(r Node) bool { return r.ID == d.Rule })
		n.Parts[policy].Parts[rule].Decides = true
	}
}

func (v *view) agentNode(q *Question) Node {
	n := Node{Kind: "agent", ID: name(q.Agent), Verdict: "active"}
	if v.agent == nil {
		n.Verdict = "not registered: delegations say what it may do"
	}
	return n
}

func (v *view) delegationsNode(q *Question, t *trace, made Decision) Node {
	n := Node{Kind: "delegations", Verdict: "one is in force"}
	for _, d := range v.held {
		l := t.delegations[d]
		if _, covers := matching(d.Scope, q.Action); !covers {
			l.state = stateElsewhere
		}
		one := Node{Kind: "delegation", ID: d.ID, Text: d.text(), Verdict: l.verdict()}
		if d.ID == made.Delegation && made.Reason != ReasonExhausted {
			one.Verdict += ", chosen"
		}
		for _, c := range d.Conditions {
			one.Parts = append(one.Parts, Node{Kind: "condition", Text: c.Source(), Verdict: t.conditions[c].verdict()})
		}
		n.Parts = append(n.Parts, one)
	}
	return n
}

// text says what the delegation delegates, within which bounds.
func (d *Delegation) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s from %s", joined(d.Scope), d.Delegator)
	if len(d.RequireApproval) > 0 {
		fmt.Fprintf(&b, "; approval for %s", joined(d.RequireApproval))
	}
	if !d.From.IsZero() {
		fmt.Fprintf(&b, "; from %s", d.From.Format(time.RFC3339Nano))
	}
	if !d.Until.IsZero() {
		fmt.Fprintf(&b, "; until %s", d.Until.Format(time.RFC3339Nano))
	}
	if d.Limited {
		fmt.Fprintf(&b, "; %d of %d uses", d.Uses, d.MaxUses)
	}
	return b.String()
}

func joined(patterns []Pattern) string {
	texts := make([]string, len(patterns))
	for i, p := range patterns {
		texts[i] = p.text
	}
	return strings.Join(texts, ", ")
}

func (v *view) approvalNode() Node {
	n := Node{Kind: "approval", Verdict: "none is required"}
	if v.agent != nil && len(v.agent.RequireApproval) > 0 {
		n.Text = "the agent's configuration requires it for " + joined(v.agent.RequireApproval)
	}
	return n
}

func (v *view) policiesNode(t *trace) Node {
	n := Node{Kind: "policies", Verdict: "no rule has a say"}
	rules := slices.Concat(v.rules...)
	slices.SortFunc(rules, compareRanked)
	places := map[string]int{}
	for _, r := range rules {
		at, seen := places[r.policy]
		if !seen {
			at = len(n.Parts)
			places[r.policy] = at
			n.Parts = append(n.Parts, Node{Kind: "policy", ID: r.policy, Verdict: "did not decide"})
		}
		text := fmt.Sprintf("%s, priority %d", r.Action, r.Priority)
		if r.Condition != nil {
			text += ": " + r.Condition.Source()
		}
		n.Parts[at].Parts = append(n.Parts[at].Parts, Node{Kind: "rule", ID: r.ID, Text: text, Verdict: t.rules[r.Rule].verdict()})
	}
	return n
}

func (v *view) defaultNode() Node {
	text := "what no policy speaks of is allowed"
	if v.settings.DefaultDeny {
		text = "what no policy speaks of is denied"
	}
	return Node{Kind: "default", Text: text}
}
