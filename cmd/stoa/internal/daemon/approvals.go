package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/kv/job"
)

// openTasks opens the tasks and approvals of a store, and the queues whose jobs they do, but
// for those that are off.
func (c *capabilities) openTasks(off []string, log *slog.Logger) (err error) {
	ready := make(chan struct{}) // closed when there are approvals
	workers := map[string]job.Worker{job.LockCleanup: c.settle, job.DeadlockDetect: c.sweep}
	for _, queue := range []string{approval.QueueApprovalTimeout, approval.QueueTaskTimeout, approval.QueueArchive} {
		workers[queue] = func(ctx context.Context, tenant string, j job.Job) error {
			select {
			case <-ready:
				return c.approvals.Run(ctx, tenant, queue, j.Payload)
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	if c.jobs, err = job.New(c.substrate, job.Options{Workers: workers, Off: off, Log: log}); err != nil {
		return err
	}
	c.approvals, err = approval.New(c.policies.Records(), approval.Options{
		Settings: c.settingsOf, Locks: c.locks, Output: c.keep,
		Events: func(ctx context.Context, tenant string) (approval.Feed, error) {
			f, err := c.events.Open(ctx, tenant)
			return feed{f}, err
		},
		Jobs: func(ctx context.Context, tenant string) (approval.Queues, error) {
			q, err := c.jobs.Open(ctx, tenant)
			return queues{q}, err
		},
	})
	if err == nil {
		close(ready)
	}
	return err
}

// settle does a job of lock_cleanup, whose target is a lock by its literal key; none is all
// locks that somebody waits for.
func (c *capabilities) settle(ctx context.Context, tenant string, j job.Job) error {
	var of struct{ Target string }
	if err := json.Unmarshal(j.Payload, &of); err != nil {
		return err
	}
	return c.locks.Settle(ctx, tenant, of.Target)
}

// sweep does a job of deadlock_detect.
func (c *capabilities) sweep(ctx context.Context, tenant string, _ job.Job) error {
	return c.locks.Sweep(ctx, tenant)
}

// settingsOf is what the configuration of a tenant says of tasks and approvals.
func (c *capabilities) settingsOf(tenant string) approval.Settings {
	v := c.settings.Values(tenant)
	return approval.Settings{ApprovalTimeout: v.ApprovalTimeout, ApprovalMaxTimeout: v.ApprovalMaxTimeout, TaskTimeout: v.TaskTimeout,
		Risk: approval.Thresholds(v.Risk), AutoApproveLowRisk: v.AutoApproveLowRisk, BatchApprovals: v.BatchApprovals}
}

// keep keeps the output of a task as a blob.
func (c *capabilities) keep(ctx context.Context, _ string, output []byte) (string, error) {
	stored, _, err := c.blobs.Put(ctx, bytes.NewReader(output), blob.PutOptions{})
	return stored.ID.String(), err
}

// feed is the streams of a tenant, in which the daemon tells what happens.
type feed struct{ *event.Feed }

func (f feed) Append(w *kv.Work, stream, name string, payload json.RawMessage) error {
	_, err := f.Feed.Append(w, stream, event.Event{Name: name, Payload: payload, Source: "stoa"})
	return err
}

// queues are those of a tenant.
type queues struct{ *job.Queues }

func (q queues) Schedule(w *kv.Work, id, queue string, due time.Time, payload json.RawMessage) error {
	if last := job.LastDue(); due.After(last) { // of a record that was imported, and has a time as far as dates go
		due = last
	}
	return q.Queues.Schedule(w, job.Job{ID: id, Queue: queue, Due: due, Payload: payload})
}

func (q queues) Cancel(w *kv.Work, id string) error {
	_, err := q.Queues.Cancel(w, id)
	return err
}
