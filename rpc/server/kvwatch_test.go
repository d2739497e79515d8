package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/stoav1"
)

// given are options as the client takes them.
func given(o kvstorage.WriteOptions) []rpc.WriteOption {
	with := []rpc.WriteOption{rpc.WithDurability(o.Durability)}
	if o.TTLSeconds != nil {
		with = append(with, rpc.TTL(time.Duration(*o.TTLSeconds)*time.Second))
	}
	return with
}

// maybe returns what a key has, where nothing is no error.
func maybe(i rpc.Item, err error) (rpc.Item, error) {
	if errors.Is(err, rpc.ErrNotFound) {
		err = nil
	}
	return i, err
}

// watched collects what a watch yields, until it ends.
func watched(ctx context.Context, k *rpc.KV, with ...rpc.WatchOption) (events <-chan string, ended <-chan error) {
	out, end := make(chan string, 1000), make(chan error, 1)
	go func() {
		var last error
		for e, err := range k.Watch(ctx, append(with, rpc.Once())...) {
			if last = err; err == nil {
				out <- fmt.Sprintf("%s %d %s %s", e.Kind, e.Revision, e.Item.Key, e.Item.Value)
			}
		}
		end <- last
	}()
	return out, end
}

func next(t testing.TB, events <-chan string, want ...string) {
	t.Helper()
	for _, w := range want {
		select {
		case got := <-events:
			require.Equal(t, w, got)
		case <-time.After(patience):
			require.Fail(t, "no event", "waiting for %s", w)
		}
	}
}

func TestAWatchHasTheStateThenEveryChangeAndResumes(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		d := startKV(t, Options{}, kvstorage.Options{})
		k := d.dialAs(t, f).KV("acme")
		for _, key := range []string{"b", "a", "z"} {
			_, err := k.PutJSON(t.Context(), key, json.RawMessage(`"`+key+`"`))
			require.NoError(t, err)
		}
		ctx, stop := context.WithCancel(t.Context())
		events, ended := watched(ctx, k)
		next(t, events, `put 2 a "a"`, `put 1 b "b"`, `put 3 z "z"`, "synced 3  null")
		_, err := k.PutJSON(ctx, "c", json.RawMessage("1"), rpc.TTL(1*time.Second))
		require.NoError(t, err)
		_, err = k.Delete(ctx, "a")
		require.NoError(t, err)
		next(t, events, "put 4 c 1", "delete 5 a null")
		d.clock.Pass(2 * time.Second)
		next(t, events, "expire 6 c null")
		stop()
		require.ErrorIs(t, <-ended, context.Canceled)

		ctx, stop = context.WithCancel(t.Context())
		defer stop()
		events, ended = watched(ctx, k, rpc.After(4), rpc.WithPrefix("c"))
		next(t, events, "expire 6 c null", "synced 6  null")
		_, _, err = d.storage.DropTenant(ctx, "acme")
		require.NoError(t, err)
		require.ErrorIs(t, <-ended, kv.ErrSpaceNotFound)

		events, ended = watched(ctx, k, rpc.After(4))
		next(t, events, "resync 4  null", "synced 0  null")
		d.stop()
		require.ErrorIs(t, <-ended, rpc.ErrUnavailable, "a daemon that stops ends its watches")
	})
}

func TestAWatchThatHasBegunMissesNothing(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		k := startKV(t, Options{}, kvstorage.Options{}).dialAs(t, f).KV("acme")
		for n := range 20 {
			for e, err := range k.Watch(t.Context(), rpc.FromNow()) {
				require.NoError(t, err)
				if e.Kind == kv.EventSynced {
					_, err := k.PutJSON(t.Context(), "k", json.RawMessage(fmt.Sprint(n)))
					require.NoError(t, err)
					continue
				}
				require.Equal(t, fmt.Sprint(n), string(e.Item.Value))
				break
			}
		}
		events, _ := watched(t.Context(), k, rpc.After(19), rpc.WithPrefix("k"), rpc.WithPrefix("l"))
		next(t, events, "put 20 k 19", "synced 20  null")
		for _, key := range []string{"a", "l", "k"} {
			_, err := k.PutJSON(t.Context(), key, json.RawMessage("1"))
			require.NoError(t, err)
		}
		next(t, events, "put 22 l 1", "put 23 k 1")
	})
}

