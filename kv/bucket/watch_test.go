package bucket_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
	. "github.com/stoadb/stoa/kv/bucket"
)

// watched is a watch that a test takes events of, one at a time.
type watched struct {
	h    *host
	next func() (Event, error, bool)
}

func (h *host) watch(b *Bucket, o WatchOptions) *watched {
	c, cancel := context.WithCancel(ctx)
	next, stop := iter.Pull2(b.Watch(c, o))
	h.t.Cleanup(func() { cancel(); stop() })
	return &watched{h, next}
}

// tells demands the next events, as "KEY 1 put x", or their kinds.
func (w *watched) tells(want ...string) {
	w.h.t.Helper()
	for _, text := range want {
		e, err, ok := w.next()
		require.True(w.h.t, ok)
		require.NoError(w.h.t, err)
		require.Equal(w.h.t, text, told(e))
	}
}

func told(e Event) string {
	switch e.Kind {
	case EventEntry:
		return e.Entry.Key + " " + said(e.Entry)
	case EventError:
		return e.Entry.Key + " " + said(e.Entry) + " error"
	}
	return e.Kind.String()
}

func TestT59AWatchBeginsWithWhatThereIsInOrder(t *testing.T) {
	h := open(t)
	b := h.bucket(Config{History: 3})
	for _, key := range []string{"c", "a", "b", "c"} {
		h.put(b, key, "x")
	}
	_, err := b.Delete(ctx, "a", DeleteOptions{})
	require.NoError(t, err)
	w := h.watch(b, WatchOptions{})
	w.tells("b 3 put x", "c 4 put x", "a 5 delete", "init_done")
	h.put(b, "d", "y")
	_, err = b.Purge(ctx, "b", DeleteOptions{})
	require.NoError(t, err)
	w.tells("d 6 put y", "b 7 purge")
	h.watch(h.bucket(Config{Name: "empty"}), WatchOptions{}).tells("init_done")
}

func TestT60WhatAWatchLeavesOut(t *testing.T) {
	h := open(t)
	b := h.bucket(Config{History: 3})
	h.put(b, "a", "x")
	h.put(b, "b", "x")
	h.put(b, "a", "y")
	_, err := b.Delete(ctx, "b", DeleteOptions{})
	require.NoError(t, err)
	history, updates := h.watch(b, WatchOptions{History: true}), h.watch(b, WatchOptions{UpdatesOnly: true})
	history.tells("a 1 put x", "b 2 put x", "a 3 put y", "b 4 delete", "init_done")
	h.watch(b, WatchOptions{IgnoreDeletes: true}).tells("a 3 put y", "init_done")
	h.watch(b, WatchOptions{MetaOnly: true}).tells("a 3 put ", "b 4 delete", "init_done")
	updates.tells("init_done")
	resumed := h.watch(b, WatchOptions{Resume: true, After: 2})
	resumed.tells("a 3 put y", "b 4 delete", "init_done")
	h.put(b, "c", "z")
	updates.tells("c 5 put z")
	resumed.tells("c 5 put z")
	history.tells("c 5 put z")
	for _, o := range []WatchOptions{{History: true, UpdatesOnly: true}, {Resume: true, History: true}, {Resume: true, UpdatesOnly: true}} {
		for _, err := range b.Watch(ctx, o) {
			h.refused(err, CodeInvalidArgument)
		}
	}
	for _, err := range b.Watch(ctx, WatchOptions{Filters: []string{"a..b"}}) {
		h.refused(err, CodeInvalidArgument)
	}
}

func TestT61AWatchHasAThousandFilters(t *testing.T) {
	h := open(t)
	b := h.bucket(Config{})
	var filters []string
	for n := range 1000 {
		filters = append(filters, fmt.Sprintf("own%d.*", n))
	}
	h.put(b, "own7.x", "x")
	h.put(b, "other.x", "x")
	w := h.watch(b, WatchOptions{Filters: filters})
	w.tells("own7.x 1 put x", "init_done")
	h.put(b, "own999.x", "x")
	h.put(b, "own1000.x", "x")
	h.put(b, "own0.y", "x")
	w.tells("own999.x 3 put x", "own0.y 5 put x")
	for _, err := range b.Watch(ctx, WatchOptions{Filters: append(filters, "more")}) {
		require.EqualValues(t, 1001, h.refused(err, CodeInvalidArgument).Have)
	}
}

