package policytest

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/record"
)

func b1IDsOfEachCollection(t *testing.T, h *Host) {
	h.Clock.Set(time.Date(2027, 11, 30, 23, 59, 59, 999_000_000, time.UTC).Sub(h.Clock.Now()))
	docs := map[string]Object{
		policy.Policies: SomePolicy("a.b", "true", "allow", 1), policy.Intents: SomeIntent(), policy.Delegations: SomeDelegation("agent:a", "a.b"),
		policy.Claims: {"subject": "user:a", "claim_type": "ownership", "object": "o", "assertion": "a", "issued_by": "user:b"},
	}
	prefixes := map[string]string{policy.Policies: "pol", policy.Intents: "int", policy.Claims: "clm", policy.Delegations: "del"}
	for collection, doc := range docs {
		require.Regexp(t, "^"+prefixes[collection]+"-20271130-[a-z0-9]{6}$", h.Create(collection, doc).ID)
	}
	h.Clock.Pass(time.Millisecond)
	for collection, doc := range docs {
		require.Regexp(t, "^"+prefixes[collection]+"-20271201-[a-z0-9]{6}$", h.Create(collection, doc).ID)
	}
}

func b3IDsFromCallers(t *testing.T, h *Host) {
	h.Create(policy.Claims, Example(t, policy.Claims))
	_, err := h.Try(policy.Claims, Example(t, policy.Claims))
	refused(t, err, record.CodeAlreadyExists, "claim_id")
	for _, id := range []string{"pol_1", "POL-20251130-a1b2c3", "pol-20251130-A1B2C3", "int-20251130-a1b2c3", "pol-2025113-a1b2c3", "pol-", "pol-20251130-", "pol:20251130:a"} {
		_, err := h.Try(policy.Policies, SomePolicy("a.b", "true", "allow", 1).With(Object{"policy_id": id}))
		refused(t, err, record.CodeValidation, "policy_id")
	}
	require.Empty(t, h.IDs("policy:active"))
	h.Create(policy.Policies, SomePolicy("core.safety", "true", "allow", 1).With(Object{"policy_id": "pol-core-safety"}))
}

// noHash is what the first event of a ledger has for the hash of the one before it.
const noHash = "sha256:0000000000000000000000000000000000000000000000000000000000000000"

// The examples of the source come back field for field.
func b12B41B47B52B59B63TheExamplesComeBack(t *testing.T, h *Host) {
	for _, id := range []string{"pol-core-safety", "pol-core-audit"} {
		h.Create(policy.Policies, SomePolicy("core.safety", "true", "allow", 1).With(Object{"policy_id": id}))
	}
	for collection, id := range map[string]string{policy.Policies: "pol-20251130-a1b2c3", policy.Agents: "cece.governor.v1", policy.Intents: "int-20251130-x1y2z3", policy.Claims: "clm-20251130-own001", policy.Delegations: "del-20251130-d001"} {
		want := Example(t, collection)
		h.Create(collection, want)
		require.Equal(t, want, h.Get(collection, id))
	}
	event := Example(t, policy.Ledger)
	d := h.Create(policy.Ledger, event.With(Object{"event_id": nil, "timestamp": nil}))
	require.Equal(t, "evt-"+h.day()+"-000001", d.ID)
	got := h.Get(policy.Ledger, d.ID)
	want := event.With(Object{"event_id": d.ID, "timestamp": document.FormatInstant(h.Clock.Now()), "hash": got["hash"], "previous_hash": noHash})
	require.Equal(t, want, got)
	for _, field := range []string{"event_id", "timestamp", "hash", "previous_hash"} {
		_, err := h.Try(policy.Ledger, SomeEvent("int-20251130-x1y2z3").With(Object{field: event.With(Object{"hash": noHash, "previous_hash": noHash})[field]}))
		refused(t, err, record.CodeValidation, field)
	}
}

// Unknown fields survive every verb, of every kind of record.
func b5UnknownFieldsOfEveryKind(t *testing.T, h *Host) {
	intent := h.Create(policy.Intents, SomeIntent().With(Object{"more": Object{"a": []any{1.0, "x"}}}))
	for collection, doc := range map[string]Object{
		policy.Policies: SomePolicy("a.b", "true", "allow", 1), policy.Delegations: SomeDelegation("agent:a", "a.b"), policy.Ledger: SomeEvent(intent.ID),
		policy.Agents: {"agent_id": "a", "name": "a", "description": "a", "class": "worker", "owner": "user:a"},
		policy.Claims: {"subject": "user:a", "claim_type": "ownership", "object": "o", "assertion": "a", "issued_by": "user:b"},
	} {
		more := Object{"a": []any{1.0, "x"}}
		d := h.Create(collection, doc.With(Object{"more": more}))
		require.Equal(t, map[string]any(more), h.Get(collection, d.ID)["more"], collection)
		if collection != policy.Ledger {
			h.Update(collection, d.ID, Object{"even_more": true})
			require.Equal(t, true, h.Get(collection, d.ID)["even_more"])
		}
		var lines strings.Builder
		require.NoError(t, h.Records.Export(ctx, "t", collection, &lines))
		require.Contains(t, lines.String(), `"more":{"a":[1,"x"]}`)
	}
}

