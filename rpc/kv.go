package rpc

import (
	"context"
	"fmt"
	"iter"

	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/rpc/internal/kvwire"
	"github.com/stoadb/stoa/rpc/internal/op"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/stoav1"
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
// user to. Calls that take no context end with that of c; streams end with both.
func (c *Client) KV(tenant string) *KV { return &KV{c, tenant} }

// kvReads are the operations that read key-values.
var kvReads = []op.Entry{kvGet, kvList, kvScan, kvWatch, kvStats, kvCapabilities}

// kvKey are arguments about a key of a tenant.
type kvKey struct{ Tenant, Key string }

// TenantName returns the tenant.
func (a *kvKey) TenantName() *string { return &a.Tenant }

// kvItem carries what a key has as an answer about it, which does not name it.
func kvItem(m *op.Map, field **stoav1.KvItem, key string, i *kvstorage.Item) {
	if m.Parsing() {
		*i = kvwire.Item(key, *field)
	} else {
		*field = kvwire.FromItem(i, true)
	}
}

// kvStored carries what a write has stored, without the value. A client that has no item
// does not know.
func kvStored(m *op.Map, field **stoav1.KvItem, key string, i *kvstorage.Item) {
	switch {
	case !m.Parsing():
		*field = kvwire.FromItem(i, false)
	case *field == nil:
		m.Fail(errNoItem)
	default:
		*i = kvwire.Item(key, *field)
	}
}

// errNoItem is an answer to a write that does not say what is there now.
var errNoItem = &op.FieldError{Field: "item", Reason: "it does not say what was stored"}

var kvGet = &op.Unary[*kvstorage.Storage, kvKey, kvstorage.Item, stoav1.KvGetRequest, stoav1.KvGetResponse]{
	Method: op.Method{Number: 201, Name: stoav1.Kv_Get_FullMethodName, Label: "kv get", Access: op.AccessTenant, Short: true},
	Ask: func(m *op.Map, r *stoav1.KvGetRequest, a *kvKey) {
		op.Text(m, &r.Tenant, &a.Tenant)
		op.Text(m, &r.Key, &a.Key)
	},
	Answer: func(m *op.Map, r *stoav1.KvGetResponse, a *kvKey, i *kvstorage.Item) { kvItem(m, &r.Item, a.Key, i) },
	Do: func(ctx context.Context, s *kvstorage.Storage, a *kvKey) (kvstorage.Item, error) {
		return s.Get(ctx, a.Tenant, a.Key)
	},
}

// Get returns what a key has; nothing is no error.
func (k *KV) Get(key string) (kvstorage.Item, error) {
	p := wire.NewKVPut()
	defer p.Free()
	g := &p.KVGet
	g.Tenant, g.Key = []byte(k.tenant), key
	err := k.c.unary(k.c.ctx, kvGet.Label, kvGet.Name, g, &g.Answer)
	return kvwire.Short(key, &g.Answer), err
}

// kvListing are the arguments of List.
type kvListing struct {
	Tenant string
	kvstorage.ListOptions
}

// TenantName returns the tenant.
func (a *kvListing) TenantName() *string { return &a.Tenant }

var kvList = &op.Unary[*kvstorage.Storage, kvListing, kvstorage.Page, stoav1.KvListRequest, stoav1.KvListResponse]{
	Method: op.Method{Number: 208, Name: stoav1.Kv_List_FullMethodName, Label: "kv list", Access: op.AccessTenant},
	Ask: func(m *op.Map, r *stoav1.KvListRequest, a *kvListing) {
		op.Text(m, &r.Tenant, &a.Tenant)
		op.Text(m, &r.Prefix, &a.Prefix)
		op.Same(m, &r.Cursor, &a.Cursor)
		op.Number(m, &r.Limit, &a.Limit)
		op.Same(m, &r.KeysOnly, &a.KeysOnly)
	},
	Answer: func(m *op.Map, r *stoav1.KvListResponse, a *kvListing, p *kvstorage.Page) {
		op.Same(m, &r.Next, &p.Next)
		kvItems(m, &r.Items, &p.Items, a.KeysOnly)
	},
	Do: func(ctx context.Context, s *kvstorage.Storage, a *kvListing) (kvstorage.Page, error) {
		return s.List(ctx, a.Tenant, a.ListOptions)
	},
}

// List returns a page; see [kvstorage.Storage.List].
func (k *KV) List(o kvstorage.ListOptions) (kvstorage.Page, error) {
	return call(k.c.ctx, k.c, kvList, kvListing{k.tenant, o})
}

// kvItems carries items with their keys, without their values on demand.
func kvItems(m *op.Map, field *[]*stoav1.KvItem, list *[]kvstorage.Item, keysOnly bool) {
	op.List(m, field, list,
		func(i *kvstorage.Item) *stoav1.KvItem { return kvwire.FromListed(i, !keysOnly) },
		func(f *stoav1.KvItem) (kvstorage.Item, error) {
			i := kvwire.Listed(f)
			if keysOnly {
				i.Value = nil
			}
			return i, nil
		})
}

// kvQueue is how many bytes of items wait on a stream.
const kvQueue = 256 << 10

// kvItemBytes is about what an item takes on the wire and in memory.
func kvItemBytes(i *kvstorage.Item) int { return 64 + len(i.Key) + len(i.Value) }

// kvScanning are the arguments of Scan.
type kvScanning struct {
	Tenant, Prefix string
	KeysOnly       bool
}

// TenantName returns the tenant.
func (a *kvScanning) TenantName() *string { return &a.Tenant }

var kvScan = &op.Stream[*kvstorage.Storage, kvScanning, kvstorage.Item, stoav1.KvScanRequest, stoav1.KvScanResponse]{
	Method: op.Method{Number: 209, Name: stoav1.Kv_Scan_FullMethodName, Label: "kv scan", Access: op.AccessTenant},
	Ask: func(m *op.Map, r *stoav1.KvScanRequest, a *kvScanning) {
		op.Text(m, &r.Tenant, &a.Tenant)
		op.Text(m, &r.Prefix, &a.Prefix)
		op.Same(m, &r.KeysOnly, &a.KeysOnly)
	},
	Items: func(m *op.Map, r *stoav1.KvScanResponse, a *kvScanning, list *[]kvstorage.Item) {
		kvItems(m, &r.Items, list, a.KeysOnly)
	},
	Do: func(ctx context.Context, s *kvstorage.Storage, a *kvScanning) iter.Seq2[kvstorage.Item, error] {
		if a.KeysOnly {
			return s.Keys(ctx, a.Tenant, a.Prefix)
		}
		return s.All(ctx, a.Tenant, a.Prefix)
	},
	Size: kvItemBytes, Queue: kvQueue,
}

// All yields what the tenant has under keys that begin with prefix, in byte
// order, as it is when it begins.
func (k *KV) All(ctx context.Context, prefix string) iter.Seq2[kvstorage.Item, error] {
	return stream(ctx, k.c, kvScan, kvScanning{k.tenant, prefix, false})
}

// Keys is All without the values, which do not cross the socket: those of the
// items are nil.
func (k *KV) Keys(ctx context.Context, prefix string) iter.Seq2[kvstorage.Item, error] {
	return stream(ctx, k.c, kvScan, kvScanning{k.tenant, prefix, true})
}

// kvWatching are the arguments of Watch.
type kvWatching struct {
	Tenant string
	kv.WatchOptions
	AlwaysSynced bool // tell kv.EventSynced where no state comes too
}

// TenantName returns the tenant.
func (a *kvWatching) TenantName() *string { return &a.Tenant }

var kvWatch = &op.Stream[*kvstorage.Storage, kvWatching, kvstorage.Event, stoav1.KvWatchRequest, stoav1.KvWatchResponse]{
	Method: op.Method{Number: 210, Name: stoav1.Kv_Watch_FullMethodName, Label: "kv watch", Access: op.AccessTenant},
	Ask: func(m *op.Map, r *stoav1.KvWatchRequest, a *kvWatching) {
		op.Text(m, &r.Tenant, &a.Tenant)
		op.Same(m, &r.Prefix, &a.Prefix)
		op.Same(m, &r.Prefixes, &a.Prefixes)
		op.Via(m, &r.Start, &a.Start, kvFromStart, kvStart)
		op.Same(m, &r.After, &a.After)
		op.Same(m, &r.AlwaysSynced, &a.AlwaysSynced)
		if m.Parsing() && a.After != 0 && a.Start != kv.FromRevision {
			m.Fail(&op.FieldError{Field: "after", Reason: "it goes with KV_WATCH_START_REVISION only"})
		}
	},
	Items: func(m *op.Map, r *stoav1.KvWatchResponse, _ *kvWatching, list *[]kvstorage.Event) {
		op.List(m, &r.Events, list, kvwire.FromEvent, op.Always(kvwire.Event))
	},
	Do:   watchKV,
	Size: func(e *kvstorage.Event) int { return kvItemBytes(&e.Item) }, Queue: kvQueue,
}

// watchKV leaves out what a client does not know that does not ask for it: that there is
// an EventSynced without a state.
func watchKV(ctx context.Context, s *kvstorage.Storage, a *kvWatching) iter.Seq2[kvstorage.Event, error] {
	return func(yield func(kvstorage.Event, error) bool) {
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

func kvFromStart(s *kv.WatchStart) stoav1.KvWatchStart {
	return stoav1.KvWatchStart(*s) + stoav1.KvWatchStart_KV_WATCH_START_STATE
}

func kvStart(start stoav1.KvWatchStart) (kv.WatchStart, error) {
	switch start {
	case stoav1.KvWatchStart_KV_WATCH_START_UNSPECIFIED, stoav1.KvWatchStart_KV_WATCH_START_STATE:
		return kv.FromState, nil
	case stoav1.KvWatchStart_KV_WATCH_START_NOW:
		return kv.FromNow, nil
	case stoav1.KvWatchStart_KV_WATCH_START_REVISION:
		return kv.FromRevision, nil
	}
	return 0, &op.FieldError{Field: "start", Reason: fmt.Sprintf("no start %d", int32(start))}
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
