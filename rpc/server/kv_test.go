package server

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/internal/fault"
	"github.com/stoadb/stoa/rpc/internal/frame"
	"github.com/stoadb/stoa/rpc/internal/wire"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// kvDaemon is a daemon under test that serves key-values, and what it serves.
type kvDaemon struct {
	*testDaemon
	clock   *kvtest.Clock
	storage *kvstorage.Storage
}

// startKV serves key-values of an engine in memory. After the test their counters
// must equal a recount.
func startKV(t testing.TB, o Options, host kvstorage.Options) *kvDaemon {
	t.Helper()
	return startKVOn(t, mem.New(), o, host)
}

func startKVOn(t testing.TB, eng engine.Engine, o Options, host kvstorage.Options) *kvDaemon {
	t.Helper()
	d := &kvDaemon{clock: kvtest.New()}
	store, err := kv.Open(eng, kv.Options{Clock: d.clock, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	d.storage, err = kvstorage.New(store, host)
	require.NoError(t, err)
	o.KV = d.storage
	d.testDaemon = start(t, eng, o)
	t.Cleanup(func() { // before the engine is closed
		d.stop()
		for f, err := range store.Check(context.Background()) {
			require.NoError(t, err)
			require.Fail(t, "the check finds", f.String())
		}
		require.NoError(t, store.Close())
	})
	return d
}

var forever kvstorage.WriteOptions

func ttl(seconds int64) kvstorage.WriteOptions { return kvstorage.WriteOptions{TTLSeconds: &seconds} }

func TestKVOperationsOverBothFramings(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		d := startKV(t, Options{}, kvstorage.Options{})
		k := d.dialAs(t, f).KV("acme")
		i, err := k.PutJSON(t.Context(), "a", json.RawMessage(`{"b": 1, "a": [true]}`), rpc.TTL(10*time.Second))
		require.NoError(t, err)
		require.Equal(t, uint64(1), i.Revision)
		d.clock.Pass(time.Second)
		written := d.clock.Now().Add(-time.Second)
		i, err = k.Get(t.Context(), "a")
		require.NoError(t, err)
		require.Equal(t, `{"a":[true],"b":1}`, string(i.Value))
		require.Equal(t, written, i.Written)
		require.Equal(t, uint64(1), i.Created)
		require.InDelta(t, 9*time.Second, i.Remaining, float64(5*time.Millisecond))
		require.Equal(t, d.clock.Now().Add(i.Remaining), i.Expires)
		i, err = k.Touch(t.Context(), "a")
		require.NoError(t, err)
		require.Equal(t, []any{uint64(2), uint64(1), d.clock.Now()}, []any{i.Revision, i.Created, i.Written})
		require.True(t, i.Found)
		require.Zero(t, i.Expires)
		i, err = k.Touch(t.Context(), "none", rpc.TTL(time.Second))
		require.ErrorIs(t, err, rpc.ErrNotFound)
		require.EqualError(t, err, `engine: not found: nothing is stored under "none"`)
		require.False(t, i.Found)
		for want := int64(2); want <= 4; want += 2 {
			i, err = k.Increment(t.Context(), "n", 2)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(want), string(i.Value))
		}
		r, err := k.CompareAndSwapJSON(t.Context(), "n", kvstorage.Expect{Value: []byte("4")}, json.RawMessage("9"))
		require.NoError(t, err)
		require.True(t, r.Swapped)
		r, err = k.CompareAndSwapJSON(t.Context(), "n", kvstorage.Expect{Value: []byte("4")}, json.RawMessage("5"))
		require.NoError(t, err)
		require.False(t, r.Swapped)
		require.Equal(t, "9", string(r.Item.Value))
		r, err = k.CompareAndSwapJSON(t.Context(), "new", kvstorage.Expect{Absent: true}, json.RawMessage("null"))
		require.NoError(t, err)
		require.True(t, r.Swapped)
		i, err = k.Get(t.Context(), "new")
		require.NoError(t, err)
		require.True(t, i.Found, "null is a value")
		require.Equal(t, "null", string(i.Value))

		none := kvstorage.Item{Key: "new", Value: json.RawMessage("null")}
		gone, err := k.Delete(t.Context(), "new")
		require.NoError(t, err)
		require.Equal(t, kvstorage.Deleted{Existed: true, Revision: i.Revision + 1, Item: none}, gone)
		gone, err = k.Delete(t.Context(), "new")
		require.NoError(t, err)
		require.Equal(t, kvstorage.Deleted{Item: none}, gone)
		i, err = k.Get(t.Context(), "new")
		require.ErrorIs(t, err, rpc.ErrNotFound)
		require.False(t, i.Found)

		i, err = k.PutJSON(t.Context(), "c", json.RawMessage("1"))
		require.NoError(t, err)
		gone, err = k.CompareAndDelete(t.Context(), "c", kvstorage.Expect{Value: []byte("2")})
		require.NoError(t, err)
		require.False(t, gone.Existed)
		require.Equal(t, "1", string(gone.Item.Value), "what is there")
		require.Equal(t, i.Revision, gone.Item.Revision)
		gone, err = k.CompareAndDelete(t.Context(), "c", kvstorage.Expect{Revision: i.Revision})
		require.NoError(t, err)
		require.Equal(t, kvstorage.Deleted{Existed: true, Revision: i.Revision + 1, Item: kvstorage.Item{Key: "c", Value: json.RawMessage("null")}}, gone)

		stats, err := k.Stats(t.Context())
		require.NoError(t, err)
		require.Equal(t, uint64(2), stats.Keys)
		require.Equal(t, uint64(len(`a{"a":[true],"b":1}n9`)), stats.Bytes)
	})
}