func TestT62ASlowWatchIsToldWhatThereIsNow(t *testing.T) {
	h := open(t)
	b := h.bucket(Config{})
	h.put(b, "a", "first")
	w := h.watch(b, WatchOptions{})
	w.tells("a 1 put first", "init_done")
	for n := range 10_000 {
		h.put(b, "a", fmt.Sprint(n))
	}
	h.put(b, "b", "x")
	w.tells("resync", "a 10001 put 9999", "b 10002 put x", "init_done")
	h.put(b, "c", "x")
	w.tells("c 10003 put x")
	late := h.watch(b, WatchOptions{Resume: true, After: 5, IgnoreDeletes: true})
	late.tells("resync", "a 10001 put 9999", "b 10002 put x", "c 10003 put x", "init_done")
}

func TestT48ThatAValueExpiresIsToldAlways(t *testing.T) {
	h := open(t)
	b := h.bucket(Config{TTL: time.Minute, History: 2})
	_, err := b.Put(ctx, "own", []byte("x"), PutOptions{TTL: time.Second})
	require.NoError(t, err)
	h.put(b, "bucket", "x")
	_, err = b.Delete(ctx, "marked", DeleteOptions{})
	require.NoError(t, err)
	w, without := h.watch(b, WatchOptions{UpdatesOnly: true}), h.watch(b, WatchOptions{UpdatesOnly: true, IgnoreDeletes: true})
	w.tells("init_done")
	without.tells("init_done")
	require.True(t, h.clock.Until(func() bool { return len(h.keys(b)) == 1 }))
	w.tells("own 4 expire")
	require.True(t, h.clock.Until(func() bool { s, err := b.Status(); return err == nil && s.Keys == 0 }))
	w.tells("bucket 5 expire")
	h.put(b, "last", "x")
	w.tells("last 7 put x") // that a marker is gone is nothing to be told
	without.tells("last 7 put x")
}

func TestT34AWatchGoesOnBehindAValueThatIsNotValid(t *testing.T) {
	h := open(t)
	b := h.bucket(Config{Schema: []byte(named)})
	_, err := b.Put(ctx, "bad", []byte(`{}`), PutOptions{Raw: true})
	require.NoError(t, err)
	h.put(b, "good", `{"name":"x"}`)
	w := h.watch(b, WatchOptions{Typed: true})
	w.tells("bad 1 put {} error", `good 2 put {"name":"x"}`, "init_done")
	_, err = b.Put(ctx, "good", []byte(`5`), PutOptions{Raw: true})
	require.NoError(t, err)
	_, err = b.Delete(ctx, "bad", DeleteOptions{})
	require.NoError(t, err)
	w.tells("good 3 put 5 error", "bad 4 delete")
}

// A watch that begins under load has no gap and nothing twice.
func TestT59NothingIsMissedAtTheSeam(t *testing.T) {
	h := open(t)
	b := h.bucket(Config{})
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
			last, _ = b.Put(ctx, fmt.Sprint("k", n%50), []byte(fmt.Sprint(n)), PutOptions{Durability: engine.WAL})
		}
	}()
	for range 20 {
		seen, live, n := uint64(0), false, 0
		for e, err := range b.Watch(ctx, WatchOptions{}) {
			require.NoError(t, err)
			switch e.Kind {
			case EventResync: // the log was overtaken meanwhile: the state comes anew
				require.True(t, live)
				require.Equal(t, seen, e.Revision)
				seen, live = 0, false
				continue
			case EventInitDone:
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
	s, err := b.Status()
	require.NoError(t, err)
	require.Equal(t, last, s.Revision)
}

// A bucket with more revisions than a watch puts in order at a time is told in order all the
// same.
func TestT59ManyKeysAreToldInOrder(t *testing.T) {
	h := open(t)
	b := h.bucket(Config{History: 2})
	const keys = 40_000 // twice
	for range 2 {
		for from := 0; from < keys; from += 1000 {
			require.NoError(t, h.kv.Update(ctx, engine.WAL, func(w *kv.Work) error {
				in, err := b.In(w)
				for n := from; n < from+1000 && err == nil; n++ {
					_, err = in.Put(fmt.Sprint("k", n*7919%keys), nil, PutOptions{})
				}
				return err
			}))
		}
	}
	for _, history := range []bool{false, true} {
		last, n := uint64(0), 0
		for e, err := range b.Watch(ctx, WatchOptions{History: history}) {
			require.NoError(t, err)
			if e.Kind == EventInitDone {
				break
			}
			require.Greater(t, e.Revision, last)
			last, n = e.Revision, n+1
		}
		require.EqualValues(t, 2*keys, last)
		if history {
			require.Equal(t, 2*keys, n)
		} else {
			require.Equal(t, keys, n)
		}
	}
}
