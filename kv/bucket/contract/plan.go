package contract

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stoadb/stoa/kv/document"
)

// Class is what a plan, or a change of it, asks of an operator.
type Class string

// Classes.
const (
	ClassUnchanged Class = "unchanged" // of a plan without a change
	ClassUpdate    Class = "update"    // nothing that is stored is lost or refused
	ClassMigration Class = "migration" // something may be: it is to be acknowledged
)

// What is what a change is of: an alias itself, or a field of one.
type What string

// What changes are of, in the order in which a plan has those of an alias.
const (
	WhatRemove        What = "remove"
	WhatAdd           What = "add"
	WhatPurpose       What = "purpose"
	WhatRequired      What = "required"
	WhatHistory       What = "history"
	WhatTTL           What = "ttlMs"
	WhatMaxValueBytes What = "maxValueBytes"
	WhatSchema        What = "schema"
)

// Plan is what accepting a contract changes: by alias in order, and of each in the order of
// What. It is the same for the same two contracts.
type Plan struct {
	Class   Class    `json:"class"` // migration if that of one change is
	Changes []Change `json:"changes"`
}

// Change is one change of a plan.
type Change struct {
	Alias string `json:"alias"`
	What  What   `json:"what"`
	// From and To are the values before and after, as JSON: of a field, where null is no bound,
	// or of all of an alias that is removed or added. A schema stands there by its digest.
	From   json.RawMessage `json:"from,omitempty"`
	To     json.RawMessage `json:"to,omitempty"`
	Class  Class           `json:"class"`
	Reason string          `json:"reason"` // why it is of this class, for an operator
	// Path is where a new schema may refuse stored values, or Unchecked which of its
	// properties they may have already, as JSON pointers into it (see Verdict).
	Path      string   `json:"path,omitempty"`
	Unchecked []string `json:"unchecked,omitempty"`
}

// Compare says what a proposed contract changes of the accepted one, nil if none is. It
// returns ErrContract if they are of different services.
func Compare(accepted, proposed *Contract) (*Plan, error) {
	if accepted == nil {
		accepted = &Contract{Service: proposed.Service}
	}
	if accepted.Service != proposed.Service {
		return nil, refused("/service", "the accepted contract is that of %s: another service has a contract of its own", accepted.Service)
	}
	plan := &Plan{Class: ClassUnchanged, Changes: []Change{}}
	for _, old := range accepted.Aliases {
		if proposed.Alias(old.Name) == nil {
			plan.add(old.removed())
		}
	}
	for _, a := range proposed.Aliases {
		if old := accepted.Alias(a.Name); old == nil {
			plan.add(a.added())
		} else {
			plan.add(old.changes(a)...)
		}
	}
	slices.SortStableFunc(plan.Changes, func(a, b Change) int { return strings.Compare(a.Alias, b.Alias) })
	return plan, nil
}

func (p *Plan) add(changes ...Change) {
	for _, c := range changes {
		p.Changes = append(p.Changes, c)
		if c.Class == ClassMigration || p.Class == ClassUnchanged {
			p.Class = c.Class
		}
	}
}

// shown is an alias as a plan shows it.
func (a *Alias) shown() json.RawMessage {
	return a.append(nil, document.FromText(a.Schema.Digest()))
}

func (a *Alias) removed() Change {
	return Change{Alias: a.Name, What: WhatRemove, From: a.shown(), Class: ClassMigration,
		Reason: "the service loses the bucket and what is in it; an alias that is renamed is removed and added, and its values stay behind"}
}

func (a *Alias) added() Change {
	return Change{Alias: a.Name, What: WhatAdd, To: a.shown(), Class: ClassUpdate, Reason: "a bucket is made; no other is touched"}
}

// changes are those from an alias to another of the same name.
func (a *Alias) changes(to *Alias) (list []Change) {
	add := func(what What, from, to json.RawMessage, class Class, reason string, args ...any) {
		if string(from) != string(to) {
			list = append(list, Change{Alias: a.Name, What: what, From: from, To: to, Class: class, Reason: fmt.Sprintf(reason, args...)})
		}
	}
	add(WhatPurpose, document.FromText(a.Purpose), document.FromText(to.Purpose), ClassUpdate, "it says what the bucket is for, and nothing goes by it")
	add(WhatRequired, truth(a.Required), truth(to.Required), ClassUpdate, "the bucket is there in any case; code that is generated from the contract sees it as %s", map[bool]string{true: "required", false: "optional"}[to.Required])

	from, into := number(a.History), number(to.History)
	if to.History >= a.History {
		add(WhatHistory, from, into, ClassUpdate, "more revisions of a key are kept from now on")
	} else {
		add(WhatHistory, from, into, ClassMigration, "only the newest %d of the %d revisions of a key stay", to.History, a.History)
	}
	from, into = number(a.TTLMs), number(to.TTLMs)
	if longer(a.TTLMs, to.TTLMs) {
		add(WhatTTL, from, into, ClassUpdate, "values live longer than they did")
	} else {
		add(WhatTTL, from, into, ClassMigration, "values that are older than %d ms are gone at once, and others earlier than they were to be", to.TTLMs)
	}
	from, into = orNull(a.MaxValueBytes), orNull(to.MaxValueBytes)
	if longer(a.MaxValueBytes, to.MaxValueBytes) {
		add(WhatMaxValueBytes, from, into, ClassUpdate, "greater values may be written than before")
	} else {
		add(WhatMaxValueBytes, from, into, ClassMigration, "values of more than %d bytes can't be written any more; those that are stored stay", to.MaxValueBytes)
	}
	return append(list, a.Schema.change(a.Name, to.Schema)...)
}

func truth(b bool) json.RawMessage { return strconv.AppendBool(nil, b) }

func number[N int | int64](n N) json.RawMessage { return strconv.AppendInt(nil, int64(n), 10) }

// longer reports whether a bound is at least as far as another, where 0 is none.
func longer(from, to int64) bool { return to == 0 || from != 0 && to >= from }

// change is what becomes of the values of an alias whose schema is another; nothing if it is
// the same text.
func (s *Schema) change(alias string, to *Schema) []Change {
	if string(s.text) == string(to.text) {
		return nil
	}
	c := Change{Alias: alias, What: WhatSchema, From: document.FromText(s.Digest()), To: document.FromText(to.Digest()), Class: ClassUpdate}
	verdict := to.Widens(s)
	c.Path, c.Unchecked = verdict.Path, verdict.Unchecked
	switch {
	case verdict.Same:
		c.Reason = "it allows the same values: only what describes them is another"
	case verdict.Compatible && len(verdict.Unchecked) > 0:
		c.Reason = "it allows every value that was allowed, unless one has a property already that is declared only now"
	case verdict.Compatible:
		c.Reason = "it allows every value that was allowed"
	default:
		c.Class = ClassMigration
		c.Reason = "it may refuse values that are stored, or change what they mean: " + verdict.Reason
	}
	return []Change{c}
}

// Digest is the SHA-256 of the schema in canonical form, in base64url without padding.
func (s *Schema) Digest() string { return digestOf(s.text) }
