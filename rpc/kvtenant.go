package rpc

import (
	"context"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/rpc/internal/kvwire"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// kvTenants are the operations on tenants.
var kvTenants = []op.Entry{kvCreateTenant, kvDropTenant, kvListTenants, kvSetQuota}

// kvTenant are arguments about a tenant.
type kvTenant struct {
	Tenant string
	Quota  kv.Quota
}

// TenantName returns the tenant.
func (a *kvTenant) TenantName() *string { return &a.Tenant }

// kvCounters are the counters of a tenant.
type kvCounters struct {
	kv.Stats
	None bool // there is no such tenant
}

var kvStats = &op.Unary[*kvstorage.Storage, kvTenant, kvCounters, stoav1.KvStatsRequest, stoav1.KvStatsResponse]{
	Method: op.Method{Number: 211, Name: stoav1.Kv_Stats_FullMethodName, Label: "kv stats", Access: op.AccessTenant, Short: true},
	Ask:    func(m *op.Map, r *stoav1.KvStatsRequest, a *kvTenant) { op.Text(m, &r.Tenant, &a.Tenant) },
	Answer: func(m *op.Map, r *stoav1.KvStatsResponse, _ *kvTenant, c *kvCounters) {
		op.Via(m, &r.Stats, &c.Stats, kvwire.FromStats, op.Always(kvwire.Stats))
		op.Same(m, &r.NoTenant, &c.None)
	},
	Do: func(_ context.Context, s *kvstorage.Storage, a *kvTenant) (c kvCounters, err error) {
		there, err := s.HasTenant(a.Tenant)
		if c.None = !there; err == nil {
			c.Stats, err = s.Stats(a.Tenant)
		}
		return c, err
	},
}

// Stats returns the counters and the quota of the tenant; zeros for one that has
// nothing.
func (k *KV) Stats() (kv.Stats, error) {
	c, err := call(k.c.ctx, k.c, kvStats, kvTenant{Tenant: k.tenant})
	return c.Stats, err
}

// HasTenant says whether there is the tenant: one that was made, or that has
// written.
func (k *KV) HasTenant() (bool, error) {
	c, err := call(k.c.ctx, k.c, kvStats, kvTenant{Tenant: k.tenant})
	return err == nil && !c.None, err
}

var kvCreateTenant = &op.Unary[*kvstorage.Storage, kvTenant, bool, stoav1.KvCreateTenantRequest, stoav1.KvCreateTenantResponse]{
	Method: op.Method{Number: 213, Name: stoav1.Kv_CreateTenant_FullMethodName, Label: "kv create tenant", Access: op.AccessTenants},
	Ask: func(m *op.Map, r *stoav1.KvCreateTenantRequest, a *kvTenant) {
		op.Text(m, &r.Tenant, &a.Tenant)
		op.Via(m, &r.Quota, &a.Quota, kvwire.FromQuota, op.Always(kvwire.Quota))
	},
	Answer: func(m *op.Map, r *stoav1.KvCreateTenantResponse, _ *kvTenant, created *bool) {
		op.Same(m, &r.Created, created)
	},
	Do: func(ctx context.Context, s *kvstorage.Storage, a *kvTenant) (bool, error) {
		return s.CreateTenant(ctx, a.Tenant, a.Quota)
	},
}

// CreateTenant makes the tenant, with a quota, sets the quota of one that is
// there, and says whether there was none.
func (k *KV) CreateTenant(q kv.Quota) (created bool, err error) {
	return call(k.c.ctx, k.c, kvCreateTenant, kvTenant{k.tenant, q})
}

// kvDropped is what became of a tenant that was to go.
type kvDropped struct {
	kv.Dropped
	existed bool
}

var kvDropTenant = &op.Unary[*kvstorage.Storage, kvTenant, kvDropped, stoav1.KvDropTenantRequest, stoav1.KvDropTenantResponse]{
	Method: op.Method{Number: 214, Name: stoav1.Kv_DropTenant_FullMethodName, Label: "kv drop tenant", Access: op.AccessTenants},
	Ask:    func(m *op.Map, r *stoav1.KvDropTenantRequest, a *kvTenant) { op.Text(m, &r.Tenant, &a.Tenant) },
	Answer: func(m *op.Map, r *stoav1.KvDropTenantResponse, _ *kvTenant, d *kvDropped) {
		op.Same(m, &r.Existed, &d.existed)
		op.Same(m, &r.Keys, &d.Keys)
		op.Same(m, &r.Bytes, &d.Bytes)
	},
	Do: func(ctx context.Context, s *kvstorage.Storage, a *kvTenant) (d kvDropped, err error) {
		d.Dropped, d.existed, err = s.DropTenant(ctx, a.Tenant)
		return d, err
	},
}

// DropTenant removes the tenant with everything that it has, and says whether
// there was one, and how much it had.
func (k *KV) DropTenant() (had kv.Dropped, existed bool, err error) {
	d, err := call(k.c.ctx, k.c, kvDropTenant, kvTenant{Tenant: k.tenant})
	return d.Dropped, d.existed, err
}

var kvSetQuota = &op.Unary[*kvstorage.Storage, kvTenant, op.Nothing, stoav1.KvSetQuotaRequest, stoav1.KvSetQuotaResponse]{
	Method: op.Method{Number: 216, Name: stoav1.Kv_SetQuota_FullMethodName, Label: "kv quota", Access: op.AccessTenants},
	Ask: func(m *op.Map, r *stoav1.KvSetQuotaRequest, a *kvTenant) {
		op.Text(m, &r.Tenant, &a.Tenant)
		op.Via(m, &r.Quota, &a.Quota, kvwire.FromQuota, op.Always(kvwire.Quota))
	},
	Do: func(ctx context.Context, s *kvstorage.Storage, a *kvTenant) (op.Nothing, error) {
		return op.Nothing{}, s.SetQuota(ctx, a.Tenant, a.Quota)
	},
}

// SetQuota sets what the tenant may hold. It returns kv.ErrNoSpace if there is no
// such tenant.
func (k *KV) SetQuota(q kv.Quota) error {
	_, err := call(k.c.ctx, k.c, kvSetQuota, kvTenant{k.tenant, q})
	return err
}

// Tenant is a tenant in a list.
type Tenant struct {
	Name string
	kv.Stats
}

// kvTenantPage is a page of tenants. Next is the name to go on after, "" with the last.
type kvTenantPage struct {
	Tenants []Tenant
	Next    string
}

// kvAfter are the arguments of a page of tenants.
type kvAfter struct {
	After string
	Limit int
}

var kvListTenants = &op.Unary[*kvstorage.Storage, kvAfter, kvTenantPage, stoav1.KvListTenantsRequest, stoav1.KvListTenantsResponse]{
	Method: op.Method{Number: 215, Name: stoav1.Kv_ListTenants_FullMethodName, Label: "kv tenants", Access: op.AccessTenants},
	Ask: func(m *op.Map, r *stoav1.KvListTenantsRequest, a *kvAfter) {
		op.Text(m, &r.After, &a.After)
		op.Page(m, &r.Limit, &a.Limit, MaxTenants)
	},
	Answer: func(m *op.Map, r *stoav1.KvListTenantsResponse, _ *kvAfter, p *kvTenantPage) {
		op.Text(m, &r.Next, &p.Next)
		op.List(m, &r.Tenants, &p.Tenants,
			func(t *Tenant) *stoav1.KvTenant {
				return &stoav1.KvTenant{Name: []byte(t.Name), Stats: kvwire.FromStats(&t.Stats)}
			},
			func(f *stoav1.KvTenant) (Tenant, error) {
				return Tenant{string(f.GetName()), kvwire.Stats(f.GetStats())}, nil
			})
	},
	Do: listTenants,
}

func listTenants(ctx context.Context, s *kvstorage.Storage, a *kvAfter) (p kvTenantPage, err error) {
	for name, err := range s.Tenants(ctx, a.After) {
		if err != nil {
			return p, err
		}
		if len(p.Tenants) == a.Limit {
			p.Next = p.Tenants[a.Limit-1].Name
			break
		}
		stats, err := s.Stats(name)
		if err != nil {
			return p, err
		}
		p.Tenants = append(p.Tenants, Tenant{name, stats})
	}
	return p, nil
}

// Tenants returns the tenants after a name, in byte order of their names; "" is
// before all. A limit over 1,000, or of 0, is one of 1,000. next is "" with the
// last page.
func (c *Client) Tenants(after string, limit int) (page []Tenant, next string, err error) {
	p, err := call(c.ctx, c, kvListTenants, kvAfter{after, limit})
	return p.Tenants, p.Next, err
}

// kvBound are arguments about nothing but the tenant that the user is bound to, which the
// server fills in.
type kvBound struct{ Tenant string }

// TenantName returns the tenant.
func (a *kvBound) TenantName() *string { return &a.Tenant }

// kvOffer is what a daemon offers.
type kvOffer struct {
	kvstorage.Capability
	tenant string // that the user is bound to, "" if none
}

var kvCapabilities = &op.Unary[*kvstorage.Storage, kvBound, kvOffer, stoav1.KvCapabilitiesRequest, stoav1.KvCapabilitiesResponse]{
	Method: op.Method{Number: 212, Name: stoav1.Kv_Capabilities_FullMethodName, Label: "kv capabilities", Access: op.AccessTenant, Short: true},
	Answer: func(m *op.Map, r *stoav1.KvCapabilitiesResponse, _ *kvBound, o *kvOffer) {
		op.Same(m, &r.Supported, &o.Supported)
		op.Number(m, &r.MaxKeyBytes, &o.MaxKeyBytes)
		op.Number(m, &r.MaxValueBytes, &o.MaxValueBytes)
		op.Number(m, &r.MaxTtlSeconds, &o.MaxTTLSeconds)
		op.Same(m, &r.AtomicIncrement, &o.AtomicIncrement)
		op.Same(m, &r.CompareAndSwap, &o.CompareAndSwap)
		op.Text(m, &r.Tenant, &o.tenant)
	},
	Do: func(_ context.Context, s *kvstorage.Storage, a *kvBound) (kvOffer, error) {
		return kvOffer{s.Capability(), a.Tenant}, nil
	},
}

// Capability returns what the daemon offers, and the tenant that it binds this
// user to, "" if none.
func (c *Client) Capability() (doc kvstorage.Capability, tenant string, err error) {
	o, err := call(c.ctx, c, kvCapabilities, kvBound{})
	return o.Capability, o.tenant, err
}
