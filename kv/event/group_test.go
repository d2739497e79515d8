package event

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/kv"
)

func (h *host) take(group, consumer string, limit int) string {
	h.t.Helper()
	list, err := h.ReadGroup(ctx, engine.WAL, Consumer{Task, group, consumer}, limit, 0)
	require.NoError(h.t, err)
	return names(list)
}

func (h *host) groups() map[string]Group {
	h.t.Helper()
	list, err := h.ListGroups(ctx, Task)
	require.NoError(h.t, err)
	byName := map[string]Group{}
	for _, g := range list {
		byName[g.Name] = g
	}
	return byName
}

func TestA80EachGroupSeesAllAndEachEntryGoesToOneConsumer(t *testing.T) {
	h := newHost(t, Options{})
	h.add(Task, "1", "2", "3", "4")
	for _, group := range Groups() {
		require.Equal(t, "1 2", h.take(group, "a", 2))
		require.Equal(t, "3 4", h.take(group, "b", 0))
		require.Empty(t, h.take(group, "a", 0))
		require.Equal(t, uint64(4), h.groups()[group].Pending)
	}
	made, err := h.CreateGroup(ctx, engine.WAL, Task, "mine", Place{Now: true})
	require.NoError(t, err)
	require.True(t, made)
	made, err = h.CreateGroup(ctx, engine.WAL, Task, "mine", Place{})
	require.NoError(t, err)
	require.False(t, made, "it stays where it is")
	ids := h.add(Task, "5", "6")
	require.Equal(t, "5", h.take("mine", "a", 1))
	require.Equal(t, Group{"mine", false, ids[0], 1, 1}, h.groups()["mine"])
	require.NoError(t, h.MoveGroup(ctx, engine.WAL, Task, "mine", Place{After: ids[0]}))
	require.Equal(t, "6", h.take("mine", "a", 1))
	require.NoError(t, h.MoveGroup(ctx, engine.WAL, Task, "mine", Place{}))
	require.Equal(t, "1 2 3 4 5 6", h.take("mine", "a", 0))
	require.Equal(t, uint64(6), h.groups()["mine"].Pending, "each once")
	existed, err := h.DropGroup(ctx, engine.WAL, Task, "mine")
	require.NoError(t, err)
	require.True(t, existed)
	existed, err = h.DropGroup(ctx, engine.WAL, Task, "mine")
	require.NoError(t, err)
	require.False(t, existed)
	_, err = h.DropGroup(ctx, engine.WAL, Task, Groups()[0])
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, err = h.ReadGroup(ctx, engine.WAL, Consumer{Task, "mine", "a"}, 0, 0)
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorIs(t, h.MoveGroup(ctx, engine.WAL, Task, "mine", Place{}), ErrNotFound)
}

func TestA80GroupsAreBounded(t *testing.T) {
	h := newHost(t, Options{})
	for n := range MaxGroups - len(Groups()) {
		_, err := h.CreateGroup(ctx, engine.WAL, Task, fmt.Sprint("g", n), Place{})
		require.NoError(t, err)
	}
	_, err := h.CreateGroup(ctx, engine.WAL, Task, "more", Place{})
	require.ErrorIs(t, err, ErrTooMany)
	_, err = h.CreateGroup(ctx, engine.WAL, Task, "g1", Place{})
	require.NoError(t, err, "it is there")
	_, err = h.CreateGroup(ctx, engine.WAL, Approval, "more", Place{})
	require.NoError(t, err, "of another stream")
}

func TestA80AGroupReadWaits(t *testing.T) {
	h := newHost(t, Options{})
	got := make(chan string, 2)
	for _, consumer := range []string{"a", "b"} {
		go func() {
			list, err := h.ReadGroup(ctx, engine.WAL, Consumer{Task, Groups()[0], consumer}, 1, MaxWait)
			if err != nil {
				got <- err.Error()
				return
			}
			got <- names(list)
		}()
	}
	h.add(Task, "1")
	require.Equal(t, "1", <-got)
	h.add(Task, "2")
	require.Equal(t, "2", <-got)
}

