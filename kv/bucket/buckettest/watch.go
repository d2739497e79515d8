package buckettest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv/bucket"
)

func t59AWatchBeginsWithWhatThereIsInOrder(t *testing.T, h *Host) {
	b := h.Made(bucket.Config{History: 3})
	for _, key := range []string{"c", "a", "b", "c"} {
		h.Write(b, key, "x")
	}
	_, err := b.Delete(ctx, "a", bucket.DeleteOptions{})
	require.NoError(t, err)
	w := h.Watched(b, bucket.WatchOptions{})
	w.Tells("b 3 put x", "c 4 put x", "a 5 delete", "init_done")
	h.Write(b, "d", "y")
	_, err = b.Purge(ctx, "b", bucket.DeleteOptions{})
	require.NoError(t, err)
	w.Tells("d 6 put y", "b 7 purge")
	h.Watched(h.Made(bucket.Config{Name: "empty"}), bucket.WatchOptions{}).Tells("init_done")
}

// A watch that begins under load has no gap and nothing twice.
func t59NothingIsMissedAtTheSeam(t *testing.T, h *Host) {
	b := h.Made(bucket.Config{})
	stop, done := make(chan struct{}), make(chan uint64)
	go func() {
		var last uint64
		defer func() { done <- last }()
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			last, _ = b.Put(ctx, fmt.Sprint("k", n%50), []byte(fmt.Sprint(n)), bucket.PutOptions{Durability: engine.WAL})
		}
	}()
	for range 20 {
		seen, live, n := uint64(0), false, 0
		for e, err := range b.Watch(ctx, bucket.WatchOptions{}) {
			require.NoError(t, err)
			switch e.Kind {
			case bucket.EventResync: // the log was overtaken meanwhile: the state comes anew
				require.True(t, live)
				require.Equal(t, seen, e.Revision)
				seen, live = 0, false
				continue
			case bucket.EventInitDone:
				require.False(t, live)
				require.GreaterOrEqual(t, e.Revision, seen)
				live, seen = true, e.Revision
				continue
			}
			if require.Greater(t, e.Revision, seen); live {
				require.Equal(t, seen+1, e.Revision)
				n++
			}
			if seen = e.Revision; n >= 50 {
				break
			}
		}
	}
	close(stop)
	last := <-done
	s, err := b.Status(ctx)
	require.NoError(t, err)
	require.Equal(t, last, s.Revision)
}

func t60WhatAWatchLeavesOut(t *testing.T, h *Host) {
	b := h.Made(bucket.Config{History: 3})
	h.Write(b, "a", "x")
	h.Write(b, "b", "x")
	h.Write(b, "a", "y")
	_, err := b.Delete(ctx, "b", bucket.DeleteOptions{})
	require.NoError(t, err)
	history, updates := h.Watched(b, bucket.WatchOptions{History: true}), h.Watched(b, bucket.WatchOptions{UpdatesOnly: true})
	history.Tells("a 1 put x", "b 2 put x", "a 3 put y", "b 4 delete", "init_done")
	h.Watched(b, bucket.WatchOptions{IgnoreDeletes: true}).Tells("a 3 put y", "init_done")
	h.Watched(b, bucket.WatchOptions{MetaOnly: true}).Tells("a 3 put ", "b 4 delete", "init_done")
	updates.Tells("init_done")
	resumed := h.Watched(b, bucket.WatchOptions{Resume: true, After: 2})
	resumed.Tells("a 3 put y", "b 4 delete", "init_done")
	h.Write(b, "c", "z")
	updates.Tells("c 5 put z")
	resumed.Tells("c 5 put z")
	history.Tells("c 5 put z")
	for _, o := range []bucket.WatchOptions{{History: true, UpdatesOnly: true}, {Resume: true, History: true}, {Resume: true, UpdatesOnly: true}} {
		for _, err := range b.Watch(ctx, o) {
			h.Refused(err, bucket.CodeInvalidArgument)
		}
	}
	for _, err := range b.Watch(ctx, bucket.WatchOptions{Filters: []string{"a..b"}}) {
		h.Refused(err, bucket.CodeInvalidArgument)
	}
}

func t61AWatchHasAThousandFilters(t *testing.T, h *Host) {
	b := h.Made(bucket.Config{})
	var filters []string
	for n := range 1000 {
		filters = append(filters, fmt.Sprintf("own%d.*", n))
	}
	h.Write(b, "own7.x", "x")
	h.Write(b, "other.x", "x")
	w := h.Watched(b, bucket.WatchOptions{Filters: filters})
	w.Tells("own7.x 1 put x", "init_done")
	h.Write(b, "own999.x", "x")
	h.Write(b, "own1000.x", "x")
	h.Write(b, "own0.y", "x")
	w.Tells("own999.x 3 put x", "own0.y 5 put x")
	for _, err := range b.Watch(ctx, bucket.WatchOptions{Filters: append(filters, "more")}) {
		require.EqualValues(t, 1001, h.Refused(err, bucket.CodeInvalidArgument).Have)
	}
}

func t62ASlowWatchIsToldWhatThereIsNow(t *testing.T, h *Host) {
	value := func(n int) string { return fmt.Sprintf("%01000d", n) } // too long for all to be on their way to the watcher
	b := h.Made(bucket.Config{})
	h.Write(b, "a", "first")
	w := h.Watched(b, bucket.WatchOptions{})
	w.Tells("a 1 put first", "init_done")
	for n := range 10_000 {
		h.Write(b, "a", value(n))
	}
	h.Write(b, "b", "x")
	e := w.Next()
	for n := 0; e.Kind == bucket.EventEntry; n++ { // those were
		require.Equal(t, fmt.Sprint("a ", n+2, " put ", value(n)), told(e))
		e = w.Next()
	}
	require.Equal(t, bucket.EventResync, e.Kind)
	w.Tells("a 10001 put "+value(9999), "b 10002 put x", "init_done")
	h.Write(b, "c", "x")
	w.Tells("c 10003 put x")
	late := h.Watched(b, bucket.WatchOptions{Resume: true, After: 5, IgnoreDeletes: true})
	late.Tells("resync", "a 10001 put "+value(9999), "b 10002 put x", "c 10003 put x", "init_done")
}

func t34AWatchGoesOnBehindAValueThatIsNotValid(t *testing.T, h *Host) {
	b := h.Made(bucket.Config{Schema: []byte(NamedSchema)})
	_, err := b.Put(ctx, "bad", []byte(`{}`), bucket.PutOptions{Raw: true})
	require.NoError(t, err)
	h.Write(b, "good", `{"name":"x"}`)
	w := h.Watched(b, bucket.WatchOptions{Typed: true})
	w.Tells("bad 1 put {} error", `good 2 put {"name":"x"}`, "init_done")
	_, err = b.Put(ctx, "good", []byte(`5`), bucket.PutOptions{Raw: true})
	require.NoError(t, err)
	_, err = b.Delete(ctx, "bad", bucket.DeleteOptions{})
	require.NoError(t, err)
	w.Tells("good 3 put 5 error", "bad 4 delete")
}
