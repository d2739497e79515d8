package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/stoadb/stoa/kv/policy/condition"
)

// World is what the decisions of a tenant are made by, in memory: its agents,
// delegations, policies and settings, so that what is about an action is found
// without looking at the rest. The zero World is empty and ready to use. It is safe for
// concurrent use: a decision sees all of an Apply or nothing of it, and
// evaluates conditions without holding anybody up.
type World struct {
	mu          sync.RWMutex
	settings    Settings
	agents      map[string]*Agent
	delegations map[string]*Delegation
	policies    map[string]*Policy
	holders     map[string]*holder // by the name of the delegate
	granted     scoped[*Delegation]
	rules       scoped[ranked]

	envs sync.Pool // of *condition.Env
}

// holder is what somebody was delegated.
type holder struct {
	held    []*Delegation // by id; never changed
	granted scoped[*Delegation]
}

// ranked is a rule in the order of D7: priority, action, policy, place.
type ranked struct {
	*Rule
	policy string
	place  int
	reason string
}

func compareRanked(a, b ranked) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Action, b.Action), compareOrigin(a, b))
}

// compareOrigin is the order of rules that say the same with the same priority.
func compareOrigin(a, b ranked) int {
	return cmp.Or(strings.Compare(a.policy, b.policy), cmp.Compare(a.place, b.place))
}

// compareGrants is the order in which delegations are used: those that are not used up by it
// first, then by id.
func compareGrants(a, b *Delegation) int {
	switch {
	case a.Limited == b.Limited:
		return strings.Compare(a.ID, b.ID)
	case a.Limited:
		return 1
	}
	return -1
}

// Record is something that a world is made of: *Agent, *Delegation, *Policy, *Settings, and
// Removed.
type Record interface {
	apply(w *World)
}

// Kind is a kind of record.
type Kind uint8

// The kinds of records.
const (
	KindAgent Kind = iota + 1
	KindDelegation
	KindPolicy
	KindSettings
)

// Removed takes a record out of a world. Settings have no id.
type Removed struct {
	Kind Kind
	ID   string
}

// Apply puts records into the world, in place of those with the same ids, or removes them: all at once.
// They belong to the world from then on, and must not be changed any more.
//
// A record that can't be parsed must not be left out in silence. Of a policy put
// UnreadablePolicy; disable the agent; remove the delegation; have settings deny by
// default.
func (w *World) Apply(records ...Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range records {
		r.apply(w)
	}
}

// UnreadablePolicy returns what stands for a policy that is there and can't be understood: it
// denies everything.
func UnreadablePolicy(id string, cause error) *Policy {
	rule := Rule{Action: ActionDeny, Priority: MaxPriority, Reason: fmt.Sprintf("policy %s can't be read: %v", id, cause)}
	return &Policy{ID: id, Scope: Pattern{"*"}, Active: true, Rules: []Rule{rule}}
}

// Settings returns the settings as they are.
func (w *World) Settings() Settings {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.settings
}

func (s *Settings) apply(w *World) { w.settings = *s }

func (a *Agent) apply(w *World) {
	if w.agents == nil {
		w.agents = map[string]*Agent{}
	}
	w.agents[a.ID] = a
}

func (d *Delegation) apply(w *World) {
	w.removeDelegation(d.ID)
	if w.delegations == nil {
		w.delegations, w.holders = map[string]*Delegation{}, map[string]*holder{}
	}
	w.delegations[d.ID] = d
	delegate := name(d.Delegate)
	h := w.holders[delegate]
	if h == nil {
		h = &holder{}
		w.holders[strings.Clone(delegate)] = h
	}
	at, _ := slices.BinarySearchFunc(h.held, d.ID, func(d *Delegation, id string) int { return strings.Compare(d.ID, id) })
	h.held = slices.Insert(slices.Clone(h.held), at, d)
	for _, p := range d.Scope {
		h.granted.add(p, compareGrants, d)
		w.granted.add(p, compareGrants, d)
	}
}

func (p *Policy) apply(w *World) {
	w.removePolicy(p.ID)
	if w.policies == nil {
		w.policies = map[string]*Policy{}
	}
	w.policies[p.ID] = p
	if !p.Active {
		return
	}
	rules := make([]ranked, len(p.Rules))
	for i := range p.Rules {
		rules[i] = ranked{&p.Rules[i], p.ID, i, cmp.Or(p.Rules[i].Reason, "rule "+p.Rules[i].ID+" of "+p.ID)}
	}
	w.rules.add(p.Scope, compareRanked, rules...)
}

func (r Removed) apply(w *World) {
	switch r.Kind {
	case KindAgent:
		delete(w.agents, r.ID)
	case KindDelegation:
		w.removeDelegation(r.ID)
	case KindPolicy:
		w.removePolicy(r.ID)
	case KindSettings:
		w.settings = Settings{}
	}
}

func (w *World) removeDelegation(id string) {
	d := w.delegations[id]
	if d == nil {
		return
	}
	delete(w.delegations, id)
	gone := func(other *Delegation) bool { return other == d }
	h := w.holders[name(d.Delegate)]
	for _, p := range d.Scope {
		h.granted.remove(p, gone)
		w.granted.remove(p, gone)
	}
	if h.held = slices.DeleteFunc(slices.Clone(h.held), gone); len(h.held) == 0 {
		delete(w.holders, name(d.Delegate))
	}
}

func (w *World) removePolicy(id string) {
	p := w.policies[id]
	if p == nil {
		return
	}
	delete(w.policies, id)
	w.rules.remove(p.Scope, func(r ranked) bool { return r.policy == id })
}

// view is what a world has about a question, as it is at one moment.
type view struct {
	settings Settings
	agent    *Agent // nil: there is none of that name
	held     []*Delegation
	grants   [][]*Delegation // of the delegate, that cover the action
	rules    [][]ranked      // of active policies of the action
}

// room is where the lists of a view find place without being allocated, for as many as
// actions usually have segments.
type room struct {
	grants [6][]*Delegation
	rules  [6][]ranked
}

// look returns what there is about a question. It is good for as long as the room is.
func (w *World) look(q *Question, r *room) (v view) {
	who := name(q.Agent)
	w.mu.RLock()
	defer w.mu.RUnlock()
	v.settings = w.settings
	v.agent = w.agents[who]
	if h := w.holders[who]; h != nil {
		v.held = h.held
		v.grants = h.granted.about(r.grants[:0], q.Action)
	}
	v.rules = w.rules.about(r.rules[:0], q.Action)
	return v
}

// env lends an environment for the conditions of a question.
func (w *World) env(q *Question) *condition.Env {
	env, ok := w.envs.Get().(*condition.Env)
	if !ok {
		env = &condition.Env{}
	}
	env.Agent, env.Action, env.Context = name(q.Agent), q.Action, q.Context
	return env
}

// giveBack takes it back.
func (w *World) giveBack(env *condition.Env) {
	env.Agent, env.Action, env.Context = "", "", nil
	w.envs.Put(env)
}
