package kv

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
)

// changes are the changes after a revision up to another, as "kind revision".
func changes(t testing.TB, s *Space, after, upTo uint64) []string {
	var list []string
	for e, err := range s.Watch(ctx, WatchOptions{Start: FromRevision, After: after}) {
		require.NoError(t, err)
		list = append(list, fmt.Sprint(e.Kind, " ", e.Revision))
		if e.Revision >= upTo && e.Kind != EventResync {
			break
		}
	}
	return list
}

func TestAWatchBeginsWithTheStateAndGoesOnWithoutAGap(t *testing.T) {
	h := newTestStore(t)
	s := h.space("a", "plain")
	for i := range 50 {
		put(t, s, fmt.Sprint("k", i), "old", 0)
	}
	started := make(chan struct{})
	done := make(chan map[string]uint64)
	go func() {
		state, last, synced := map[string]uint64{}, uint64(0), false
		for e, err := range s.Watch(ctx, WatchOptions{Prefix: []byte("k")}) {
			if err != nil {
				break
			}
			switch e.Kind {
			case EventSynced:
				synced, last = true, e.Revision
				close(started)
				continue
			case EventDelete:
				delete(state, string(e.Record.Key))
			case EventPut:
				state[string(e.Record.Key)] = e.Revision
			}
			if synced {
				if e.Revision != last+1 {
					break
				}
				last = e.Revision
			}
			if last == 550 {
				break
			}
		}
		done <- state
	}()
	for i := range 500 {
		if i == 250 {
			<-started
		}
		if i%10 == 9 {
			_, err := s.Delete(ctx, fmt.Append(nil, "k", i%50))
			require.NoError(t, err)
			put(t, s, fmt.Sprint("k", i%50), "again", 0)
			continue
		}
		put(t, s, fmt.Sprint("k", i%50), "new", 0)
	}
	stats, err := s.Stats()
	require.NoError(t, err)
	require.Equal(t, uint64(50+450+2*50), stats.Revision)
	state := <-done
	want := map[string]uint64{}
	for r, err := range s.All(ctx, nil) {
		require.NoError(t, err)
		if r.Revision <= 550 {
			want[string(r.Key)] = r.Revision
		}
	}
	require.NotEmpty(t, want)
	for k, rev := range want {
		require.Equal(t, rev, state[k], k)
	}
}

func TestAWatchThatFallsBehindIsToldSo(t *testing.T) {
	h := newTestStore(t)
	s := h.space("a", "words") // keeps 64 changes
	for i := range 200 {
		put(t, s, fmt.Sprint(i%3), "v", 0)
	}
	list := changes(t, s, 5, 200)
	require.Equal(t, []string{"resync 5", "put 199", "put 200"}, list[:3])
	require.Equal(t, []string{"put 150", "put 151"}, changes(t, s, 149, 151), "what the log keeps is told")
	require.Equal(t, "resync 201", changes(t, s, 201, 200)[0], "what is not there yet is no place to go on from")
	stats, err := s.Stats()
	require.NoError(t, err)
	require.GreaterOrEqual(t, stats.Revision-stats.Floor, uint64(64))
	require.Equal(t, int(stats.Revision-stats.Floor), h.count(ShapeLog))
}

func TestALogGrowsByASixtyFourthBeforeItIsTrimmed(t *testing.T) {
	h := newTestStore(t, Type{System: SystemTest, Space: "plain", Log: 256})
	s := h.space("a", "plain")
	floors := map[uint64]bool{}
	for n := range uint64(300) {
		put(t, s, "k", fmt.Sprint(n), 0)
		stats, err := s.Stats()
		require.NoError(t, err)
		require.Equal(t, n+1, stats.Revision)
		require.GreaterOrEqual(t, stats.Revision-stats.Floor, min(stats.Revision, 256))
		require.Less(t, stats.Revision-stats.Floor, uint64(256+4))
		floors[stats.Floor] = true
	}
	require.Len(t, floors, 1+44/4, "none, and what is trimmed at a time")
	require.Equal(t, 256, h.count(ShapeLog))
}

