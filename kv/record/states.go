package record

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/stoadb/stoa/kv/document"
)

// States is the state machine of a collection, over a field that is a string.
type States struct {
	Field   string `json:"field"`
	Initial string `json:"initial"` // of a document that is made without one
	// Transitions are the states that each may go over to. A state that is not named goes
	// nowhere; from a state to itself is no transition.
	Transitions map[string][]string `json:"transitions"`
	// In is what holds in a state.
	In map[string]*State `json:"in"`

	path document.Path
}

// State is what holds while a record is in a state.
type State struct {
	Requires []string `json:"requires"` // fields that it has, neither null nor ""
	Stamp    string   `json:"stamp"`    // the field that has the time at which the state was first come to; set once
	Clears   []string `json:"clears"`   // fields that are removed when the state is left

	requires, clears []document.Path
	stamp            document.Path // nil: none
}

func (c *Collection) compileStates() *Error {
	s := c.States
	if s == nil {
		return nil
	}
	if s.Field == "" || s.Initial == "" {
		return invalid("states", "the field of the state, and the initial one, are required")
	}
	s.path = document.ParsePath(s.Field)
	for name, in := range s.In {
		if in == nil {
			return invalid("states.in."+name, "it is an object")
		}
		in.requires, in.clears = parsePaths(in.Requires...), parsePaths(in.Clears...)
		if in.Stamp != "" {
			in.stamp = document.ParsePath(in.Stamp)
		}
		if in.Stamp != "" && !c.schema.isInstant(document.ParsePath(in.Stamp)) {
			return invalid("states.in."+name, "the schema does not say that %s is a date-time", in.Stamp)
		}
		c.fix(in.Stamp)
	}
	return nil
}

// of is the state of a document; "" if it has none.
func (s *States) of(doc json.RawMessage) string {
	state, _ := document.Text(document.Field(doc, s.path))
	return state
}

// in is what holds in a state.
func (s *States) in(state string) *State {
	if in := s.In[state]; in != nil {
		return in
	}
	return new(State)
}

// legal refuses what is no transition.
func (s *States) legal(from, to string) error {
	if from == to || slices.Contains(s.Transitions[from], to) {
		return nil
	}
	next := slices.Sorted(slices.Values(s.Transitions[from]))
	if len(next) == 0 {
		return refuse(CodeIllegalTransition, s.Field, "%s is final: nothing follows it", shortened(from))
	}
	return refuse(CodeIllegalTransition, s.Field, "from %s a record goes to one of %q, not to %s", shortened(from), next, shortened(to))
}

// enter returns a document that has come from a state, "" if it is new, to the one that
// it has: without the fields that went with the state before, with the time.
func (s *States) enter(doc json.RawMessage, from string, now time.Time) json.RawMessage {
	to := s.of(doc)
	if from == to {
		return doc
	}
	for i, p := range s.in(from).clears {
		if !slices.Contains(s.in(to).Clears, s.In[from].Clears[i]) {
			doc = document.Merge(doc, document.With(null, p, null))
		}
	}
	if stamp := s.in(to).stamp; stamp != nil && absent(doc, stamp) {
		doc = document.With(doc, stamp, document.FromText(document.FormatInstant(now)))
	}
	return doc
}

// complete refuses a document that lacks what its state requires.
func (s *States) complete(doc json.RawMessage) error {
	state := s.of(doc)
	for _, p := range s.in(state).requires {
		if absent(doc, p) {
			return malformed(p.String(), "it is required where %s is %s", s.Field, state)
		}
	}
	return nil
}

// absent reports whether a document lacks a field, or has null or "" there.
func absent(doc json.RawMessage, p document.Path) bool {
	value := document.Field(doc, p)
	return value == nil || string(value) == "null" || string(value) == `""`
}
