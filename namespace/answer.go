package namespace

import (
	"errors"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
)

// AnswerKind is what has become of an op that was offered. The zero AnswerKind is none.
type AnswerKind uint8

// The kinds of answer.
const (
	Stored    AnswerKind = iota + 1 // it is one of the DAG now
	Duplicate                       // it was before
	Pending                         // it waits for ancestors, or, where none is missing, for somebody to build on it: see [Options]
	Refused                         // nothing of it is kept
)

var answers = []string{"none", "stored", "duplicate", "pending", "refused"}

// String returns "stored", "duplicate", "pending", "refused", or "none".
func (k AnswerKind) String() string { return answers[int(k)%len(answers)] }

// Answer is what has become of an op.
type Answer struct {
	Kind      AnswerKind
	Namespace codec.GroupID
	ID        codec.OpID
	Verdict   group.Verdict // of Stored and Duplicate: as it is now
	Missing   []codec.OpID  // of Pending: parents that are not here, in the order of the parents
	Refusal   *Refusal      // of Refused
	Dropped   []codec.OpID  // of Pending: ops of the namespace that waited longest of those of whom most waits, and had to make room

	Equivocation *group.Equivocation   // of Stored: others have its signer and nonce; it and the first of them
	Cascade      []Answer              // ops that have waited for this one
	Changed      []group.VerdictChange // verdicts on other ops that have changed with the batch in which this one was written

	root  *Answer   // of one in a cascade: the answer whose cascade it is
	later []*Answer // what Cascade will be
}

// ErrRefused marks every [*Refusal].
var ErrRefused = errors.New("namespace: op refused")

// Refusal says why an op is refused. Nothing of it is stored, and but for [NotFollowed],
// which is a matter of this node, no later op or key could change that: it is a function of
// the op and of what is clear of its ancestors.
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

// The reasons. The numbers go over the wire.
const (
	BadForm         RefusalReason = iota + 1 // a limit, an order, an id that is not that of its content
	BadSignature                             // of the signer, the inviter or the joiner
	Replay                                   // a nonce that the signer has used among the op's ancestors
	BadNonce                                 // a nonce beyond the next
	Stranger                                 // a signer of whom none of the ancestors knows
	UnknownKey                               // a key that no ancestor introduced, or delivered by one who has it not
	RefusedAncestor                          // an ancestor was refused, so that it never will stand on its ancestors
	UnknownGroup                             // a group that no ancestor creates in the namespace
	NotFollowed                              // this node does not take ops of its namespace: [Store.FollowNamespace]
)

var refusalReasons = []string{"none", "form", "signature", "replay", "bad nonce", "stranger", "unknown key", "refused ancestor", "unknown group", "not followed"}

// String returns "form", "signature", "replay", "bad nonce", "stranger", "unknown key",
// "refused ancestor", "unknown group", "not followed", or "none".
func (r RefusalReason) String() string { return refusalReasons[int(r)%len(refusalReasons)] }

// Proposed is what this node has added to a namespace.
type Proposed struct {
	Answer Answer     // to the op that was proposed
	Wire   [][]byte   // all ops that go with it, in order: what to send to others
	Keys   []GroupKey // the new keys among them
}