func TestAWatchEndsWithItsContextItsStoreAndItsSpace(t *testing.T) {
	h := newTestStore(t)
	s := h.space("a", "plain")
	end := func(ctx context.Context, how func()) error {
		got := make(chan error, 1)
		go func() {
			for e, err := range s.Watch(ctx, WatchOptions{Start: FromNow}) {
				if e.Kind != EventSynced {
					got <- err
				}
			}
		}()
		until(t, "watching", func() bool { return h.notifier.listeners.Load() == 1 })
		how()
		defer until(t, "over", func() bool { return h.notifier.listeners.Load() == 0 })
		return <-got
	}
	over, cancel := context.WithCancel(ctx)
	require.ErrorIs(t, end(over, cancel), context.Canceled)
	require.ErrorIs(t, end(ctx, func() {
		_, err := h.DropTenant(ctx, "a")
		require.NoError(t, err)
	}), ErrSpaceNotFound)
	s = h.space("a", "plain")
	require.ErrorIs(t, end(ctx, func() { require.NoError(t, h.Close()) }), ErrClosed)
}

// The drop comes after the space was found and before anything waits for a notice.
func TestADropThatNobodyHearsEndsWhatWatches(t *testing.T) {
	h := newTestStore(t)
	within, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	drop := func() {
		_, err := h.DropTenant(ctx, "a")
		require.NoError(t, err)
	}
	var last error
	for _, err := range h.space("a", "plain").Watch(within, WatchOptions{Start: FromNow}) {
		if last = err; err == nil {
			drop()
		}
	}
	require.ErrorIs(t, last, ErrSpaceNotFound)

	s := h.space("a", "plain")
	require.NoError(t, s.Update(ctx, engine.WAL, func(tx *Tx) error {
		_, err := tx.Append("stream", []byte("1"), StreamLimits{})
		return err
	}))
	for _, err := range s.Follow(within, "stream", 0) {
		if last = err; err == nil {
			drop()
		}
	}
	require.ErrorIs(t, last, ErrSpaceNotFound)
}

// Long values are not in the log: a watcher that is late hears of the last one.
func TestLongValuesAreWatched(t *testing.T) {
	for _, space := range []string{"plain", "words"} {
		h := newTestStore(t)
		s := h.space("a", space)
		long := strings.Repeat("x ", MaxInline)
		put(t, s, "k", long, 0)
		put(t, s, "k", long+"2", 0)
		put(t, s, "l", "short", 0)
		var got []string
		for e, err := range s.Watch(ctx, WatchOptions{Start: FromRevision}) {
			require.NoError(t, err)
			got = append(got, string(e.Record.Value))
			if e.Revision == 3 {
				break
			}
		}
		want := []string{long, long + "2", "short"}
		if space == "plain" {
			want = want[1:]
		}
		require.Equal(t, want, got)
	}
}

// Of a type that says so, the log holds longer values, and what a value was that is gone.
func TestTheLogSaysWhatAValueWas(t *testing.T) {
	h := newTestStore(t, Type{System: SystemTest, Space: "plain", Inline: 2 * MaxInline, Last: true})
	s := h.space("a", "plain")
	long, longer := strings.Repeat("x", 2*MaxInline), strings.Repeat("x", 2*MaxInline+1)
	put(t, s, "k", long, 0)
	put(t, s, "k", "short", time.Second)
	h.clock.Pass(2 * time.Second)
	h.later("expired", func() bool { return h.count(ShapeRecord) == 0 })
	put(t, s, "k", longer, 0)
	for range 2 {
		_, err := s.Delete(ctx, []byte("k"))
		require.NoError(t, err)
	}
	type event struct {
		kind  EventKind
		value string
	}
	var got []event
	for e, err := range s.Watch(ctx, WatchOptions{Start: FromRevision}) {
		require.NoError(t, err)
		got = append(got, event{e.Kind, string(e.Record.Value)})
		if e.Revision == 5 {
			break
		}
	}
	// The fourth, whose value is not in the log, is left out.
	require.Equal(t, []event{{EventPut, long}, {EventPut, "short"}, {EventExpire, "short"}, {EventDelete, ""}}, got)
	stats, err := s.Stats()
	require.NoError(t, err)
	require.Zero(t, stats.Bytes)
	require.ErrorIs(t, h.Declare(Type{System: SystemTest, Space: "plain", Inline: -1}), ErrInvalidArgument)
}

func TestTimersGoByTheClockOfTheStore(t *testing.T) {
	h := newTestStore(t)
	fired, stop := h.Timer(h.Now().Add(time.Minute))
	defer stop()
	h.clock.Pass(time.Minute - 1)
	require.Empty(t, fired)
	h.clock.Pass(1)
	require.Len(t, fired, 1)
}

