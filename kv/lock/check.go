package lock

import (
	"context"
	"fmt"
	"iter"

	"github.com/stoadb/stoa/kv"
)

// Check looks at the locks and agents of all tenants of a store, and yields what is not as
// this package writes it; nothing, where all is well. [kv.Store.Check] recounts what
// follows from them, with [Type], which is declared to the store. An error of reading ends it; damage is a finding.
func Check(ctx context.Context, store *kv.Store) iter.Seq2[kv.Finding, error] {
	return func(yield func(kv.Finding, error) bool) {
		for tenant, err := range store.Tenants(ctx, "", true) {
			if err != nil {
				yield(kv.Finding{}, err)
				return
			}
			if !checkTenant(ctx, store, tenant.Name, yield) {
				return
			}
		}
	}
}

// checkTenant returns false if the receiver wants no more.
func checkTenant(ctx context.Context, store *kv.Store, tenant string, yield func(kv.Finding, error) bool) bool {
	s := Store{kv: store}
	space, err := s.space(tenant)
	if err != nil {
		return yield(kv.Finding{}, err) && false
	}
	if space == nil {
		return true
	}
	for r, err := range space.All(ctx, nil) {
		if err != nil {
			return yield(kv.Finding{}, err) && false
		}
		if reason := Fault(&r); reason != "" {
			row := kv.Row{Scope: space.Scope(), Shape: kv.ShapeRecord, Key: r.Key}
			if !yield(kv.Finding{Code: "lock", Key: row.AppendKey(nil), Reason: reason}, nil) {
				return false
			}
		}
	}
	return true
}

// Fault is what is wrong with a record of the space of locks, looked at by itself and
// whether it has expired or not; "": nothing.
func Fault(r *kv.Record) string {
	if agentKey(r.Key) {
		if _, err := parseAgent(string(r.Key), r.Value); err != nil {
			return err.Error()
		}
		return ""
	}
	if _, _, err := ParseName(string(r.Key)); err != nil {
		return err.Error()
	}
	state, err := parseState(string(r.Key), r.Value)
	switch {
	case err != nil:
		return err.Error()
	case len(state.holders) == 0:
		return "nobody holds it"
	case r.Expires.IsZero() || millis(r.Expires) != state.last():
		return "it does not expire with its last holder"
	case state.mode != Exclusive && exclusiveOnly(string(r.Key)):
		return "the lock of a task is shared"
	}
	if last := state.holders[len(state.holders)-1]; last.token > r.Revision {
		return fmt.Sprintf("a token of %d in revision %d", last.token, r.Revision)
	}
	return ""
}
