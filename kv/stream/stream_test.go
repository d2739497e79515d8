package stream

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/kv"
)

func TestAStreamIsMadeAndLimitedAndDeleted(t *testing.T) {
	h := newHost(t)
	limits := kv.StreamLimits{Entries: 3, Age: time.Minute}
	h.create(limits)
	made, err := h.Create(ctx, engine.WAL, "s", limits)
	require.NoError(t, err)
	require.False(t, made, "it is there")
	_, err = h.Create(ctx, engine.WAL, "s", kv.StreamLimits{})
	require.ErrorIs(t, err, ErrExists)
	created := h.clock.Now()
	h.clock.Pass(time.Second)
	h.add("a", "b", "c", "d")
	info, err := h.Info(ctx, "s")
	require.NoError(t, err)
	require.Equal(t, Info{"s", created, limits, 3, 2, 4, h.clock.Now(), 0}, info)
	require.NoError(t, h.Limit(ctx, engine.WAL, "s", kv.StreamLimits{Entries: 1}))
	info, err = h.Info(ctx, "s")
	require.NoError(t, err)
	require.EqualValues(t, 4, info.First, "at once")
	h.clock.Oversleep(2 * time.Minute)
	require.NoError(t, h.Limit(ctx, engine.WAL, "s", limits))
	info, err = h.Info(ctx, "s")
	require.NoError(t, err)
	require.Equal(t, []uint64{0, 5, 4}, []uint64{info.Entries, info.First, info.Last})
	require.Equal(t, created, info.Created)

	_, err = h.Create(ctx, engine.WAL, "more", kv.StreamLimits{})
	require.NoError(t, err)
	h.consumer(Config{Name: "c"})
	h.reopen()
	list, err := h.List(ctx)
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, []any{"more", "s", 1}, []any{list[0].Name, list[1].Name, list[1].Consumers})
	for _, want := range []bool{true, false} {
		existed, err := h.Delete(ctx, engine.WAL, "s")
		require.NoError(t, err)
		require.Equal(t, want, existed)
	}
	_, err = h.Info(ctx, "s")
	require.ErrorIs(t, err, ErrNotFound)
	h.create(kv.StreamLimits{})
	h.add("a")
	entries, _, err := h.Range(ctx, "s", RangeOptions{})
	require.NoError(t, err)
	require.Equal(t, "1", numbers(entries), "it begins anew")
}

func TestAStreamThatIsNotThereIsNotFound(t *testing.T) {
	h := newHost(t)
	none, err := h.store.Find("nobody")
	require.NoError(t, err)
	for _, s := range []*Streams{h.Streams, none} {
		c, err := s.Consumer("s", "c")
		require.NoError(t, err)
		for name, call := range map[string]func() error{
			"info":         func() error { _, err := s.Info(ctx, "s"); return err },
			"range":        func() error { _, _, err := s.Range(ctx, "s", RangeOptions{}); return err },
			"consumers":    func() error { _, err := s.ListConsumers(ctx, "s"); return err },
			"consumer":     func() error { _, err := c.Info(ctx); return err },
			"dead letters": func() error { _, err := c.DeadLetters(ctx, 0, 0); return err },
			"publish": func() error {
				_, err := s.Publish(ctx, engine.WAL, "s", AppendOptions{}, Message{Subject: "a"})
				return err
			},
			"limit":          func() error { return s.Limit(ctx, engine.WAL, "s", kv.StreamLimits{}) },
			"make consumer":  func() error { _, err := s.CreateConsumer(ctx, engine.WAL, "s", Config{Name: "c"}); return err },
			"change it":      func() error { return s.UpdateConsumer(ctx, engine.WAL, "s", Config{Name: "c"}) },
			"fetch":          func() error { _, err := c.Fetch(ctx, engine.WAL, FetchOptions{}); return err },
			"ack":            func() error { _, err := c.Ack(ctx, engine.WAL, Ref{1, 1}); return err },
			"nak":            func() error { _, err := c.Nak(ctx, engine.WAL, Ref{1, 1}, 0, ""); return err },
			"in progress":    func() error { return c.InProgress(ctx, engine.WAL, Ref{1, 1}) },
			"terminate":      func() error { return c.Terminate(ctx, engine.WAL, Ref{1, 1}, "") },
			"replay":         func() error { return c.Replay(ctx, engine.WAL, Start{}) },
			"retry the dead": func() error { _, err := c.RetryDead(ctx, engine.WAL, 1); return err },
			"drop the dead":  func() error { _, err := c.DropDead(ctx, engine.WAL, 1); return err },
			"project":        func() error { return c.Project(ctx, engine.WAL, func(*kv.Work, Entry) error { return nil }) },
			"within": func() error {
				return h.kv.Update(ctx, engine.WAL, func(w *kv.Work) error { return c.AckWithin(w, Ref{1, 1}) })
			},
		} {
			require.ErrorIs(t, call(), ErrNotFound, name)
		}
		list, err := s.List(ctx)
		require.NoError(t, err)
		require.Empty(t, list)
	}
	existed, err := h.DeleteConsumer(ctx, engine.WAL, "s", "c")
	require.NoError(t, err)
	require.False(t, existed)
	for tenant, err := range h.kv.Tenants(ctx, "", false) {
		require.NoError(t, err)
		require.Equal(t, "t", tenant.Name, "who looks makes nothing")
	}
}