// A client that does not ask for it is not told of a state that it did not ask for.
func TestAWatchTellsSyncedWithoutAStateOnlyOnDemand(t *testing.T) {
	d := startKV(t, Options{}, kvstorage.Options{})
	k, bare := d.dial(t).KV("acme"), stoav1.NewKvClient(d.bare(t))
	for range 2 {
		_, err := k.PutJSON(t.Context(), "k", json.RawMessage("1"))
		require.NoError(t, err)
	}
	put, synced := stoav1.KvEventKind_KV_EVENT_KIND_PUT, stoav1.KvEventKind_KV_EVENT_KIND_SYNCED
	for always, want := range map[bool][]stoav1.KvEventKind{false: {put, put}, true: {put, synced, put}} {
		stats, err := k.Stats(t.Context())
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		s, err := bare.Watch(ctx, &stoav1.KvWatchRequest{
			Tenant: []byte("acme"), Start: stoav1.KvWatchStart_KV_WATCH_START_REVISION, After: stats.Revision - 1, AlwaysSynced: always})
		require.NoError(t, err)
		var kinds []stoav1.KvEventKind
		for changed := false; len(kinds) < len(want); {
			m, err := s.Recv()
			require.NoError(t, err)
			for _, e := range m.GetEvents() {
				kinds = append(kinds, e.GetKind())
			}
			if !changed && len(kinds) == len(want)-1 {
				changed = true
				_, err = k.PutJSON(ctx, "k", json.RawMessage("1"))
				require.NoError(t, err)
			}
		}
		require.Equal(t, want, kinds)
		stop()
	}
}

// Where a state comes, at the start or after a gap, every client is told that it is
// complete.
func TestAWatchTellsWhereAStateEnds(t *testing.T) {
	d := startKV(t, Options{}, kvstorage.Options{})
	k, bare := d.dial(t).KV("acme"), stoav1.NewKvClient(d.bare(t))
	_, err := k.PutJSON(t.Context(), "k", json.RawMessage("1"))
	require.NoError(t, err)
	kinds := func(r *stoav1.KvWatchRequest, n int) (kinds []stoav1.KvEventKind) {
		ctx, stop := context.WithTimeout(t.Context(), patience)
		defer stop()
		r.Tenant = []byte("acme")
		s, err := bare.Watch(ctx, r)
		require.NoError(t, err)
		for len(kinds) < n {
			m, err := s.Recv()
			require.NoError(t, err, "after %v", kinds)
			for _, e := range m.GetEvents() {
				kinds = append(kinds, e.GetKind())
			}
		}
		return kinds
	}
	put, synced, resync := stoav1.KvEventKind_KV_EVENT_KIND_PUT, stoav1.KvEventKind_KV_EVENT_KIND_SYNCED, stoav1.KvEventKind_KV_EVENT_KIND_RESYNC
	require.Equal(t, []stoav1.KvEventKind{put, synced}, kinds(&stoav1.KvWatchRequest{}, 2))
	_, _, err = d.storage.DropTenant(t.Context(), "acme")
	require.NoError(t, err)
	require.Equal(t, []stoav1.KvEventKind{resync, synced},
		kinds(&stoav1.KvWatchRequest{Start: stoav1.KvWatchStart_KV_WATCH_START_REVISION, After: 1}, 2))
}

func TestStreamsOfKeyValuesAreLimited(t *testing.T) {
	d := startKV(t, Options{MaxKVStreams: 1}, kvstorage.Options{})
	k := d.dial(t).KV("acme")
	ctx, stop := context.WithCancel(t.Context())
	events, ended := watched(ctx, k)
	next(t, events, "synced 0  null")
	for _, err := range k.All(t.Context(), "") {
		require.ErrorIs(t, err, rpc.ErrBusy)
	}
	stop()
	<-ended
	require.Eventually(t, func() bool {
		for _, err := range k.All(t.Context(), "") {
			return err == nil
		}
		return true
	}, patience, time.Millisecond)
	_, err := k.PutJSON(t.Context(), "k", json.RawMessage("1"))
	require.NoError(t, err)
}

// Over the socket an operation answers what it answers in process, whatever was
// done before, and whoever the tenant is.
func TestX03OperationsOverTheSocketAreThoseInProcess(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		p := &pair{t: t, near: startKV(t, Options{}, kvstorage.Options{}), far: startKV(t, Options{}, kvstorage.Options{})}
		p.client = p.far.dialAs(t, f)
		enginetest.Check(t, 50, func(r *rapid.T) {
			p.run++
			for range 40 {
				p.step(r)
			}
		})
	})
}

// pair is a storage in process, and another one over the socket.
type pair struct {
	t         *testing.T
	near, far *kvDaemon
	client    *rpc.Client
	run       int // each has tenants of its own
}

