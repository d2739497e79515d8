package approvaltest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/kv/record"
)

// legal are the transitions of row A60, as it says them.
var legal = map[string]string{
	"DRAFT":     "SUBMITTED CANCELLED",
	"SUBMITTED": "REVIEWING CANCELLED", // and APPROVED, of what has a low risk
	"REVIEWING": "APPROVED REJECTED DRAFT CANCELLED",
	"APPROVED":  "APPLYING CANCELLED",
	"APPLYING":  "COMPLETED CANCELLED",
	"REJECTED":  "DRAFT",
}

func a60AllPairsOfStates(t *testing.T, h *Host) {
	for _, from := range approval.States {
		for _, to := range approval.States {
			id := from + "-" + to
			h.At(id, from)
			m := approval.Move{To: to, Durability: wal, Agent: "agent-" + id, Outcome: approval.Outcome{Result: "success"}}
			if to == approval.Applying || to == approval.Completed {
				m.Token = h.Lock(id, m.Agent)
			}
			before := h.Get(id)
			_, err := h.Move(ctx, "t", id, m)
			switch {
			case slices.Contains(strings.Fields(legal[from]), to):
				require.NoError(t, err, id)
				require.Equal(t, to, h.Get(id)["state"])
				require.Equal(t, fmt.Sprintf("%q", to), h.Key("ade:task:"+id+":state"))
				continue
			case from == approval.Submitted && to == approval.Approved:
				refused(t, err, record.CodePrecondition, "state")
			default:
				refused(t, err, record.CodeIllegalTransition, "state")
			}
			require.Equal(t, before, h.Get(id))
		}
	}
	require.Error(t, h.TryMove("DRAFT-DRAFT", "NOWHERE"))
	_, err := h.Move(ctx, "t", "DRAFT-DRAFT", approval.Move{To: approval.Submitted, From: approval.Reviewing})
	refused(t, err, record.CodeConflict, "state")
	_, err = h.Move(ctx, "t", "DRAFT-DRAFT", approval.Move{To: approval.Submitted, By: "system"})
	refused(t, err, record.CodeValidation, "by")
	_, err = h.Move(ctx, "t", "DRAFT-DRAFT", approval.Move{To: approval.Submitted, Reason: strings.Repeat("x", approval.MaxReason+1)})
	refused(t, err, record.CodeTooLarge, "reason")
	require.ErrorIs(t, h.TryMove("nobody", approval.Submitted), record.ErrNotFound)
}

func a61OneTransitionWins(t *testing.T, h *Host) {
	h.At("task-1", approval.Reviewing)
	h.Events()
	var all sync.WaitGroup
	won := make(chan string, 20)
	for n := range 20 {
		to := []string{approval.Approved, approval.Rejected}[n%2]
		all.Go(func() {
			_, err := h.Move(ctx, "t", "task-1", approval.Move{From: approval.Reviewing, To: to, Durability: wal})
			if err == nil {
				won <- to
				return
			}
			refused(t, err, record.CodeConflict, "state")
		})
	}
	all.Wait()
	require.Len(t, won, 1)
	to := <-won
	require.Equal(t, to, h.Get("task-1")["state"])
	require.Equal(t, []string{"task-1 REVIEWING " + to}, h.changes(approval.StreamTasks))
}

