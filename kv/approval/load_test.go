package approval_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/approval/approvaltest"
	"github.com/stoadb/stoa/kv/kvtest"
)

// What an import brings is escalated, timed out and archived when it is due, as what was made
// here, though nobody has told of it.
func TestA91WhatIsImportedIsComeBackTo(t *testing.T) {
	db := mem.New()
	defer func() { require.NoError(t, db.Close()) }()
	clock := kvtest.New()
	h := approvaltest.Open(t, db, clock, approvaltest.InProcess)
	defer h.Close() // no events lead to what is imported, which Check demands
	now := h.KV.Now()
	at := func(d time.Duration) string { return now.Add(d).Format(time.RFC3339) }
	load := func(collection string, lines ...string) {
		_, err := h.Store.Records().Import(t.Context(), "t", collection, strings.NewReader(strings.Join(lines, "\n")))
		require.NoError(t, err)
	}
	request := func(id, rest string) string {
		return `{"approval_id":"` + id + `","task_id":"task-1","reviewer_id":"user-7","priority":"HIGH","round":1,"created_at":"` + at(-time.Hour) + `","due_at":"` + at(time.Hour) + `",` + rest + `}`
	}
	answered := func(ago time.Duration) string {
		return `"status":"APPROVED","response_action":"approve","reviewed_by":"user-7","responded_at":"` + at(-ago) + `"`
	}
	load(approval.Approvals,
		request("waits", `"status":"PENDING","escalate_to":["user-8"]`),
		request("rejects", `"status":"DELEGATED","delegated_to":"user-9","on_timeout":"auto_reject"`),
		request("answered", answered(24*time.Hour)),
		request("old", answered(40*24*time.Hour)))
	applied := func(id, rest string) string {
		return `{"task_id":"` + id + `","state":"APPLYING","config":{"type":"x","timeout_seconds":7200},"metadata":{"author_id":"a","created_at":"` + at(0) + `","updated_at":"` + at(0) + `"},"execution":{"agent_id":"agent-1"` + rest + `}}`
	}
	load(approval.Tasks, applied("task-1", `,"started_at":"`+at(-time.Hour)+`"`), applied("task-2", `,"started_at":"`+at(-3*time.Hour)+`"`),
		applied("task-3", `,"started_at":"`+at(-time.Hour)+`","deadline_at":"`+at(30*time.Minute)+`"`))

	state := func(id string) any { return h.Get(id)["state"] }
	archived := func(id string) bool {
		_, err := h.Store.Records().Get(context.Background(), "t", approval.Archive, id)
		return err == nil
	}
	require.Equal(t, 2, h.Work(), "the old answer, and the task whose time was over before")
	require.True(t, archived("old"))
	require.Equal(t, approval.Completed, state("task-2"))
	require.Equal(t, "timeout", h.Get("task-2")["execution"].(map[string]any)["result"])
	require.Equal(t, "user-7", h.Asked("waits")["reviewer_id"])
	require.Equal(t, approval.Applying, state("task-3"))

	clock.Pass(61 * time.Minute)
	require.Equal(t, 4, h.Work())
	require.Equal(t, "user-8", h.Asked("waits")["reviewer_id"], "it is escalated")
	require.Equal(t, approval.Rejected, h.Asked("rejects")["status"])
	require.Equal(t, approval.Completed, state("task-1"))
	require.Equal(t, approval.Completed, state("task-3"))

	// A record that is replaced by one that waits for nothing is not come back to.
	load(approval.Approvals, request("waits", answered(time.Hour)))
	load(approval.Tasks, strings.Replace(applied("task-4", ""), "APPLYING", "DRAFT", 1))
	clock.Pass(29 * 24 * time.Hour)
	require.Equal(t, 1, h.Work())
	require.True(t, archived("answered"))
	require.False(t, archived("waits"))
	clock.Pass(24 * time.Hour)
	h.Work()
	require.True(t, archived("waits"))
}