// step makes one operation on both. Revisions are left out of account: when the
// sweeper numbers what has expired is its affair.
func (p *pair) step(r *rapid.T) {
	tenant := rapid.SampledFrom([]string{"a", "b", "\xff\x00"}).Draw(r, "tenant") + fmt.Sprint(p.run)
	key := rapid.SampledFrom([]string{"k", "k2", "other", ""}).Draw(r, "key")
	value := []byte(rapid.SampledFrom([]string{"1", "-5", `"x"`, "null", `{"b":1,"a":2}`, "{"}).Draw(r, "value"))
	expect := kvstorage.Expect{Strict: rapid.Bool().Draw(r, "strict"),
		Value: []byte(rapid.SampledFrom([]string{"1", "2", "null", `{"a":2,"b":1}`}).Draw(r, "expected"))}
	if rapid.Bool().Draw(r, "absent") {
		expect = kvstorage.Expect{Absent: true}
	}
	o := kvstorage.WriteOptions{Durability: engine.WAL}
	if seconds := rapid.Int64Range(-1, 3).Draw(r, "ttl"); seconds >= 0 {
		o.TTLSeconds = &seconds
	}
	delta := rapid.Int64().Draw(r, "delta")
	ctx, s, k := p.t.Context(), p.near.storage, p.client.KV(tenant)
	var want, got kvstorage.Result
	var here, there error
	switch rapid.IntRange(0, 9).Draw(r, "operation") {
	case 0:
		want.Item, here = s.Get(ctx, tenant, key)
		got.Item, there = maybe(k.Get(ctx, key))
	case 1:
		want.Item, here = s.Put(ctx, tenant, key, value, o)
		got.Item, there = k.PutJSON(ctx, key, json.RawMessage(value), given(o)...)
		want.Item.Value = got.Item.Value // which the client knows
	case 2:
		var near, far kvstorage.Deleted
		near, here = s.Delete(ctx, tenant, key, o)
		far, there = k.Delete(ctx, key, given(o)...)
		require.Equal(r, near.Existed, far.Existed)
		require.Equal(r, near.Revision == 0, far.Revision == 0)
		want.Item, got.Item = near.Item, far.Item
	case 3:
		want.Item, here = s.Touch(ctx, tenant, key, o)
		got.Item, there = maybe(k.Touch(ctx, key, given(o)...))
	case 4:
		want.Item, here = s.Increment(ctx, tenant, key, delta, o)
		got.Item, there = k.Increment(ctx, key, delta, given(o)...)
	case 5:
		want, here = s.CompareAndSwap(ctx, tenant, key, expect, value, o)
		got, there = k.CompareAndSwapJSON(ctx, key, expect, json.RawMessage(value), given(o)...)
	case 6:
		page, err := s.List(ctx, tenant, kvstorage.ListOptions{Prefix: key, Limit: 1})
		remote, failed := k.List(ctx, kvstorage.ListOptions{Prefix: key, Limit: 1})
		require.Equal(r, len(page.Items), len(remote.Items))
		require.Equal(r, page.Next == "", remote.Next == "")
		if here, there = err, failed; len(page.Items) > 0 {
			want.Item, got.Item = page.Items[0], remote.Items[0]
		}
	case 7:
		var near, far kvstorage.Deleted
		near, here = s.CompareAndDelete(ctx, tenant, key, expect, o)
		far, there = k.CompareAndDelete(ctx, key, expect, given(o)...)
		require.Equal(r, near.Existed, far.Existed)
		require.Equal(r, near.Revision == 0, far.Revision == 0)
		want.Item, got.Item = near.Item, far.Item
	case 8: // of one change, and of more
		batch := []kvstorage.Change{{Op: kvstorage.OpSwap, Key: key, Value: value, Expect: expect}}
		for _, op := range rapid.SliceOfN(rapid.SampledFrom([]kvstorage.Op{kvstorage.OpPut, kvstorage.OpDelete, kvstorage.OpTouch, kvstorage.OpSwap}), 0, 2).Draw(r, "more") {
			batch = append(batch, kvstorage.Change{Op: op, Key: "k2", Value: value, Expect: expect})
		}
		var near, far []kvstorage.Result
		near, here = s.Batch(ctx, tenant, batch, engine.WAL)
		if far, there = k.Batch(ctx, batch, engine.WAL); here == nil {
			require.Len(r, far, len(near))
			for i := range near {
				require.Equal(r, near[i].Swapped, far[i].Swapped)
				require.Equal(r, near[i].Revision == 0, far[i].Revision == 0)
				require.Equal(r, near[i].Item.Found, far[i].Item.Found)
			}
		}
	default:
		p.near.clock.Pass(700 * time.Millisecond)
		p.far.clock.Pass(700 * time.Millisecond)
	}
	if here != nil {
		require.EqualError(r, there, here.Error())
		return
	}
	require.NoError(r, there)
	require.Equal(r, want.Revision == 0, got.Revision == 0)
	want.Revision, got.Revision = 0, 0
	want.Item.Revision, got.Item.Revision = 0, 0
	want.Item.Created, got.Item.Created = 0, 0
	require.Equal(r, jsonOf(p.t, want), jsonOf(p.t, got))
}
