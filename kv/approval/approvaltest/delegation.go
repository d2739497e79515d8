package approvaltest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv/approval"
	"github.com/stoadb/stoa/kv/record"
)

// delegate has somebody else asked.
func (h *Host) delegate(id, by, to string) error {
	_, err := h.Delegate(ctx, "t", approval.Delegation{Approval: id, By: by, To: to, Reason: "away"}, wal)
	return err
}

func a53A54Delegation(t *testing.T, h *Host) {
	h.At("task-1", approval.Submitted)
	_, err := h.TryAsk("task-1", 0, Object{"approval_id": "app-1", "reviewer_id": "a", "priority": "HIGH", "risk_score": 35})
	require.NoError(t, err)
	h.Events()
	require.NoError(t, h.delegate("app-1", "a", "b"))
	got := h.Asked("app-1")
	require.Equal(t, approval.Delegated, got["status"])
	require.Equal(t, "b", got["delegated_to"])
	require.Equal(t, "a", got["reviewer_id"])
	require.Equal(t, []any{"b"}, got["delegation_chain"])
	require.Equal(t, "[]", h.Key("ade:approval:queue:user:a"))
	require.Equal(t, `[["app-1",850]]`, h.Key("ade:approval:queue:user:b"))
	require.Equal(t, []string{"app-1 PENDING DELEGATED"}, h.changes(approval.StreamApprovals))
	refused(t, h.delegate("app-1", "b", "a"), approval.CodeDelegationCycle, "delegated_to")
	refused(t, h.delegate("app-1", "b", "b"), approval.CodeDelegationCycle, "delegated_to")
	refused(t, h.delegate("app-1", "b", ""), record.CodeValidation, "delegated_to")
	refused(t, h.delegate("app-1", "b", "system"), record.CodeValidation, "by")
	for n := 2; n <= approval.MaxChain; n++ {
		require.NoError(t, h.delegate("app-1", h.Asked("app-1")["delegated_to"].(string), fmt.Sprint("u", n)))
	}
	require.Equal(t, "app-1 DELEGATED DELEGATED", h.changes(approval.StreamApprovals)[0])
	refused(t, h.delegate("app-1", "u10", "u4"), approval.CodeDelegationCycle, "delegated_to")
	refused(t, h.delegate("app-1", "u10", "u11"), record.CodeTooLarge, "delegation_chain")
	require.Len(t, h.Asked("app-1")["delegation_chain"], approval.MaxChain)
	require.ErrorIs(t, h.delegate("nobody", "u10", "u11"), record.ErrNotFound)
	require.NoError(t, h.TryAnswer("app-1", "u10", approval.Approve))
	require.Equal(t, approval.Approved, h.Get("task-1")["state"])
}

// policy makes a delegation policy.
func (h *Host) policy(doc Object) {
	h.t.Helper()
	_, err := h.Store.Records().Create(ctx, "t", approval.Delegations, doc.JSON(), record.WriteOptions{Durability: wal})
	require.NoError(h.t, err)
}

// holder asks a reviewer about a new task of a type, and returns who is asked then.
func (h *Host) holder(reviewer, kind string, risk int) string {
	h.t.Helper()
	d, err := h.TryTask(Object{"metadata": Object{"author_id": "a"}, "config": Object{"type": kind}})
	require.NoError(h.t, err)
	h.MoveTo(d.ID, approval.Submitted)
	made, err := h.TryAsk(d.ID, 0, Object{"reviewer_id": reviewer, "risk_score": risk})
	require.NoError(h.t, err)
	return objectOf(h.t, made[0].JSON).in("queue")["user"].(string)
}

func a55A56DelegationPolicies(t *testing.T, h *Host) {
	h.policy(Object{"policy_id": "policy-456", "owner_id": "ann", "delegate_to": "bob", "conditions": Object{"task_types": []string{"infrastructure"}, "risk_above": 50}})
	require.Equal(t, "bob", h.holder("ann", "infrastructure", 51))
	require.Equal(t, "ann", h.holder("ann", "infrastructure", 50))
	require.Equal(t, "ann", h.holder("ann", "code", 51))
	require.Equal(t, "eve", h.holder("eve", "infrastructure", 51))
	// It does not cascade: neither by hand, nor by bob's own policy.
	h.policy(Object{"owner_id": "bob", "delegate_to": "cid", "cascade": true})
	require.Equal(t, "bob", h.holder("ann", "infrastructure", 51))
	id := h.waiting("bob")[0]
	refused(t, h.delegate(id, "bob", "eve"), approval.CodeForbidden, "delegated_to")
	got := h.Asked(id)
	require.Equal(t, approval.Delegated, got["status"])
	require.Equal(t, []any{"bob"}, got["delegation_chain"])
	// bob's does: on to whom cid delegates, and by hand.
	require.Equal(t, "cid", h.holder("bob", "x", 0))
	require.NoError(t, h.delegate(h.waiting("cid")[0], "cid", "eve"))
	h.policy(Object{"owner_id": "cid", "delegate_to": "dan", "cascade": true})
	require.Equal(t, "dan", h.holder("bob", "x", 0))
	require.Equal(t, []any{"cid", "dan"}, h.Asked(h.waiting("dan")[0])["delegation_chain"])
	// A circle of policies ends before who was asked first.
	h.policy(Object{"owner_id": "dan", "delegate_to": "bob", "cascade": true})
	require.Equal(t, "dan", h.holder("bob", "x", 0))
	for n := range 12 {
		h.policy(Object{"owner_id": fmt.Sprint("u", n), "delegate_to": fmt.Sprint("u", n+1), "cascade": true})
	}
	require.Equal(t, "u10", h.holder("u0", "x", 0), "a chain has ten at most")
	_, err := h.Store.Records().Create(ctx, "t", approval.Delegations, Object{"owner_id": "x", "delegate_to": "x"}.JSON(), record.WriteOptions{})
	refused(t, err, record.CodeValidation, "delegate_to")
}

