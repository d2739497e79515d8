package server

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/record"
	"github.com/stoadb/stoa/rpc"
)

// policyDaemon is a daemon under test that decides, and what it serves.
type policyDaemon struct {
	*testDaemon
	clock    *kvtest.Clock
	kv       *kv.Store
	policies *policy.Store
}

// startPolicies serves decisions of an engine in memory. After the test its counters must
// equal a recount.
func startPolicies(t testing.TB, o Options) *policyDaemon {
	t.Helper()
	eng := mem.New()
	d := &policyDaemon{clock: kvtest.New()}
	var err error
	d.kv, err = kv.Open(eng, kv.Options{Clock: d.clock, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	d.policies, err = policy.New(d.kv, policy.Options{})
	require.NoError(t, err)
	o.Records, o.Policies = d.policies.Records(), d.policies
	d.testDaemon = start(t, eng, o)
	t.Cleanup(func() { // before the engine is closed
		d.stop()
		for f, err := range d.kv.Check(context.Background()) {
			require.NoError(t, err)
			require.Fail(t, "the check finds", f.String())
		}
		require.NoError(t, d.kv.Close())
	})
	return d
}

// doc is a document in the making.
type doc map[string]any

// with is a copy with more fields.
func (d doc) with(more doc) doc {
	d = maps.Clone(d)
	maps.Copy(d, more)
	return d
}

var (
	anIntent     = doc{"actor": "user:ann", "goal": "a quiet week", "assigned_agent": "mailer", "plan": []doc{{"step": 1, "action": "mail.read", "status": "planned"}, {"step": 2, "action": "mail.send", "status": "planned"}}}
	aClaim       = doc{"subject": "user:ann", "claim_type": "ownership", "object": "org:acme", "assertion": "user:ann owns org:acme", "issued_by": "user:bob"}
	aDelegation  = doc{"delegator": "user:ann", "delegate": "agent:mailer", "scope": []string{"mail.*"}}
	anEvent      = doc{"agent_id": "mailer", "tool": "mail", "action": "read", "policy_decision": doc{"result": "allowed"}}
	anApprovalOf = doc{"agent_id": "mailer", "action": "mail.send", "expires_at": "2027-01-01T00:00:00Z"}
)

func aPolicy(scope, condition, action string) doc {
	rule := doc{"rule_id": "r1", "condition": condition, "action": action, "priority": 10, "reason": "because of " + scope}
	if action == "transform" {
		rule["transform_fn"] = "redact"
	}
	return doc{"scope": scope, "name": scope, "created_by": "user:ann", "rules": []doc{rule}}
}

func made(t testing.TB, c *rpc.Client, collection string, d doc) rpc.Doc {
	t.Helper()
	m, err := c.Records("acme").Create(t.Context(), collection, d, rpc.RecordDurability(rpc.WAL))
	require.NoError(t, err)
	return m
}

// all returns what is yielded, which has no error.
func all[T any](t testing.TB, seq iter.Seq2[T, error]) (list []T) {
	t.Helper()
	for one, err := range seq {
		require.NoError(t, err)
		list = append(list, one)
	}
	return list
}

// failedWith returns the error that ends what is yielded.
func failedWith[T any](seq iter.Seq2[T, error]) (err error) {
	for _, err = range seq {
	}
	return err
}

func idsOf(list []rpc.Doc) (ids []string) {
	for _, d := range list {
		ids = append(ids, d.ID)
	}
	return ids
}

func TestDecisionsOverBothFramings(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		d := startPolicies(t, Options{})
		c := d.dialAs(t, f)
		p := c.Policy("acme")
		made(t, c, "delegation", aDelegation.with(doc{"constraints": doc{"require_approval_for": []string{"mail.purge"}, "conditions": []string{"hour < 20"}}}))
		made(t, c, "policy", aPolicy("mail.send", `domain NOT IN friends`, "deny"))
		made(t, c, "policy", aPolicy("mail.forward", "true", "transform"))
		at := func(more doc) doc { return doc{"hour": 12}.with(more) }
		for _, c := range []struct {
			agent, action string
			context       doc
			result        policy.Result
		}{
			{"agent:mailer", "mail.read", nil, policy.Denied},
			{"mailer", "mail.read", at(nil), policy.Allowed},
			{"mailer", "mail.purge", at(nil), policy.PendingApproval},
			{"mailer", "mail.forward", at(nil), policy.Transformed},
			{"mailer", "mail.send", at(doc{"domain": "x", "friends": []string{"x"}}), policy.Allowed},
			{"mailer", "mail.send", at(doc{"domain": "é", "friends": []string{"x"}}), policy.Denied},
			{"mailer", "mail.send", at(doc{"domain": "x", "friends": "no list"}), policy.Denied},
			{"other", "mail.read", nil, policy.Denied},
			{"", "mail.*", nil, policy.Denied},
		} {
			q := rpc.Question{Agent: c.agent, Action: c.action}
			var text []byte
			if c.context != nil {
				q.Context = c.context
				var err error
				text, err = json.Marshal(c.context)
				require.NoError(t, err)
			}
			asked, err := policy.NewQuestion(q.Agent, q.Action, text)
			require.NoError(t, err)
			local, err := d.policies.Decide(t.Context(), "acme", asked)
			require.NoError(t, err)
			decided, err := p.Decide(t.Context(), q)
			require.NoError(t, err)
			require.Equal(t, local, decided, "%v", q)
			require.Equal(t, c.result, decided.Result, "%v", q)
			why, err := d.policies.Explain(t.Context(), "acme", asked)
			require.NoError(t, err)
			explained, err := p.Explain(t.Context(), q)
			require.NoError(t, err)
			require.Equal(t, why, explained, "%v", q)
			require.Equal(t, decided, explained.Decision)
		}
		decided, err := p.Decide(t.Context(), rpc.Question{Agent: "mailer", Action: "mail.read", Context: map[string]any{"hour": 3}})
		require.NoError(t, err)
		require.True(t, decided.Allowed)
		other, err := c.Policy("other").Decide(t.Context(), rpc.Question{Agent: "mailer", Action: "mail.read", Context: map[string]any{"hour": 3}})
		require.NoError(t, err)
		require.Equal(t, policy.ReasonNoDelegation, other.Reason)

		can, err := d.policies.WhatCan(t.Context(), "acme", "agent:mailer")
		require.NoError(t, err)
		require.Len(t, can, 1)
		require.True(t, can[0].Conditional)
		require.Equal(t, can, all(t, p.WhatCan(t.Context(), "agent:mailer")))
		require.Empty(t, all(t, p.WhatCan(t.Context(), "agent:other")))
		who, err := d.policies.WhoCan(t.Context(), "acme", "mail.purge")
		require.NoError(t, err)
		require.Equal(t, []string{"mail.purge"}, who[0].RequireApproval)
		require.Equal(t, who, all(t, p.WhoCan(t.Context(), "mail.purge")))
	})
}

