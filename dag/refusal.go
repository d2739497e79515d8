package dag

import (
	"errors"
	"fmt"

	"github.com/stoadb/stoa/codec"
)

// ErrRefused marks the refusal of a delta. The error is a [*Refusal].
var ErrRefused = errors.New("dag: refused")

// RefusalReason says why a delta is refused. The zero RefusalReason is none. The
// numbers are stored and sent: they do not change.
type RefusalReason uint8

// The reasons. Those from BadTime on are a function of a delta with a right id
// and of its ancestors: such refusals are listed and remembered.
const (
	BadID           RefusalReason = 1 + iota // its id is not the one that it was offered as
	BadForm                                  // parents out of order, a key twice, no bytes
	OverLimit                                // more parents, actions or bytes than there may be
	BadTime                                  // its stamp is not after those of its parents
	RootMismatch                             // its expected root is not that of its causal cut
	RefusedAncestor                          // it descends from a delta that is refused
)

// String returns the reason as messages and tables spell it.
func (r RefusalReason) String() string {
	switch r {
	case BadID:
		return "bad_id"
	case BadForm:
		return "bad_form"
	case OverLimit:
		return "over_limit"
	case BadTime:
		return "bad_time"
	case RootMismatch:
		return "root_mismatch"
	case RefusedAncestor:
		return "refused_ancestor"
	}
	return fmt.Sprintf("RefusalReason(%d)", uint8(r))
}

// Listed reports whether refusals for this reason are remembered.
func (r RefusalReason) Listed() bool { return r >= BadTime && r <= RefusedAncestor }

// Refusal says which delta is refused, and why. Every node that has the delta and
// its ancestors says the same.
type Refusal struct {
	Delta    codec.DeltaID
	Reason   RefusalReason
	Ancestor codec.DeltaID // RefusedAncestor: a parent that is refused; BadTime: the parent
	Expected codec.Hash    // RootMismatch: what the delta says
	Computed codec.Hash    // RootMismatch: the root of its causal cut
	Detail   string        // for people; at most 512 bytes
}

// Error names the delta, the reason and what to look at.
func (r *Refusal) Error() string {
	s := fmt.Sprintf("dag: delta %s refused: %s", r.Delta, r.Reason)
	switch r.Reason {
	case RootMismatch:
		s += fmt.Sprintf(": it expects the root %s, its ancestors and itself make %s", r.Expected, r.Computed)
	case RefusedAncestor, BadTime:
		s += fmt.Sprintf(": parent %s", r.Ancestor)
	}
	if r.Detail != "" {
		s += ": " + r.Detail
	}
	return s
}

// Is reports whether target is [ErrRefused].
func (r *Refusal) Is(target error) bool { return target == ErrRefused }

// maxDetail bounds what a refusal row says to people.
const maxDetail = 512

// appendBinary appends the row of a refusal:
//
//	delta_id 32 ‖ reason u8 ‖ ancestor 32 ‖ expected 32 ‖ computed 32 ‖ detail
func (r *Refusal) appendBinary(dst []byte) []byte {
	dst = append(append(dst, r.Delta[:]...), byte(r.Reason))
	dst = append(append(append(dst, r.Ancestor[:]...), r.Expected[:]...), r.Computed[:]...)
	return append(dst, r.Detail[:min(len(r.Detail), maxDetail)]...)
}

// parseRefusal returns the refusal of a row, and false if it is none.
func parseRefusal(b []byte) (r Refusal, ok bool) {
	const fixed = 4*32 + 1
	if len(b) < fixed || len(b) > fixed+maxDetail || !RefusalReason(b[32]).Listed() {
		return r, false
	}
	return Refusal{Delta: codec.DeltaID(b), Reason: RefusalReason(b[32]), Ancestor: codec.DeltaID(b[33:]),
		Expected: codec.Hash(b[65:]), Computed: codec.Hash(b[97:]), Detail: string(b[fixed:])}, true
}