func TestA81PendingAcknowledgeClaim(t *testing.T) {
	h := newHost(t, Options{})
	ids := h.add(Task, "1", "2", "3")
	const group = "audit-logger"
	h.take(group, "a", 0)
	h.clock.Pass(2 * time.Second)
	pending := func() (list []string) {
		all, err := h.ListPending(ctx, Task, group, ID{}, 0)
		require.NoError(t, err)
		for _, p := range all {
			list = append(list, fmt.Sprintf("%d:%s %s %d", p.ID.Seq, p.Consumer, p.Idle, p.Deliveries))
		}
		return list
	}
	require.Equal(t, []string{"1:a 2s 1", "2:a 2s 1", "3:a 2s 1"}, pending())
	done, err := h.Acknowledge(ctx, engine.WAL, Task, group, []ID{ids[1], ids[1], {ids[1].Ms, 99}, {ids[0].Ms + 1, 1}})
	require.NoError(t, err)
	require.Equal(t, 1, done, "once, and not what it is not")
	b := Consumer{Task, group, "b"}
	list, gone, err := h.Claim(ctx, engine.WAL, b, ClaimOptions{Idle: 3 * time.Second})
	require.NoError(t, err)
	require.Empty(t, list)
	require.Empty(t, gone)
	list, _, err = h.Claim(ctx, engine.WAL, b, ClaimOptions{Idle: 2 * time.Second, IDs: []ID{ids[2], ids[1]}})
	require.NoError(t, err)
	require.Equal(t, "3", names(list))
	list, _, err = h.Claim(ctx, engine.WAL, b, ClaimOptions{Idle: time.Second})
	require.NoError(t, err)
	require.Equal(t, "1", names(list), "the others are not idle, or not pending")
	require.Equal(t, []string{"1:b 0s 2", "3:b 0s 2"}, pending())
	h.reopen()
	require.Equal(t, []string{"1:b 0s 2", "3:b 0s 2"}, pending())
	rest, err := h.ListPending(ctx, Task, group, ids[0], 0)
	require.NoError(t, err)
	require.Len(t, rest, 1)
	for _, err := range []error{
		func() error { _, err := h.ListPending(ctx, Task, "none", ID{}, 0); return err }(),
		func() error { _, err := h.Acknowledge(ctx, engine.WAL, Task, "none", ids); return err }(),
		func() error {
			_, _, err := h.Claim(ctx, engine.WAL, Consumer{Task, "none", "a"}, ClaimOptions{})
			return err
		}(),
	} {
		require.ErrorIs(t, err, ErrNotFound)
	}
	_, _, err = h.Claim(ctx, engine.WAL, b, ClaimOptions{IDs: make([]ID, MaxBatch+1)})
	require.ErrorIs(t, err, ErrTooMany)
	_, _, err = h.Claim(ctx, engine.WAL, b, ClaimOptions{Idle: MaxIdle + 1})
	require.ErrorIs(t, err, ErrInvalidArgument)
}

// What nobody acknowledges does not grow for ever, and what the stream no longer keeps is
// told to who claims it.
func TestA81WhatIsPendingIsBounded(t *testing.T) {
	h := newHost(t, Options{Keep: kv.StreamLimits{Entries: 500}})
	const group = "audit-logger"
	for range MaxPending / 500 {
		for range 5 {
			h.add(Task, make100()...)
		}
		for range 5 {
			h.take(group, "a", 100)
		}
	}
	h.add(Task, "one more")
	_, err := h.ReadGroup(ctx, engine.WAL, Consumer{Task, group, "a"}, 0, 0)
	require.ErrorIs(t, err, ErrTooMany)
	list, gone, err := h.Claim(ctx, engine.WAL, Consumer{Task, group, "b"}, ClaimOptions{Limit: MaxBatch})
	require.NoError(t, err)
	require.Len(t, list, 499)
	require.Len(t, gone, MaxPending-499)
	require.Equal(t, ID{Seq: 1}, gone[0])
	require.Equal(t, "one more", h.take(group, "a", 0))
}

