package dag

import (
	"errors"
	"fmt"
	"time"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/engine"
)

// Errors of a [Store].
var (
	// ErrNoContext is returned for a context that is not in the store.
	ErrNoContext = errors.New("dag: no such context")
	// ErrExists is returned by CreateContext for a context that is in the store.
	ErrExists = errors.New("dag: the context exists")
	// ErrNoDelta is returned for a delta that is not in the context.
	ErrNoDelta = errors.New("dag: no such delta")
	// ErrClosed is returned by all calls after Close.
	ErrClosed = errors.New("dag: closed")
	// ErrAdopting is returned while a snapshot takes the place of a context.
	ErrAdopting = errors.New("dag: the context is being replaced by a snapshot: try again")
)

// AnswerKind is what became of a delta that was offered. The zero AnswerKind is
// none. The numbers are sent: they do not change.
type AnswerKind uint8

// The kinds of answers.
const (
	Applied        AnswerKind = 1 + iota // it is part of the state
	Pending                              // it is kept, and waits
	Duplicate                            // it was here: applied, or waiting
	TooEarly                             // its stamp is too far ahead of the clock: nothing is kept, offer it again
	Refused                              // it is wrong, here and on every other node
	BeforeSnapshot                       // it is from before what the context was seeded with: nothing is kept
)

// String returns the kind as messages and tables spell it.
func (k AnswerKind) String() string {
	switch k {
	case Applied:
		return "applied"
	case Pending:
		return "pending"
	case Duplicate:
		return "duplicate"
	case TooEarly:
		return "early"
	case Refused:
		return "refused"
	case BeforeSnapshot:
		return "before_snapshot"
	}
	return fmt.Sprintf("AnswerKind(%d)", uint8(k))
}

// Answer says what became of a delta that was offered to [Store.Add].
type Answer struct {
	Kind       AnswerKind
	ID         codec.DeltaID
	Applied    []codec.DeltaID // Applied: the delta, and those that had waited for it, in the order of application
	Refused    []Refusal       // those that had waited for it and are refused now
	Missing    []codec.DeltaID // Pending: the parents that are not here, neither applied nor waiting, in ascending order
	Verifying  bool            // Pending: all parents are applied; the root of its causal cut is being computed
	RetryAfter time.Duration   // TooEarly: when to offer it again, by the physical clock; at least 1 ns
	Refusal    *Refusal        // Refused: why
	Evicted    []codec.DeltaID // waiting deltas that were thrown out to make room, the oldest first
	Dropped    []codec.DeltaID // waiting deltas that were thrown out because they wait for one from before the snapshot
	Seq        uint64          // Applied: its number in the order of application
	Root       codec.Hash      // of the context, after all this
}

// RootMoved is the conflict of a commit whose execution has read another root
// than the context has. It is engine.ErrConflict.
type RootMoved struct {
	Context codec.ContextID
	Read    codec.Hash // what the execution has read
	Have    codec.Hash // what the context has now
}

// Error names both roots and what to do.
func (e *RootMoved) Error() string {
	return fmt.Sprintf("dag: context %s: conflict: the execution read the root %s, the root is %s: execute again on the present state",
		e.Context, e.Read, e.Have)
}

// Is reports whether target is engine.ErrConflict.
func (e *RootMoved) Is(target error) bool { return target == engine.ErrConflict }
