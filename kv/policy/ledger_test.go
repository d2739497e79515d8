package policy

import (
	"bytes"
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
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/record"
)

// intent makes an intent for events.
func (h *host) intent() string { return h.create(Intents, someIntent()).ID }

func (h *host) event(intent string, more object) record.Doc {
	h.t.Helper()
	d, err := h.Append(ctx, "t", someEvent(intent).with(more).json(), record.WriteOptions{Durability: engine.WAL})
	require.NoError(h.t, err)
	return d
}

func TestB34B36EventsAreNumberedWithinTheDay(t *testing.T) {
	h := newHost(t)
	h.clock.Set(time.Date(2027, 11, 30, 23, 59, 59, 999_000_000, time.UTC).Sub(h.clock.Now()))
	intent := h.intent()
	require.Equal(t, "evt-20271130-000001", h.event(intent, nil).ID)
	require.Equal(t, "evt-20271130-000002", h.event(intent, nil).ID)
	h.clock.Pass(time.Millisecond)
	require.Equal(t, "evt-20271201-000001", h.event(intent, nil).ID)
	for n := 2; n <= 57; n++ {
		h.event(intent, nil)
	}
	h = h.reopen()
	require.Equal(t, "evt-20271201-000058", h.event(intent, nil).ID)
	require.Equal(t, "2", h.key("ledger:counter:2027-11-30"))
	require.Equal(t, "58", h.key("ledger:counter:2027-12-01"))
	// A machine whose time of day is set back goes on where the ledger is.
	require.NoError(t, h.kv.Close())
	clock := kvtest.New()
	h = openHost(t, h.db, clock)
	require.Equal(t, "evt-20271201-000059", h.event(intent, nil).ID)
	h.verified()
}