func b6B7KeysOfEveryNamespace(t *testing.T, h *Host) {
	require.Equal(t, "INVALID_KEY", h.Key("foo:x"))
	require.Equal(t, "INVALID_KEY", h.Key("policy"))
	for _, id := range []string{"pol-core-safety", "pol-core-audit"} {
		h.Create(policy.Policies, SomePolicy("core.safety", "true", "allow", 1).With(Object{"policy_id": id}))
	}
	for key, collection := range map[string]string{
		"policy:email.send:pol-20251130-a1b2c3": policy.Policies, "agent:cece.governor.v1": policy.Agents, "intent:int-20251130-x1y2z3": policy.Intents,
		"claim:user:alexa:clm-20251130-own001": policy.Claims, "delegation:user:alexa:del-20251130-d001": policy.Delegations,
	} {
		require.Equal(t, "NOT_FOUND", h.Key(key))
		d := h.Create(collection, Example(t, collection))
		require.Equal(t, string(d.JSON), h.Key(key))
	}
	d := h.Create(policy.Ledger, SomeEvent("int-20251130-x1y2z3"))
	require.Equal(t, string(d.JSON), h.Key("ledger:int-20251130-x1y2z3:"+d.ID))
	require.Equal(t, "NOT_FOUND", h.Key("ledger:int-20251130-other1:"+d.ID))
	require.Equal(t, "NOT_FOUND", h.Key("policy:email.sendx:pol-20251130-a1b2c3"))
}

func b8ReservedWords(t *testing.T, h *Host) {
	agent := Object{"agent_id": "a", "name": "a", "description": "a", "class": "worker", "owner": "user:a"}
	for _, tc := range []struct {
		collection, field, word string
		doc                     Object
	}{
		{policy.Agents, "agent_id", "active", agent}, {policy.Agents, "agent_id", "by_class:x", agent}, {policy.Agents, "agent_id", "by_owner", agent},
		{policy.Policies, "scope", "active", SomePolicy("a", "true", "allow", 1)}, {policy.Policies, "scope", "scope", SomePolicy("a", "true", "allow", 1)}, {policy.Policies, "scope", "id", SomePolicy("a", "true", "allow", 1)},
		{policy.Intents, "intent_id", "by_date", SomeIntent()}, {policy.Claims, "subject", "by_type", Example(t, policy.Claims)}, {policy.Delegations, "delegator", "by_scope:x", Example(t, policy.Delegations)},
	} {
		_, err := h.Try(tc.collection, tc.doc.With(Object{tc.field: tc.word}))
		refused(t, err, record.CodeReserved, tc.field)
	}
	require.Equal(t, "[]", h.Key("agent:active"))
}

func b9ColonsInParts(t *testing.T, h *Host) {
	for _, subject := range []string{"user:alexa", "agent:cece.governor.v1", "org:blackroad", "blackroad.system", "a:b:c:d"} {
		d := h.Create(policy.Claims, Example(t, policy.Claims).With(Object{"claim_id": nil, "subject": subject}))
		require.Equal(t, string(d.JSON), h.Key("claim:"+subject+":"+d.ID))
		require.Equal(t, []string{d.ID}, h.IDs("claim:by_subject:"+subject))
		d = h.Create(policy.Delegations, Example(t, policy.Delegations).With(Object{"delegation_id": nil, "delegator": subject}))
		require.Equal(t, string(d.JSON), h.Key("delegation:"+subject+":"+d.ID))
		require.Equal(t, []string{d.ID}, h.IDs("delegation:by_delegator:"+subject))
	}
}

