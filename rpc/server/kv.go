package server

import (
	"context"

	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/rpc/internal/kvwire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// kvService is the Kv service: what it does is kvstorage.Storage's. Reads are in
// this file, writes in kvchange.go, streams in kvstream.go, tenants in
// kvtenant.go.
type kvService struct {
	stoav1.UnimplementedKvServer
	s *Server
}

func (t *kvService) storage() *kvstorage.Storage { return t.s.o.KV }

// Get is Kv.Get.
func (t *kvService) Get(ctx context.Context, r *stoav1.KvGetRequest) (*stoav1.KvGetResponse, error) {
	tenant, err := t.tenant(ctx, r)
	if err != nil {
		return nil, err
	}
	i, err := t.storage().Get(ctx, tenant, string(r.GetKey()))
	if err != nil {
		return nil, err
	}
	return &stoav1.KvGetResponse{Item: kvwire.FromItem(&i, true)}, nil
}

// List is Kv.List.
func (t *kvService) List(ctx context.Context, r *stoav1.KvListRequest) (*stoav1.KvListResponse, error) {
	tenant, err := t.tenant(ctx, r)
	if err != nil {
		return nil, err
	}
	page, err := t.storage().List(ctx, tenant, kvstorage.ListOptions{Prefix: string(r.GetPrefix()), Cursor: r.GetCursor(), Limit: int(r.GetLimit()), KeysOnly: r.GetKeysOnly()})
	if err != nil {
		return nil, err
	}
	res := &stoav1.KvListResponse{Next: page.Next, Items: make([]*stoav1.KvItem, len(page.Items))}
	for n := range page.Items {
		res.Items[n] = kvwire.FromListed(&page.Items[n], !r.GetKeysOnly())
	}
	return res, nil
}

// Stats is Kv.Stats.
func (t *kvService) Stats(ctx context.Context, r *stoav1.KvStatsRequest) (*stoav1.KvStatsResponse, error) {
	tenant, err := t.tenant(ctx, r)
	if err != nil {
		return nil, err
	}
	there, err := t.storage().HasTenant(tenant)
	if err != nil {
		return nil, err
	}
	stats, err := t.storage().Stats(tenant)
	if err != nil {
		return nil, err
	}
	return &stoav1.KvStatsResponse{Stats: kvwire.FromStats(stats), NoTenant: !there}, nil
}

// Capabilities is Kv.Capabilities.
func (t *kvService) Capabilities(ctx context.Context, _ *stoav1.KvCapabilitiesRequest) (*stoav1.KvCapabilitiesResponse, error) {
	tenant, _ := t.s.boundTo(ctx)
	c := t.storage().Capability()
	return &stoav1.KvCapabilitiesResponse{
		Supported: c.Supported, MaxKeyBytes: uint64(c.MaxKeyBytes), MaxValueBytes: uint64(c.MaxValueBytes), MaxTtlSeconds: uint64(c.MaxTTLSeconds),
		AtomicIncrement: c.AtomicIncrement, CompareAndSwap: c.CompareAndSwap, Tenant: []byte(tenant),
	}, nil
}
