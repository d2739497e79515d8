package policytest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/record"
)

func (h *Host) commands(collection string) (lines []string) {
	h.t.Helper()
	for command, err := range h.Commands(ctx, "t", collection) {
		require.NoError(h.t, err)
		if command[0] == "SET" && strings.HasPrefix(command[2], "{") {
			require.Equal(h.t, h.Key(command[1]), command[2])
			command[2] = "record"
		}
		lines = append(lines, strings.Join(command, " "))
	}
	return lines
}

func b91ExportsForSQLAndRedis(t *testing.T, h *Host) {
	_, err := h.Bootstrap(ctx, "t", engine.WAL)
	require.NoError(t, err)
	h.Create(policy.Policies, Example(t, policy.Policies).With(Object{"active": false}))
	h.Create(policy.Intents, Example(t, policy.Intents))
	h.Create(policy.Claims, Example(t, policy.Claims))
	h.Create(policy.Delegations, SomeDelegation("agent:b", "x", "y.*").With(Object{"delegation_id": "del-20251130-d001"}))
	h.Clock.Pass(time.Second)
	first := h.Event("int-20251130-x1y2z3", nil)
	h.Event("int-20251130-x1y2z3", nil)
	for _, collection := range []string{policy.Policies, policy.Ledger, policy.Agents, policy.Intents, policy.Claims, policy.Delegations} {
		names, err := policy.Columns(collection)
		require.NoError(t, err)
		n := 0
		for row, err := range h.Rows(ctx, "t", collection) {
			require.NoError(t, err)
			require.Len(t, row, len(names))
			id, _ := document.Text(row[0])
			doc := h.Get(collection, id)
			for i, name := range names {
				var cell any
				require.NoError(t, json.Unmarshal(row[i], &cell))
				switch want := doc[name].(type) {
				case map[string]any, []any:
					require.JSONEq(t, string(Object{"v": want}.JSON()), `{"v":`+cell.(string)+`}`)
				default:
					require.Equal(t, want, cell)
				}
			}
			n++
		}
		require.NotZero(t, n, collection)
	}
	require.Equal(t, []string{
		"SET policy:core.safety:pol-core-safety record", "SADD policy:active pol-core-safety", "SADD policy:scope:core.safety pol-core-safety",
		"SET policy:core.audit:pol-core-audit record", "SADD policy:active pol-core-audit", "SADD policy:scope:core.audit pol-core-audit",
		"SET policy:email.send:pol-20251130-a1b2c3 record", "SADD policy:scope:email.send pol-20251130-a1b2c3",
	}, h.commands(policy.Policies))
	require.Equal(t, []string{
		"SET delegation:user:alexa:del-20251130-d001 record", "SADD delegation:active del-20251130-d001", "SADD delegation:by_delegate:agent:b del-20251130-d001",
		"SADD delegation:by_delegator:user:alexa del-20251130-d001", "SADD delegation:by_scope:x del-20251130-d001", "SADD delegation:by_scope:y.* del-20251130-d001",
	}, h.commands(policy.Delegations)[10:])
	at, err := document.ParseInstant(fieldText(first, "timestamp"))
	require.NoError(t, err)
	day := at.Format(time.DateOnly)
	ledger := h.commands(policy.Ledger)
	require.Equal(t, []string{
		"SET ledger:int-20251130-x1y2z3:" + first.ID + " record", fmt.Sprintf("ZADD ledger:by_date:%s %d %s", day, at.Unix(), first.ID),
		"SADD ledger:by_agent:cece.governor.v1 " + first.ID, "SADD ledger:by_tool:gmail " + first.ID, "SADD ledger:by_intent:int-20251130-x1y2z3 " + first.ID,
	}, ledger[:5])
	require.Equal(t, "SET ledger:counter:"+day+" 2", ledger[10])
	for _, err := range h.Rows(ctx, "t", policy.Approvals) {
		require.ErrorIs(t, err, record.ErrUnknownCollection)
	}
	for _, err := range h.Commands(ctx, "t", policy.TenantRules) {
		require.ErrorIs(t, err, record.ErrUnknownCollection)
	}
}