func TestKVValuesOfAllSizesOverBothFramings(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		k := startKV(t, Options{}, kvstorage.Options{}).dialAs(t, f).KV("acme")
		sizes := []int{3, 200_000, 5_000, 100, wire.MaxKVPut, wire.MaxKVPut + 1, 17_000, 4}
		value := func(size int) []byte { return []byte(`"` + strings.Repeat(fmt.Sprint(size%10), size-2) + `"`) }
		for _, size := range sizes {
			i, err := k.PutJSON(t.Context(), fmt.Sprint(size), json.RawMessage(value(size)), rpc.TTL(1000*time.Second))
			require.NoError(t, err)
			require.True(t, i.Found)
			require.NotZero(t, i.Expires)
			require.Nil(t, i.Value)
		}
		var got []kvstorage.Item
		for _, size := range sizes { // one after the other, in memory that is used again
			i, err := k.Get(t.Context(), fmt.Sprint(size))
			require.NoError(t, err)
			got = append(got, i)
			i, err = k.Get(t.Context(), "none")
			require.ErrorIs(t, err, rpc.ErrNotFound)
			require.Equal(t, kvstorage.Item{Key: "none", Value: []byte("null")}, i)
		}
		for n, size := range sizes {
			require.Equal(t, string(value(size)), string(got[n].Value))
			require.Equal(t, fmt.Sprint(size), got[n].Key)
			require.Equal(t, uint64(n+1), got[n].Revision)
		}
	})
}

// heldUpdates is an engine whose updates call a function first, if there is one.
type heldUpdates struct {
	engine.Engine
	hold atomic.Pointer[func()]
}

func (h *heldUpdates) Update(fn func(engine.Getter, *engine.Batch) error) error {
	if hold := h.hold.Load(); hold != nil {
		(*hold)()
	}
	return h.Engine.Update(fn)
}

