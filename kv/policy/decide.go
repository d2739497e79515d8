package policy

import (
	"cmp"
	"fmt"
	"time"

	"github.com/stoadb/stoa/kv/policy/condition"
)

// DecisionSteps is the work, in steps of package condition, that the conditions of
// one decision may take together. One of them may take condition.MaxSteps.
const DecisionSteps = 500_000

// Decide answers a question. The first that has an answer decides:
//
//  1. the agent, unless it is active;
//  2. that there is no delegation that covers the action and is in force: active, not
//     revoked, in its time, not used up, all of its conditions true;
//  3. approval that the agent's configuration wants, or every delegation of 2;
//  4. of the rules of active policies of the action whose condition is true, the one with
//     the greatest priority; of equal ones deny before approval before transform
//     before allow, then the smaller policy id, then the rule that is given first. A
//     rule whose condition fails denies, and comes behind those that deny;
//  5. the settings.
//
// Of several delegations that are in force one without approval is taken, of those one without a
// limit of uses, then the smallest id. What can't be understood denies.
func (w *World) Decide(q *Question) Decision {
	var r room
	v := w.look(q, &r)
	env := w.env(q)
	defer w.giveBack(env)
	return v.decide(q, env, nil)
}

// decide answers, and notes in the trace, if there is one, what it looks at.
func (v *view) decide(q *Question, env *condition.Env, t *trace) Decision {
	if checkName(q.Action) != nil {
		return Decision{Result: Denied, Reason: ReasonNoAction}
	}
	if v.agent != nil && v.agent.Status != AgentActive {
		reason := ReasonAgentDisabled
		if v.agent.Status == AgentPending {
			reason = ReasonAgentPending
		}
		return Decision{Result: Denied, Reason: reason}
	}
	t.reach(stepDelegations)
	steps := DecisionSteps
	g := v.grant(q, env, &steps, t)
	if g.delegation == nil {
		d := Decision{Result: Denied, Reason: ReasonNoDelegation}
		if q.Consume && g.exhausted != nil {
			d.Reason, d.Delegation = ReasonExhausted, g.exhausted.ID
		}
		return d
	}
	t.reach(stepApproval)
	d := v.approval(q, g)
	if d.Result == 0 {
		d = v.evaluate(env, &steps, t)
		if q.approved && d.Result == PendingApproval {
			d.Result, d.Reason = Allowed, ReasonApproved
		}
	}
	d.Allowed = d.Result == Allowed || d.Result == Transformed
	d.Delegation = g.delegation.ID
	return d
}

// grant is the delegation that an action is done by.
type grant struct {
	delegation *Delegation // nil: there is none in force
	approval   bool        // it wants approval, and so do all others
	exhausted  *Delegation // one that would be in force, but for its uses
}

// grant finds the delegation that an action is done by. Each list is in the order in which
// they are taken, so it ends with the first that is in force.
func (v *view) grant(q *Question, env *condition.Env, steps *int, t *trace) grant {
	var free, bound, exhausted *Delegation // bound: it wants approval
	for _, list := range v.grants {
		for _, d := range list {
			if free != nil && compareGrants(free, d) <= 0 {
				break
			}
			state := d.state(q.Time)
			if state != stateInForce && state != stateExhausted {
				t.delegation(d, state, nil)
				continue
			}
			_, approval := matching(d.RequireApproval, q.Action)
			if approval && bound != nil && compareGrants(bound, d) <= 0 {
				continue
			}
			met, err := d.conditionsMet(env, steps, t)
			switch {
			case err != nil:
				t.delegation(d, stateConditionFailed, err)
			case !met:
				t.delegation(d, stateConditionFalse, nil)
			default:
				t.delegation(d, state, nil)
				switch {
				case state == stateExhausted:
					if exhausted == nil || compareGrants(d, exhausted) < 0 {
						exhausted = d
					}
				case approval:
					bound = d
				default:
					free = d
				}
			}
		}
	}
	if free != nil {
		return grant{delegation: free}
	}
	return grant{delegation: bound, approval: true, exhausted: exhausted}
}

