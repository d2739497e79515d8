package rpc

import (
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/rpc/internal/kvwire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// Stats returns the counters and the quota of the tenant; zeros for one that has
// nothing.
func (k *KV) Stats() (kv.Stats, error) {
	var res stoav1.KvStatsResponse
	err := k.c.unary("kv stats", stoav1.Kv_Stats_FullMethodName, &stoav1.KvStatsRequest{Tenant: k.tenant}, &res)
	return kvwire.Stats(res.GetStats()), err
}

// HasTenant says whether there is the tenant: one that was made, or that has
// written.
func (k *KV) HasTenant() (bool, error) {
	var res stoav1.KvStatsResponse
	err := k.c.unary("kv stats", stoav1.Kv_Stats_FullMethodName, &stoav1.KvStatsRequest{Tenant: k.tenant}, &res)
	return err == nil && !res.GetNoTenant(), err
}

// CreateTenant makes the tenant, with a quota, sets the quota of one that is
// there, and says whether there was none.
func (k *KV) CreateTenant(q kv.Quota) (created bool, err error) {
	var res stoav1.KvCreateTenantResponse
	err = k.c.unary("kv create tenant", stoav1.Kv_CreateTenant_FullMethodName,
		&stoav1.KvCreateTenantRequest{Tenant: k.tenant, Quota: kvwire.FromQuota(q)}, &res)
	return res.GetCreated(), err
}

// DropTenant removes the tenant with everything that it has, and says whether
// there was one, and how much it had.
func (k *KV) DropTenant() (had kv.Dropped, existed bool, err error) {
	var res stoav1.KvDropTenantResponse
	err = k.c.unary("kv drop tenant", stoav1.Kv_DropTenant_FullMethodName, &stoav1.KvDropTenantRequest{Tenant: k.tenant}, &res)
	return kv.Dropped{Keys: res.GetKeys(), Bytes: res.GetBytes()}, res.GetExisted(), err
}

// SetQuota sets what the tenant may hold. It returns kv.ErrNoSpace if there is no
// such tenant.
func (k *KV) SetQuota(q kv.Quota) error {
	return k.c.unary("kv quota", stoav1.Kv_SetQuota_FullMethodName,
		&stoav1.KvSetQuotaRequest{Tenant: k.tenant, Quota: kvwire.FromQuota(q)}, new(stoav1.KvSetQuotaResponse))
}

// Tenant is a tenant in a list.
type Tenant struct {
	Name string
	kv.Stats
}

// Tenants returns the tenants after a name, in byte order of their names; "" is
// before all. A limit over 1,000, or of 0, is one of 1,000. next is "" with the
// last page.
func (c *Client) Tenants(after string, limit int) (page []Tenant, next string, err error) {
	var res stoav1.KvListTenantsResponse
	err = c.unary("kv tenants", stoav1.Kv_ListTenants_FullMethodName,
		&stoav1.KvListTenantsRequest{After: []byte(after), Limit: uint32(min(max(limit, 0), MaxTenants))}, &res)
	for _, m := range res.GetTenants() {
		page = append(page, Tenant{string(m.GetName()), kvwire.Stats(m.GetStats())})
	}
	return page, string(res.GetNext()), err
}

// Capability returns what the daemon offers, and the tenant that it binds this
// user to, "" if none.
func (c *Client) Capability() (doc kvstorage.Capability, tenant string, err error) {
	var res stoav1.KvCapabilitiesResponse
	err = c.unary("kv capabilities", stoav1.Kv_Capabilities_FullMethodName, new(stoav1.KvCapabilitiesRequest), &res)
	return kvstorage.Capability{
		Supported: res.GetSupported(), MaxKeyBytes: int(res.GetMaxKeyBytes()), MaxValueBytes: int(res.GetMaxValueBytes()),
		MaxTTLSeconds: int64(res.GetMaxTtlSeconds()), AtomicIncrement: res.GetAtomicIncrement(), CompareAndSwap: res.GetCompareAndSwap(),
	}, string(res.GetTenant()), err
}