func TestAKVPutThatIsHeldUpHoldsUpNoOthers(t *testing.T) {
	for d, calls := range map[stoav1.Durability]int{
		stoav1.Durability_DURABILITY_WAL:    0, // it is answered by who reads the connection
		stoav1.Durability_DURABILITY_SYNCED: 1,
	} {
		t.Run(d.String(), func(t *testing.T) {
			eng := &heldUpdates{Engine: mem.New()}
			daemon := startKVOn(t, eng, Options{}, kvstorage.Options{})
			c := daemon.raw(t)
			put := &stoav1.KvPutRequest{Tenant: []byte("acme"), Key: []byte("a"), Value: []byte("1"), Durability: stoav1.Durability_DURABILITY_WAL}
			c.send(frame.Header{ID: 1, Method: 202, Flags: frame.End}, put)
			require.EqualValues(t, 1, c.next().ID)
			held, release := make(chan struct{}), make(chan struct{})
			hold := func() {
				close(held)
				<-release
			}
			eng.hold.Store(&hold)
			put.Value, put.Durability = []byte("2"), d
			c.send(frame.Header{ID: 2, Method: 202, Flags: frame.End}, put)
			<-held
			eng.hold.Store(nil)
			uses := daemon.framed.Uses()
			require.Len(t, uses, 1)
			require.Equal(t, calls, uses[0].Calls)
			get := &stoav1.KvGetRequest{Tenant: put.Tenant, Key: put.Key}
			for id := uint64(3); id < 6; id++ {
				c.send(frame.Header{ID: id, Method: 201, Flags: frame.End}, get)
				f := c.next()
				require.Equal(t, id, f.ID)
				var res stoav1.KvGetResponse
				require.NoError(t, proto.Unmarshal(f.Payload, &res))
				require.Equal(t, "1", string(res.GetItem().GetValue()))
			}
			close(release)
			require.EqualValues(t, 2, c.next().ID)
		})
	}
}

func TestKVBatchesAreWholeOrNothing(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		k := startKV(t, Options{}, kvstorage.Options{}).dialAs(t, f).KV("acme")
		first, err := k.PutJSON(t.Context(), "guard", json.RawMessage("1"))
		require.NoError(t, err)
		changes := []kvstorage.Change{
			{Op: kvstorage.OpPut, Key: "x", Value: []byte(`"y"`)},
			{Op: kvstorage.OpIncrement, Key: "n", Delta: 7},
			{Op: kvstorage.OpIncrement, Key: "n", Delta: -2},
			{Op: kvstorage.OpDelete, Key: "guard", Expect: kvstorage.Expect{Revision: first.Revision}},
			{Op: kvstorage.OpSwap, Key: "x", Value: []byte("2"), Expect: kvstorage.Expect{Value: []byte(`"y"`)}},
		}
		results, err := k.Batch(t.Context(), changes, engine.WAL)
		require.NoError(t, err)
		require.Len(t, results, 5)
		require.Equal(t, "5", string(results[2].Item.Value))
		require.True(t, results[3].Item.Found)
		require.True(t, results[4].Swapped)

		_, err = k.Batch(t.Context(), changes, engine.Synced)
		var refusal *kvstorage.Error
		require.ErrorAs(t, err, &refusal, "the guard is gone")
		require.Equal(t, kvstorage.Conflict, refusal.Code)
		require.Contains(t, refusal.Reason, "change 4 of 5")
		require.Equal(t, codes.Aborted, status.Code(err))
		i, err := k.Get(t.Context(), "n")
		require.NoError(t, err)
		require.Equal(t, "5", string(i.Value), "nothing of it was done")
		results, err = k.Batch(t.Context(), []kvstorage.Change{{Op: kvstorage.OpSwap, Key: "n", Value: []byte("7"), Expect: kvstorage.Expect{Value: []byte("99")}}}, engine.WAL)
		require.Nil(t, results)
		require.ErrorAs(t, err, &refusal, "a batch of one")
		require.Equal(t, kvstorage.Conflict, refusal.Code)
		require.Equal(t, codes.Aborted, status.Code(err))
		i, err = k.Get(t.Context(), "n")
		require.NoError(t, err)
		require.Equal(t, "5", string(i.Value))
		_, err = k.Batch(t.Context(), []kvstorage.Change{{Op: 99, Key: "x"}}, engine.Synced)
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, kvstorage.InvalidArgument, refusal.Code)
	})
}

