package server

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/bucket/contract"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/stream"
	"github.com/stoadb/stoa/rpc"
)

// startBuckets starts a daemon that has buckets, and streams, by a clock of its own.
func startBuckets(t testing.TB, o Options) (*testDaemon, *kvtest.Clock) {
	eng, clock, log := mem.New(), kvtest.New(), slog.New(slog.DiscardHandler)
	store, err := kv.Open(eng, kv.Options{Clock: clock, Log: log})
	require.NoError(t, err)
	o.Buckets, err = bucket.New(store, bucket.Options{Log: log})
	require.NoError(t, err)
	o.Streams, err = stream.New(store, stream.Options{Log: log})
	require.NoError(t, err)
	d := start(t, eng, o)
	t.Cleanup(func() {
		d.stop()
		require.NoError(t, store.Close())
	})
	return d, clock
}

const auditContract = `{"service":"activity","schemas":{"E":{"type":"object","required":["who"],"properties":{"who":{"type":"string"}}}},"resources":{"kv":{"activity":{"purpose":"p","schema":{"schema":"E"},"history":3}}}}`

type auditEntry struct {
	Who string `json:"who"`
}

// agreed has the contract of the service activity be accepted and its buckets be there.
func agreed(t testing.TB, b *rpc.Buckets) {
	ctx := t.Context()
	a, err := b.Propose(ctx, []byte(auditContract))
	require.NoError(t, err)
	plan, err := b.Plan(ctx, "activity")
	require.NoError(t, err)
	require.Equal(t, a.Proposed.Digest(), plan.Digest)
	require.Equal(t, contract.ClassUpdate, plan.Class)
	require.Len(t, plan.Changes, 1)
	_, err = b.Accept(ctx, "activity", plan.Digest, false)
	require.NoError(t, err)
	done, err := b.Reconcile(ctx, "activity")
	require.NoError(t, err)
	require.Equal(t, []string{"activity"}, done.Created)
	require.True(t, done.Bound())
	require.JSONEq(t, auditContract, string(done.Desired.JSON()))
}

// bucketCode is the code of a refusal.
func bucketCode(t testing.TB, err error) bucket.Code {
	var refused *bucket.Error
	require.ErrorAs(t, err, &refused)
	return refused.Code
}

