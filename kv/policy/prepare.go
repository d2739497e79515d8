package policy

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/record"
)

// prepares are what documents are made to be before their schema is asked: what a schema
// can't say is refused, as conditions that don't compile.
var prepares = map[string]func(json.RawMessage) (json.RawMessage, error){
	Policies: preparing(func(doc json.RawMessage) (json.RawMessage, error) {
		if _, err := ParsePolicy(named(doc, "policy_id")); err != nil {
			return nil, err
		}
		return sortRules(doc), nil
	}),
	Ledger: preparing(prepareEvent),
	Agents: preparing(func(doc json.RawMessage) (json.RawMessage, error) {
		_, err := ParseAgent(named(doc, "agent_id"))
		return doc, err
	}),
	Intents: preparing(func(doc json.RawMessage) (json.RawMessage, error) { return doc, checkPlan(doc) }),
	Delegations: preparing(func(doc json.RawMessage) (json.RawMessage, error) {
		d, err := ParseDelegation(named(doc, "delegation_id"))
		if err == nil && d.Revoked && d.Active {
			err = invalid("active", "the delegation is revoked, which is for good: make another one")
		}
		return doc, err
	}),
	TenantRules: preparing(func(doc json.RawMessage) (json.RawMessage, error) {
		_, err := ParseSettings(doc)
		return doc, err
	}),
}

// preparing has refusals of a field be those of records.
func preparing(fn func(json.RawMessage) (json.RawMessage, error)) func(json.RawMessage) (json.RawMessage, error) {
	return func(doc json.RawMessage) (json.RawMessage, error) {
		doc, err := fn(doc)
		return doc, refusal(err)
	}
}

// named is a document with an id, which a new one has not been given yet.
func named(doc json.RawMessage, field string) json.RawMessage {
	at := document.Path{field}
	if document.Field(doc, at) != nil {
		return doc
	}
	return document.With(doc, at, document.FromText("new"))
}

// refusal is an error of a field as records have it, who write rules.0.action for
// rules[0].action; any other as it is.
func refusal(err error) error {
	var e *FieldError
	if !errors.As(err, &e) {
		return err
	}
	field := strings.NewReplacer("[", ".", "]", "").Replace(e.Field)
	return &record.Error{Code: record.CodeValidation, Field: field, Reason: e.Reason}
}

// sortRules puts the rules of a policy into the order of their priorities, the highest
// first; those of one priority stay as they stand.
func sortRules(doc json.RawMessage) json.RawMessage {
	priority := func(rule json.RawMessage) int {
		n, _ := strconv.Atoi(string(document.Field(rule, document.Path{"priority"})))
		return n
	}
	at := document.Path{"rules"}
	rules := slices.Collect(document.Elements(document.Field(doc, at)))
	slices.SortStableFunc(rules, func(a, b json.RawMessage) int { return priority(b) - priority(a) })
	sorted := []byte{'['}
	for i, rule := range rules {
		if i > 0 {
			sorted = append(sorted, ',')
		}
		sorted = append(sorted, rule...)
	}
	return document.With(doc, at, append(sorted, ']'))
}

// checkPlan refuses a plan whose steps are not numbered in ascending order.
func checkPlan(doc json.RawMessage) error {
	last := 0
	at := 0
	for step := range document.Elements(document.Field(doc, document.Path{"plan"})) {
		n, err := strconv.Atoi(string(document.Field(step, document.Path{"step"})))
		if err != nil || n <= last {
			return invalid("plan."+strconv.Itoa(at)+".step", "the steps have numbers from 1 on, each greater than that of the step before")
		}
		last, at = n, at+1
	}
	return nil
}
