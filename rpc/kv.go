package rpc

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/rpc/internal/kvwire"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// KV is what a tenant keeps in a daemon. Its methods are those of
// kvstorage.Storage, with the same errors, and those of calls: ErrUnavailable,
// ErrBusy, ErrBound and their like. It is a view of its client, and as safe for
// concurrent use.
type KV struct {
	c      *Client
	tenant []byte
}

// KV returns what a tenant keeps; "" is the tenant that the daemon binds this
// user to. Calls that take no context end with that of c; streams end with both.
func (c *Client) KV(tenant string) *KV { return &KV{c, []byte(tenant)} }

// Get returns what a key has; nothing is no error.
func (k *KV) Get(key string) (kvstorage.Item, error) {
	p := wire.NewKVPut()
	defer p.Free()
	g := &p.KVGet
	g.Tenant, g.Key = k.tenant, key
	err := k.c.unary("kv get", stoav1.Kv_Get_FullMethodName, g, &g.Answer)
	return kvwire.Short(key, &g.Answer), err
}

// errNoItem is an answer to a write that does not say what is there now.
var errNoItem = errors.New("it does not say what was stored")

// Put stores a value; see kvstorage.Storage. The result has no value.
func (k *KV) Put(key string, value []byte, o kvstorage.WriteOptions) (kvstorage.Item, error) {
	p := wire.NewKVPut()
	defer p.Free()
	p.Tenant, p.Key, p.Value, p.TTLSeconds, p.Durability = k.tenant, key, value, o.TTLSeconds, wireDurability(o.Durability)
	var ask any = p
	if len(value) > wire.MaxKVPut {
		ask = &stoav1.KvPutRequest{Tenant: k.tenant, Key: []byte(key), Value: value, TtlSeconds: o.TTLSeconds, Durability: p.Durability}
	}
	err := k.c.unary("kv put", stoav1.Kv_Put_FullMethodName, ask, &p.Answer)
	if err == nil && !p.Answer.Found {
		err = odd("kv put", errNoItem)
	}
	return kvwire.Short(key, &p.Answer), err
}

// Delete removes what a key has, and says whether there was anything.
func (k *KV) Delete(key string, o kvstorage.WriteOptions) (kvstorage.Deleted, error) {
	var res stoav1.KvDeleteResponse
	err := k.c.unary("kv delete", stoav1.Kv_Delete_FullMethodName, &stoav1.KvDeleteRequest{
		Tenant: k.tenant, Key: []byte(key), Durability: wireDurability(o.Durability)}, &res)
	return kvstorage.Deleted{Existed: res.GetExisted(), Revision: res.GetRevision(), Item: kvwire.Item(key, nil)}, err
}

// CompareAndDelete removes what a key has if that is what is expected; see
// kvstorage.Storage. It returns engine.ErrUnsupported if the daemon is older than
// the call.
func (k *KV) CompareAndDelete(key string, expect kvstorage.Expect, o kvstorage.WriteOptions) (kvstorage.Deleted, error) {
	var res stoav1.KvCompareAndDeleteResponse
	err := k.c.unary("kv delete", stoav1.Kv_CompareAndDelete_FullMethodName, &stoav1.KvCompareAndDeleteRequest{
		Tenant: k.tenant, Key: []byte(key), Expect: kvwire.FromExpect(expect), Durability: wireDurability(o.Durability)}, &res)
	return kvstorage.Deleted{Existed: res.GetDeleted(), Revision: res.GetRevision(), Item: kvwire.Item(key, res.GetItem())}, err
}

// Touch sets the time to live of what a key has; see kvstorage.Storage.
func (k *KV) Touch(key string, o kvstorage.WriteOptions) (kvstorage.Item, error) {
	var res stoav1.KvTouchResponse
	err := k.c.unary("kv touch", stoav1.Kv_Touch_FullMethodName, &stoav1.KvTouchRequest{
		Tenant: k.tenant, Key: []byte(key), TtlSeconds: o.TTLSeconds, Durability: wireDurability(o.Durability)}, &res)
	return kvwire.Item(key, res.GetItem()), err
}

// Increment adds delta to an integer; see kvstorage.Storage.
func (k *KV) Increment(key string, delta int64, o kvstorage.WriteOptions) (kvstorage.Item, error) {
	var res stoav1.KvIncrementResponse
	err := k.c.unary("kv increment", stoav1.Kv_Increment_FullMethodName, &stoav1.KvIncrementRequest{
		Tenant: k.tenant, Key: []byte(key), Delta: &delta, TtlSeconds: o.TTLSeconds, Durability: wireDurability(o.Durability)}, &res)
	if err == nil && res.GetItem() == nil {
		err = odd("kv increment", errNoItem)
	}
	return kvwire.Item(key, res.GetItem()), err
}

// CompareAndSwap stores a value if the key has what is expected; see
// kvstorage.Storage.
func (k *KV) CompareAndSwap(key string, expect kvstorage.Expect, value []byte, o kvstorage.WriteOptions) (kvstorage.Result, error) {
	var res stoav1.KvCompareAndSwapResponse
	err := k.c.unary("kv swap", stoav1.Kv_CompareAndSwap_FullMethodName, &stoav1.KvCompareAndSwapRequest{
		Tenant: k.tenant, Key: []byte(key), Expect: kvwire.FromExpect(expect), Value: value, TtlSeconds: o.TTLSeconds,
		Durability: wireDurability(o.Durability)}, &res)
	r := kvstorage.Result{Swapped: res.GetSwapped(), Item: kvwire.Item(key, res.GetItem())}
	if r.Swapped {
		r.Revision = r.Item.Revision
	}
	return r, err
}