// Keys are written and read by all verbs in both framings; refusals have their data.
func TestBucketsOverTheSocket(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		d, clock := startBuckets(t, Options{})
		all, ctx := d.dialAs(t, f).Buckets("acme"), t.Context()
		config := rpc.BucketConfig{Name: "b", History: 4, TTL: time.Hour, MaxValue: 10}
		made, err := all.Create(ctx, config)
		require.NoError(t, err)
		require.Equal(t, config, made.Config)
		require.WithinDuration(t, clock.Now(), made.Created, 10*time.Millisecond)
		_, err = all.Create(ctx, config)
		require.ErrorIs(t, err, bucket.ErrExists)
		_, err = all.Create(ctx, rpc.BucketConfig{Name: "c", History: -1})
		require.ErrorIs(t, err, bucket.ErrInvalidArgument)
		_, err = all.Create(ctx, rpc.BucketConfig{Name: "c", TTL: time.Nanosecond})
		require.ErrorIs(t, err, bucket.ErrInvalidArgument)

		b := all.Bucket("b")
		revision, err := b.Create(ctx, "x.k", []byte("1"), rpc.BucketPutOptions{TTL: time.Minute})
		require.NoError(t, err)
		require.Equal(t, uint64(1), revision)
		_, err = b.Create(ctx, "x.k", []byte("1"), rpc.BucketPutOptions{})
		var refused *bucket.Error
		require.ErrorAs(t, err, &refused)
		require.Equal(t, bucket.Error{Code: bucket.CodeExists, Bucket: "b", Key: "x.k", Field: "key", Revision: 1, Reason: refused.Reason}, *refused)
		_, err = b.Update(ctx, "x.k", nil, 7, rpc.BucketPutOptions{})
		require.Equal(t, bucket.CodeRevisionMismatch, bucketCode(t, err))
		_, err = b.Update(ctx, "new", nil, 7, rpc.BucketPutOptions{})
		require.Equal(t, bucket.CodeRevisionMismatch, bucketCode(t, err))
		_, err = b.Update(ctx, "x.k", nil, 1, rpc.BucketPutOptions{})
		require.NoError(t, err)
		_, err = b.Update(ctx, "new", []byte("2"), 0, rpc.BucketPutOptions{Durability: rpc.WAL})
		require.NoError(t, err)
		_, err = b.Put(ctx, "x.k", make([]byte, 11), rpc.BucketPutOptions{})
		require.Equal(t, bucket.CodeValueTooLarge, bucketCode(t, err))
		_, err = b.Put(ctx, "no key", nil, rpc.BucketPutOptions{})
		require.Equal(t, bucket.CodeInvalidArgument, bucketCode(t, err))
		_, err = b.Put(ctx, "x.k", nil, rpc.BucketPutOptions{TTL: -1})
		require.Equal(t, bucket.CodeInvalidArgument, bucketCode(t, err))

		e, err := b.Get(ctx, "x.k")
		require.NoError(t, err)
		require.Equal(t, rpc.BucketEntry{Key: "x.k", Value: []byte{}, Revision: 2, Op: bucket.OpPut, Created: e.Created, Expires: e.Expires}, e, "an empty value is one, and its time to live goes on")
		require.WithinDuration(t, clock.Now().Add(time.Minute), e.Expires, 10*time.Millisecond)
		_, err = b.Merge(ctx, "x.k", []byte(`{}`), rpc.BucketMergeOptions{})
		require.Equal(t, bucket.CodeValidation, bucketCode(t, err))
		_, err = b.Merge(ctx, "x.k", []byte(`{}`), rpc.BucketMergeOptions{Expect: true, Revision: 1})
		require.Equal(t, bucket.CodeRevisionMismatch, bucketCode(t, err))
		_, err = all.Bucket("merged").Merge(ctx, "a", []byte(`{"b":1}`), rpc.BucketMergeOptions{PutOptions: rpc.BucketPutOptions{TTL: time.Nanosecond}})
		require.ErrorIs(t, err, bucket.ErrInvalidArgument)
		_, err = all.Create(ctx, rpc.BucketConfig{Name: "merged"})
		require.NoError(t, err)
		_, err = all.Bucket("merged").Put(ctx, "a", []byte(`{"a":1}`), rpc.BucketPutOptions{})
		require.NoError(t, err)
		revision, err = all.Bucket("merged").Merge(ctx, "a", []byte(`{"b":1}`), rpc.BucketMergeOptions{Expect: true, Revision: 1, PutOptions: rpc.BucketPutOptions{TTL: time.Second, Raw: true, Durability: rpc.WAL}})
		require.NoError(t, err)
		require.Equal(t, uint64(2), revision)
		merged, err := all.Bucket("merged").Get(ctx, "a")
		require.NoError(t, err)
		require.Equal(t, `{"a":1,"b":1}`, string(merged.Value))
		require.False(t, merged.Expires.IsZero())
		require.NoError(t, all.Drop(ctx, "merged"))
		expires, err := b.Touch(ctx, "x.k", 0, rpc.WAL)
		require.NoError(t, err)
		require.WithinDuration(t, clock.Now().Add(time.Hour), expires, 10*time.Millisecond)
		_, err = b.Touch(ctx, "x.k", time.Nanosecond, rpc.WAL)
		require.ErrorIs(t, err, bucket.ErrInvalidArgument)

		revision, err = b.Delete(ctx, "x.k", rpc.BucketDeleteOptions{Expect: true, Revision: 2})
		require.NoError(t, err)
		require.Equal(t, uint64(4), revision)
		_, err = b.Get(ctx, "x.k")
		require.ErrorAs(t, err, &refused)
		require.Equal(t, uint64(4), refused.Revision)
		at, err := b.At(ctx, "x.k", 4)
		require.NoError(t, err)
		require.Equal(t, bucket.OpDelete, at.Op)
		require.Nil(t, at.Value)
		history, err := b.History(ctx, "x.k")
		require.NoError(t, err)
		require.Len(t, history, 3)
		keys, err := listed(b.Keys(ctx, "x.*", "new"))
		require.NoError(t, err)
		require.Equal(t, []string{"new"}, keys)
		_, err = listed(b.Keys(ctx, "x..k"))
		require.ErrorIs(t, err, bucket.ErrInvalidArgument)
		_, err = b.Purge(ctx, "x.k", rpc.BucketDeleteOptions{})
		require.NoError(t, err)
		gone, err := b.PurgeDeletes(ctx, 0)
		require.NoError(t, err)
		require.Zero(t, gone)
		gone, err = b.PurgeDeletes(ctx, -1)
		require.NoError(t, err)
		require.Equal(t, 1, gone)
		status, err := b.Status(ctx)
		require.NoError(t, err)
		require.Equal(t, rpc.BucketStatus{Info: made, Revision: status.Revision, Keys: 1, Values: 1, Bytes: 4}, status)

		config.History = 1
		altered, err := all.Alter(ctx, config)
		require.NoError(t, err)
		list, err := all.List(ctx)
		require.NoError(t, err)
		require.Equal(t, []rpc.BucketInfo{altered}, list)
		require.NoError(t, all.Drop(ctx, "b"))
		_, err = b.Get(ctx, "new")
		require.ErrorIs(t, err, bucket.ErrNotFound)
	})
}