func a63TimesOfTransitions(t *testing.T, h *Host) {
	created := h.after(0)
	h.NewTask("task-1")
	require.Equal(t, created, h.Get("task-1").in("metadata")["created_at"])
	var want Object
	step := func(field string, do func()) {
		h.Clock.Pass(time.Minute)
		before := h.Get("task-1").in("metadata")
		now := h.after(0)
		do()
		got := h.Get("task-1").in("metadata")
		require.Equal(t, now, got["updated_at"])
		if field != "" {
			require.NotContains(t, before, field)
			before[field] = now
		}
		before["updated_at"] = now
		require.Equal(t, before, got)
		want = got
	}
	step("submitted_at", func() { h.MoveTo("task-1", approval.Submitted) })
	step("", func() { h.MoveTo("task-1", approval.Reviewing) })
	step("", func() { h.MoveTo("task-1", approval.Draft) })
	step("", func() { h.MoveTo("task-1", approval.Submitted) })
	step("", func() { h.MoveTo("task-1", approval.Reviewing) })
	step("approved_at", func() { h.MoveTo("task-1", approval.Approved) })
	step("applying_at", func() { h.Apply("task-1", "agent-1") })
	step("completed_at", func() {
		h.Complete("task-1", "agent-1", h.Lock("task-1", "agent-1"), approval.Outcome{Result: "failure"})
	})
	step("", func() {
		_, err := h.Move(ctx, "t", "task-1", approval.Move{To: approval.Applying, Agent: "agent-1", Token: h.Lock("task-1", "agent-1"), Retry: true})
		require.NoError(t, err)
	})
	for _, field := range []string{"submitted_at", "approved_at", "created_at", "updated_at"} {
		_, err := h.UpdateTask(ctx, "t", "task-1", Object{"metadata": Object{field: h.after(time.Hour)}}.JSON(), record.UpdateOptions{})
		refused(t, err, record.CodeImmutable, "metadata."+field)
		_, err = h.TryTask(Object{"metadata": Object{"author_id": "a", field: h.after(0)}})
		refused(t, err, record.CodeValidation, "metadata."+field)
	}
	require.Equal(t, map[string]any(want), h.Get("task-1")["metadata"])
}

func a64AConfigIsSetOnce(t *testing.T, h *Host) {
	config := Object{"type": "infrastructure", "version": "2", "description": "d", "parameters": Object{"x": 1.0}, "resources": []string{"database:prod-db-01"},
		"rollback_strategy": "automatic", "timeout_seconds": 60, "priority": 100}
	for field, wrong := range map[string]any{"rollback_strategy": "maybe", "priority": 101, "timeout_seconds": 0, "type": "", "resources": []string{"database"}} {
		bad := Object{}
		for name, value := range config {
			bad[name] = value
		}
		bad[field] = wrong
		_, err := h.TryTask(Object{"metadata": Object{"author_id": "a"}, "config": bad})
		e := refused(t, err, record.CodeValidation, "")
		require.Contains(t, e.Field, "config."+field)
	}
	d, err := h.TryTask(Object{"metadata": Object{"author_id": "a"}})
	require.NoError(t, err)
	require.Equal(t, "NOT_FOUND", h.Key("ade:task:"+d.ID+":config"))
	patch := Object{"config": config}.JSON()
	_, err = h.UpdateTask(ctx, "t", d.ID, patch, record.UpdateOptions{})
	require.NoError(t, err)
	require.JSONEq(t, string(config.JSON()), h.Key("ade:task:"+d.ID+":config"))
	for _, again := range [][]byte{patch, Object{"config": Object{"priority": 1}}.JSON(), Object{"config": nil}.JSON()} {
		_, err = h.UpdateTask(ctx, "t", d.ID, again, record.UpdateOptions{})
		refused(t, err, record.CodeImmutable, "config")
	}
	// Not even past the Task service.
	_, err = h.Store.Records().Update(ctx, "t", approval.Tasks, d.ID, Object{"config": Object{"priority": 1}}.JSON(), record.UpdateOptions{})
	refused(t, err, record.CodeImmutable, "config")
	_, err = h.Store.Records().Update(ctx, "t", approval.Tasks, d.ID, Object{"state": "CANCELLED"}.JSON(), record.UpdateOptions{})
	refused(t, err, record.CodeImmutable, "state")
	_, err = h.Store.Records().Create(ctx, "t", approval.Tasks, Object{"metadata": Object{"author_id": "a"}}.JSON(), record.WriteOptions{})
	refused(t, err, record.CodePrecondition, "")
	_, err = h.Store.Records().Delete(ctx, "t", approval.Tasks, d.ID, record.UpdateOptions{})
	refused(t, err, record.CodePrecondition, "")
}

