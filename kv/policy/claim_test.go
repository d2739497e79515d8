package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/document"
	"github.com/stoadb/stoa/kv/record"
)

func (h *host) listed(collection string, q record.Query) (ids []string) {
	h.t.Helper()
	page, err := h.records.List(ctx, "t", collection, q)
	require.NoError(h.t, err)
	for _, d := range page.Docs {
		ids = append(ids, d.ID)
	}
	return ids
}

var bySubject = record.Query{Filters: []record.Filter{record.Equal("by_subject", "user:alexa")}}

func TestB59B60AClaimIsMadeAndRevoked(t *testing.T) {
	h := newHost(t)
	d := h.create(Claims, example(t, Claims))
	for _, key := range []string{"claim:active", "claim:by_type:ownership", "claim:by_object:org:blackroad", "claim:by_subject:user:alexa"} {
		require.Equal(t, []string{d.ID}, h.ids(key), key)
	}
	for _, patch := range []object{{"revoked": true, "revoked_at": "2025-12-01T00:00:00Z"}, {"assertion": "other"}, {"revoked": true}} {
		_, err := h.tryUpdate(Claims, d.ID, patch)
		require.ErrorIs(t, err, record.ErrImmutable)
	}
	revoked, err := h.Revoke(ctx, "t", Claims, d.ID, "sold", record.UpdateOptions{Durability: engine.WAL})
	require.NoError(t, err)
	got := h.get(Claims, d.ID)
	require.Equal(t, true, got["revoked"])
	require.Equal(t, "sold", got["revoked_reason"])
	require.Equal(t, document.FormatInstant(h.clock.Now()), got["revoked_at"])
	for _, key := range []string{"claim:active", "claim:by_type:ownership", "claim:by_object:org:blackroad", "claim:by_subject:user:alexa"} {
		require.Empty(t, h.ids(key), key)
	}
	require.Empty(t, h.listed(Claims, bySubject))
	h.clock.Pass(time.Hour)
	again, err := h.Revoke(ctx, "t", Claims, d.ID, "again", record.UpdateOptions{})
	require.NoError(t, err)
	require.Equal(t, revoked, again)
	_, err = h.Revoke(ctx, "t", Claims, "clm-20251130-none", "", record.UpdateOptions{})
	require.ErrorIs(t, err, record.ErrNotFound)
	_, err = h.Revoke(ctx, "t", Policies, d.ID, "", record.UpdateOptions{})
	refused(t, err, record.CodeInvalidArgument, "collection")
	_, err = h.Revoke(ctx, "t", Claims, d.ID, strings.Repeat("x", 5000), record.UpdateOptions{})
	refused(t, err, record.CodeValidation, "revoked_reason")
	_, err = h.Revoke(ctx, "t", Claims, d.ID, "", record.UpdateOptions{Revision: d.Revision})
	refused(t, err, record.CodeConflict, "revision")
}

func TestB61AClaimEndsByItself(t *testing.T) {
	h := newHost(t)
	d := h.create(Claims, example(t, Claims).with(object{"expires_at": h.clock.Now().Add(2 * time.Second).Format(time.RFC3339Nano)}))
	require.Equal(t, []string{d.ID}, h.ids("claim:active"))
	h.clock.Pass(2*time.Second - time.Millisecond)
	require.Equal(t, []string{d.ID}, h.listed(Claims, bySubject))
	h.clock.Pass(time.Millisecond)
	require.Empty(t, h.ids("claim:active"))
	require.Empty(t, h.listed(Claims, bySubject))
	all := bySubject
	all.All = true
	require.Equal(t, []string{d.ID}, h.listed(Claims, all))
	require.NotEmpty(t, h.get(Claims, d.ID))
}

func TestB62WhoOwnsBlackRoad(t *testing.T) {
	h := newHost(t)
	d := h.create(Claims, example(t, Claims))
	h.create(Claims, example(t, Claims).with(object{"claim_id": nil, "claim_type": "membership"}))
	h.create(Claims, example(t, Claims).with(object{"claim_id": nil, "object": "org:other"}))
	require.Equal(t, []string{d.ID}, h.listed(Claims, record.Query{Filters: []record.Filter{record.Equal("by_object", "org:blackroad"), record.Equal("by_type", "ownership")}}))
}

