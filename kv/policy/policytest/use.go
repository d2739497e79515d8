package policytest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/record"
)

// A thousand ask at once, beside agents that are heard of; as many as may are allowed,
// and each of them is counted.
func b65MaxUsesWhoeverAsksAtOnce(t *testing.T, h *Host) {
	h.Create(policy.Agents, SomeAgent("a"))
	d := h.Create(policy.Delegations, SomeDelegation("agent:a", "x").With(Object{"constraints": Object{"max_uses": 10, "conditions": []string{"true"}}}))
	intent := h.Intent()
	var allowed, exhausted atomic.Int64
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			used, err := h.Use(ctx, "t", policy.Question{Agent: "agent:a", Action: "x"}, policy.UseOptions{Durability: engine.WAL, Log: true, Intent: intent})
			require.NoError(t, err)
			if used.Allowed {
				allowed.Add(1)
				require.Equal(t, d.ID, used.Delegation)
			} else {
				exhausted.Add(1)
				require.Equal(t, policy.ReasonExhausted, used.Reason)
			}
			_, err = h.Heartbeat(ctx, "t", "a", engine.WAL)
			require.NoError(t, err)
		})
	}
	wg.Wait()
	require.EqualValues(t, 10, allowed.Load())
	require.EqualValues(t, 90, exhausted.Load())
	require.EqualValues(t, 10, h.Get(policy.Delegations, d.ID)["uses_count"])
	require.Equal(t, "100", h.Key(h.counter()))
	h.Verified()
}

func b66ADryRunUsesNothing(t *testing.T, h *Host) {
	d := h.Create(policy.Delegations, SomeDelegation("agent:a", "x").With(Object{"constraints": Object{"max_uses": 1}}))
	for range 3 {
		require.True(t, h.Ask("agent:a", "x").Allowed)
		used, err := h.Use(ctx, "t", policy.Question{Agent: "a", Action: "x"}, policy.UseOptions{DryRun: true})
		require.NoError(t, err)
		require.True(t, used.Allowed)
	}
	require.NotContains(t, h.Get(policy.Delegations, d.ID), "uses_count")
	before := h.Get(policy.Delegations, d.ID)
	_, err := h.Use(ctx, "t", policy.Question{Agent: "a", Action: "x"}, policy.UseOptions{})
	require.NoError(t, err)
	require.Equal(t, before.With(Object{"uses_count": 1.0}), h.Get(policy.Delegations, d.ID), "a use moves no stamp")
	require.Equal(t, policy.ReasonNoDelegation, h.Ask("a", "x").Reason)
	_, err = h.TryUpdate(policy.Delegations, d.ID, Object{"uses_count": 0})
	refused(t, err, record.CodeImmutable, "uses_count")
}

// Whoever is answered that a write is made finds every later decision by it, however
// the writes and the questions of others fall.
func b88NoDecisionIsStale(t *testing.T, h *Host) {
	for a := range 4 {
		h.Create(policy.Delegations, SomeDelegation(fmt.Sprint("agent:a", a), "*"))
	}
	var wg sync.WaitGroup
	for w := range 4 {
		p := h.Create(policy.Policies, SomePolicy(fmt.Sprint("x.w", w), "true", "allow", 1))
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 1))
			for range enginetest.Scale(300) {
				action := []string{"allow", "deny"}[r.IntN(2)]
				h.Update(policy.Policies, p.ID, Object{"rules": []Object{{"rule_id": "r1", "condition": "true", "action": action, "priority": 1}}})
				require.Equal(t, action == "allow", h.Ask(fmt.Sprint("a", r.IntN(4)), fmt.Sprint("x.w", w)).Allowed)
			}
		})
	}
	wg.Wait()
}

