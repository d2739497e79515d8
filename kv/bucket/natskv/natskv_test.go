package natskv_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv/bucket"
	. "github.com/stoadb/stoa/kv/bucket/natskv"
	"github.com/stoadb/stoa/kv/bucket/natskv/natskvtest"
	"github.com/stoadb/stoa/rpc"
)

// made returns a bucket of a new daemon, and the manager of its tenant.
func made(t *testing.T, c jetstream.KeyValueConfig) (jetstream.KeyValue, *Manager, *rpc.Buckets) {
	buckets := natskvtest.Dial(t).Buckets("acme")
	m := New(buckets)
	kv, err := m.CreateKeyValue(ctx, c)
	require.NoError(t, err)
	return kv, m, buckets
}

// told is what a watch says up to its nil, or the number of updates that is given.
func told(t *testing.T, w jetstream.KeyWatcher, count int) (list []string) {
	late := time.After(time.Minute)
	for len(list) != count {
		select {
		case e, ok := <-w.Updates():
			require.True(t, ok, "the watch has ended")
			if e == nil {
				return append(list, "all")
			}
			list = append(list, fmt.Sprintf("%d %s %s %s %d", e.Revision(), e.Key(), e.Operation(), e.Value(), e.Delta()))
		case <-late:
			t.Fatalf("only %v", list)
		}
	}
	return list
}

// What NATS knows of a bucket and Stoa does not is kept, for whoever asks later.
func TestConfigurationsAreKept(t *testing.T) {
	c := jetstream.KeyValueConfig{
		Bucket: "b", Description: "of tests", Metadata: map[string]string{"a": "1"}, Storage: jetstream.MemoryStorage, Compression: true,
		LimitMarkerTTL: time.Minute, History: 3, TTL: time.Hour, MaxValueSize: 10,
	}
	_, m, buckets := made(t, c)
	want := c
	want.MaxBytes, want.Replicas = -1, 1
	of := func(name string) jetstream.KeyValueStatus {
		kv, err := New(buckets).KeyValue(ctx, name)
		require.NoError(t, err)
		s, err := kv.Status(ctx)
		require.NoError(t, err)
		return s
	}
	require.Equal(t, want, of("b").Config())
	require.Equal(t, []any{"b", int64(3), time.Hour, time.Minute, true, c.Metadata}, []any{of("b").Bucket(), of("b").History(), of("b").TTL(), of("b").LimitMarkerTTL(), of("b").IsCompressed(), of("b").Metadata()})

	_, err := m.CreateKeyValue(ctx, c)
	require.NoError(t, err, "it is there, and as it is to be")
	c.Metadata = nil
	_, err = m.CreateKeyValue(ctx, c)
	require.ErrorIs(t, err, jetstream.ErrBucketExists)
	require.ErrorIs(t, err, bucket.ErrExists)
	_, err = m.UpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "b"})
	require.NoError(t, err)
	plain := jetstream.KeyValueConfig{Bucket: "b", History: 1, MaxBytes: -1, MaxValueSize: -1, Replicas: 1}
	require.Equal(t, plain, of("b").Config())

	_, err = m.UpdateKeyValue(ctx, c)
	require.NoError(t, err)
	require.NoError(t, m.DeleteKeyValue(ctx, "b"))
	_, err = m.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "b"})
	require.NoError(t, err)
	require.Equal(t, plain, of("b").Config(), "nothing is left of the one that was there before")

	var names []string
	for name := range m.KeyValueStoreNames(ctx).Name() {
		names = append(names, name)
	}
	require.Equal(t, []string{"b"}, names, "what the adapter keeps is none")
	_, err = m.KeyValue(ctx, "natskv-configs")
	require.ErrorIs(t, err, jetstream.ErrInvalidBucketName)
}

