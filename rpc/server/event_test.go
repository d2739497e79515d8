package server

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/event"
	"github.com/stoadb/stoa/kv/kvtest"
	"github.com/stoadb/stoa/rpc"
)

// remoteEvents is the streams of a tenant of a daemon that has a clock of its own.
type remoteEvents struct {
	*rpc.Events
	t      *testing.T
	clock  *kvtest.Clock
	daemon *testDaemon
	f      rpc.Framing
}

// eventsOverBoth runs a test in both framings, each with a daemon of its own.
func eventsOverBoth(t *testing.T, keep kv.StreamLimits, test func(*testing.T, *remoteEvents)) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		eng, clock := mem.New(), kvtest.New()
		store, err := kv.Open(eng, kv.Options{Clock: clock, Log: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		events, err := event.New(store, event.Options{Keep: keep})
		require.NoError(t, err)
		d := start(t, eng, Options{Events: events})
		t.Cleanup(func() {
			d.stop()
			require.NoError(t, store.Close())
		})
		test(t, &remoteEvents{d.dialAs(t, f).Events("acme"), t, clock, d, f})
	})
}

// add publishes events of some names.
func (e *remoteEvents) add(stream string, names ...string) []rpc.EventID {
	e.t.Helper()
	var list []rpc.EventNew
	for _, name := range names {
		list = append(list, rpc.EventNew{Name: name, Payload: json.RawMessage(`{"a":1}`), Source: "s"})
	}
	ids, err := e.Publish(e.t.Context(), rpc.WAL, stream, list)
	require.NoError(e.t, err)
	require.Len(e.t, ids, len(names))
	return ids
}

// named are the names of entries, in a line.
func named(list []rpc.EventEntry) string {
	var all []string
	for _, e := range list {
		all = append(all, e.Name)
	}
	return strings.Join(all, " ")
}

func (e *remoteEvents) ranged(o rpc.EventRangeOptions) string {
	e.t.Helper()
	list, err := e.Range(e.t.Context(), event.Task, o)
	require.NoError(e.t, err)
	return named(list)
}

func (e *remoteEvents) take(group, consumer string, limit int) string {
	e.t.Helper()
	list, err := e.ReadGroup(e.t.Context(), rpc.WAL, rpc.EventConsumer{Stream: event.Task, Group: group, Name: consumer}, limit, 0)
	require.NoError(e.t, err)
	return named(list)
}

// trimmedAt requires that an error is that of a reader who missed something, and says the
// first id that is kept.
func trimmedAt(t *testing.T, first rpc.EventID, err error) {
	t.Helper()
	var e *event.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, []any{event.CodeTrimmed, first}, []any{e.Code, e.First})
}

func TestA77EntriesAndIDsOverTheSocket(t *testing.T) {
	eventsOverBoth(t, kv.StreamLimits{}, func(t *testing.T, e *remoteEvents) {
		ctx := t.Context()
		payload := json.RawMessage(`{"task_id":"1","from":"DRAFT","to":"SUBMITTED"}`)
		ids, err := e.Publish(ctx, rpc.Synced, event.Task, []rpc.EventNew{{Name: "task:state_changed", Payload: payload, Source: "api-server-01"}, {Name: "bare"}})
		require.NoError(t, err)
		at := uint64(e.clock.Now().UnixMilli())
		require.Equal(t, []rpc.EventID{{Ms: at, Seq: 1}, {Ms: at, Seq: 2}}, ids)
		list, err := e.Range(ctx, event.Task, rpc.EventRangeOptions{})
		require.NoError(t, err)
		require.Equal(t, []rpc.EventEntry{
			{ID: ids[0], Event: rpc.EventNew{Name: "task:state_changed", Payload: payload, Source: "api-server-01"}},
			{ID: ids[1], Event: rpc.EventNew{Name: "bare", Payload: json.RawMessage("null")}},
		}, list)
		shown, err := e.Lookup(ctx, "ade:{events:task}")
		require.NoError(t, err)
		require.JSONEq(t, fmt.Sprintf(`[
			{"id":"%d-1","event":"task:state_changed","timestamp":"2026-03-01T12:00:00Z","payload":%s,"source":"api-server-01"},
			{"id":"%d-2","event":"bare","timestamp":"2026-03-01T12:00:00Z","payload":null,"source":""}]`, at, payload, at), string(shown))
		info, err := e.Info(ctx, event.Task)
		require.NoError(t, err)
		require.Equal(t, rpc.EventInfo{Stream: event.Task, Entries: 2, First: ids[0], Last: ids[1]}, info)
		info, err = e.Info(ctx, event.Approval)
		require.NoError(t, err)
		require.Equal(t, rpc.EventInfo{Stream: event.Approval}, info)

		last := ids[1]
		for _, step := range []time.Duration{-10 * time.Minute, time.Millisecond, -time.Hour, 2 * time.Hour} {
			e.clock.Set(step)
			id := e.add(event.Task, "next")[0]
			require.Positive(t, id.Compare(last), "also with the clock back")
			last = id
		}

		var refused *event.Error
		_, err = e.Publish(ctx, rpc.WAL, event.Task, []rpc.EventNew{{Name: "good"}, {Name: "bad", Payload: json.RawMessage("{")}})
		require.ErrorAs(t, err, &refused)
		require.Equal(t, []any{event.CodeInvalidArgument, "payload"}, []any{refused.Code, refused.Field})
		_, err = e.Publish(ctx, rpc.WAL, event.Task, make([]rpc.EventNew, event.MaxBatch+1))
		require.ErrorIs(t, err, event.ErrTooMany)
		_, err = e.Range(ctx, "other", rpc.EventRangeOptions{})
		require.ErrorIs(t, err, event.ErrInvalidArgument)
		_, err = e.Lookup(ctx, "ade:events:other")
		require.ErrorIs(t, err, event.ErrInvalidArgument)
	})
}