func TestUsesAndApprovalsOverBothFramings(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		d := startPolicies(t, Options{})
		c := d.dialAs(t, f)
		p := c.Policy("acme")
		intent := made(t, c, "intent", anIntent).ID
		delegation := made(t, c, "delegation", aDelegation.with(doc{"constraints": doc{"max_uses": 2, "require_approval_for": []string{"mail.send"}}})).ID
		read := rpc.Question{Agent: "agent:mailer", Action: "mail.read"}
		dry, err := p.Use(t.Context(), read, rpc.UseOptions{DryRun: true})
		require.NoError(t, err)
		require.Equal(t, rpc.Used{Decision: policy.Decision{Allowed: true, Result: policy.Allowed, Reason: policy.ReasonNoPolicy, Delegation: delegation}}, dry)
		used, err := p.Use(t.Context(), read, rpc.UseOptions{Log: true, Intent: intent, Durability: rpc.WAL})
		require.NoError(t, err)
		require.Equal(t, "evt-20260301-000001", used.Event)
		count := func() any {
			stored, err := c.Records("acme").Get(t.Context(), "delegation", delegation)
			require.NoError(t, err)
			return fieldOf(t, stored, "uses_count")
		}
		require.Equal(t, 1.0, count())

		send := rpc.Question{Agent: "mailer", Action: "mail.send", Context: doc{"to": "bob"}}
		asked, err := p.Use(t.Context(), send, rpc.UseOptions{AskFor: time.Hour + time.Microsecond, Intent: intent})
		require.NoError(t, err)
		require.Equal(t, policy.PendingApproval, asked.Result)
		request, err := p.Approval(t.Context(), asked.Approval)
		require.NoError(t, err)
		require.Equal(t, "2026-03-01T13:00:00.001Z", fieldOf(t, request, "expires_at"), "a part of a millisecond is one")
		require.Equal(t, intent, fieldOf(t, request, "intent_id"))
		answered, err := p.Answer(t.Context(), asked.Approval, true, "user:ann", "once", rpc.RecordDurability(rpc.WAL))
		require.NoError(t, err)
		require.Equal(t, []any{"approved", "user:ann", "once"}, []any{fieldOf(t, answered, "status"), fieldOf(t, answered, "decided_by"), fieldOf(t, answered, "decided_reason")})
		done, err := p.Use(t.Context(), send, rpc.UseOptions{Approval: asked.Approval})
		require.NoError(t, err)
		require.True(t, done.Allowed)
		require.Equal(t, 2.0, count())
		gone, err := p.Use(t.Context(), read, rpc.UseOptions{})
		require.NoError(t, err)
		require.Equal(t, policy.ReasonExhausted, gone.Reason)

		made(t, c, "delegation", aDelegation.with(doc{"constraints": doc{"require_approval_for": []string{"mail.send"}}}))
		late, err := p.Use(t.Context(), send, rpc.UseOptions{AskFor: time.Minute})
		require.NoError(t, err)
		d.clock.Pass(time.Hour)
		request, err = p.Approval(t.Context(), late.Approval)
		require.NoError(t, err)
		require.Equal(t, "rejected", fieldOf(t, request, "status"))
	})
}

