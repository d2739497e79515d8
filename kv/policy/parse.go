package policy

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/stoadb/stoa/kv/policy/condition"
)

// FieldError says which field of a document decisions can't be made by, and why.
type FieldError struct {
	Field  string // as constraints.max_uses, rules[0].condition; "" is the document
	Reason string
	// Cause is the error of the condition where the field is one, and else nil.
	Cause error
}

// Error says field and reason.
func (e *FieldError) Error() string {
	if e.Field == "" {
		return "policy: " + e.Reason
	}
	return "policy: " + e.Field + ": " + e.Reason
}

// Unwrap returns the cause.
func (e *FieldError) Unwrap() error { return e.Cause }

// ParseAgent reads what decisions need of an agent's document, and is strict about it: what
// is missing or of another kind is a *FieldError. So are ParseDelegation, ParsePolicy and ParseSettings. Other
// fields are not looked at.
func ParseAgent(doc []byte) (*Agent, error) {
	r := newReader(doc)
	a := &Agent{ID: r.text("agent_id", true)}
	status := r.text("status", true)
	if a.Status = agentStatuses[status]; a.Status == 0 {
		r.fail("status", "%q is none of active, disabled and pending", status)
	}
	a.RequireApproval = r.object("config").patterns("require_human_approval_for")
	return a, r.failed()
}

// ParseDelegation reads a delegation's document. Its conditions are compiled.
func ParseDelegation(doc []byte) (*Delegation, error) {
	r := newReader(doc)
	d := &Delegation{
		ID:        r.text("delegation_id", true),
		Delegator: r.text("delegator", true),
		Delegate:  r.text("delegate", true),
		Scope:     r.patterns("scope"),
		Active:    r.flag("active", true),
		Revoked:   r.has("revoked_at"),
		Uses:      r.count("uses_count"),
	}
	if len(d.Scope) == 0 {
		r.fail("scope", "it is empty")
	}
	c := r.object("constraints")
	d.RequireApproval = c.patterns("require_approval_for")
	d.From, d.Until = c.instant("valid_from"), c.instant("valid_until")
	d.Limited, d.MaxUses = c.has("max_uses"), c.count("max_uses")
	for i, source := range c.texts("conditions") {
		d.Conditions = append(d.Conditions, c.condition(fmt.Sprintf("conditions[%d]", i), source))
	}
	return d, r.failed()
}

// ParsePolicy reads a policy's document. The conditions of its rules are compiled.
func ParsePolicy(doc []byte) (*Policy, error) {
	r := newReader(doc)
	p := &Policy{ID: r.text("policy_id", true), Scope: r.pattern("scope", r.text("scope", true)), Active: r.flag("active", true)}
	seen := map[string]bool{}
	for i, one := range r.objects("rules") {
		rule := one.rule()
		if seen[rule.ID] {
			r.fail(fmt.Sprintf("rules[%d].rule_id", i), "%s is there twice", rule.ID)
		}
		seen[rule.ID] = true
		p.Rules = append(p.Rules, rule)
	}
	return p, r.failed()
}

// ParseSettings reads a tenant's settings. What is not there is false.
func ParseSettings(doc []byte) (*Settings, error) {
	r := newReader(doc)
	s := &Settings{
		DefaultDeny:         r.flag("default_deny", false),
		StrictChain:         r.flag("strict_chain", false),
		AllowUnknownIntents: r.flag("allow_unknown_intents", false),
	}
	return s, r.failed()
}

// reader takes fields out of an object by their exact names. It keeps the first error, which
// is shared by those of objects inside.
type reader struct {
	path   string // of the object, with a dot at its end
	fields map[string]json.RawMessage
	first  *error
}

func newReader(doc []byte) reader {
	r := reader{first: new(error)}
	if _ = json.Unmarshal(doc, &r.fields); r.fields == nil { // nothing is read of what is no object
		r.fail("", "it is no JSON object")
	}
	return r
}

func (r reader) failed() error { return *r.first }

func (r reader) fail(field, format string, args ...any) {
	if *r.first == nil {
		*r.first = &FieldError{Field: r.path + field, Reason: fmt.Sprintf(format, args...)}
	}
}

// has tells whether there is a field that is not null.
func (r reader) has(field string) bool {
	raw, ok := r.fields[field]
	return ok && string(raw) != "null"
}

// into reads a field; what is absent or null is left as it is, and an error if it is required.
func (r reader) into(field string, value any, want string, required bool) {
	if !r.has(field) {
		if required {
			r.fail(field, "it is missing")
		}
		return
	}
	if err := json.Unmarshal(r.fields[field], value); err != nil {
		r.fail(field, "it is no %s", want)
	}
}

func (r reader) text(field string, required bool) (text string) {
	r.into(field, &text, "string", required)
	if text == "" && required {
		r.fail(field, "it is empty")
	}
	return text
}

func (r reader) texts(field string) (texts []string) {
	r.into(field, &texts, "list of strings", false)
	return texts
}

func (r reader) flag(field string, required bool) (flag bool) {
	r.into(field, &flag, "boolean", required)
	return flag
}

func (r reader) number(field string, required bool, most float64) int64 {
	n := 0.0
	r.into(field, &n, "number", required)
	if n != math.Trunc(n) || n < 0 || n > most {
		r.fail(field, "it is no integer of 0 to %s", strconv.FormatFloat(most, 'f', -1, 64))
		return 0
	}
	return int64(n)
}

func (r reader) count(field string) int64 { return r.number(field, false, 1<<53-1) }

func (r reader) instant(field string) (at time.Time) {
	text := r.text(field, false)
	if text == "" {
		if r.has(field) {
			r.fail(field, "it is empty")
		}
		return at
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		r.fail(field, "it is no instant of ISO 8601")
	}
	return at.UTC()
}

func (r reader) pattern(field, text string) Pattern {
	p, err := ParsePattern(text)
	if err != nil {
		r.fail(field, "%v", err)
	}
	return p
}

func (r reader) patterns(field string) (patterns []Pattern) {
	for i, text := range r.texts(field) {
		patterns = append(patterns, r.pattern(fmt.Sprintf("%s[%d]", field, i), text))
	}
	return patterns
}

// object returns the object in a field; one without fields if it is absent.
func (r reader) object(field string) reader {
	inner := reader{path: r.path + field + ".", first: r.first}
	r.into(field, &inner.fields, "object", false)
	return inner
}

func (r reader) objects(field string) (list []reader) {
	var all []map[string]json.RawMessage
	r.into(field, &all, "list of objects", true)
	for i, fields := range all {
		list = append(list, reader{fmt.Sprintf("%s%s[%d].", r.path, field, i), fields, r.first})
	}
	return list
}

func (r reader) condition(field, source string) *condition.Program {
	p, err := condition.Compile(source)
	if err != nil && *r.first == nil {
		*r.first = &FieldError{Field: r.path + field, Reason: err.Error(), Cause: err}
	}
	return p
}

func (r reader) rule() Rule {
	rule := Rule{
		ID:        r.text("rule_id", true),
		Priority:  int(r.number("priority", true, MaxPriority)),
		Reason:    r.text("reason", false),
		Transform: r.text("transform_fn", false),
	}
	action := r.text("action", true)
	if at := slices.Index(actionNames[:], action); at > 0 {
		rule.Action = Action(at)
	} else {
		r.fail("action", "%q is none of allow, deny, require_human_approval and transform", action)
	}
	if rule.Action == ActionTransform && rule.Transform == "" {
		r.fail("transform_fn", "it is missing, and the action is transform")
	}
	rule.Condition = r.condition("condition", r.text("condition", true))
	return rule
}
