package policytest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/record"
)

var statuses = []string{"proposed", "in_planning", "executing", "completed", "blocked", "cancelled"}

func b52IntentsAreChecked(t *testing.T, h *Host) {
	got := h.Get(policy.Intents, h.Create(policy.Intents, SomeIntent()).ID)
	require.Equal(t, "proposed", got["status"])
	require.Equal(t, "normal", got["priority"])
	for field, values := range map[string][]any{"actor": {nil, "alexa", ""}, "goal": {nil, ""}, "priority": {"urgent"}, "status": {"done"}, "context": {"c"}} {
		for _, value := range values {
			_, err := h.Try(policy.Intents, SomeIntent().With(Object{field: value}))
			refused(t, err, record.CodeValidation, field)
		}
	}
	for _, priority := range []string{"low", "normal", "high", "critical"} {
		h.Create(policy.Intents, SomeIntent().With(Object{"priority": priority}))
	}
}

func b53TransitionsOfAnIntent(t *testing.T, h *Host) {
	legal := map[string][]string{"proposed": {"in_planning", "cancelled"}, "in_planning": {"executing", "blocked", "cancelled"}, "executing": {"completed", "blocked", "cancelled"}, "blocked": {"in_planning", "executing", "cancelled"}}
	for _, from := range statuses {
		for _, to := range statuses {
			doc := SomeIntent().With(Object{"status": from})
			if from == "blocked" {
				doc["blocked_reason"] = "r"
			}
			d := h.Create(policy.Intents, doc)
			patch := Object{}
			if to == "blocked" && from != to {
				patch["blocked_reason"] = "r"
			}
			moved, err := h.Records.Transition(ctx, "t", policy.Intents, d.ID, to, patch.JSON(), record.UpdateOptions{})
			switch {
			case from == to:
				require.NoError(t, err)
				require.Equal(t, d.Revision, moved.Revision)
			case slices.Contains(legal[from], to):
				require.NoError(t, err, "%s to %s", from, to)
				require.Equal(t, to, fieldText(moved, "status"))
			default:
				refused(t, err, record.CodeIllegalTransition, "status")
				require.Equal(t, from, h.Get(policy.Intents, d.ID)["status"])
			}
		}
	}
}

func b54WhatStatesOfAnIntentBring(t *testing.T, h *Host) {
	d := h.Create(policy.Intents, SomeIntent().With(Object{"status": "executing"}))
	_, err := h.TryUpdate(policy.Intents, d.ID, Object{"status": "blocked"})
	refused(t, err, record.CodeValidation, "blocked_reason")
	h.Update(policy.Intents, d.ID, Object{"status": "blocked", "blocked_reason": "no key"})
	require.Equal(t, "no key", h.Get(policy.Intents, d.ID)["blocked_reason"])
	h.Update(policy.Intents, d.ID, Object{"status": "executing"})
	require.NotContains(t, h.Get(policy.Intents, d.ID), "blocked_reason")
	h.Update(policy.Intents, d.ID, Object{"status": "completed"})
	at := h.Get(policy.Intents, d.ID)["completed_at"]
	require.NotEmpty(t, at)
	_, err = h.TryUpdate(policy.Intents, d.ID, Object{"completed_at": "2020-01-01T00:00:00Z"})
	refused(t, err, record.CodeImmutable, "completed_at")
}

func b55StepsOfAPlan(t *testing.T, h *Host) {
	step := func(n any, status string) Object { return Object{"step": n, "action": "a.b", "status": status} }
	for _, plan := range [][]Object{{step(1, "planned"), step(1, "planned")}, {step(2, "planned"), step(1, "planned")}, {step(0, "planned")}, {step(1.5, "planned")}, {step("1", "planned")}} {
		_, err := h.Try(policy.Intents, SomeIntent().With(Object{"plan": plan}))
		var e *record.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, record.CodeValidation, e.Code)
		require.True(t, strings.HasPrefix(e.Field, "plan."), e.Field)
	}
	_, err := h.Try(policy.Intents, SomeIntent().With(Object{"plan": []Object{step(1, "done")}}))
	refused(t, err, record.CodeValidation, "plan.0.status")
	var plan []Object
	for i := range 10 {
		plan = append(plan, step(i+1, "planned"))
	}
	d := h.Create(policy.Intents, SomeIntent().With(Object{"plan": plan}))
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			for _, status := range []string{"in_progress", "failed", "skipped", "completed"} {
				_, err := h.Step(ctx, "t", d.ID, i+1, Object{"status": status, "result": i}.JSON(), engine.WAL)
				require.NoError(t, err)
			}
		})
	}
	wg.Wait()
	for i, one := range h.Get(policy.Intents, d.ID)["plan"].([]any) {
		require.Equal(t, map[string]any{"step": float64(i + 1), "action": "a.b", "status": "completed", "result": float64(i)}, one)
	}
	_, err = h.Step(ctx, "t", d.ID, 11, []byte(`{}`), engine.WAL)
	refused(t, err, record.CodeNotFound, "step")
	_, err = h.Step(ctx, "t", d.ID, 1, []byte(`{"step":2}`), engine.WAL)
	refused(t, err, record.CodeValidation, "plan.1.step")
}