func TestB35TheCounterOfTheDay(t *testing.T) {
	h := newHost(t)
	intent := h.intent()
	each := enginetest.Scale(1000)
	var mu sync.Mutex
	var ids []string
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			for range each {
				id := h.event(intent, nil).ID
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
	require.Equal(t, fmt.Sprint(10*each), h.key("ledger:counter:"+h.kv.Now().Format(time.DateOnly)))
	h.verified()
}

func TestB37BeyondAMillionEvents(t *testing.T) {
	h := newHost(t)
	intent := h.intent()
	h.event(intent, nil)
	head, err := h.Head(ctx, "t")
	require.NoError(t, err)
	head.Last.Number = 999_998
	require.NoError(t, h.records.Do(ctx, "t", engine.WAL, func(tx *record.Tx) error { return tx.Keep(Ledger, HeadName, head.text()) }))
	var ids []string
	for range 3 {
		ids = append(ids, h.event(intent, nil).ID)
	}
	require.Equal(t, []string{"evt-" + h.day() + "-999999", "evt-" + h.day() + "-1000000", "evt-" + h.day() + "-1000001"}, ids)
	require.Equal(t, ids, h.ids("ledger:by_date:" + h.kv.Now().Format(time.DateOnly))[1:])
	var found []string
	for f, err := range h.Verify(ctx, "t") {
		require.NoError(t, err)
		found = append(found, f.Event)
	}
	require.Equal(t, []string{"evt-" + h.day() + "-000002"}, found, "those that were left out are missing, and nothing else is wrong")
}

func TestB38TheLedgerIsOnlyAppendedTo(t *testing.T) {
	h := newHost(t)
	d := h.event(h.intent(), nil)
	before := h.key("ledger:by_agent:cece.governor.v1")
	_, err := h.tryUpdate(Ledger, d.ID, object{"notes": "other"})
	require.ErrorIs(t, err, record.ErrImmutable)
	_, err = h.records.Delete(ctx, "t", Ledger, d.ID, record.UpdateOptions{})
	require.ErrorIs(t, err, record.ErrImmutable)
	_, err = h.records.Import(ctx, "t", Ledger, bytes.NewReader(d.JSON))
	require.ErrorIs(t, err, record.ErrImmutable)
	_, err = h.records.PutAside(ctx, "t", Ledger)
	require.Error(t, err)
	now, err := h.records.Get(ctx, "t", Ledger, d.ID)
	require.NoError(t, err)
	require.Equal(t, d, now)
	require.Equal(t, before, h.key("ledger:by_agent:cece.governor.v1"))
}

// What goes in is in no row of the store, in no form.
func TestB39InputsAreStoredNowhere(t *testing.T) {
	h := newHost(t)
	d := h.event(h.intent(), object{"inputs": object{"b": 1, "a": 2, "secret": "swordfish"}, "outputs": object{"secret": "haddock"}})
	require.NotContains(t, string(d.JSON), `"inputs"`)
	_, err := h.Use(ctx, "t", Question{Agent: "a", Action: "x", Context: map[string]any{"secret": "swordfish"}}, UseOptions{Log: true, Intent: text(d, "intent_id")})
	require.NoError(t, err)
	it, err := h.db.Iterate(column.Generic, engine.Range{})
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

func TestB40HashAndInputsAgree(t *testing.T) {
	h := newHost(t)
	intent := h.intent()
	const hash = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
	for _, name := range []string{"inputs", "outputs"} {
		field := name + "_hash"
		for _, bad := range []any{"sha256:abc", strings.ToUpper(hash), "44136f", 1, hash + "0"} {
			_, err := h.try(Ledger, someEvent(intent).with(object{field: bad}))
			refused(t, err, record.CodeValidation, field)
		}
		_, err := h.try(Ledger, someEvent(intent).with(object{field: hash, name: object{"a": 1}}))
		refused(t, err, record.CodeValidation, field)
		require.Equal(t, hash, text(h.event(intent, object{field: hash, name: object{}}), field))
		require.Equal(t, hash, text(h.event(intent, object{field: hash}), field))
	}
}

func TestB41FieldsOfAnEvent(t *testing.T) {
	h := newHost(t)
	intent := h.intent()
	for field, values := range map[string][]any{
		"tool": {nil, "", 1}, "action": {nil, ""}, "agent_id": {nil, ""}, "intent_id": {nil, ""}, "metadata": {"m", []any{}}, "notes": {1}, "policy_decision": {nil, "allowed"},
	} {
		for _, value := range values {
			_, err := h.try(Ledger, someEvent(intent).with(object{field: value}))
			refused(t, err, record.CodeValidation, field)
		}
	}
	_, err := h.try(Ledger, someEvent(intent).with(object{"policy_decision": object{"result": "maybe"}}))
	refused(t, err, record.CodeValidation, "policy_decision.result")
	for _, result := range []string{"allowed", "denied", "pending_approval", "transformed"} {
		h.event(intent, object{"policy_decision": object{"result": result}, "metadata": object{"any": []any{1, "x"}}, "notes": "n"})
	}
	h.verified()
}

func TestB42B43B44EventsByTheirIndexes(t *testing.T) {
	h := newHost(t)
	h.clock.Set(time.Date(2027, 11, 30, 23, 0, 0, 0, time.UTC).Sub(h.clock.Now()))
	r := rand.New(rand.NewPCG(3, 4))
	intents := []string{h.intent(), h.intent(), h.intent()}
	n := enginetest.Scale(1000)
	want := map[string][]string{}
	var ids []string
	var times []time.Time
	for range n {
		h.clock.Pass(2 * time.Hour / time.Duration(n))
		agent, tool, intent := fmt.Sprint("a", r.IntN(3)), fmt.Sprint("t", r.IntN(3)), intents[r.IntN(3)]
		at := h.kv.Now()
		d := h.event(intent, object{"agent_id": agent, "tool": tool})
		ids, times = append(ids, d.ID), append(times, at)
		for _, key := range []string{"by_agent:" + agent, "by_tool:" + tool, "by_intent:" + intent, "by_date:" + at.Format(time.DateOnly)} {
			want["ledger:"+key] = append(want["ledger:"+key], d.ID)
		}
	}
	require.Len(t, want, 3+3+3+2)
	for key, ids := range want {
		require.Equal(t, ids, h.ids(key), key)
	}
	page, err := h.records.List(ctx, "t", Ledger, record.Query{Limit: n, Filters: []record.Filter{record.Equal("by_intent", intents[0])}})
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
	h.verified()
}

func TestB45AnUnknownIntent(t *testing.T) {
	h := newHost(t)
	_, err := h.try(Ledger, someEvent("int-20251130-nobody"))
	refused(t, err, record.CodeNotFound, "intent_id")
	h.event(h.intent(), nil)
	require.NoError(t, h.SetSettings(ctx, "t", Settings{AllowUnknownIntents: true}, record.WriteOptions{}))
	require.Equal(t, "evt-"+h.day()+"-000002", h.event("int-20251130-nobody", nil).ID, "a refusal takes no number")
	h.verified()
}

// Rows of the engine that are changed or taken away behind the back of the store are
// found, by the event that they are of.
func TestB46TheStoredLedgerIsVerified(t *testing.T) {
	db := mem.New()
	t.Cleanup(func() { _ = db.Close() })
	h := openHost(t, db, kvtest.New())
	intent := h.intent()
	for range 20 {
		h.event(intent, nil)
	}
	h.verified()
	space, err := h.records.Space(ctx, "t", Ledger)
	require.NoError(t, err)
	scope := space.Scope()
	require.NoError(t, h.kv.Close())
	row := func(n int) []byte {
		return append(append(scope[:len(scope):len(scope)], 'V'), fmt.Sprintf("evt-%s-\x06%06d", h.day(), n)...)
	}
	findings := func() (found []string) {
		h := openHost(t, db, kvtest.New())
		for f, err := range h.Verify(ctx, "t") {
			require.NoError(t, err)
			found = append(found, f.Event)
		}
		require.NoError(t, h.kv.Close())
		return found
	}
	write := func(key, value []byte) {
		var b engine.Batch
		if value == nil {
			b.Delete(column.Generic, key)
		} else {
			b.Put(column.Generic, key, value)
		}
		require.NoError(t, db.Apply(&b))
	}
	for _, n := range []int{1, 7, 20} {
		whole, err := db.Get(nil, column.Generic, row(n))
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