func TestWhatIsAddedIsNumberedAndRead(t *testing.T) {
	h := newHost(t)
	h.create(kv.StreamLimits{})
	publish := func(o AppendOptions, list ...Message) (uint64, error) {
		return h.Publish(ctx, engine.WAL, "s", o, list...)
	}
	last, err := publish(AppendOptions{}, Message{"orders.1", []byte("one")}, Message{"orders.2", nil})
	require.NoError(t, err)
	require.EqualValues(t, 2, last)
	// Only behind the last one that the caller knows.
	_, err = publish(AppendOptions{ExpectedLast: new(uint64)}, Message{Subject: "a"})
	var e *Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, []any{CodeMismatch, uint64(0), uint64(2)}, []any{e.Code, e.Limit, e.Have})
	last, err = publish(AppendOptions{ExpectedLast: &last}, Message{"users.1", []byte("three")})
	require.NoError(t, err)
	require.EqualValues(t, 3, last)
	// With what it tells of, or not at all.
	failed := fmt.Errorf("it fails")
	for _, want := range []error{failed, nil} {
		require.Equal(t, want, h.kv.Update(ctx, engine.WAL, func(w *kv.Work) error {
			last, err = h.Append(w, "s", AppendOptions{}, Message{Subject: "orders.3"})
			require.NoError(t, err)
			require.EqualValues(t, 4, last)
			return want
		}))
	}
	for o, want := range map[RangeOptions]string{
		{}:                                   "1 2 3 4",
		{From: 2, To: 3}:                     "2 3",
		{From: 3}:                            "3 4",
		{To: 1}:                              "1",
		{From: 3, To: 2}:                     "",
		{From: 9}:                            "",
		{Reverse: true}:                      "4 3 2 1",
		{Reverse: true, From: 2, To: 3}:      "3 2",
		{Reverse: true, To: 9}:               "4 3 2 1",
		{Filter: "orders.*"}:                 "1 2 4",
		{Filter: "orders.*", Reverse: true}:  "4 2 1",
		{Filter: "users.>", To: 2}:           "",
		{Filter: "orders.2"}:                 "2",
		{Limit: 2}:                           "1 2 →3",
		{Limit: 2, Reverse: true}:            "4 3 →2",
		{Limit: 4}:                           "1 2 3 4 →5",
		{Limit: 2, Filter: "orders.*"}:       "1 2 →3",
		{From: 2, Limit: 1, Filter: "*.1"}:   "3 →4",
		{Limit: 1, Filter: "*.1", To: 2}:     "1 →2",
		{From: 1, To: 1, Reverse: true}:      "1",
		{Limit: 1, To: 1, Reverse: true}:     "1",
		{From: 1, To: 1, Filter: "orders.>"}: "1",
	} {
		list, next, err := h.Range(ctx, "s", o)
		require.NoError(t, err)
		got := numbers(list)
		if next != 0 {
			got += fmt.Sprint(" →", next)
		}
		require.Equal(t, want, got, "%+v", o)
	}
	list, _, err := h.Range(ctx, "s", RangeOptions{Limit: 1})
	require.NoError(t, err)
	require.Equal(t, Entry{1, h.clock.Now(), Message{"orders.1", []byte("one")}}, list[0])
}