// After any updates the indexes are what a filter over all intents finds.
func b56IndexesOfIntentsAreExact(t *testing.T, h *Host) {
	r := rand.New(rand.NewPCG(1, 2))
	var ids []string
	for range 40 {
		ids = append(ids, h.Create(policy.Intents, SomeIntent().With(Object{"actor": fmt.Sprint("user:", r.IntN(3))})).ID)
	}
	for range enginetest.Scale(5000) {
		patch := Object{"assigned_agent": fmt.Sprint("a", r.IntN(3)), "status": statuses[r.IntN(6)], "blocked_reason": "r"}
		if r.IntN(4) == 0 {
			patch["assigned_agent"] = nil
		}
		_, err := h.TryUpdate(policy.Intents, ids[r.IntN(len(ids))], patch)
		if err != nil {
			refused(t, err, record.CodeIllegalTransition, "status")
		}
		if r.IntN(8) == 0 && len(ids) < 200 {
			ids = append(ids, h.Create(policy.Intents, SomeIntent()).ID)
		}
	}
	want := map[string][]string{"intent:active": {}}
	for _, id := range ids {
		o := h.Get(policy.Intents, id)
		if status := o["status"]; status != "completed" && status != "cancelled" {
			want["intent:active"] = append(want["intent:active"], id)
		}
		for key, field := range map[string]string{"by_status": "status", "by_actor": "actor", "by_agent": "assigned_agent"} {
			if value, ok := o[field].(string); ok {
				key = "intent:" + key + ":" + value
				want[key] = append(want[key], id)
			}
		}
	}
	for key, ids := range want {
		require.Equal(t, ids, h.IDs(key), key)
	}
}

func b57ParentsOfAnIntent(t *testing.T, h *Host) {
	_, err := h.Try(policy.Intents, SomeIntent().With(Object{"parent_intent_id": "int-20251130-nobody"}))
	refused(t, err, record.CodeNotFound, "parent_intent_id")
	a := h.Create(policy.Intents, SomeIntent())
	b := h.Create(policy.Intents, SomeIntent().With(Object{"parent_intent_id": a.ID}))
	c := h.Create(policy.Intents, SomeIntent().With(Object{"parent_intent_id": b.ID}))
	for _, parent := range []string{a.ID, b.ID, c.ID} {
		_, err = h.TryUpdate(policy.Intents, a.ID, Object{"parent_intent_id": parent})
		refused(t, err, record.CodeValidation, "parent_intent_id")
	}
	h.Update(policy.Intents, c.ID, Object{"parent_intent_id": a.ID})
	page, err := h.Records.List(ctx, "t", policy.Intents, record.Query{Filters: []record.Filter{record.Equal("by_parent", a.ID)}})
	require.NoError(t, err)
	require.Len(t, page.Docs, 2)
	last := c
	for range policy.MaxDepth {
		if last, err = h.Try(policy.Intents, SomeIntent().With(Object{"parent_intent_id": last.ID})); err != nil {
			break
		}
	}
	refused(t, err, record.CodeValidation, "parent_intent_id")
}

func b58ListsOfIntents(t *testing.T, h *Host) {
	var want []string
	for i := range 100 {
		d := h.Create(policy.Intents, SomeIntent().With(Object{"status": []string{"executing", "proposed"}[i%2], "assigned_agent": fmt.Sprint("a", i%2), "actor": fmt.Sprint("user:", i%3)}))
		if i%6 == 0 {
			want = append(want, d.ID)
		}
	}
	page, err := h.Records.List(ctx, "t", policy.Intents, record.Query{})
	require.NoError(t, err)
	require.Len(t, page.Docs, 20)
	q := record.Query{Limit: 4, Filters: []record.Filter{record.Equal("by_status", "executing"), record.Equal("by_actor", "user:0"), record.Equal("by_agent", "a0")}}
	var got []string
	for {
		page, err := h.Records.List(ctx, "t", policy.Intents, q)
		require.NoError(t, err)
		for _, d := range page.Docs {
			id, _ := document.Text(document.Field(d.JSON, document.Path{"intent_id"}))
			got = append(got, id)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	require.Equal(t, want, got)
}
