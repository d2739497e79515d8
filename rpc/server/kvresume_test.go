package server

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/kv/kvstorage"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/lock"
	"github.com/stoadb/stoa/rpc"
	"github.com/stoadb/stoa/rpc/server/socket"
)

// comingAndGoing is a daemon that can be away, whose store is there meanwhile.
type comingAndGoing struct {
	t       *testing.T
	engine  engine.Engine
	storage *kvstorage.Storage
	locks   *lock.Store
	events  *event.Store // of three entries
	buckets *bucket.Store
	path    string
	stop    func()
}

func newComingAndGoing(t *testing.T) *comingAndGoing {
	eng := mem.New()
	store, err := kv.Open(eng, kv.Options{Clock: kvtest.New(), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	storage, err := kvstorage.New(store, kvstorage.Options{})
	require.NoError(t, err)
	locks, err := lock.New(store, lock.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	events, err := event.New(store, event.Options{Keep: kv.StreamLimits{Entries: 3}})
	require.NoError(t, err)
	buckets, err := bucket.New(store, bucket.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	d := &comingAndGoing{t: t, engine: eng, storage: storage, locks: locks, events: events, buckets: buckets, path: socketDir(t) + "/s"}
	t.Cleanup(func() {
		d.stop()
		locks.Close()
		require.NoError(t, store.Close())
		require.NoError(t, eng.Close())
	})
	d.up()
	return d
}

func (d *comingAndGoing) up() {
	s, err := New(d.engine, Options{KV: d.storage, Locks: d.locks, Events: d.events, Buckets: d.buckets})
	require.NoError(d.t, err)
	ln, err := socket.Listen(d.path, socket.Options{})
	require.NoError(d.t, err)
	d.stop = serve(d.t, s, ln)
}

func (d *comingAndGoing) put(key, value string) {
	_, err := d.storage.Put(d.t.Context(), "acme", key, []byte(value), kvstorage.WriteOptions{Durability: engine.WAL})
	require.NoError(d.t, err)
}

func (d *comingAndGoing) dial(t *testing.T, f rpc.Framing) *rpc.KV { return d.client(t, f).KV("acme") }

func (d *comingAndGoing) client(t *testing.T, f rpc.Framing) *rpc.Client {
	c, err := rpc.Dial(t.Context(), d.path, rpc.WithFraming(f))
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// told is an event as a line.
func told(e rpc.Event) string {
	return fmt.Sprintf("%s %d %s", e.Kind, e.Revision, e.Item.Key)
}

func TestAWatchGoesOnWhereItsDaemonWasAway(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		d := newComingAndGoing(t)
		d.put("a", "1")
		k := d.dial(t, f)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		var got []string
		for e, err := range k.Watch(ctx) {
			require.NoError(t, err)
			got = append(got, told(e))
			switch len(got) {
			case 2: // it has begun
				d.put("b", "2")
			case 3:
				d.stop()
				d.put("c", "3")
				d.up()
			case 5:
				d.stop() // and nothing happens meanwhile
				d.up()
			case 6:
				d.put("d", "4")
			}
			if len(got) == 7 {
				break
			}
		}
		require.Equal(t, []string{"put 1 a", "synced 1 ", "put 2 b", "put 3 c", "synced 3 ", "synced 3 ", "put 4 d"}, got)
	})
}

func TestAWatchThatIsCutOffInWhatWasThereBeginsAgain(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		const rows = 1000
		d := newComingAndGoing(t)
		for i := range rows { // more than waits in a stream
			d.put(fmt.Sprintf("%04d", i), `"`+strings.Repeat("x", 20<<10)+`"`)
		}
		k := d.dial(t, f)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		before, resynced, after := 0, 0, 0
		for e, err := range k.Watch(ctx) {
			require.NoError(t, err)
			switch {
			case e.Kind == rpc.EventResync:
				resynced++
			case e.Kind == rpc.EventPut && resynced == 0:
				if before++; before == 1 {
					d.stop()
					d.up()
				}
			case e.Kind == rpc.EventPut:
				require.Equal(t, fmt.Sprintf("%04d", after), e.Item.Key)
				after++
			}
			if e.Kind == rpc.EventSynced {
				require.Equal(t, uint64(rows), e.Revision)
				break
			}
		}
		require.Less(t, before, rows)
		require.Equal(t, 1, resynced)
		require.Equal(t, rows, after)
	})
}

func TestAWatchThatDoesNotBeginAndOneThatIsMadeOnceEnd(t *testing.T) {
	d := newComingAndGoing(t)
	k := d.dial(t, rpc.FramingAuto)
	var last error
	for e, err := range k.Watch(t.Context(), rpc.Once(), rpc.FromNow()) {
		if last = err; err == nil {
			require.Equal(t, rpc.EventSynced, e.Kind)
			d.stop()
		}
	}
	require.ErrorIs(t, last, rpc.ErrUnavailable)
	n := 0
	for _, last = range k.Watch(t.Context()) {
		n++
	}
	require.ErrorIs(t, last, rpc.ErrUnavailable)
	require.Equal(t, 1, n)
	d.up()

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n = 0
	for _, err := range k.Watch(ctx, rpc.FromNow()) {
		if n++; n == 1 {
			d.stop()
			time.AfterFunc(10*time.Millisecond, cancel) // while it looks for the daemon
			continue
		}
		last = err
	}
	require.ErrorIs(t, last, context.Canceled)
	require.Equal(t, 2, n)
	d.up()
}

func TestValuesAreBytesOrJSON(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		k := startKV(t, Options{}, kvstorage.Options{}).dialAs(t, f).KV("acme")
		for _, value := range [][]byte{nil, {}, {0, 0xFF, '"'}, []byte("{}"), make([]byte, 200<<10)} {
			put, err := k.Put(t.Context(), "bytes", value)
			require.NoError(t, err)
			i, err := k.Get(t.Context(), "bytes")
			require.NoError(t, err)
			require.Equal(t, put.Revision, i.Revision)
			got, err := i.Bytes()
			require.NoError(t, err)
			require.Equal(t, string(value), string(got))
		}
		r, err := k.CompareAndSwap(t.Context(), "bytes", rpc.Expect{Value: rpc.JSONOfBytes(make([]byte, 200<<10))}, []byte("short"))
		require.NoError(t, err)
		require.True(t, r.Swapped)
		i, err := k.Get(t.Context(), "bytes")
		require.NoError(t, err)
		got, err := i.Bytes()
		require.NoError(t, err)
		require.Equal(t, "short", string(got))

		type point struct{ X, Y int }
		_, err = k.PutJSON(t.Context(), "json", point{1, 2})
		require.NoError(t, err)
		i, err = k.Get(t.Context(), "json")
		require.NoError(t, err)
		var p point
		require.NoError(t, i.Decode(&p))
		require.Equal(t, point{1, 2}, p)
		_, err = i.Bytes()
		var wrong *kvstorage.Error
		require.ErrorAs(t, err, &wrong)
		require.ErrorContains(t, i.Decode(new(string)), `the value of "json": json: cannot unmarshal object`)
		r, err = k.CompareAndSwapJSON(t.Context(), "json", rpc.Expect{Revision: i.Revision}, []int{1})
		require.NoError(t, err)
		require.True(t, r.Swapped)

		_, err = k.PutJSON(t.Context(), "json", func() {})
		require.ErrorIs(t, err, rpc.ErrRequest)
		_, err = k.CompareAndSwapJSON(t.Context(), "json", rpc.Expect{}, func() {})
		require.ErrorIs(t, err, rpc.ErrRequest)
		_, err = k.PutJSON(t.Context(), "json", json.RawMessage("{"))
		require.ErrorAs(t, err, &wrong, "the daemon judges what is JSON already")
	})
}

func TestATimeToLiveIsInWholeSeconds(t *testing.T) {
	d := startKV(t, Options{}, kvstorage.Options{})
	k := d.dial(t).KV("acme")
	for ttl, want := range map[time.Duration]time.Duration{
		time.Nanosecond: time.Second, time.Second: time.Second, 1500 * time.Millisecond: 2 * time.Second, time.Minute: time.Minute,
	} {
		i, err := k.PutJSON(t.Context(), "k", 1, rpc.TTL(ttl))
		require.NoError(t, err)
		require.WithinDuration(t, d.clock.Now().Add(want), i.Expires, time.Millisecond, ttl)
	}
	for _, ttl := range []time.Duration{0, -time.Second} {
		_, err := k.PutJSON(t.Context(), "k", 1, rpc.TTL(ttl))
		var wrong *kvstorage.Error
		require.ErrorAs(t, err, &wrong, ttl)
	}
	i, err := k.Touch(t.Context(), "k", rpc.WithDurability(rpc.WAL))
	require.NoError(t, err)
	require.Zero(t, i.Expires)
}
