package rpc

import (
	"context"
	"iter"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/op"
)

// kvTenant are arguments about a tenant.
type kvTenant struct {
	Tenant string
	Quota  kv.Quota
}

// TenantName returns the tenant.
func (a *kvTenant) TenantName() *string { return &a.Tenant }

// kvCounters are the counters of a tenant.
type kvCounters struct {
	Stats    kv.Stats
	NoTenant bool
}

var kvStats = op.New(op.Method{Number: 211, Name: "Kv.Stats", Role: access.Reader, Tenant: true, Short: true},
	func(_ context.Context, s *kvstorage.Storage, a *kvTenant) (c kvCounters, err error) {
		there, err := s.HasTenant(a.Tenant)
		if c.NoTenant = !there; err == nil {
			c.Stats, err = s.Stats(a.Tenant)
		}
		return c, err
	})

// Stats returns the counters and the quota of the tenant; zeros for one that has
// nothing.
func (k *KV) Stats(ctx context.Context) (kv.Stats, error) {
	c, err := call(ctx, k.c, kvStats, kvTenant{Tenant: k.tenant})
	return c.Stats, err
}

// HasTenant says whether there is the tenant: one that was made, or that has
// written.
func (k *KV) HasTenant(ctx context.Context) (bool, error) {
	c, err := call(ctx, k.c, kvStats, kvTenant{Tenant: k.tenant})
	return err == nil && !c.NoTenant, err
}

var kvCreateTenant = op.New(op.Method{Number: 213, Name: "Kv.CreateTenant", Role: access.Operator},
	func(ctx context.Context, s *kvstorage.Storage, a *kvTenant) (created bool, err error) {
		return s.CreateTenant(ctx, a.Tenant, a.Quota)
	})

// CreateTenant makes the tenant, with a quota, sets the quota of one that is
// there, and says whether there was none.
func (k *KV) CreateTenant(ctx context.Context, q kv.Quota) (created bool, err error) {
	return call(ctx, k.c, kvCreateTenant, kvTenant{k.tenant, q})
}

// kvDropped is what became of a tenant that was to go.
type kvDropped struct {
	kv.Dropped
	Existed bool
}

var kvDropTenant = op.New(op.Method{Number: 214, Name: "Kv.DropTenant", Role: access.Operator},
	func(ctx context.Context, s *kvstorage.Storage, a *kvTenant) (d kvDropped, err error) {
		d.Dropped, d.Existed, err = s.DropTenant(ctx, a.Tenant)
		return d, err
	})

// DropTenant removes the tenant with everything that it has, and says whether
// there was one, and how much it had.
func (k *KV) DropTenant(ctx context.Context) (had kv.Dropped, existed bool, err error) {
	d, err := call(ctx, k.c, kvDropTenant, kvTenant{Tenant: k.tenant})
	return d.Dropped, d.Existed, err
}

var kvSetQuota = op.New(op.Method{Number: 216, Name: "Kv.SetQuota", Role: access.Operator},
	func(ctx context.Context, s *kvstorage.Storage, a *kvTenant) (op.Nothing, error) {
		return op.Nothing{}, s.SetQuota(ctx, a.Tenant, a.Quota)
	})

// SetQuota sets what the tenant may hold. It returns kv.ErrSpaceNotFound if there is no
// such tenant.
func (k *KV) SetQuota(ctx context.Context, q kv.Quota) error {
	_, err := call(ctx, k.c, kvSetQuota, kvTenant{k.tenant, q})
	return err
}

// Tenant is a tenant in a list.
type Tenant struct {
	Name  string
	Stats kv.Stats
}

var kvListTenants = op.New(op.Method{Number: 215, Name: "Kv.ListTenants", Role: access.Operator},
	func(ctx context.Context, s *kvstorage.Storage, a *after[string]) (p paged[Tenant, string], err error) {
		names, err := cut(a, s.Tenants(ctx, a.After), itself)
		p.Next, p.List = names.Next, make([]Tenant, len(names.List))
		for i := 0; i < len(p.List) && err == nil; i++ {
			p.List[i].Name = names.List[i]
			p.List[i].Stats, err = s.Stats(names.List[i])
		}
		return p, err
	})

// Tenants yields all tenants in byte order of their names.
func (c *Client) Tenants(ctx context.Context) iter.Seq2[Tenant, error] {
	return pages(ctx, c, kvListTenants, after[string]{})
}

// kvBound are arguments about nothing but the tenant that the user is bound to, which the
// server fills in.
type kvBound struct{ tenant string }

// TenantName returns the tenant.
func (a *kvBound) TenantName() *string { return &a.tenant }

// kvOffer is what a daemon offers.
type kvOffer struct {
	kvstorage.Capability
	Tenant string // that the user is bound to, "" if none
}

var kvCapabilities = op.New(op.Method{Number: 212, Name: "Kv.Capabilities", Role: access.Reader, Tenant: true, Short: true},
	func(_ context.Context, s *kvstorage.Storage, a *kvBound) (kvOffer, error) {
		return kvOffer{s.Capability(), a.tenant}, nil
	})

// Capability returns what the daemon offers, and the tenant that it binds this
// user to, "" if none.
func (c *Client) Capability(ctx context.Context) (doc kvstorage.Capability, tenant string, err error) {
	o, err := call(ctx, c, kvCapabilities, kvBound{})
	return o.Capability, o.Tenant, err
}
