package buckettest

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/bucket"
)

func t46T47TimesToLiveOfABucket(t *testing.T, h *Host) {
	b := h.Made(bucket.Config{TTL: 2 * time.Second, History: 3})
	h.Write(b, "a", "x")
	h.Write(b, "rewritten", "x")
	h.Clock.Pass(1500 * time.Millisecond)
	h.Write(b, "rewritten", "y")
	_, err := b.Get(ctx, "a")
	require.NoError(t, err)
	h.Clock.Pass(time.Second)
	_, err = b.Get(ctx, "a")
	h.Refused(err, bucket.CodeNotFound)
	_, err = b.Get(ctx, "rewritten")
	require.NoError(t, err)
	h.Clock.Pass(time.Second + time.Millisecond) // nothing expires early
	_, err = b.Get(ctx, "rewritten")
	h.Refused(err, bucket.CodeNotFound)
	require.Empty(t, h.Told(b, "rewritten"))

	late := h.Made(bucket.Config{Name: "late"})
	h.Write(late, "old", "x")
	h.Clock.Pass(time.Minute)
	h.Write(late, "new", "x")
	_, err = h.Alter(ctx, bucket.Config{Name: "late", TTL: 30 * time.Second})
	require.NoError(t, err)
	late = h.Bucket("late")
	require.True(t, h.Clock.Until(func() bool { _, err := late.Get(ctx, "old"); return errors.Is(err, bucket.ErrNotFound) }))
	e, err := late.Get(ctx, "new")
	require.NoError(t, err)
	require.Equal(t, e.Created.Add(30*time.Second), e.Expires)
	_, err = h.Alter(ctx, bucket.Config{Name: "late"})
	require.NoError(t, err)
	require.True(t, h.Clock.Until(func() bool { e, err := late.Get(ctx, "new"); return err == nil && e.Expires.IsZero() }))
}

func t49TimesToLiveOfKeys(t *testing.T, h *Host) {
	b := h.Made(bucket.Config{History: 2})
	revision, err := b.Create(ctx, "a", []byte("x"), bucket.PutOptions{TTL: 10 * time.Second})
	require.NoError(t, err)
	h.Clock.Pass(6 * time.Second)
	revision, err = b.Update(ctx, "a", []byte("y"), revision, bucket.PutOptions{})
	require.NoError(t, err)
	e, err := b.Get(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, h.KV.Now().Add(4*time.Second+time.Millisecond), e.Expires, "an update keeps it")
	expires, err := b.Touch(ctx, "a", 10*time.Second, engine.WAL)
	require.NoError(t, err)
	e, err = b.Get(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, expires, e.Expires)
	require.Equal(t, revision, e.Revision, "the value has the revision that it had")
	h.Clock.Pass(9 * time.Second)
	_, err = b.Get(ctx, "a")
	require.NoError(t, err)
	revision, err = b.Update(ctx, "a", []byte("z"), revision, bucket.PutOptions{TTL: time.Hour})
	require.NoError(t, err)
	h.Clock.Pass(time.Minute)
	_, err = b.Get(ctx, "a")
	require.NoError(t, err)
	_, err = b.Touch(ctx, "a", 0, engine.WAL)
	require.NoError(t, err)
	_, err = b.Update(ctx, "a", []byte("z"), revision, bucket.PutOptions{})
	require.NoError(t, err)
	e, err = b.Get(ctx, "a")
	require.NoError(t, err)
	require.Zero(t, e.Expires)
	_, err = b.Touch(ctx, "none", time.Second, engine.WAL)
	h.Refused(err, bucket.CodeNotFound)
	short := h.Made(bucket.Config{Name: "short", TTL: time.Minute})
	_, err = short.Put(ctx, "a", nil, bucket.PutOptions{TTL: time.Hour})
	h.Refused(err, bucket.CodeInvalidArgument)
}

func t48ThatAValueExpiresIsToldAlways(t *testing.T, h *Host) {
	b := h.Made(bucket.Config{TTL: time.Minute, History: 2})
	_, err := b.Put(ctx, "own", []byte("x"), bucket.PutOptions{TTL: time.Second})
	require.NoError(t, err)
	h.Write(b, "bucket", "x")
	_, err = b.Delete(ctx, "marked", bucket.DeleteOptions{})
	require.NoError(t, err)
	w, without := h.Watched(b, bucket.WatchOptions{UpdatesOnly: true}), h.Watched(b, bucket.WatchOptions{UpdatesOnly: true, IgnoreDeletes: true})
	w.Tells("init_done")
	without.Tells("init_done")
	require.True(t, h.Clock.Until(func() bool { return len(h.Listed(b)) == 1 }))
	w.Tells("own 4 expire")
	require.True(t, h.Clock.Until(func() bool { s, err := b.Status(ctx); return err == nil && s.Keys == 0 }))
	w.Tells("bucket 5 expire")
	h.Write(b, "last", "x")
	w.Tells("last 7 put x") // that a marker is gone is nothing to be told
	without.Tells("last 7 put x")
}