func a57PoliciesThatAreNotInForce(t *testing.T, h *Host) {
	h.policy(Object{"policy_id": "off", "owner_id": "ann", "delegate_to": "bob", "active": false})
	h.policy(Object{"policy_id": "short", "owner_id": "ann", "delegate_to": "cid", "expires_at": h.after(time.Minute)})
	require.Equal(t, `["short"]`, h.Key("ade:approval:delegation:index:ann"))
	h.Clock.Pass(time.Minute - time.Millisecond)
	require.Equal(t, "cid", h.holder("ann", "x", 0))
	h.Clock.Pass(time.Millisecond)
	require.Equal(t, "[]", h.Key("ade:approval:delegation:index:ann"))
	require.Equal(t, "ann", h.holder("ann", "x", 0))
	_, err := h.Store.Records().Update(ctx, "t", approval.Delegations, "off", Object{"active": true}.JSON(), record.UpdateOptions{})
	require.NoError(t, err)
	require.Equal(t, "bob", h.holder("ann", "x", 0))
}

func a58Escalation(t *testing.T, h *Host) {
	h.Settings.ApprovalTimeout = time.Hour
	ask := func(id string, doc Object) {
		t.Helper()
		h.At(id, approval.Submitted)
		doc["approval_id"], doc["reviewer_id"] = id+"-ann", "ann"
		_, err := h.TryAsk(id, 0, doc)
		require.NoError(t, err)
	}
	ask("next", Object{"escalate_to": []string{"bob", "cid"}})
	ask("reject", Object{"on_timeout": "auto_reject"})
	ask("approve", Object{"on_timeout": "auto_approve", "escalate_to": []string{"bob"}})
	ask("later", Object{"due_at": h.after(90 * time.Minute)})
	require.NoError(t, h.delegate("next-ann", "ann", "eve"))
	h.Clock.Pass(time.Hour - time.Millisecond)
	require.Zero(t, h.Work())
	_, err := h.Escalate(ctx, "t", "next-ann")
	require.NoError(t, err)
	require.Equal(t, approval.Delegated, h.Asked("next-ann")["status"])
	h.Events()
	h.Clock.Pass(time.Millisecond)
	require.Equal(t, 3, h.Work())
	got := h.Asked("next-ann")
	require.Equal(t, approval.Pending, got["status"])
	require.Equal(t, "bob", got["reviewer_id"])
	require.Equal(t, h.after(time.Hour), got["due_at"])
	require.NotContains(t, got, "delegated_to")
	require.Equal(t, approval.Rejected, h.Asked("reject-ann")["status"])
	require.Equal(t, "system", h.Asked("reject-ann")["reviewed_by"])
	require.Equal(t, approval.Rejected, h.Get("reject")["state"])
	require.Equal(t, approval.Pending, h.Asked("approve-ann")["status"], "no flag, and no risk that is known")
	require.Equal(t, []string{"approve-ann PENDING PENDING", "next-ann DELEGATED PENDING", "reject-ann PENDING REJECTED"}, h.changes(approval.StreamApprovals))
	require.Zero(t, h.Work(), "once")
	_, err = h.Escalate(ctx, "t", "next-ann")
	require.NoError(t, err)
	require.Empty(t, h.Events())
	h.Clock.Pass(time.Hour)
	n, err := h.EscalateDue(ctx, "t")
	require.NoError(t, err)
	require.Equal(t, 3, n, "without jobs")
	require.Equal(t, "cid", h.Asked("next-ann")["reviewer_id"])
	require.Equal(t, true, h.Asked("later-ann")["overdue"], "there is nobody to ask")
	h.Clock.Pass(time.Hour)
	require.Equal(t, 1, h.Work())
	require.Equal(t, true, h.Asked("next-ann")["overdue"])
	require.NoError(t, h.TryAnswer("next-ann", "cid", approval.Approve), "late, but it counts")

	// What has a low risk is approved, if the tenant has enabled that.
	for n, enabled := range []bool{false, true} {
		id := fmt.Sprint("low-", n)
		h.NewTask(id)
		h.MoveTo(id, approval.Submitted)
		_, err := h.Assess(ctx, "t", id, approval.Assessment{Score: 24}, record.UpdateOptions{})
		require.NoError(t, err)
		_, err = h.TryAsk(id, 0, Object{"reviewer_id": "ann", "approval_id": id, "on_timeout": "auto_approve"})
		require.NoError(t, err)
		h.Settings.AutoApproveLowRisk = enabled
		h.Clock.Pass(time.Hour)
		h.Work()
		want := map[bool]string{false: approval.Reviewing, true: approval.Approved}[enabled]
		require.Equal(t, want, h.Get(id)["state"])
	}
	h.NewTask("medium")
	h.MoveTo("medium", approval.Submitted)
	_, err = h.Assess(ctx, "t", "medium", approval.Assessment{Score: 25}, record.UpdateOptions{})
	require.NoError(t, err)
	_, err = h.TryAsk("medium", 0, Object{"reviewer_id": "ann", "on_timeout": "auto_approve"})
	require.NoError(t, err)
	h.Clock.Pass(time.Hour)
	h.Work()
	require.Equal(t, approval.Reviewing, h.Get("medium")["state"])
	_, err = h.Escalate(ctx, "t", "nobody")
	require.ErrorIs(t, err, record.ErrNotFound)
	require.NoError(t, h.Store.Run(ctx, "t", approval.QueueApprovalTimeout, []byte(`{"approval_id":"nobody"}`)))
}