func a65A93TasksComeBackAndEnd(t *testing.T, h *Host) {
	const day = 24 * time.Hour
	big := strings.Repeat("x", 900<<10)
	d, err := h.TryTask(Object{"task_id": "task-1", "more": Object{"text": big}, "metadata": Object{"author_id": "a", "tags": []string{"x"}, "extra": true}})
	require.NoError(t, err)
	require.Equal(t, big, h.Get("task-1").in("more")["text"])
	require.JSONEq(t, string(d.JSON), h.Key("ade:task:task-1:data"))
	_, err = h.UpdateTask(ctx, "t", "task-1", Object{"more": Object{"text": big[:800<<10]}}.JSON(), record.UpdateOptions{})
	require.NoError(t, err)
	_, err = h.TryTask(Object{"text": big + big, "metadata": Object{"author_id": "a"}})
	refused(t, err, record.CodeTooLarge, "doc")
	h.MoveTo("task-1", approval.Submitted)
	h.NewTask("task-2")
	for range 3 { // each change begins the ninety days anew
		h.Clock.Pass(89 * day)
		_, err := h.UpdateTask(ctx, "t", "task-1", Object{"n": h.after(0)}.JSON(), record.UpdateOptions{})
		require.NoError(t, err)
	}
	for _, key := range []string{"ade:task:task-2:state", "ade:task:task-2:data", "ade:task:task-2:metadata"} {
		require.Equal(t, "NOT_FOUND", h.Key(key))
	}
	require.Equal(t, "[]", h.Key("ade:task:index:state:DRAFT"))
	require.Equal(t, `"SUBMITTED"`, h.Key("ade:task:task-1:state"))
	h.Clock.Pass(90*day + time.Millisecond)
	require.Equal(t, "NOT_FOUND", h.Key("ade:task:task-1:state"))
	require.Equal(t, "[]", h.Key("ade:task:index:tag:x"))
	h.NewTask("task-1") // the id is free
	_, err = h.DeleteTask(ctx, "t", "task-1", record.UpdateOptions{})
	require.NoError(t, err)
}

func a66IndexesOfTasks(t *testing.T, h *Host) {
	var want []string
	for n := range 7 {
		id := fmt.Sprint("task-", n)
		_, err := h.TryTask(Object{"task_id": id, "metadata": Object{"author_id": "user-001", "tags": []string{"red", fmt.Sprint("n", n%2)}},
			"config": Object{"type": "x", "resources": []string{"database:prod-db-01", "service:api:v2"}}})
		require.NoError(t, err)
		want = append(want, fmt.Sprintf("[%q,%d]", id, h.KV.Now().Unix()))
		h.Clock.Pass(time.Second)
	}
	all := "[" + strings.Join(want, ",") + "]"
	for _, key := range []string{"state:DRAFT", "author:user-001", "resource:database:prod-db-01", "resource:service:api:v2", "tag:red"} {
		require.JSONEq(t, all, h.Key("ade:task:index:"+key), key)
	}
	for _, reverse := range []bool{false, true} {
		var ids []string
		for q := (record.Query{Filters: []record.Filter{record.Equal("by_author", "user-001")}, Reverse: reverse, Limit: 2}); ; {
			page, err := h.Store.Records().List(ctx, "t", approval.Tasks, q)
			require.NoError(t, err)
			for _, d := range page.Docs {
				ids = append(ids, d.ID)
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				break
			}
		}
		require.Len(t, ids, 7)
		require.Equal(t, reverse, ids[0] == "task-6")
		require.True(t, slices.IsSorted(ids) != reverse)
	}
	_, err := h.UpdateTask(ctx, "t", "task-0", Object{"metadata": Object{"tags": []string{"blue"}}}.JSON(), record.UpdateOptions{})
	require.NoError(t, err)
	require.JSONEq(t, "["+want[0]+"]", h.Key("ade:task:index:tag:blue"))
	require.JSONEq(t, "["+strings.Join(want[1:], ",")+"]", h.Key("ade:task:index:tag:red"))
	require.NoError(t, h.SetPreview(ctx, "t", "task-0", []byte(`{"x":1}`), record.WriteOptions{}))
	h.MoveTo("task-0", approval.Submitted)
	h.Ask("task-0", 0, "ann")
	_, err = h.DeleteTask(ctx, "t", "task-0", record.UpdateOptions{Revision: 1})
	require.ErrorIs(t, err, record.ErrConflict)
	_, err = h.DeleteTask(ctx, "t", "task-0", record.UpdateOptions{})
	require.NoError(t, err)
	for _, key := range []string{"state", "data", "config", "metadata", "execution", "preview", "risk"} {
		require.Equal(t, "NOT_FOUND", h.Key("ade:task:task-0:"+key), key)
	}
	for _, key := range []string{"state:SUBMITTED", "state:REVIEWING", "tag:blue"} {
		require.Equal(t, "[]", h.Key("ade:task:index:"+key), key)
	}
	require.Equal(t, approval.Closed, h.Asked("task-0-ann")["status"])
	require.Empty(t, h.waiting("ann"))
	_, err = h.DeleteTask(ctx, "t", "task-0", record.UpdateOptions{})
	require.ErrorIs(t, err, record.ErrNotFound)
	h.At("busy", approval.Applying)
	_, err = h.DeleteTask(ctx, "t", "busy", record.UpdateOptions{})
	refused(t, err, record.CodePrecondition, "state")
}

