package lock

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The words that names of locks begin with.
const (
	taskWord     = "task"
	resourceWord = "resource"
)

// Task is the name of a task's lock, which is exclusive.
func Task(id string) string { return taskWord + ":" + id }

// Resource is the name of a resource's lock, which may be shared.
func Resource(kind, id string) string { return resourceWord + ":" + kind + ":" + id }

// ParseName returns the parts of a lock's name: kind is "" of a task. It returns
// ErrInvalidArgument for a name that is no lock's.
func ParseName(name string) (kind, id string, err error) {
	if len(name) > MaxName {
		e := invalid("name", "the name has %d bytes, at most %d", len(name), MaxName)
		e.Limit, e.Have = MaxName, uint64(len(name))
		return "", "", e
	}
	word, id, _ := strings.Cut(name, ":")
	switch word {
	case taskWord:
	case resourceWord:
		var cut bool
		if kind, id, cut = strings.Cut(id, ":"); !cut || kind == "" || len(kind) > MaxType {
			return "", "", invalid("name", "a resource is resource:TYPE:ID, with a TYPE of 1 to %d bytes", MaxType)
		}
	default:
		return "", "", invalid("name", "a lock is task:ID or resource:TYPE:ID")
	}
	if id == "" {
		return "", "", invalid("name", "a lock is task:ID or resource:TYPE:ID, and the ID is missing")
	}
	if err := checkText("name", name); err != nil {
		return "", "", err
	}
	for _, view := range views {
		if strings.HasSuffix(id, view) {
			return "", "", invalid("name", "an ID does not end with %s: a literal key means something else by it", view)
		}
	}
	return kind, id, nil
}

// views are what the literal keys of a lock end with that name something of it.
var views = []string{":queue", ":channel"}

// exclusiveOnly reports whether a lock can't be shared.
func exclusiveOnly(name string) bool { return strings.HasPrefix(name, taskWord+":") }

func checkAgent(agent string) error {
	if agent == "" || len(agent) > MaxAgent {
		e := invalid("agent", "an agent's name has %d bytes; it has 1 to %d", len(agent), MaxAgent)
		e.Limit, e.Have = MaxAgent, uint64(len(agent))
		return e
	}
	return checkText("agent", agent)
}

// checkText refuses what can't be shown in a literal key: in those, braces are left out.
func checkText(field, text string) error {
	if !utf8.ValidString(text) {
		return invalid(field, "it is no UTF-8")
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r == '{' || r == '}' || unicode.IsControl(r) }) {
		return invalid(field, "it has a brace or a control character, which literal keys can't show")
	}
	return nil
}
