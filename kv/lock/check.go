package lock

import (
	"fmt"

	"github.com/stoadb/stoa/kv"
)

// Fault is what is wrong with a record of the space of locks, looked at by itself and
// whether it has expired or not; "": nothing.
func Fault(r *kv.Record) string {
	if agentKey(r.Key) {
		if _, err := parseAgent(string(r.Key), r.Value); err != nil {
			return err.Error()
		}
		return ""
	}
	if _, _, err := ParseName(string(r.Key)); err != nil {
		return err.Error()
	}
	state, err := parseState(string(r.Key), r.Value)
	switch {
	case err != nil:
		return err.Error()
	case len(state.holders) == 0:
		return "nobody holds it"
	case r.Expires.IsZero() || millis(r.Expires) != state.last():
		return "it does not expire with its last holder"
	case state.mode != Exclusive && exclusiveOnly(string(r.Key)):
		return "the lock of a task is shared"
	}
	if last := state.holders[len(state.holders)-1]; last.token > r.Revision {
		return fmt.Sprintf("a token of %d in revision %d", last.token, r.Revision)
	}
	return ""
}