// A filter that finds little has a page end, which goes on where it ended.
func TestARangeLooksAtSoManyEntriesAtOnce(t *testing.T) {
	enginetest.SkipUnderRace(t, "thousands of calls one after the other")
	h := newHost(t)
	h.create(kv.StreamLimits{})
	many := make([]string, MaxBatch)
	for i := range many {
		many[i] = "a"
	}
	for range maxLook / MaxBatch {
		h.add(many...)
	}
	h.add("b")
	list, next, err := h.Range(ctx, "s", RangeOptions{Filter: "b"})
	require.NoError(t, err)
	require.Empty(t, list)
	require.EqualValues(t, maxLook+1, next)
	list, next, err = h.Range(ctx, "s", RangeOptions{Filter: "b", From: next})
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint(maxLook+1), numbers(list))
	require.Zero(t, next)
	// A consumer looks on until it finds one.
	c := h.consumer(Config{Name: "c", Filter: "b"})
	require.Equal(t, "10001:b×1", shown(h.fetch(c, 1)))
	require.EqualValues(t, maxLook+1, h.info(c).Delivered)
	none := h.consumer(Config{Name: "none", Filter: "x"})
	require.Empty(t, h.fetch(none, 1))
	require.EqualValues(t, maxLook+1, h.info(none).Delivered)
}

