package kv

import (
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv/kvtest"
)

// scanned counts how often something is read of an engine.
type scanned struct {
	engine.Engine
	scans atomic.Int64
}

func (s *scanned) Iterate(col column.Column, r engine.Range) (*engine.Iterator, error) {
	s.scans.Add(1)
	return s.Engine.Iterate(col, r)
}

// watcherOf is a watch from now on, of which next returns what it tells next.
func watcherOf(t testing.TB, s *Space, o WatchOptions) (next func() string) {
	pull, stop := iter.Pull2(s.Watch(ctx, o))
	t.Cleanup(stop)
	next = func() string {
		e, err, _ := pull()
		require.NoError(t, err)
		return fmt.Sprint(e.Kind, " ", e.Revision, " ", string(e.Record.Key))
	}
	if o.Start == FromNow {
		require.Contains(t, next(), "synced")
	}
	return next
}

func TestWatchersReadTheLogTogether(t *testing.T) {
	db := &scanned{Engine: mem.New()}
	t.Cleanup(func() { _ = db.Close() })
	s := openTestStore(t, db, kvtest.New()).space("a", "plain")
	var watchers []func() string
	for range 50 {
		watchers = append(watchers, watcherOf(t, s, WatchOptions{Start: FromNow}))
	}
	put(t, s, "k0", "v", 0)
	for _, next := range watchers {
		require.Equal(t, "put 1 k0", next())
	}
	for round := range 10 {
		before := db.scans.Load()
		put(t, s, fmt.Sprint("k", round), "v", 0)
		for _, next := range watchers {
			require.Equal(t, fmt.Sprintf("put %d k%d", round+2, round), next())
		}
		require.LessOrEqual(t, db.scans.Load()-before, int64(2), "one of them reads for all")
	}
}

// One that takes nothing for a while has what the others have, be it still at hand or not.
func TestAWatcherThatIsBehindMissesNothing(t *testing.T) {
	h := newTestStore(t, Type{System: SystemTest, Space: "plain", Log: 1 << 20})
	s := h.space("a", "plain")
	quick, slow := watcherOf(t, s, WatchOptions{Start: FromNow}), watcherOf(t, s, WatchOptions{Start: FromNow})
	told, wrote := 0, 0
	for _, n := range []int{1, 2, watchPage - 1, watchPage, watchPage + 1, 3 * watchPage, 3*watchPage + 5, 1} {
		for range n {
			wrote++
			put(t, s, fmt.Sprint("k", wrote%7), "v", 0)
			if n != watchPage+1 { // once neither takes anything
				require.Equal(t, fmt.Sprintf("put %d k%d", wrote, wrote%7), quick())
				told++
			}
		}
		for told < wrote {
			told++
			require.Equal(t, fmt.Sprintf("put %d k%d", told, told%7), quick())
		}
		for at := wrote - n + 1; at <= wrote; at++ {
			require.Equal(t, fmt.Sprintf("put %d k%d", at, at%7), slow())
		}
		late := watcherOf(t, s, WatchOptions{Start: FromRevision, After: uint64(wrote - n)})
		require.Equal(t, fmt.Sprintf("put %d k%d", wrote-n+1, (wrote-n+1)%7), late())
	}
}

// What is kept for the watchers is bounded, however long the values are; and nothing is for one alone.
func TestTheTailOfALogIsBounded(t *testing.T) {
	s := newTestStore(t).space("a", "plain")
	next := watcherOf(t, s, WatchOptions{Start: FromNow})
	topic := s.store.notifier.subscribe(s.scope)
	for i, size := range []int{1, 10, 1000, 10_000, 200_000, 1 << 20, 100_000, 100_000, 100_000, 100_000, 1} {
		put(t, s, "long", strings.Repeat("v", size), 0)
		require.Equal(t, fmt.Sprintf("put %d long", i+1), next())
		kept := &topic.tail
		sum := 0
		for i := range kept.changes {
			sum += kept.changes[i].size()
		}
		require.Equal(t, sum, kept.bytes)
		require.True(t, len(kept.changes) == 1 || sum <= tailBytes, "%d changes of %d bytes", len(kept.changes), sum)
		require.Equal(t, uint64(i+1), kept.from+uint64(len(kept.changes)), "it ends where the log does")
	}
	for range 3 * watchPage {
		put(t, s, "short", "v", 0)
		_ = next()
		require.LessOrEqual(t, len(topic.tail.changes), watchPage)
	}
	require.NotEmpty(t, topic.tail.changes)
	s.store.notifier.leave(topic)
	for range 2 {
		put(t, s, "short", "v", 0)
		_ = next()
		require.Empty(t, topic.tail.changes)
	}
}