func TestA78TrimOverTheSocket(t *testing.T) {
	eventsOverBoth(t, kv.StreamLimits{}, func(t *testing.T, e *remoteEvents) {
		for n := range 21 {
			var batch []string
			for i := range 500 {
				batch = append(batch, fmt.Sprint(n*500+i))
			}
			e.add(event.Task, batch...)
			e.clock.Pass(time.Second)
		}
		info, err := e.Info(t.Context(), event.Task)
		require.NoError(t, err)
		require.EqualValues(t, event.Kept, info.Entries)
		list, err := e.Range(t.Context(), event.Task, rpc.EventRangeOptions{Limit: kv.MaxPage})
		require.NoError(t, err)
		require.Len(t, list, event.Kept)
		require.Equal(t, []string{"500", "10499"}, []string{list[0].Name, list[event.Kept-1].Name})
		e.clock.Oversleep(event.KeptFor - 20*time.Second - time.Millisecond)
		require.Equal(t, "500", e.ranged(rpc.EventRangeOptions{Limit: 1}))
		e.clock.Oversleep(time.Millisecond)
		require.Equal(t, "1000", e.ranged(rpc.EventRangeOptions{Limit: 1}), "what is older than seven days is gone")
	})
}

func TestA79RangesOverTheSocket(t *testing.T) {
	eventsOverBoth(t, kv.StreamLimits{}, func(t *testing.T, e *remoteEvents) {
		ids := e.add(event.Task, "1", "2", "3", "4", "5")
		require.Equal(t, "2 3 4", e.ranged(rpc.EventRangeOptions{From: ids[1], To: ids[3]}))
		require.Equal(t, "4 3", e.ranged(rpc.EventRangeOptions{From: ids[1], To: ids[3], Reverse: true, Limit: 2}))
		require.Equal(t, "1 2", e.ranged(rpc.EventRangeOptions{Limit: 2}))
		require.Equal(t, "5", e.ranged(rpc.EventRangeOptions{Reverse: true, Limit: 1}))
		_, err := e.Range(t.Context(), event.Task, rpc.EventRangeOptions{Limit: kv.MaxPage + 1})
		require.ErrorIs(t, err, event.ErrInvalidArgument)
	})
}

func TestA79AReadWaitsOverTheSocket(t *testing.T) {
	eventsOverBoth(t, kv.StreamLimits{}, func(t *testing.T, e *remoteEvents) {
		ctx := t.Context()
		id := e.add(event.Task, "1")[0]
		got := make(chan string)
		read := func(wait time.Duration) {
			list, err := e.Read(ctx, event.Task, rpc.EventReadOptions{After: id, Wait: wait})
			if err != nil {
				got <- err.Error()
				return
			}
			got <- named(list)
		}
		go read(event.MaxWait)
		e.add(event.Lock, "of another stream")
		e.add(event.Task, "2")
		require.Equal(t, "2", <-got)
		id = e.add(event.Task, "3")[0]
		begun := e.clock.Now()
		go read(1500 * time.Millisecond)
		answer := "none yet"
		require.True(t, e.clock.Until(func() bool {
			select {
			case answer = <-got:
				return true
			default:
				return false
			}
		}))
		require.Empty(t, answer)
		require.GreaterOrEqual(t, e.clock.Now().Sub(begun), 1500*time.Millisecond)
		for _, wait := range []time.Duration{-1, event.MaxWait + 1} {
			_, err := e.Read(ctx, event.Task, rpc.EventReadOptions{Wait: wait})
			require.ErrorIs(t, err, event.ErrInvalidArgument)
		}
		// A daemon that stops does not wait for who waits.
		go read(event.MaxWait)
		e.daemon.stop()
		require.NotEmpty(t, <-got)
	})
}