func b10PoliciesAreChecked(t *testing.T, h *Host) {
	good := SomePolicy("a.b", "true", "allow", 1)
	rule := func(more Object) Object {
		return good.With(Object{"rules": []Object{Object(good["rules"].([]Object)[0]).With(more)}})
	}
	twice := good["rules"].([]Object)[0]
	for _, tc := range []struct {
		field string
		doc   Object
	}{
		{"scope", good.With(Object{"scope": nil})}, {"name", good.With(Object{"name": nil})}, {"rules", good.With(Object{"rules": nil})}, {"created_by", good.With(Object{"created_by": nil})},
		{"rules", good.With(Object{"rules": "r"})}, {"rules.0.action", rule(Object{"action": "maybe"})},
		{"rules.0.priority", rule(Object{"priority": -1})}, {"rules.0.priority", rule(Object{"priority": 1001})}, {"rules.0.priority", rule(Object{"priority": 1.5})},
		{"rules.1.rule_id", good.With(Object{"rules": []Object{twice, twice}})}, {"rules.0.condition", rule(Object{"condition": ""})}, {"rules.0.condition", rule(Object{"condition": nil})},
		{"created_by", good.With(Object{"created_by": "alexa"})}, {"created_by", good.With(Object{"created_by": "org:x"})}, {"rules.0.transform_fn", rule(Object{"action": "transform"})},
		{"scope", good.With(Object{"scope": "a.*.c"})}, {"scope", good.With(Object{"scope": "a."})}, {"scope", good.With(Object{"scope": ".a"})}, {"scope", good.With(Object{"scope": ""})},
	} {
		_, err := h.Try(policy.Policies, tc.doc)
		refused(t, err, record.CodeValidation, tc.field)
	}
	_, err := h.Try(policy.Policies, rule(Object{"condition": "a ==\n  and b"}))
	refused(t, err, record.CodeValidation, "rules.0.condition")
	require.Contains(t, err.Error(), "2:")
	page, err := h.Records.List(ctx, "t", policy.Policies, record.Query{All: true})
	require.NoError(t, err)
	require.Empty(t, page.Docs)
	d := h.Create(policy.Policies, good)
	_, err = h.TryUpdate(policy.Policies, d.ID, Object{"rules": []Object{twice, twice}})
	refused(t, err, record.CodeValidation, "rules.1.rule_id")
	require.Equal(t, d.Revision, h.Create(policy.Policies, good).Revision-1, "a refusal takes no revision")
}

func b11RulesAreInOrderOfPriority(t *testing.T, h *Host) {
	rules := func(priorities ...int) (list []Object) {
		for i, p := range priorities {
			list = append(list, Object{"rule_id": fmt.Sprint("r", i), "condition": "true", "action": "allow", "priority": p})
		}
		return list
	}
	order := func(id string) (ids []string) {
		for _, r := range h.Get(policy.Policies, id)["rules"].([]any) {
			ids = append(ids, r.(map[string]any)["rule_id"].(string))
		}
		return ids
	}
	d := h.Create(policy.Policies, SomePolicy("a", "true", "allow", 1).With(Object{"rules": rules(0, 100, 50, 100)}))
	require.Equal(t, []string{"r1", "r3", "r2", "r0"}, order(d.ID))
	h.Update(policy.Policies, d.ID, Object{"rules": rules(1, 2, 2)})
	require.Equal(t, []string{"r1", "r2", "r0"}, order(d.ID))
}

func b13B14PoliciesUnderTheirKeys(t *testing.T, h *Host) {
	one, two := h.Create(policy.Policies, SomePolicy("a", "true", "allow", 1)), h.Create(policy.Policies, SomePolicy("a", "true", "allow", 1))
	require.Equal(t, []string{one.ID, two.ID}, h.IDs("policy:active"))
	h.Update(policy.Policies, one.ID, Object{"active": false})
	require.Equal(t, []string{two.ID}, h.IDs("policy:active"))
	h.Update(policy.Policies, one.ID, Object{"active": true})
	require.Equal(t, []string{one.ID, two.ID}, h.IDs("policy:active"))
	require.Equal(t, []string{one.ID, two.ID}, h.IDs("policy:scope:a"))
	h.Update(policy.Policies, one.ID, Object{"scope": "b"})
	require.Equal(t, []string{two.ID}, h.IDs("policy:scope:a"))
	require.Equal(t, []string{one.ID}, h.IDs("policy:scope:b"))
	require.Equal(t, "NOT_FOUND", h.Key("policy:a:"+one.ID))
	require.Equal(t, h.Key("policy:id:"+one.ID), h.Key("policy:b:"+one.ID))
}

func b16UpdatesOfAPolicy(t *testing.T, h *Host) {
	d := h.Create(policy.Policies, SomePolicy("a", "true", "allow", 1))
	before := h.Get(policy.Policies, d.ID)
	changed := h.Update(policy.Policies, d.ID, Object{"name": "other"})
	after := h.Get(policy.Policies, d.ID)
	earlier, err := document.ParseInstant(before["updated_at"].(string))
	require.NoError(t, err)
	later, err := document.ParseInstant(after["updated_at"].(string))
	require.NoError(t, err)
	require.True(t, later.After(earlier))
	require.Equal(t, before["created_at"], after["created_at"])
	for _, field := range []string{"created_at", "created_by", "policy_id"} {
		_, err := h.TryUpdate(policy.Policies, d.ID, Object{field: "user:eve"})
		require.Error(t, err)
	}
	_, err = h.Records.Update(ctx, "t", policy.Policies, d.ID, []byte(`{"name":"stale"}`), record.UpdateOptions{Revision: d.Revision})
	var e *record.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, record.CodeConflict, e.Code)
	require.Equal(t, changed.Revision, e.Revision)
}