func a67Execution(t *testing.T, h *Host) {
	h.At("task-1", approval.Approved)
	apply := func(agent string, token uint64) error {
		_, err := h.Move(ctx, "t", "task-1", approval.Move{To: approval.Applying, Agent: agent, Token: token, Durability: wal})
		return err
	}
	refused(t, apply("", 0), record.CodeValidation, "execution.agent_id")
	require.ErrorIs(t, apply("agent-1", 1), lock.ErrFenced)
	token := h.Lock("task-1", "agent-1")
	require.ErrorIs(t, apply("agent-1", token+1), lock.ErrFenced)
	require.ErrorIs(t, apply("agent-2", token), lock.ErrFenced)
	require.Equal(t, approval.Approved, h.Get("task-1")["state"])
	now := h.after(0)
	require.NoError(t, apply("agent-1", token))
	require.JSONEq(t, fmt.Sprintf(`{"agent_id":"agent-1","started_at":%q,"retry_count":0}`, now), h.Key("ade:task:task-1:execution"))

	complete := func(agent string, token uint64, o approval.Outcome) error {
		_, err := h.Move(ctx, "t", "task-1", approval.Move{To: approval.Completed, Agent: agent, Token: token, Outcome: o, Durability: wal})
		return err
	}
	for _, result := range []string{"", "timeout", "cancelled", "x"} {
		refused(t, complete("agent-1", token, approval.Outcome{Result: result}), record.CodeValidation, "execution.result")
	}
	_, err := h.Locks.Release(ctx, "t", lock.Holding{Name: "task:task-1", Agent: "agent-1", Token: token}, wal)
	require.NoError(t, err)
	other := h.Lock("task-1", "agent-2")
	require.ErrorIs(t, complete("agent-1", token, approval.Outcome{Result: "success"}), lock.ErrFenced)
	refused(t, complete("agent-2", other, approval.Outcome{Result: "success"}), approval.CodeForbidden, "execution.agent_id")
	require.Equal(t, approval.Applying, h.Get("task-1")["state"])
	_, err = h.Locks.Release(ctx, "t", lock.Holding{Name: "task:task-1", Agent: "agent-2", Token: other}, wal)
	require.NoError(t, err)
	token = h.Lock("task-1", "agent-1")
	output := strings.Repeat("ä", approval.MaxOutput) // two bytes each
	output = "x" + output
	require.NoError(t, complete("agent-1", token, approval.Outcome{Result: "failure", Output: output, Error: "no", ErrorDetails: []byte(`{"at": [1]}`)}))
	got := h.Get("task-1").in("execution")
	require.Equal(t, output[:approval.MaxOutput-1], got["output"], "no character is halved")
	require.EqualValues(t, len(output), got["output_bytes"])
	require.Equal(t, output, h.Outputs[got["output_key"].(string)])
	require.Equal(t, "failure", got["result"])
	require.Equal(t, "no", got["error"])
	require.Equal(t, map[string]any{"at": []any{1.0}}, got["error_details"])
	require.Equal(t, h.after(0), got["completed_at"])

	h.At("task-2", approval.Applying)
	h.MoveTo("task-2", approval.Cancelled)
	require.Equal(t, "cancelled", h.Get("task-2").in("execution")["result"])
}

