package lock

import (
	"iter"
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
	what := byte(ofResource)
	if exclusiveOnly(string(key)) {
		what = ofTask
	}
	for agent := range holdersOf(value) {
		terms = append(terms, append(append(make([]byte, 0, len(agent)+2), agent...), 0, what))
	}
	return terms
}

// holdersOf yields the agents that a record says hold the lock, without a copy; of a
// damaged record, which the check finds, some.
func holdersOf(value []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		r := reader{src: value}
		r.take(3)
		r.bytes()
		for n := r.u16(); n > 0 && !r.short; n-- {
			r.take(holderBytes)
			agent := r.bytes()
			r.bytes()
			if r.short || !yield(agent) {
				return
			}
		}
	}
}

// sharedTerms has one term, which is empty, of a lock that several hold.
func sharedTerms(key, value []byte) [][]byte {
	if agentKey(key) {
		return nil
	}
	n := 0
	for range holdersOf(value) {
		if n++; n == 2 {
			return [][]byte{{}}
		}
	}
	return nil
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
