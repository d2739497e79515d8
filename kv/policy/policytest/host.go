package policytest

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/record"
)

var ctx = context.Background()

// Host is the capability on an engine, with a clock by hand, and how a test reaches it.
// Its methods are about the tenant t, and fail the test where they return no error.
type Host struct {
	Policies
	Records Records

	// What is behind: for what no client does.
	DB    engine.Engine
	Clock *kvtest.Clock
	KV    *kv.Store
	Store *policy.Store

	t      testing.TB
	reach  Reach
	worlds int // made by world
	close  func()
}

// Open opens the capability on an engine. What is derived is recounted after the test,
// unless it is closed before.
func Open(t testing.TB, db engine.Engine, clock *kvtest.Clock, reach Reach) *Host {
	t.Helper()
	h := &Host{DB: db, Clock: clock, t: t, reach: reach}
	var err error
	h.KV, err = kv.Open(db, kv.Options{Clock: clock, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	h.Store, err = policy.New(h.KV, policy.Options{})
	require.NoError(t, err)
	var leave func()
	h.Records, h.Policies, leave = reach(t, db, h.Store)
	open := true
	h.close = func() {
		if open {
			open = false
			leave()
			require.NoError(t, h.KV.Close())
		}
	}
	t.Cleanup(func() {
		if open {
			h.check()
			h.close()
		}
	})
	return h
}

// check demands that nothing is wrong with what follows from others, and of every stored
// document that its collection would take it as it is.
func (h *Host) check() {
	for f, err := range h.KV.Check(ctx) {
		require.NoError(h.t, err)
		require.Fail(h.t, "the check finds", f.String())
	}
	records := h.Store.Records()
	view, err := records.View("t")
	require.NoError(h.t, err)
	for _, name := range records.Collections() {
		c, err := records.Collection(name)
		require.NoError(h.t, err)
		for d, err := range view.All(ctx, name) {
			require.NoError(h.t, err)
			require.NoError(h.t, c.Verify(d), "%s", d.JSON)
		}
	}
	require.NoError(h.t, view.Close())
}

// Close closes all but the engine.
func (h *Host) Close() { h.close() }

// Reopen is the next process, with a clock.
func (h *Host) Reopen(clock *kvtest.Clock) *Host {
	h.t.Helper()
	h.close()
	return Open(h.t, h.DB, clock, h.reach)
}

// another is the capability on an engine that has nothing.
func (h *Host) another() *Host {
	db := mem.New()
	h.t.Cleanup(func() { _ = db.Close() })
	return Open(h.t, db, kvtest.New(), h.reach)
}

// Try makes a record, unless that is refused.
func (h *Host) Try(collection string, doc Object) (record.Doc, error) {
	return h.Records.Create(ctx, "t", collection, doc.JSON(), record.WriteOptions{Durability: engine.WAL})
}

// Create makes a record.
func (h *Host) Create(collection string, doc Object) record.Doc {
	h.t.Helper()
	d, err := h.Try(collection, doc)
	require.NoError(h.t, err)
	return d
}

// TryUpdate changes a record, unless that is refused.
func (h *Host) TryUpdate(collection, id string, patch Object) (record.Doc, error) {
	return h.Records.Update(ctx, "t", collection, id, patch.JSON(), record.UpdateOptions{Durability: engine.WAL})
}

// Update changes a record.
func (h *Host) Update(collection, id string, patch Object) record.Doc {
	h.t.Helper()
	d, err := h.TryUpdate(collection, id, patch)
	require.NoError(h.t, err)
	return d
}

// Get returns a record that is there.
func (h *Host) Get(collection, id string) Object {
	h.t.Helper()
	d, err := h.Records.Get(ctx, "t", collection, id)
	require.NoError(h.t, err)
	return objectOf(h.t, d.JSON)
}

// Key returns what a literal key stands for; a refusal is its code.
func (h *Host) Key(key string) string {
	h.t.Helper()
	found, err := h.Records.Lookup(ctx, "t", key)
	var e *record.Error
	if errors.As(err, &e) {
		return string(e.Code)
	}
	require.NoError(h.t, err)
	return string(found)
}

// IDs returns those that a literal key of an index stands for.
func (h *Host) IDs(key string) (ids []string) {
	h.t.Helper()
	text, err := h.Records.Lookup(ctx, "t", key)
	require.NoError(h.t, err)
	require.NoError(h.t, json.Unmarshal(text, &ids))
	return ids
}

// listed are the ids of a page.
func (h *Host) listed(collection string, q record.Query) (ids []string) {
	h.t.Helper()
	page, err := h.Records.List(ctx, "t", collection, q)
	require.NoError(h.t, err)
	for _, d := range page.Docs {
		ids = append(ids, d.ID)
	}
	return ids
}

// Ask returns the answer to a question without a context.
func (h *Host) Ask(agent, action string) policy.Decision {
	h.t.Helper()
	d, err := h.Decide(ctx, "t", policy.Question{Agent: agent, Action: action})
	require.NoError(h.t, err)
	return d
}

// Set sets what the tenant says.
func (h *Host) Set(s policy.Settings) {
	h.t.Helper()
	require.NoError(h.t, h.SetSettings(ctx, "t", s, record.WriteOptions{Durability: engine.WAL}))
}

// Intent makes an intent for events.
func (h *Host) Intent() string { h.t.Helper(); return h.Create(policy.Intents, SomeIntent()).ID }

// Event appends an event of an intent to the ledger.
func (h *Host) Event(intent string, more Object) record.Doc {
	h.t.Helper()
	d, err := h.Append(ctx, "t", SomeEvent(intent).With(more).JSON(), record.WriteOptions{Durability: engine.WAL})
	require.NoError(h.t, err)
	return d
}

// Verified requires the ledger to be whole.
func (h *Host) Verified() {
	h.t.Helper()
	for f, err := range h.Verify(ctx, "t") {
		require.NoError(h.t, err)
		require.Fail(h.t, "the ledger is not whole", f.String())
	}
}

// day is the date of the clock, as ids have it.
func (h *Host) day() string { return h.Clock.Now().Format("20060102") }

// counter is the literal key of the number of the day's events.
func (h *Host) counter() string { return "ledger:counter:" + h.Clock.Now().Format(time.DateOnly) }