// state is how a delegation stands.
type state string

// How a delegation stands, as explanations say it.
const (
	stateInForce         state = "in force"
	stateInactive        state = "inactive"
	stateRevoked         state = "revoked"
	stateFuture          state = "not in force yet"
	stateExpired         state = "expired"
	stateExhausted       state = "exhausted"
	stateConditionFalse  state = "a condition is not true"
	stateConditionFailed state = "a condition failed"
	stateElsewhere       state = "does not cover the action"
	stateNotReached      state = "not looked at"
)

// state tells how the delegation stands at a moment, its conditions aside.
func (d *Delegation) state(at time.Time) state {
	switch {
	case d.Revoked:
		return stateRevoked
	case !d.Active:
		return stateInactive
	case at.Before(d.From):
		return stateFuture
	case !d.Until.IsZero() && !at.Before(d.Until):
		return stateExpired
	case d.Limited && d.Uses >= d.MaxUses:
		return stateExhausted
	}
	return stateInForce
}

// conditionsMet tells whether all conditions are true.
func (d *Delegation) conditionsMet(env *condition.Env, steps *int, t *trace) (bool, error) {
	for _, c := range d.Conditions {
		met, err := c.EvalWithin(env, steps)
		t.condition(c, met, err)
		if !met { // as with an error
			return false, err
		}
	}
	return true, nil
}

// approval is the decision if approval is wanted, and else the zero Decision.
func (v *view) approval(q *Question, g grant) Decision {
	if q.approved {
		return Decision{}
	}
	by := ""
	if v.agent != nil {
		if _, wants := matching(v.agent.RequireApproval, q.Action); wants {
			by = ByAgent
		}
	}
	if g.approval {
		by = ByDelegation
	}
	if by == "" {
		return Decision{}
	}
	return Decision{Result: PendingApproval, Reason: ReasonApproval, Policy: by}
}

// verdict is a rule that has a say, and what it says.
type verdict struct {
	ranked
	action Action
	failed error // the condition failed: it denies
}

// beats tells whether the verdict decides where the other has a say too. Of those that deny
// the ones whose condition failed come last.
func (a *verdict) beats(b *verdict) bool {
	late := func(v *verdict) int {
		if v.failed != nil {
			return 1
		}
		return 0
	}
	return b.Rule == nil || cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.action, b.action), late(a)-late(b), compareOrigin(a.ranked, b.ranked)) < 0
}

// evaluate answers by policies and settings.
func (v *view) evaluate(env *condition.Env, steps *int, t *trace) Decision {
	t.reach(stepPolicies)
	var best verdict
	for _, list := range v.rules {
		for i := range list {
			r := verdict{ranked: list[i], action: list[i].Action}
			if best.Rule != nil && r.Priority < best.Priority {
				break // all that follow are less
			}
			says, err := true, error(nil)
			if r.Condition != nil {
				says, err = r.Condition.EvalWithin(env, steps)
			}
			t.rule(r.Rule, says, err)
			if err != nil {
				r.action, r.failed = ActionDeny, err
			}
			if (says || err != nil) && r.beats(&best) {
				best = r
			}
		}
	}
	if best.Rule != nil {
		return best.decision()
	}
	t.reach(stepDefault)
	if v.settings.DefaultDeny {
		return Decision{Result: Denied, Reason: ReasonDefaultDeny}
	}
	return Decision{Result: Allowed, Reason: ReasonNoPolicy}
}

// decision is what the verdict comes to.
func (a *verdict) decision() Decision {
	d := Decision{Result: results[a.action], Reason: a.reason, Policy: a.policy, Rule: a.ID}
	if a.failed != nil {
		d.Reason = fmt.Sprintf("the condition of rule %s failed: %v", a.ID, a.failed)
	}
	if a.action == ActionTransform {
		d.Transform = a.Transform
	}
	return d
}
