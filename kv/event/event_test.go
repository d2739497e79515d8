package event

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ctx = context.Background()

// tester is a test, or a case of a property.
type tester interface {
	require.TestingT
	Helper()
}

// host is the streams of tenant t on an engine in memory with a clock by hand.
type host struct {
	t     tester
	db    engine.Engine
	clock *kvtest.Clock
	kv    *kv.Store
	store *Store
	ended bool
	*Feed
}

func newHost(t testing.TB, o Options) *host {
	db := mem.New()
	h := openHost(t, db, kvtest.New(), o)
	t.Cleanup(func() {
		h.end()
		_ = db.Close()
	})
	return h
}

func openHost(t tester, db engine.Engine, clock *kvtest.Clock, o Options) *host {
	store, err := kv.Open(db, kv.Options{Clock: clock, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	s, err := New(store, o)
	require.NoError(t, err)
	f, err := s.Open(ctx, "t")
	require.NoError(t, err)
	return &host{t: t, db: db, clock: clock, kv: store, store: s, Feed: f}
}

// end checks and closes everything but the engine, once.
func (h *host) end() {
	if h.ended {
		return
	}
	h.ended = true
	for f, err := range h.kv.Check(ctx) {
		require.NoError(h.t, err)
		require.Fail(h.t, "the check finds", f.String())
	}
	require.NoError(h.t, h.kv.Close())
}

// reopen is the next process.
func (h *host) reopen() {
	h.end()
	*h = *openHost(h.t, h.db, h.clock, Options{Keep: h.store.keep})
}

// add adds events of some names.
func (h *host) add(stream string, names ...string) []ID {
	h.t.Helper()
	var events []Event
	for _, name := range names {
		events = append(events, Event{Name: name, Payload: json.RawMessage(`{"a":1}`), Source: "s"})
	}
	ids, err := h.Publish(ctx, engine.WAL, stream, events)
	require.NoError(h.t, err)
	return ids
}

// names are those of entries, in a line.
func names(list []Entry) string {
	var all []string
	for _, e := range list {
		all = append(all, e.Name)
	}
	return strings.Join(all, " ")
}

func (h *host) ranged(o RangeOptions) string {
	h.t.Helper()
	list, err := h.Range(ctx, Task, o)
	require.NoError(h.t, err)
	return names(list)
}

func TestA77AnEntryAndItsID(t *testing.T) {
	h := newHost(t, Options{})
	payload := json.RawMessage(`{"task_id":"1","from":"DRAFT","to":"SUBMITTED"}`)
	ids, err := h.Publish(ctx, engine.Synced, Task, []Event{{"task:state_changed", payload, "api-server-01"}, {Name: "bare"}})
	require.NoError(t, err)
	at := uint64(h.clock.Now().UnixMilli())
	require.Equal(t, []ID{{at, 1}, {at, 2}}, ids)
	shown, err := h.store.Lookup(ctx, "t", "ade:events:task")
	require.NoError(t, err)
	require.JSONEq(t, fmt.Sprintf(`[
		{"id":"%d-1","event":"task:state_changed","timestamp":"2026-03-01T12:00:00Z","payload":%s,"source":"api-server-01"},
		{"id":"%d-2","event":"bare","timestamp":"2026-03-01T12:00:00Z","payload":null,"source":""}]`, at, payload, at), string(shown))
	for _, stream := range Streams() {
		info, err := h.Info(stream)
		require.NoError(t, err)
		want := Info{Stream: stream}
		if stream == Task {
			want = Info{stream, 2, ids[0], ids[1]}
		}
		require.Equal(t, want, info)
	}
}

func TestA77IDsAscendAlsoWhereTheClockStepsBack(t *testing.T) {
	h := newHost(t, Options{})
	last := h.add(Task, "1")[0]
	for _, step := range []time.Duration{-10 * time.Minute, time.Millisecond, -time.Hour, 2 * time.Hour} {
		h.clock.Set(step)
		for range 2 {
			id := h.add(Task, "next")[0]
			require.Positive(t, id.Compare(last))
			require.GreaterOrEqual(t, id.Ms, last.Ms)
			last = id
			h.reopen() // a process that knows the time of day only
		}
	}
	require.Equal(t, "1 next next next next next next next next", h.ranged(RangeOptions{}))
}

func TestA77WhatIsNoEventIsRefused(t *testing.T) {
	h := newHost(t, Options{})
	long := func(n int) string { return strings.Repeat("x", n) }
	for _, c := range []struct {
		stream string
		Event
		code  Code
		field string
	}{
		{"other", Event{Name: "n"}, CodeInvalidArgument, "stream"},
		{Task, Event{}, CodeInvalidArgument, "event"},
		{Task, Event{Name: long(MaxName + 1)}, CodeTooLarge, "event"},
		{Task, Event{Name: "a\n"}, CodeInvalidArgument, "event"},
		{Task, Event{Name: "n", Source: long(MaxSource + 1)}, CodeTooLarge, "source"},
		{Task, Event{Name: "n", Source: "\xff"}, CodeInvalidArgument, "source"},
		{Task, Event{Name: "n", Payload: json.RawMessage(`{`)}, CodeInvalidArgument, "payload"},
		{Task, Event{Name: "n", Payload: json.RawMessage(`"` + long(MaxPayload-1) + `"`)}, CodeTooLarge, "payload"},
	} {
		_, err := h.Publish(ctx, engine.WAL, c.stream, []Event{{Name: "good"}, c.Event})
		var e *Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, []any{c.code, c.field}, []any{e.Code, e.Field})
	}
	_, err := h.Publish(ctx, engine.WAL, Task, make([]Event, MaxBatch+1))
	require.ErrorIs(t, err, ErrTooMany)
	require.Empty(t, h.ranged(RangeOptions{}), "nothing of a batch is written")
	most := Event{Name: long(MaxName), Source: long(MaxSource), Payload: json.RawMessage(`"` + long(MaxPayload-2) + `"`)}
	_, err = h.Publish(ctx, engine.WAL, Task, []Event{most})
	require.NoError(t, err)
}

// An event lands with the change that it tells, or neither does.
func TestA77AnEventInSomebodysBatch(t *testing.T) {
	h := newHost(t, Options{})
	beside := kv.Type{System: kv.SystemTest, Space: "beside"}
	require.NoError(t, h.kv.Declare(beside))
	space, err := h.kv.CreateSpace(ctx, "t", kv.SystemTest, "beside", kv.Quota{})
	require.NoError(t, err)
	change := func(fail error) (id ID, err error) {
		err = h.kv.Update(ctx, engine.WAL, func(w *kv.Work) error {
			tx, err := w.In(space)
			if err != nil {
				return err
			}
			if _, err := tx.Put([]byte("k"), nil, kv.PutOptions{}); err != nil {
				return err
			}
			if id, err = h.Append(w, Task, Event{Name: "one"}); err != nil {
				return err
			}
			ids, err := h.AppendAll(w, Task, []Event{{Name: "two"}, {Name: "three"}})
			require.Equal(t, id.Seq+2, ids[1].Seq)
			if err == nil {
				err = fail
			}
			return err
		})
		return id, err
	}
	_, err = change(fmt.Errorf("no"))
	require.Error(t, err)
	require.Empty(t, h.ranged(RangeOptions{}))
	id, err := change(nil)
	require.NoError(t, err)
	list, err := h.Range(ctx, Task, RangeOptions{})
	require.NoError(t, err)
	require.Equal(t, "one two three", names(list))
	require.Equal(t, id, list[0].ID)
	_, err = h.kv.DropTenant(ctx, "t")
	require.NoError(t, err)
	err = h.kv.Update(ctx, engine.WAL, func(w *kv.Work) error {
		_, err := h.Append(w, Task, Event{Name: "one"})
		return err
	})
	require.ErrorIs(t, err, ErrSpaceNotFound)
	// It is opened again, and begins anew.
	again, err := h.store.Open(ctx, "t")
	require.NoError(t, err)
	ids, err := again.Publish(ctx, engine.WAL, Task, []Event{{Name: "n"}})
	require.NoError(t, err)
	require.EqualValues(t, 1, ids[0].Seq)
}

func TestA78TheNewestAndTheYoungest(t *testing.T) {
	h := newHost(t, Options{})
	for n := range 105 {
		var batch []string
		for i := range 100 {
			batch = append(batch, fmt.Sprint(n*100+i))
		}
		h.add(Task, batch...)
		h.clock.Pass(time.Second)
	}
	info, err := h.Info(Task)
	require.NoError(t, err)
	require.EqualValues(t, Kept, info.Entries)
	list, err := h.Range(ctx, Task, RangeOptions{Limit: kv.MaxPage})
	require.NoError(t, err)
	require.Len(t, list, Kept)
	require.Equal(t, []string{"500", "10499"}, []string{list[0].Name, list[Kept-1].Name})
	// From the millisecond on at which they are too old, whether or not they have been swept.
	h.clock.Oversleep(KeptFor - 100*time.Second - time.Millisecond)
	require.Equal(t, "500", h.ranged(RangeOptions{Limit: 1}))
	h.clock.Oversleep(time.Millisecond)
	require.Equal(t, "600", h.ranged(RangeOptions{Limit: 1}))
	require.Equal(t, "10499", h.ranged(RangeOptions{Limit: 1, Reverse: true}))
	h.clock.Pass(98 * time.Second)
	require.Equal(t, "10400", h.ranged(RangeOptions{Limit: 1}))
	h.add(Task, "new")
	info, err = h.Info(Task)
	require.NoError(t, err)
	require.EqualValues(t, 101, info.Entries)
	h.clock.Oversleep(KeptFor)
	info, err = h.Info(Task)
	require.NoError(t, err)
	require.Equal(t, Info{Stream: Task, Last: info.Last}, info)
}

func TestA79Ranges(t *testing.T) {
	enginetest.Check(t, 100, func(t *rapid.T) {
		db := mem.New()
		h := openHost(t, db, kvtest.New(), Options{Keep: kv.StreamLimits{Entries: 8, Age: time.Minute}})
		defer func() {
			h.end()
			require.NoError(t, db.Close())
		}()
		var model []Entry
		trim := func() {
			model = model[max(len(model)-8, 0):]
			for len(model) > 0 && !h.clock.Now().Before(model[0].ID.Time().Add(time.Minute)) {
				model = model[1:]
			}
		}
		drawID := rapid.Custom(func(t *rapid.T) ID {
			if len(model) > 0 && rapid.Bool().Draw(t, "known") {
				return rapid.SampledFrom(model).Draw(t, "entry").ID
			}
			return ID{uint64(h.clock.Now().UnixMilli() - int64(rapid.IntRange(0, 70_000).Draw(t, "ago"))), rapid.Uint64Range(0, 30).Draw(t, "seq")}
		})
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				for range rapid.IntRange(1, 3).Draw(t, "n") {
					e := Event{Name: "n", Payload: json.RawMessage("1"), Source: "s"}
					ids, err := h.Publish(ctx, engine.WAL, Task, []Event{e})
					require.NoError(t, err)
					model = append(model, Entry{ids[0], e})
				}
			},
			"pass": func(t *rapid.T) {
				h.clock.Pass(time.Duration(rapid.IntRange(0, 20_000).Draw(t, "ms")) * time.Millisecond)
			},
			"": func(t *rapid.T) {
				trim()
				o := RangeOptions{From: drawID.Draw(t, "from"), Limit: rapid.IntRange(1, 10).Draw(t, "limit"), Reverse: rapid.Bool().Draw(t, "reverse")}
				if rapid.Bool().Draw(t, "bounded") {
					o.To = drawID.Draw(t, "to")
				}
				want := []Entry{}
				for i := range model {
					e := model[i]
					if o.Reverse {
						e = model[len(model)-1-i]
					}
					if e.ID.Compare(o.From) >= 0 && (o.To.IsZero() || e.ID.Compare(o.To) <= 0) && len(want) < o.Limit {
						want = append(want, e)
					}
				}
				got, err := h.Range(ctx, Task, o)
				require.NoError(t, err)
				require.Equal(t, want, append([]Entry{}, got...))
			},
		})
	})
}

