package lock

import (
	"context"
	"iter"

	"github.com/stoadb/stoa/kv"
)

// check looks at the locks and agents of all tenants of a store by Fault, as stoa verify
// does, and yields what is not as this package writes it; nothing, where all is well.
func check(ctx context.Context, store *kv.Store) iter.Seq2[kv.Finding, error] {
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
