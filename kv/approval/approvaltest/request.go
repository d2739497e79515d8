package approvaltest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/record"
)

func a42ARequestIsMade(t *testing.T, h *Host) {
	h.At("task-1", approval.Submitted)
	made, err := h.TryAsk("task-1", 0, Object{"approval_id": "app-123", "reviewer_id": "user-789", "reviewer_name": "Ann", "priority": "HIGH", "extra": 1})
	require.NoError(t, err)
	require.Len(t, made, 1)
	got := h.Asked("app-123")
	require.Equal(t, approval.Pending, got["status"])
	require.Equal(t, h.after(0), got["created_at"])
	require.Equal(t, h.after(48*time.Hour), got["due_at"])
	require.EqualValues(t, 1, got["extra"])
	require.True(t, made[0].Expires.IsZero(), "it goes to the archive thirty days after its answer")
	require.Equal(t, approval.Reviewing, h.Get("task-1")["state"], "the review begins")
	made, err = h.TryAsk("task-1", 0, Object{"reviewer_id": "user-790"})
	require.NoError(t, err)
	require.Regexp(t, `^app-20260301-[a-z0-9]{6}$`, made[0].ID)
	require.Equal(t, "NORMAL", h.Asked(made[0].ID)["priority"])

	h.Settings.ApprovalTimeout, h.Settings.ApprovalMaxTimeout = time.Hour, 2*time.Hour
	for n, c := range []struct {
		doc   Object
		code  record.Code
		field string
	}{
		{Object{"due_at": h.after(2*time.Hour + time.Millisecond)}, record.CodeValidation, "due_at"},
		{Object{"due_at": h.after(0)}, record.CodeValidation, "due_at"},
		{Object{"due_at": "soon"}, record.CodeValidation, "due_at"},
		{Object{"priority": "SOME"}, record.CodeValidation, "priority"},
		{Object{"risk_score": 101}, record.CodeValidation, "risk_score"},
		{Object{"reviewer_id": nil}, record.CodeValidation, "reviewer_id"},
		{Object{"status": "APPROVED"}, record.CodeValidation, "status"},
		{Object{"reviewed_by": "x"}, record.CodeValidation, "reviewed_by"},
		{Object{"queue": Object{}}, record.CodeValidation, "queue"},
		{Object{"round": 7}, record.CodeValidation, "round"},
		{Object{"task_id": "other"}, record.CodeValidation, "task_id"},
		{Object{"approval_id": "app-123"}, record.CodeAlreadyExists, "approval_id"},
		{Object{"reviewer_id": "user-789"}, record.CodeAlreadyExists, "reviewer_id"},
	} {
		doc := Object{"reviewer_id": fmt.Sprint("new-", n)}
		for field, value := range c.doc {
			doc[field] = value
		}
		_, err := h.TryAsk("task-1", 0, doc)
		refused(t, err, c.code, c.field)
	}
	made, err = h.TryAsk("task-1", 0, Object{"reviewer_id": "new", "due_at": h.after(2 * time.Hour)})
	require.NoError(t, err)
	require.Equal(t, h.after(2*time.Hour), h.Asked(made[0].ID)["due_at"])
	made, err = h.TryAsk("task-1", 0, Object{"reviewer_id": "newer"})
	require.NoError(t, err)
	require.Equal(t, h.after(time.Hour), h.Asked(made[0].ID)["due_at"])

	_, err = h.TryAsk("nobody", 0, Object{"reviewer_id": "x"})
	require.ErrorIs(t, err, record.ErrNotFound)
	_, err = h.TryAsk("task-1", 0)
	refused(t, err, record.CodeTooLarge, "approvals")
	_, err = h.TryAsk("task-1", -1, Object{"reviewer_id": "x"})
	refused(t, err, record.CodeValidation, "required_count")
	h.NewTask("task-2")
	_, err = h.TryAsk("task-2", 0, Object{"reviewer_id": "x"})
	refused(t, err, record.CodePrecondition, "state")
	h.MoveTo("task-2", approval.Submitted)
	var docs []Object
	for n := range approval.MaxApprovals {
		docs = append(docs, Object{"reviewer_id": fmt.Sprint("user-", n)})
	}
	_, err = h.TryAsk("task-2", 0, append(docs[1:], Object{"reviewer_id": "user-1"})...)
	refused(t, err, record.CodeAlreadyExists, "reviewer_id")
	require.Equal(t, approval.Submitted, h.Get("task-2")["state"], "all or none")
	_, err = h.TryAsk("task-2", 0, docs...)
	require.NoError(t, err)
	_, err = h.TryAsk("task-2", 0, Object{"reviewer_id": "one more"})
	refused(t, err, record.CodeTooLarge, "task_id")
	// Not past the Approval service.
	records := h.Store.Records()
	_, err = records.Create(ctx, "t", approval.Approvals, Object{"reviewer_id": "x", "task_id": "task-1"}.JSON(), record.WriteOptions{})
	require.Error(t, err)
	_, err = records.Update(ctx, "t", approval.Approvals, "app-123", Object{"status": "CLOSED"}.JSON(), record.UpdateOptions{})
	refused(t, err, record.CodeImmutable, "status")
	_, err = records.Delete(ctx, "t", approval.Approvals, "app-123", record.UpdateOptions{})
	refused(t, err, record.CodePrecondition, "")
}

