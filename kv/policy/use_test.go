package policy

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
	"github.com/stoadb/stoa/kv/record"
)

func (h *host) decide(agent, action string) Decision {
	h.t.Helper()
	d, err := h.Decide(ctx, "t", Question{Agent: agent, Action: action})
	require.NoError(h.t, err)
	return d
}

// A thousand ask at once, beside agents that are heard of; as many as may are allowed,
// and each of them is counted.
func TestB65MaxUsesWhoeverAsksAtOnce(t *testing.T) {
	h := newHost(t)
	h.create(Agents, someAgent("a"))
	d := h.create(Delegations, someDelegation("agent:a", "x").with(object{"constraints": object{"max_uses": 10, "conditions": []string{"true"}}}))
	intent := h.intent()
	var allowed, exhausted atomic.Int64
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			used, err := h.Use(ctx, "t", Question{Agent: "agent:a", Action: "x"}, UseOptions{Durability: engine.WAL, Log: true, Intent: intent})
			require.NoError(t, err)
			if used.Allowed {
				allowed.Add(1)
				require.Equal(t, d.ID, used.Delegation)
			} else {
				exhausted.Add(1)
				require.Equal(t, ReasonExhausted, used.Reason)
			}
			_, err = h.Heartbeat(ctx, "t", "a", engine.WAL)
			require.NoError(t, err)
		})
	}
	wg.Wait()
	require.EqualValues(t, 10, allowed.Load())
	require.EqualValues(t, 90, exhausted.Load())
	require.EqualValues(t, 10, h.get(Delegations, d.ID)["uses_count"])
	require.Equal(t, "100", h.key("ledger:counter:"+h.kv.Now().Format(time.DateOnly)))
	h.verified()
}

func TestB66ADryRunUsesNothing(t *testing.T) {
	h := newHost(t)
	d := h.create(Delegations, someDelegation("agent:a", "x").with(object{"constraints": object{"max_uses": 1}}))
	for range 3 {
		require.True(t, h.decide("agent:a", "x").Allowed)
		used, err := h.Use(ctx, "t", Question{Agent: "a", Action: "x"}, UseOptions{DryRun: true})
		require.NoError(t, err)
		require.True(t, used.Allowed)
	}
	require.NotContains(t, h.get(Delegations, d.ID), "uses_count")
	before := h.get(Delegations, d.ID)
	_, err := h.Use(ctx, "t", Question{Agent: "a", Action: "x"}, UseOptions{})
	require.NoError(t, err)
	require.Equal(t, before.with(object{"uses_count": 1.0}), h.get(Delegations, d.ID), "a use moves no stamp")
	require.Equal(t, ReasonNoDelegation, h.decide("a", "x").Reason)
	_, err = h.tryUpdate(Delegations, d.ID, object{"uses_count": 0})
	refused(t, err, record.CodeImmutable, "uses_count")
}

// Whoever is answered that a write is made finds every later decision by it, however
// the writes and the questions of others fall.
func TestB88NoDecisionIsStale(t *testing.T) {
	h := newHost(t)
	for a := range 4 {
		h.create(Delegations, someDelegation(fmt.Sprint("agent:a", a), "*"))
	}
	var wg sync.WaitGroup
	for w := range 4 {
		p := h.create(Policies, somePolicy(fmt.Sprint("x.w", w), "true", "allow", 1))
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 1))
			for range enginetest.Scale(300) {
				action := []string{"allow", "deny"}[r.IntN(2)]
				h.update(Policies, p.ID, object{"rules": []object{{"rule_id": "r1", "condition": "true", "action": action, "priority": 1}}})
				require.Equal(t, action == "allow", h.decide(fmt.Sprint("a", r.IntN(4)), fmt.Sprint("x.w", w)).Allowed)
			}
		})
	}
	wg.Wait()
}

