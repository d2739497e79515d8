package server

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/kv/stream"
	"github.com/stoadb/stoa/rpc"
)

// remoteStreams are the streams and buckets of a tenant of a daemon that has a clock of its own.
type remoteStreams struct {
	*rpc.Streams
	*rpc.Buckets
	t     *testing.T
	clock *kvtest.Clock
}

// streamsOverBoth runs a test in both framings, each with a daemon of its own.
func streamsOverBoth(t *testing.T, test func(*testing.T, *rpc.Streams, *kvtest.Clock)) {
	projectionsOverBoth(t, func(s *remoteStreams) { test(s.t, s.Streams, s.clock) })
}

// projectionsOverBoth is streamsOverBoth with buckets.
func projectionsOverBoth(t *testing.T, test func(*remoteStreams)) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		d, clock := startBuckets(t, Options{})
		c := d.dialAs(t, f)
		test(&remoteStreams{c.Streams("acme"), c.Buckets("acme"), t, clock})
	})
}

// streamRefused demands a refusal of a code, and returns it.
func streamRefused(t testing.TB, err error, code stream.Code) *stream.Error {
	t.Helper()
	var refused *stream.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, code, refused.Code)
	return refused
}

// Streams are made, added to, read and removed; refusals have their data.
func TestStreamsOverTheSocket(t *testing.T) {
	streamsOverBoth(t, func(t *testing.T, s *rpc.Streams, clock *kvtest.Clock) {
		ctx := t.Context()
		_, err := s.Info(ctx, "orders")
		streamRefused(t, err, stream.CodeNotFound)
		_, err = s.Publish(ctx, rpc.WAL, "orders", rpc.StreamAppendOptions{}, rpc.StreamMessage{Subject: "a"})
		streamRefused(t, err, stream.CodeNotFound)
		limits := rpc.StreamLimits{Entries: 3, Age: time.Hour}
		made, err := s.Create(ctx, rpc.WAL, "orders", limits)
		require.NoError(t, err)
		require.True(t, made)
		made, err = s.Create(ctx, rpc.WAL, "orders", limits)
		require.NoError(t, err)
		require.False(t, made)
		_, err = s.Create(ctx, rpc.WAL, "orders", rpc.StreamLimits{})
		streamRefused(t, err, stream.CodeExists)
		// What the wire has no number for is refused, not rounded.
		_, err = s.Create(ctx, rpc.WAL, "short", rpc.StreamLimits{Age: time.Microsecond})
		streamRefused(t, err, stream.CodeInvalidArgument)
		streamRefused(t, s.Limit(ctx, rpc.WAL, "orders", rpc.StreamLimits{Age: -time.Hour}), stream.CodeInvalidArgument)
		_, err = s.CreateConsumer(ctx, rpc.WAL, "orders", rpc.StreamConfig{Name: "c", AckWait: time.Second + 1})
		streamRefused(t, err, stream.CodeInvalidArgument)
		streamRefused(t, s.UpdateConsumer(ctx, rpc.WAL, "orders", rpc.StreamConfig{Name: "c", AckWait: -1}), stream.CodeInvalidArgument)
		require.NoError(t, s.Limit(ctx, rpc.WAL, "orders", rpc.StreamLimits{Entries: 4}))

		added := clock.Now()
		last, err := s.Publish(ctx, rpc.Synced, "orders", rpc.StreamAppendOptions{ExpectedLast: new(uint64)},
			rpc.StreamMessage{Subject: "orders.1", Payload: []byte("one")}, rpc.StreamMessage{Subject: "bills.1"})
		require.NoError(t, err)
		require.EqualValues(t, 2, last)
		_, err = s.Publish(ctx, rpc.WAL, "orders", rpc.StreamAppendOptions{ExpectedLast: new(uint64)}, rpc.StreamMessage{Subject: "a"})
		require.EqualValues(t, 2, streamRefused(t, err, stream.CodeMismatch).Have)
		_, err = s.Publish(ctx, rpc.WAL, "orders", rpc.StreamAppendOptions{}, rpc.StreamMessage{Subject: "no subject"})
		streamRefused(t, err, stream.CodeInvalidArgument)
		_, err = s.Publish(ctx, rpc.WAL, "orders", rpc.StreamAppendOptions{}, rpc.StreamMessage{Subject: "a", Payload: make([]byte, stream.MaxPayload+1)})
		streamRefused(t, err, stream.CodeTooLarge)

		list, next, err := s.Range(ctx, "orders", rpc.StreamRangeOptions{Limit: 1})
		require.NoError(t, err)
		require.Equal(t, []rpc.StreamEntry{{Number: 1, Time: list[0].Time, Message: rpc.StreamMessage{Subject: "orders.1", Payload: []byte("one")}}}, list)
		require.WithinDuration(t, added, list[0].Time, time.Second)
		require.EqualValues(t, 2, next)
		list, next, err = s.Range(ctx, "orders", rpc.StreamRangeOptions{From: next, To: 5, Filter: "bills.*", Reverse: true})
		require.NoError(t, err)
		require.Len(t, list, 1)
		require.Zero(t, next)

		info, err := s.Info(ctx, "orders")
		require.NoError(t, err)
		require.Equal(t, rpc.StreamInfo{Name: "orders", Created: info.Created, Limits: rpc.StreamLimits{Entries: 4}, Entries: 2, First: 1, Last: 2, Newest: info.Newest}, info)
		require.WithinDuration(t, added, info.Created, time.Second)
		require.WithinDuration(t, added, info.Newest, time.Second)
		all, err := s.List(ctx)
		require.NoError(t, err)
		require.Equal(t, []rpc.StreamInfo{info}, all)
		existed, err := s.Delete(ctx, rpc.WAL, "orders")
		require.NoError(t, err)
		require.True(t, existed)
		existed, err = s.Delete(ctx, rpc.WAL, "orders")
		require.NoError(t, err)
		require.False(t, existed)
	})
}

