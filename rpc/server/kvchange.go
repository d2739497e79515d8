package server

import (
	"context"

	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/rpc/internal/kvwire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// kvWrite is a request that writes.
type kvWrite interface {
	kvRequest
	GetDurability() stoav1.Durability
}

// write returns the tenant of a request that writes, and its options.
func (t *kvService) write(ctx context.Context, r kvWrite, ttl *int64) (tenant string, o kvstorage.WriteOptions, err error) {
	if tenant, err = t.tenant(ctx, r); err != nil {
		return "", o, err
	}
	o.TTLSeconds = ttl
	o.Durability, err = durability(r.GetDurability())
	return tenant, o, err
}

// Put is Kv.Put.
func (t *kvService) Put(ctx context.Context, r *stoav1.KvPutRequest) (*stoav1.KvPutResponse, error) {
	i, err := t.put(ctx, r)
	if err != nil {
		return nil, err
	}
	return &stoav1.KvPutResponse{Item: kvwire.FromItem(&i, false)}, nil
}

func (t *kvService) put(ctx context.Context, r *stoav1.KvPutRequest) (kvstorage.Item, error) {
	tenant, o, err := t.write(ctx, r, r.TtlSeconds)
	if err != nil {
		return kvstorage.Item{}, err
	}
	return t.storage().Put(ctx, tenant, string(r.GetKey()), r.GetValue(), o)
}

// Delete is Kv.Delete.
func (t *kvService) Delete(ctx context.Context, r *stoav1.KvDeleteRequest) (*stoav1.KvDeleteResponse, error) {
	tenant, o, err := t.write(ctx, r, nil)
	if err != nil {
		return nil, err
	}
	d, err := t.storage().Delete(ctx, tenant, string(r.GetKey()), o)
	if err != nil {
		return nil, err
	}
	return &stoav1.KvDeleteResponse{Existed: d.Existed, Revision: d.Revision}, nil
}

// Touch is Kv.Touch.
func (t *kvService) Touch(ctx context.Context, r *stoav1.KvTouchRequest) (*stoav1.KvTouchResponse, error) {
	tenant, o, err := t.write(ctx, r, r.TtlSeconds)
	if err != nil {
		return nil, err
	}
	i, err := t.storage().Touch(ctx, tenant, string(r.GetKey()), o)
	if err != nil {
		return nil, err
	}
	return &stoav1.KvTouchResponse{Item: kvwire.FromItem(&i, true)}, nil
}

// Increment is Kv.Increment.
func (t *kvService) Increment(ctx context.Context, r *stoav1.KvIncrementRequest) (*stoav1.KvIncrementResponse, error) {
	tenant, o, err := t.write(ctx, r, r.TtlSeconds)
	if err != nil {
		return nil, err
	}
	i, err := t.storage().Increment(ctx, tenant, string(r.GetKey()), kvwire.Delta(r.Delta), o)
	if err != nil {
		return nil, err
	}
	return &stoav1.KvIncrementResponse{Item: kvwire.FromItem(&i, true)}, nil
}

// CompareAndSwap is Kv.CompareAndSwap.
func (t *kvService) CompareAndSwap(ctx context.Context, r *stoav1.KvCompareAndSwapRequest) (*stoav1.KvCompareAndSwapResponse, error) {
	tenant, o, err := t.write(ctx, r, r.TtlSeconds)
	if err != nil {
		return nil, err
	}
	res, err := t.storage().CompareAndSwap(ctx, tenant, string(r.GetKey()), kvwire.Expect(r.GetExpect()), r.GetValue(), o)
	if err != nil {
		return nil, err
	}
	return &stoav1.KvCompareAndSwapResponse{Swapped: res.Swapped, Item: kvwire.FromItem(&res.Item, true)}, nil
}

// CompareAndDelete is Kv.CompareAndDelete.
func (t *kvService) CompareAndDelete(ctx context.Context, r *stoav1.KvCompareAndDeleteRequest) (*stoav1.KvCompareAndDeleteResponse, error) {
	tenant, o, err := t.write(ctx, r, nil)
	if err != nil {
		return nil, err
	}
	d, err := t.storage().CompareAndDelete(ctx, tenant, string(r.GetKey()), kvwire.Expect(r.GetExpect()), o)
	if err != nil {
		return nil, err
	}
	return &stoav1.KvCompareAndDeleteResponse{Deleted: d.Existed, Revision: d.Revision, Item: kvwire.FromItem(&d.Item, true)}, nil
}

// Batch is Kv.Batch.
func (t *kvService) Batch(ctx context.Context, r *stoav1.KvBatchRequest) (*stoav1.KvBatchResponse, error) {
	tenant, o, err := t.write(ctx, r, nil)
	if err != nil {
		return nil, err
	}
	changes := make([]kvstorage.Change, len(r.GetChanges()))
	for n, m := range r.GetChanges() {
		changes[n] = kvwire.Change(m)
	}
	results, err := t.storage().Batch(ctx, tenant, changes, o.Durability)
	if err != nil {
		return nil, err
	}
	res := &stoav1.KvBatchResponse{Results: make([]*stoav1.KvResult, len(results))}
	for n := range results {
		res.Results[n] = kvwire.FromResult(changes[n].Op, &results[n])
	}
	return res, nil
}
