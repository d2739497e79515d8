package bucket_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/stoadb/stoa/kv/bucket"
	"github.com/stoadb/stoa/kv/bucket/buckettest"
)

// slow fills a bucket with more keys than are looked at at once, so that what its rules take from
// the last one, z, goes when the clock does.
func slow(h *buckettest.Host, b buckettest.Bucket) {
	for i := range 300 {
		h.Write(b, fmt.Sprintf("a%d", i), "v")
	}
	for i := range 5 {
		h.Write(b, "z", fmt.Sprint(i))
	}
}

// What a smaller history takes away is gone at once for all who ask, and does not come back.
func TestWhatASmallerHistoryTakesDoesNotComeBack(t *testing.T) {
	h := open(t)
	b := h.Made(Config{History: 5})
	slow(h, b)
	_, err := h.Alter(ctx, Config{Name: "b", History: 2})
	require.NoError(t, err)
	w := h.Watched(b, WatchOptions{History: true, Filters: []string{"z"}})
	for _, want := range []string{"3", "4"} {
		require.Equal(t, want, string(w.Next().Entry.Value))
	}
	require.Equal(t, EventInitDone, w.Next().Kind)
	told := h.Told(b, "z")
	require.Len(t, told, 2)
	_, err = b.At(ctx, "z", 303)
	h.Refused(err, CodeNotFound)
	e, err := b.At(ctx, "z", 304)
	require.NoError(t, err)
	require.Equal(t, "3", string(e.Value))
	e, err = b.At(ctx, "z", 305)
	require.NoError(t, err)
	require.Equal(t, "4", string(e.Value))

	_, err = h.Alter(ctx, Config{Name: "b", History: 5})
	h.Refused(err, CodeConflict)
	_, err = h.Alter(ctx, Config{Name: "b", History: 2, MaxValue: 1000})
	require.NoError(t, err)
	require.True(t, h.Clock.Until(func() bool { _, err := h.Alter(ctx, Config{Name: "b", History: 5}); return err == nil }))
	require.Equal(t, told, h.Told(b, "z"))
	h.Sound()
}

// What was touched lasts as long as that said, though other rules change, and a watch that goes on
// says so.
func TestATouchedValueLastsWhenOtherRulesChange(t *testing.T) {
	h := open(t)
	b := h.Made(Config{TTL: time.Minute, History: 2})
	h.Write(b, "k", "u")
	revision := h.Write(b, "k", "v")
	h.Clock.Pass(50 * time.Second)
	until, err := b.Touch(ctx, "k", 0, 0)
	require.NoError(t, err)
	w := h.Watched(b, WatchOptions{Resume: true, After: revision - 1})
	require.Equal(t, until, w.Next().Entry.Expires)
	_, err = h.Alter(ctx, Config{Name: "b", TTL: time.Minute, History: 1})
	require.NoError(t, err)
	require.True(t, h.Clock.Until(func() bool { s, err := b.Status(ctx); return err == nil && s.Values == 1 }))
	e, err := b.Get(ctx, "k")
	require.NoError(t, err)
	require.Equal(t, until, e.Expires)

	_, err = h.Alter(ctx, Config{Name: "b", TTL: 2 * time.Minute, History: 1})
	require.NoError(t, err)
	require.True(t, h.Clock.Until(func() bool { e, err = b.Get(ctx, "k"); return err == nil && !e.Expires.Equal(until) }))
	require.Equal(t, e.Created.Add(2*time.Minute), e.Expires)
}

// A change of the time to live goes through all keys, although another change comes before it has.
func TestAChangeOfTheTimeToLiveIsFinished(t *testing.T) {
	h := open(t)
	b := h.Made(Config{History: 5})
	slow(h, b)
	for _, c := range []Config{{Name: "b", History: 5, TTL: time.Minute}, {Name: "b", History: 4, TTL: time.Minute}} {
		_, err := h.Alter(ctx, c)
		require.NoError(t, err)
	}
	require.True(t, h.Clock.Until(func() bool { e, err := b.Get(ctx, "z"); return err == nil && !e.Expires.IsZero() }))
}

// A watch that is resumed when its bucket was dropped and another made of its name hears that it is
// to begin anew, whatever that one has come to.
func TestAnotherBucketOfTheNameDoesNotGoOn(t *testing.T) {
	h := open(t)
	b := h.Made(Config{})
	h.Write(b, "a", "old")
	last := h.Write(b, "gone", "old")
	for range 2 {
		require.NoError(t, h.Drop(ctx, "b"))
		h.Restart()
		b = h.Made(Config{})
		require.Equal(t, EventResync, h.Watched(b, WatchOptions{Resume: true, After: last}).Next().Kind, "nothing is there")
		for range 3 {
			require.Equal(t, EventResync, h.Watched(b, WatchOptions{Resume: true, After: last}).Next().Kind)
			require.Greater(t, h.Write(b, "a", "new"), last+1)
		}
		w := h.Watched(b, WatchOptions{Resume: true, After: last + 2})
		require.EqualValues(t, last+3, w.Next().Entry.Revision)
		s, err := b.Status(ctx)
		require.NoError(t, err)
		last = s.Revision
		h.Sound()
	}
}