// A world that was asked about long ago is brought up to date by the log, or where that
// was cut by the records; a tenant that was dropped has nothing of its namesake.
func b88WorldsAreFollowedAndReadAnew(t *testing.T, h *Host) {
	d := h.Create(policy.Delegations, SomeDelegation("agent:a", "x"))
	gone := h.Create(policy.Delegations, SomeDelegation("agent:a", "y"))
	require.True(t, h.Ask("a", "x").Allowed)
	require.True(t, h.Ask("a", "y").Allowed)
	_, err := h.Records.Delete(ctx, "t", policy.Delegations, gone.ID, record.UpdateOptions{})
	require.NoError(t, err)
	require.False(t, h.Ask("a", "y").Allowed)
	for i := range 5000 {
		_, err := h.TryUpdate(policy.Delegations, d.ID, Object{"n": i})
		require.NoError(t, err)
	}
	last := h.Create(policy.Delegations, SomeDelegation("agent:a", "y"))
	require.True(t, h.Ask("a", "y").Allowed)
	require.True(t, h.Ask("a", "x").Allowed)
	_, err = h.Records.Delete(ctx, "t", policy.Delegations, last.ID, record.UpdateOptions{})
	require.NoError(t, err)
	require.False(t, h.Ask("a", "y").Allowed)
	_, err = h.KV.DropTenant(ctx, "t")
	require.NoError(t, err)
	require.False(t, h.Ask("a", "x").Allowed)
	h.Create(policy.Delegations, SomeDelegation("agent:b", "x"))
	require.False(t, h.Ask("a", "x").Allowed)
	require.True(t, h.Ask("b", "x").Allowed)
}

// Where the log lacks changes that there were, the records are read anew.
func b88AWorldIsReadAnewWhereTheLogIsDamaged(t *testing.T, h *Host) {
	d := h.Create(policy.Delegations, SomeDelegation("agent:a", "x"))
	require.True(t, h.Ask("a", "x").Allowed)
	d = h.Update(policy.Delegations, d.ID, Object{"active": false})
	space, err := h.Store.Records().Space(ctx, "t", policy.Delegations)
	require.NoError(t, err)
	row := kv.Row{Scope: space.Scope(), Shape: kv.ShapeLog, Number: d.Revision}.AppendKey(nil)
	value, err := h.DB.Get(nil, column.Generic, row)
	require.NoError(t, err)
	var b engine.Batch
	b.Delete(column.Generic, row)
	require.NoError(t, h.DB.Apply(&b))
	require.False(t, h.Ask("a", "x").Allowed)
	b.Reset()
	b.Put(column.Generic, row, value)
	require.NoError(t, h.DB.Apply(&b))
}

// A tenant that was dropped and made again while nobody asked has nothing of before,
// also where as much has happened to it.
func b88ANamesakeIsReadAnew(t *testing.T, h *Host) {
	h.Create(policy.Delegations, SomeDelegation("agent:a", "x"))
	require.True(t, h.Ask("a", "x").Allowed)
	_, err := h.KV.DropTenant(ctx, "t")
	require.NoError(t, err)
	for range 2 {
		h.Create(policy.Delegations, SomeDelegation("agent:b", "x"))
	}
	require.False(t, h.Ask("a", "x").Allowed)
	require.True(t, h.Ask("b", "x").Allowed)
}