func TestWhatIsNotWellFormedIsRefused(t *testing.T) {
	h := newHost(t)
	h.create(kv.StreamLimits{})
	c := h.consumer(Config{Name: "c"})
	long := strings.Repeat("a", MaxName+1)
	message := func(m Message) error {
		_, err := h.Publish(ctx, engine.WAL, "s", AppendOptions{}, m)
		return err
	}
	config := func(c Config) error { _, err := h.CreateConsumer(ctx, engine.WAL, "s", c); return err }
	for name, tc := range map[string]struct {
		err   error
		code  Code
		field string
	}{
		"no name":     {func() error { _, err := h.Create(ctx, engine.WAL, "", kv.StreamLimits{}); return err }(), CodeInvalidArgument, "stream"},
		"a name":      {func() error { _, err := h.Create(ctx, engine.WAL, "a.b", kv.StreamLimits{}); return err }(), CodeInvalidArgument, "stream"},
		"a long name": {func() error { _, err := h.Create(ctx, engine.WAL, long, kv.StreamLimits{}); return err }(), CodeTooLarge, "stream"},
		"an age":      {func() error { _, err := h.Create(ctx, engine.WAL, "b", kv.StreamLimits{Age: 1}); return err }(), CodeInvalidArgument, "age"},
		"another age": {h.Limit(ctx, engine.WAL, "s", kv.StreamLimits{Age: -1}), CodeInvalidArgument, "age"},
		"no subject":  {message(Message{}), CodeInvalidArgument, "subject"},
		"a subject":   {message(Message{Subject: "a..b"}), CodeInvalidArgument, "subject"},
		"a payload":   {message(Message{"a", make([]byte, MaxPayload+1)}), CodeTooLarge, "payload"},
		"many": {func() error {
			_, err := h.Publish(ctx, engine.WAL, "s", AppendOptions{}, make([]Message, MaxBatch+1)...)
			return err
		}(), CodeTooMany, "messages"},
		"many bytes": {func() error {
			m := Message{"a", make([]byte, MaxPayload)}
			_, err := h.Publish(ctx, engine.WAL, "s", AppendOptions{}, m, m, m, m, m, m, m, m)
			return err
		}(), CodeTooLarge, "messages"},
		"a limit":          {func() error { _, _, err := h.Range(ctx, "s", RangeOptions{Limit: MaxBatch + 1}); return err }(), CodeInvalidArgument, "limit"},
		"a filter":         {func() error { _, _, err := h.Range(ctx, "s", RangeOptions{Filter: ">.a"}); return err }(), CodeInvalidArgument, "filter"},
		"a consumer":       {config(Config{Name: "a b"}), CodeInvalidArgument, "consumer"},
		"its filter":       {config(Config{Name: "d", Filter: ">.a"}), CodeInvalidArgument, "filter"},
		"its start":        {config(Config{Name: "d", Start: Start{Policy: DeliverFrom}}), CodeInvalidArgument, "start"},
		"a number for all": {config(Config{Name: "d", Start: Start{From: 1}}), CodeInvalidArgument, "start"},
		"no start":         {config(Config{Name: "d", Start: Start{Policy: 9}}), CodeInvalidArgument, "start"},
		"its wait":         {config(Config{Name: "d", AckWait: MaxAckWait + time.Millisecond}), CodeInvalidArgument, "ack_wait"},
		"a wait before":    {config(Config{Name: "d", AckWait: -time.Millisecond}), CodeInvalidArgument, "ack_wait"},
		"fewer than none":  {config(Config{Name: "d", MaxDeliver: -1}), CodeInvalidArgument, "max_deliver"},
		"pending beyond":   {config(Config{Name: "d", MaxAckPending: MaxUnacked + 1}), CodeInvalidArgument, "max_ack_pending"},
		"a fetch before":   {func() error { _, err := c.Fetch(ctx, engine.WAL, FetchOptions{Wait: -1}); return err }(), CodeInvalidArgument, "wait"},
		"a long delay":     {func() error { _, err := c.Nak(ctx, engine.WAL, Ref{}, MaxDelay+1, ""); return err }(), CodeInvalidArgument, "delay"},
		"its reason":       {func() error { _, err := c.Nak(ctx, engine.WAL, Ref{}, 0, "\xff"); return err }(), CodeInvalidArgument, "reason"},
		"half a ms":        {config(Config{Name: "d", AckWait: 1500 * time.Microsecond}), CodeInvalidArgument, "ack_wait"},
		"its deliveries":   {config(Config{Name: "d", MaxDeliver: MaxDelivered + 1}), CodeInvalidArgument, "max_deliver"},
		"its pending":      {config(Config{Name: "d", MaxAckPending: -1}), CodeInvalidArgument, "max_ack_pending"},
		"a fetch":          {func() error { _, err := c.Fetch(ctx, engine.WAL, FetchOptions{Limit: -1}); return err }(), CodeInvalidArgument, "limit"},
		"a long fetch":     {func() error { _, err := c.Fetch(ctx, engine.WAL, FetchOptions{Wait: MaxWait + 1}); return err }(), CodeInvalidArgument, "wait"},
		"acks":             {func() error { _, err := c.Ack(ctx, engine.WAL, make([]Ref, MaxBatch+1)...); return err }(), CodeTooMany, "deliveries"},
		"a delay":          {func() error { _, err := c.Nak(ctx, engine.WAL, Ref{}, -1, ""); return err }(), CodeInvalidArgument, "delay"},
		"a reason":         {c.Terminate(ctx, engine.WAL, Ref{}, strings.Repeat("a", MaxReason+1)), CodeTooLarge, "reason"},
		"no text":          {c.Terminate(ctx, engine.WAL, Ref{}, "\xff"), CodeInvalidArgument, "reason"},
		"a place":          {c.Replay(ctx, engine.WAL, Start{Policy: 3}), CodeInvalidArgument, "start"},
		"the dead":         {func() error { _, err := c.DropDead(ctx, engine.WAL, make([]uint64, MaxBatch+1)...); return err }(), CodeTooMany, "numbers"},
		"a page of them":   {func() error { _, err := c.DeadLetters(ctx, 0, -1); return err }(), CodeInvalidArgument, "limit"},
		"a tenant":         {func() error { _, err := h.store.Open(ctx, ""); return err }(), CodeInvalidArgument, "tenant"},
		"no tenant":        {func() error { _, err := h.store.Find(""); return err }(), CodeInvalidArgument, "tenant"},
		"a tenant's name":  {func() error { _, err := h.store.Open(ctx, strings.Repeat("a", kv.MaxTenant+1)); return err }(), CodeInvalidArgument, "tenant"},
	} {
		var e *Error
		require.ErrorAs(t, tc.err, &e, name)
		require.Equal(t, []any{tc.code, tc.field}, []any{e.Code, e.Field}, "%s: %s", name, e)
		require.NotEmpty(t, e.Reason)
		if tc.code != CodeInvalidArgument {
			require.Greater(t, e.Have, e.Limit, name)
			require.NotZero(t, e.Limit, name)
		}
	}
	require.EqualError(t, message(Message{}), "stream: INVALID_ARGUMENT: subject: subject: key: byte 0: a key has one token at least, and this one is empty")
	require.NotErrorIs(t, message(Message{}), message(Message{Subject: "a b"}), "one is not the other")
	require.NotErrorIs(t, message(Message{}), io.EOF)
	require.NotErrorIs(t, noStream("s"), ErrExists)
}

