package lock

import (
	"strings"

	"github.com/stoadb/stoa/kv"
)

// The terms of index 1: of each holder its agent ‖ 00 ‖ `t` of a task or `r` of a resource.
const (
	ofTask     = 't'
	ofResource = 'r'
)

// agentKey reports whether a record is that of an agent.
func agentKey(key []byte) bool { return strings.HasPrefix(string(key), agentWord+":") }

func agentTerms(key, value []byte) (terms [][]byte) {
	if agentKey(key) {
		return nil
	}
	state, err := parseState("", value)
	if err != nil {
		return nil // the check finds it
	}
	what := byte(ofResource)
	if exclusiveOnly(string(key)) {
		what = ofTask
	}
	for i := range state.holders {
		terms = append(terms, append([]byte(state.holders[i].agent), 0, what))
	}
	return terms
}

// sharedTerms has one term, which is empty, of a lock that several hold.
func sharedTerms(key, value []byte) [][]byte {
	if agentKey(key) {
		return nil
	}
	if state, err := parseState("", value); err != nil || len(state.holders) < 2 {
		return nil
	}
	return [][]byte{{}}
}

// termsOf is the range of the terms of an agent.
func termsOf(agent string) (from, to []byte) {
	return append([]byte(agent), 0), append([]byte(agent), 1)
}

// heldBy returns the names of locks that an agent holds, and whether there are more.
func (u *turn) heldBy(agent string) (names []string, more bool, err error) {
	from, to := termsOf(agent)
	found, more, err := u.tx.ByTerm(indexAgent, from, to, kv.MaxTxRead)
	for _, f := range found {
		names = append(names, string(f.Key))
	}
	return names, more, err
}