func b86ADecisionIsLogged(t *testing.T, h *Host) {
	d := h.Create(policy.Delegations, SomeDelegation("agent:a", "gmail.*", "single").With(Object{"constraints": Object{"require_approval_for": []string{"gmail.ask"}}}))
	p := h.Create(policy.Policies, SomePolicy("gmail.send", "amount > 5", "deny", 9))
	intent := h.Intent()
	ask := func(action string, context map[string]any) (policy.Used, Object) {
		used, err := h.Use(ctx, "t", policy.Question{Agent: "agent:a", Action: action, Context: context}, policy.UseOptions{Durability: engine.WAL, Log: true, Intent: intent})
		require.NoError(t, err)
		return used, h.Get(policy.Ledger, used.Event)
	}
	used, event := ask("gmail.send", map[string]any{"amount": 6.0})
	require.False(t, used.Allowed)
	require.Equal(t, map[string]any{"result": "denied", "policy_id": p.ID, "rule_matched": "r1"}, event["policy_decision"])
	require.Equal(t, []any{"gmail", "send", "a", "because of gmail.send"}, []any{event["tool"], event["action"], event["agent_id"], event["notes"]})
	hash, err := policy.HashJSON([]byte(`{"amount":6}`))
	require.NoError(t, err)
	require.Equal(t, hash, event["inputs_hash"])
	used, event = ask("gmail.send", map[string]any{"amount": 5.0})
	require.True(t, used.Allowed)
	require.Equal(t, map[string]any{"result": "allowed"}, event["policy_decision"])
	require.Equal(t, map[string]any{"delegation_id": d.ID}, event["metadata"])
	_, event = ask("gmail.ask", nil)
	require.Equal(t, map[string]any{"result": "pending_approval", "policy_id": "delegation"}, event["policy_decision"])
	_, event = ask("single", nil)
	require.Equal(t, []any{"single", "single"}, []any{event["tool"], event["action"]})
	_, event = ask("other", nil)
	require.Equal(t, map[string]any{"result": "denied"}, event["policy_decision"])
	require.EqualValues(t, 2, h.Get(policy.Delegations, d.ID)["uses_count"])
	_, err = h.Use(ctx, "t", policy.Question{Agent: "a", Action: "single"}, policy.UseOptions{Log: true})
	refused(t, err, record.CodeValidation, "intent_id")
	_, err = h.Use(ctx, "t", policy.Question{Agent: "a", Action: "single"}, policy.UseOptions{Log: true, Intent: "int-20251130-nobody"})
	refused(t, err, record.CodeNotFound, "intent_id")
	require.EqualValues(t, 2, h.Get(policy.Delegations, d.ID)["uses_count"], "what is not logged is not used")
	h.Verified()
}

func b89ApprovalRequests(t *testing.T, h *Host) {
	h.Create(policy.Delegations, SomeDelegation("agent:a", "pay.*").With(Object{"constraints": Object{"require_approval_for": []string{"pay.*"}}}))
	q := policy.Question{Agent: "agent:a", Action: "pay.out", Context: map[string]any{"amount": 1.0}}
	ask := func(o policy.UseOptions) policy.Used {
		used, err := h.Use(ctx, "t", q, o)
		require.NoError(t, err)
		return used
	}
	used := ask(policy.UseOptions{AskFor: time.Hour})
	require.Equal(t, policy.PendingApproval, used.Result)
	require.Regexp(t, `^apr-\d{8}-[a-z0-9]{6}$`, used.Approval)
	got := h.Get(policy.Approvals, used.Approval)
	require.Equal(t, h.Clock.Now().Add(time.Hour).Format(time.RFC3339Nano), got["expires_at"])
	require.Equal(t, []any{"a", "pay.out", "pending", "delegation"}, []any{got["agent_id"], got["action"], got["status"], got["policy_id"]})
	require.Equal(t, []string{used.Approval}, h.IDs("approval:active"))
	_, err := h.Answer(ctx, "t", used.Approval, true, "agent:a", "", record.WriteOptions{})
	refused(t, err, record.CodePrecondition, "decided_by")
	_, err = h.TryUpdate(policy.Approvals, used.Approval, Object{"status": "approved", "decided_by": "blackroad.system"})
	refused(t, err, record.CodePrecondition, "decided_by")
	for _, dry := range []bool{false, true} {
		_, err = h.Use(ctx, "t", q, policy.UseOptions{Approval: used.Approval, DryRun: dry})
		refused(t, err, record.CodePrecondition, "approval")
	}
	d, err := h.Answer(ctx, "t", used.Approval, true, "user:alexa", "fine", record.WriteOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"approved", "user:alexa", "fine"}, []string{fieldText(d, "status"), fieldText(d, "decided_by"), fieldText(d, "decided_reason")})
	require.NotEmpty(t, fieldText(d, "decided_at"))
	for _, approve := range []bool{true, false} {
		_, err = h.Answer(ctx, "t", used.Approval, approve, "user:bob", "", record.WriteOptions{})
		refused(t, err, record.CodeIllegalTransition, "status")
	}
	other := q
	other.Context = map[string]any{"amount": 1000.0}
	_, err = h.Use(ctx, "t", other, policy.UseOptions{Approval: used.Approval})
	refused(t, err, record.CodePrecondition, "approval")
	require.True(t, ask(policy.UseOptions{Approval: used.Approval, DryRun: true}).Allowed)
	require.True(t, ask(policy.UseOptions{Approval: used.Approval}).Allowed)
	_, err = h.Use(ctx, "t", q, policy.UseOptions{Approval: used.Approval})
	refused(t, err, record.CodePrecondition, "approval") // once
	late := ask(policy.UseOptions{AskFor: time.Minute})
	h.Clock.Oversleep(time.Minute)
	shown, err := h.Approval(ctx, "t", late.Approval)
	require.NoError(t, err)
	require.Equal(t, "rejected", fieldText(shown, "status"))
	for _, status := range []string{"approved", "rejected"} { // before the store has written that it is rejected, and after
		_, err = h.TryUpdate(policy.Approvals, late.Approval, Object{"status": status, "decided_by": "user:alexa"})
		require.Error(t, err)
	}
	d, err = h.Answer(ctx, "t", late.Approval, true, "user:alexa", "", record.WriteOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"rejected", "blackroad.system", "expired"}, []string{fieldText(d, "status"), fieldText(d, "decided_by"), fieldText(d, "decided_reason")})
	// Nobody answers, and nobody asks: the request is rejected in all reads.
	late = ask(policy.UseOptions{AskFor: time.Minute})
	require.Equal(t, []string{late.Approval}, h.IDs("approval:active"))
	require.True(t, h.Clock.Until(func() bool { return h.Get(policy.Approvals, late.Approval)["status"] == "rejected" }))
	got = h.Get(policy.Approvals, late.Approval)
	require.Equal(t, []any{"blackroad.system", "expired"}, []any{got["decided_by"], got["decided_reason"]})
	require.GreaterOrEqual(t, got["decided_at"], got["expires_at"])
	require.Empty(t, h.IDs("approval:active"))
	require.Contains(t, h.IDs("approval:by_status:rejected"), late.Approval)
	d, err = h.Answer(ctx, "t", late.Approval, true, "user:alexa", "", record.WriteOptions{})
	require.NoError(t, err)
	require.Equal(t, "rejected", fieldText(d, "status"), "whatever the answer")
	_, err = h.Try(policy.Approvals, Object{"agent_id": "a", "action": "x", "expires_at": "2100-01-01T00:00:00Z", "status": "approved", "decided_by": "user:eve"})
	refused(t, err, record.CodePrecondition, "status")
}