func TestB63DelegationsUnderTheirKeys(t *testing.T) {
	h := newHost(t)
	d := h.create(Delegations, example(t, Delegations).with(object{"constraints": nil}))
	for _, key := range []string{"delegation:active", "delegation:by_delegate:agent:cece.governor.v1", "delegation:by_delegator:user:alexa",
		"delegation:by_scope:drive.read", "delegation:by_scope:drive.search", "delegation:by_scope:notion.*", "delegation:by_scope:gmail.draft", "delegation:by_scope:gmail.read"} {
		require.Equal(t, []string{d.ID}, h.ids(key), key)
	}
	for _, scope := range []any{nil, []string{}, "a", []string{"a.*.c"}, []string{"a."}, []any{1}} {
		_, err := h.try(Delegations, someDelegation("agent:a", "x").with(object{"scope": scope}))
		var e *record.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, record.CodeValidation, e.Code)
		require.True(t, strings.HasPrefix(e.Field, "scope"), e.Error())
	}
	_, err := h.try(Delegations, someDelegation("agent:a", "x").with(object{"constraints": object{"conditions": []string{"a =="}}}))
	refused(t, err, record.CodeValidation, "constraints.conditions.0")
}

func TestB64ADelegationLeavesActiveInTime(t *testing.T) {
	h := newHost(t)
	now := h.clock.Now()
	d := h.create(Delegations, someDelegation("agent:a", "x").with(object{"constraints": object{"valid_from": now.Add(time.Second).Format(time.RFC3339Nano), "valid_until": now.Add(3 * time.Second).Format(time.RFC3339Nano)}}))
	may := func() bool {
		decision, err := h.Decide(ctx, "t", Question{Agent: "a", Action: "x"})
		require.NoError(t, err)
		require.Equal(t, decision.Allowed, len(h.ids("delegation:active")) == 1)
		return decision.Allowed
	}
	require.False(t, may())
	h.clock.Pass(time.Second)
	require.True(t, may())
	require.Equal(t, []string{d.ID}, h.ids("delegation:active"))
	h.clock.Pass(2*time.Second - time.Millisecond)
	require.True(t, may())
	h.clock.Pass(time.Millisecond)
	require.False(t, may())
}

func TestB67ARevokedDelegationAllowsNothing(t *testing.T) {
	h := newHost(t)
	d := h.create(Delegations, someDelegation("agent:a", "x"))
	q := Question{Agent: "agent:a", Action: "x"}
	decision, err := h.Decide(ctx, "t", q)
	require.NoError(t, err)
	require.True(t, decision.Allowed)
	revoked, err := h.Revoke(ctx, "t", Delegations, d.ID, "left", record.UpdateOptions{})
	require.NoError(t, err)
	decision, err = h.Decide(ctx, "t", q)
	require.NoError(t, err)
	require.Equal(t, ReasonNoDelegation, decision.Reason)
	require.Equal(t, "left", text(revoked, "revoked_reason"))
	require.NotEmpty(t, text(revoked, "revoked_at"))
	require.False(t, is(revoked, "active"))
	_, err = h.tryUpdate(Delegations, d.ID, object{"active": true})
	refused(t, err, record.CodeValidation, "active")
}

func TestB71AChainOfDelegations(t *testing.T) {
	h := newHost(t)
	give := func(from, to string, scope ...string) (record.Doc, error) {
		return h.try(Delegations, someDelegation(to, scope...).with(object{"delegator": from}))
	}
	_, err := give("agent:x", "agent:y", "a.b")
	require.NoError(t, err, "nobody asks for a chain")
	require.NoError(t, h.SetSettings(ctx, "t", Settings{StrictChain: true}, record.WriteOptions{}))
	for _, root := range []string{"user:u", "org:o", "blackroad.system"} {
		_, err := give(root, "agent:root", "a.*")
		require.NoError(t, err)
	}
	used := h.create(Delegations, someDelegation("agent:used", "a.*").with(object{"constraints": object{"max_uses": 1}}))
	_, err = give("agent:used", "agent:z", "a.b")
	require.NoError(t, err)
	_, err = h.Use(ctx, "t", Question{Agent: "agent:used", Action: "a.b"}, UseOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 1, h.get(Delegations, used.ID)["uses_count"])
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
	for i := 2; i <= MaxChain-1; i++ { // the one from a root is the first
		next := "agent:c" + string(rune('0'+i))
		_, err := give(last, next, "a.b.c")
		require.NoError(t, err, next)
		last = next
	}
	_, err = give(last, "agent:c9", "a.b.c")
	refused(t, err, record.CodePrecondition, "scope")
	_, err = give("agent:c2", "agent:c1", "a.b.c")
	require.NoError(t, err)
	_, err = h.Revoke(ctx, "t", Delegations, first.ID, "", record.UpdateOptions{})
	require.NoError(t, err)
	_, err = give("agent:c3", "agent:c8", "a.b.c") // c1 and c2 hold it from each other only
	refused(t, err, record.CodePrecondition, "scope")
}