func TestTheLedgerOverBothFramings(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		d := startPolicies(t, Options{})
		c := d.dialAs(t, f)
		p := c.Policy("acme")
		none, err := p.Head(t.Context())
		require.NoError(t, err)
		require.Equal(t, rpc.LedgerHead{}, none)
		event := anEvent.with(doc{"intent_id": made(t, c, "intent", anIntent).ID, "inputs": doc{"to": "bob"}})
		var ids []string
		var times []time.Time
		for range 6 {
			d.clock.Pass(7 * time.Hour)
			e, err := p.Append(t.Context(), event, rpc.RecordDurability(rpc.WAL))
			require.NoError(t, err)
			require.Nil(t, fieldOf(t, e, "inputs"))
			ids, times = append(ids, e.ID), append(times, e.Written)
		}
		require.Equal(t, "evt-20260303-000001", ids[5])
		require.Equal(t, ids[1:5], idsOf(all(t, p.Day(t.Context(), times[1], rpc.RecordQuery{}))))
		require.Equal(t, ids[4:5], idsOf(all(t, p.Day(t.Context(), times[1], rpc.RecordQuery{Reverse: true, Limit: 1}))))
		for _, b := range []struct {
			from, to time.Time
			want     []string
		}{
			{want: ids},
			{from: times[2], want: ids[2:]},
			{to: times[2], want: ids[:2]},
			{from: times[1], to: times[4].Add(time.Microsecond), want: ids[1:5]},
			{from: times[1].Add(time.Microsecond), to: times[4], want: ids[2:4]},
			{to: time.Unix(-1, 0)},
			{from: time.Unix(-1, 0), want: ids},
		} {
			require.Equal(t, b.want, idsOf(all(t, p.Events(t.Context(), b.from, b.to))), "%v", b)
		}
		head, err := p.Head(t.Context())
		require.NoError(t, err)
		local, err := d.policies.Head(t.Context(), "acme")
		require.NoError(t, err)
		require.Equal(t, local, head)
		require.Equal(t, ids[5], head.Last.String())
		require.Empty(t, all(t, p.Verify(t.Context())))

		it, err := d.engine.Iterate(column.Generic, engine.Range{})
		require.NoError(t, err)
		var whole engine.Batch
		for it.Next() {
			if bytes.Contains(it.Key(), []byte("Vevt-20260302-\x06000002")) {
				damaged := bytes.Replace(it.Value(), []byte(`"read"`), []byte(`"rEad"`), 1)
				require.NotEqual(t, it.Value(), damaged)
				var b engine.Batch
				b.Put(column.Generic, it.Key(), damaged)
				whole.Put(column.Generic, it.Key(), it.Value())
				require.NoError(t, d.engine.Apply(&b))
			}
		}
		it.Close()
		require.Equal(t, []rpc.LedgerFinding{{Event: "evt-20260302-000002", Problem: "it was changed: its hash is not that of what it says"}}, all(t, p.Verify(t.Context())))
		require.NoError(t, d.engine.Apply(&whole))
	})
}