// told returns what a watch tells, as kind, revision and key, until it has told
// n events.
func told(t *testing.T, s *Space, o WatchOptions, n int) (list []string) {
	for e, err := range s.Watch(ctx, o) {
		require.NoError(t, err)
		if list = append(list, strings.TrimSpace(fmt.Sprintf("%s %d %s", e.Kind, e.Revision, e.Record.Key))); len(list) == n {
			break
		}
	}
	return list
}

func TestAWatchSaysOnceThatItHasCaughtUp(t *testing.T) {
	h := newTestStore(t)
	s := h.space("a", "plain")
	for _, key := range []string{"a1", "b1", "a2"} {
		put(t, s, key, "v", 0)
	}
	now := WatchOptions{Start: FromNow}
	for e, err := range s.Watch(ctx, now) {
		require.NoError(t, err)
		if e.Kind == EventSynced { // it has begun: what is put now is told
			require.Equal(t, uint64(3), e.Revision)
			put(t, s, "a3", "v", 0)
			continue
		}
		require.Equal(t, uint64(4), e.Revision)
		break
	}
	require.Equal(t, []string{"put 2 b1", "synced 4"}, told(t, s, WatchOptions{Start: FromRevision, After: 1, Prefix: []byte("b")}, 2),
		"behind changes that are not watched too")
	require.Equal(t, []string{"synced 4"}, told(t, s, WatchOptions{Start: FromRevision, After: 4}, 1), "there is nothing to catch up with")
	require.Equal(t, []string{"resync 9", "put 1 a1", "put 3 a2", "put 4 a3", "put 2 b1", "synced 4"}, told(t, s, WatchOptions{Start: FromRevision, After: 9}, 6))
	n := 0
	for e, err := range s.Watch(ctx, WatchOptions{Start: FromRevision, After: 3}) {
		require.NoError(t, err)
		if n++; e.Kind == EventSynced {
			put(t, s, "b2", "v", 0)
		}
		if n == 4 {
			break
		}
		require.Equal(t, n == 2, e.Kind == EventSynced)
		if n == 3 {
			put(t, s, "b3", "v", 0)
		}
	}
}

func TestAWatchOfSeveralPrefixesTellsEachChangeOnce(t *testing.T) {
	h := newTestStore(t)
	s := h.space("a", "plain")
	for _, key := range []string{"x/b", "x/a1", "y", "x/a2", "x/c"} {
		put(t, s, key, "v", 0)
	}
	prefixes := func(list ...string) (all [][]byte) {
		for _, p := range list {
			all = append(all, []byte(p))
		}
		return all
	}
	o := WatchOptions{Prefix: []byte("x/"), Prefixes: prefixes("x/c", "x/a", "x/a1", "y", "x/a2", "x/a")}
	require.Equal(t, []string{"put 2 x/a1", "put 4 x/a2", "put 5 x/c", "synced 5"}, told(t, s, o, 4))
	o.Start = FromRevision
	require.Equal(t, []string{"put 2 x/a1", "put 4 x/a2", "put 5 x/c", "synced 5"}, told(t, s, o, 4))
	o = WatchOptions{Prefix: []byte("x/a"), Prefixes: prefixes("x/", "y")}
	require.Equal(t, []string{"put 2 x/a1", "put 4 x/a2", "synced 5"}, told(t, s, o, 3))
	require.Equal(t, []string{"synced 5"}, told(t, s, WatchOptions{Prefix: []byte("z"), Prefixes: prefixes("y")}, 1))
	for _, err := range s.Watch(ctx, WatchOptions{Prefixes: make([][]byte, MaxPrefixes+1)}) {
		require.ErrorIs(t, err, ErrInvalidArgument)
	}
}

// A watcher that does not read holds up nobody.
func TestASlowWatcherBlocksNobody(t *testing.T) {
	h := newTestStore(t)
	s := h.space("a", "words")
	put(t, s, "k", "v", 0)
	saw, goOn := make(chan Event), make(chan struct{})
	slow, stop := context.WithCancel(ctx)
	go func() {
		defer close(saw)
		for e, err := range s.Watch(slow, WatchOptions{Start: FromRevision}) {
			if err != nil {
				return
			}
			saw <- e
			<-goOn
		}
	}()
	require.Equal(t, uint64(1), (<-saw).Revision)
	goOn <- struct{}{}
	require.Equal(t, EventSynced, (<-saw).Kind)
	for i := range 300 {
		put(t, s, "k", fmt.Sprint(i), 0)
	}
	goOn <- struct{}{}
	kinds := []EventKind{(<-saw).Kind}
	goOn <- struct{}{}
	e := <-saw
	kinds = append(kinds, e.Kind)
	require.Equal(t, []EventKind{EventResync, EventPut}, kinds)
	require.Equal(t, "299", string(e.Record.Value))
	stop()
	goOn <- struct{}{}
	for range saw {
		goOn <- struct{}{}
	}
}

