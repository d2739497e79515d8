package approval

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/record"
)

// What people answer.
const (
	Approve        = "approve"
	Reject         = "reject"
	RequestChanges = "request_changes"
)

// Answer is what somebody answers.
type Answer struct {
	Approval string
	By       string // who is asked
	Action   string // Approve, Reject or RequestChanges
	Reason   string // at most MaxReason bytes
}

// Respond gives an approval its answer, once; what it makes of the task lands in the same
// batch. It returns record.ErrNotFound; ErrForbidden for who is not asked;
// ErrAlreadyResponded, with the first answer.
func (s *Store) Respond(ctx context.Context, tenant string, a Answer, d engine.Durability) (answered record.Doc, err error) {
	if err := a.check(); err != nil {
		return answered, err
	}
	err = s.do(ctx, tenant, d, func(u *turn) error {
		answered, err = u.respond(&a)
		return err
	})
	return answered, err
}

// RespondAll gives several approvals their answers, all of them or none: in one batch. It
// returns ErrUnsupported unless the tenant's configuration has batch_approvals enabled,
// and ErrBatchRefused where one is refused, which names all that are.
func (s *Store) RespondAll(ctx context.Context, tenant string, list []Answer, d engine.Durability) (answered []record.Doc, err error) {
	if !s.o.Settings(tenant).BatchApprovals {
		return nil, refuse(CodeUnsupported, Approvals, "", "answers are given one by one: the tenant has not enabled batch_approvals")
	}
	if len(list) == 0 || len(list) > MaxBatch {
		return nil, tooMany(Approvals, "answers", MaxBatch, len(list), "1 to %d answers are given together", MaxBatch)
	}
	err = s.do(ctx, tenant, d, func(u *turn) error {
		answered = nil
		var refused []map[string]string
		for i := range list {
			err := list[i].check()
			var one record.Doc
			if err == nil {
				one, err = u.respond(&list[i])
			}
			var e *record.Error
			switch {
			case errors.As(err, &e):
				refused = append(refused, map[string]string{"approval_id": list[i].Approval, "code": string(e.Code), "message": e.Reason})
			case err != nil:
				return err
			}
			answered = append(answered, one)
		}
		if refused != nil {
			return detailed(refuse(CodeBatchRefused, Approvals, "answers", "%d of %d answers are refused, the first %s: %s; none counts", len(refused), len(list), refused[0]["approval_id"], refused[0]["message"]), refused)
		}
		return nil
	})
	if err != nil {
		answered = nil
	}
	return answered, err
}

func (a *Answer) check() error {
	if !slices.Contains([]string{Approve, Reject, RequestChanges}, a.Action) {
		return malformed(Approvals, "response_action", "an answer is %s, %s or %s", Approve, Reject, RequestChanges)
	}
	if a.By == "" {
		return malformed(Approvals, "reviewed_by", "say who answers")
	}
	if len(a.Reason) > MaxReason {
		return tooMany(Approvals, "response_reason", MaxReason, len(a.Reason), "the reason is too long")
	}
	return notSystem(Approvals, a.By)
}

// respond writes an answer.
func (u *turn) respond(a *Answer) (record.Doc, error) {
	d, err := u.Get(Approvals, a.Approval)
	if err != nil {
		if d, err = u.archived(a.Approval, err); err != nil {
			return d, err
		}
	}
	if !open(d) {
		return d, responded(d)
	}
	if holder(d) != a.By {
		return d, refuse(CodeForbidden, Approvals, "reviewed_by", "somebody else is asked: %s answers this one", holder(d))
	}
	status := Rejected
	if a.Action == Approve {
		status = Approved
	}
	d, err = u.ends(d, status, fields{"response_action": a.Action, "reviewed_by": a.By}.with("response_reason", a.Reason), a.By)
	if err != nil {
		return d, err
	}
	return d, u.settle(d, a.Action)
}

// responded is the refusal of a second answer.
func responded(d record.Doc) error {
	first := map[string]string{"approval_id": d.ID}
	for _, field := range []string{"status", "response_action", "response_reason", "reviewed_by", "responded_at"} {
		if s := text(d, field); s != "" {
			first[field] = s
		}
	}
	return detailed(refuse(CodeAlreadyResponded, Approvals, "status", "it is %s since %s: an answer is given once", first["status"], first["responded_at"]), first)
}

// archiveAfter is how long an approval that has ended stays; the declaration says so too.
const archiveAfter = 30 * 24 * time.Hour

// ends brings an approval to a state in which it waits for nothing.
func (u *turn) ends(d record.Doc, status string, patch fields, by string) (record.Doc, error) {
	ended, err := u.Transition(Approvals, d.ID, status, patch.json(), record.UpdateOptions{})
	if err != nil {
		return d, err
	}
	if err := u.never(QueueApprovalTimeout, d.ID); err != nil {
		return d, err
	}
	if at, err := document.ParseInstant(text(ended, "responded_at")); err == nil {
		if err := u.later(QueueArchive, "approval_id", d.ID, at.Add(archiveAfter)); err != nil {
			return d, err
		}
	}
	payload := of(d).with("from", text(d, "status")).with("to", status).with("by", by).with("action", text(ended, "response_action")).with("reason", text(ended, "response_reason"))
	return ended, u.tell(StreamApprovals, EventApprovalState, payload)
}

// settle has a task go on, where the answers of its round are enough.
func (u *turn) settle(d record.Doc, action string) error {
	t, err := u.Get(Tasks, text(d, "task_id"))
	if errors.Is(err, record.ErrNotFound) {
		return nil // its time was over before an answer came
	}
	if err != nil || text(t, "state") != Reviewing || number(t, "round") != number(d, "round") {
		return err
	}
	list, err := u.ofRound(t)
	if err != nil {
		return err
	}
	m := Move{By: system}
	switch c := count(t, list); {
	case action == RequestChanges:
		m.To, m.Reason = Draft, text(d, "response_reason")
	case c.QuorumReached:
		m.To = Approved
	case len(list)-c.Rejected < c.Required:
		m.To, m.Reason = Rejected, text(d, "response_reason")
	default:
		return nil
	}
	_, err = u.move(t, &m)
	return err
}
