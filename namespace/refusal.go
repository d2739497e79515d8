package namespace

import (
	"errors"

	"github.com/stoadb/stoa/codec"
)

// ErrRefused marks every [*Refusal].
var ErrRefused = errors.New("namespace: op refused")

// Refusal says why an op is refused. Nothing of it is stored, and no later op or key
// could change that: it is a function of the op and of what is clear of its ancestors.
type Refusal struct {
	Op     codec.OpID
	Reason RefusalReason
	Detail string // for people
}

// Error returns, for example, "namespace: op 3f… refused: replay: nonce 3, the next is 7".
func (r *Refusal) Error() string {
	return "namespace: op " + r.Op.String() + " refused: " + r.Reason.String() + ": " + r.Detail
}

// Is reports whether target is [ErrRefused], as which every Refusal counts.
func (r *Refusal) Is(target error) bool { return target == ErrRefused }

// RefusalReason says in one word why an op is refused. The zero RefusalReason is none.
type RefusalReason uint8

// The reasons.
const (
	BadForm         RefusalReason = iota + 1 // a limit, an order, an id that is not that of its content
	BadSignature                             // of the signer, the inviter or the joiner
	Replay                                   // a nonce that the signer has used among the op's ancestors
	BadNonce                                 // a nonce beyond the next
	Stranger                                 // a signer of whom none of the ancestors knows
	UnknownGroup                             // a group that no ancestor creates in the namespace
	UnknownKey                               // a key that no ancestor introduced, or delivered by one who has it not
	RefusedAncestor                          // an ancestor was refused, so that it never will stand on its ancestors
)

var refusalReasons = []string{"none", "form", "signature", "replay", "bad nonce", "stranger", "unknown group", "unknown key", "refused ancestor"}

// String returns "form", "signature", "replay", "bad nonce", "stranger", "unknown group",
// "unknown key", "refused ancestor", or "none".
func (r RefusalReason) String() string { return refusalReasons[int(r)%len(refusalReasons)] }