// A service has its buckets by a contract, typed, and those of nobody else.
func TestT10T65AServiceHasWhatItsContractDeclares(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		d, _ := startBuckets(t, Options{})
		all, ctx := d.dialAs(t, f).Buckets("acme"), t.Context()
		_, err := all.Propose(ctx, []byte(`{"service":"_","resources":1}`))
		var wrong *contract.Error
		require.ErrorAs(t, err, &wrong)
		require.Greater(t, len(wrong.Faults), 1)
		_, err = all.Authority(ctx, "activity")
		require.ErrorIs(t, err, bucket.ErrNotFound)
		agreed(t, all)
		a, err := all.Authority(ctx, "activity")
		require.NoError(t, err)
		every, err := all.Authorities(ctx)
		require.NoError(t, err)
		require.Equal(t, []*rpc.BucketAuthority{a}, every)

		raw := all.Service("activity").Alias("activity")
		typed := rpc.OpenBucket[auditEntry](raw)
		_, err = typed.Create(ctx, "k", auditEntry{"ann"}, rpc.BucketPutOptions{})
		require.NoError(t, err)
		e, err := typed.Get(ctx, "k")
		require.NoError(t, err)
		require.Equal(t, auditEntry{"ann"}, e.Of)
		_, err = typed.Update(ctx, "k", auditEntry{"bob"}, e.Revision, rpc.BucketPutOptions{})
		require.NoError(t, err)
		_, err = raw.Put(ctx, "k", []byte(`{"who":1}`), rpc.BucketPutOptions{})
		var refused *bucket.Error
		require.ErrorAs(t, err, &refused)
		require.Equal(t, bucket.CodeValidation, refused.Code)
		require.Equal(t, "/who", refused.Pointer)
		_, err = raw.Put(ctx, "odd", []byte(`1`), rpc.BucketPutOptions{Raw: true})
		require.NoError(t, err)
		_, err = typed.Get(ctx, "odd")
		require.ErrorIs(t, err, bucket.ErrValidation)

		_, err = all.Service("other").Bucket("svc_activity_activity").Get(ctx, "k")
		require.ErrorIs(t, err, bucket.ErrForbidden)
		_, err = all.Service("other").Alias("activity").Get(ctx, "k")
		require.ErrorIs(t, err, bucket.ErrNotFound)
		_, err = all.Bucket("svc_activity_activity").Get(ctx, "k")
		require.NoError(t, err, "an operator reads all")
		_, err = all.Alias("activity").Get(ctx, "k")
		require.ErrorIs(t, err, bucket.ErrInvalidArgument)

		_, err = all.Reject(ctx, "activity", "d")
		require.ErrorIs(t, err, bucket.ErrNotFound)
		gone, err := all.Revoke(ctx, "activity")
		require.NoError(t, err)
		require.Equal(t, []string{"svc_activity_activity"}, gone)
		_, err = raw.Get(ctx, "k")
		require.ErrorIs(t, err, bucket.ErrNotFound)
	})
}

// Who is bound to a tenant makes, drops and decides nothing, and reaches no bucket of a service
// that it does not name.
func TestT10OnlyWhoLooksAfterTenantsChangesBuckets(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		d, _ := startBuckets(t, Options{Peers: boundTo("acme")})
		all, ctx := d.dialAs(t, f).Buckets(""), t.Context()
		_, err := all.Propose(ctx, []byte(auditContract))
		require.NoError(t, err)
		plan, err := all.Plan(ctx, "activity")
		require.NoError(t, err)
		_, create := all.Create(ctx, rpc.BucketConfig{Name: "b"})
		_, alter := all.Alter(ctx, rpc.BucketConfig{Name: "b"})
		_, accept := all.Accept(ctx, "activity", plan.Digest, false)
		_, reject := all.Reject(ctx, "activity", plan.Digest)
		_, reconcile := all.Reconcile(ctx, "activity")
		_, revoke := all.Revoke(ctx, "activity")
		for name, err := range map[string]error{"create": create, "alter": alter, "drop": all.Drop(ctx, "b"), "accept": accept, "reject": reject, "reconcile": reconcile, "revoke": revoke} {
			require.ErrorIs(t, err, rpc.ErrBound, name)
		}
		_, err = d.o.Buckets.Accept(ctx, "acme", "activity", plan.Digest, false)
		require.NoError(t, err)
		_, err = d.o.Buckets.Reconcile(ctx, "acme", "activity")
		require.NoError(t, err)
		_, err = all.Bucket("svc_activity_activity").Status(ctx)
		require.ErrorIs(t, err, bucket.ErrForbidden)
		_, err = all.Service("activity").Bucket("svc_activity_activity").Status(ctx)
		require.NoError(t, err)
		// Nor by way of a projection.
		streams := d.dialAs(t, f).Streams("")
		_, err = streams.Create(ctx, rpc.WAL, "s", rpc.StreamLimits{})
		require.NoError(t, err)
		_, err = streams.CreateConsumer(ctx, rpc.WAL, "s", rpc.StreamConfig{Name: "c"})
		require.NoError(t, err)
		_, err = streams.Publish(ctx, rpc.WAL, "s", rpc.StreamAppendOptions{}, rpc.StreamMessage{Subject: "a"})
		require.NoError(t, err)
		c := streams.Consumer("s", "c")
		list, err := c.Fetch(ctx, rpc.WAL, rpc.StreamFetchOptions{})
		require.NoError(t, err)
		change := rpc.BucketChange{Name: bucket.Name{Bucket: "svc_activity_activity"}, Op: bucket.OpPut, Key: "k", Value: []byte(`{"who":"ann"}`)}
		_, err = c.Apply(ctx, rpc.WAL, list[0].Ref(), []rpc.BucketChange{change}, false)
		require.ErrorIs(t, err, bucket.ErrForbidden)
		change.Service = "activity"
		_, err = c.Apply(ctx, rpc.WAL, list[0].Ref(), []rpc.BucketChange{change}, false)
		require.NoError(t, err)
	})
}

