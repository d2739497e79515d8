package rpc

import (
	"context"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/rpc/internal/kvwire"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// kvChanges are the operations that change key-values.
var kvChanges = []op.Entry{kvPut, kvDelete, kvTouch, kvIncrement, kvSwap, kvSwapDelete, kvBatch}

// kvWrite are the arguments of a change of a key.
type kvWrite struct {
	kvKey
	kvstorage.WriteOptions
	Value  []byte
	Delta  int64
	Expect kvstorage.Expect
}

var kvPut = &op.Unary[*kvstorage.Storage, kvWrite, kvstorage.Item, stoav1.KvPutRequest, stoav1.KvPutResponse]{
	Method: op.Method{Number: 202, Name: stoav1.Kv_Put_FullMethodName, Label: "kv put", Access: op.AccessTenant},
	Ask: func(m *op.Map, r *stoav1.KvPutRequest, a *kvWrite) {
		op.Text(m, &r.Tenant, &a.Tenant)
		op.Text(m, &r.Key, &a.Key)
		op.Same(m, &r.Value, &a.Value)
		op.Same(m, &r.TtlSeconds, &a.TTLSeconds)
		op.Durability(m, &r.Durability, &a.Durability)
	},
	Answer: func(m *op.Map, r *stoav1.KvPutResponse, a *kvWrite, i *kvstorage.Item) {
		kvStored(m, &r.Item, a.Key, i)
	},
	Do: func(ctx context.Context, s *kvstorage.Storage, a *kvWrite) (kvstorage.Item, error) {
		return s.Put(ctx, a.Tenant, a.Key, a.Value, a.WriteOptions)
	},
}

// Put stores a value; see [kvstorage.Storage.Put]. The result has no value.
func (k *KV) Put(key string, value []byte, o kvstorage.WriteOptions) (kvstorage.Item, error) {
	if len(value) > wire.MaxKVPut {
		return call(k.c.ctx, k.c, kvPut, kvWrite{kvKey: kvKey{k.tenant, key}, WriteOptions: o, Value: value})
	}
	p := wire.NewKVPut()
	defer p.Free()
	p.Tenant, p.Key, p.Value, p.TTLSeconds = []byte(k.tenant), key, value, o.TTLSeconds
	op.Durability(new(op.Map), &p.Durability, &o.Durability)
	err := k.c.unary(k.c.ctx, kvPut.Label, kvPut.Name, p, &p.Answer)
	if err == nil && !p.Answer.Found {
		err = odd(kvPut.Label, errNoItem)
	}
	return kvwire.Short(key, &p.Answer), err
}

var kvDelete = &op.Unary[*kvstorage.Storage, kvWrite, kvstorage.Deleted, stoav1.KvDeleteRequest, stoav1.KvDeleteResponse]{
	Method: op.Method{Number: 203, Name: stoav1.Kv_Delete_FullMethodName, Label: "kv delete", Access: op.AccessTenant},
	Ask: func(m *op.Map, r *stoav1.KvDeleteRequest, a *kvWrite) {
		op.Text(m, &r.Tenant, &a.Tenant)
		op.Text(m, &r.Key, &a.Key)
		op.Durability(m, &r.Durability, &a.Durability)
	},
	Answer: func(m *op.Map, r *stoav1.KvDeleteResponse, a *kvWrite, d *kvstorage.Deleted) {
		op.Same(m, &r.Existed, &d.Existed)
		op.Same(m, &r.Revision, &d.Revision)
		if m.Parsing() {
			d.Item = kvwire.Item(a.Key, nil)
		}
	},
	Do: func(ctx context.Context, s *kvstorage.Storage, a *kvWrite) (kvstorage.Deleted, error) {
		return s.Delete(ctx, a.Tenant, a.Key, a.WriteOptions)
	},
}

// Delete removes what a key has, and says whether there was anything.
func (k *KV) Delete(key string, o kvstorage.WriteOptions) (kvstorage.Deleted, error) {
	return call(k.c.ctx, k.c, kvDelete, kvWrite{kvKey: kvKey{k.tenant, key}, WriteOptions: o})
}

var kvTouch = &op.Unary[*kvstorage.Storage, kvWrite, kvstorage.Item, stoav1.KvTouchRequest, stoav1.KvTouchResponse]{
	Method: op.Method{Number: 204, Name: stoav1.Kv_Touch_FullMethodName, Label: "kv touch", Access: op.AccessTenant},
	Ask: func(m *op.Map, r *stoav1.KvTouchRequest, a *kvWrite) {
		op.Text(m, &r.Tenant, &a.Tenant)
		op.Text(m, &r.Key, &a.Key)
		op.Same(m, &r.TtlSeconds, &a.TTLSeconds)
		op.Durability(m, &r.Durability, &a.Durability)
	},
	Answer: func(m *op.Map, r *stoav1.KvTouchResponse, a *kvWrite, i *kvstorage.Item) {
		kvItem(m, &r.Item, a.Key, i)
	},
	Do: func(ctx context.Context, s *kvstorage.Storage, a *kvWrite) (kvstorage.Item, error) {
		return s.Touch(ctx, a.Tenant, a.Key, a.WriteOptions)
	},
}

// Touch sets the time to live of what a key has; see [kvstorage.Storage.Touch].
func (k *KV) Touch(key string, o kvstorage.WriteOptions) (kvstorage.Item, error) {
	return call(k.c.ctx, k.c, kvTouch, kvWrite{kvKey: kvKey{k.tenant, key}, WriteOptions: o})
}

var kvIncrement = &op.Unary[*kvstorage.Storage, kvWrite, kvstorage.Item, stoav1.KvIncrementRequest, stoav1.KvIncrementResponse]{
	Method: op.Method{Number: 205, Name: stoav1.Kv_Increment_FullMethodName, Label: "kv increment", Access: op.AccessTenant},
	Ask: func(m *op.Map, r *stoav1.KvIncrementRequest, a *kvWrite) {
		op.Text(m, &r.Tenant, &a.Tenant)
		op.Text(m, &r.Key, &a.Key)
		op.Via(m, &r.Delta, &a.Delta, kvwire.FromDelta, op.Always(kvwire.Delta))
		op.Same(m, &r.TtlSeconds, &a.TTLSeconds)
		op.Durability(m, &r.Durability, &a.Durability)
	},
	Answer: func(m *op.Map, r *stoav1.KvIncrementResponse, a *kvWrite, i *kvstorage.Item) {
		if kvItem(m, &r.Item, a.Key, i); r.Item == nil {
			m.Fail(errNoItem)
		}
	},
	Do: func(ctx context.Context, s *kvstorage.Storage, a *kvWrite) (kvstorage.Item, error) {
		return s.Increment(ctx, a.Tenant, a.Key, a.Delta, a.WriteOptions)
	},
}

// Increment adds delta to an integer; see [kvstorage.Storage.Increment].
func (k *KV) Increment(key string, delta int64, o kvstorage.WriteOptions) (kvstorage.Item, error) {
	return call(k.c.ctx, k.c, kvIncrement, kvWrite{kvKey: kvKey{k.tenant, key}, WriteOptions: o, Delta: delta})
}

var kvSwap = &op.Unary[*kvstorage.Storage, kvWrite, kvstorage.Result, stoav1.KvCompareAndSwapRequest, stoav1.KvCompareAndSwapResponse]{
	Method: op.Method{Number: 206, Name: stoav1.Kv_CompareAndSwap_FullMethodName, Label: "kv swap", Access: op.AccessTenant},
	Ask: func(m *op.Map, r *stoav1.KvCompareAndSwapRequest, a *kvWrite) {
		op.Text(m, &r.Tenant, &a.Tenant)
		op.Text(m, &r.Key, &a.Key)
		op.Via(m, &r.Expect, &a.Expect, kvwire.FromExpect, op.Always(kvwire.Expect))
		op.Same(m, &r.Value, &a.Value)
		op.Same(m, &r.TtlSeconds, &a.TTLSeconds)
		op.Durability(m, &r.Durability, &a.Durability)
	},
	Answer: func(m *op.Map, r *stoav1.KvCompareAndSwapResponse, a *kvWrite, res *kvstorage.Result) {
		op.Same(m, &r.Swapped, &res.Swapped)
		if kvItem(m, &r.Item, a.Key, &res.Item); m.Parsing() && res.Swapped {
			res.Revision = res.Item.Revision
		}
	},
	Do: func(ctx context.Context, s *kvstorage.Storage, a *kvWrite) (kvstorage.Result, error) {
		return s.CompareAndSwap(ctx, a.Tenant, a.Key, a.Expect, a.Value, a.WriteOptions)
	},
}

// CompareAndSwap stores a value if the key has what is expected; see
// [kvstorage.Storage.CompareAndSwap].
func (k *KV) CompareAndSwap(key string, expect kvstorage.Expect, value []byte, o kvstorage.WriteOptions) (kvstorage.Result, error) {
	return call(k.c.ctx, k.c, kvSwap, kvWrite{kvKey: kvKey{k.tenant, key}, WriteOptions: o, Value: value, Expect: expect})
}

var kvSwapDelete = &op.Unary[*kvstorage.Storage, kvWrite, kvstorage.Deleted, stoav1.KvCompareAndDeleteRequest, stoav1.KvCompareAndDeleteResponse]{
	Method: op.Method{Number: 217, Name: stoav1.Kv_CompareAndDelete_FullMethodName, Label: "kv delete", Access: op.AccessTenant},
	Ask: func(m *op.Map, r *stoav1.KvCompareAndDeleteRequest, a *kvWrite) {
		op.Text(m, &r.Tenant, &a.Tenant)
		op.Text(m, &r.Key, &a.Key)
		op.Via(m, &r.Expect, &a.Expect, kvwire.FromExpect, op.Always(kvwire.Expect))
		op.Durability(m, &r.Durability, &a.Durability)
	},
	Answer: func(m *op.Map, r *stoav1.KvCompareAndDeleteResponse, a *kvWrite, d *kvstorage.Deleted) {
		op.Same(m, &r.Deleted, &d.Existed)
		op.Same(m, &r.Revision, &d.Revision)
		kvItem(m, &r.Item, a.Key, &d.Item)
	},
	Do: func(ctx context.Context, s *kvstorage.Storage, a *kvWrite) (kvstorage.Deleted, error) {
		return s.CompareAndDelete(ctx, a.Tenant, a.Key, a.Expect, a.WriteOptions)
	},
}

// CompareAndDelete removes what a key has if that is what is expected; see
// [kvstorage.Storage.CompareAndDelete]. It returns engine.ErrUnsupported if the daemon is
// older than the call.
func (k *KV) CompareAndDelete(key string, expect kvstorage.Expect, o kvstorage.WriteOptions) (kvstorage.Deleted, error) {
	return call(k.c.ctx, k.c, kvSwapDelete, kvWrite{kvKey: kvKey{k.tenant, key}, WriteOptions: o, Expect: expect})
}

// kvBatching are the arguments of Batch.
type kvBatching struct {
	Tenant     string
	Changes    []kvstorage.Change
	Durability engine.Durability
}

// TenantName returns the tenant.
func (a *kvBatching) TenantName() *string { return &a.Tenant }

var kvBatch = &op.Unary[*kvstorage.Storage, kvBatching, []kvstorage.Result, stoav1.KvBatchRequest, stoav1.KvBatchResponse]{
	Method: op.Method{Number: 207, Name: stoav1.Kv_Batch_FullMethodName, Label: "kv batch", Access: op.AccessTenant},
	Ask: func(m *op.Map, r *stoav1.KvBatchRequest, a *kvBatching) {
		op.Text(m, &r.Tenant, &a.Tenant)
		op.List(m, &r.Changes, &a.Changes, kvwire.FromChange, op.Always(kvwire.Change))
		op.Durability(m, &r.Durability, &a.Durability)
	},
	Answer: func(m *op.Map, r *stoav1.KvBatchResponse, a *kvBatching, list *[]kvstorage.Result) {
		if m.Parsing() && len(r.Results) != len(a.Changes) {
			m.Fail(&op.FieldError{Field: "results", Reason: "not one result for each change"})
			return
		}
		n := 0
		next := func() *kvstorage.Change { n++; return &a.Changes[n-1] }
		op.List(m, &r.Results, list,
			func(res *kvstorage.Result) *stoav1.KvResult { return kvwire.FromResult(next().Op, res) },
			func(f *stoav1.KvResult) (kvstorage.Result, error) { return kvwire.Result(next(), f) })
	},
	Do: func(ctx context.Context, s *kvstorage.Storage, a *kvBatching) ([]kvstorage.Result, error) {
		return s.Batch(ctx, a.Tenant, a.Changes, a.Durability)
	},
}

// Batch makes changes, all of them or none; see [kvstorage.Storage.Batch]. Results have
// values for increments only.
func (k *KV) Batch(changes []kvstorage.Change, d engine.Durability) ([]kvstorage.Result, error) {
	return call(k.c.ctx, k.c, kvBatch, kvBatching{k.tenant, changes, d})
}