func a43TheQueueOfAUser(t *testing.T, h *Host) {
	due := h.after(time.Hour)
	for n, c := range []struct {
		id, priority, due string
		risk, score       int
	}{
		{"d", "NORMAL", due, 35, 450},
		{"c", "HIGH", due, 35, 850},
		{"b", "HIGH", due, 35, 850},
		{"a", "HIGH", h.after(time.Hour + time.Minute), 35, 850},
		{"e", "LOW", due, 0, 0},
		{"f", "URGENT", due, 100, 2000},
	} {
		task := fmt.Sprint("task-", n)
		h.At(task, approval.Submitted)
		made, err := h.TryAsk(task, 0, Object{"approval_id": c.id, "reviewer_id": "ann", "priority": c.priority, "risk_score": c.risk, "due_at": c.due})
		require.NoError(t, err)
		require.EqualValues(t, c.score, approval.Score(made[0]))
	}
	require.Equal(t, []string{"f", "b", "c", "a", "d", "e"}, h.waiting("ann"))
	require.Equal(t, `[["f",2000],["b",850],["c",850],["a",850],["d",450],["e",0]]`, h.Key("ade:approval:queue:user:ann"))
	// The risk of the task is that of the approval, where its request says none.
	h.At("task-9", approval.Submitted)
	_, err := h.Assess(ctx, "t", "task-9", approval.Assessment{Score: 35}, record.UpdateOptions{})
	require.NoError(t, err)
	h.Ask("task-9", 0, "bob")
	require.Equal(t, `[["task-9-bob",450]]`, h.Key("ade:approval:queue:user:bob"))
	page, err := h.Queue(ctx, "t", "ann", record.Query{Limit: 4})
	require.NoError(t, err)
	require.Len(t, page.Docs, 4)
	page, err = h.Queue(ctx, "t", "ann", record.Query{Limit: 4, Cursor: page.Next})
	require.NoError(t, err)
	require.Len(t, page.Docs, 2)
}

func a44TheQueueOfAll(t *testing.T, h *Host) {
	h.At("task-1", approval.Submitted)
	_, err := h.TryAsk("task-1", 3, Object{"approval_id": "late", "reviewer_id": "ann", "due_at": h.after(2 * time.Hour)},
		Object{"approval_id": "soon", "reviewer_id": "bob", "due_at": h.after(time.Hour)}, Object{"approval_id": "then", "reviewer_id": "cid", "due_at": h.after(time.Hour)})
	require.NoError(t, err)
	now := h.KV.Now().Unix()
	require.Equal(t, []string{"soon", "then", "late"}, h.waiting(""))
	require.Equal(t, fmt.Sprintf(`[["soon",%d],["then",%d],["late",%d]]`, now+3600, now+3600, now+7200), h.Key("ade:approval:queue:global"))
	h.Answers([3]string{"soon", "bob", approval.Approve})
	require.Equal(t, []string{"then", "late"}, h.waiting(""))
}