func TestA80GroupsOverTheSocket(t *testing.T) {
	eventsOverBoth(t, kv.StreamLimits{}, func(t *testing.T, e *remoteEvents) {
		ctx := t.Context()
		e.add(event.Task, "1", "2", "3", "4")
		groups, err := e.ListGroups(ctx, event.Task)
		require.NoError(t, err)
		require.Len(t, groups, 4)
		for _, g := range groups {
			require.Equal(t, rpc.EventGroup{Name: g.Name, BuiltIn: true, Lag: 4}, g)
			require.Equal(t, "1 2", e.take(g.Name, "a", 2))
			require.Equal(t, "3 4", e.take(g.Name, "b", 0))
			require.Empty(t, e.take(g.Name, "a", 0))
		}
		made, err := e.CreateGroup(ctx, rpc.WAL, event.Task, "mine", rpc.EventPlace{Now: true})
		require.NoError(t, err)
		require.True(t, made)
		ids := e.add(event.Task, "5", "6")
		require.Equal(t, "5", e.take("mine", "a", 1))
		require.NoError(t, e.MoveGroup(ctx, rpc.WAL, event.Task, "mine", rpc.EventPlace{After: ids[0]}))
		require.Equal(t, "6", e.take("mine", "a", 1))
		require.NoError(t, e.MoveGroup(ctx, rpc.WAL, event.Task, "mine", rpc.EventPlace{}))
		require.Equal(t, "1 2 3 4 5 6", e.take("mine", "a", 0))
		groups, err = e.ListGroups(ctx, event.Task)
		require.NoError(t, err)
		require.Contains(t, groups, rpc.EventGroup{Name: "mine", Last: ids[1], Pending: 6})
		existed, err := e.DropGroup(ctx, rpc.WAL, event.Task, "mine")
		require.NoError(t, err)
		require.True(t, existed)
		_, err = e.ReadGroup(ctx, rpc.WAL, rpc.EventConsumer{Stream: event.Task, Group: "mine", Name: "a"}, 0, 0)
		require.ErrorIs(t, err, event.ErrNotFound)
		_, err = e.DropGroup(ctx, rpc.WAL, event.Task, event.Groups()[0])
		require.ErrorIs(t, err, event.ErrInvalidArgument)

		got := make(chan string, 1)
		go func() {
			list, err := e.ReadGroup(ctx, rpc.WAL, rpc.EventConsumer{Stream: event.Lock, Group: event.Groups()[0], Name: "a"}, 1, event.MaxWait)
			got <- fmt.Sprint(named(list), err)
		}()
		e.add(event.Lock, "late")
		require.Equal(t, "late<nil>", <-got)
	})
}