func TestWhatAHostSaysOfATenantOverBothFramings(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		d := startPolicies(t, Options{})
		c := d.dialAs(t, f)
		p, r := c.Policy("acme"), c.Records("acme")
		begun, err := p.Bootstrap(t.Context(), rpc.RecordDurability(rpc.WAL))
		require.NoError(t, err)
		require.Equal(t, []string{"pol-core-safety", "pol-core-audit", policy.Governor}, idsOf(begun[:3]))
		again, err := p.Bootstrap(t.Context())
		require.NoError(t, err)
		require.Equal(t, begun, again)

		d.clock.Pass(time.Second)
		seen, err := p.Heartbeat(t.Context(), policy.Governor, rpc.RecordDurability(rpc.WAL))
		require.NoError(t, err)
		require.Equal(t, "2026-03-01T12:00:01Z", fieldOf(t, seen, "last_seen"))
		intent := made(t, c, "intent", anIntent).ID
		stepped, err := p.Step(t.Context(), intent, 2, doc{"status": "completed"}, rpc.RecordDurability(rpc.WAL))
		require.NoError(t, err)
		plan := fieldOf(t, stepped, "plan").([]any)
		require.Equal(t, []any{"planned", "completed"}, []any{plan[0].(map[string]any)["status"], plan[1].(map[string]any)["status"]})

		claim := made(t, c, "claim", aClaim)
		_, err = p.Revoke(t.Context(), "claim", claim.ID, "", rpc.AtRevision(claim.Revision+9))
		require.ErrorIs(t, err, record.ErrConflict)
		require.Equal(t, []string{claim.ID}, idsOf(all(t, p.ClaimsAbout(t.Context(), "org:acme", "ownership", rpc.RecordQuery{}))))
		require.Empty(t, all(t, p.ClaimsAbout(t.Context(), "org:acme", "membership", rpc.RecordQuery{})))
		revoked, err := p.Revoke(t.Context(), "claim", claim.ID, "sold", rpc.AtRevision(claim.Revision))
		require.NoError(t, err)
		require.Equal(t, "sold", fieldOf(t, revoked, "revoked_reason"))
		require.Empty(t, all(t, p.ClaimsAbout(t.Context(), "org:acme", "", rpc.RecordQuery{})))
		require.Len(t, all(t, p.ClaimsAbout(t.Context(), "org:acme", "", rpc.RecordQuery{All: true})), 1)
		require.Equal(t, []string{intent}, idsOf(all(t, p.WorkOf(t.Context(), "agent:mailer", "", rpc.RecordQuery{}))))
		require.Empty(t, all(t, p.WorkOf(t.Context(), "mailer", "completed", rpc.RecordQuery{})))

		none, err := p.Settings(t.Context())
		require.NoError(t, err)
		require.Equal(t, rpc.TenantSettings{}, none)
		set := rpc.TenantSettings{DefaultDeny: true, AllowUnknownIntents: true}
		require.NoError(t, p.SetSettings(t.Context(), set, rpc.RecordDurability(rpc.WAL)))
		got, err := p.Settings(t.Context())
		require.NoError(t, err)
		require.Equal(t, set, got)

		first := made(t, c, "policy", aPolicy("mail.send", "true", "allow")).ID
		second := made(t, c, "policy", aPolicy("mail.*", "true", "allow")).ID
		require.Equal(t, []string{first, second}, idsOf(all(t, p.PoliciesFor(t.Context(), "mail.send"))))
		require.Equal(t, []string{second}, idsOf(all(t, p.PoliciesFor(t.Context(), "mail.read"))))

		copied, err := p.Migrate(t.Context(), "policy", 1, 2)
		require.NoError(t, err)
		require.Equal(t, 4, copied)
		dropped, err := p.Drop(t.Context(), "policy", 2, rpc.RecordDurability(rpc.WAL))
		require.NoError(t, err)
		require.Equal(t, 4, dropped)
		left, err := r.List(t.Context(), "policy.v2", rpc.RecordQuery{})
		require.NoError(t, err)
		require.Empty(t, left.Docs)
		s, err := c.Status(t.Context())
		require.NoError(t, err)
		require.Contains(t, s.GetFeatures(), "policy")
	})
}

