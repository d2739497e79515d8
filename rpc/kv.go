package rpc

import (
	"context"
	"iter"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/rpc/internal/kvwire"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/internal/wire"
)

// KV is what a tenant keeps in a daemon. Its methods are those of
// [kvstorage.Storage], with the same errors, and those of calls: ErrUnavailable,
// ErrBusy, ErrBound and their like. It is a view of its client, and as safe for
// concurrent use. Reads are in this file, writes in kvchange.go, tenants in
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

var kvGet = op.New(op.Method{Number: 201, Name: "Kv.Get", Access: op.AccessTenant, Short: true},
	func(ctx context.Context, s *kvstorage.Storage, a *kvKey) (kvstorage.Item, error) {
		return unnamed(s.Get(ctx, a.Tenant, a.Key))
	})

// Get returns what a key has; nothing is no error.
func (k *KV) Get(ctx context.Context, key string) (kvstorage.Item, error) {
	p := wire.NewKVPut()
	defer p.Free()
	g := &p.KVGet
	g.Tenant, g.Key = []byte(k.tenant), key
	err := k.c.unary(ctx, &kvGet.Method, g, &g.Answer)
	return kvwire.Short(key, &g.Answer), err
}

// kvListing are the arguments of List.
type kvListing struct {
	Tenant string
	kvstorage.ListOptions
}

// TenantName returns the tenant.
func (a *kvListing) TenantName() *string { return &a.Tenant }

var kvList = op.New(op.Method{Number: 208, Name: "Kv.List", Access: op.AccessTenant},
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

// List returns a page; see [kvstorage.Storage.List].
func (k *KV) List(ctx context.Context, o kvstorage.ListOptions) (kvstorage.Page, error) {
	return call(ctx, k.c, kvList, kvListing{k.tenant, o})
}

// kvQueue is how many bytes of items wait on a stream.
const kvQueue = 256 << 10

// itemBytes is about what an item takes on the wire and in memory.
func itemBytes(i *kvstorage.Item) int { return 64 + len(i.Key) + len(i.Value) }

// kvScanning are the arguments of Scan.
type kvScanning struct {
	Tenant, Prefix string
	KeysOnly       bool
}

// TenantName returns the tenant.
func (a *kvScanning) TenantName() *string { return &a.Tenant }

var kvScan = op.NewStream(op.Method{Number: 209, Name: "Kv.Scan", Access: op.AccessTenant},
	func(ctx context.Context, s *kvstorage.Storage, a *kvScanning) iter.Seq2[kvstorage.Item, error] {
		if a.KeysOnly {
			return s.Keys(ctx, a.Tenant, a.Prefix)
		}
		return s.All(ctx, a.Tenant, a.Prefix)
	}, itemBytes, kvQueue)

// All yields what the tenant has under keys that begin with prefix, in byte
// order, as it is when it begins.
func (k *KV) All(ctx context.Context, prefix string) iter.Seq2[kvstorage.Item, error] {
	return stream(ctx, k.c, kvScan, kvScanning{Tenant: k.tenant, Prefix: prefix})
}

// Keys is All without the values, which do not cross the socket: those of the
// items are nil.
func (k *KV) Keys(ctx context.Context, prefix string) iter.Seq2[kvstorage.Item, error] {
	return func(yield func(kvstorage.Item, error) bool) {
		for i, err := range stream(ctx, k.c, kvScan, kvScanning{k.tenant, prefix, true}) {
			if i.Value = nil; !yield(i, err) {
				return
			}
		}
	}
}

// kvWatching are the arguments of Watch.
type kvWatching struct {
	Tenant string
	kv.WatchOptions
	AlwaysSynced bool // tell kv.EventSynced where no state comes too
}

// TenantName returns the tenant.
func (a *kvWatching) TenantName() *string { return &a.Tenant }

var kvWatch = op.NewStream(op.Method{Number: 210, Name: "Kv.Watch", Access: op.AccessTenant}, watchKV,
	func(e *kvstorage.Event) int { return itemBytes(&e.Item) }, kvQueue)

// watchKV leaves out what a client does not know that does not ask for it: that there is
// an EventSynced without a state.
func watchKV(ctx context.Context, s *kvstorage.Storage, a *kvWatching) iter.Seq2[kvstorage.Event, error] {
	return func(yield func(kvstorage.Event, error) bool) {
		if a.After != 0 && a.Start != kv.FromRevision {
			yield(kvstorage.Event{}, &op.FieldError{Field: "after", Reason: "it goes with KV_WATCH_START_REVISION only"})
			return
		}
		stateComes := a.Start == kv.FromState
		for e, err := range s.Watch(ctx, a.Tenant, a.WatchOptions) {
			stateComes = stateComes || e.Kind == kv.EventResync
			if err == nil && e.Kind == kv.EventSynced && !stateComes && !a.AlwaysSynced {
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// Watch yields what happens; see [kvstorage.Storage.Watch]. It has begun once it yields:
// every change that is made from then on is told, and one from now on yields
// kv.EventSynced at once. (A daemon whose features lack kv-synced says so only
// after a state.) To resume after the connection is lost, watch from the last
// revision that was yielded after kv.EventSynced.
func (k *KV) Watch(ctx context.Context, o kv.WatchOptions) iter.Seq2[kvstorage.Event, error] {
	return func(yield func(kvstorage.Event, error) bool) {
		for e, err := range stream(ctx, k.c, kvWatch, kvWatching{k.tenant, o, true}) {
			keyed := e.Kind == kv.EventPut || e.Kind == kv.EventDelete || e.Kind == kv.EventExpire
			if err == nil && keyed && !o.Matches([]byte(e.Item.Key)) {
				continue // an older daemon knows one prefix only
			}
			if !yield(e, err) {
				return
			}
		}
	}
}
