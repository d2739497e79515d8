package policy_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvtest"
	. "github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/policy/policytest"
	"github.com/stoadb/stoa/kv/record"
)

var ctx = context.Background()

// newHost is the capability on an engine in memory.
func newHost(t testing.TB) *policytest.Host {
	db := mem.New()
	t.Cleanup(func() { _ = db.Close() })
	return policytest.Open(t, db, kvtest.New(), policytest.InProcess)
}

// What was decided is not written where something that it was decided by has changed
// since; what it was not decided by makes no difference.
func TestB65WhatWasDecidedByMustHoldWhenItIsWritten(t *testing.T) {
	for name, tc := range map[string]struct {
		change    func(h *policytest.Host, mine, other, p string)
		overtaken bool
	}{
		"nothing": {func(h *policytest.Host, mine, other, p string) {}, false},
		"a policy": {func(h *policytest.Host, mine, other, p string) {
			h.Update(Policies, p, policytest.Object{"name": "other"})
		}, true},
		"the settings": {func(h *policytest.Host, mine, other, p string) { h.Set(Settings{StrictChain: true}) }, true},
		"the agent": {func(h *policytest.Host, mine, other, p string) {
			h.Update(Agents, "a", policytest.Object{"status": "disabled"})
		}, true},
		"its config": {func(h *policytest.Host, mine, other, p string) {
			h.Update(Agents, "a", policytest.Object{"config": policytest.Object{"require_human_approval_for": []string{"x"}}})
		}, true},
		"its name": {func(h *policytest.Host, mine, other, p string) {
			h.Update(Agents, "a", policytest.Object{"name": "other"})
		}, false},
		"a heartbeat": {func(h *policytest.Host, mine, other, p string) { _, _ = h.Heartbeat(ctx, "t", "a", engine.WAL) }, false},
		"the delegation": {func(h *policytest.Host, mine, other, p string) {
			h.Update(Delegations, mine, policytest.Object{"scope": []string{"x", "z"}})
		}, true},
		"a use": {func(h *policytest.Host, mine, other, p string) {
			_, _ = h.Use(ctx, "t", Question{Agent: "a", Action: "x"}, UseOptions{})
		}, false},
		"another": {func(h *policytest.Host, mine, other, p string) {
			h.Update(Delegations, other, policytest.Object{"scope": []string{"y", "z"}})
		}, false},
		"the time": {func(h *policytest.Host, mine, other, p string) { h.Clock.Pass(2 * time.Hour) }, true},
		"it is gone": {func(h *policytest.Host, mine, other, p string) {
			_, _ = h.Records.Delete(ctx, "t", Delegations, mine, record.UpdateOptions{})
		}, true},
		"no agent": {func(h *policytest.Host, mine, other, p string) {
			_, _ = h.Records.Delete(ctx, "t", Agents, "a", record.UpdateOptions{})
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			h.Create(Agents, policytest.SomeAgent("a"))
			p := h.Create(Policies, policytest.SomePolicy("x", "false", "deny", 1))
			mine := h.Create(Delegations, policytest.SomeDelegation("agent:a", "x").With(policytest.Object{"constraints": policytest.Object{"max_uses": 100, "valid_until": h.Clock.Now().Add(time.Hour).Format(time.RFC3339)}}))
			other := h.Create(Delegations, policytest.SomeDelegation("agent:a", "y"))
			h.Set(Settings{})
			used, err := h.Store.UseAround(ctx, "t", Question{Agent: "agent:a", Action: "x"}, UseOptions{Durability: engine.WAL}, func() { tc.change(h, mine.ID, other.ID, p.ID) })
			require.True(t, used.Allowed, used.Reason)
			if tc.overtaken {
				require.ErrorIs(t, err, ErrOvertaken)
				return
			}
			require.NoError(t, err)
		})
	}
}

// Worlds beyond the bound are let go of, and come back when they are asked about.
func TestWorldsAreBounded(t *testing.T) {
	db := mem.New()
	store, err := kv.Open(db, kv.Options{Clock: kvtest.New(), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	s, err := New(store, Options{MaxRecords: 10})
	require.NoError(t, err)
	defer func() {
		require.NoError(t, store.Close())
		require.NoError(t, db.Close())
	}()
	for round := range 3 {
		for tenant := range 8 {
			name := fmt.Sprint("tenant", tenant)
			if round == 0 {
				for n := range 3 {
					_, err := s.Records().Create(ctx, name, Delegations, policytest.SomeDelegation("agent:a", fmt.Sprint("x", n)).JSON(), record.WriteOptions{Durability: engine.WAL})
					require.NoError(t, err)
				}
			}
			d, err := s.Decide(ctx, name, Question{Agent: "a", Action: "x1"})
			require.NoError(t, err)
			require.True(t, d.Allowed)
			records, tenants := s.Held()
			require.LessOrEqual(t, records, 10)
			require.Equal(t, min(tenant+1+8*round, 3), tenants)
		}
	}
	_, err = s.Decide(ctx, "", Question{Agent: "a", Action: "x"})
	var e *record.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, []any{record.CodeInvalidArgument, "tenant"}, []any{e.Code, e.Field})
}

// What the ledger says is said for an intent: a use that is to be logged names it.
func TestAUseThatIsLoggedNamesItsIntent(t *testing.T) {
	h := newHost(t)
	_, err := h.Use(ctx, "t", Question{Agent: "a", Action: "x"}, UseOptions{Log: true})
	var refused *record.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, record.CodeValidation, refused.Code)
	require.Equal(t, "intent_id", refused.Field)
	require.Contains(t, refused.Reason, "name it")
}

// A chain is looked at while nobody on the way holds more delegations than a check looks at.
func TestAChainOfTooManyDelegationsIsRefused(t *testing.T) {
	const most = 256 // of one delegate
	h := newHost(t)
	h.Set(Settings{StrictChain: true})
	give := func() error {
		_, err := h.Try(Delegations, policytest.SomeDelegation("agent:c", "a.b").With(policytest.Object{"delegator": "agent:b"}))
		return err
	}
	h.Create(Delegations, policytest.SomeDelegation("agent:b", "a.*"))
	for i := 1; i < most; i++ {
		h.Create(Delegations, policytest.SomeDelegation("agent:b", fmt.Sprint("x", i)))
	}
	require.NoError(t, give())
	h.Create(Delegations, policytest.SomeDelegation("agent:b", "y"))
	require.ErrorContains(t, give(), "holds more than 256 delegations: too many to look at")
}
