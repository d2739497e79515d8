package inspect

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/record"
)

// policies runs fn on the records of policy in an engine, by a clock, which are at rest
// when it returns.
func policies(t testing.TB, e engine.Engine, clock *kvtest.Clock, fn func(ctx context.Context, s *policy.Store)) {
	t.Helper()
	store, err := kv.Open(e, kv.Options{Clock: clock, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	s, err := policy.New(store, policy.Options{})
	require.NoError(t, err)
	fn(t.Context(), s)
	require.NoError(t, store.Close())
}

const anEvent = `{"intent_id":"int-20251130-x1y2z3","agent_id":"cece.governor.v1","tool":"gmail","action":"draft","policy_decision":{"result":"allowed"},"notes":"number %d"}`

// fillPolicies puts records of every collection for a tenant, and a ledger of two days.
func fillPolicies(t testing.TB, e engine.Engine) {
	clock := kvtest.New()
	policies(t, e, clock, func(ctx context.Context, s *policy.Store) {
		_, err := s.Bootstrap(ctx, "acme", engine.WAL)
		require.NoError(t, err)
		create := func(collection, doc string) {
			_, err := s.Records().Create(ctx, "acme", collection, []byte(doc), record.WriteOptions{})
			require.NoError(t, err, collection)
		}
		for _, name := range []string{policy.Intents, policy.Policies, policy.Claims} {
			text, err := os.ReadFile("../../kv/policy/policytest/examples/" + name + ".json")
			require.NoError(t, err)
			create(name, string(text))
		}
		create(policy.TenantRules, `{"settings_id":"tenant","default_deny":true}`)
		create(policy.Delegations, `{"delegation_id":"del-20260301-mail01","delegator":"user:alexa","delegate":"agent:cece.governor.v1","scope":["gmail.*"],"constraints":{"require_approval_for":["gmail.send"],"max_uses":3}}`)
		used, err := s.Use(ctx, "acme", policy.Question{Agent: "cece.governor.v1", Action: "gmail.send"}, policy.UseOptions{Log: true, Intent: "int-20251130-x1y2z3", AskFor: time.Hour})
		require.NoError(t, err)
		require.NotEmpty(t, used.Approval)
		for i := range 3 {
			_, err := s.Append(ctx, "acme", fmt.Appendf(nil, anEvent, i), record.WriteOptions{})
			require.NoError(t, err)
		}
		clock.Pass(24 * time.Hour)
		for i := range 3 {
			_, err := s.Append(ctx, "acme", fmt.Appendf(nil, anEvent, i), record.WriteOptions{})
			require.NoError(t, err)
		}
		_, err = s.Records().Create(ctx, "other", policy.Agents, []byte(`{"agent_id":"a","name":"A","description":"d","class":"worker","owner":"user:x","status":"pending"}`), record.WriteOptions{})
		require.NoError(t, err)
	})
}

// policyStore is a store that fillPolicies has filled.
func policyStore(t testing.TB) *Source {
	e := mem.New()
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	fillPolicies(t, e)
	return From(e, Facts{})
}

// copyOf is a store with the rows of Generic of another one.
func copyOf(t testing.TB, from *Source) (*Source, engine.Engine) {
	e := mem.New()
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	it, err := from.Iterate(column.Generic, engine.Range{})
	require.NoError(t, err)
	defer it.Close()
	apply(t, e, func(b *engine.Batch) {
		for it.Next() {
			b.Put(column.Generic, it.Key(), it.Value())
		}
	})
	s := From(e, Facts{})
	s.collections = from.collections
	return s, e
}

// recordRow is a row of a collection's space, with its key and value in the store.
type recordRow struct {
	in         *space
	kv         kv.Row
	key, value []byte
}

// recordRows are the rows of collections, in the order of their keys.
func recordRows(t testing.TB, s *Source) []recordRow { return spaceRows(t, s, kv.SystemRecord) }

// spaceRows are the rows of the spaces of a system.
func spaceRows(t testing.TB, s *Source, system kv.System) (rows []recordRow) {
	names := s.spaces()
	it, err := s.Iterate(column.Generic, engine.Range{})
	require.NoError(t, err)
	defer it.Close()
	for it.Next() {
		row, err := kv.ParseRow(it.Key())
		require.NoError(t, err)
		in, err := names.of(row.Scope)
		require.NoError(t, err)
		if in != nil && in.System == system {
			rows = append(rows, recordRow{in, row, bytes.Clone(it.Key()), bytes.Clone(it.Value())})
		}
	}
	return rows
}

// findRow is the row of a shape of a collection of acme whose key has a text in it.
func findRow(t testing.TB, s *Source, collection string, shape kv.Shape, text string) recordRow {
	t.Helper()
	for _, r := range recordRows(t, s) {
		if r.in.Tenant == "acme" && r.in.Name == collection && r.kv.Shape == shape && bytes.Contains(r.key, []byte(text)) {
			return r
		}
	}
	require.Fail(t, "there is no such row", "%s %s %q", collection, shape, text)
	return recordRow{}
}

// findingsOf verifies all of a source.
func findingsOf(t testing.TB, s *Source) (all []Finding) {
	_, err := Verify(t.Context(), s, VerifyOptions{Full: true}, func(f Finding) error {
		all = append(all, f)
		return nil
	})
	require.NoError(t, err)
	return all
}

// replaced is a text in a value in place of another one of its length.
func replaced(t testing.TB, value []byte, old, text string) []byte {
	require.Len(t, text, len(old))
	require.Contains(t, string(value), old)
	return bytes.Replace(value, []byte(old), []byte(text), 1)
}

// What is wrong with records and ledgers is found, with the collection, the tenant and
// the record it is of; a ledger's event by its id and its place.
func TestVerifyLooksAtRecordsAndLedgers(t *testing.T) {
	const day1, day2 = "evt-20260301-\x06", "evt-20260302-\x06"
	type change = func(t *testing.T, s *Source, b *engine.Batch)
	edited := func(collection string, shape kv.Shape, text string, edit func(t *testing.T, value []byte) []byte) change {
		return func(t *testing.T, s *Source, b *engine.Batch) {
			r := findRow(t, s, collection, shape, text)
			b.Put(column.Generic, r.key, edit(t, r.value))
		}
	}
	put := func(collection, text string, edit func(t *testing.T, value []byte) []byte) change {
		return edited(collection, kv.ShapeRecord, text, edit)
	}
	remove := func(collection string, shape kv.Shape, text string) change {
		return func(t *testing.T, s *Source, b *engine.Batch) {
			b.Delete(column.Generic, findRow(t, s, collection, shape, text).key)
		}
	}
	edit := func(old, text string) func(t *testing.T, value []byte) []byte {
		return func(t *testing.T, value []byte) []byte { return replaced(t, value, old, text) }
	}
	whole := policyStore(t)
	require.Empty(t, findingsOf(t, whole))
	for name, tc := range map[string]struct {
		change change
		code   string
		says   []string
	}{
		"an event is changed":     {put(policy.Ledger, day1+"000002", edit("number 0", "number 7")), "ledger-chain", []string{`collection ledger of tenant "acme"`, "evt-20260301-000002", "it was changed", "event 2 of"}},
		"an event is missing":     {remove(policy.Ledger, kv.ShapeRecord, day2+"000001"), "ledger-chain", []string{"evt-20260302-000001", "missing"}},
		"the newest is missing":   {remove(policy.Ledger, kv.ShapeRecord, day2+"000003"), "ledger-head", []string{"evt-20260302-000003", "it is missing, and is the head"}},
		"the head is missing":     {remove(policy.Ledger, kv.ShapeKept, "kept:head"), "ledger-head", []string{"the head of the ledger is missing"}},
		"the head can't be read":  {edited(policy.Ledger, kv.ShapeKept, "kept:head", edit("events", "evenzz")), "ledger-head", []string{"the head of the ledger can't be read"}},
		"the schema is broken":    {put(policy.Delegations, "mail01", edit(`"active":true`, `"active":1234`)), "record-document", []string{`collection delegation of tenant "acme"`, `record "del-20260301-mail01"`, "field active"}},
		"not canonical":           {put(policy.Delegations, "mail01", func(_ *testing.T, v []byte) []byte { return append(bytes.TrimSuffix(v, []byte("}")), ' ', '}') }), "record-document", nil},
		"another id":              {put(policy.Delegations, "mail01", edit(`"del-20260301-mail01"`, `"del-20260301-mail02"`)), "record-document", []string{"it says that its id is"}},
		"no state of the machine": {put(policy.Intents, "x1y2z3", edit(`"executing"`, `"executinG"`)), "record-document", []string{"field status"}},
		"a condition":             {put(policy.Policies, "pol-20251130-a1b2c3", edit(` NOT IN `, ` NOT II `)), "record-document", []string{"rules"}},
		"no document":             {put(policy.Agents, "cece", func(_ *testing.T, v []byte) []byte { return v[:36] }), "record-row", []string{`"cece.governor.v1"`}},
		"no row of a collection": {func(t *testing.T, s *Source, b *engine.Batch) {
			r := findRow(t, s, policy.Agents, kv.ShapeRecord, "cece")
			b.Put(column.Generic, append(bytes.Clone(r.key), ':'), r.value)
		}, "record-row", []string{"its key is that of no id"}},
		"a counter of nothing": {func(t *testing.T, s *Source, b *engine.Batch) {
			r := findRow(t, s, policy.Ledger, kv.ShapeKept, "kept:head")
			r.kv.Key = []byte("counter:20260301")
			b.Put(column.Generic, r.kv.AppendKey(nil), []byte("\x00\x00\x00\x00\x00\x00\x00\x04"))
		}, "record-row", []string{"a counter of no day"}},
		"an index row is missing": {func(t *testing.T, s *Source, b *engine.Batch) {
			for _, r := range recordRows(t, s) {
				if r.in.Name == policy.Intents && r.kv.Shape == kv.ShapeIndex && r.kv.Index == 2 {
					b.Delete(column.Generic, r.key)
				}
			}
		}, "kv-index", []string{`collection intent of tenant "acme"`, `record "int-20251130-x1y2z3"`, "its row of index by_"}},
		"an index row too many": {func(t *testing.T, s *Source, b *engine.Batch) {
			r := findRow(t, s, policy.Intents, kv.ShapeIndex, "x1y2z3")
			r.kv.Key = []byte("int-20251130-zzzzzz")
			b.Put(column.Generic, r.kv.AppendKey(nil), r.value)
		}, "kv-index", []string{"index ", `record "int-20251130-zzzzzz"`}},
		"the counters of the space": {remove(policy.Claims, kv.ShapeRecord, "clm-"), "kv-counters", []string{`collection claim of tenant "acme"`}},
	} {
		t.Run(name, func(t *testing.T) {
			s, e := copyOf(t, whole)
			apply(t, e, func(b *engine.Batch) { tc.change(t, s, b) })
			found := false
			var all []string
			for _, f := range findingsOf(t, s) {
				all = append(all, f.String())
				ok := f.Code == tc.code
				for _, text := range tc.says {
					ok = ok && strings.Contains(f.Reason, text)
				}
				found = found || ok
			}
			require.True(t, found, "%s %q: %s", tc.code, tc.says, strings.Join(all, "\n"))
		})
	}
}

// Of a collection that this build does not know the documents are not looked at, and
// that is said, once.
func TestCollectionsThatAreNotKnownAreNoted(t *testing.T) {
	s, _ := workerStore(t)
	withOthers := From(s.Reader, Facts{})
	v, err := Verify(t.Context(), withOthers, VerifyOptions{Full: true}, func(f Finding) error {
		require.Fail(t, "nothing is wrong", f.String())
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []string{`the collection "worker" is not known to this build: its documents and indexes were not looked at`}, v.Notes)
}
