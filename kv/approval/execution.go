package approval

import (
	"context"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/record"
)

// What an execution comes to.
const (
	resultSuccess   = "success"
	resultFailure   = "failure"
	resultTimeout   = "timeout"
	resultCancelled = "cancelled"
)

// held returns the expectation that an agent holds the lock of a task by the grant that has
// a token.
func (s *Store) held(tenant, id, agent string, token uint64) (*lock.Guarded, error) {
	if s.o.Locks == nil {
		return nil, refuse(CodeUnsupported, Tasks, "token", "there are no locks, by which tasks are applied")
	}
	if agent == "" || token == 0 {
		return nil, malformed(Tasks, "execution.agent_id", "a task is applied by an agent that holds the lock %s: name the agent, and the token of its grant", lock.Task(id))
	}
	l, err := s.o.Locks.Get(tenant, lock.Task(id))
	if err != nil {
		return nil, err
	}
	for _, g := range l.Holders {
		if g.Token == token && g.Agent != agent {
			return nil, &lock.Error{Code: lock.CodeFenced, Field: "token", Lock: l.Name, Token: token, Holders: []string{g.Agent},
				Reason: "the token is that of another agent's grant"}
		}
	}
	return s.o.Locks.Guards(tenant, lock.Guard{Name: lock.Task(id), Token: token})
}

// mayTake is how long it may take to apply a task.
func (u *turn) mayTake(d record.Doc) time.Duration {
	limit := time.Duration(number(d, "config.timeout_seconds")) * time.Second
	if limit == 0 {
		limit = u.set.TaskTimeout
	}
	return max(limit, minimalTimeout)
}

// begin has an agent apply a task from now on.
func (u *turn) begin(d record.Doc, m *Move, patch, payload fields) error {
	deadline := u.Now().Add(u.mayTake(d))
	retries := number(d, "execution.retry_count")
	if m.Retry {
		retries++
	}
	payload["agent_id"], payload["retry_count"] = m.Agent, retries
	patch["execution"] = fields{
		"agent_id": m.Agent, "token": m.Token, "started_at": document.FormatInstant(u.Now()), "deadline_at": document.FormatInstant(deadline), "retry_count": retries,
		"completed_at": nil, "result": nil, "output": nil, "output_bytes": nil, "output_key": nil, "error": nil, "error_details": nil,
	}
	return u.later(QueueTaskTimeout, "task_id", d.ID, deadline)
}

// end notes what has come of applying a task.
func (u *turn) end(d record.Doc, m *Move, patch, payload fields) error {
	o := &m.Outcome
	switch {
	case o.Result != resultSuccess && o.Result != resultFailure && m.By != system:
		return malformed(Tasks, "execution.result", "an agent completes a task with %s or %s", resultSuccess, resultFailure)
	case m.By != system && text(d, "execution.agent_id") != m.Agent:
		return refuse(CodeForbidden, Tasks, "execution.agent_id", "another agent applies the task")
	}
	done := fields{"result": o.Result, "completed_at": document.FormatInstant(u.Now())}.with("error", o.Error).with("output_key", o.OutputKey)
	if o.Output != "" {
		done["output"], done["output_bytes"] = cut(o.Output), len(o.Output)
	}
	if o.ErrorDetails != nil {
		details, err := document.Canonical(o.ErrorDetails)
		if err != nil {
			return malformed(Tasks, "execution.error_details", "%s", err)
		}
		done["error_details"] = details
	}
	patch["execution"] = done
	payload["result"], payload["agent_id"], payload["retry_count"] = o.Result, text(d, "execution.agent_id"), number(d, "execution.retry_count")
	payload.with("error", o.Error[:min(len(o.Error), MaxReason)]).with("output_key", o.OutputKey)["started_at"] = text(d, "execution.started_at")
	if m.By == system {
		return nil // the job is being done, and has more to do
	}
	return u.never(QueueTaskTimeout, d.ID)
}

// cut is what of an output stays in the task: no character is halved.
func cut(output string) string {
	if len(output) <= MaxOutput {
		return output
	}
	n := MaxOutput
	for n > 0 && !utf8.RuneStart(output[n]) {
		n--
	}
	return output[:n]
}

// keepOutput keeps all of a long output, unless the caller has done so, before the batch.
func (s *Store) keepOutput(ctx context.Context, tenant string, o *Outcome) (err error) {
	const most = 16 << 20
	if len(o.Output) > most {
		return tooMany(Tasks, "execution.output", most, len(o.Output), "the output is too long: keep it elsewhere, and name its key")
	}
	if !utf8.ValidString(o.Output) {
		return malformed(Tasks, "execution.output", "an output is UTF-8")
	}
	if len(o.Output) > MaxOutput && o.OutputKey == "" && s.o.Output != nil {
		o.OutputKey, err = s.o.Output(ctx, tenant, []byte(o.Output))
	}
	return err
}

// TimeOut ends the execution of a task that has taken for longer than it may, and frees its
// lock; of any other it changes nothing. It returns the task, or record.ErrNotFound.
func (s *Store) TimeOut(ctx context.Context, tenant, id string) (d record.Doc, err error) {
	err = s.do(ctx, tenant, engine.WAL, func(u *turn) error {
		if d, err = u.Get(Tasks, id); err != nil {
			return err
		}
		deadline, err := document.ParseInstant(text(d, "execution.deadline_at"))
		if text(d, "state") != Applying || err == nil && u.Now().Before(deadline) {
			return nil
		}
		d, err = u.move(d, &Move{To: Completed, By: system, Outcome: Outcome{Result: resultTimeout, Error: "it has taken for longer than it may"}})
		return err
	})
	if err != nil || text(d, "execution.result") != resultTimeout || s.o.Locks == nil {
		return d, err
	}
	// Where the process ends before this, the job comes again.
	_, err = s.o.Locks.Release(ctx, tenant, lock.Holding{Name: lock.Task(id), Agent: text(d, "execution.agent_id"), Token: uint64(number(d, "execution.token"))}, engine.WAL)
	if errors.Is(err, lock.ErrNotHolder) {
		err = nil
	}
	return d, err
}