// A world that was asked about long ago is brought up to date by the log, or where that
// was cut by the records; a tenant that was dropped has nothing of its namesake.
func TestB88WorldsAreFollowedAndReadAnew(t *testing.T) {
	h := newHost(t)
	d := h.create(Delegations, someDelegation("agent:a", "x"))
	gone := h.create(Delegations, someDelegation("agent:a", "y"))
	require.True(t, h.decide("a", "x").Allowed)
	require.True(t, h.decide("a", "y").Allowed)
	_, err := h.records.Delete(ctx, "t", Delegations, gone.ID, record.UpdateOptions{})
	require.NoError(t, err)
	require.False(t, h.decide("a", "y").Allowed)
	for i := range 5000 {
		_, err := h.tryUpdate(Delegations, d.ID, object{"n": i})
		require.NoError(t, err)
	}
	last := h.create(Delegations, someDelegation("agent:a", "y"))
	require.True(t, h.decide("a", "y").Allowed)
	require.True(t, h.decide("a", "x").Allowed)
	_, err = h.records.Delete(ctx, "t", Delegations, last.ID, record.UpdateOptions{})
	require.NoError(t, err)
	require.False(t, h.decide("a", "y").Allowed)
	_, err = h.kv.DropTenant(ctx, "t")
	require.NoError(t, err)
	require.False(t, h.decide("a", "x").Allowed)
	h.create(Delegations, someDelegation("agent:b", "x"))
	require.False(t, h.decide("a", "x").Allowed)
	require.True(t, h.decide("b", "x").Allowed)
}

// Where the log lacks changes that there were, the records are read anew.
func TestB88AWorldIsReadAnewWhereTheLogIsDamaged(t *testing.T) {
	h := newHost(t)
	d := h.create(Delegations, someDelegation("agent:a", "x"))
	require.True(t, h.decide("a", "x").Allowed)
	d = h.update(Delegations, d.ID, object{"active": false})
	space, err := h.records.Space(ctx, "t", Delegations)
	require.NoError(t, err)
	row := kv.Row{Scope: space.Scope(), Shape: kv.ShapeLog, Number: d.Revision}.AppendKey(nil)
	value, err := h.db.Get(nil, column.Generic, row)
	require.NoError(t, err)
	var b engine.Batch
	b.Delete(column.Generic, row)
	require.NoError(t, h.db.Apply(&b))
	require.False(t, h.decide("a", "x").Allowed)
	b.Reset()
	b.Put(column.Generic, row, value)
	require.NoError(t, h.db.Apply(&b))
}

// A tenant that was dropped and made again while nobody asked has nothing of before,
// also where as much has happened to it.
func TestB88ANamesakeIsReadAnew(t *testing.T) {
	h := newHost(t)
	h.create(Delegations, someDelegation("agent:a", "x"))
	require.True(t, h.decide("a", "x").Allowed)
	_, err := h.kv.DropTenant(ctx, "t")
	require.NoError(t, err)
	for range 2 {
		h.create(Delegations, someDelegation("agent:b", "x"))
	}
	require.False(t, h.decide("a", "x").Allowed)
	require.True(t, h.decide("b", "x").Allowed)
}