func a46AnAnswerIsOneBatch(t *testing.T, h *Host) {
	h.At("task-1", approval.Submitted)
	h.Ask("task-1", 2, "ann", "bob", "cid")
	h.Events()
	h.Clock.Pass(30 * time.Second)
	before, err := h.Store.Records().Space(ctx, "t", approval.Approvals)
	require.NoError(t, err)
	was, err := before.Stats()
	require.NoError(t, err)
	h.Answers([3]string{"task-1-ann", "ann", approval.Approve})
	is, err := before.Stats()
	require.NoError(t, err)
	require.Equal(t, was.Revision+1, is.Revision)
	got := h.Asked("task-1-ann")
	require.Equal(t, approval.Approved, got["status"])
	require.Equal(t, h.after(0), got["responded_at"])
	require.Equal(t, approval.Approve, got["response_action"])
	require.Equal(t, "because", got["response_reason"])
	require.Equal(t, "ann", got["reviewed_by"])
	require.Empty(t, h.waiting("ann"))
	require.NotContains(t, h.waiting(""), "task-1-ann")
	require.NotContains(t, h.jobs(), "approval_timeout:task-1-ann")
	events := h.Events()
	require.Len(t, events, 1)
	require.Equal(t, Event{approval.StreamApprovals, approval.EventApprovalState, map[string]any{"approval_id": "task-1-ann", "task_id": "task-1",
		"from": approval.Pending, "to": approval.Approved, "by": "ann", "action": approval.Approve, "reason": "because"}}, events[0])
	require.JSONEq(t, fmt.Sprintf(`{"pending_count":0,"approved_today":1,"rejected_today":0,"avg_response_time":30,"last_action_at":%q}`, h.after(0)), h.Key("ade:approval:stats:user:ann"))
	for _, a := range []approval.Answer{{By: "bob"}, {By: "bob", Action: "maybe"}, {Action: approval.Approve}, {By: "system", Action: approval.Approve},
		{By: "bob", Action: approval.Approve, Reason: strings.Repeat("x", approval.MaxReason+1)}} {
		a.Approval = "task-1-bob"
		_, err := h.Respond(ctx, "t", a, wal)
		require.Error(t, err)
	}
	require.ErrorIs(t, h.TryAnswer("nobody", "ann", approval.Approve), record.ErrNotFound)
}

func a47RejectAndRequestChanges(t *testing.T, h *Host) {
	h.At("task-1", approval.Submitted)
	h.Ask("task-1", 2, "ann", "bob", "cid")
	h.Events()
	h.Answers([3]string{"task-1-ann", "ann", approval.RequestChanges})
	got := h.Asked("task-1-ann")
	require.Equal(t, approval.Rejected, got["status"])
	require.Equal(t, approval.RequestChanges, got["response_action"])
	require.Equal(t, approval.Draft, h.Get("task-1")["state"])
	require.Equal(t, approval.Closed, h.Asked("task-1-bob")["status"])
	require.Empty(t, h.waiting(""))
	// Of the next round the answers before don't count.
	h.MoveTo("task-1", approval.Submitted)
	_, err := h.TryAsk("task-1", 2, Object{"approval_id": "x", "reviewer_id": "ann"}, Object{"approval_id": "y", "reviewer_id": "bob"}, Object{"approval_id": "z", "reviewer_id": "cid"})
	require.NoError(t, err)
	require.JSONEq(t, `{"required_count":2,"approved_count":0,"rejected_count":0,"pending_count":3,"quorum_reached":false}`, h.Key("ade:approval:stats:task:task-1"))
	h.Answers([3]string{"x", "ann", approval.Reject})
	require.Equal(t, approval.Reviewing, h.Get("task-1")["state"], "two of three can still approve")
	h.Answers([3]string{"y", "bob", approval.Reject})
	require.Equal(t, approval.Rejected, h.Get("task-1")["state"])
	require.Equal(t, approval.Closed, h.Asked("z")["status"])
	h.MoveTo("task-1", approval.Draft)
}

func a48WhoIsNotAsked(t *testing.T, h *Host) {
	h.At("task-1", approval.Submitted)
	h.Ask("task-1", 0, "ann")
	before := h.Asked("task-1-ann")
	h.Events()
	refused(t, h.TryAnswer("task-1-ann", "bob", approval.Approve), approval.CodeForbidden, "reviewed_by")
	_, err := h.Delegate(ctx, "t", approval.Delegation{Approval: "task-1-ann", By: "bob", To: "cid"}, wal)
	refused(t, err, approval.CodeForbidden, "delegated_to")
	require.Equal(t, before, h.Asked("task-1-ann"))
	require.Empty(t, h.Events())
	// Whom it was delegated to answers it, and who has delegated it doesn't.
	_, err = h.Delegate(ctx, "t", approval.Delegation{Approval: "task-1-ann", By: "ann", To: "cid"}, wal)
	require.NoError(t, err)
	refused(t, h.TryAnswer("task-1-ann", "ann", approval.Approve), approval.CodeForbidden, "reviewed_by")
	require.NoError(t, h.TryAnswer("task-1-ann", "cid", approval.Approve))
	// Where people are asked, nobody decides for them.
	h.At("task-2", approval.Submitted)
	h.Ask("task-2", 0, "ann")
	for _, to := range []string{approval.Approved, approval.Rejected, approval.Draft} {
		refused(t, h.TryMove("task-2", to), record.CodePrecondition, "state")
	}
	h.MoveTo("task-2", approval.Cancelled)
	require.Equal(t, approval.Closed, h.Asked("task-2-ann")["status"])
}

