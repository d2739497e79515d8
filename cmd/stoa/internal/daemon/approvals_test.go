package daemon

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/record"
)

// The daemon does what is due within a second, tells all of it in the streams, goes by the
// tenant's configuration, and keeps long outputs as blobs.
func TestTasksGoByStreamsQueuesSettingsAndBlobs(t *testing.T) {
	db, clock := mem.New(), kvtest.New()
	defer func() { require.NoError(t, db.Close()) }()
	h := hosted(t, db, clock)
	defer h.end()
	ctx, c := context.Background(), h.own
	store, s := c.substrate, c.approvals

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