// Clients make policies at once; each has an id of its own, under which it is.
func b2IDsOfManyAreDistinct(t *testing.T, h *Host) {
	each := enginetest.Scale(1000)
	made := make([]map[string]string, 20)
	var wg sync.WaitGroup
	for client := range made {
		made[client] = map[string]string{}
		wg.Go(func() {
			for n := range each {
				name := fmt.Sprint(client, " ", n)
				d, err := h.Try(policy.Policies, SomePolicy("a.b", "true", "allow", 1).With(Object{"name": name}))
				if err != nil {
					t.Error(err)
					return
				}
				made[client][d.ID] = name
			}
		})
	}
	wg.Wait()
	all := map[string]string{}
	for _, names := range made {
		for id, name := range names {
			if all[id] != "" {
				require.Fail(t, "an id is there twice", id)
			}
			all[id] = name
		}
	}
	require.Len(t, all, 20*each)
	for q := (record.Query{Limit: 500}); ; {
		page, err := h.Records.List(ctx, "t", policy.Policies, q)
		require.NoError(t, err)
		for _, d := range page.Docs {
			if name := fieldText(d, "name"); name != all[d.ID] {
				require.Failf(t, "it is another", "%s is %s", d.ID, name)
			}
			delete(all, d.ID)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	require.Empty(t, all, "those that can't be read")
}

func b4InstantsAreInUTC(t *testing.T, h *Host) {
	instant := `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`
	h.Clock.Pass(7 * time.Millisecond)
	d := h.Create(policy.Delegations, SomeDelegation("agent:a", "x").With(Object{"constraints": Object{"valid_from": "2025-11-30T12:00:00+02:00", "valid_until": "2100-01-01T00:00:00.123456+02:00"}}))
	constraints := h.Get(policy.Delegations, d.ID)["constraints"].(map[string]any)
	require.Equal(t, []any{"2025-11-30T10:00:00Z", "2099-12-31T22:00:00.123456Z"}, []any{constraints["valid_from"], constraints["valid_until"]})
	claim := h.Create(policy.Claims, Example(t, policy.Claims).With(Object{"issued_at": "2025-11-30T12:00:00+02:00"}))
	require.Equal(t, "2025-11-30T10:00:00Z", h.Get(policy.Claims, claim.ID)["issued_at"])
	for _, field := range []string{"created_at", "updated_at"} {
		require.Regexp(t, instant, h.Get(policy.Delegations, d.ID)[field])
	}
	require.Equal(t, document.FormatInstant(h.Clock.Now()), h.Get(policy.Delegations, d.ID)["created_at"])
	require.Regexp(t, instant, fieldText(h.Event(h.Intent(), nil), "timestamp"))
	for _, bad := range []string{"30/11/2025", "2025-11-30", "2025-11-30T12:00:00", "2025-02-30T12:00:00Z", ""} {
		_, err := h.Try(policy.Claims, Example(t, policy.Claims).With(Object{"claim_id": nil, "issued_at": bad}))
		refused(t, err, record.CodeValidation, "issued_at")
	}
}

// What policy:id:… is lies between what the primary key is before and after.
func b15BothKeysOfAPolicyAreOne(t *testing.T, h *Host) {
	d := h.Create(policy.Policies, SomePolicy("a.b", "true", "allow", 1).With(Object{"n": 0}))
	updates := enginetest.Scale(1000)
	var stop atomic.Bool
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			number := func(key string) float64 {
				found, err := h.Records.Lookup(ctx, "t", key)
				if err != nil {
					t.Error(err)
					return 0
				}
				n, _ := objectOf(t, found)["n"].(float64)
				return n
			}
			for !stop.Load() && !t.Failed() {
				before, byID, after := number("policy:a.b:"+d.ID), number("policy:id:"+d.ID), number("policy:a.b:"+d.ID)
				if byID < before || after < byID {
					t.Errorf("%v, %v and then %v", before, byID, after)
				}
			}
		})
	}
	for n := range updates {
		h.Update(policy.Policies, d.ID, Object{"n": n + 1})
	}
	stop.Store(true)
	readers.Wait()
	require.EqualValues(t, updates, h.Get(policy.Policies, d.ID)["n"])
	require.Equal(t, h.Key("policy:a.b:"+d.ID), h.Key("policy:id:"+d.ID))
}