func a49TheFirstAnswerCounts(t *testing.T, h *Host) {
	h.At("task-1", approval.Submitted)
	h.Ask("task-1", 0, "ann", "bob")
	h.Events()
	var all sync.WaitGroup
	won := make(chan string, 20)
	lost := make(chan string, 20)
	for n := range 20 {
		action := []string{approval.Approve, approval.Reject}[n%2]
		all.Go(func() {
			_, err := h.Respond(ctx, "t", approval.Answer{Approval: "task-1-ann", By: "ann", Action: action}, wal)
			if err == nil {
				won <- action
				return
			}
			lost <- refused(t, err, approval.CodeAlreadyResponded, "status").Detail
		})
	}
	all.Wait()
	require.Len(t, won, 1)
	action := <-won
	status := map[string]string{approval.Approve: approval.Approved, approval.Reject: approval.Rejected}[action]
	for range 19 {
		require.JSONEq(t, fmt.Sprintf(`{"approval_id":"task-1-ann","status":%q,"response_action":%q,"reviewed_by":"ann","responded_at":%q}`, status, action, h.after(0)), <-lost)
	}
	require.Contains(t, h.changes(approval.StreamApprovals), "task-1-ann PENDING "+status)
	_, err := h.Delegate(ctx, "t", approval.Delegation{Approval: "task-1-ann", By: "ann", To: "cid"}, wal)
	refused(t, err, approval.CodeAlreadyResponded, "status")
}

func a50Quorum(t *testing.T, h *Host) {
	h.At("task-1", approval.Submitted)
	ids := h.Ask("task-1", 2, "ann", "bob", "cid")
	require.Len(t, ids, 3)
	h.Answers([3]string{ids[0], "ann", approval.Approve})
	require.Equal(t, approval.Reviewing, h.Get("task-1")["state"])
	h.Answers([3]string{ids[2], "cid", approval.Approve})
	require.Equal(t, approval.Approved, h.Get("task-1")["state"])
	got := h.Asked(ids[1])
	require.Equal(t, approval.Closed, got["status"])
	require.Equal(t, "not needed: the task is APPROVED", got["response_reason"])
	require.JSONEq(t, `{"required_count":2,"approved_count":2,"rejected_count":0,"pending_count":0,"quorum_reached":true}`, h.Key("ade:approval:stats:task:task-1"))
	refused(t, h.TryAnswer(ids[1], "bob", approval.Approve), approval.CodeAlreadyResponded, "")

	h.At("task-2", approval.Submitted)
	ids = h.Ask("task-2", 2, "ann", "bob", "cid")
	h.Answers([3]string{ids[0], "ann", approval.Reject}, [3]string{ids[1], "bob", approval.Reject})
	require.Equal(t, approval.Rejected, h.Get("task-2")["state"])
	require.Equal(t, approval.Closed, h.Asked(ids[2])["status"])

	// Without a number all of them are needed, whenever they were asked.
	h.At("task-3", approval.Submitted)
	h.Ask("task-3", 0, "ann", "bob")
	h.Ask("task-3", 0, "cid")
	h.Answers([3]string{"task-3-ann", "ann", approval.Approve}, [3]string{"task-3-cid", "cid", approval.Approve})
	require.Equal(t, approval.Reviewing, h.Get("task-3")["state"])
	h.Answers([3]string{"task-3-bob", "bob", approval.Approve})
	require.Equal(t, approval.Approved, h.Get("task-3")["state"])
	_, err := h.TaskStats(ctx, "t", "nobody")
	require.ErrorIs(t, err, record.ErrNotFound)
}