// What was decided is not written where something that it was decided by has changed
// since; what it was not decided by makes no difference.
func TestB65WhatWasDecidedByMustHoldWhenItIsWritten(t *testing.T) {
	for name, tc := range map[string]struct {
		change    func(h *host, mine, other, p string)
		overtaken bool
	}{
		"nothing":      {func(h *host, mine, other, p string) {}, false},
		"a policy":     {func(h *host, mine, other, p string) { h.update(Policies, p, object{"name": "other"}) }, true},
		"the settings": {func(h *host, mine, other, p string) { h.set(Settings{StrictChain: true}) }, true},
		"the agent":    {func(h *host, mine, other, p string) { h.update(Agents, "a", object{"status": "disabled"}) }, true},
		"its config": {func(h *host, mine, other, p string) {
			h.update(Agents, "a", object{"config": object{"require_human_approval_for": []string{"x"}}})
		}, true},
		"its name":       {func(h *host, mine, other, p string) { h.update(Agents, "a", object{"name": "other"}) }, false},
		"a heartbeat":    {func(h *host, mine, other, p string) { _, _ = h.Heartbeat(ctx, "t", "a", engine.WAL) }, false},
		"the delegation": {func(h *host, mine, other, p string) { h.update(Delegations, mine, object{"scope": []string{"x", "z"}}) }, true},
		"a use": {func(h *host, mine, other, p string) {
			_, _ = h.Use(ctx, "t", Question{Agent: "a", Action: "x"}, UseOptions{})
		}, false},
		"another": {func(h *host, mine, other, p string) {
			h.update(Delegations, other, object{"scope": []string{"y", "z"}})
		}, false},
		"the time": {func(h *host, mine, other, p string) { h.clock.Pass(2 * time.Hour) }, true},
		"it is gone": {func(h *host, mine, other, p string) {
			_, _ = h.records.Delete(ctx, "t", Delegations, mine, record.UpdateOptions{})
		}, true},
		"no agent": {func(h *host, mine, other, p string) {
			_, _ = h.records.Delete(ctx, "t", Agents, "a", record.UpdateOptions{})
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			h.create(Agents, someAgent("a"))
			p := h.create(Policies, somePolicy("x", "false", "deny", 1))
			mine := h.create(Delegations, someDelegation("agent:a", "x").with(object{"constraints": object{"max_uses": 100, "valid_until": h.clock.Now().Add(time.Hour).Format(time.RFC3339)}}))
			other := h.create(Delegations, someDelegation("agent:a", "y"))
			h.set(Settings{})
			u := use{q: &Question{Agent: "agent:a", Action: "x"}, o: &UseOptions{}}
			require.NoError(t, h.Store.asked(ctx, "t", u.q, u.decide))
			require.True(t, u.used.Allowed, u.used.Reason)
			tc.change(h, mine.ID, other.ID, p.ID)
			err := h.records.Do(ctx, "t", engine.WAL, u.write)
			if tc.overtaken {
				require.ErrorIs(t, err, errOvertaken)
				return
			}
			require.NoError(t, err)
		})
	}
}

func (h *host) set(s Settings) {
	h.t.Helper()
	require.NoError(h.t, h.SetSettings(ctx, "t", s, record.WriteOptions{Durability: engine.WAL}))
}

// Worlds beyond the bound are let go of, and come back when they are asked about.
func TestWorldsAreBounded(t *testing.T) {
	h := newHost(t)
	h.worlds.most = 10
	for round := range 3 {
		for tenant := range 8 {
			name := fmt.Sprint("tenant", tenant)
			if round == 0 {
				for n := range 3 {
					_, err := h.records.Create(ctx, name, Delegations, someDelegation("agent:a", fmt.Sprint("x", n)).json(), record.WriteOptions{Durability: engine.WAL})
					require.NoError(t, err)
				}
			}
			d, err := h.Decide(ctx, name, Question{Agent: "a", Action: "x1"})
			require.NoError(t, err)
			require.True(t, d.Allowed)
			require.LessOrEqual(t, h.worlds.held, 10)
			require.Len(t, h.worlds.byTenant, min(tenant+1+8*round, 3))
		}
	}
	_, err := h.Decide(ctx, "", Question{Agent: "a", Action: "x"})
	refused(t, err, record.CodeInvalidArgument, "tenant")
}

