package approval

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/record"
)

// Move is a transition of a task.
type Move struct {
	To string
	// From is the state that the task is to be in, else it is record.ErrConflict; "": any.
	From string
	// By is who moves it, and Reason why: for the event.
	By, Reason string
	// Agent applies the task, and Token is that of its grant of the lock task:ID: to APPLYING
	// and to COMPLETED.
	Agent string
	Token uint64
	// Retry has a task that has failed, or timed out, applied again.
	Retry bool
	// Outcome is what has come of it: to COMPLETED.
	Outcome Outcome

	Durability engine.Durability
}

// Outcome is what has come of applying a task.
type Outcome struct {
	Result string // success or failure
	// Output is what it has printed, of which MaxOutput bytes are kept in the task. OutputKey
	// names where all of it is; "": the store keeps it, if it is given something to.
	Output, OutputKey string
	Error             string          // for people
	ErrorDetails      json.RawMessage // for programs: any JSON; nil: none
}

// follows are the transitions that there are.
var follows = map[string][]string{
	Draft:     {Submitted, Cancelled},
	Submitted: {Reviewing, Cancelled, Approved},
	Reviewing: {Approved, Rejected, Draft, Cancelled},
	Approved:  {Applying, Cancelled},
	Applying:  {Completed, Cancelled},
	Rejected:  {Draft},
}

// Move brings a task to another state, and returns it. It returns record.ErrNotFound;
// record.ErrIllegalTransition, and record.ErrConflict where the task is not in Move.From;
// record.ErrPrecondition where something else comes before, as the answers of a review;
// lock.ErrFenced where the agent does not hold the task's lock.
func (s *Store) Move(ctx context.Context, tenant, id string, m Move) (moved record.Doc, err error) {
	if !slices.Contains(States, m.To) {
		return moved, malformed(Tasks, "state", "the states are %q", States)
	}
	if len(m.Reason) > MaxReason {
		return moved, tooMany(Tasks, "reason", MaxReason, len(m.Reason), "the reason is too long")
	}
	if err := notSystem(Tasks, m.By); err != nil {
		return moved, err
	}
	var held *lock.Guarded
	if m.To == Applying || m.To == Completed {
		if held, err = s.held(tenant, id, m.Agent, m.Token); err != nil {
			return moved, err
		}
	}
	if m.To == Completed {
		if err := s.keepOutput(ctx, tenant, &m.Outcome); err != nil {
			return moved, err
		}
	}
	err = s.do(ctx, tenant, m.Durability, func(u *turn) error {
		if held != nil {
			if err := held.Check(u.Work()); err != nil {
				return err
			}
		}
		d, err := u.Get(Tasks, id)
		if err == nil {
			err = asked(d, &m)
		}
		if err != nil {
			return err
		}
		if moved, err = u.move(d, &m); err != nil {
			return err
		}
		if m.To == Submitted && u.passes(moved) {
			moved, err = u.move(moved, &Move{To: Approved, By: system, Reason: "its risk is low"})
		}
		return err
	})
	return moved, err
}

// asked refuses a transition that there is none of, or that is not for callers to make.
func asked(d record.Doc, m *Move) error {
	from := text(d, "state")
	if m.From != "" && m.From != from {
		e := refuse(record.CodeConflict, Tasks, "state", "the task is %s, not %s: look at it again, and decide anew", from, m.From)
		e.Revision = d.Revision
		return e
	}
	result := text(d, "execution.result")
	again := m.Retry && from == Completed && m.To == Applying && (result == resultFailure || result == resultTimeout)
	switch next := follows[from]; {
	case again:
	case m.Retry:
		return refuse(record.CodeIllegalTransition, Tasks, "state", "a task is applied again once it has failed or timed out; this one is %s", from)
	case len(next) == 0:
		return refuse(record.CodeIllegalTransition, Tasks, "state", "%s is final: nothing follows it", from)
	case !slices.Contains(next, m.To):
		return refuse(record.CodeIllegalTransition, Tasks, "state", "from %s a task goes to one of %q, not to %s", from, next, m.To)
	}
	return nil
}

// move makes a transition that there is.
func (u *turn) move(d record.Doc, m *Move) (record.Doc, error) {
	from, patch, payload := text(d, "state"), fields{}, fields{}
	var err error
	switch {
	case from == Reviewing && m.To != Cancelled && m.By != system:
		err = u.unasked(d)
	case m.To == Approved && from == Submitted && !u.passes(d):
		err = refuse(record.CodePrecondition, Tasks, "state", "it passes without a review only if its risk is LOW, and the tenant has auto_approve_low_risk enabled")
	case m.To == Reviewing:
		patch["round"] = number(d, "round") + 1
	case m.To == Applying:
		err = u.begin(d, m, patch, payload)
	case m.To == Completed:
		err = u.end(d, m, patch, payload)
	case from == Applying: // and cancelled
		patch["execution"] = fields{"result": resultCancelled, "completed_at": document.FormatInstant(u.Now())}
		payload["result"] = resultCancelled
		err = u.never(QueueTaskTimeout, d.ID)
	}
	if err != nil {
		return d, err
	}
	moved, err := u.Transition(Tasks, d.ID, m.To, patch.json(), record.UpdateOptions{})
	if err != nil {
		return d, err
	}
	if from == Reviewing {
		if err := u.closeOpen(d, "not needed: the task is "+m.To); err != nil {
			return d, err
		}
	}
	payload["task_id"], payload["from"], payload["to"] = d.ID, from, m.To
	return moved, u.tell(StreamTasks, EventTaskState, payload.with("by", m.By).with("reason", m.Reason))
}

// system is who acts where nobody does: by the clock, or by what others have answered.
const system = "system"

// notSystem refuses a caller that says it is the system.
func notSystem(collection, by string) error {
	if by == system {
		return malformed(collection, "by", "%s is who acts where nobody does: say who you are", system)
	}
	return nil
}

// unasked refuses to decide about a task that people are asked about.
func (u *turn) unasked(d record.Doc) error {
	list, err := u.ofRound(d)
	if err == nil && len(list) > 0 {
		err = refuse(record.CodePrecondition, Tasks, "state", "people are asked about the task, whose answers decide")
	}
	return err
}

// passes reports whether a task needs no review.
func (u *turn) passes(d record.Doc) bool {
	return u.set.AutoApproveLowRisk && text(d, "risk.level") == low && is(d, "risk.auto_approvable")
}
