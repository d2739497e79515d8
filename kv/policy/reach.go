package policy

import (
	"slices"
	"strings"
	"time"
)

// Grant is a pattern of a delegation that is in force, as far as that can be said
// without a context.
type Grant struct {
	Delegation string `json:"delegation_id"`
	Delegator  string `json:"delegator"`
	Delegate   string `json:"delegate"`
	Pattern    string `json:"pattern"`
	// RequireApproval are the patterns that approval is wanted for, of those that overlap
	// Pattern; of WhoCan those that match the action.
	RequireApproval []string `json:"require_approval_for,omitempty"`
	// Conditional is set where the delegation has conditions, which are asked of the
	// context of each question.
	Conditional bool `json:"conditional,omitempty"`
}

// WhatCan answers what somebody can do at a moment: the patterns of the delegations in force, in the order of
// their ids and as each has them. An agent that is not active can do nothing. What policies say
// is asked of an action, by Decide.
func (w *World) WhatCan(delegate string, at time.Time) []Grant {
	w.mu.RLock()
	defer w.mu.RUnlock()
	h := w.holders[name(delegate)]
	if h == nil || !w.mayAct(delegate) {
		return nil
	}
	var grants []Grant
	for _, d := range h.held {
		if d.state(at) != stateInForce {
			continue
		}
		for _, p := range d.Scope {
			grants = append(grants, d.grant(p, p.Overlaps))
		}
	}
	return grants
}

// WhoCan answers who can perform an action at a moment: the delegations in force that cover it, by the
// ids of the delegations, each with the pattern that does. Delegates that are agents and
// not active are left out.
func (w *World) WhoCan(action string, at time.Time) []Grant {
	if checkName(action) != nil {
		return nil
	}
	w.mu.RLock()
	defer w.mu.RUnlock()
	var grants []Grant
	var seen []*Delegation
	for _, list := range w.granted.about(nil, action) {
		for _, d := range list {
			if d.state(at) == stateInForce && w.mayAct(d.Delegate) {
				seen = append(seen, d)
			}
		}
	}
	slices.SortFunc(seen, func(a, b *Delegation) int { return strings.Compare(a.ID, b.ID) })
	for _, d := range slices.Compact(seen) {
		p, _ := matching(d.Scope, action)
		grants = append(grants, d.grant(p, func(p Pattern) bool { return p.Matches(action) }))
	}
	return grants
}

// mayAct tells whether somebody is no agent that is not active.
func (w *World) mayAct(principal string) bool {
	a := w.agents[name(principal)]
	return a == nil || a.Status == AgentActive
}

func (d *Delegation) grant(p Pattern, about func(Pattern) bool) Grant {
	g := Grant{Delegation: d.ID, Delegator: d.Delegator, Delegate: d.Delegate, Pattern: p.text, Conditional: len(d.Conditions) > 0}
	for _, r := range d.RequireApproval {
		if about(r) {
			g.RequireApproval = append(g.RequireApproval, r.text)
		}
	}
	return g
}
