package rpc

import (
	"context"
	"fmt"
	"iter"

	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/rpc/access"
	"github.com/stoadb/stoa/rpc/internal/kvwire"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// KV is what a tenant keeps in a daemon: values under keys, which other tenants neither
// read nor write. Values are JSON. [KV.Put] stores bytes, as an object that stands for
// them, and [Item.Bytes] returns them; [KV.PutJSON] stores any value of JSON, and
// [Item.Decode] reads it. Beside the errors of calls (ErrUnavailable, ErrBusy, ErrBound)
// methods return [*kvstorage.Error] for what is not allowed. It is a view of its client,
// and as safe for concurrent use.
//
// Reads are in this file, writes in kvchange.go, watches in kvwatch.go, tenants in
// kvtenant.go.
type KV struct {
	c      *Client
	tenant string
}

// KV returns what a tenant keeps; "" is the tenant that the daemon binds this
// user to.
func (c *Client) KV(tenant string) *KV { return &KV{c, tenant} }

// kvKey are arguments about a key of a tenant.
type kvKey struct{ Tenant, Key string }

// TenantName returns the tenant.
func (a *kvKey) TenantName() *string { return &a.Tenant }

// unnamed returns an item as an answer has it that need not name the key.
func unnamed(i kvstorage.Item, err error) (kvstorage.Item, error) {
	i.Key = ""
	return i, err
}

// stored returns an item as the answer to a write has it: the client knows the value.
func stored(i kvstorage.Item, err error) (kvstorage.Item, error) {
	i.Value = nil
	return unnamed(i, err)
}

// In frames directGet of package server answers instead.
var kvGet = op.New(op.Method{Number: 201, Name: "Kv.Get", Role: access.Reader, Tenant: true, Short: true},
	func(ctx context.Context, s *kvstorage.Storage, a *kvKey) (kvstorage.Item, error) {
		return unnamed(s.Get(ctx, a.Tenant, a.Key))
	})

// Get returns what a key has. It returns [ErrNotFound] if that is nothing.
func (k *KV) Get(ctx context.Context, key string) (Item, error) {
	p := wire.NewKVPut()
	defer p.Free()
	g := &p.KVGet
	g.Tenant, g.Key = []byte(k.tenant), key
	var answer stoav1.KvGetResponse
	err := k.c.unary(ctx, &kvGet.Method, g, &answer)
	if err == nil && answer.Item == nil {
		err = noKey(key)
	}
	return kvwire.Item(key, answer.Item), err
}

// noKey is the error of a key that has nothing.
func noKey(key string) error {
	return fmt.Errorf("%w: nothing is stored under %q", ErrNotFound, key)
}

// kvListing are the arguments of List.
type kvListing struct {
	Tenant string
	kvstorage.ListOptions
}

// TenantName returns the tenant.
func (a *kvListing) TenantName() *string { return &a.Tenant }

var kvList = op.New(op.Method{Number: 208, Name: "Kv.List", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *kvstorage.Storage, a *kvListing) (kvstorage.Page, error) {
		return s.List(ctx, a.Tenant, a.ListOptions)
	}).Told(func(a *kvListing, p *kvstorage.Page) error {
	for i := range p.Items {
		if a.KeysOnly {
			p.Items[i].Value = nil
		}
	}
	return nil
})

// List returns a page of what the tenant has, with a cursor to the next that others can be
// handed; see [kvstorage.Storage.List]. Who reads all takes [KV.All].
func (k *KV) List(ctx context.Context, o ListOptions) (Page, error) {
	return call(ctx, k.c, kvList, kvListing{k.tenant, o})
}

// itemBytes is about what an item takes on the wire and in memory.
func itemBytes(i *kvstorage.Item) int { return 64 + len(i.Key) + len(i.Value) }

// kvScanning are the arguments of Scan.
type kvScanning struct {
	Tenant, Prefix string
	KeysOnly       bool
}

// TenantName returns the tenant.
func (a *kvScanning) TenantName() *string { return &a.Tenant }

var kvScan = op.NewStream(op.Method{Number: 209, Name: "Kv.Scan", Role: access.Reader, Tenant: true},
	func(ctx context.Context, s *kvstorage.Storage, a *kvScanning) iter.Seq2[kvstorage.Item, error] {
		if a.KeysOnly {
			return s.Keys(ctx, a.Tenant, a.Prefix)
		}
		return s.All(ctx, a.Tenant, a.Prefix)
	}, itemBytes, op.StreamQueue)

// All yields what the tenant has under keys that begin with prefix, in byte
// order, as it is when it begins.
func (k *KV) All(ctx context.Context, prefix string) iter.Seq2[Item, error] {
	return streamed(ctx, k.c, kvScan, kvScanning{Tenant: k.tenant, Prefix: prefix})
}

// Keys is All without the values, which do not cross the socket: those of the
// items are nil.
func (k *KV) Keys(ctx context.Context, prefix string) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for i, err := range streamed(ctx, k.c, kvScan, kvScanning{k.tenant, prefix, true}) {
			if i.Value = nil; !yield(i, err) {
				return
			}
		}
	}
}