// T68: an entry is with one caller at a time, is delivered again, and is a dead letter in the end.
func TestT68AConsumerOverTheSocket(t *testing.T) {
	streamsOverBoth(t, func(t *testing.T, s *rpc.Streams, clock *kvtest.Clock) {
		ctx := t.Context()
		c := s.Consumer("orders", "worker")
		_, err := c.Fetch(ctx, rpc.WAL, rpc.StreamFetchOptions{})
		streamRefused(t, err, stream.CodeNotFound)
		_, err = s.Create(ctx, rpc.WAL, "orders", rpc.StreamLimits{})
		require.NoError(t, err)
		var messages []rpc.StreamMessage
		for _, subject := range []string{"orders.1", "orders.2", "bills.1", "orders.3", "orders.4"} {
			messages = append(messages, rpc.StreamMessage{Subject: subject, Payload: []byte(subject)})
		}
		_, err = s.Publish(ctx, rpc.WAL, "orders", rpc.StreamAppendOptions{}, messages...)
		require.NoError(t, err)
		config := rpc.StreamConfig{Name: "worker", Start: rpc.StreamStart{Policy: stream.DeliverFrom, From: 2}, Filter: "orders.>", AckWait: time.Minute, MaxDeliver: 2, MaxAckPending: 3}
		made, err := s.CreateConsumer(ctx, rpc.WAL, "orders", config)
		require.NoError(t, err)
		require.True(t, made)
		other := config
		other.MaxDeliver = 3
		_, err = s.CreateConsumer(ctx, rpc.WAL, "orders", other)
		streamRefused(t, err, stream.CodeExists)
		require.NoError(t, s.UpdateConsumer(ctx, rpc.WAL, "orders", other))
		require.NoError(t, s.UpdateConsumer(ctx, rpc.WAL, "orders", config))
		list, err := c.Fetch(ctx, rpc.WAL, rpc.StreamFetchOptions{Limit: 10})
		require.NoError(t, err)
		require.Len(t, list, 3)
		require.Equal(t, rpc.StreamDelivery{Entry: rpc.StreamEntry{Number: 2, Time: list[0].Time, Message: messages[1]}, Token: list[0].Token, Deliveries: 1}, list[0])
		refs := make([]rpc.StreamRef, len(list))
		for i := range list {
			refs[i] = rpc.StreamRef{Number: list[i].Number, Token: list[i].Token}
		}
		none, err := c.Fetch(ctx, rpc.WAL, rpc.StreamFetchOptions{})
		require.NoError(t, err)
		require.Empty(t, none, "they are with another caller")
		done, err := c.Ack(ctx, rpc.WAL, refs[0])
		require.NoError(t, err)
		require.Equal(t, 1, done)
		require.NoError(t, c.InProgress(ctx, rpc.WAL, refs[1]))
		dead, err := c.Nak(ctx, rpc.WAL, refs[1], 10*time.Second, "not now")
		require.NoError(t, err)
		require.False(t, dead)
		require.NoError(t, c.Terminate(ctx, rpc.WAL, refs[2], "never"))
		streamRefused(t, c.Terminate(ctx, rpc.WAL, refs[2], "never"), stream.CodeFenced)
		require.EqualValues(t, 1, must(c.DeadLetters(ctx, 0, 0))[0].Deliveries)

		clock.Pass(10 * time.Second)
		list, err = c.Fetch(ctx, rpc.WAL, rpc.StreamFetchOptions{Wait: time.Minute})
		require.NoError(t, err)
		require.Len(t, list, 1)
		require.EqualValues(t, 4, list[0].Number)
		require.Equal(t, 2, list[0].Deliveries)
		streamRefused(t, c.InProgress(ctx, rpc.WAL, refs[1]), stream.CodeFenced)
		info, err := c.Info(ctx)
		require.NoError(t, err)
		require.Equal(t, rpc.StreamConsumerInfo{Config: config, Created: info.Created, Delivered: 5, Deliveries: 4, AckFloor: 3, AckPending: 1, Redelivered: 1, Dead: 1}, info)
		require.Equal(t, []rpc.StreamConsumerInfo{info}, must(s.ListConsumers(ctx, "orders")))
		dead, err = c.Nak(ctx, rpc.WAL, rpc.StreamRef{Number: 4, Token: list[0].Token}, 0, "not at all")
		require.NoError(t, err)
		require.True(t, dead, "it was delivered as often as may be")

		letters, err := c.DeadLetters(ctx, 4, 10)
		require.NoError(t, err)
		require.Len(t, letters, 1)
		require.Equal(t, rpc.StreamDeadLetter{Entry: rpc.StreamEntry{Number: 5, Time: letters[0].Time, Message: messages[4]}, Died: letters[0].Died, Deliveries: 1, Reason: "never"}, letters[0])
		require.Equal(t, 1, must(c.RetryDead(ctx, rpc.WAL, 5)))
		require.Equal(t, 1, must(c.DropDead(ctx, rpc.WAL, 4, 7)))
		list, err = c.Fetch(ctx, rpc.WAL, rpc.StreamFetchOptions{})
		require.NoError(t, err)
		require.EqualValues(t, 5, list[0].Number)
		require.NoError(t, c.Replay(ctx, rpc.WAL, rpc.StreamStart{Policy: stream.DeliverNew}))
		list, err = c.Fetch(ctx, rpc.WAL, rpc.StreamFetchOptions{})
		require.NoError(t, err)
		require.Empty(t, list)
		require.True(t, must(c.Delete(ctx, rpc.WAL)))
		require.False(t, must(c.Delete(ctx, rpc.WAL)))
	})
}

