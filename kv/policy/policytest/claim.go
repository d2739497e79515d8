package policytest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/policy"
	"github.com/stoadb/stoa/kv/record"
)

var bySubject = record.Query{Filters: []record.Filter{record.Equal("by_subject", "user:alexa")}}

func b59B60AClaimIsMadeAndRevoked(t *testing.T, h *Host) {
	d := h.Create(policy.Claims, Example(t, policy.Claims))
	for _, key := range []string{"claim:active", "claim:by_type:ownership", "claim:by_object:org:blackroad", "claim:by_subject:user:alexa"} {
		require.Equal(t, []string{d.ID}, h.IDs(key), key)
	}
	for _, patch := range []Object{{"revoked": true, "revoked_at": "2025-12-01T00:00:00Z"}, {"assertion": "other"}, {"revoked": true}} {
		_, err := h.TryUpdate(policy.Claims, d.ID, patch)
		require.ErrorIs(t, err, record.ErrImmutable)
	}
	revoked, err := h.Revoke(ctx, "t", policy.Claims, d.ID, "sold", record.UpdateOptions{Durability: engine.WAL})
	require.NoError(t, err)
	got := h.Get(policy.Claims, d.ID)
	require.Equal(t, true, got["revoked"])
	require.Equal(t, "sold", got["revoked_reason"])
	require.Equal(t, document.FormatInstant(h.Clock.Now()), got["revoked_at"])
	for _, key := range []string{"claim:active", "claim:by_type:ownership", "claim:by_object:org:blackroad", "claim:by_subject:user:alexa"} {
		require.Empty(t, h.IDs(key), key)
	}
	require.Empty(t, h.listed(policy.Claims, bySubject))
	h.Clock.Pass(time.Hour)
	again, err := h.Revoke(ctx, "t", policy.Claims, d.ID, "again", record.UpdateOptions{})
	require.NoError(t, err)
	require.Equal(t, revoked, again)
	_, err = h.Revoke(ctx, "t", policy.Claims, "clm-20251130-none", "", record.UpdateOptions{})
	require.ErrorIs(t, err, record.ErrNotFound)
	_, err = h.Revoke(ctx, "t", policy.Policies, d.ID, "", record.UpdateOptions{})
	refused(t, err, record.CodeInvalidArgument, "collection")
	_, err = h.Revoke(ctx, "t", policy.Claims, d.ID, strings.Repeat("x", 5000), record.UpdateOptions{})
	refused(t, err, record.CodeValidation, "revoked_reason")
	_, err = h.Revoke(ctx, "t", policy.Claims, d.ID, "", record.UpdateOptions{Revision: d.Revision})
	refused(t, err, record.CodeConflict, "revision")
}

func b61AClaimEndsByItself(t *testing.T, h *Host) {
	d := h.Create(policy.Claims, Example(t, policy.Claims).With(Object{"expires_at": h.Clock.Now().Add(2 * time.Second).Format(time.RFC3339Nano)}))
	require.Equal(t, []string{d.ID}, h.IDs("claim:active"))
	h.Clock.Pass(2*time.Second - time.Millisecond)
	require.Equal(t, []string{d.ID}, h.listed(policy.Claims, bySubject))
	h.Clock.Pass(time.Millisecond)
	require.Empty(t, h.IDs("claim:active"))
	require.Empty(t, h.listed(policy.Claims, bySubject))
	all := bySubject
	all.All = true
	require.Equal(t, []string{d.ID}, h.listed(policy.Claims, all))
	require.NotEmpty(t, h.Get(policy.Claims, d.ID))
}

func b62WhoOwnsBlackRoad(t *testing.T, h *Host) {
	d := h.Create(policy.Claims, Example(t, policy.Claims))
	h.Create(policy.Claims, Example(t, policy.Claims).With(Object{"claim_id": nil, "claim_type": "membership"}))
	h.Create(policy.Claims, Example(t, policy.Claims).With(Object{"claim_id": nil, "object": "org:other"}))
	require.Equal(t, []string{d.ID}, h.listed(policy.Claims, record.Query{Filters: []record.Filter{record.Equal("by_object", "org:blackroad"), record.Equal("by_type", "ownership")}}))
}

func b63DelegationsUnderTheirKeys(t *testing.T, h *Host) {
	d := h.Create(policy.Delegations, Example(t, policy.Delegations).With(Object{"constraints": nil}))
	for _, key := range []string{"delegation:active", "delegation:by_delegate:agent:cece.governor.v1", "delegation:by_delegator:user:alexa",
		"delegation:by_scope:drive.read", "delegation:by_scope:drive.search", "delegation:by_scope:notion.*", "delegation:by_scope:gmail.draft", "delegation:by_scope:gmail.read"} {
		require.Equal(t, []string{d.ID}, h.IDs(key), key)
	}
	for _, scope := range []any{nil, []string{}, "a", []string{"a.*.c"}, []string{"a."}, []any{1}} {
		_, err := h.Try(policy.Delegations, SomeDelegation("agent:a", "x").With(Object{"scope": scope}))
		var e *record.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, record.CodeValidation, e.Code)
		require.True(t, strings.HasPrefix(e.Field, "scope"), e.Error())
	}
	_, err := h.Try(policy.Delegations, SomeDelegation("agent:a", "x").With(Object{"constraints": Object{"conditions": []string{"a =="}}}))
	refused(t, err, record.CodeValidation, "constraints.conditions.0")
}