func TestJobsAreDoneOnceInTheBatchThatRemovesThem(t *testing.T) {
	var tries atomic.Int32
	typ := Type{System: SystemTest, Space: "jobs"}
	typ.Job = func(tx *Tx, j Job) error {
		if tries.Add(1) == 2 {
			return errors.New("not yet")
		}
		_, err := tx.Put([]byte(j.Name), j.Payload, PutOptions{})
		return err
	}
	h := newTestStore(t, typ)
	s := h.space("a", "jobs")
	schedule := func(name string, in time.Duration) {
		require.NoError(t, s.Update(ctx, engine.Synced, func(tx *Tx) error {
			return tx.Schedule(name, tx.Now().Add(in), []byte("do "+name))
		}))
	}
	schedule("one", time.Hour)
	schedule("one", time.Minute)
	schedule("never", time.Minute)
	require.NoError(t, s.Update(ctx, engine.Synced, func(tx *Tx) error {
		was, err := tx.Cancel("never")
		require.True(t, was)
		return err
	}))
	h.clock.Pass(time.Minute)
	h.later("done", func() bool { return value(t, s, "one") == "do one" })
	require.Zero(t, h.count(ShapeJob)+h.count(ShapeDue))
	schedule("two", time.Second)
	h.clock.Pass(time.Second)
	h.later("tried", func() bool { return tries.Load() == 2 })
	h.later("done", func() bool { return value(t, s, "two") == "do two" })
	require.Equal(t, "-", value(t, s, "never"))
	h.sound()
}

// A row of the line that nothing stands behind goes; one that a job puts there again
// stays.
func TestARowOfTheLineStaysOnlyIfItStandsForSomething(t *testing.T) {
	typ := Type{System: SystemTest, Space: "jobs"}
	typ.Job = func(tx *Tx, j Job) error { return tx.Schedule(j.Name, j.Due, j.Payload) }
	h := newTestStore(t, typ)
	s := h.space("a", "jobs")
	at := uint64(h.Store.Now().Add(time.Hour).UnixMilli())
	require.NoError(t, s.Update(ctx, engine.Synced, func(tx *Tx) error { return tx.Schedule("again", timeOf(at), nil) }))
	require.NoError(t, h.update(ctx, engine.Synced, func(u *unit) error {
		for _, name := range []string{"again", "none"} {
			if err := u.settle(Row{Shape: ShapeDue, Due: at, Of: s.scope, Kind: byte(ShapeJob), Key: []byte(name)}); err != nil {
				return err
			}
		}
		return nil
	}))
	require.Equal(t, 1, h.count(ShapeDue))
	h.sound()

	orphan := Row{Shape: ShapeDue, Due: at, Of: s.scope, Kind: byte(ShapeRecord), Key: []byte("none")}
	var b engine.Batch
	b.Put(column.Generic, orphan.AppendKey(nil), nil)
	require.NoError(t, h.db.Apply(&b))
	require.NoError(t, h.update(ctx, engine.Synced, func(u *unit) error { return u.settle(orphan) }))
	require.Equal(t, 1, h.count(ShapeDue))
	h.sound()
}

func TestAJobIsNotDoneBeforeItsTime(t *testing.T) {
	s := newTestStore(t, Type{System: SystemTest, Space: "jobs"}).space("a", "jobs")
	for _, after := range []time.Duration{0, 1, time.Millisecond / 2, time.Millisecond - 1, time.Millisecond} {
		require.NoError(t, s.Update(ctx, engine.Synced, func(tx *Tx) error {
			at := timeOf(uint64(tx.Now().UnixMilli())).Add(after)
			require.NoError(t, tx.Schedule("job", at, nil))
			j, err := tx.job("job")
			require.NoError(t, err)
			require.False(t, j.Due.Before(at), "%s after", after)
			require.Less(t, j.Due.Sub(at), time.Millisecond)
			return nil
		}))
	}
}