// must is the result of a call that has to go well.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// consumer makes a stream with entries of some subjects, and a consumer of it.
func (s *remoteStreams) consumer(c rpc.StreamConfig, subjects ...string) *rpc.StreamConsumer {
	s.t.Helper()
	ctx := s.t.Context()
	_, err := s.Streams.Create(ctx, rpc.WAL, "orders", rpc.StreamLimits{})
	require.NoError(s.t, err)
	s.add(subjects...)
	c.Name = "sums"
	_, err = s.CreateConsumer(ctx, rpc.WAL, "orders", c)
	require.NoError(s.t, err)
	return s.Consumer("orders", c.Name)
}

func (s *remoteStreams) add(subjects ...string) {
	s.t.Helper()
	for _, subject := range subjects {
		_, err := s.Publish(s.t.Context(), rpc.WAL, "orders", rpc.StreamAppendOptions{}, rpc.StreamMessage{Subject: subject})
		require.NoError(s.t, err)
	}
}

// bucket makes a bucket, and returns what may read it.
func (s *remoteStreams) bucket(name string) *rpc.Bucket {
	s.t.Helper()
	_, err := s.Buckets.Create(s.t.Context(), rpc.BucketConfig{Name: name, History: 9})
	require.NoError(s.t, err)
	return s.Bucket(name)
}

// sums is a projection to a bucket: how many entries each subject has, by what the bucket said before.
func sums(ctx context.Context, b *rpc.Bucket, name string) func(rpc.StreamEntry) ([]rpc.BucketChange, error) {
	return func(e rpc.StreamEntry) ([]rpc.BucketChange, error) {
		had, n := uint64(0), 0
		switch now, err := b.Get(ctx, e.Subject); {
		case err == nil:
			had = now.Revision
			if _, err := fmt.Sscan(string(now.Value), &n); err != nil {
				return nil, err
			}
		case !errors.Is(err, bucket.ErrNotFound):
			return nil, err
		}
		return []rpc.BucketChange{
			{Name: bucket.Name{Bucket: name}, Op: bucket.OpPut, Key: e.Subject, Value: fmt.Append(nil, n+1), Revision: &had},
			{Name: bucket.Name{Bucket: name}, Op: bucket.OpPut, Key: "last", Value: fmt.Append(nil, e.Number)},
		}, nil
	}
}

