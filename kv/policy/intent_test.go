package policy

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
	"github.com/stoadb/stoa/kv/record"
)

var statuses = []string{"proposed", "in_planning", "executing", "completed", "blocked", "cancelled"}

func TestB52IntentsAreChecked(t *testing.T) {
	h := newHost(t)
	got := h.get(Intents, h.create(Intents, someIntent()).ID)
	require.Equal(t, "proposed", got["status"])
	require.Equal(t, "normal", got["priority"])
	for field, values := range map[string][]any{"actor": {nil, "alexa", ""}, "goal": {nil, ""}, "priority": {"urgent"}, "status": {"done"}, "context": {"c"}} {
		for _, value := range values {
			_, err := h.try(Intents, someIntent().with(object{field: value}))
			refused(t, err, record.CodeValidation, field)
		}
	}
	for _, priority := range []string{"low", "normal", "high", "critical"} {
		h.create(Intents, someIntent().with(object{"priority": priority}))
	}
}

func TestB53TransitionsOfAnIntent(t *testing.T) {
	h := newHost(t)
	legal := map[string][]string{"proposed": {"in_planning", "cancelled"}, "in_planning": {"executing", "blocked", "cancelled"}, "executing": {"completed", "blocked", "cancelled"}, "blocked": {"in_planning", "executing", "cancelled"}}
	for _, from := range statuses {
		for _, to := range statuses {
			doc := someIntent().with(object{"status": from})
			if from == "blocked" {
				doc["blocked_reason"] = "r"
			}
			d := h.create(Intents, doc)
			patch := object{}
			if to == "blocked" && from != to {
				patch["blocked_reason"] = "r"
			}
			moved, err := h.records.Transition(ctx, "t", Intents, d.ID, to, patch.json(), record.UpdateOptions{})
			switch {
			case from == to:
				require.NoError(t, err)
				require.Equal(t, d.Revision, moved.Revision)
			case slices.Contains(legal[from], to):
				require.NoError(t, err, "%s to %s", from, to)
				require.Equal(t, to, text(moved, "status"))
			default:
				refused(t, err, record.CodeIllegalTransition, "status")
				require.Equal(t, from, h.get(Intents, d.ID)["status"])
			}
		}
	}
}

func TestB54WhatStatesOfAnIntentBring(t *testing.T) {
	h := newHost(t)
	d := h.create(Intents, someIntent().with(object{"status": "executing"}))
	_, err := h.tryUpdate(Intents, d.ID, object{"status": "blocked"})
	refused(t, err, record.CodeValidation, "blocked_reason")
	h.update(Intents, d.ID, object{"status": "blocked", "blocked_reason": "no key"})
	require.Equal(t, "no key", h.get(Intents, d.ID)["blocked_reason"])
	h.update(Intents, d.ID, object{"status": "executing"})
	require.NotContains(t, h.get(Intents, d.ID), "blocked_reason")
	h.update(Intents, d.ID, object{"status": "completed"})
	at := h.get(Intents, d.ID)["completed_at"]
	require.NotEmpty(t, at)
	_, err = h.tryUpdate(Intents, d.ID, object{"completed_at": "2020-01-01T00:00:00Z"})
	refused(t, err, record.CodeImmutable, "completed_at")
}

func TestB55StepsOfAPlan(t *testing.T) {
	h := newHost(t)
	step := func(n any, status string) object { return object{"step": n, "action": "a.b", "status": status} }
	for _, plan := range [][]object{{step(1, "planned"), step(1, "planned")}, {step(2, "planned"), step(1, "planned")}, {step(0, "planned")}, {step(1.5, "planned")}, {step("1", "planned")}} {
		_, err := h.try(Intents, someIntent().with(object{"plan": plan}))
		var e *record.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, record.CodeValidation, e.Code)
		require.True(t, strings.HasPrefix(e.Field, "plan."), e.Field)
	}
	_, err := h.try(Intents, someIntent().with(object{"plan": []object{step(1, "done")}}))
	refused(t, err, record.CodeValidation, "plan.0.status")
	var plan []object
	for i := range 10 {
		plan = append(plan, step(i+1, "planned"))
	}
	d := h.create(Intents, someIntent().with(object{"plan": plan}))
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			for _, status := range []string{"in_progress", "failed", "skipped", "completed"} {
				_, err := h.Step(ctx, "t", d.ID, i+1, object{"status": status, "result": i}.json(), engine.WAL)
				require.NoError(t, err)
			}
		})
	}
	wg.Wait()
	for i, one := range h.get(Intents, d.ID)["plan"].([]any) {
		require.Equal(t, map[string]any{"step": float64(i + 1), "action": "a.b", "status": "completed", "result": float64(i)}, one)
	}
	_, err = h.Step(ctx, "t", d.ID, 11, []byte(`{}`), engine.WAL)
	refused(t, err, record.CodeNotFound, "step")
	_, err = h.Step(ctx, "t", d.ID, 1, []byte(`{"step":2}`), engine.WAL)
	refused(t, err, record.CodeValidation, "plan.1.step")
}