func b92VersionsAreNamespacesOfTheirOwn(t *testing.T, h *Host) {
	for _, id := range []string{"pol-core-safety", "pol-core-audit"} {
		h.Create(policy.Policies, SomePolicy("core.safety", "true", "deny", 1).With(Object{"policy_id": id}))
	}
	want := h.Create(policy.Policies, Example(t, policy.Policies))
	require.Equal(t, "NOT_FOUND", h.Key("policy.v2:email.send:"+want.ID))
	require.Equal(t, "INVALID_KEY", h.Key("policy.v10:email.send:"+want.ID))
	require.Equal(t, "INVALID_KEY", h.Key("ledger.v2:by_date:2025-11-30"))
	copied, err := h.Migrate(ctx, "t", policy.Policies, 1, 2)
	require.NoError(t, err)
	require.Equal(t, 3, copied)
	require.Equal(t, string(want.JSON), h.Key("policy.v2:email.send:"+want.ID))
	require.Equal(t, string(want.JSON), h.Key("policy:email.send:"+want.ID))
	h.Update("policy.v2", want.ID, Object{"name": "second", "scope": "x"})
	require.Equal(t, []string{want.ID}, h.IDs("policy.v2:scope:x"))
	require.Empty(t, h.IDs("policy:scope:x"))
	require.Equal(t, "External Email Approval", h.Get(policy.Policies, want.ID)["name"])
	_, err = h.Try("policy.v2", SomePolicy("a", "a ==", "allow", 1))
	refused(t, err, record.CodeValidation, "rules.0.condition")
	dropped, err := h.Drop(ctx, "t", policy.Policies, 1, engine.WAL)
	require.NoError(t, err)
	require.Equal(t, 3, dropped)
	require.Equal(t, "NOT_FOUND", h.Key("policy:email.send:"+want.ID))
	require.Equal(t, "second", h.Get("policy.v2", want.ID)["name"])
	dropped, err = h.Drop(ctx, "t", policy.Policies, 2, engine.WAL)
	require.NoError(t, err)
	require.Equal(t, 3, dropped)
	require.Equal(t, "NOT_FOUND", h.Key("policy.v2:x:"+want.ID))
	for _, tc := range []struct {
		collection string
		from, to   int
		field      string
	}{{policy.Ledger, 1, 2, "collection"}, {policy.Policies, 0, 2, "version"}, {policy.Policies, 2, 10, "version"}, {policy.Policies, 2, 2, "version"}} {
		_, err := h.Migrate(ctx, "t", tc.collection, tc.from, tc.to)
		refused(t, err, record.CodeInvalidArgument, tc.field)
	}
	for range 300 {
		h.Create(policy.Policies, SomePolicy("a", "true", "allow", 1))
	}
	space, err := h.Store.Records().Space(ctx, "t", "policy.v3")
	require.NoError(t, err)
	require.NoError(t, space.SetQuota(ctx, kv.Quota{Keys: 1}))
	_, err = h.Migrate(ctx, "t", policy.Policies, 1, 3)
	var e *record.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, record.CodeQuotaExhausted, e.Code)
	for _, collection := range []string{policy.Policies, policy.Agents, policy.Intents, policy.Claims, policy.Delegations} {
		for version := 2; version <= 9; version++ {
			_, err := h.Records.List(ctx, "t", policy.VersionName(collection, version), record.Query{})
			require.NoError(t, err)
		}
	}
}

