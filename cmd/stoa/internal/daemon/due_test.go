package daemon

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/cmd/inspect"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/kv/job"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/rpc"
)

// willBeDue makes what is to be done within a month: a lock, a lease, a session and a limit
// that end, approvals that are escalated, rejected and archived, an execution that takes too
// long, a job that is scheduled. Jobs of archive are left to workers outside.
func (h *host) willBeDue() {
	h.t.Helper()
	ctx := h.t.Context()
	_, err := h.Locks("t").Acquire(ctx, rpc.LockRequest{Name: "task:held", Agent: "a"})
	require.NoError(h.t, err)
	h.asked("t-1", "a-1", `,"escalate_to":["eve"]`)
	h.asked("t-2", "a-2", `,"on_timeout":"auto_reject"`)
	h.asked("t-3", "a-3", "")
	h.answer("a-3")
	g, err := h.Locks("t").Acquire(ctx, rpc.LockRequest{Name: "task:t-3", Agent: "worker"})
	require.NoError(h.t, err)
	_, err = h.Tasks("t").Move(ctx, "t-3", rpc.TaskMove{To: approval.Applying, Agent: "worker", Token: g.Token})
	require.NoError(h.t, err)
	_, err = h.Sessions("t").Create(ctx, json.RawMessage(`{"session_id":"s-1","user_id":"ann"}`), rpc.WAL)
	require.NoError(h.t, err)
	_, err = h.Limits("t").Check(ctx, rpc.LimitName{Endpoint: "tasks:create", User: "ann"}, rpc.LimitRule{Max: 1, Window: time.Minute}, rpc.WAL)
	require.NoError(h.t, err)
	_, _, err = h.Jobs("t").Enqueue(ctx, rpc.WAL, rpc.Job{ID: "leased", Queue: job.Archive})
	require.NoError(h.t, err)
	list, err := h.Jobs("t").Lease(ctx, rpc.JobLeaseOptions{Queue: job.Archive, Worker: "gone", For: time.Minute})
	require.NoError(h.t, err)
	require.Len(h.t, list, 1)
	require.NoError(h.t, h.Jobs("t").Schedule(ctx, rpc.WAL, rpc.Job{ID: "scheduled", Queue: job.Archive, Due: h.clock.Now().Add(day)}))
	require.NoError(h.t, h.Jobs("t").Schedule(ctx, rpc.WAL, rpc.Job{ID: "of-the-house", Queue: job.LockCleanup, Due: h.clock.Now().Add(day)}))
}

// wasDue serves a copy of what willBeDue has made a month later, twice: all of it is done once.
func wasDue(t *testing.T, db engine.Engine) {
	sound(t, db)
	clock := kvtest.New()
	clock.Pass(31 * day)
	for range 2 {
		h := hosted(t, db, clock, job.Archive)
		ready := func() map[string]int {
			all := map[string]int{}
			for i, err := range h.Jobs("t").All(t.Context(), rpc.JobListOptions{Queue: job.Archive, State: job.Ready}) {
				require.NoError(t, err)
				all[i.ID] = i.Attempts
			}
			return all
		}
		document := func(id string) string {
			d, err := h.Approvals("t").Get(t.Context(), id)
			require.NoError(t, err)
			return string(d.JSON)
		}
		h.soon("all is done", func() bool {
			task, err := h.Tasks("t").Get(t.Context(), "t-3")
			require.NoError(t, err)
			return len(ready()) == 3 && bytes.Contains(task.JSON, []byte(`"COMPLETED"`)) && strings.Contains(document("a-1"), `"escalations":1`) &&
				strings.Contains(document("a-2"), approval.Rejected) && h.rows(kv.ShapeRecord, "of-the-house") == 0 &&
				h.rows(kv.ShapeRecord, "task:held")+h.rows(kv.ShapeRecord, "task:t-3")+h.rows(kv.ShapeRecord, "@") == 0
		})
		clock.Pass(time.Second) // whatever would be done twice has the time for it
		require.Equal(t, map[string]int{"leased": 1, "scheduled": 0, "archive:a-3": 0}, ready())
		for _, once := range [][3]string{
			{event.Lock, "lock:expired", "task:held"},
			{event.Approval, approval.EventApprovalEscalated, "a-1"},
			{event.Approval, approval.EventApprovalState, `"to":"REJECTED"`},
			{event.Task, approval.EventTaskState, `"to":"COMPLETED"`},
			{event.Task, approval.EventTaskState, `"to":"REJECTED"`},
		} {
			require.Equal(t, 1, h.told(once[0], once[1], once[2]), "%v", once)
		}
		require.Contains(t, document("a-1"), `"escalations":1`)
		require.Equal(t, absent, h.key(h.Sessions("t").Lookup, "ade:session:s-1"))
		require.Equal(t, absent, h.key(h.Limits("t").Lookup, "ade:ratelimit:tasks:create:ann"))
		l, err := h.Locks("t").Get(t.Context(), "task:held")
		require.NoError(t, err)
		require.Equal(t, lock.Free, l.Mode)
		h.end()
		sound(t, db)
		clock.Pass(time.Hour)
	}
}

// What was due while a store was but a dump is done once, by who serves it.
func TestWhatWasDueSinceADumpIsDoneOnce(t *testing.T) {
	db, to := mem.New(), mem.New()
	t.Cleanup(func() { require.NoError(t, db.Close()); require.NoError(t, to.Close()) })
	h := hosted(t, db, kvtest.New(), job.Archive)
	h.willBeDue()
	h.end()
	var dump bytes.Buffer
	tenant := "t"
	_, err := inspect.Export(t.Context(), inspect.From(db, inspect.Facts{}), &dump, inspect.ExportOptions{Reveal: true, Tenant: &tenant})
	require.NoError(t, err)
	_, err = inspect.Import(t.Context(), &dump, to, inspect.ImportOptions{})
	require.NoError(t, err)
	wasDue(t, to)
}