func TestA79AReadWaitsForAnEntryOrForATime(t *testing.T) {
	h := newHost(t, Options{})
	id := h.add(Task, "1")[0]
	list, err := h.Read(ctx, Task, ReadOptions{})
	require.NoError(t, err)
	require.Equal(t, "1", names(list))
	list, err = h.Read(ctx, Task, ReadOptions{After: id})
	require.NoError(t, err)
	require.Empty(t, list)
	got := make(chan []Entry)
	read := func(wait time.Duration) {
		list, err := h.Read(ctx, Task, ReadOptions{After: id, Wait: wait})
		assert.NoError(t, err)
		got <- list
	}
	go read(MaxWait)
	h.add(Lock, "of another stream")
	h.add(Task, "2")
	require.Equal(t, "2", names(<-got))
	id = h.add(Task, "3")[0]
	begun := h.clock.Now()
	go read(1500 * time.Millisecond)
	var none []Entry
	require.True(t, h.clock.Until(func() bool {
		select {
		case none = <-got:
			return true
		default:
			return false
		}
	}))
	require.Empty(t, none)
	require.GreaterOrEqual(t, h.clock.Now().Sub(begun), 1500*time.Millisecond)
	for _, wait := range []time.Duration{-1, MaxWait + 1} {
		_, err = h.Read(ctx, Task, ReadOptions{Wait: wait})
		require.ErrorIs(t, err, ErrInvalidArgument)
	}
}