func TestExportsForSQLAndRedisOverBothFramings(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		d := startPolicies(t, Options{})
		c := d.dialAs(t, f)
		intent := made(t, c, "intent", anIntent).ID
		for n := range 300 { // of several messages
			made(t, c, "ledger", anEvent.with(doc{"intent_id": intent, "metadata": doc{"n": n, "text": strings.Repeat("x", 2000)}}))
		}
		for _, collection := range []string{"ledger", "intent"} {
			rows := all(t, d.policies.Rows(t.Context(), "acme", collection))
			require.NotEmpty(t, rows)
			require.Equal(t, rows, all(t, c.Policy("acme").Rows(t.Context(), collection)))
			require.Equal(t, all(t, d.policies.Commands(t.Context(), "acme", collection)), all(t, c.Policy("acme").Commands(t.Context(), collection)))
		}
		require.Empty(t, all(t, c.Policy("other").Rows(t.Context(), "ledger")))
	})
}

// Each refusal has its code, its field and the gRPC code of its kind.
func TestRefusalsOfPoliciesKeepTheirCodesOverTheSocket(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		d := startPolicies(t, Options{})
		c := d.dialAs(t, f)
		p := c.Policy("acme")
		request := made(t, c, "approval", anApprovalOf).ID
		_, agentAnswers := p.Answer(t.Context(), request, true, "agent:mailer", "")
		_, err := p.Answer(t.Context(), request, false, "user:ann", "")
		require.NoError(t, err)
		_, twice := p.Answer(t.Context(), request, true, "user:ann", "")
		decide := func(context any) error {
			_, err := p.Decide(t.Context(), rpc.Question{Agent: "a", Action: "x", Context: context})
			return err
		}
		_, use := p.Use(t.Context(), rpc.Question{Agent: "a", Action: "x"}, rpc.UseOptions{Log: true})
		_, used := p.Use(t.Context(), rpc.Question{Agent: "a", Action: "x", Context: 3}, rpc.UseOptions{})
		_, explain := p.Explain(t.Context(), rpc.Question{Agent: "a", Action: "x", Context: "text"})
		_, nobody := p.Heartbeat(t.Context(), "nobody")
		_, approval := p.Approval(t.Context(), "apr-20260301-nobody")
		_, revoke := p.Revoke(t.Context(), "intent", "int-20260301-abcdef", "")
		_, step := p.Step(t.Context(), made(t, c, "intent", anIntent).ID, 9, doc{})
		_, intent := p.Append(t.Context(), anEvent.with(doc{"intent_id": "int-20260301-nobody"}))
		_, version := p.Migrate(t.Context(), "policy", 1, 10)
		_, drop := p.Drop(t.Context(), "ledger", 1)
		_, head := c.Policy("").Head(t.Context())
		for name, c := range map[string]struct {
			err   error
			code  record.Code
			field string
			grpc  codes.Code
		}{
			"context":  {decide([]int{1}), record.CodeValidation, "context", codes.InvalidArgument},
			"large":    {decide(doc{"x": strings.Repeat("x", policy.MaxContext)}), record.CodeValidation, "context", codes.InvalidArgument},
			"use":      {used, record.CodeValidation, "context", codes.InvalidArgument},
			"explain":  {explain, record.CodeValidation, "context", codes.InvalidArgument},
			"log":      {use, record.CodeValidation, "intent_id", codes.InvalidArgument},
			"nobody":   {nobody, record.CodeNotFound, "id", codes.NotFound},
			"approval": {approval, record.CodeNotFound, "id", codes.NotFound},
			"agent":    {agentAnswers, record.CodePrecondition, "decided_by", codes.FailedPrecondition},
			"twice":    {twice, record.CodeIllegalTransition, "status", codes.FailedPrecondition},
			"revoke":   {revoke, record.CodeInvalidArgument, "collection", codes.InvalidArgument},
			"step":     {step, record.CodeNotFound, "step", codes.NotFound},
			"intent":   {intent, record.CodeNotFound, "intent_id", codes.NotFound},
			"version":  {version, record.CodeInvalidArgument, "version", codes.InvalidArgument},
			"drop":     {drop, record.CodeInvalidArgument, "collection", codes.InvalidArgument},
			"rows":     {failedWith(p.Rows(t.Context(), "approval")), record.CodeUnknownCollection, "collection", codes.InvalidArgument},
			"commands": {failedWith(p.Commands(t.Context(), "nothing")), record.CodeUnknownCollection, "collection", codes.InvalidArgument},
			"scope":    {failedWith(p.PoliciesFor(t.Context(), "a.*.b")), record.CodeValidation, "scope", codes.InvalidArgument},
			"tenant":   {head, record.CodeInvalidArgument, "tenant", codes.InvalidArgument},
		} {
			var refusal *record.Error
			require.ErrorAs(t, c.err, &refusal, name)
			require.Equal(t, c.code, refusal.Code, name)
			require.Equal(t, c.field, refusal.Field, name)
			require.Equal(t, c.grpc, status.Code(c.err), name)
		}
		require.ErrorIs(t, nobody, rpc.ErrNotFound)
		require.ErrorIs(t, decide(make(chan int)), rpc.ErrRequest)
		require.ErrorIs(t, decide(json.RawMessage(`{"agent":"a","agent":"b"}`)), record.ErrValidation)
		_, err = p.Decide(t.Context(), rpc.Question{Agent: "\xff", Action: "x"})
		require.ErrorIs(t, err, rpc.ErrRequest)
		_, hint := rpc.Explain(head)
		require.Contains(t, hint, "--tenant")
	})
}