func a68AnExecutionTimesOut(t *testing.T, h *Host) {
	for id, config := range map[string]Object{"task-1": {"type": "x", "timeout_seconds": 2}, "task-2": {"type": "x"}} {
		_, err := h.TryTask(Object{"task_id": id, "metadata": Object{"author_id": "a"}, "config": config})
		require.NoError(t, err)
		h.MoveTo(id, approval.Submitted, approval.Reviewing, approval.Approved)
	}
	h.Settings.TaskTimeout = 10 * time.Second
	h.Apply("task-1", "agent-1")
	h.Apply("task-2", "agent-2")
	h.Clock.Pass(2*time.Second - time.Millisecond)
	require.Zero(t, h.Work())
	d, err := h.TimeOut(ctx, "t", "task-1")
	require.NoError(t, err)
	require.Equal(t, approval.Applying, objectOf(t, d.JSON)["state"])
	h.Events()
	h.Clock.Pass(time.Millisecond)
	require.Equal(t, 1, h.Work())
	got := h.Get("task-1")
	require.Equal(t, approval.Completed, got["state"])
	require.Equal(t, "timeout", got.in("execution")["result"])
	require.Equal(t, []string{"task-1 APPLYING COMPLETED"}, h.changes(approval.StreamTasks))
	l, err := h.Locks.Get("t", "task:task-1")
	require.NoError(t, err)
	require.Empty(t, l.Holders, "the lock is free")
	l, err = h.Locks.Get("t", "task:task-2")
	require.NoError(t, err)
	require.Len(t, l.Holders, 1)
	_, err = h.TimeOut(ctx, "t", "task-1")
	require.NoError(t, err)
	require.Empty(t, h.changes(approval.StreamTasks))
	h.Clock.Pass(8 * time.Second)
	require.Equal(t, 1, h.Work())
	require.Equal(t, approval.Completed, h.Get("task-2")["state"])
	require.NoError(t, h.Store.Run(ctx, "t", approval.QueueTaskTimeout, []byte(`{"task_id": "nobody"}`)))
	require.Error(t, h.Store.Run(ctx, "t", "lock_cleanup", []byte(`{}`)))
}

func a69Retry(t *testing.T, h *Host) {
	h.At("task-1", approval.Applying)
	token := h.Lock("task-1", "agent-task-1")
	retry := func() error {
		_, err := h.Move(ctx, "t", "task-1", approval.Move{To: approval.Applying, Agent: "agent-task-1", Token: token, Retry: true, Durability: wal})
		return err
	}
	refused(t, retry(), record.CodeIllegalTransition, "state")
	for n := 1; n <= 3; n++ {
		h.Complete("task-1", "agent-task-1", token, approval.Outcome{Result: "failure", Error: fmt.Sprint("no ", n), Output: "x"})
		refused(t, h.TryMove("task-1", approval.Cancelled), record.CodeIllegalTransition, "state")
		require.NoError(t, retry())
		got := h.Get("task-1").in("execution")
		require.EqualValues(t, n, got["retry_count"])
		for _, field := range []string{"result", "error", "output", "completed_at"} {
			require.NotContains(t, got, field)
		}
	}
	h.Complete("task-1", "agent-task-1", token, approval.Outcome{Result: "success"})
	refused(t, retry(), record.CodeIllegalTransition, "state")
	var attempts []string
	for _, e := range h.Events() {
		if e.Payload["result"] != nil {
			attempts = append(attempts, fmt.Sprint(e.Payload["retry_count"], e.Payload["result"], e.Payload["error"]))
		}
	}
	require.Equal(t, []string{"0failureno 1", "1failureno 2", "2failureno 3", "3success<nil>"}, attempts)
}