func b33TheDefaultOfATenant(t *testing.T, h *Host) {
	h.Create(policy.Delegations, SomeDelegation("agent:a", "x"))
	require.Equal(t, policy.ReasonNoPolicy, h.Ask("a", "x").Reason)
	require.NoError(t, h.SetSettings(ctx, "t", policy.Settings{DefaultDeny: true}, record.WriteOptions{}))
	require.Equal(t, policy.ReasonDefaultDeny, h.Ask("a", "x").Reason)
	settings, err := h.Settings(ctx, "t")
	require.NoError(t, err)
	require.Equal(t, policy.Settings{DefaultDeny: true}, settings)
	require.NoError(t, h.SetSettings(ctx, "t", policy.Settings{}, record.WriteOptions{}))
	require.True(t, h.Ask("a", "x").Allowed)
	settings, err = h.Settings(ctx, "other")
	require.NoError(t, err)
	require.Zero(t, settings)
}

func b69B70QuestionsBothWaysOfAStore(t *testing.T, h *Host) {
	d := h.Create(policy.Delegations, SomeDelegation("agent:a", "notion.*", "x"))
	grants, err := h.WhatCan(ctx, "t", "agent:a")
	require.NoError(t, err)
	require.Len(t, grants, 2)
	require.Equal(t, d.ID, grants[0].Delegation)
	grants, err = h.WhoCan(ctx, "t", "notion.create_page")
	require.NoError(t, err)
	require.Len(t, grants, 1)
	require.Equal(t, "agent:a", grants[0].Delegate)
	e, err := h.Explain(ctx, "t", policy.Question{Agent: "a", Action: "x"})
	require.NoError(t, err)
	require.True(t, e.Decision.Allowed)
	require.Len(t, e.Steps, 5)
}
