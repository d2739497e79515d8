package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv/kvtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ctx = context.Background()

// words indexes records by the words of their values, and by their first byte.
var words = Type{System: SystemTest, Space: "words", Indexes: []Index{
	{Number: 1, Name: "word", Terms: func(_, value []byte) [][]byte { return bytes.Fields(value) }},
	{Number: 2, Name: "first", Terms: func(_, value []byte) [][]byte { return [][]byte{value[:min(1, len(value))]} }},
	{Number: 3, Name: "key", Keys: true},
}, History: 3, Log: 64}

// plain has the defaults.
var plain = Type{System: SystemTest, Space: "plain"}

// testStore is a store on an engine in memory with a clock by hand.
type testStore struct {
	t     testing.TB
	db    engine.Engine
	clock *kvtest.Clock
	*Store
}

func newTestStore(t testing.TB, types ...Type) *testStore {
	db := mem.New()
	t.Cleanup(func() { _ = db.Close() })
	return openTestStore(t, db, kvtest.New(), types...)
}

// openTestStore opens a store, and checks and closes it after the test.
func openTestStore(t testing.TB, db engine.Engine, clock *kvtest.Clock, types ...Type) *testStore {
	if len(types) == 0 {
		types = []Type{words, plain}
	}
	s, err := Open(db, Options{Types: types, Clock: clock, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	h := &testStore{t, db, clock, s}
	t.Cleanup(func() {
		if s.open() == nil {
			h.sound()
			require.NoError(t, s.Close())
		}
	})
	return h
}

// reopen is the next process.
func (h *testStore) reopen(types ...Type) *testStore {
	require.NoError(h.t, h.Close())
	return openTestStore(h.t, h.db, h.clock, types...)
}

func (h *testStore) space(tenant, space string) *Space {
	s, err := h.CreateSpace(ctx, tenant, SystemTest, space, Quota{})
	require.NoError(h.t, err)
	return s
}

// sound runs the check.
func (h *testStore) sound() {
	for f, err := range h.Check(ctx) {
		require.NoError(h.t, err)
		require.Fail(h.t, "the check finds", f.String())
	}
}

// rows counts the rows of a shape in the whole store.
func (h *testStore) count(shape Shape) int {
	n := 0
	for row, err := range scanRows(ctx, h.db, engine.Range{Start: []byte{0}, End: []byte{1}}) {
		require.NoError(h.t, err)
		if row.Shape == shape {
			n++
		}
	}
	return n
}

// until waits for what the background does.
func until(t testing.TB, what string, done func() bool) {
	t.Helper()
	require.Eventually(t, done, time.Minute, time.Millisecond, what)
}

// later lets time pass until the sweep has done what it does.
func (h *testStore) later(what string, done func() bool) {
	h.t.Helper()
	require.True(h.t, h.clock.Until(done), what)
}

func value(t testing.TB, s *Space, key string) string {
	r, err := s.Get([]byte(key))
	if errors.Is(err, ErrNotFound) {
		return "-"
	}
	require.NoError(t, err)
	return string(r.Value)
}

func put(t testing.TB, s *Space, key, value string, ttl time.Duration) Record {
	r, err := s.Put(ctx, []byte(key), []byte(value), PutOptions{TTL: ttl})
	require.NoError(t, err)
	return r
}

func TestRecordsHaveRevisions(t *testing.T) {
	h := newTestStore(t)
	s := h.space("a", "plain")
	require.Equal(t, uint64(1), put(t, s, "k", "1", 0).Revision)
	require.Equal(t, uint64(2), put(t, s, "other", "2", 0).Revision)
	require.Equal(t, uint64(3), put(t, s, "k", "3", 0).Revision)
	r, err := s.Get([]byte("k"))
	require.NoError(t, err)
	require.Equal(t, uint64(1), r.Created)
	require.Equal(t, "3", string(r.Value))
	require.Equal(t, h.clock.Now(), r.Written)
	existed, err := s.Delete(ctx, []byte("k"))
	require.NoError(t, err)
	require.True(t, existed)
	existed, err = s.Delete(ctx, []byte("k"))
	require.NoError(t, err)
	require.False(t, existed)
	require.Equal(t, uint64(5), put(t, s, "k", "", 0).Created)
	stats, err := s.Stats()
	require.NoError(t, err)
	require.Equal(t, Stats{Revision: 5, Keys: 2, Bytes: 1 + 5 + 1}, stats)
}

func TestATransactionSeesItsOwnChangesAndLandsWhole(t *testing.T) {
	h := newTestStore(t)
	s := h.space("a", "words")
	failed := errors.New("no")
	err := s.Update(ctx, engine.WAL, func(tx *Tx) error {
		for i := range 40 { // more than are searched one by one
			_, err := tx.Put(fmt.Append(nil, i), []byte("one two"), PutOptions{})
			require.NoError(t, err)
		}
		r, err := tx.Get([]byte("7"))
		require.NoError(t, err)
		require.Equal(t, uint64(8), r.Revision)
		_, err = tx.Delete([]byte("7"))
		require.NoError(t, err)
		_, err = tx.Get([]byte("7"))
		require.ErrorIs(t, err, ErrNotFound)
		return failed
	})
	require.ErrorIs(t, err, failed)
	require.Zero(t, h.count(ShapeRecord)+h.count(ShapeLog)+h.count(ShapeIndex))
}

func TestExpiredIsAbsentAtOnceAndSweptSoon(t *testing.T) {
	h := newTestStore(t)
	s := h.space("a", "words")
	r := put(t, s, "k", "some words", 2*time.Second)
	require.Equal(t, h.clock.Now().Add(2*time.Second+time.Millisecond), r.Expires)
	h.clock.Pass(2 * time.Second)
	require.Equal(t, "some words", value(t, s, "k"), "not before its time")
	h.clock.Pass(time.Millisecond)
	require.Equal(t, "-", value(t, s, "k"))
	page, err := s.List(ctx, ListOptions{})
	require.NoError(t, err)
	require.Empty(t, page.Records)
	h.later("swept", func() bool { return h.count(ShapeRecord)+h.count(ShapeDue)+h.count(ShapeIndex) == 0 })
	stats, err := s.Stats()
	require.NoError(t, err)
	require.Equal(t, uint64(2), stats.Revision, "its expiry is a change")
	require.Zero(t, stats.Keys+stats.Bytes)
}

func TestANewExpiryReplacesTheOldOne(t *testing.T) {
	h := newTestStore(t)
	s := h.space("a", "plain")
	put(t, s, "k", "1", time.Second)
	put(t, s, "k", "2", time.Hour)
	put(t, s, "l", "1", time.Second)
	put(t, s, "l", "2", 0)
	r, err := s.Put(ctx, []byte("k"), []byte("3"), PutOptions{KeepTTL: true})
	require.NoError(t, err)
	require.Equal(t, time.Hour+time.Millisecond, r.Expires.Sub(h.clock.Now()))
	require.Equal(t, 1, h.count(ShapeDue))
	h.clock.Pass(time.Minute)
	require.Equal(t, "3 2", value(t, s, "k")+" "+value(t, s, "l"))
	require.NoError(t, s.Update(ctx, engine.Synced, func(tx *Tx) error {
		r, err := tx.Touch([]byte("k"), 0)
		require.True(t, r.Expires.IsZero())
		require.Equal(t, "3", string(r.Value))
		return err
	}))
	require.Zero(t, h.count(ShapeDue))
}

// What expired is an event of its own, before the put that takes its place,
// whether or not the sweep came first.
func TestAPutOnAnExpiredRecordComesAfterItsExpiry(t *testing.T) {
	h := newTestStore(t)
	s := h.space("a", "plain")
	put(t, s, "k", "1", time.Second)
	h.clock.Oversleep(time.Minute) // nobody wakes the sweep
	r := put(t, s, "k", "2", 0)
	require.Equal(t, uint64(3), r.Revision)
	require.Equal(t, uint64(3), r.Created)
	require.Equal(t, []string{"put 1", "expire 2", "put 3"}, changes(t, s, 0, 3))
}

func TestX08LazyAndBackgroundExpiry(t *testing.T) {
	h := newTestStore(t)
	s := h.space("a", "plain")
	put(t, s, "k", "v", 2*time.Second)
	require.Equal(t, 1, h.count(ShapeRecord))
	heard := make(chan Event, 8)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		for e, err := range s.Watch(watching, WatchOptions{Start: FromNow}) {
			if err == nil {
				heard <- e
			}
		}
		close(heard)
	}()
	require.Equal(t, EventSynced, (<-heard).Kind, "the watch has begun")
	h.clock.Pass(2*time.Second + time.Millisecond)
	h.later("swept", func() bool { return len(heard) > 0 })
	e := <-heard
	require.Equal(t, EventExpire, e.Kind)
	require.Equal(t, "k", string(e.Record.Key))
	require.Zero(t, h.count(ShapeRecord))
	stop()
	for range heard {
		require.Fail(t, "one event")
	}
}

func TestX09ExpiryWhileDown(t *testing.T) {
	h := newTestStore(t)
	s := h.space("a", "plain")
	put(t, s, "k", "v", 2*time.Second)
	require.NoError(t, h.Close())
	h.clock.Pass(5 * time.Second)
	h = openTestStore(t, h.db, h.clock)
	s = h.space("a", "plain")
	require.Equal(t, "-", value(t, s, "k"))
	h.later("swept", func() bool { return h.count(ShapeRecord) == 0 })
	require.Equal(t, []string{"put 1", "expire 2"}, changes(t, s, 0, 2))
	h = h.reopen()
	require.Equal(t, uint64(3), put(t, h.space("a", "plain"), "l", "", 0).Revision, "it expired once")
}

func TestX10TheClockStepsBack(t *testing.T) {
	h := newTestStore(t)
	s := h.space("a", "plain")
	put(t, s, "soon", "v", time.Second)
	put(t, s, "later", "v", time.Minute)
	h.clock.Pass(2 * time.Second)
	h.clock.Set(-10 * time.Minute)
	require.Equal(t, "-", value(t, s, "soon"))
	h.later("swept", func() bool { return h.count(ShapeRecord) == 1 })
	require.Equal(t, uint64(4), put(t, s, "new", "v", 30*time.Second).Revision)
	h.clock.Pass(31 * time.Second)
	require.Equal(t, "-", value(t, s, "new"), "a time to live is as long as ever")
	require.Equal(t, "v", value(t, s, "later"))
	h.later("swept", func() bool { return h.count(ShapeRecord) == 1 })
	h = h.reopen()
	s = h.space("a", "plain")
	require.Equal(t, "v", value(t, s, "later"))
	require.Equal(t, uint64(6), put(t, s, "new", "v", 0).Revision)
	h.clock.Pass(time.Minute)
	require.Equal(t, "-", value(t, s, "later"), "nor does a restart give it time")
}

// A store that was read with a time of day far ahead, and was restarted with the
// right one, goes on from the latest time that something expired at.
func TestTheTimeOutlivesTheProcess(t *testing.T) {
	h := newTestStore(t)
	s := h.space("a", "plain")
	put(t, s, "gone", "v", time.Hour)
	put(t, s, "k", "v", 2*time.Hour)
	h.clock.Set(61 * time.Minute)
	h.later("swept", func() bool { return h.count(ShapeRecord) == 1 })
	h.clock.Set(-3 * time.Hour)
	h = h.reopen()
	r := put(t, h.space("a", "plain"), "new", "v", 0)
	require.False(t, r.Written.Before(h.clock.Now().Add(2*time.Hour)), "%s", r.Written)
}

func TestTheHouseKeepsToItsScopeOfGeneric(t *testing.T) {
	h := newTestStore(t)
	var foreign engine.Batch
	foreign.Put(column.Generic, append([]byte("sse-sessions\x00\x00\x00\x00"), make([]byte, 32)...), []byte("x"))
	require.NoError(t, h.db.Apply(&foreign))
	put(t, h.space("a", "words"), "k", "v", time.Hour)
	stats, err := h.db.Stats()
	require.NoError(t, err)
	for _, c := range stats.Columns {
		require.Equal(t, c.Column == column.Generic, c.Keys > 0, "%s", c.Column)
	}
}

func TestClosedAndUndeclared(t *testing.T) {
	h := newTestStore(t)
	_, err := h.Space("a", SystemTest, "nothing")
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = h.Space("a", SystemTest, "plain")
	require.ErrorIs(t, err, ErrSpaceNotFound)
	s := h.space("a", "plain")
	require.NoError(t, h.Close())
	require.ErrorIs(t, h.Close(), ErrClosed)
	_, err = s.Get([]byte("k"))
	require.ErrorIs(t, err, ErrClosed)
	_, err = s.Put(ctx, nil, nil, PutOptions{})
	require.ErrorIs(t, err, ErrClosed)
	for _, bad := range []Type{{Space: "x"}, {System: 1}, {System: 1, Space: "x", History: 65}, {System: 1, Space: "x", Log: -1}, {System: 1, Space: "x", Indexes: []Index{{}}}, {System: 1, Space: "x", Indexes: []Index{{Keys: true, Terms: words.Indexes[0].Terms}}}} {
		require.ErrorIs(t, bad.check(), ErrInvalidArgument, "%+v", bad)
	}
}

func TestLimitsOfKeysValuesAndTimesToLive(t *testing.T) {
	s := newTestStore(t).space("a", "plain")
	_, err := s.Put(ctx, make([]byte, MaxKey), nil, PutOptions{TTL: maxTTL})
	require.NoError(t, err)
	_, err = s.Put(ctx, make([]byte, MaxKey+1), nil, PutOptions{})
	require.ErrorIs(t, err, ErrKeyTooLarge)
	_, err = s.Put(ctx, nil, make([]byte, MaxValue+1), PutOptions{})
	require.ErrorIs(t, err, ErrValueTooLarge)
	for _, ttl := range []time.Duration{-1, maxTTL + 1} {
		_, err = s.Put(ctx, nil, nil, PutOptions{TTL: ttl})
		require.ErrorIs(t, err, ErrInvalidArgument)
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	_, err = s.Put(done, nil, nil, PutOptions{})
	require.ErrorIs(t, err, context.Canceled)
}

// A type that gets its number, or is declared anew, has its own spaces opened again, and
// no others.
func TestSpacesOfOtherTypesStayRemembered(t *testing.T) {
	h := newTestStore(t)
	s := h.space("a", "words")
	require.Same(t, s, h.Remembered("a", SystemTest, "words"))
	p := h.space("a", "plain")
	require.Same(t, s, h.Remembered("a", SystemTest, "words"))
	again := words
	again.History = 1
	require.NoError(t, h.Declare(again))
	require.Nil(t, h.Remembered("a", SystemTest, "words"))
	require.Same(t, p, h.Remembered("a", SystemTest, "plain"))
	for _, value := range []string{"x", "y"} {
		put(t, h.space("a", "words"), "k", value, 0)
	}
	view, err := h.space("a", "words").View()
	require.NoError(t, err)
	defer func() { require.NoError(t, view.Close()) }()
	history, err := view.History([]byte("k"))
	require.NoError(t, err)
	require.Len(t, history, 1, "by the declaration that is the last")
}
