package daemon

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/blob"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/kv/job"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/kv/setting"
)

// coordinating are the parts of a daemon that coordinate agents, on an engine in memory with
// a clock by hand.
type coordinating struct {
	coordination
	db    engine.Engine
	store *kv.Store
	clock *kvtest.Clock
	tasks *approval.Store
	jobs  *job.Store
}

func openCoordination(t *testing.T) *coordinating {
	quiet := slog.New(slog.DiscardHandler)
	c := &coordinating{db: mem.New(), clock: kvtest.New()}
	var err error
	c.store, err = kv.Open(c.db, kv.Options{Clock: c.clock, Log: quiet})
	require.NoError(t, err)
	c.records, err = record.New(c.store, record.Options{})
	require.NoError(t, err)
	c.events, err = event.New(c.store, event.Options{})
	require.NoError(t, err)
	c.settings, err = setting.New(c.store, setting.Options{Log: quiet})
	require.NoError(t, err)
	c.locks, err = lock.New(c.store, lock.Options{Log: quiet, Events: c.events})
	require.NoError(t, err)
	c.blobs, err = blob.Open(c.db, blob.Options{SpoolDir: filepath.Join(t.TempDir(), "spool"), Logger: quiet})
	require.NoError(t, err)
	c.tasks, c.jobs, err = c.open(c.store, quiet)
	require.NoError(t, err)
	t.Cleanup(func() {
		c.jobs.Close()
		c.locks.Close()
		require.NoError(t, c.blobs.Close())
		require.NoError(t, c.store.Close())
		require.NoError(t, c.db.Close())
	})
	return c
}

// The daemon does what is due within a second, tells all of it in the streams, goes by the
// tenant's configuration, and keeps long outputs as blobs.
func TestTasksGoByStreamsQueuesSettingsAndBlobs(t *testing.T) {
	ctx, c := context.Background(), openCoordination(t)
	store, clock, s := c.store, c.clock, c.tasks

	_, err := s.CreateTask(ctx, "t", []byte(`{"task_id":"t-1","metadata":{"author_id":"ann"},"config":{"type":"x","timeout_seconds":2}}`), record.WriteOptions{})
	require.NoError(t, err)
	move := func(m approval.Move) record.Doc {
		t.Helper()
		d, err := s.Move(ctx, "t", "t-1", m)
		require.NoError(t, err)
		return d
	}
	state := func() string {
		d, err := s.Task(ctx, "t", "t-1")
		require.NoError(t, err)
		text, _ := document.Text(document.Field(d.JSON, document.Path{"state"}))
		return text
	}
	move(approval.Move{To: approval.Submitted})
	ids, err := s.Request(ctx, "t", "t-1", approval.Asking{Approvals: []json.RawMessage{[]byte(`{"approval_id":"a-1","reviewer_id":"bob","on_timeout":"auto_reject"}`)}}, record.WriteOptions{})
	require.NoError(t, err)
	due, err := document.ParseInstant(func() string { s, _ := document.Text(document.Field(ids[0].JSON, document.Path{"due_at"})); return s }())
	require.NoError(t, err)
	require.Equal(t, c.settings.Values("t").ApprovalTimeout, due.Sub(store.Now()))
	clock.Pass(due.Sub(store.Now()) - time.Minute)
	require.Equal(t, approval.Reviewing, state())
	clock.Pass(time.Minute + 10*time.Millisecond) // and then time stands still
	require.Eventually(t, func() bool { return state() == approval.Rejected }, time.Minute, time.Millisecond)

	move(approval.Move{To: approval.Draft})
	for _, to := range []string{approval.Submitted, approval.Reviewing, approval.Approved} {
		move(approval.Move{To: to})
	}
	g, err := c.locks.Acquire(ctx, "t", lock.Request{Name: lock.Task("t-1"), Agent: "worker"})
	require.NoError(t, err)
	move(approval.Move{To: approval.Applying, Agent: "worker", Token: g.Token})
	clock.Pass(2*time.Second + 10*time.Millisecond)
	require.Eventually(t, func() bool {
		l, err := c.locks.Get("t", lock.Task("t-1"))
		require.NoError(t, err)
		return state() == approval.Completed && len(l.Holders) == 0
	}, time.Minute, time.Millisecond)

	g, err = c.locks.Acquire(ctx, "t", lock.Request{Name: lock.Task("t-1"), Agent: "worker"})
	require.NoError(t, err)
	move(approval.Move{To: approval.Applying, Agent: "worker", Token: g.Token, Retry: true})
	long := make([]byte, 3*approval.MaxOutput)
	for i := range long {
		long[i] = 'x'
	}
	d := move(approval.Move{To: approval.Completed, Agent: "worker", Token: g.Token, Outcome: approval.Outcome{Result: "success", Output: string(long)}, Durability: engine.WAL})
	require.NotEmpty(t, document.Field(d.JSON, document.ParsePath("execution.output_key")))

	f, err := c.events.Find("t")
	require.NoError(t, err)
	var told []string
	entries, err := f.Range(ctx, event.Task, event.RangeOptions{})
	require.NoError(t, err)
	for _, e := range entries {
		var p struct{ From, To string }
		require.NoError(t, json.Unmarshal(e.Payload, &p))
		told = append(told, p.From+" "+p.To)
	}
	require.Equal(t, []string{" DRAFT", "DRAFT SUBMITTED", "SUBMITTED REVIEWING", "REVIEWING REJECTED", "REJECTED DRAFT", "DRAFT SUBMITTED", "SUBMITTED REVIEWING",
		"REVIEWING APPROVED", "APPROVED APPLYING", "APPLYING COMPLETED", "COMPLETED APPLYING", "APPLYING COMPLETED"}, told)

	_, err = s.RespondAll(ctx, "t", []approval.Answer{{Approval: "a-1", By: "bob", Action: approval.Approve}}, engine.WAL)
	var e *record.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, approval.CodeUnsupported, e.Code)
	_, err = c.settings.Set(ctx, "t", "ade:feature:batch_approvals", []byte(`"enabled"`), engine.WAL)
	require.NoError(t, err)
	_, err = s.RespondAll(ctx, "t", []approval.Answer{{Approval: "a-1", By: "bob", Action: approval.Approve}}, engine.WAL)
	require.ErrorAs(t, err, &e)
	require.Equal(t, approval.CodeBatchRefused, e.Code, "it has its answer")
}
