package policytest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/record"
)

func b34B36EventsAreNumberedWithinTheDay(t *testing.T, h *Host) {
	h.Clock.Set(time.Date(2027, 11, 30, 23, 59, 59, 999_000_000, time.UTC).Sub(h.Clock.Now()))
	intent := h.Intent()
	require.Equal(t, "evt-20271130-000001", h.Event(intent, nil).ID)
	require.Equal(t, "evt-20271130-000002", h.Event(intent, nil).ID)
	h.Clock.Pass(time.Millisecond)
	require.Equal(t, "evt-20271201-000001", h.Event(intent, nil).ID)
	for n := 2; n <= 57; n++ {
		h.Event(intent, nil)
	}
	h = h.Reopen(h.Clock)
	require.Equal(t, "evt-20271201-000058", h.Event(intent, nil).ID)
	require.Equal(t, "2", h.Key("ledger:counter:2027-11-30"))
	require.Equal(t, "58", h.Key("ledger:counter:2027-12-01"))
	// A machine whose time of day is set back goes on where the ledger is.
	h = h.Reopen(kvtest.New())
	require.Equal(t, "evt-20271201-000059", h.Event(intent, nil).ID)
	h.Verified()
}

func b35TheCounterOfTheDay(t *testing.T, h *Host) {
	intent := h.Intent()
	each := enginetest.Scale(1000)
	var mu sync.Mutex
	var ids []string
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			for range each {
				id := h.Event(intent, nil).ID
				mu.Lock()
				ids = append(ids, id)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(ids)
	for i, id := range ids {
		require.Equal(t, fmt.Sprintf("evt-%s-%06d", h.day(), i+1), id)
	}
	require.Equal(t, fmt.Sprint(10*each), h.Key(h.counter()))
	h.Verified()
}

func b37BeyondAMillionEvents(t *testing.T, h *Host) {
	intent := h.Intent()
	h.Event(intent, nil)
	require.NoError(t, h.Store.Records().Do(ctx, "t", engine.WAL, func(tx *record.Tx) error {
		head, err := tx.Kept(policy.Ledger, policy.HeadName)
		require.NoError(t, err)
		return tx.Keep(policy.Ledger, policy.HeadName, bytes.Replace(head, []byte("-000001"), []byte("-999998"), 1))
	}))
	var ids []string
	for range 3 {
		ids = append(ids, h.Event(intent, nil).ID)
	}
	require.Equal(t, []string{"evt-" + h.day() + "-999999", "evt-" + h.day() + "-1000000", "evt-" + h.day() + "-1000001"}, ids)
	require.Equal(t, ids, h.IDs("ledger:by_date:" + h.Clock.Now().Format(time.DateOnly))[1:])
	var found []string
	for f, err := range h.Verify(ctx, "t") {
		require.NoError(t, err)
		found = append(found, f.Event)
	}
	require.Equal(t, []string{"evt-" + h.day() + "-000002"}, found, "those that were left out are missing, and nothing else is wrong")
}

func b38TheLedgerIsOnlyAppendedTo(t *testing.T, h *Host) {
	d := h.Event(h.Intent(), nil)
	before := h.Key("ledger:by_agent:cece.governor.v1")
	_, err := h.TryUpdate(policy.Ledger, d.ID, Object{"notes": "other"})
	require.ErrorIs(t, err, record.ErrImmutable)
	_, err = h.Records.Delete(ctx, "t", policy.Ledger, d.ID, record.UpdateOptions{})
	require.ErrorIs(t, err, record.ErrImmutable)
	_, err = h.Records.Import(ctx, "t", policy.Ledger, bytes.NewReader(d.JSON))
	require.ErrorIs(t, err, record.ErrImmutable)
	_, err = h.Records.PutAside(ctx, "t", policy.Ledger)
	require.Error(t, err)
	now, err := h.Records.Get(ctx, "t", policy.Ledger, d.ID)
	require.NoError(t, err)
	require.Equal(t, d, now)
	require.Equal(t, before, h.Key("ledger:by_agent:cece.governor.v1"))
}

// What goes in is in no row of the store, in no form.
func b39InputsAreStoredNowhere(t *testing.T, h *Host) {
	d := h.Event(h.Intent(), Object{"inputs": Object{"b": 1, "a": 2, "secret": "swordfish"}, "outputs": Object{"secret": "haddock"}})
	require.NotContains(t, string(d.JSON), `"inputs"`)
	for inputs, want := range map[string]string{
		`{"b":1,"a":2}`:  "sha256:d3626ac30a87e6f7a6428233b3c68299976865fa5508e4267c5415c76af7a772",
		`{"a":2, "b":1}`: "sha256:d3626ac30a87e6f7a6428233b3c68299976865fa5508e4267c5415c76af7a772",
		`{}`:             "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
	} {
		require.Equal(t, want, fieldText(h.Event(fieldText(d, "intent_id"), Object{"inputs": json.RawMessage(inputs)}), "inputs_hash"))
	}
	_, err := h.Use(ctx, "t", policy.Question{Agent: "a", Action: "x", Context: map[string]any{"secret": "swordfish"}}, policy.UseOptions{Log: true, Intent: fieldText(d, "intent_id")})
	require.NoError(t, err)
	it, err := h.DB.Iterate(column.Generic, engine.Range{})
	require.NoError(t, err)
	defer func() { _ = it.Close() }()
	rows := 0
	for it.Next() {
		rows++
		for _, secret := range []string{"swordfish", "haddock"} {
			require.NotContains(t, string(it.Key())+string(it.Value()), secret)
		}
	}
	require.NoError(t, it.Err())
	require.NotZero(t, rows)
}

func b40HashAndInputsAgree(t *testing.T, h *Host) {
	intent := h.Intent()
	const hash = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
	for _, name := range []string{"inputs", "outputs"} {
		field := name + "_hash"
		for _, bad := range []any{"sha256:abc", strings.ToUpper(hash), "44136f", 1, hash + "0"} {
			_, err := h.Try(policy.Ledger, SomeEvent(intent).With(Object{field: bad}))
			refused(t, err, record.CodeValidation, field)
		}
		_, err := h.Try(policy.Ledger, SomeEvent(intent).With(Object{field: hash, name: Object{"a": 1}}))
		refused(t, err, record.CodeValidation, field)
		require.Equal(t, hash, fieldText(h.Event(intent, Object{field: hash, name: Object{}}), field))
		require.Equal(t, hash, fieldText(h.Event(intent, Object{field: hash}), field))
	}
}

func b41FieldsOfAnEvent(t *testing.T, h *Host) {
	intent := h.Intent()
	for field, values := range map[string][]any{
		"tool": {nil, "", 1}, "action": {nil, ""}, "agent_id": {nil, ""}, "intent_id": {nil, ""}, "metadata": {"m", []any{}}, "notes": {1}, "policy_decision": {nil, "allowed"},
	} {
		for _, value := range values {
			_, err := h.Try(policy.Ledger, SomeEvent(intent).With(Object{field: value}))
			refused(t, err, record.CodeValidation, field)
		}
	}
	_, err := h.Try(policy.Ledger, SomeEvent(intent).With(Object{"policy_decision": Object{"result": "maybe"}}))
	refused(t, err, record.CodeValidation, "policy_decision.result")
	for _, result := range []string{"allowed", "denied", "pending_approval", "transformed"} {
		h.Event(intent, Object{"policy_decision": Object{"result": result}, "metadata": Object{"any": []any{1, "x"}}, "notes": "n"})
	}
	h.Verified()
}

func b42B43B44EventsByTheirIndexes(t *testing.T, h *Host) {
	h.Clock.Set(time.Date(2027, 11, 30, 23, 0, 0, 0, time.UTC).Sub(h.Clock.Now()))
	r := rand.New(rand.NewPCG(3, 4))
	intents := []string{h.Intent(), h.Intent(), h.Intent()}
	n := enginetest.Scale(1000)
	want := map[string][]string{}
	var ids []string
	var times []time.Time
	for range n {
		h.Clock.Pass(2 * time.Hour / time.Duration(n))
		agent, tool, intent := fmt.Sprint("a", r.IntN(3)), fmt.Sprint("t", r.IntN(3)), intents[r.IntN(3)]
		at := h.KV.Now()
		d := h.Event(intent, Object{"agent_id": agent, "tool": tool})
		ids, times = append(ids, d.ID), append(times, at)
		for _, key := range []string{"by_agent:" + agent, "by_tool:" + tool, "by_intent:" + intent, "by_date:" + at.Format(time.DateOnly)} {
			want["ledger:"+key] = append(want["ledger:"+key], d.ID)
		}
	}
	require.Len(t, want, 3+3+3+2)
	for key, ids := range want {
		require.Equal(t, ids, h.IDs(key), key)
	}
	page, err := h.Records.List(ctx, "t", policy.Ledger, record.Query{Limit: n, Filters: []record.Filter{record.Equal("by_intent", intents[0])}})
	require.NoError(t, err)
	for i, d := range page.Docs {
		require.Equal(t, want["ledger:by_intent:"+intents[0]][i], d.ID)
	}
	for range 20 {
		from, to := r.IntN(n), r.IntN(n)
		var got, expected []string
		for d, err := range h.Events(ctx, "t", times[from], times[to]) {
			require.NoError(t, err)
			got = append(got, d.ID)
		}
		for i, id := range ids {
			if !times[i].Before(times[from]) && times[i].Before(times[to]) {
				expected = append(expected, id)
			}
		}
		require.Equal(t, expected, got)
	}
	var got []string
	for d, err := range h.Events(ctx, "t", time.Time{}, time.Time{}) {
		require.NoError(t, err)
		got = append(got, d.ID)
	}
	require.Equal(t, ids, got, "no bounds")
	h.Verified()
}

func b45AnUnknownIntent(t *testing.T, h *Host) {
	_, err := h.Try(policy.Ledger, SomeEvent("int-20251130-nobody"))
	refused(t, err, record.CodeNotFound, "intent_id")
	h.Event(h.Intent(), nil)
	require.NoError(t, h.SetSettings(ctx, "t", policy.Settings{AllowUnknownIntents: true}, record.WriteOptions{}))
	require.Equal(t, "evt-"+h.day()+"-000002", h.Event("int-20251130-nobody", nil).ID, "a refusal takes no number")
	h.Verified()
}

// Rows of the engine that are changed or taken away behind the back of the store are
// found, by the event that they are of.
func b46TheStoredLedgerIsVerified(t *testing.T, h *Host) {
	intent := h.Intent()
	for range 20 {
		h.Event(intent, nil)
	}
	h.Verified()
	space, err := h.Store.Records().Space(ctx, "t", policy.Ledger)
	require.NoError(t, err)
	scope := space.Scope()
	h.Close()
	row := func(n int) []byte {
		return append(append(scope[:len(scope):len(scope)], 'V'), fmt.Sprintf("evt-%s-\x06%06d", h.day(), n)...)
	}
	findings := func() (found []string) {
		h = h.Reopen(kvtest.New())
		for f, err := range h.Verify(ctx, "t") {
			require.NoError(t, err)
			found = append(found, f.Event)
		}
		h.Close()
		return found
	}
	write := func(key, value []byte) {
		var b engine.Batch
		if value == nil {
			b.Delete(column.Generic, key)
		} else {
			b.Put(column.Generic, key, value)
		}
		require.NoError(t, h.DB.Apply(&b))
	}
	for _, n := range []int{1, 7, 20} {
		whole, err := h.DB.Get(nil, column.Generic, row(n))
		require.NoError(t, err)
		damaged := bytes.Clone(whole)
		damaged[len(damaged)-20] ^= 1
		write(row(n), damaged)
		require.Equal(t, []string{fmt.Sprintf("evt-%s-%06d", h.day(), n)}, findings())
		write(row(n), nil)
		require.Equal(t, []string{fmt.Sprintf("evt-%s-%06d", h.day(), n)}, findings())
		write(row(n), whole)
	}
	require.Empty(t, findings())
}