// What can't be read counts as what allows least.
func TestRecordsThatCantBeReadAllowNothing(t *testing.T) {
	broken := record.Doc{ID: "broken", JSON: []byte(`{"policy_id":1}`)}
	var w World
	w.Apply(&Delegation{ID: "d", Delegate: "a", Scope: []Pattern{{"*"}}, Active: true}, &Delegation{ID: "broken", Delegate: "b", Scope: []Pattern{{"*"}}, Active: true})
	require.True(t, w.Decide(&Question{Agent: "b", Action: "x"}).Allowed)
	w.Apply(parse(1, broken))
	require.False(t, w.Decide(&Question{Agent: "b", Action: "x"}).Allowed)
	w.Apply(parse(0, record.Doc{ID: "a", JSON: broken.JSON}))
	require.Equal(t, ReasonAgentDisabled, w.Decide(&Question{Agent: "a", Action: "x"}).Reason)
	w.Apply(parse(0, record.Doc{ID: "a"}), parse(3, record.Doc{ID: SettingsID, JSON: []byte(`{"default_deny":1}`)}))
	require.Equal(t, ReasonDefaultDeny, w.Decide(&Question{Agent: "a", Action: "x"}).Reason)
	w.Apply(parse(3, record.Doc{ID: SettingsID}), parse(2, broken))
	require.Equal(t, "broken", w.Decide(&Question{Agent: "a", Action: "x"}).Policy)
}

func TestB86ADecisionIsLogged(t *testing.T) {
	h := newHost(t)
	d := h.create(Delegations, someDelegation("agent:a", "gmail.*", "single").with(object{"constraints": object{"require_approval_for": []string{"gmail.ask"}}}))
	p := h.create(Policies, somePolicy("gmail.send", "amount > 5", "deny", 9))
	intent := h.intent()
	ask := func(action string, context map[string]any) (Used, object) {
		used, err := h.Use(ctx, "t", Question{Agent: "agent:a", Action: action, Context: context}, UseOptions{Durability: engine.WAL, Log: true, Intent: intent})
		require.NoError(t, err)
		return used, h.get(Ledger, used.Event)
	}
	used, event := ask("gmail.send", map[string]any{"amount": 6.0})
	require.False(t, used.Allowed)
	require.Equal(t, map[string]any{"result": "denied", "policy_id": p.ID, "rule_matched": "r1"}, event["policy_decision"])
	require.Equal(t, []any{"gmail", "send", "a", "because of gmail.send"}, []any{event["tool"], event["action"], event["agent_id"], event["notes"]})
	hash, err := HashJSON([]byte(`{"amount":6}`))
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
	require.EqualValues(t, 2, h.get(Delegations, d.ID)["uses_count"])
	_, err = h.Use(ctx, "t", Question{Agent: "a", Action: "single"}, UseOptions{Log: true})
	refused(t, err, record.CodeValidation, "intent_id")
	_, err = h.Use(ctx, "t", Question{Agent: "a", Action: "single"}, UseOptions{Log: true, Intent: "int-20251130-nobody"})
	refused(t, err, record.CodeNotFound, "intent_id")
	require.EqualValues(t, 2, h.get(Delegations, d.ID)["uses_count"], "what is not logged is not used")
	h.verified()
}