// What goes round the rules of a collection is refused: to all where it would break what
// they promise, and to those who are bound to a tenant where it is the host's to do.
func TestTheRulesOfPoliciesHoldForRecordsToo(t *testing.T) {
	bound := Options{Peers: boundTo("acme")}
	for name, o := range map[string]Options{"bound": bound, "not bound": {}} {
		t.Run(name, func(t *testing.T) {
			d := startPolicies(t, o)
			c := d.dial(t)
			r := c.Records("acme")
			update := func(collection, id string, patch doc) error {
				_, err := r.Update(t.Context(), collection, id, patch)
				return err
			}
			event, err := c.Policy("acme").Append(t.Context(), anEvent.with(doc{"intent_id": made(t, c, "intent", anIntent).ID}))
			require.NoError(t, err)
			_, err = r.Delete(t.Context(), "ledger", event.ID)
			require.ErrorIs(t, err, record.ErrImmutable)
			require.ErrorIs(t, update("ledger", event.ID, doc{"notes": "x"}), record.ErrImmutable)
			_, err = r.Import(t.Context(), "ledger", bytes.NewReader(event.JSON))
			require.ErrorIs(t, err, record.ErrImmutable)
			for field, value := range map[string]any{"event_id": "evt-20260301-000009", "hash": "sha256:" + strings.Repeat("0", 64), "timestamp": "2026-03-01T00:00:00Z"} {
				_, err = r.Create(t.Context(), "ledger", anEvent.with(doc{field: value}))
				require.ErrorIs(t, err, record.ErrValidation, field)
			}
			delegation := made(t, c, "delegation", aDelegation)
			require.ErrorIs(t, update("delegation", delegation.ID, doc{"uses_count": 0}), record.ErrImmutable)
			request := made(t, c, "approval", anApprovalOf)
			require.ErrorIs(t, update("approval", request.ID, doc{"status": "approved", "decided_by": "blackroad.system"}), record.ErrPrecondition)
			require.ErrorIs(t, update("approval", request.ID, doc{"used_at": "2026-03-01T00:00:00Z"}), record.ErrImmutable)
			_, err = r.Create(t.Context(), "approval", anApprovalOf.with(doc{"status": "approved", "decided_by": "user:ann"}))
			require.Error(t, err)

			claim, intent := made(t, c, "claim", aClaim), made(t, c, "intent", anIntent)
			reached := func(err error) {
				t.Helper()
				if name == "bound" {
					require.ErrorIs(t, err, rpc.ErrBound)
					require.Equal(t, codes.PermissionDenied, status.Code(err))
				} else {
					require.NoError(t, err)
				}
			}
			for collection, made := range map[string]rpc.Doc{"delegation": delegation, "approval": request, "claim": claim, "intent": intent} {
				_, err := r.Import(t.Context(), collection, bytes.NewReader(made.JSON))
				reached(err)
			}
			_, err = r.Create(t.Context(), "settings", doc{"settings_id": "tenant", "default_deny": true})
			reached(err)
			_, err = r.Update(t.Context(), "settings", "tenant", doc{"default_deny": false})
			reached(err)
			_, err = r.Delete(t.Context(), "settings", "tenant")
			reached(err)
			reached(c.Policy("acme").SetSettings(t.Context(), rpc.TenantSettings{DefaultDeny: true}))
			_, err = c.Policy("acme").Migrate(t.Context(), "delegation", 1, 2)
			reached(err)
			_, err = c.Policy("acme").Drop(t.Context(), "delegation", 2)
			reached(err)
			set, err := c.Policy("acme").Settings(t.Context())
			require.NoError(t, err)
			require.Equal(t, name != "bound", set.DefaultDeny)
		})
	}
}