// An update of a bucket leaves it its schema.
func TestUpdatesKeepTheSchema(t *testing.T) {
	_, m, buckets := made(t, jetstream.KeyValueConfig{Bucket: "other"})
	_, err := buckets.Create(ctx, rpc.BucketConfig{Name: "b", Schema: []byte(`{"type":"number"}`)})
	require.NoError(t, err)
	kv, err := m.UpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "b", History: 2})
	require.NoError(t, err)
	_, err = kv.PutString(ctx, "a", "1")
	require.NoError(t, err)
	_, err = kv.PutString(ctx, "a", `"one"`)
	require.ErrorIs(t, err, bucket.ErrValidation)
}

func TestWhatStoaHasNotIsRefused(t *testing.T) {
	kv, m, _ := made(t, jetstream.KeyValueConfig{Bucket: "b"})
	for field, c := range map[string]jetstream.KeyValueConfig{
		"MaxBytes": {MaxBytes: 1}, "Replicas": {Replicas: 3}, "Placement": {Placement: &jetstream.Placement{}},
		"RePublish": {RePublish: &jetstream.RePublish{}}, "Mirror": {Mirror: &jetstream.StreamSource{}}, "Sources": {Sources: []*jetstream.StreamSource{{}}},
	} {
		c.Bucket = "new"
		_, err := m.CreateOrUpdateKeyValue(ctx, c)
		require.ErrorIs(t, err, ErrUnsupported)
		require.ErrorContains(t, err, field)
	}
	require.ErrorIs(t, kv.Purge(ctx, "a", jetstream.PurgeTTL(time.Second)), ErrUnsupported)
	require.ErrorIs(t, kv.Delete(ctx, "a", jetstream.PurgeTTL(time.Second)), jetstream.ErrTTLOnDeleteNotSupported)
	for _, opt := range []jetstream.WatchOpt{jetstream.UpdatesOnly(), jetstream.ResumeFromRevision(1)} {
		_, err := kv.Keys(ctx, opt)
		require.ErrorIs(t, err, jetstream.ErrInvalidOption)
		_, err = kv.ListKeys(ctx, opt)
		require.ErrorIs(t, err, jetstream.ErrInvalidOption)
	}
}

// Each option of nats.go does what it says: those are read from what it keeps for itself.
func TestEachOptionCounts(t *testing.T) {
	kv, _, _ := made(t, jetstream.KeyValueConfig{Bucket: "b", History: 5, LimitMarkerTTL: time.Minute})
	put := func(key, value string) {
		_, err := kv.PutString(ctx, key, value)
		require.NoError(t, err)
	}
	put("a", "1")
	put("a", "2")
	put("c", "3")
	require.NoError(t, kv.Delete(ctx, "c", jetstream.LastRevision(3)))
	require.ErrorIs(t, kv.Delete(ctx, "c", jetstream.LastRevision(3)), jetstream.ErrKeyRevisionMismatch)
	require.ErrorIs(t, kv.Purge(ctx, "c", jetstream.LastRevision(3)), bucket.ErrRevisionMismatch)
	for _, c := range []struct {
		opts []jetstream.WatchOpt
		want []string
	}{
		{nil, []string{"2 a KeyValuePutOp 2 1", "4 c KeyValueDeleteOp  0", "all"}},
		{[]jetstream.WatchOpt{nil, jetstream.IncludeHistory()}, []string{"1 a KeyValuePutOp 1 1", "2 a KeyValuePutOp 2 1", "3 c KeyValuePutOp 3 1", "4 c KeyValueDeleteOp  0", "all"}},
		{[]jetstream.WatchOpt{jetstream.IncludeHistory(), jetstream.IgnoreDeletes()}, []string{"1 a KeyValuePutOp 1 1", "2 a KeyValuePutOp 2 1", "3 c KeyValuePutOp 3 0", "all"}},
		{[]jetstream.WatchOpt{jetstream.MetaOnly()}, []string{"2 a KeyValuePutOp  1", "4 c KeyValueDeleteOp  0", "all"}},
		{[]jetstream.WatchOpt{jetstream.ResumeFromRevision(3)}, []string{"3 c KeyValuePutOp 3 1", "4 c KeyValueDeleteOp  0", "all"}},
	} {
		w, err := kv.WatchAll(ctx, c.opts...)
		require.NoError(t, err)
		require.Equal(t, c.want, told(t, w, -1))
		require.NoError(t, w.Stop())
		require.ErrorIs(t, w.Stop(), nats.ErrBadSubscription)
	}
	w, err := kv.WatchAll(ctx, jetstream.UpdatesOnly())
	require.NoError(t, err)
	_, err = kv.Create(ctx, "d", []byte("5"), jetstream.KeyTTL(50*time.Millisecond))
	require.NoError(t, err)
	require.Equal(t, []string{"5 d KeyValuePutOp 5 0", "6 d KeyValuePurgeOp  0"}, told(t, w, 2), "what comes, without a nil, and that its time is over")
	_, err = kv.WatchAll(ctx, jetstream.UpdatesOnly(), jetstream.IncludeHistory())
	require.ErrorIs(t, err, jetstream.ErrInvalidOption)

	require.NoError(t, kv.PurgeDeletes(ctx))
	list, err := kv.History(ctx, "*")
	require.NoError(t, err, "of several keys")
	require.Len(t, list, 3, "the marker is young, and stays")
	list, err = kv.History(ctx, "*", jetstream.IgnoreDeletes())
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.NoError(t, kv.PurgeDeletes(ctx, jetstream.DeleteMarkersOlderThan(-1)))
	_, err = kv.History(ctx, "c")
	require.Same(t, jetstream.ErrKeyNotFound, err)
}