func a52StatisticsOfAUser(t *testing.T, h *Host) {
	h.At("task-1", approval.Submitted)
	h.Ask("task-1", 3, "ann")
	h.At("task-2", approval.Submitted)
	h.Ask("task-2", 1, "ann")
	h.At("task-3", approval.Submitted)
	h.Ask("task-3", 1, "ann")
	stats := func() approval.UserStats {
		got, err := h.UserStats(ctx, "t", "ann")
		require.NoError(t, err)
		return got
	}
	require.Equal(t, approval.UserStats{Pending: 3}, stats())
	h.Clock.Pass(10 * time.Second)
	h.Answers([3]string{"task-1-ann", "ann", approval.Approve})
	h.Clock.Pass(500 * time.Millisecond)
	h.Answers([3]string{"task-2-ann", "ann", approval.RequestChanges})
	last := h.after(0)
	want := approval.UserStats{Pending: 1, ApprovedToday: 1, RejectedToday: 1, AvgResponseTime: 10.25, LastAction: last}
	require.Equal(t, want, stats())
	midnight := h.KV.Now().Truncate(24 * time.Hour).Add(24 * time.Hour)
	h.Clock.Pass(midnight.Sub(h.KV.Now()) - time.Millisecond)
	require.Equal(t, want, stats())
	h.Clock.Pass(time.Millisecond)
	want.ApprovedToday, want.RejectedToday = 0, 0
	require.Equal(t, want, stats())
	require.Equal(t, `{"approved_today":0,"avg_response_time":0,"pending_count":0,"rejected_today":0}`, h.Key("ade:approval:stats:user:nobody"))
}

func a59Archive(t *testing.T, h *Host) {
	h.At("task-1", approval.Submitted)
	h.Ask("task-1", 1, "ann", "bob")
	h.Answers([3]string{"task-1-ann", "ann", approval.Approve})
	const days = 30 * 24 * time.Hour
	h.Clock.Pass(days - time.Millisecond)
	moved, err := h.Archive(ctx, "t", "task-1-ann")
	require.NoError(t, err)
	require.False(t, moved)
	require.Zero(t, h.Work())
	h.Clock.Pass(time.Millisecond)
	require.Equal(t, 2, h.Work())
	require.Equal(t, "NOT_FOUND", h.Key("ade:approval:request:task-1-ann"))
	require.Equal(t, "[]", h.Key("ade:approval:index:task:task-1"))
	for id, status := range map[string]string{"task-1-ann": approval.Approved, "task-1-bob": approval.Closed} {
		d, err := h.Store.Records().Get(ctx, "t", approval.Archive, id)
		require.NoError(t, err)
		require.Equal(t, status, objectOf(t, d.JSON)["status"])
		refused(t, h.TryAnswer(id, "ann", approval.Approve), approval.CodeAlreadyResponded, "")
	}
	stats, err := h.UserStats(ctx, "t", "ann")
	require.NoError(t, err)
	require.Equal(t, approval.UserStats{}, stats, "what is archived does not count")
}

func a90AnswersTogether(t *testing.T, h *Host) {
	var list []approval.Answer
	for n := range 50 {
		task := fmt.Sprint("task-", n)
		h.At(task, approval.Submitted)
		h.Ask(task, 0, "ann")
		list = append(list, approval.Answer{Approval: task + "-ann", By: "ann", Action: approval.Approve})
	}
	all := func() error { _, err := h.RespondAll(ctx, "t", list, wal); return err }
	refused(t, all(), approval.CodeUnsupported, "")
	h.Settings.BatchApprovals = true
	h.Events()
	list[20].By, list[30].Approval, list[40].Action = "bob", "nobody", "x"
	e := refused(t, all(), approval.CodeBatchRefused, "answers")
	require.Contains(t, e.Detail, `"approval_id":"task-20-ann"`)
	for _, want := range []string{`FORBIDDEN`, `NOT_FOUND`, `VALIDATION_ERROR`} {
		require.Equal(t, 1, strings.Count(e.Detail, want), e.Detail)
	}
	require.Empty(t, h.Events())
	require.Len(t, h.waiting("ann"), 50)
	list[20].By, list[30].Approval, list[40].Action = "ann", "task-30-ann", approval.Reject
	answered, err := h.RespondAll(ctx, "t", list, wal)
	require.NoError(t, err)
	require.Len(t, answered, 50)
	require.Empty(t, h.waiting("ann"))
	require.Equal(t, approval.Approved, h.Get("task-0")["state"])
	require.Equal(t, approval.Rejected, h.Get("task-40")["state"])
	for len(list) <= approval.MaxBatch {
		list = append(list, list...)
	}
	refused(t, all(), record.CodeTooLarge, "answers")
	list = nil
	refused(t, all(), record.CodeTooLarge, "answers")
}