func TestX13ListsAndScansOverBothFramings(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		c := startKV(t, Options{}, kvstorage.Options{}).dialAs(t, f)
		k := c.KV("acme")
		var want []string
		for n := range 1000 {
			want = append(want, fmt.Sprintf("k%04d", n))
			_, err := k.PutJSON(t.Context(), want[n], json.RawMessage(`"`+strings.Repeat("x", 10*(n%300))+`"`), rpc.WithDurability(engine.WAL))
			require.NoError(t, err)
		}
		_, err := c.KV("other").PutJSON(t.Context(), "k", json.RawMessage("1"))
		require.NoError(t, err)
		var listed []string
		for o := (kvstorage.ListOptions{Prefix: "k", Limit: 7}); ; {
			page, err := k.List(t.Context(), o)
			require.NoError(t, err)
			for _, i := range page.Items {
				listed = append(listed, i.Key)
				require.NotEmpty(t, i.Value)
			}
			if o.Cursor = page.Next; o.Cursor == "" {
				break
			}
		}
		require.Equal(t, want, listed)
		listed = nil
		for i, err := range k.All(t.Context(), "k") {
			require.NoError(t, err)
			listed = append(listed, i.Key)
		}
		require.Equal(t, want, listed)
		listed = nil
		for i, err := range k.Keys(t.Context(), "k") {
			require.NoError(t, err)
			require.Nil(t, i.Value)
			require.NotZero(t, i.Revision)
			listed = append(listed, i.Key)
		}
		require.Equal(t, want, listed)
		for _, err := range k.All(t.Context(), "") {
			require.NoError(t, err)
			break // ends the stream
		}

		_, err = k.List(t.Context(), kvstorage.ListOptions{Cursor: "made up"})
		var refusal *kvstorage.Error
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, kvstorage.InvalidCursor, refusal.Code)
		page, err := k.List(t.Context(), kvstorage.ListOptions{Limit: 1, KeysOnly: true})
		require.NoError(t, err)
		require.Nil(t, page.Items[0].Value)
		_, err = c.KV("other").List(t.Context(), kvstorage.ListOptions{Limit: 1, Cursor: page.Next})
		require.ErrorAs(t, err, &refusal, "a cursor of another tenant")
		require.Equal(t, kvstorage.InvalidCursor, refusal.Code)
	})
}

// Each refusal has its code, its fields and the gRPC code of its kind, on the
// wire as in process.
func TestX12RefusalsKeepTheirCodesOverTheSocket(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		host := kvstorage.Options{MaxKeyBytes: 8, MaxValueBytes: 16, MaxTTLSeconds: 60, Quota: kv.Quota{Keys: 2}}
		d := startKV(t, Options{}, host)
		k := d.dialAs(t, f).KV("acme")
		mustPut := func(key, value string) {
			_, err := k.PutJSON(t.Context(), key, json.RawMessage(value))
			require.NoError(t, err)
		}
		mustPut("text", `"x"`)
		_, err := k.Increment(t.Context(), "n", 9e18)
		require.NoError(t, err)
		ctx, refused := t.Context(), func(_ any, err error) error { return err }
		for name, c := range map[string]struct {
			remote, local error
			code          codes.Code
		}{
			"key":      {refused(k.Get(ctx, "123456789")), refused(d.storage.Get(ctx, "acme", "123456789")), codes.InvalidArgument},
			"utf8":     {refused(k.Get(ctx, "\xff")), refused(d.storage.Get(ctx, "acme", "\xff")), codes.InvalidArgument},
			"value":    {refused(k.PutJSON(ctx, "a", json.RawMessage(`"0123456789abcdef"`))), refused(d.storage.Put(ctx, "acme", "a", []byte(`"0123456789abcdef"`), forever)), codes.InvalidArgument},
			"json":     {refused(k.PutJSON(ctx, "a", json.RawMessage(`{`))), refused(d.storage.Put(ctx, "acme", "a", []byte(`{`), forever)), codes.InvalidArgument},
			"ttl":      {refused(k.PutJSON(ctx, "a", json.RawMessage(`1`), rpc.TTL(61*time.Second))), refused(d.storage.Put(ctx, "acme", "a", []byte(`1`), ttl(61))), codes.InvalidArgument},
			"quota":    {refused(k.PutJSON(ctx, "a", json.RawMessage(`1`))), refused(d.storage.Put(ctx, "acme", "a", []byte(`1`), forever)), codes.ResourceExhausted},
			"number":   {refused(k.Increment(ctx, "text", 1)), refused(d.storage.Increment(ctx, "acme", "text", 1, forever)), codes.FailedPrecondition},
			"overflow": {refused(k.Increment(ctx, "n", 9e18)), refused(d.storage.Increment(ctx, "acme", "n", 9e18, forever)), codes.FailedPrecondition},
			"tenant":   {refused(d.dial(t).KV(strings.Repeat("t", 257)).Get(ctx, "a")), refused(d.storage.Get(ctx, strings.Repeat("t", 257), "a")), codes.InvalidArgument},
			"none":     {refused(d.dial(t).KV("").Get(ctx, "a")), refused(d.storage.Get(ctx, "", "a")), codes.InvalidArgument},
		} {
			var want, got *kvstorage.Error
			require.ErrorAs(t, c.local, &want, name)
			require.ErrorAs(t, c.remote, &got, name)
			require.Equal(t, want, got, name)
			require.Equal(t, want.Error(), c.remote.Error(), name)
			require.Equal(t, c.code, status.Code(c.remote), name)
		}
		require.ErrorIs(t, d.dial(t).KV("nobody").SetQuota(ctx, kv.Quota{}), kv.ErrSpaceNotFound)
	})
}

