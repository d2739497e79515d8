package op

import "iter"

// OfTenant are arguments about a tenant, which is no more than its name. They are Tenanted.
type OfTenant struct{ Tenant string }

// Of returns arguments about a tenant.
func Of(tenant string) OfTenant { return OfTenant{tenant} }

// TenantName returns where the name is.
func (a *OfTenant) TenantName() *string { return &a.Tenant }

// StreamQueue is how many bytes of items wait on a stream of key-values or records, or of
// what is kept in them, for a client that reads slowly.
const StreamQueue = 256 << 10

// Each yields a list, or the error that there is instead.
func Each[T any](list []T, err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		for _, one := range list {
			if !yield(one, nil) {
				return
			}
		}
	}
}
