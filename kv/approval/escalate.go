package approval

import (
	"context"
	"strconv"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/record"
)

// Escalate does with an approval that is due what its request says: rejects it, approves it
// if its risk is LOW and the tenant has auto_approve_low_risk enabled, or asks the next of
// escalate_to, with as much time as a new request has by the configuration. Where there is nobody left to
// ask it stays, and is overdue. Of an approval that is not due, or has its answer, nothing
// changes. It returns the approval, or record.ErrNotFound.
func (s *Store) Escalate(ctx context.Context, tenant, id string) (d record.Doc, err error) {
	err = s.do(ctx, tenant, engine.WAL, func(u *turn) error {
		if d, err = u.Get(Approvals, id); err != nil {
			return err
		}
		due, err := document.ParseInstant(text(d, "due_at"))
		if !open(d) || is(d, "overdue") || err == nil && u.Now().Before(due) {
			return nil
		}
		d, err = u.escalate(d)
		return err
	})
	return d, err
}

func (u *turn) escalate(d record.Doc) (record.Doc, error) {
	status, action := "", ""
	switch wanted := text(d, "on_timeout"); {
	case wanted == "auto_reject":
		status, action = Rejected, Reject
	case wanted == "auto_approve" && u.set.AutoApproveLowRisk && text(d, "risk_level") == low:
		status, action = Approved, Approve
	default:
		return u.askNext(d)
	}
	d, err := u.ends(d, status, fields{"response_action": action, "reviewed_by": system, "response_reason": "nobody has answered in time"}, system)
	if err != nil {
		return d, err
	}
	return d, u.settle(d, action)
}

// askNext asks whom an approval is escalated to.
func (u *turn) askNext(d record.Doc) (record.Doc, error) {
	list, n := texts(d, "escalate_to"), int(number(d, "escalations"))
	if n >= len(list) {
		d, err := u.Update(Approvals, d.ID, []byte(`{"overdue":true}`), record.UpdateOptions{})
		if err != nil {
			return d, err
		}
		if err := u.never(QueueApprovalTimeout, d.ID); err != nil {
			return d, err
		}
		return d, u.tell(StreamApprovals, EventApprovalOverdue, of(d).with("reviewer_id", holder(d)))
	}
	from, due := text(d, "status"), u.Now().Add(u.set.ApprovalTimeout)
	d, err := u.Update(Approvals, d.ID, fields{"status": Pending, "reviewer_id": list[n], "reviewer_name": nil, "delegated_to": nil, "delegation_chain": nil,
		"no_delegation": nil, "escalations": n + 1, "due_at": document.FormatInstant(due)}.json(), record.UpdateOptions{})
	if err != nil {
		return d, err
	}
	if err := u.later(QueueApprovalTimeout, "approval_id", d.ID, due); err != nil {
		return d, err
	}
	return d, u.tell(StreamApprovals, EventApprovalEscalated, of(d).with("from", from).with("to", Pending).with("reviewer_id", list[n]))
}

// EscalateDue escalates all approvals of a tenant that are due, of the queue of all, and
// returns how many: for whoever runs without jobs.
func (s *Store) EscalateDue(ctx context.Context, tenant string) (n int, err error) {
	view, err := s.records.View(tenant)
	if err != nil {
		return 0, err
	}
	defer func() { _ = view.Close() }()
	until := strconv.FormatInt(view.Time().Unix()+1, 10)
	q := record.Query{Filters: []record.Filter{{Index: "by_due", To: []byte(until)}}, Limit: 1000}
	for {
		page, err := view.List(ctx, Approvals, q)
		if err != nil {
			return n, err
		}
		for _, d := range page.Docs {
			now, err := s.Escalate(ctx, tenant, d.ID)
			if gone(err) != nil {
				return n, err
			}
			if err == nil && now.Revision != d.Revision {
				n++
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return n, nil
		}
	}
}