func TestNamesOfStreams(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, "Z": true, "A": true, "z": true, "0": true, "9": true, "-": true, "_": true, strings.Repeat("a", MaxName): true,
		"@": false, "[": false, "`": false, "{": false, "/": false, ":": false, "a b": false, "ä": false, "a.b": false, "": false,
	} {
		require.Equal(t, ok, checkName("stream", name) == nil, name)
		_, is := parseKey(streamKey(name))
		require.Equal(t, ok, is, name)
	}
	for key, ok := range map[string]bool{
		"consumer/s/c": true, "dead/s/c/00000000000000000001": true,
		"dead/s/c": false, "dead/s": false, "stream/s/c": false, "consumer/s": false, "consumer/s/c d": false, "consumer//c": false, "consumers/s/c": false,
		"dead/s/c/00000000000000000000": false, "dead/s/c/1": false, "dead/s/c/0000000000000000000x": false, "dead/s/c/99999999999999999999": false, "": false,
	} {
		_, is := parseKey(key)
		require.Equal(t, ok, is, key)
	}
}

func TestStreamsAndConsumersAreBounded(t *testing.T) {
	enginetest.SkipUnderRace(t, "thousands of calls one after the other")
	h := newHost(t)
	for n := range MaxStreams {
		_, err := h.Create(ctx, engine.WAL, fmt.Sprint("s", n), kv.StreamLimits{})
		require.NoError(t, err)
	}
	_, err := h.Create(ctx, engine.WAL, "more", kv.StreamLimits{})
	require.ErrorIs(t, err, ErrTooMany)
	for n := range MaxConsumers {
		_, err := h.CreateConsumer(ctx, engine.WAL, "s1", Config{Name: fmt.Sprint("c", n)})
		require.NoError(t, err)
	}
	_, err = h.CreateConsumer(ctx, engine.WAL, "s1", Config{Name: "more"})
	require.ErrorIs(t, err, ErrTooMany)
	_, err = h.CreateConsumer(ctx, engine.WAL, "s1", Config{Name: "c5"})
	require.NoError(t, err, "it is there")
	_, err = h.CreateConsumer(ctx, engine.WAL, "s10", Config{Name: "more"})
	require.NoError(t, err, "of another stream")
}

func TestADroppedTenantHasNoStreams(t *testing.T) {
	h := newHost(t)
	h.create(kv.StreamLimits{})
	c := h.consumer(Config{Name: "c"})
	_, err := h.kv.DropTenant(ctx, "t")
	require.NoError(t, err)
	_, err = c.Fetch(ctx, engine.WAL, FetchOptions{Wait: MaxWait})
	require.ErrorIs(t, err, ErrSpaceNotFound)
	_, err = h.Publish(ctx, engine.WAL, "s", AppendOptions{}, Message{Subject: "a"})
	require.ErrorIs(t, err, ErrSpaceNotFound)
	h.Streams, err = h.store.Open(ctx, "t")
	require.NoError(t, err)
	list, err := h.List(ctx)
	require.NoError(t, err)
	require.Empty(t, list)
}