// project runs a projection until it comes to an entry of the subject "end", which it leaves.
func (s *remoteStreams) project(c *rpc.StreamConsumer, apply func(rpc.StreamEntry) ([]rpc.BucketChange, error)) {
	s.t.Helper()
	ctx, end := context.WithCancel(s.t.Context())
	require.ErrorIs(s.t, c.Project(ctx, rpc.WAL, func(e rpc.StreamEntry) ([]rpc.BucketChange, error) {
		if e.Subject == "end" {
			end()
			return nil, ctx.Err()
		}
		return apply(e)
	}), context.Canceled)
}

// all is what a bucket has.
func (s *remoteStreams) all(b *rpc.Bucket) map[string]string {
	s.t.Helper()
	found := map[string]string{}
	for key, err := range b.Keys(s.t.Context()) {
		require.NoError(s.t, err)
		e, err := b.Get(s.t.Context(), key)
		require.NoError(s.t, err)
		found[key] = fmt.Sprint(e.Revision, " ", string(e.Value))
	}
	return found
}

// T66: what a stream is projected to is the same as what it is projected to anew.
func TestT66AProjectionOverTheSocket(t *testing.T) {
	projectionsOverBoth(t, func(s *remoteStreams) {
		c := s.consumer(rpc.StreamConfig{}, "a", "b", "a", "c", "a", "b", "end")
		first, anew := s.bucket("first"), s.bucket("anew")
		s.project(c, sums(s.t.Context(), first, "first"))
		require.Equal(s.t, map[string]string{"a": "9 3", "b": "11 2", "c": "7 1", "last": "12 6"}, s.all(first))
		require.NoError(s.t, c.Replay(s.t.Context(), rpc.WAL, rpc.StreamStart{}))
		s.project(c, sums(s.t.Context(), anew, "anew"))
		require.Equal(s.t, s.all(first), s.all(anew))
		info, err := c.Info(s.t.Context())
		require.NoError(s.t, err)
		require.Zero(s.t, info.Dead)
		require.EqualValues(s.t, 6, info.AckFloor)
	})
}

// T67: an entry is applied once: not by who is late, and where its changes are refused not at all.
func TestT67ApplyOverTheSocket(t *testing.T) {
	projectionsOverBoth(t, func(s *remoteStreams) {
		ctx := s.t.Context()
		c := s.consumer(rpc.StreamConfig{AckWait: time.Second, MaxDeliver: 2}, "a", "bad", "b")
		b := s.bucket("sums")
		put := func(key string, revision uint64) []rpc.BucketChange {
			return []rpc.BucketChange{{Name: bucket.Name{Bucket: "sums"}, Op: bucket.OpPut, Key: key, Value: []byte("1"), Revision: &revision}}
		}
		next := func() rpc.StreamDelivery {
			list, err := c.Fetch(ctx, rpc.WAL, rpc.StreamFetchOptions{InOrder: true})
			require.NoError(s.t, err)
			require.Len(s.t, list, 1, "one at a time")
			return list[0]
		}
		late := next()
		s.clock.Pass(time.Second)
		now := next()
		require.Equal(s.t, late.Number, now.Number)
		_, err := c.Apply(ctx, rpc.WAL, late.Ref(), put("a", 0), false)
		streamRefused(s.t, err, stream.CodeFenced)
		for _, refused := range []struct {
			changes []rpc.BucketChange
			is      error
		}{
			{put("a", 7), bucket.ErrRevisionMismatch},
			{append(put("a", 0), put("a", 0)...), bucket.ErrRevisionMismatch},
			{make([]rpc.BucketChange, bucket.MaxChanges+1), bucket.ErrTooMany},
			{[]rpc.BucketChange{{Name: bucket.Name{Bucket: "none"}, Op: bucket.OpPurge, Key: "a"}}, bucket.ErrNotFound},
			{[]rpc.BucketChange{{Name: bucket.Name{Service: "activity", Bucket: "sums"}, Op: bucket.OpPurge, Key: "a"}}, bucket.ErrForbidden},
			{[]rpc.BucketChange{{Name: bucket.Name{Bucket: "sums"}, Op: bucket.OpPut, Key: "a", TTL: time.Microsecond}}, bucket.ErrInvalidArgument},
		} {
			_, err = c.Apply(ctx, rpc.WAL, now.Ref(), refused.changes, true)
			require.ErrorIs(s.t, err, refused.is)
		}
		require.Empty(s.t, s.all(b))
		following, err := c.Apply(ctx, rpc.Synced, now.Ref(), put("a", 0), true)
		require.NoError(s.t, err)
		require.Equal(s.t, []any{uint64(2), "bad", 1}, []any{following.Number, following.Subject, following.Deliveries})
		require.Equal(s.t, map[string]string{"a": "1 1"}, s.all(b))
		_, err = c.Apply(ctx, rpc.WAL, now.Ref(), put("again", 0), false)
		streamRefused(s.t, err, stream.CodeFenced)
		following, err = c.Apply(ctx, rpc.WAL, following.Ref(), append(put("bad", 0),
			rpc.BucketChange{Name: bucket.Name{Bucket: "sums"}, Op: bucket.OpPut, Key: "short", TTL: time.Second},
			rpc.BucketChange{Name: bucket.Name{Bucket: "sums"}, Op: bucket.OpDelete, Key: "a"},
			rpc.BucketChange{Name: bucket.Name{Bucket: "sums"}, Op: bucket.OpPurge, Key: "bad"}), false)
		require.NoError(s.t, err)
		require.Nil(s.t, following)
		require.Equal(s.t, map[string]string{"short": "3 "}, s.all(b))
		require.EqualValues(s.t, 3, next().Number)
	})
}

