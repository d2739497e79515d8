package namespace

import (
	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/group"
)

// AnswerKind is what has become of an op that was offered. The zero AnswerKind is none.
type AnswerKind uint8

// The kinds of answer.
const (
	Stored    AnswerKind = iota + 1 // it is one of the DAG now
	Duplicate                       // it was before
	Pending                         // it waits for ancestors
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
	Dropped   []codec.OpID  // of Pending: ops that waited longest, and had to make room

	Equivocation *group.Equivocation   // of Stored: others have its signer and nonce; it and the first of them
	Cascade      []Answer              // ops that have waited for this one
	Changed      []group.VerdictChange // verdicts on other ops that have changed with the batch in which this one was written

	root  *Answer   // of one in a cascade: the answer whose cascade it is
	later []*Answer // what Cascade will be
}

// Proposed is what this node has added to a namespace.
type Proposed struct {
	Answer Answer     // to the op that was proposed
	Wire   [][]byte   // all ops that go with it, in order: what to send to others
	Keys   []GroupKey // the new keys among them
}