// What a user who is bound to a tenant may ask ends at that tenant.
func TestDecisionsOfOtherTenantsAreNotForUsersWhoAreBound(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		d := startPolicies(t, Options{Peers: boundTo("mine")})
		c := d.dialAs(t, f)
		ctx, own, p := t.Context(), c.Policy(""), c.Policy("theirs")
		_, err := own.Bootstrap(ctx)
		require.NoError(t, err)
		q := rpc.Question{Agent: policy.Governor, Action: "intent.create"}
		decided, err := own.Decide(ctx, q)
		require.NoError(t, err)
		require.True(t, decided.Allowed)
		used, err := c.Policy("mine").Use(ctx, q, rpc.UseOptions{})
		require.NoError(t, err)
		require.True(t, used.Allowed)
		require.Len(t, all(t, own.WhoCan(ctx, "intent.create")), 1)
		require.Empty(t, all(t, own.Verify(ctx)))

		_, decide := p.Decide(ctx, q)
		_, use := p.Use(ctx, q, rpc.UseOptions{})
		_, explain := p.Explain(ctx, q)
		_, head := p.Head(ctx)
		_, answer := p.Answer(ctx, "x", true, "user:ann", "")
		_, approval := p.Approval(ctx, "x")
		_, bootstrap := p.Bootstrap(ctx)
		_, heartbeat := p.Heartbeat(ctx, policy.Governor)
		_, step := p.Step(ctx, "x", 1, doc{})
		_, revoke := p.Revoke(ctx, "claim", "x", "")
		_, settings := p.Settings(ctx)
		_, add := p.Append(ctx, anEvent)
		for name, err := range map[string]error{"decide": decide, "use": use, "explain": explain, "head": head, "answer": answer, "approval": approval,
			"bootstrap": bootstrap, "heartbeat": heartbeat, "step": step, "revoke": revoke, "settings": settings, "append": add,
			"what can": failedWith(p.WhatCan(ctx, "x")), "who can": failedWith(p.WhoCan(ctx, "x")), "verify": failedWith(p.Verify(ctx)),
			"events": failedWith(p.Events(ctx, time.Time{}, time.Time{})), "rows": failedWith(p.Rows(ctx, "policy")), "commands": failedWith(p.Commands(ctx, "policy")),
			"policies": failedWith(p.PoliciesFor(ctx, "x")), "claims": failedWith(p.ClaimsAbout(ctx, "x", "", rpc.RecordQuery{}))} {
			require.ErrorIs(t, err, rpc.ErrBound, name)
			require.Equal(t, codes.PermissionDenied, status.Code(err), name)
		}
	})
}