// T67: an entry that a projection fails on, or whose changes are refused, has its turn so often.
func TestT67AProjectionThatFailsOverTheSocket(t *testing.T) {
	projectionsOverBoth(t, func(s *remoteStreams) {
		ctx := s.t.Context()
		c := s.consumer(rpc.StreamConfig{MaxDeliver: 2}, "a", "bad", "refused", "b", "end")
		b := s.bucket("sums")
		apply := sums(ctx, b, "sums")
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.project(c, func(e rpc.StreamEntry) ([]rpc.BucketChange, error) {
				list, err := apply(e)
				switch e.Subject {
				case "bad":
					err = errors.New("it has no price")
				case "refused":
					list = append(list, rpc.BucketChange{Name: bucket.Name{Bucket: "none"}, Op: bucket.OpDelete, Key: "k"})
				}
				return list, err
			})
		}()
		require.True(s.t, s.clock.Until(func() bool {
			select {
			case <-done:
				return true
			default:
				return false
			}
		}))
		require.Equal(s.t, map[string]string{"a": "1 1", "b": "3 1", "last": "4 4"}, s.all(b))
		letters, err := c.DeadLetters(ctx, 0, 0)
		require.NoError(s.t, err)
		require.Len(s.t, letters, 2)
		require.Equal(s.t, []any{"bad", "it has no price", 2}, []any{letters[0].Subject, letters[0].Reason, letters[0].Deliveries})
		require.Equal(s.t, "refused", letters[1].Subject)
		require.Contains(s.t, letters[1].Reason, "none")
		// A projection that can't go on says so, and has lost nothing.
		_, err = s.Streams.Delete(ctx, rpc.WAL, "orders")
		require.NoError(s.t, err)
		streamRefused(s.t, c.Project(ctx, rpc.WAL, apply), stream.CodeNotFound)
	})
}

// Where no buckets are served nothing is projected to them.
func TestAProjectionWithoutBuckets(t *testing.T) {
	eng := mem.New()
	store, err := kv.Open(eng, kv.Options{})
	require.NoError(t, err)
	streams, err := stream.New(store, stream.Options{})
	require.NoError(t, err)
	d := start(t, eng, Options{Streams: streams})
	defer func() {
		d.stop()
		require.NoError(t, store.Close())
	}()
	c := d.dial(t).Streams("acme")
	_, err = c.Create(t.Context(), rpc.WAL, "orders", rpc.StreamLimits{})
	require.NoError(t, err)
	_, err = c.CreateConsumer(t.Context(), rpc.WAL, "orders", rpc.StreamConfig{Name: "sums"})
	require.NoError(t, err)
	_, err = c.Consumer("orders", "sums").Apply(t.Context(), rpc.WAL, rpc.StreamRef{Number: 1, Token: 1}, nil, false)
	require.ErrorIs(t, err, engine.ErrUnsupported)
}