func a70Preview(t *testing.T, h *Host) {
	h.NewTask("task-1")
	require.Equal(t, "NOT_FOUND", h.Key("ade:task:task-1:preview"))
	set := func(text string) error {
		return h.SetPreview(ctx, "t", "task-1", []byte(text), record.WriteOptions{Durability: wal})
	}
	require.Error(t, set(`[]`))
	require.ErrorIs(t, h.SetPreview(ctx, "t", "nobody", []byte(`{}`), record.WriteOptions{}), record.ErrNotFound)
	require.NoError(t, set(`{"changes":["a"]}`))
	h.Clock.Pass(4 * 24 * time.Hour)
	require.NoError(t, set(`{"changes":["b"],"warnings":[],"errors":[]}`)) // its time begins anew
	h.Clock.Pass(7*24*time.Hour - time.Millisecond)
	found, err := h.Preview(ctx, "t", "task-1")
	require.NoError(t, err)
	require.JSONEq(t, `{"changes":["b"],"warnings":[],"errors":[]}`, string(found))
	require.Equal(t, string(found), h.Key("ade:task:task-1:preview"))
	h.Clock.Pass(2 * time.Millisecond)
	_, err = h.Preview(ctx, "t", "task-1")
	require.ErrorIs(t, err, record.ErrNotFound)
	require.Equal(t, approval.Draft, h.Get("task-1")["state"])
}

func a71Risk(t *testing.T, h *Host) {
	h.NewTask("task-1")
	assess := func(id string, score int) Object {
		t.Helper()
		d, err := h.Assess(ctx, "t", id, approval.Assessment{Score: score, Factors: []byte(`["x"]`), By: "risk/1"}, record.UpdateOptions{Durability: wal})
		require.NoError(t, err)
		return objectOf(t, d.JSON).in("risk")
	}
	for score, level := range map[int]string{0: "LOW", 24: "LOW", 25: "MEDIUM", 49: "MEDIUM", 50: "HIGH", 74: "HIGH", 75: "CRITICAL", 100: "CRITICAL"} {
		got := assess("task-1", score)
		require.Equal(t, level, got["level"], score)
		require.Equal(t, false, got["auto_approvable"])
	}
	for _, score := range []int{-1, 101} {
		_, err := h.Assess(ctx, "t", "task-1", approval.Assessment{Score: score}, record.UpdateOptions{})
		refused(t, err, record.CodeValidation, "risk.score")
	}
	h.Settings.Risk = approval.Thresholds{Medium: 1, High: 2, Critical: 3}
	require.Equal(t, "HIGH", assess("task-1", 2)["level"])
	h.Settings.Risk = approval.Thresholds{}
	require.Equal(t, "LOW", assess("task-1", 10)["level"])
	require.JSONEq(t, fmt.Sprintf(`{"score":10,"level":"LOW","factors":["x"],"auto_approvable":false,"assessed_at":%q,"assessed_by":"risk/1"}`, h.after(0)), h.Key("ade:task:task-1:risk"))
	h.MoveTo("task-1", approval.Submitted)
	require.Equal(t, approval.Submitted, h.Get("task-1")["state"], "the flag is off")

	h.Settings.AutoApproveLowRisk = true
	refused(t, h.TryMove("task-1", approval.Approved), record.CodePrecondition, "state")
	require.Equal(t, true, assess("task-1", 10)["auto_approvable"])
	require.Equal(t, false, assess("task-1", 25)["auto_approvable"])
	refused(t, h.TryMove("task-1", approval.Approved), record.CodePrecondition, "state")
	assess("task-1", 24)
	h.MoveTo("task-1", approval.Approved)

	h.NewTask("task-2")
	assess("task-2", 0)
	h.Events()
	h.MoveTo("task-2", approval.Submitted)
	require.Equal(t, approval.Approved, h.Get("task-2")["state"])
	require.Equal(t, []string{"task-2 DRAFT SUBMITTED", "task-2 SUBMITTED APPROVED"}, h.changes(approval.StreamTasks))
	h.At("task-3", approval.Cancelled)
	_, err := h.Assess(ctx, "t", "task-3", approval.Assessment{}, record.UpdateOptions{})
	refused(t, err, record.CodePrecondition, "state")
}
