package approval

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/record"
)

// The queues that jobs of this package wait in; see [Store.Run].
const (
	QueueApprovalTimeout = "approval_timeout"
	QueueTaskTimeout     = "task_timeout"
	QueueArchive         = "archive"
)

// later has a job of a record done; its id is that of the queue and the record.
func (u *turn) later(queue, field, id string, due time.Time) error {
	if u.jobs == nil {
		return nil
	}
	return u.jobs.Schedule(u.Work(), queue+":"+id, queue, due, fields{field: id}.json())
}

// never removes a job.
func (u *turn) never(queue, id string) error {
	if u.jobs == nil {
		return nil
	}
	return u.jobs.Cancel(u.Work(), queue+":"+id)
}

// Run does a job of one of the queues, whose payload names the task or the approval. To do
// it again changes nothing, and what is not due yet, or is not there any more, it leaves.
func (s *Store) Run(ctx context.Context, tenant, queue string, payload json.RawMessage) (err error) {
	canonical, err := document.Canonical(payload)
	if err != nil {
		return malformed("", "payload", "%s", err)
	}
	named := func(field string) string {
		id, _ := document.Text(document.Field(canonical, document.Path{field}))
		return id
	}
	switch queue {
	case QueueApprovalTimeout:
		_, err = s.Escalate(ctx, tenant, named("approval_id"))
	case QueueTaskTimeout:
		_, err = s.TimeOut(ctx, tenant, named("task_id"))
	case QueueArchive:
		_, err = s.Archive(ctx, tenant, named("approval_id"))
	default:
		err = malformed("", "queue", "the queues are %s, %s and %s", QueueApprovalTimeout, QueueTaskTimeout, QueueArchive)
	}
	return gone(err)
}

// gone is an error, unless it is that there is no such record any more.
func gone(err error) error {
	if errors.Is(err, record.ErrNotFound) {
		return nil
	}
	return err
}