func TestB89ApprovalRequests(t *testing.T) {
	h := newHost(t)
	h.create(Delegations, someDelegation("agent:a", "pay.*").with(object{"constraints": object{"require_approval_for": []string{"pay.*"}}}))
	q := Question{Agent: "agent:a", Action: "pay.out", Context: map[string]any{"amount": 1.0}}
	ask := func(o UseOptions) Used {
		used, err := h.Use(ctx, "t", q, o)
		require.NoError(t, err)
		return used
	}
	used := ask(UseOptions{AskFor: time.Hour})
	require.Equal(t, PendingApproval, used.Result)
	require.Regexp(t, `^apr-\d{8}-[a-z0-9]{6}$`, used.Approval)
	got := h.get(Approvals, used.Approval)
	require.Equal(t, h.clock.Now().Add(time.Hour).Format(time.RFC3339Nano), got["expires_at"])
	require.Equal(t, []any{"a", "pay.out", "pending", "delegation"}, []any{got["agent_id"], got["action"], got["status"], got["policy_id"]})
	require.Equal(t, []string{used.Approval}, h.ids("approval:active"))
	_, err := h.Answer(ctx, "t", used.Approval, true, "agent:a", "", record.WriteOptions{})
	refused(t, err, record.CodePrecondition, "decided_by")
	_, err = h.tryUpdate(Approvals, used.Approval, object{"status": "approved", "decided_by": "blackroad.system"})
	refused(t, err, record.CodePrecondition, "decided_by")
	for _, dry := range []bool{false, true} {
		_, err = h.Use(ctx, "t", q, UseOptions{Approval: used.Approval, DryRun: dry})
		refused(t, err, record.CodePrecondition, "approval")
	}
	d, err := h.Answer(ctx, "t", used.Approval, true, "user:alexa", "fine", record.WriteOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"approved", "user:alexa", "fine"}, []string{text(d, "status"), text(d, "decided_by"), text(d, "decided_reason")})
	require.NotEmpty(t, text(d, "decided_at"))
	for _, approve := range []bool{true, false} {
		_, err = h.Answer(ctx, "t", used.Approval, approve, "user:bob", "", record.WriteOptions{})
		refused(t, err, record.CodeIllegalTransition, "status")
	}
	other := q
	other.Context = map[string]any{"amount": 1000.0}
	_, err = h.Use(ctx, "t", other, UseOptions{Approval: used.Approval})
	refused(t, err, record.CodePrecondition, "approval")
	require.True(t, ask(UseOptions{Approval: used.Approval, DryRun: true}).Allowed)
	require.True(t, ask(UseOptions{Approval: used.Approval}).Allowed)
	_, err = h.Use(ctx, "t", q, UseOptions{Approval: used.Approval})
	refused(t, err, record.CodePrecondition, "approval") // once
	late := ask(UseOptions{AskFor: time.Minute})
	h.clock.Oversleep(time.Minute)
	shown, err := h.Approval(ctx, "t", late.Approval)
	require.NoError(t, err)
	require.Equal(t, "rejected", text(shown, "status"))
	for _, status := range []string{"approved", "rejected"} { // before the store has written that it is rejected, and after
		_, err = h.tryUpdate(Approvals, late.Approval, object{"status": status, "decided_by": "user:alexa"})
		require.Error(t, err)
	}
	d, err = h.Answer(ctx, "t", late.Approval, true, "user:alexa", "", record.WriteOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"rejected", "blackroad.system", "expired"}, []string{text(d, "status"), text(d, "decided_by"), text(d, "decided_reason")})
	// Nobody answers, and nobody asks: the request is rejected in all reads.
	late = ask(UseOptions{AskFor: time.Minute})
	require.Equal(t, []string{late.Approval}, h.ids("approval:active"))
	require.True(t, h.clock.Until(func() bool { return h.get(Approvals, late.Approval)["status"] == "rejected" }))
	got = h.get(Approvals, late.Approval)
	require.Equal(t, []any{"blackroad.system", "expired"}, []any{got["decided_by"], got["decided_reason"]})
	require.GreaterOrEqual(t, got["decided_at"], got["expires_at"])
	require.Empty(t, h.ids("approval:active"))
	require.Contains(t, h.ids("approval:by_status:rejected"), late.Approval)
	d, err = h.Answer(ctx, "t", late.Approval, true, "user:alexa", "", record.WriteOptions{})
	require.NoError(t, err)
	require.Equal(t, "rejected", text(d, "status"), "whatever the answer")
	_, err = h.try(Approvals, object{"agent_id": "a", "action": "x", "expires_at": "2100-01-01T00:00:00Z", "status": "approved", "decided_by": "user:eve"})
	refused(t, err, record.CodePrecondition, "status")
}