// A watch tells what there is and what comes; one of typed values says which is none, and leaves
// deletions out unless it is asked for them.
func TestT63AWatchOfABucketOverTheSocket(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		d, _ := startBuckets(t, Options{})
		all := d.dialAs(t, f).Buckets("acme")
		agreed(t, all)
		typed := rpc.OpenBucket[auditEntry](all.Service("activity").Alias("activity"))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, err := typed.Put(ctx, "a", auditEntry{"ann"}, rpc.BucketPutOptions{})
		require.NoError(t, err)
		for _, deletes := range []bool{false, true} {
			var told []string
			for e, err := range typed.Watch(ctx, deletes, rpc.BucketWatchOptions{}) {
				require.NoError(t, err)
				told = append(told, e.Kind.String()+" "+e.Entry.Key+" "+e.Of.Who)
				if e.Kind == bucket.EventError {
					require.ErrorIs(t, e.Err, bucket.ErrValidation)
				}
				if e.Kind == bucket.EventInitDone {
					_, err = typed.Delete(ctx, "a", rpc.BucketDeleteOptions{})
					require.NoError(t, err)
					_, err = typed.Bucket.Put(ctx, "odd", json.RawMessage("1"), rpc.BucketPutOptions{Raw: true})
					require.NoError(t, err)
					_, err = typed.Put(ctx, "a", auditEntry{"bob"}, rpc.BucketPutOptions{})
					require.NoError(t, err)
				}
				if e.Of.Who == "bob" && len(told) > 3 {
					break
				}
			}
			if deletes {
				require.Equal(t, []string{"error odd ", "entry a bob", "init_done  ", "entry a ", "error odd ", "entry a bob"}, told)
			} else {
				require.Equal(t, []string{"entry a ann", "init_done  ", "error odd ", "entry a bob"}, told)
			}
		}
		for _, err = range all.Service("activity").Alias("none").Watch(ctx, rpc.BucketWatchOptions{}) {
		}
		require.ErrorIs(t, err, bucket.ErrNotFound)
	})
}

// A watch of a bucket goes on behind what it has told, when its daemon was away, however it
// began.
func TestAWatchOfABucketGoesOnWhereItsDaemonWasAway(t *testing.T) {
	for name, o := range map[string]rpc.BucketWatchOptions{"state": {}, "updates": {UpdatesOnly: true}, "resume": {Resume: true}, "history": {History: true}} {
		t.Run(name, func(t *testing.T) {
			d := newComingAndGoing(t)
			_, err := d.buckets.Create(t.Context(), "acme", bucket.Config{Name: "b"})
			require.NoError(t, err)
			put := func(key string) {
				b, err := d.buckets.Open("acme", "b")
				require.NoError(t, err)
				_, err = b.Put(t.Context(), key, nil, bucket.PutOptions{})
				require.NoError(t, err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			var keys []string
			begun := 0
			for e, err := range d.client(t, rpc.FramingAuto).Buckets("acme").Bucket("b").Watch(ctx, o) {
				require.NoError(t, err)
				require.NotEqual(t, bucket.EventResync, e.Kind)
				if e.Kind == bucket.EventInitDone {
					if begun++; begun == 1 {
						put("a")
					}
					continue
				}
				if keys = append(keys, e.Entry.Key); len(keys) == 1 {
					d.stop()
					put("b")
					d.up()
				}
				if len(keys) == 2 {
					break
				}
			}
			require.Equal(t, []string{"a", "b"}, keys)
		})
	}
}