func TestK02AHostThatOffersNothingSaysSoOverTheSocket(t *testing.T) {
	c := startKV(t, Options{}, kvstorage.Options{Off: true}).dial(t)
	_, err := c.KV("acme").Get(t.Context(), "a")
	var refusal *kvstorage.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, kvstorage.CapabilityMissing, refusal.Code)
	require.Equal(t, codes.Unimplemented, status.Code(err))
	doc, _, err := c.Capability(t.Context())
	require.NoError(t, err)
	require.False(t, doc.Supported)
	_, err = start(t, nil, Options{}).dial(t).KV("acme").Get(t.Context(), "a")
	require.ErrorIs(t, err, engine.ErrUnsupported, "a daemon without the service")
}

func TestK01CapabilitiesOverTheSocketAreTheDocument(t *testing.T) {
	d := startKV(t, Options{}, kvstorage.Options{MaxKeyBytes: 77, NoIncrement: true})
	doc, tenant, err := d.dial(t).Capability(t.Context())
	require.NoError(t, err)
	require.Equal(t, d.storage.Capability(), doc)
	require.Empty(t, tenant)
	s, err := d.dial(t).Status(t.Context())
	require.NoError(t, err)
	require.Contains(t, s.GetFeatures(), "kv")
}

// What a user who is bound to a tenant may do ends at that tenant, whatever the
// service.
func TestX03AConnectionThatIsBoundToATenantSeesNothingElse(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		d := startKV(t, Options{Peers: boundTo("mine")}, kvstorage.Options{})
		_, err := d.storage.Put(t.Context(), "theirs", "k", []byte("1"), forever)
		require.NoError(t, err)
		c := d.dialAs(t, f)
		_, err = c.KV("").PutJSON(t.Context(), "k", json.RawMessage(`"m"`))
		require.NoError(t, err)
		i, err := c.KV("mine").Get(t.Context(), "k")
		require.NoError(t, err)
		require.Equal(t, `"m"`, string(i.Value))
		doc, tenant, err := c.Capability(t.Context())
		require.NoError(t, err)
		require.True(t, doc.Supported)
		require.Equal(t, "mine", tenant)

		theirs := c.KV("theirs")
		_, get := theirs.Get(t.Context(), "k")
		_, write := theirs.PutJSON(t.Context(), "k", json.RawMessage("2"))
		_, list := theirs.List(t.Context(), kvstorage.ListOptions{})
		_, stats := theirs.Stats(t.Context())
		_, _, drop := theirs.DropTenant(t.Context())
		_, _, dropMine := c.KV("mine").DropTenant(t.Context())
		_, create := theirs.CreateTenant(t.Context(), kv.Quota{})
		_, tenants := listed(c.Tenants(t.Context()))
		var scan, watch error
		for _, scan = range theirs.All(t.Context(), "") {
		}
		for _, watch = range theirs.Watch(t.Context()) {
		}
		_, raw := c.Store(t.Context()).Get(nil, column.Generic, row("a"))
		var b engine.Batch
		b.Put(column.Generic, row("a"), nil)
		_, session := c.Store(t.Context()).Snapshot()
		_, blob := c.BlobStat(t.Context(), [32]byte{1})
		for name, err := range map[string]error{"get": get, "put": write, "list": list, "stats": stats, "drop": drop, "drop own": dropMine,
			"tenants": tenants, "quota": c.KV("").SetQuota(t.Context(), kv.Quota{}), "create": create, "scan": scan, "watch": watch,
			"raw get": raw, "raw apply": c.Store(t.Context()).Apply(&b), "snapshot": session, "flush": c.Flush(t.Context()), "blob": blob} {
			require.ErrorIs(t, err, rpc.ErrBound, name)
			require.Equal(t, codes.PermissionDenied, status.Code(err), name)
			require.NotContains(t, err.Error(), "theirs\"", name)
		}
		_, err = c.Status(t.Context())
		require.NoError(t, err)
		i, err = d.storage.Get(t.Context(), "theirs", "k")
		require.NoError(t, err)
		require.Equal(t, "1", string(i.Value))
	})
}

