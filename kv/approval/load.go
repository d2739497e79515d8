package approval

import (
	"context"
	"time"

	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/record"
)

// loading has the jobs made, in the batch of an import, that come back to what it stores: it
// brings documents as they are, of whose due times nobody has told this store.
func (s *Store) loading(fn func(*turn, record.Doc) error) func(context.Context, string) (func(*record.Tx, record.Doc) error, error) {
	return func(ctx context.Context, tenant string) (func(*record.Tx, record.Doc) error, error) {
		u := turn{set: s.o.Settings(tenant).filled()}
		if s.o.Jobs != nil {
			var err error
			if u.jobs, err = s.o.Jobs(ctx, tenant); err != nil {
				return nil, err
			}
		}
		return func(tx *record.Tx, d record.Doc) error {
			u.Tx = tx
			return fn(&u, d)
		}, nil
	}
}

// approvalLoaded has an approval escalated when it is due, or archived once its answer is old
// enough: at once where that was long ago.
func (u *turn) approvalLoaded(d record.Doc) error {
	due, asked := document.ParseInstant(text(d, "due_at"))
	if err := u.at(QueueApprovalTimeout, "approval_id", d.ID, due, open(d) && !is(d, "overdue") && asked == nil); err != nil {
		return err
	}
	responded, answered := document.ParseInstant(text(d, "responded_at"))
	return u.at(QueueArchive, "approval_id", d.ID, responded.Add(archiveAfter), !open(d) && answered == nil)
}

// taskLoaded has the execution of a task end when its time is over. One that does not say
// when that is has begun when it says, or now.
func (u *turn) taskLoaded(d record.Doc) error {
	deadline, err := document.ParseInstant(text(d, "execution.deadline_at"))
	if err != nil {
		begun, err := document.ParseInstant(text(d, "execution.started_at"))
		if err != nil {
			begun = u.Now()
		}
		deadline = begun.Add(u.mayTake(d))
	}
	return u.at(QueueTaskTimeout, "task_id", d.ID, deadline, text(d, "state") == Applying)
}

// at has a job of a record done at a time, or not at all.
func (u *turn) at(queue, field, id string, due time.Time, wanted bool) error {
	if !wanted {
		return u.never(queue, id)
	}
	return u.later(queue, field, id, due)
}
