package approvaltest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/record"
)

func a83EachChangeIsAnEvent(t *testing.T, h *Host) {
	h.At("task-1", approval.Submitted)
	h.Ask("task-1", 2, "ann", "bob", "cid")
	require.NoError(t, h.delegate("task-1-bob", "bob", "eve"))
	h.Answers([3]string{"task-1-ann", "ann", approval.Approve}, [3]string{"task-1-bob", "eve", approval.Approve})
	token := h.Apply("task-1", "agent-1")
	h.Complete("task-1", "agent-1", token, approval.Outcome{Result: "success"})
	_, err := h.DeleteTask(ctx, "t", "task-1", record.UpdateOptions{})
	require.NoError(t, err)
	type change struct{ name, id, from, to any }
	var tasks, approvals []change
	for _, e := range h.Events() {
		c := change{e.Name, e.Payload["task_id"], e.Payload["from"], e.Payload["to"]}
		if e.Stream == approval.StreamApprovals {
			c.id = e.Payload["approval_id"]
			require.Equal(t, "task-1", e.Payload["task_id"])
			approvals = append(approvals, c)
			continue
		}
		tasks = append(tasks, c)
	}
	require.Equal(t, []change{
		{"task:created", "task-1", nil, "DRAFT"},
		{"task:state_changed", "task-1", "DRAFT", "SUBMITTED"},
		{"task:state_changed", "task-1", "SUBMITTED", "REVIEWING"},
		{"task:state_changed", "task-1", "REVIEWING", "APPROVED"},
		{"task:state_changed", "task-1", "APPROVED", "APPLYING"},
		{"task:state_changed", "task-1", "APPLYING", "COMPLETED"},
		{"task:deleted", "task-1", "COMPLETED", nil},
	}, tasks)
	require.Equal(t, []change{
		{"approval:created", "task-1-ann", nil, "PENDING"},
		{"approval:created", "task-1-bob", nil, "PENDING"},
		{"approval:created", "task-1-cid", nil, "PENDING"},
		{"approval:state_changed", "task-1-bob", "PENDING", "DELEGATED"},
		{"approval:state_changed", "task-1-ann", "PENDING", "APPROVED"},
		{"approval:state_changed", "task-1-bob", "DELEGATED", "APPROVED"},
		{"approval:state_changed", "task-1-cid", "PENDING", "CLOSED"},
	}, approvals)
}