// Programs compare errors in the ways that they do with NATS, and find those of Stoa too.
func TestErrorsAreThoseOfNATS(t *testing.T) {
	kv, m, _ := made(t, jetstream.KeyValueConfig{Bucket: "b", MaxValueSize: 4})
	_, err := kv.PutString(ctx, "a", "12345")
	require.ErrorIs(t, err, jetstream.ErrStreamMessageExceedsMaximum)
	require.ErrorIs(t, err, bucket.ErrValueTooLarge)
	for _, key := range []string{"", ".a", "a..b", "a b", "a.*"} {
		_, err = kv.PutString(ctx, key, "1")
		require.ErrorIs(t, err, jetstream.ErrInvalidKey, "%q", key)
	}
	_, err = kv.ListKeysFiltered(ctx, "a.>.b")
	require.ErrorIs(t, err, jetstream.ErrInvalidKey)
	_, err = kv.Get(ctx, "a")
	require.Same(t, jetstream.ErrKeyNotFound, err)
	_, err = kv.GetRevision(ctx, "a", 0)
	require.Same(t, jetstream.ErrKeyNotFound, err)
	_, err = m.KeyValue(ctx, "none")
	require.Same(t, jetstream.ErrBucketNotFound, err)
	_, err = m.KeyValue(ctx, "no.name")
	require.ErrorIs(t, err, jetstream.ErrInvalidBucketName)
	_, err = kv.PutString(ctx, "a", "1")
	require.NoError(t, err)
	_, err = kv.Create(ctx, "a", nil)
	require.ErrorIs(t, err, bucket.ErrExists)
	var refused *bucket.Error
	require.ErrorAs(t, err, &refused)
	require.EqualValues(t, 1, refused.Revision)
}

// A watch, and a list, of a bucket that is gone or of a client that is closed end with an error.
func TestWhatIsGoneIsSaid(t *testing.T) {
	c := natskvtest.Dial(t)
	m := New(c.Buckets("acme"), WithDurability(rpc.WAL))
	kv, err := m.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "b"})
	require.NoError(t, err)
	w, err := kv.Watch(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, []string{"all"}, told(t, w, -1))
	require.NoError(t, m.DeleteKeyValue(ctx, "b"))
	_, open := <-w.Updates()
	require.False(t, open)
	_, err = kv.WatchAll(ctx)
	require.ErrorIs(t, err, jetstream.ErrBucketNotFound)
	_, err = kv.Keys(ctx)
	require.ErrorIs(t, err, jetstream.ErrBucketNotFound)
	l, err := kv.ListKeys(ctx)
	require.NoError(t, err)
	for range l.Keys() {
		t.Fatal("no key")
	}
	require.ErrorIs(t, l.Stop(), jetstream.ErrBucketNotFound)
	require.NoError(t, c.Close())
	_, err = kv.Get(ctx, "a")
	require.ErrorIs(t, err, nats.ErrConnectionClosed)
	all := m.KeyValueStores(ctx)
	for range all.Status() {
		t.Fatal("no bucket")
	}
	require.ErrorIs(t, all.Error(), nats.ErrConnectionClosed)
}