// Batch makes changes, all of them or none; see kvstorage.Storage. Results have
// values for increments only.
func (k *KV) Batch(changes []kvstorage.Change, d engine.Durability) ([]kvstorage.Result, error) {
	ask := &stoav1.KvBatchRequest{Tenant: k.tenant, Changes: make([]*stoav1.KvChange, len(changes)), Durability: wireDurability(d)}
	for n := range changes {
		ask.Changes[n] = kvwire.FromChange(&changes[n])
	}
	var res stoav1.KvBatchResponse
	if err := k.c.unary("kv batch", stoav1.Kv_Batch_FullMethodName, ask, &res); err != nil {
		return nil, err
	}
	if len(res.GetResults()) != len(changes) {
		return nil, odd("kv batch", errors.New("not one result for each change"))
	}
	results := make([]kvstorage.Result, len(changes))
	for n, m := range res.GetResults() {
		var err error
		if results[n], err = kvwire.Result(&changes[n], m); err != nil {
			return nil, odd("kv batch", err)
		}
	}
	return results, nil
}

// List returns a page; see kvstorage.Storage.
func (k *KV) List(o kvstorage.ListOptions) (kvstorage.Page, error) {
	var res stoav1.KvListResponse
	err := k.c.unary("kv list", stoav1.Kv_List_FullMethodName, &stoav1.KvListRequest{
		Tenant: k.tenant, Prefix: []byte(o.Prefix), Cursor: o.Cursor, Limit: uint32(max(o.Limit, 0)), KeysOnly: o.KeysOnly}, &res)
	if err != nil {
		return kvstorage.Page{}, err
	}
	page := kvstorage.Page{Next: res.GetNext(), Items: make([]kvstorage.Item, len(res.GetItems()))}
	for n, m := range res.GetItems() {
		page.Items[n] = kvwire.Listed(m)
		if o.KeysOnly {
			page.Items[n].Value = nil
		}
	}
	return page, nil
}

// All yields what the tenant has under keys that begin with prefix, in byte
// order, as it is when it begins.
func (k *KV) All(ctx context.Context, prefix string) iter.Seq2[kvstorage.Item, error] {
	return k.scan(ctx, prefix, false)
}

// Keys is All without the values, which do not cross the socket: those of the
// items are nil.
func (k *KV) Keys(ctx context.Context, prefix string) iter.Seq2[kvstorage.Item, error] {
	return k.scan(ctx, prefix, true)
}

func (k *KV) scan(ctx context.Context, prefix string, keysOnly bool) iter.Seq2[kvstorage.Item, error] {
	return func(yield func(kvstorage.Item, error) bool) {
		ctx, cancel := k.c.within(ctx)
		defer cancel()
		s, err := k.c.kv.Scan(ctx, &stoav1.KvScanRequest{Tenant: k.tenant, Prefix: []byte(prefix), KeysOnly: keysOnly})
		for err == nil {
			var m *stoav1.KvScanResponse
			if m, err = s.Recv(); err != nil {
				break
			}
			for _, i := range m.GetItems() {
				item := kvwire.Listed(i)
				if keysOnly {
					item.Value = nil
				}
				if !yield(item, nil) {
					return
				}
			}
		}
		if !errors.Is(err, io.EOF) {
			yield(kvstorage.Item{}, k.c.failed("kv scan", err))
		}
	}
}

// Watch yields what happens; see kvstorage.Storage. It has begun once it yields:
// every change that is made from then on is told, and one from now on yields
// kv.EventSynced at once. (A daemon whose features lack kv-synced says so only
// after a state.) To resume after the connection is lost, watch from the last
// revision that was yielded after kv.EventSynced.
func (k *KV) Watch(ctx context.Context, o kv.WatchOptions) iter.Seq2[kvstorage.Event, error] {
	return func(yield func(kvstorage.Event, error) bool) {
		ctx, cancel := k.c.within(ctx)
		defer cancel()
		s, err := k.c.kv.Watch(ctx, &stoav1.KvWatchRequest{
			Tenant: k.tenant, Prefix: o.Prefix, Prefixes: o.Prefixes, AlwaysSynced: true, Start: stoav1.KvWatchStart(o.Start) + stoav1.KvWatchStart_KV_WATCH_START_STATE, After: o.After})
		for err == nil {
			var m *stoav1.KvWatchResponse
			if m, err = s.Recv(); err != nil {
				break
			}
			for _, e := range m.GetEvents() {
				if e.GetItem() != nil && !o.Matches(e.GetItem().GetKey()) {
					continue // an older daemon knows one prefix only
				}
				if !yield(kvwire.Event(e), nil) {
					return
				}
			}
		}
		if !errors.Is(err, io.EOF) {
			yield(kvstorage.Event{}, k.c.failed("kv watch", err))
		}
	}
}