// An answer comes in time, from a user, and once.
func TestB89AnswersAreChecked(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	doc := func(o object) record.Doc {
		return record.Doc{JSON: object{"expires_at": "2026-03-01T12:00:00.001Z", "status": "pending"}.with(o).json()}
	}
	open, late := doc(nil), doc(object{"expires_at": "2026-03-01T12:00:00Z"})
	by := func(status, who string) record.Doc { return doc(object{"status": status, "decided_by": who}) }
	for _, tc := range []struct {
		old, changed record.Doc
		code         record.Code
		field        string
	}{
		{open, by("approved", "user:a"), "", ""}, {open, by("rejected", "user:a"), "", ""}, {open, doc(object{"note": 1}), "", ""},
		{open, by("approved", "agent:a"), record.CodePrecondition, "decided_by"}, {open, by("rejected", system), record.CodePrecondition, "decided_by"},
		{late, by("approved", "user:a"), record.CodePrecondition, "expires_at"}, {late, by("rejected", "user:a"), record.CodePrecondition, "expires_at"},
		{late, by("approved", system), record.CodePrecondition, "expires_at"}, {late, by("rejected", system), "", ""}, {late, doc(object{"note": 1}), "", ""},
		{by("approved", "user:a"), by("approved", "user:b"), record.CodeImmutable, "decided_by"}, {by("rejected", system), by("rejected", "user:b"), record.CodeImmutable, "decided_by"},
		{by("approved", "user:a"), doc(object{"status": "approved", "decided_by": "user:a", "decided_reason": "x"}), record.CodeImmutable, "decided_reason"},
		{by("approved", "user:a"), doc(object{"status": "approved", "decided_by": "user:a", "note": 1}), "", ""},
		{record.Doc{}, open, "", ""}, {record.Doc{}, by("approved", "user:a"), record.CodePrecondition, "status"}, {record.Doc{}, doc(object{"used_at": "2026-03-01T12:00:00Z"}), record.CodePrecondition, "status"},
	} {
		err := answering(tc.old, tc.changed, now)
		if tc.code == "" {
			require.NoError(t, err, "%s", tc.changed.JSON)
			continue
		}
		refused(t, err, tc.code, tc.field)
	}
}

func TestB33TheDefaultOfATenant(t *testing.T) {
	h := newHost(t)
	h.create(Delegations, someDelegation("agent:a", "x"))
	require.Equal(t, ReasonNoPolicy, h.decide("a", "x").Reason)
	require.NoError(t, h.SetSettings(ctx, "t", Settings{DefaultDeny: true}, record.WriteOptions{}))
	require.Equal(t, ReasonDefaultDeny, h.decide("a", "x").Reason)
	settings, err := h.Settings(ctx, "t")
	require.NoError(t, err)
	require.Equal(t, Settings{DefaultDeny: true}, settings)
	require.NoError(t, h.SetSettings(ctx, "t", Settings{}, record.WriteOptions{}))
	require.True(t, h.decide("a", "x").Allowed)
	settings, err = h.Settings(ctx, "other")
	require.NoError(t, err)
	require.Zero(t, settings)
}

func TestB69B70QuestionsBothWaysOfAStore(t *testing.T) {
	h := newHost(t)
	d := h.create(Delegations, someDelegation("agent:a", "notion.*", "x"))
	grants, err := h.WhatCan(ctx, "t", "agent:a")
	require.NoError(t, err)
	require.Len(t, grants, 2)
	require.Equal(t, d.ID, grants[0].Delegation)
	grants, err = h.WhoCan(ctx, "t", "notion.create_page")
	require.NoError(t, err)
	require.Len(t, grants, 1)
	require.Equal(t, "agent:a", grants[0].Delegate)
	e, err := h.Explain(ctx, "t", Question{Agent: "a", Action: "x"})
	require.NoError(t, err)
	require.True(t, e.Decision.Allowed)
	require.Len(t, e.Steps, 5)
}