// Lists end when their context does, and say so; nobody waits for one that is left.
func TestListsEndWithTheirContext(t *testing.T) {
	kv, m, _ := made(t, jetstream.KeyValueConfig{Bucket: "b"})
	for n := range 1000 {
		_, err := kv.PutString(ctx, fmt.Sprint("k", n), "")
		require.NoError(t, err)
	}
	some, stop := context.WithCancel(ctx)
	l, err := kv.ListKeys(some)
	require.NoError(t, err)
	<-l.Keys()
	stop()
	for range l.Keys() {
	}
	require.ErrorIs(t, l.Stop(), context.Canceled)
	l, err = kv.ListKeys(ctx)
	require.NoError(t, err)
	require.NoError(t, l.Stop())
	ended, stop := context.WithCancel(ctx)
	stop()
	list := m.KeyValueStoreNames(ended)
	for range list.Name() {
	}
	require.True(t, errors.Is(list.Error(), context.Canceled), "%v", list.Error())
}

// The bucket of a service's alias is a key-value, too.
func TestOpenTakesTheBucketOfAnAlias(t *testing.T) {
	_, _, buckets := made(t, jetstream.KeyValueConfig{Bucket: "other"})
	_, err := buckets.Propose(ctx, []byte(`{"service":"s","schemas":{"E":{}},"resources":{"kv":{"notes":{"purpose":"p","schema":{"schema":"E"}}}}}`))
	require.NoError(t, err)
	plan, err := buckets.Plan(ctx, "s")
	require.NoError(t, err)
	_, err = buckets.Accept(ctx, "s", plan.Digest, false)
	require.NoError(t, err)
	_, err = buckets.Reconcile(ctx, "s")
	require.NoError(t, err)
	kv, err := Open(ctx, buckets.Service("s").Alias("notes"))
	require.NoError(t, err)
	require.Equal(t, "svc_s_notes", kv.Bucket())
	_, err = kv.PutString(ctx, "a", "1")
	require.NoError(t, err)
	s, err := kv.Status(ctx)
	require.NoError(t, err)
	require.Equal(t, "svc_s_notes", s.Config().Bucket)
	_, err = Open(ctx, buckets.Service("s").Alias("none"))
	require.ErrorIs(t, err, jetstream.ErrBucketNotFound)
}

// Where a daemon comes back with less than was told, as after a power loss, a watch tells what there
// is.
func TestAWatchGoesOnWhereLessIsThere(t *testing.T) {
	path := natskvtest.Path(t)
	stop := natskvtest.Serve(t, path, bucket.Config{Name: "b"})
	dial := func() (jetstream.KeyValue, *rpc.Client) {
		c, err := rpc.Dial(ctx, path, rpc.WithDialTimeout(time.Minute))
		require.NoError(t, err)
		kv, err := New(c.Buckets("acme")).KeyValue(ctx, "b")
		require.NoError(t, err)
		return kv, c
	}
	kv, c := dial()
	defer c.Close()
	for _, key := range []string{"a", "b", "c", "d"} {
		_, err := kv.PutString(ctx, key, "old")
		require.NoError(t, err)
	}
	w, err := kv.WatchAll(ctx)
	require.NoError(t, err)
	require.Len(t, told(t, w, -1), 5)
	stop()
	stop = natskvtest.Serve(t, path, bucket.Config{Name: "b"})
	defer stop()
	again, other := dial()
	defer other.Close()
	for _, key := range []string{"x", "y"} {
		_, err = again.PutString(ctx, key, "new")
		require.NoError(t, err)
	}
	require.Equal(t, []string{"1 x KeyValuePutOp new 0", "2 y KeyValuePutOp new 0"}, told(t, w, 2))
	require.NoError(t, w.Stop())
}