func TestA79WhoFollowsIsToldWhatItMissed(t *testing.T) {
	h := newHost(t, Options{Keep: kv.StreamLimits{Entries: 3}})
	first := h.add(Task, "1", "2", "3")[0]
	follow, cancel := context.WithCancel(ctx)
	defer cancel()
	var list []Entry
	for e, err := range h.Follow(follow, Task, first) {
		if err != nil {
			require.ErrorIs(t, err, context.Canceled)
			break
		}
		if list = append(list, e); len(list) == 2 {
			h.add(Task, "4")
		}
		if len(list) == 3 {
			cancel()
		}
	}
	require.Equal(t, "2 3 4", names(list))
	ids := h.add(Task, "5", "6", "7")
	for _, err := range h.Follow(ctx, Task, first) {
		var e *Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, []any{CodeTrimmed, ids[0]}, []any{e.Code, e.First})
	}
	// A moment is not an entry that somebody has read: it is from there on.
	list, err := h.Read(ctx, Task, ReadOptions{After: ID{Ms: first.Ms - 1}})
	require.NoError(t, err)
	require.Equal(t, "5 6 7", names(list))
}

func TestIDsAreSpelledOneWay(t *testing.T) {
	enginetest.Check(t, 200, func(t *rapid.T) {
		id := ID{rapid.Uint64Range(0, maxMs).Draw(t, "ms"), rapid.Uint64().Draw(t, "seq")}
		again, err := ParseID(id.String())
		require.NoError(t, err)
		require.Equal(t, id, again)
	})
	for text, want := range map[string]ID{"": {}, "0": {}, "5": {5, 0}, "5-0": {5, 0}} {
		id, err := ParseID(text)
		require.NoError(t, err)
		require.Equal(t, want, id)
	}
	for _, text := range []string{"-", "a-1", "1-a", "1-", "-1", "1-1-1", "18446744073709551615-0", " 1"} {
		_, err := ParseID(text)
		require.ErrorIs(t, err, ErrInvalidArgument, text)
	}
}

func TestBytesOfAnEntryAreStrict(t *testing.T) {
	e := Event{Name: "n", Source: "s", Payload: json.RawMessage(`{}`)}
	whole := e.append(nil)
	again, err := parseEvent(whole)
	require.NoError(t, err)
	require.Equal(t, e, again)
	for n := range len(whole) {
		if n == len(whole)-1 || n < 7 {
			_, err := parseEvent(whole[:n])
			require.ErrorIs(t, err, engine.ErrCorrupt, "%d", n)
		}
	}
	bad := append([]byte{2}, whole[1:]...)
	_, err = parseEvent(bad)
	require.ErrorContains(t, err, "not of version 1")
}
