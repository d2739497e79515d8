package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/record"
)

var ctx = context.Background()

// host is the capability on an engine, with a clock by hand. Its tenant is t.
type host struct {
	t     testing.TB
	db    engine.Engine
	clock *kvtest.Clock
	*Store
}

func newHost(t testing.TB) *host {
	db := mem.New()
	t.Cleanup(func() { _ = db.Close() })
	return openHost(t, db, kvtest.New())
}

// openHost opens the capability. What is derived is recounted after the test, and so is
// the ledger.
func openHost(t testing.TB, db engine.Engine, clock *kvtest.Clock) *host {
	store, err := kv.Open(db, kv.Options{Clock: clock, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	s, err := New(store, Options{})
	require.NoError(t, err)
	h := &host{t, db, clock, s}
	t.Cleanup(func() {
		for f, err := range store.Check(ctx) {
			if errors.Is(err, kv.ErrClosed) {
				return
			}
			require.NoError(t, err)
			require.Fail(t, "the check finds", f.String())
		}
		h.allHold()
		require.NoError(t, store.Close())
	})
	return h
}

// allHold demands of every stored document that its collection would take it as it is.
func (h *host) allHold() {
	view, err := h.records.View("t")
	require.NoError(h.t, err)
	for _, name := range h.records.Collections() {
		c, err := h.records.Collection(name)
		require.NoError(h.t, err)
		for d, err := range view.All(ctx, name) {
			require.NoError(h.t, err)
			require.NoError(h.t, c.Verify(d), "%s", d.JSON)
		}
	}
	require.NoError(h.t, view.Close())
}

// reopen is the next process.
func (h *host) reopen() *host {
	require.NoError(h.t, h.kv.Close())
	return openHost(h.t, h.db, h.clock)
}

// object is a document in the making.
type object map[string]any

func (o object) json() []byte {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return text
}

// with is a copy with some fields changed; nil removes one.
func (o object) with(more object) object {
	out := object{}
	for name, value := range o {
		out[name] = value
	}
	for name, value := range more {
		if out[name] = value; value == nil {
			delete(out, name)
		}
	}
	return out
}

func objectOf(t testing.TB, text []byte) (o object) {
	require.NoError(t, json.Unmarshal(text, &o))
	return o
}

// example is the source's own of a collection.
func example(t testing.TB, collection string) object {
	text, err := os.ReadFile("testdata/examples/" + collection + ".json")
	require.NoError(t, err)
	return objectOf(t, text)
}

func (h *host) try(collection string, doc object) (record.Doc, error) {
	return h.records.Create(ctx, "t", collection, doc.json(), record.WriteOptions{Durability: engine.WAL})
}

func (h *host) create(collection string, doc object) record.Doc {
	h.t.Helper()
	d, err := h.try(collection, doc)
	require.NoError(h.t, err)
	return d
}

func (h *host) tryUpdate(collection, id string, patch object) (record.Doc, error) {
	return h.records.Update(ctx, "t", collection, id, patch.json(), record.UpdateOptions{Durability: engine.WAL})
}

func (h *host) update(collection, id string, patch object) record.Doc {
	h.t.Helper()
	d, err := h.tryUpdate(collection, id, patch)
	require.NoError(h.t, err)
	return d
}

func (h *host) get(collection, id string) object {
	h.t.Helper()
	d, err := h.records.Get(ctx, "t", collection, id)
	require.NoError(h.t, err)
	return objectOf(h.t, d.JSON)
}

// key is what a literal key stands for; a refusal is its code.
func (h *host) key(key string) string {
	h.t.Helper()
	found, err := h.records.Lookup(ctx, "t", key)
	var e *record.Error
	if errors.As(err, &e) {
		return string(e.Code)
	}
	require.NoError(h.t, err)
	return string(found)
}

// ids are those that a literal key of an index stands for.
func (h *host) ids(key string) (ids []string) {
	h.t.Helper()
	text, err := h.records.Lookup(ctx, "t", key)
	require.NoError(h.t, err)
	require.NoError(h.t, json.Unmarshal(text, &ids))
	return ids
}

// refused requires an error to be a refusal with a code about a field.
func refused(t testing.TB, err error, code record.Code, field string) {
	t.Helper()
	var e *record.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, [2]string{string(code), field}, [2]string{string(e.Code), e.Field}, e.Error())
	require.NotEmpty(t, e.Reason)
}

// somePolicy is a policy of one rule.
func somePolicy(scope, condition, action string, priority int) object {
	rule := object{"rule_id": "r1", "condition": condition, "action": action, "priority": priority, "reason": "because of " + scope}
	if action == "transform" {
		rule["transform_fn"] = "redact"
	}
	return object{"scope": scope, "name": scope, "created_by": "user:alexa", "rules": []object{rule}}
}

func someDelegation(delegate string, scope ...string) object {
	return object{"delegator": "user:alexa", "delegate": delegate, "scope": scope}
}

func someIntent() object { return object{"actor": "user:alexa", "goal": "to be done"} }

func someEvent(intent string) object {
	return object{"intent_id": intent, "agent_id": "cece.governor.v1", "tool": "gmail", "action": "send", "policy_decision": object{"result": "allowed"}}
}

// verified requires the ledger to be whole.
func (h *host) verified() {
	h.t.Helper()
	for f, err := range h.Verify(ctx, "t") {
		require.NoError(h.t, err)
		require.Fail(h.t, "the ledger is not whole", f.String())
	}
}

// day is the date of the store's clock, for ids.
func (h *host) day() string { return h.kv.Now().Format(dayLayout) }

func TestB1IDsOfEachCollection(t *testing.T) {
	h := newHost(t)
	h.clock.Set(time.Date(2027, 11, 30, 23, 59, 59, 999_000_000, time.UTC).Sub(h.clock.Now()))
	docs := map[string]object{
		Policies: somePolicy("a.b", "true", "allow", 1), Intents: someIntent(), Delegations: someDelegation("agent:a", "a.b"),
		Claims: {"subject": "user:a", "claim_type": "ownership", "object": "o", "assertion": "a", "issued_by": "user:b"},
	}
	prefixes := map[string]string{Policies: "pol", Intents: "int", Claims: "clm", Delegations: "del"}
	for collection, doc := range docs {
		require.Regexp(t, "^"+prefixes[collection]+"-20271130-[a-z0-9]{6}$", h.create(collection, doc).ID)
	}
	h.clock.Pass(time.Millisecond)
	for collection, doc := range docs {
		require.Regexp(t, "^"+prefixes[collection]+"-20271201-[a-z0-9]{6}$", h.create(collection, doc).ID)
	}
}

func TestB3IDsFromCallers(t *testing.T) {
	h := newHost(t)
	h.create(Claims, example(t, Claims))
	_, err := h.try(Claims, example(t, Claims))
	refused(t, err, record.CodeAlreadyExists, "claim_id")
	for _, id := range []string{"pol_1", "POL-20251130-a1b2c3", "pol-20251130-A1B2C3", "int-20251130-a1b2c3", "pol-2025113-a1b2c3", "pol-", "pol-20251130-", "pol:20251130:a"} {
		_, err := h.try(Policies, somePolicy("a.b", "true", "allow", 1).with(object{"policy_id": id}))
		refused(t, err, record.CodeValidation, "policy_id")
	}
	require.Empty(t, h.ids("policy:active"))
	h.create(Policies, somePolicy("core.safety", "true", "allow", 1).with(object{"policy_id": "pol-core-safety"}))
}

// The examples of the source come back field for field.
func TestB12B41B47B52B59B63TheExamplesComeBack(t *testing.T) {
	h := newHost(t)
	for _, id := range []string{"pol-core-safety", "pol-core-audit"} {
		h.create(Policies, somePolicy("core.safety", "true", "allow", 1).with(object{"policy_id": id}))
	}
	for collection, id := range map[string]string{Policies: "pol-20251130-a1b2c3", Agents: "cece.governor.v1", Intents: "int-20251130-x1y2z3", Claims: "clm-20251130-own001", Delegations: "del-20251130-d001"} {
		want := example(t, collection)
		h.create(collection, want)
		require.Equal(t, want, h.get(collection, id))
	}
	event := example(t, Ledger)
	d := h.create(Ledger, event.with(object{"event_id": nil, "timestamp": nil}))
	require.Equal(t, "evt-"+h.day()+"-000001", d.ID)
	got := h.get(Ledger, d.ID)
	want := event.with(object{"event_id": d.ID, "timestamp": document.FormatInstant(h.clock.Now()), "hash": got["hash"], "previous_hash": noHash})
	require.Equal(t, want, got)
	for _, field := range []string{"event_id", "timestamp", "hash", "previous_hash"} {
		_, err := h.try(Ledger, someEvent("int-20251130-x1y2z3").with(object{field: event.with(object{"hash": noHash, "previous_hash": noHash})[field]}))
		refused(t, err, record.CodeValidation, field)
	}
}

// Unknown fields survive every verb, of every kind of record.
func TestB5UnknownFieldsOfEveryKind(t *testing.T) {
	h := newHost(t)
	intent := h.create(Intents, someIntent().with(object{"more": object{"a": []any{1.0, "x"}}}))
	for collection, doc := range map[string]object{
		Policies: somePolicy("a.b", "true", "allow", 1), Delegations: someDelegation("agent:a", "a.b"), Ledger: someEvent(intent.ID),
		Agents: {"agent_id": "a", "name": "a", "description": "a", "class": "worker", "owner": "user:a"},
		Claims: {"subject": "user:a", "claim_type": "ownership", "object": "o", "assertion": "a", "issued_by": "user:b"},
	} {
		more := object{"a": []any{1.0, "x"}}
		d := h.create(collection, doc.with(object{"more": more}))
		require.Equal(t, map[string]any(more), h.get(collection, d.ID)["more"], collection)
		if collection != Ledger {
			h.update(collection, d.ID, object{"even_more": true})
			require.Equal(t, true, h.get(collection, d.ID)["even_more"])
		}
		var lines strings.Builder
		require.NoError(t, h.records.Export(ctx, "t", collection, &lines))
		require.Contains(t, lines.String(), `"more":{"a":[1,"x"]}`)
	}
}

func TestB6B7KeysOfEveryNamespace(t *testing.T) {
	h := newHost(t)
	require.Equal(t, "INVALID_KEY", h.key("foo:x"))
	require.Equal(t, "INVALID_KEY", h.key("policy"))
	for _, id := range []string{"pol-core-safety", "pol-core-audit"} {
		h.create(Policies, somePolicy("core.safety", "true", "allow", 1).with(object{"policy_id": id}))
	}
	for key, collection := range map[string]string{
		"policy:email.send:pol-20251130-a1b2c3": Policies, "agent:cece.governor.v1": Agents, "intent:int-20251130-x1y2z3": Intents,
		"claim:user:alexa:clm-20251130-own001": Claims, "delegation:user:alexa:del-20251130-d001": Delegations,
	} {
		require.Equal(t, "NOT_FOUND", h.key(key))
		d := h.create(collection, example(t, collection))
		require.Equal(t, string(d.JSON), h.key(key))
	}
	d := h.create(Ledger, someEvent("int-20251130-x1y2z3"))
	require.Equal(t, string(d.JSON), h.key("ledger:int-20251130-x1y2z3:"+d.ID))
	require.Equal(t, "NOT_FOUND", h.key("ledger:int-20251130-other1:"+d.ID))
	require.Equal(t, "NOT_FOUND", h.key("policy:email.sendx:pol-20251130-a1b2c3"))
}

func TestB8ReservedWords(t *testing.T) {
	h := newHost(t)
	agent := object{"agent_id": "a", "name": "a", "description": "a", "class": "worker", "owner": "user:a"}
	for _, tc := range []struct {
		collection, field, word string
		doc                     object
	}{
		{Agents, "agent_id", "active", agent}, {Agents, "agent_id", "by_class:x", agent}, {Agents, "agent_id", "by_owner", agent},
		{Policies, "scope", "active", somePolicy("a", "true", "allow", 1)}, {Policies, "scope", "scope", somePolicy("a", "true", "allow", 1)}, {Policies, "scope", "id", somePolicy("a", "true", "allow", 1)},
		{Intents, "intent_id", "by_date", someIntent()}, {Claims, "subject", "by_type", example(t, Claims)}, {Delegations, "delegator", "by_scope:x", example(t, Delegations)},
	} {
		_, err := h.try(tc.collection, tc.doc.with(object{tc.field: tc.word}))
		refused(t, err, record.CodeReserved, tc.field)
	}
	require.Equal(t, "[]", h.key("agent:active"))
}

func TestB9ColonsInParts(t *testing.T) {
	h := newHost(t)
	for _, subject := range []string{"user:alexa", "agent:cece.governor.v1", "org:blackroad", "blackroad.system", "a:b:c:d"} {
		d := h.create(Claims, example(t, Claims).with(object{"claim_id": nil, "subject": subject}))
		require.Equal(t, string(d.JSON), h.key("claim:"+subject+":"+d.ID))
		require.Equal(t, []string{d.ID}, h.ids("claim:by_subject:"+subject))
		d = h.create(Delegations, example(t, Delegations).with(object{"delegation_id": nil, "delegator": subject}))
		require.Equal(t, string(d.JSON), h.key("delegation:"+subject+":"+d.ID))
		require.Equal(t, []string{d.ID}, h.ids("delegation:by_delegator:"+subject))
	}
}

func TestB10PoliciesAreChecked(t *testing.T) {
	h := newHost(t)
	good := somePolicy("a.b", "true", "allow", 1)
	rule := func(more object) object {
		return good.with(object{"rules": []object{object(good["rules"].([]object)[0]).with(more)}})
	}
	twice := good["rules"].([]object)[0]
	for _, tc := range []struct {
		field string
		doc   object
	}{
		{"scope", good.with(object{"scope": nil})}, {"name", good.with(object{"name": nil})}, {"rules", good.with(object{"rules": nil})}, {"created_by", good.with(object{"created_by": nil})},
		{"rules", good.with(object{"rules": "r"})}, {"rules.0.action", rule(object{"action": "maybe"})},
		{"rules.0.priority", rule(object{"priority": -1})}, {"rules.0.priority", rule(object{"priority": 1001})}, {"rules.0.priority", rule(object{"priority": 1.5})},
		{"rules.1.rule_id", good.with(object{"rules": []object{twice, twice}})}, {"rules.0.condition", rule(object{"condition": ""})}, {"rules.0.condition", rule(object{"condition": nil})},
		{"created_by", good.with(object{"created_by": "alexa"})}, {"created_by", good.with(object{"created_by": "org:x"})}, {"rules.0.transform_fn", rule(object{"action": "transform"})},
		{"scope", good.with(object{"scope": "a.*.c"})}, {"scope", good.with(object{"scope": "a."})}, {"scope", good.with(object{"scope": ".a"})}, {"scope", good.with(object{"scope": ""})},
	} {
		_, err := h.try(Policies, tc.doc)
		refused(t, err, record.CodeValidation, tc.field)
	}
	_, err := h.try(Policies, rule(object{"condition": "a ==\n  and b"}))
	refused(t, err, record.CodeValidation, "rules.0.condition")
	require.Contains(t, err.Error(), "2:")
	page, err := h.records.List(ctx, "t", Policies, record.Query{All: true})
	require.NoError(t, err)
	require.Empty(t, page.Docs)
	d := h.create(Policies, good)
	_, err = h.tryUpdate(Policies, d.ID, object{"rules": []object{twice, twice}})
	refused(t, err, record.CodeValidation, "rules.1.rule_id")
	require.Equal(t, d.Revision, h.create(Policies, good).Revision-1, "a refusal takes no revision")
}

func TestB11RulesAreInOrderOfPriority(t *testing.T) {
	h := newHost(t)
	rules := func(priorities ...int) (list []object) {
		for i, p := range priorities {
			list = append(list, object{"rule_id": fmt.Sprint("r", i), "condition": "true", "action": "allow", "priority": p})
		}
		return list
	}
	order := func(id string) (ids []string) {
		for _, r := range h.get(Policies, id)["rules"].([]any) {
			ids = append(ids, r.(map[string]any)["rule_id"].(string))
		}
		return ids
	}
	d := h.create(Policies, somePolicy("a", "true", "allow", 1).with(object{"rules": rules(0, 100, 50, 100)}))
	require.Equal(t, []string{"r1", "r3", "r2", "r0"}, order(d.ID))
	h.update(Policies, d.ID, object{"rules": rules(1, 2, 2)})
	require.Equal(t, []string{"r1", "r2", "r0"}, order(d.ID))
}

func TestB13B14PoliciesUnderTheirKeys(t *testing.T) {
	h := newHost(t)
	one, two := h.create(Policies, somePolicy("a", "true", "allow", 1)), h.create(Policies, somePolicy("a", "true", "allow", 1))
	require.Equal(t, []string{one.ID, two.ID}, h.ids("policy:active"))
	h.update(Policies, one.ID, object{"active": false})
	require.Equal(t, []string{two.ID}, h.ids("policy:active"))
	h.update(Policies, one.ID, object{"active": true})
	require.Equal(t, []string{one.ID, two.ID}, h.ids("policy:active"))
	require.Equal(t, []string{one.ID, two.ID}, h.ids("policy:scope:a"))
	h.update(Policies, one.ID, object{"scope": "b"})
	require.Equal(t, []string{two.ID}, h.ids("policy:scope:a"))
	require.Equal(t, []string{one.ID}, h.ids("policy:scope:b"))
	require.Equal(t, "NOT_FOUND", h.key("policy:a:"+one.ID))
	require.Equal(t, h.key("policy:id:"+one.ID), h.key("policy:b:"+one.ID))
}

func TestB16UpdatesOfAPolicy(t *testing.T) {
	h := newHost(t)
	d := h.create(Policies, somePolicy("a", "true", "allow", 1))
	before := h.get(Policies, d.ID)
	changed := h.update(Policies, d.ID, object{"name": "other"})
	after := h.get(Policies, d.ID)
	earlier, err := document.ParseInstant(before["updated_at"].(string))
	require.NoError(t, err)
	later, err := document.ParseInstant(after["updated_at"].(string))
	require.NoError(t, err)
	require.True(t, later.After(earlier))
	require.Equal(t, before["created_at"], after["created_at"])
	for _, field := range []string{"created_at", "created_by", "policy_id"} {
		_, err := h.tryUpdate(Policies, d.ID, object{field: "user:eve"})
		require.Error(t, err)
	}
	_, err = h.records.Update(ctx, "t", Policies, d.ID, []byte(`{"name":"stale"}`), record.UpdateOptions{Revision: d.Revision})
	var e *record.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, record.CodeConflict, e.Code)
	require.Equal(t, changed.Revision, e.Revision)
}