// After any updates the indexes are what a filter over all intents finds.
func TestB56IndexesOfIntentsAreExact(t *testing.T) {
	h := newHost(t)
	r := rand.New(rand.NewPCG(1, 2))
	var ids []string
	for range 40 {
		ids = append(ids, h.create(Intents, someIntent().with(object{"actor": fmt.Sprint("user:", r.IntN(3))})).ID)
	}
	for range enginetest.Scale(5000) {
		patch := object{"assigned_agent": fmt.Sprint("a", r.IntN(3)), "status": statuses[r.IntN(6)], "blocked_reason": "r"}
		if r.IntN(4) == 0 {
			patch["assigned_agent"] = nil
		}
		_, err := h.tryUpdate(Intents, ids[r.IntN(len(ids))], patch)
		if err != nil {
			refused(t, err, record.CodeIllegalTransition, "status")
		}
		if r.IntN(8) == 0 && len(ids) < 200 {
			ids = append(ids, h.create(Intents, someIntent()).ID)
		}
	}
	want := map[string][]string{"intent:active": nil}
	for _, id := range ids {
		o := h.get(Intents, id)
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
		require.Equal(t, ids, h.ids(key), key)
	}
}

func TestB57ParentsOfAnIntent(t *testing.T) {
	h := newHost(t)
	_, err := h.try(Intents, someIntent().with(object{"parent_intent_id": "int-20251130-nobody"}))
	refused(t, err, record.CodeNotFound, "parent_intent_id")
	a := h.create(Intents, someIntent())
	b := h.create(Intents, someIntent().with(object{"parent_intent_id": a.ID}))
	c := h.create(Intents, someIntent().with(object{"parent_intent_id": b.ID}))
	for _, parent := range []string{a.ID, b.ID, c.ID} {
		_, err = h.tryUpdate(Intents, a.ID, object{"parent_intent_id": parent})
		refused(t, err, record.CodeValidation, "parent_intent_id")
	}
	h.update(Intents, c.ID, object{"parent_intent_id": a.ID})
	page, err := h.records.List(ctx, "t", Intents, record.Query{Filters: []record.Filter{record.Equal("by_parent", a.ID)}})
	require.NoError(t, err)
	require.Len(t, page.Docs, 2)
	last := c
	for range MaxDepth {
		if last, err = h.try(Intents, someIntent().with(object{"parent_intent_id": last.ID})); err != nil {
			break
		}
	}
	refused(t, err, record.CodeValidation, "parent_intent_id")
}

func TestB58ListsOfIntents(t *testing.T) {
	h := newHost(t)
	var want []string
	for i := range 100 {
		d := h.create(Intents, someIntent().with(object{"status": []string{"executing", "proposed"}[i%2], "assigned_agent": fmt.Sprint("a", i%2), "actor": fmt.Sprint("user:", i%3)}))
		if i%6 == 0 {
			want = append(want, d.ID)
		}
	}
	page, err := h.records.List(ctx, "t", Intents, record.Query{})
	require.NoError(t, err)
	require.Len(t, page.Docs, 20)
	q := record.Query{Limit: 4, Filters: []record.Filter{record.Equal("by_status", "executing"), record.Equal("by_actor", "user:0"), record.Equal("by_agent", "a0")}}
	var got []string
	for {
		page, err := h.records.List(ctx, "t", Intents, q)
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