func make100() []string {
	list := make([]string, 100)
	for i := range list {
		list[i] = "n"
	}
	return list
}

func TestA82AGroupThatLagsBehindTheTrimIsTold(t *testing.T) {
	h := newHost(t, Options{Keep: kv.StreamLimits{Entries: 3, Age: time.Minute}})
	const group = "webhook-dispatcher"
	h.add(Task, "1", "2")
	require.Equal(t, "1", h.take(group, "a", 1))
	h.reopen()
	require.Equal(t, "2", h.take(group, "a", 1), "where it was")
	h.add(Task, "3")
	ids := h.add(Task, "4", "5", "6")
	require.EqualValues(t, 4, h.groups()[group].Lag)
	for range 2 { // until it is moved, also by another process
		_, err := h.ReadGroup(ctx, engine.WAL, Consumer{Task, group, "a"}, 0, 0)
		var e *Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, []any{CodeTrimmed, ids[0]}, []any{e.Code, e.First})
		h.reopen()
	}
	require.NoError(t, h.MoveGroup(ctx, engine.WAL, Task, group, Place{}))
	require.Equal(t, "4", h.take(group, "a", 1))
	require.NoError(t, h.MoveGroup(ctx, engine.WAL, Task, group, Place{After: ids[0]}))
	// Age, too, and nothing is left: the id says what the next entry comes after.
	h.clock.Oversleep(time.Minute)
	_, err := h.ReadGroup(ctx, engine.WAL, Consumer{Task, group, "a"}, 0, 0)
	var e *Error
	require.True(t, errors.As(err, &e))
	require.Equal(t, ID{ids[2].Ms, ids[2].Seq + 1}, e.First)
	require.NoError(t, h.MoveGroup(ctx, engine.WAL, Task, group, Place{After: e.First}))
	require.Empty(t, h.take(group, "a", 1))
	next := h.add(Task, "7")
	require.Equal(t, "7", h.take(group, "a", 1))
	require.Positive(t, next[0].Compare(ids[2]))
}

func TestTheConsumersOfAStreamByTheirKey(t *testing.T) {
	h := newHost(t, Options{})
	id := h.add(Lock, "1")[0]
	_, err := h.ReadGroup(ctx, engine.WAL, Consumer{Lock, "audit-logger", "a"}, 0, 0)
	require.NoError(t, err)
	want := fmt.Sprintf(`[{"name":"analytics-pipeline","last_delivered_id":"0-0","pending":0,"lag":1},
		{"name":"audit-logger","last_delivered_id":"%s","pending":1,"lag":0},
		{"name":"notification-service","last_delivered_id":"0-0","pending":0,"lag":1},
		{"name":"webhook-dispatcher","last_delivered_id":"0-0","pending":0,"lag":1}]`, id)
	for _, key := range []string{"ade:events:lock:consumers", "ade:{events:lock}:consumers"} {
		shown, err := h.store.Lookup(ctx, "t", key)
		require.NoError(t, err)
		require.JSONEq(t, want, string(shown))
	}
	for _, key := range []string{"ade:events:", "ade:events:other", "events:lock", "ade:events:lock:more"} {
		_, err := h.store.Lookup(ctx, "t", key)
		require.ErrorIs(t, err, ErrInvalidArgument, key)
	}
	// A tenant that has none is not made by who looks.
	for key, want := range map[string]string{"ade:events:lock": `[]`, "ade:events:lock:consumers": `[{"name":"analytics-pipeline","last_delivered_id":"0-0","pending":0,"lag":0},
		{"name":"audit-logger","last_delivered_id":"0-0","pending":0,"lag":0},{"name":"notification-service","last_delivered_id":"0-0","pending":0,"lag":0},
		{"name":"webhook-dispatcher","last_delivered_id":"0-0","pending":0,"lag":0}]`} {
		shown, err := h.store.Lookup(ctx, "none", key)
		require.NoError(t, err)
		require.JSONEq(t, want, string(shown))
	}
	for tenant, err := range h.kv.Tenants(ctx, "", false) {
		require.NoError(t, err)
		require.Equal(t, "t", tenant.Name)
	}
}