func TestRowsOfTheKvServiceAreNotWrittenByOthers(t *testing.T) {
	for _, raw := range []bool{false, true} {
		d := startKV(t, Options{Raw: raw}, kvstorage.Options{})
		_, err := d.storage.Put(t.Context(), "acme", "k", []byte("1"), forever)
		require.NoError(t, err)
		c := d.dial(t)
		it, err := c.Store(t.Context()).Iterate(column.Generic, engine.Range{End: []byte{1}})
		require.NoError(t, err)
		var found [][]byte
		for it.Next() {
			found = append(found, append([]byte{}, it.Key()...))
		}
		require.NoError(t, it.Err())
		it.Close()
		require.NotEmpty(t, found, "they are read as all rows are")
		for _, key := range found {
			for _, change := range []func(*engine.Batch){
				func(b *engine.Batch) { b.Delete(column.Generic, append(key[:len(key):len(key)], 0xEE)) },
				func(b *engine.Batch) {
					b.DeleteRange(column.Generic, append(key[:len(key):len(key)], 0xEE), append(key[:len(key):len(key)], 0xEF))
				},
			} {
				var b engine.Batch
				change(&b)
				err := c.Store(t.Context()).Apply(&b)
				if raw {
					require.NoError(t, err)
					continue
				}
				var e *rpc.Error
				require.ErrorAs(t, err, &e)
				require.ErrorIs(t, err, rpc.ErrOwned)
				require.Equal(t, "stoa.v1.Kv", e.Fields[fault.FieldOwner])
			}
		}
		put(t, c.Store(t.Context()), "free", "1")
	}
}

func TestTenantsAreListedPageByPage(t *testing.T) {
	c := startKV(t, Options{}, kvstorage.Options{}).dial(t)
	var want []string
	for n := range 40 {
		name := fmt.Sprintf("tenant %02d \xff", n)
		want = append(want, name)
		created, err := c.KV(name).CreateTenant(t.Context(), kv.Quota{Keys: uint64(n)})
		require.NoError(t, err)
		require.True(t, created)
	}
	var names []string
	for _, tenant := range collect(t, c.Tenants(t.Context())) {
		require.Equal(t, uint64(len(names)), tenant.Stats.Quota.Keys)
		names = append(names, tenant.Name)
	}
	require.Equal(t, want, names)
	_, err := c.KV(want[0]).PutJSON(t.Context(), "key", json.RawMessage("12345"))
	require.NoError(t, err)
	created, err := c.KV(want[0]).CreateTenant(t.Context(), kv.Quota{})
	require.NoError(t, err)
	require.False(t, created)
	had, existed, err := c.KV(want[0]).DropTenant(t.Context())
	require.NoError(t, err)
	require.True(t, existed)
	require.Equal(t, kv.Dropped{Keys: 1, Bytes: 8}, had)
	there, err := c.KV(want[0]).HasTenant(t.Context())
	require.NoError(t, err)
	require.False(t, there)
	_, existed, err = c.KV(want[0]).DropTenant(t.Context())
	require.NoError(t, err)
	require.False(t, existed)
	require.Len(t, collect(t, c.Tenants(t.Context())), len(want)-1)
}

// jsonOf prints an item for comparison.
func jsonOf(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}
