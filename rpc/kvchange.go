package rpc

import (
	"context"
	"encoding/json"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/caller"
	"github.com/stoadb/stoa/rpc/internal/kvwire"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// kvWrite are the arguments of a change of a key.
type kvWrite struct {
	kvKey
	kvstorage.WriteOptions
	op.Guarding
	Value  []byte
	Delta  *int64 // nil: 1
	Expect kvstorage.Expect
}

func (k *KV) write(key string, with []WriteOption) kvWrite {
	o, g := written(with)
	return kvWrite{kvKey: kvKey{k.tenant, key}, WriteOptions: o, Guarding: g}
}

// itemNamed names the key in an answer about it.
func itemNamed(a *kvWrite, i *kvstorage.Item) error {
	i.Key = a.Key
	return nil
}

// itemStored is itemNamed for an answer that must have an item.
func itemStored(a *kvWrite, i *kvstorage.Item) error {
	if !i.Found {
		return errNoItem
	}
	return itemNamed(a, i)
}

// errNoItem is an answer to a write that does not say what is there now.
var errNoItem = &op.FieldError{Field: "item", Reason: "it does not say what was stored"}

// In frames directPut of package server answers most of them instead.
var kvPut = op.New(op.Method{Number: 202, Name: "Kv.Put", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *kvstorage.Storage, a *kvWrite) (kvstorage.Item, error) {
		return stored(s.Put(ctx, a.Tenant, a.Key, a.Value, a.WriteOptions))
	}).Told(itemStored)

// Put stores bytes under a key. The item that it returns has no value.
func (k *KV) Put(ctx context.Context, key string, value []byte, with ...WriteOption) (Item, error) {
	return k.put(ctx, key, kvstorage.FromBytes(value), with)
}

// PutJSON stores what value is as JSON; a json.RawMessage is stored in canonical form. The
// item that it returns has no value.
func (k *KV) PutJSON(ctx context.Context, key string, value any, with ...WriteOption) (Item, error) {
	text, err := caller.JSONOf(key, value)
	if err != nil {
		return Item{}, err
	}
	return k.put(ctx, key, text, with)
}

func (k *KV) put(ctx context.Context, key string, value json.RawMessage, with []WriteOption) (Item, error) {
	o, g := written(with)
	if len(value) > wire.MaxKVPut || len(g.Guards) > 0 {
		a := k.write(key, with)
		a.Value = value
		return change(ctx, k.c, kvPut, a)
	}
	p := wire.NewKVPut()
	defer p.Free()
	p.Tenant, p.Key, p.Value, p.TTLSeconds, p.Durability = []byte(k.tenant), key, value, o.TTLSeconds, op.Durability(o.Durability)
	var answer stoav1.KvPutResponse
	err := k.c.unary(ctx, &kvPut.Method, p, &answer)
	if err == nil && answer.Item == nil {
		err = caller.Odd(kvPut.Name, errNoItem)
	}
	return kvwire.Item(key, answer.Item), err
}

var kvDelete = op.New(op.Method{Number: 203, Name: "Kv.Delete", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *kvstorage.Storage, a *kvWrite) (kvDeleted, error) {
		d, err := s.Delete(ctx, a.Tenant, a.Key, a.WriteOptions)
		return kvDeleted{d.Existed, d.Revision}, err
	})

// kvDeleted is what became of a key that was to go.
type kvDeleted struct {
	Existed  bool
	Revision uint64
}

// Delete removes what a key has, and says whether there was anything. A TTL says nothing.
func (k *KV) Delete(ctx context.Context, key string, with ...WriteOption) (Deleted, error) {
	a := k.write(key, with)
	a.TTLSeconds = nil // of what is gone
	d, err := change(ctx, k.c, kvDelete, a)
	return Deleted{Existed: d.Existed, Revision: d.Revision, Item: kvwire.Item(key, nil)}, err
}

var kvTouch = op.New(op.Method{Number: 204, Name: "Kv.Touch", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *kvstorage.Storage, a *kvWrite) (kvstorage.Item, error) {
		return unnamed(s.Touch(ctx, a.Tenant, a.Key, a.WriteOptions))
	}).Told(itemNamed)

// Touch has what a key has go after a [TTL], or without one stay. It returns [ErrNotFound]
// if the key has nothing.
func (k *KV) Touch(ctx context.Context, key string, with ...WriteOption) (Item, error) {
	i, err := change(ctx, k.c, kvTouch, k.write(key, with))
	if err == nil && !i.Found {
		err = noKey(key)
	}
	return i, err
}

var kvIncrement = op.New(op.Method{Number: 205, Name: "Kv.Increment", Role: access.Writer, Tenant: true, Brief: true},
	func(ctx context.Context, s *kvstorage.Storage, a *kvWrite) (kvstorage.Item, error) {
		return unnamed(s.Increment(ctx, a.Tenant, a.Key, kvwire.Delta(a.Delta), a.WriteOptions))
	}).Told(itemStored)

// Increment adds delta to the integer that a key has, 0 if it has nothing, and returns the
// sum; see [kvstorage.Storage.Increment].
func (k *KV) Increment(ctx context.Context, key string, delta int64, with ...WriteOption) (Item, error) {
	a := k.write(key, with)
	a.Delta = &delta
	return change(ctx, k.c, kvIncrement, a)
}

// kvSwapped is what became of a swap.
type kvSwapped struct {
	Swapped bool
	Item    kvstorage.Item
}

var kvSwap = op.New(op.Method{Number: 206, Name: "Kv.CompareAndSwap", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *kvstorage.Storage, a *kvWrite) (r kvSwapped, err error) {
		done, err := s.CompareAndSwap(ctx, a.Tenant, a.Key, a.Expect, a.Value, a.WriteOptions)
		r.Swapped = done.Swapped
		r.Item, err = unnamed(done.Item, err)
		return r, err
	}).Told(func(a *kvWrite, r *kvSwapped) error { return itemNamed(a, &r.Item) })

// CompareAndSwap stores bytes if the key has what is expected, and says what it has now; see
// [kvstorage.Storage.CompareAndSwap].
func (k *KV) CompareAndSwap(ctx context.Context, key string, expect Expect, value []byte, with ...WriteOption) (Result, error) {
	return k.swap(ctx, key, expect, kvstorage.FromBytes(value), with)
}

// CompareAndSwapJSON is CompareAndSwap for what value is as JSON.
func (k *KV) CompareAndSwapJSON(ctx context.Context, key string, expect Expect, value any, with ...WriteOption) (Result, error) {
	text, err := caller.JSONOf(key, value)
	if err != nil {
		return Result{}, err
	}
	return k.swap(ctx, key, expect, text, with)
}

func (k *KV) swap(ctx context.Context, key string, expect Expect, value json.RawMessage, with []WriteOption) (Result, error) {
	a := k.write(key, with)
	a.Expect, a.Value = expect, value
	done, err := change(ctx, k.c, kvSwap, a)
	r := Result{Swapped: done.Swapped, Item: done.Item}
	if r.Swapped {
		r.Revision = r.Item.Revision
	}
	return r, err
}

// kvSwapDeleted is what became of a delete that expects something.
type kvSwapDeleted struct {
	Deleted  bool
	Revision uint64
	Item     kvstorage.Item
}

var kvSwapDelete = op.New(op.Method{Number: 217, Name: "Kv.CompareAndDelete", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *kvstorage.Storage, a *kvWrite) (r kvSwapDeleted, err error) {
		d, err := s.CompareAndDelete(ctx, a.Tenant, a.Key, a.Expect, a.WriteOptions)
		r.Deleted, r.Revision = d.Existed, d.Revision
		r.Item, err = unnamed(d.Item, err)
		return r, err
	}).Told(func(a *kvWrite, r *kvSwapDeleted) error { return itemNamed(a, &r.Item) })

// CompareAndDelete removes what a key has if that is what is expected; see
// [kvstorage.Storage.CompareAndDelete]. It returns engine.ErrUnsupported if the daemon is
// older than the call.
func (k *KV) CompareAndDelete(ctx context.Context, key string, expect Expect, with ...WriteOption) (Deleted, error) {
	a := k.write(key, with)
	a.TTLSeconds = nil // of what is gone
	a.Expect = expect
	d, err := change(ctx, k.c, kvSwapDelete, a)
	return Deleted{Existed: d.Deleted, Revision: d.Revision, Item: d.Item}, err
}

// kvBatching are the arguments of Batch.
type kvBatching struct {
	op.Guarding
	Tenant     string
	Changes    []kvstorage.Change
	Durability engine.Durability
}

// TenantName returns the tenant.
func (a *kvBatching) TenantName() *string { return &a.Tenant }

var kvBatch = op.New(op.Method{Number: 207, Name: "Kv.Batch", Role: access.Writer, Tenant: true},
	func(ctx context.Context, s *kvstorage.Storage, a *kvBatching) ([]*stoav1.KvResult, error) {
		results, err := s.Batch(ctx, a.Tenant, a.Changes, a.Durability)
		list := make([]*stoav1.KvResult, len(results))
		for i := range results {
			list[i] = kvwire.FromResult(a.Changes[i].Op, &results[i])
		}
		return list, err
	})

// Batch makes changes, all of them or none; see [kvstorage.Storage.Batch]. Results have
// values for increments only. Of the options those that are [Guarded] say something.
func (k *KV) Batch(ctx context.Context, changes []Change, d Durability, with ...WriteOption) ([]Result, error) {
	_, g := written(with)
	list, err := change(ctx, k.c, kvBatch, kvBatching{g, k.tenant, changes, d})
	if err != nil {
		return nil, err
	}
	if len(list) != len(changes) {
		return nil, caller.Odd(kvBatch.Name, &op.FieldError{Field: "results", Reason: "not one result for each change"})
	}
	results := make([]Result, len(list))
	for i, m := range list {
		if results[i], err = kvwire.Result(&changes[i], m); err != nil {
			return nil, caller.Odd(kvBatch.Name, err)
		}
	}
	return results, nil
}