func TestA81PendingAcknowledgeClaimOverTheSocket(t *testing.T) {
	eventsOverBoth(t, kv.StreamLimits{}, func(t *testing.T, e *remoteEvents) {
		ctx := t.Context()
		ids := e.add(event.Task, "1", "2", "3")
		const group = "audit-logger"
		require.Equal(t, "1 2 3", e.take(group, "a", 0))
		e.clock.Pass(2 * time.Second)
		done, err := e.Acknowledge(ctx, rpc.WAL, event.Task, group, []rpc.EventID{ids[1], ids[1], {Ms: ids[1].Ms, Seq: 99}})
		require.NoError(t, err)
		require.Equal(t, 1, done)
		pending, err := e.ListPending(ctx, event.Task, group, rpc.EventID{}, 0)
		require.NoError(t, err)
		require.Equal(t, []rpc.EventPending{{ID: ids[0], Consumer: "a", Idle: 2 * time.Second, Deliveries: 1}, {ID: ids[2], Consumer: "a", Idle: 2 * time.Second, Deliveries: 1}}, pending)
		b := rpc.EventConsumer{Stream: event.Task, Group: group, Name: "b"}
		list, gone, err := e.Claim(ctx, rpc.WAL, b, rpc.EventClaimOptions{Idle: 3 * time.Second})
		require.NoError(t, err)
		require.Empty(t, list)
		require.Empty(t, gone)
		list, _, err = e.Claim(ctx, rpc.WAL, b, rpc.EventClaimOptions{IDs: []rpc.EventID{}})
		require.NoError(t, err)
		require.Empty(t, list, "none are named")
		list, _, err = e.Claim(ctx, rpc.WAL, b, rpc.EventClaimOptions{Idle: 2 * time.Second, IDs: []rpc.EventID{ids[2], ids[1]}})
		require.NoError(t, err)
		require.Equal(t, "3", named(list))
		list, _, err = e.Claim(ctx, rpc.WAL, b, rpc.EventClaimOptions{Idle: time.Second})
		require.NoError(t, err)
		require.Equal(t, "1", named(list), "the others are not idle, or not pending")
		pending, err = e.ListPending(ctx, event.Task, group, ids[0], 0)
		require.NoError(t, err)
		require.Equal(t, []rpc.EventPending{{ID: ids[2], Consumer: "b", Deliveries: 2}}, pending)
		_, err = e.ListPending(ctx, event.Task, "none", rpc.EventID{}, 0)
		require.ErrorIs(t, err, event.ErrNotFound)
		_, _, err = e.Claim(ctx, rpc.WAL, b, rpc.EventClaimOptions{Idle: -1})
		require.ErrorIs(t, err, event.ErrInvalidArgument)
	})
}

func TestA82AGroupThatLagsIsToldOverTheSocket(t *testing.T) {
	eventsOverBoth(t, kv.StreamLimits{Entries: 3}, func(t *testing.T, e *remoteEvents) {
		ctx := t.Context()
		const group = "webhook-dispatcher"
		read := e.add(event.Task, "1", "2")
		require.Equal(t, "1", e.take(group, "a", 1))
		ids := e.add(event.Task, "3", "4", "5", "6")[1:]
		_, err := e.ReadGroup(ctx, rpc.WAL, rpc.EventConsumer{Stream: event.Task, Group: group, Name: "a"}, 0, 0)
		trimmedAt(t, ids[0], err)
		_, err = e.Read(ctx, event.Task, rpc.EventReadOptions{After: read[0]})
		trimmedAt(t, ids[0], err)
		_, gone, err := e.Claim(ctx, rpc.WAL, rpc.EventConsumer{Stream: event.Task, Group: group, Name: "b"}, rpc.EventClaimOptions{})
		require.NoError(t, err)
		require.Equal(t, []rpc.EventID{{Seq: 1}}, gone)
		require.NoError(t, e.MoveGroup(ctx, rpc.WAL, event.Task, group, rpc.EventPlace{}))
		require.Equal(t, "4", e.take(group, "a", 1))
		for _, err := range e.Follow(ctx, event.Task, rpc.EventPlace{After: read[0]}) {
			trimmedAt(t, ids[0], err)
		}
	})
}

// Who follows a stream hears all of it once, also what is added while the daemon is away; and
// that something is missing, where that is so.
func TestA79WhoFollowsGoesOnWhereItsDaemonWasAway(t *testing.T) {
	overBoth(t, func(t *testing.T, f rpc.Framing) {
		d := newComingAndGoing(t)
		feed, err := d.events.Open(t.Context(), "acme")
		require.NoError(t, err)
		add := func(names ...string) (ids []event.ID) {
			for _, name := range names {
				id, err := feed.Publish(t.Context(), rpc.WAL, event.Task, []event.Event{{Name: name}})
				require.NoError(t, err)
				ids = append(ids, id...)
			}
			return ids
		}
		add("before")
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		var got []string
		var kept []event.ID
		for e, err := range d.client(t, f).Events("acme").Follow(ctx, event.Task, rpc.EventPlace{}) {
			if err != nil {
				trimmedAt(t, kept[1], err)
				got = append(got, "told")
				break
			}
			switch got = append(got, e.Name); len(got) {
			case 1:
				d.stop()
				add("away 1", "away 2")
				d.up()
			case 3:
				d.stop()
				kept = add("lost", "4", "5", "6")
				d.up()
			}
		}
		require.Equal(t, []string{"before", "away 1", "away 2", "told"}, got)
	})
}