func b18PoliciesOfAScope(t *testing.T, h *Host) {
	byScope := map[string]string{}
	for _, scope := range []string{"email.send", "email.*", "*", "email.sendx", "emails.*", "email", "email.send.*", "email.send.bulk", "other"} {
		byScope[scope] = h.Create(policy.Policies, SomePolicy(scope, "true", "allow", 1)).ID
	}
	off := h.Create(policy.Policies, SomePolicy("email.send", "true", "allow", 1).With(Object{"active": false}))
	for scope, want := range map[string][]string{
		"email.send":      {"email.send", "email.*", "*"},
		"email":           {"*", "email"},
		"email.*":         {"email.send", "email.*", "*", "email.sendx", "email.send.*", "email.send.bulk"},
		"email.send.*":    {"email.*", "*", "email.send.*", "email.send.bulk"},
		"email.send.bulk": {"email.*", "*", "email.send.*", "email.send.bulk"},
		"Email.send":      {"*"},
		"*":               {"email.send", "email.*", "*", "email.sendx", "emails.*", "email", "email.send.*", "email.send.bulk", "other"},
	} {
		docs, err := h.PoliciesFor(ctx, "t", scope)
		require.NoError(t, err)
		var got, expected []string
		for _, d := range docs {
			got = append(got, d.ID)
			require.NotEqual(t, off.ID, d.ID)
		}
		for _, s := range want {
			expected = append(expected, byScope[s])
		}
		require.Equal(t, expected, got, scope)
	}
	_, err := h.PoliciesFor(ctx, "t", "a.*.b")
	refused(t, err, record.CodeValidation, "scope")
}

// The six questions of the source, of 50 records.
func b93TheCommonQueries(t *testing.T, h *Host) {
	made, err := h.Bootstrap(ctx, "t", engine.WAL)
	require.NoError(t, err)
	require.Len(t, made, 4)
	delegation := h.Create(policy.Delegations, Example(t, policy.Delegations).With(Object{"constraints": nil, "scope": []string{"gmail.*"}}))
	var working, policies, events []string
	for i := range 10 {
		status := []string{"executing", "proposed"}[i%2]
		d := h.Create(policy.Intents, SomeIntent().With(Object{"assigned_agent": []string{policy.Governor, policy.Governor, "other"}[i%3], "status": status}))
		if i%2 == 0 && i%3 != 2 {
			working = append(working, d.ID)
		}
		if p := h.Create(policy.Policies, SomePolicy([]string{"email.send", "email.*", "files.read"}[i%3], "true", "allow", i)); i%3 != 2 {
			policies = append(policies, p.ID)
		}
		h.Create(policy.Claims, Example(t, policy.Claims).With(Object{"claim_id": nil, "object": []string{"org:blackroad", "org:other"}[i%2], "claim_type": []string{"ownership", "membership"}[i/2%2]}))
		events = append(events, h.Event(d.ID, Object{"agent_id": policy.Governor}).ID)
	}
	decision := h.Ask("agent:"+policy.Governor, "gmail.send")
	require.Equal(t, []any{true, delegation.ID}, []any{decision.Allowed, decision.Delegation})
	ids := func(page record.Page, err error) (list []string) {
		require.NoError(t, err)
		require.Empty(t, page.Next)
		for _, d := range page.Docs {
			list = append(list, d.ID)
		}
		return list
	}
	require.Equal(t, events, ids(h.Day(ctx, "t", h.Clock.Now(), record.Query{})))
	require.Empty(t, ids(h.Day(ctx, "t", h.Clock.Now().AddDate(0, 0, 1), record.Query{})))
	require.Len(t, ids(h.ClaimsAbout(ctx, "t", "org:blackroad", "ownership", record.Query{})), 3)
	require.Len(t, ids(h.ClaimsAbout(ctx, "t", "org:blackroad", "", record.Query{})), 5)
	docs, err := h.PoliciesFor(ctx, "t", "email.*")
	require.Equal(t, policies, ids(record.Page{Docs: docs}, err))
	require.Equal(t, working, ids(h.WorkOf(ctx, "t", "agent:"+policy.Governor, "executing", record.Query{})))
	require.Len(t, ids(h.WorkOf(ctx, "t", policy.Governor, "", record.Query{})), 7)
	used, err := h.Use(ctx, "t", policy.Question{Agent: "agent:" + policy.Governor, Action: "gmail.send"}, policy.UseOptions{Log: true, Intent: working[0]})
	require.NoError(t, err)
	require.True(t, used.Allowed)
	require.Equal(t, append(events, used.Event), ids(h.Day(ctx, "t", h.Clock.Now(), record.Query{})))
}