func b64ADelegationLeavesActiveInTime(t *testing.T, h *Host) {
	now := h.Clock.Now()
	d := h.Create(policy.Delegations, SomeDelegation("agent:a", "x").With(Object{"constraints": Object{"valid_from": now.Add(time.Second).Format(time.RFC3339Nano), "valid_until": now.Add(3 * time.Second).Format(time.RFC3339Nano)}}))
	may := func() bool {
		decision, err := h.Decide(ctx, "t", policy.Question{Agent: "a", Action: "x"})
		require.NoError(t, err)
		require.Equal(t, decision.Allowed, len(h.IDs("delegation:active")) == 1)
		return decision.Allowed
	}
	require.False(t, may())
	h.Clock.Pass(time.Second)
	require.True(t, may())
	require.Equal(t, []string{d.ID}, h.IDs("delegation:active"))
	h.Clock.Pass(2*time.Second - time.Millisecond)
	require.True(t, may())
	h.Clock.Pass(time.Millisecond)
	require.False(t, may())
}

func b67ARevokedDelegationAllowsNothing(t *testing.T, h *Host) {
	d := h.Create(policy.Delegations, SomeDelegation("agent:a", "x"))
	q := policy.Question{Agent: "agent:a", Action: "x"}
	decision, err := h.Decide(ctx, "t", q)
	require.NoError(t, err)
	require.True(t, decision.Allowed)
	revoked, err := h.Revoke(ctx, "t", policy.Delegations, d.ID, "left", record.UpdateOptions{})
	require.NoError(t, err)
	decision, err = h.Decide(ctx, "t", q)
	require.NoError(t, err)
	require.Equal(t, policy.ReasonNoDelegation, decision.Reason)
	require.Equal(t, "left", fieldText(revoked, "revoked_reason"))
	require.NotEmpty(t, fieldText(revoked, "revoked_at"))
	require.False(t, objectOf(t, revoked.JSON)["active"].(bool))
	_, err = h.TryUpdate(policy.Delegations, d.ID, Object{"active": true})
	refused(t, err, record.CodeValidation, "active")
}

func b71AChainOfDelegations(t *testing.T, h *Host) {
	give := func(from, to string, scope ...string) (record.Doc, error) {
		return h.Try(policy.Delegations, SomeDelegation(to, scope...).With(Object{"delegator": from}))
	}
	_, err := give("agent:x", "agent:y", "a.b")
	require.NoError(t, err, "nobody asks for a chain")
	require.NoError(t, h.SetSettings(ctx, "t", policy.Settings{StrictChain: true}, record.WriteOptions{}))
	for _, root := range []string{"user:u", "org:o", "blackroad.system"} {
		_, err := give(root, "agent:root", "a.*")
		require.NoError(t, err)
	}
	used := h.Create(policy.Delegations, SomeDelegation("agent:used", "a.*").With(Object{"constraints": Object{"max_uses": 1}}))
	_, err = give("agent:used", "agent:z", "a.b")
	require.NoError(t, err)
	_, err = h.Use(ctx, "t", policy.Question{Agent: "agent:used", Action: "a.b"}, policy.UseOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 1, h.Get(policy.Delegations, used.ID)["uses_count"])
	_, err = give("agent:used", "agent:z", "a.b")
	refused(t, err, record.CodePrecondition, "scope")
	_, err = give("agent:y", "agent:z", "a.b")
	refused(t, err, record.CodePrecondition, "scope") // y has it from x, who has it from nobody
	_, err = give("agent:root", "agent:c1", "a.b", "b")
	refused(t, err, record.CodePrecondition, "scope")
	_, err = give("agent:root", "agent:c1", "*")
	refused(t, err, record.CodePrecondition, "scope")
	first, err := give("agent:root", "agent:c1", "a.b.*")
	require.NoError(t, err)
	last := "agent:c1"
	for i := 2; i <= policy.MaxChain-1; i++ { // the one from a root is the first
		next := "agent:c" + string(rune('0'+i))
		_, err := give(last, next, "a.b.c")
		require.NoError(t, err, next)
		last = next
	}
	_, err = give(last, "agent:c9", "a.b.c")
	refused(t, err, record.CodePrecondition, "scope")
	_, err = give("agent:c2", "agent:c1", "a.b.c")
	require.NoError(t, err)
	_, err = h.Revoke(ctx, "t", policy.Delegations, first.ID, "", record.UpdateOptions{})
	require.NoError(t, err)
	_, err = give("agent:c3", "agent:c8", "a.b.c") // c1 and c2 hold it from each other only
	refused(t, err, record.CodePrecondition, "scope")
}
