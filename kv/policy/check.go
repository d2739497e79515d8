package policy

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/record"
)

// checks are the rules of a collection that depend on other records. They are asked in
// the batch of the change, and read a bounded number of records.
var checks = map[string]func(tx *record.Tx, old, changed record.Doc) error{
	Agents:      checkAgent,
	Intents:     checkIntent,
	Delegations: checkDelegation,
	Approvals:   checkApproval,
}

// Bounds of what a check reads.
const (
	// MaxDepth is how many intents an intent may be below.
	MaxDepth = 64
	// MaxChain is how many delegations may lead from a user, an organization or the
	// system to an agent, with the setting strict_chain.
	MaxChain = 8
	// maxHeld is how many delegations to one delegate a check of the chain looks at, and
	// maxChainReads how many delegates.
	maxHeld       = 256
	maxChainReads = 64
)

func text(d record.Doc, field string) string {
	s, _ := document.Text(document.Field(d.JSON, document.ParsePath(field)))
	return s
}

func is(d record.Doc, field string) bool {
	return string(document.Field(d.JSON, document.ParsePath(field))) == "true"
}

// checkAgent refuses that an agent becomes active while a policy that it requires is not.
func checkAgent(tx *record.Tx, old, changed record.Doc) error {
	if changed.JSON == nil || text(changed, "status") != "active" {
		return nil
	}
	required := document.Path{"policies_required"}
	if old.JSON != nil && text(old, "status") == "active" && bytes.Equal(document.Field(old.JSON, required), document.Field(changed.JSON, required)) {
		return nil
	}
	for value := range document.Elements(document.Field(changed.JSON, required)) {
		id, _ := document.Text(value)
		p, err := tx.Get(Policies, id)
		if err != nil && !errors.Is(err, record.ErrNotFound) {
			return err
		}
		if err != nil || !is(p, "active") {
			return record.Precondition(id, "the agent requires the policy, which is not there or not active: make it, or leave the agent pending")
		}
	}
	return nil
}

// checkIntent refuses a parent that is not there, or that the intent is itself above.
func checkIntent(tx *record.Tx, old, changed record.Doc) error {
	const field = "parent_intent_id"
	parent := text(changed, field)
	if parent == "" || old.JSON != nil && text(old, field) == parent {
		return nil
	}
	for range MaxDepth {
		if parent == changed.ID {
			return &record.Error{Code: record.CodeValidation, Field: field, Reason: "the intent would be a part of itself"}
		}
		above, err := tx.Get(Intents, parent)
		if errors.Is(err, record.ErrNotFound) {
			return &record.Error{Code: record.CodeNotFound, Field: field, Reason: "there is no such intent to be a part of"}
		}
		if err != nil {
			return err
		}
		if parent = text(above, field); parent == "" {
			return nil
		}
	}
	return &record.Error{Code: record.CodeValidation, Field: field, Limit: MaxDepth, Reason: "the intent would be below too many others"}
}

// settings are those of the tenant.
func settings(tx *record.Tx) (Settings, error) {
	d, err := tx.Get(TenantRules, SettingsID)
	if errors.Is(err, record.ErrNotFound) {
		return Settings{}, nil
	}
	if err != nil {
		return Settings{}, err
	}
	s, err := ParseSettings(d.JSON)
	if err != nil {
		return Settings{}, err
	}
	return *s, nil
}

// isRoot reports whether somebody may delegate what nobody has delegated to them.
func isRoot(principal string) bool {
	return principal == system || strings.HasPrefix(principal, "user:") || strings.HasPrefix(principal, "org:")
}

// system is who acts where no user does.
const system = "blackroad.system"

// checkDelegation refuses, where the tenant wants it, that somebody delegates what they
// don't hold themselves.
func checkDelegation(tx *record.Tx, old, changed record.Doc) error {
	scope := document.Path{"scope"}
	if changed.JSON == nil || !is(changed, "active") {
		return nil
	}
	if old.JSON != nil && is(old, "active") && bytes.Equal(document.Field(old.JSON, scope), document.Field(changed.JSON, scope)) {
		return nil
	}
	delegator := text(changed, "delegator")
	if isRoot(delegator) {
		return nil
	}
	if s, err := settings(tx); err != nil || !s.StrictChain {
		return err
	}
	c := chain{tx, map[string][]held{}}
	for value := range document.Elements(document.Field(changed.JSON, scope)) {
		pattern, _ := document.Text(value)
		p, err := ParsePattern(pattern)
		if err != nil {
			return refusal(invalid("scope", "%v", err))
		}
		leads, err := c.leads(delegator, p)
		if err != nil {
			return err
		}
		if !leads {
			return record.Precondition("scope", "the delegator does not hold %s itself, by at most %d delegations from a user, an organization or %s", pattern, MaxChain-1, system)
		}
	}
	return nil
}

// chain looks for delegations that lead to somebody.
type chain struct {
	tx   *record.Tx
	held map[string][]held // by delegate: what is in force
}

// held is what a delegation lets somebody do.
type held struct {
	delegator string
	scope     []Pattern
}

// leads reports whether delegations of a pattern lead from a root to somebody, with the
// one that is asked about at most MaxChain.
func (c *chain) leads(who string, p Pattern) (bool, error) {
	seen := map[string]bool{name(who): true}
	level := []string{name(who)}
	for range MaxChain - 1 {
		var next []string
		for _, delegate := range level {
			held, err := c.of(delegate)
			if err != nil {
				return false, err
			}
			for _, h := range held {
				above := name(h.delegator)
				if seen[above] || !slices.ContainsFunc(h.scope, func(s Pattern) bool { return s.Covers(p) }) {
					continue
				}
				if isRoot(h.delegator) {
					return true, nil
				}
				seen[above] = true
				next = append(next, above)
			}
		}
		level = next
	}
	return false, nil
}

// of is what somebody holds, who is no root: an agent, by its name.
func (c *chain) of(who string) (list []held, err error) {
	if list, known := c.held[who]; known {
		return list, nil
	}
	if len(c.held) == maxChainReads {
		return nil, record.Precondition("scope", "delegations of more than %d agents lie on the ways to the delegator: too many to look at", maxChainReads)
	}
	for _, delegate := range []string{"agent:" + who, who} {
		docs, more, err := c.tx.Find(Delegations, record.Equal("by_delegate", delegate), maxHeld)
		if err != nil {
			return nil, err
		}
		if more {
			return nil, record.Precondition("scope", "an agent on the way to the delegator holds more than %d delegations: too many to look at", maxHeld)
		}
		for _, d := range docs {
			if c.tx.InForce(Delegations, d) && !exhausted(d) {
				list = append(list, held{text(d, "delegator"), patternsOf(d)})
			}
		}
	}
	c.held[who] = list
	return list, nil
}

// patternsOf are the patterns of a delegation.
func patternsOf(d record.Doc) (list []Pattern) {
	for value := range document.Elements(document.Field(d.JSON, document.Path{"scope"})) {
		if pattern, _ := document.Text(value); pattern != "" {
			list = append(list, Pattern{pattern})
		}
	}
	return list
}

// number is an integer that a document has in a field; false if it has none.
func number(d record.Doc, field string) (int64, bool) {
	n, err := strconv.ParseInt(string(document.Field(d.JSON, document.ParsePath(field))), 10, 64)
	return n, err == nil
}

// exhausted reports whether a delegation has no uses left.
func exhausted(d record.Doc) bool {
	most, limited := number(d, "constraints.max_uses")
	uses, _ := number(d, "uses_count")
	return limited && uses >= most
}
