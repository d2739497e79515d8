package stream

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/kv"
)

func (h *host) ack(c *Consumer, list ...Delivery) {
	h.t.Helper()
	var refs []Ref
	for i := range list {
		refs = append(refs, list[i].Ref())
	}
	done, err := c.Ack(ctx, engine.WAL, refs...)
	require.NoError(h.t, err)
	require.Len(h.t, refs, done)
}

func TestT68APositionSurvivesARestart(t *testing.T) {
	h := newHost(t)
	h.create(kv.StreamLimits{})
	h.add("a", "b", "c", "d")
	c := h.consumer(Config{Name: "c", Filter: "*", AckWait: time.Minute, MaxDeliver: 3, MaxAckPending: 10})
	made, err := h.CreateConsumer(ctx, engine.WAL, "s", Config{Name: "c", Filter: "*", AckWait: time.Minute, MaxDeliver: 3, MaxAckPending: 10})
	require.NoError(t, err)
	require.False(t, made, "it stays where it is")
	_, err = h.CreateConsumer(ctx, engine.WAL, "s", Config{Name: "c"})
	require.ErrorIs(t, err, ErrExists)
	created := h.clock.Now()
	got := h.fetch(c, 3)
	require.Equal(t, "1:a×1 2:b×1 3:c×1", shown(got))
	require.Equal(t, Delivery{Entry{2, h.clock.Now(), Message{"b", []byte("b")}}, 2, 1}, got[1])
	h.ack(c, got[0], got[2])
	h.clock.Pass(time.Second)
	h.reopen()
	c = h.find("c")
	config := Config{"c", Start{}, "*", time.Minute, 3, 10}
	require.Equal(t, ConsumerInfo{config, created, 3, 3, 1, 1, 0, 0, 1}, h.info(c))
	require.Equal(t, "4:d×1", shown(h.fetch(c, 0)), "what was delivered has its time")
	h.clock.Pass(59 * time.Second)
	again := h.fetch(c, 0)
	require.Equal(t, "2:b×2", shown(again))
	require.Equal(t, ConsumerInfo{config, created, 4, 5, 1, 2, 1, 0, 0}, h.info(c))
	done, err := c.Ack(ctx, engine.WAL, got[1].Ref(), again[0].Ref(), again[0].Ref(), Ref{9, 9})
	require.NoError(t, err)
	require.Equal(t, 1, done, "the first delivery of it is over")
	list, err := h.ListConsumers(ctx, "s")
	require.NoError(t, err)
	require.Equal(t, []ConsumerInfo{h.info(c)}, list)
	require.Equal(t, []uint64{3, 4}, []uint64{list[0].AckFloor, list[0].Delivered})
}

func TestT68WhereAConsumerBegins(t *testing.T) {
	h := newHost(t)
	h.create(kv.StreamLimits{Entries: 4})
	h.add("a", "b", "c", "d", "e")
	for name, at := range map[string]Start{"all": {}, "new": {Policy: DeliverNew}, "from": {DeliverFrom, 4}, "early": {DeliverFrom, 1}, "late": {DeliverFrom, 99}} {
		h.consumer(Config{Name: name, Start: at})
	}
	h.consumer(Config{Name: "filtered", Filter: "f"})
	h.add("f")
	_, err := h.find("all").Fetch(ctx, engine.WAL, FetchOptions{})
	var e *Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, []any{CodeTrimmed, uint64(3), uint64(2)}, []any{e.Code, e.Limit, e.Have}, "never behind a gap without a word")
	_, err = h.find("filtered").Fetch(ctx, engine.WAL, FetchOptions{})
	require.ErrorIs(t, err, ErrTrimmed, "nobody knows whether it would have been given that")
	require.NoError(t, h.find("all").Replay(ctx, engine.WAL, Start{}))
	require.NoError(t, h.find("early").Replay(ctx, engine.WAL, Start{DeliverFrom, 1}))
	for name, want := range map[string]string{"all": "3:c×1 4:d×1 5:e×1 6:f×1", "new": "6:f×1", "from": "4:d×1 5:e×1 6:f×1", "early": "3:c×1 4:d×1 5:e×1 6:f×1", "late": "6:f×1"} {
		require.Equal(t, want, shown(h.fetch(h.find(name), 0)), name)
	}
	// And again: who has something is fenced by it.
	c := h.find("from")
	h.clock.Oversleep(PlainAckWait)
	old := h.fetch(c, 1)
	require.Equal(t, "4:d×2", shown(old))
	require.NoError(t, c.Replay(ctx, engine.WAL, Start{DeliverFrom, 5}))
	require.Equal(t, "5:e×1 6:f×1", shown(h.fetch(c, 0)))
	require.ErrorIs(t, c.InProgress(ctx, engine.WAL, old[0].Ref()), ErrFenced)
	require.NoError(t, c.Replay(ctx, engine.WAL, Start{Policy: DeliverNew}))
	require.Zero(t, h.info(c).AckPending)
	h.add("g")
	require.Equal(t, "7:g×1", shown(h.fetch(c, 0)))
	require.Equal(t, Start{DeliverFrom, 4}, h.info(c).Start)
}

func TestT68WhatNobodyAcknowledgesIsDeliveredAgain(t *testing.T) {
	h := newHost(t)
	h.create(kv.StreamLimits{})
	c := h.consumer(Config{Name: "c", AckWait: 10 * time.Second})
	h.add("a", "b", "c")
	got := h.fetch(c, 0)
	h.clock.Oversleep(5 * time.Second)
	require.NoError(t, c.InProgress(ctx, engine.WAL, got[1].Ref()))
	dead, err := c.Nak(ctx, engine.WAL, got[2].Ref(), 7*time.Second, "not yet")
	require.NoError(t, err)
	require.False(t, dead)
	require.Empty(t, h.fetch(c, 0))
	h.clock.Oversleep(5*time.Second - time.Millisecond)
	require.Empty(t, h.fetch(c, 0))
	h.clock.Oversleep(time.Millisecond)
	require.Equal(t, "1:a×2", shown(h.fetch(c, 0)))
	h.clock.Oversleep(2 * time.Second)
	require.Equal(t, "3:c×2", shown(h.fetch(c, 0)))
	h.clock.Oversleep(3 * time.Second)
	h.add("d")
	again := h.fetch(c, 0)
	require.Equal(t, "2:b×2 4:d×1", shown(again), "what is due again is first")
	for _, over := range []error{
		c.InProgress(ctx, engine.WAL, got[1].Ref()), c.Terminate(ctx, engine.WAL, got[1].Ref(), ""),
		func() error { _, err := c.Nak(ctx, engine.WAL, got[1].Ref(), 0, ""); return err }(),
		h.kv.Update(ctx, engine.WAL, func(w *kv.Work) error { return c.AckWithin(w, got[1].Ref()) }),
		c.InProgress(ctx, engine.WAL, Ref{4, 0}),
	} {
		require.ErrorIs(t, over, ErrFenced)
	}
	// Who is late is not too late, as long as nobody else has it.
	h.clock.Oversleep(time.Hour)
	h.ack(c, again...)
	// Nobody has what was given back, not even by the token of nobody.
	_, err = c.Nak(ctx, engine.WAL, h.fetch(c, 1)[0].Ref(), 0, "")
	require.NoError(t, err)
	require.ErrorIs(t, c.InProgress(ctx, engine.WAL, Ref{1, 0}), ErrFenced)
}

func TestT68AFetchWaits(t *testing.T) {
	h := newHost(t)
	h.create(kv.StreamLimits{})
	c := h.consumer(Config{Name: "c", AckWait: 10 * time.Second, MaxAckPending: 2})
	got, failed := make(chan []Delivery, 3), make(chan error, 3)
	wait := func() {
		list, err := c.Fetch(ctx, engine.WAL, FetchOptions{Limit: 1, Wait: MaxWait})
		if err != nil {
			failed <- err
		}
		got <- list
	}
	until := func() (list []Delivery) {
		require.True(t, h.clock.Until(func() bool {
			select {
			case list = <-got:
				return true
			default:
				return false
			}
		}))
		return list
	}
	go wait()
	go wait()
	h.add("a")
	first := <-got
	require.Equal(t, "1:a×1", shown(first))
	h.add("b")
	second := <-got
	require.Equal(t, "2:b×1", shown(second))
	// An acknowledgement makes room, and what was not acknowledged is due at its time.
	h.add("c")
	begun := h.clock.Now()
	go wait()
	h.ack(c, second...)
	require.Equal(t, "3:c×1", shown(<-got))
	go wait()
	again := until()
	require.Equal(t, "1:a×2", shown(again))
	require.Equal(t, begun.Add(10*time.Second), h.clock.Now())
	require.Equal(t, "3:c×2", shown(h.fetch(c, 1)), "delivered at the same time")
	_, err := c.Nak(ctx, engine.WAL, again[0].Ref(), time.Second, "")
	require.NoError(t, err)
	go wait()
	require.Equal(t, "1:a×3", shown(until()))
	require.Equal(t, begun.Add(11*time.Second), h.clock.Now())
	// What is due later than the wait is over is not waited for.
	begun = h.clock.Now()
	go func() {
		list, err := c.Fetch(ctx, engine.WAL, FetchOptions{Limit: 1, Wait: time.Second})
		if err != nil {
			failed <- err
		}
		got <- list
	}()
	require.Empty(t, until())
	require.Equal(t, begun.Add(time.Second), h.clock.Now())
	// Nothing comes, and the wait is over.
	require.NoError(t, c.Replay(ctx, engine.WAL, Start{Policy: DeliverNew}))
	begun = h.clock.Now()
	go wait()
	require.Empty(t, until())
	require.Equal(t, begun.Add(MaxWait), h.clock.Now())
	require.Empty(t, failed)
}

func TestT68AfterMaxDeliverAnEntryIsADeadLetter(t *testing.T) {
	h := newHost(t)
	h.create(kv.StreamLimits{})
	c := h.consumer(Config{Name: "c", AckWait: time.Second, MaxDeliver: 2})
	h.add("a", "b", "c", "d")
	added := h.clock.Now()
	got := h.fetch(c, 0)
	require.NoError(t, c.Terminate(ctx, engine.WAL, got[2].Ref(), "it has no price"))
	h.ack(c, got[3])
	h.clock.Oversleep(time.Second)
	again := h.fetch(c, 0)
	require.Equal(t, "1:a×2 2:b×2", shown(again))
	dead, err := c.Nak(ctx, engine.WAL, again[1].Ref(), time.Hour, "twice")
	require.NoError(t, err)
	require.True(t, dead)
	h.clock.Oversleep(time.Second)
	require.Empty(t, h.fetch(c, 0))
	h.reopen()
	c = h.find("c")
	entry := func(n uint64, s string) Entry { return Entry{n, added, Message{s, []byte(s)}} }
	letters := []DeadLetter{
		{entry(1, "a"), false, added.Add(2 * time.Second), 2, reasonUnacked},
		{entry(2, "b"), false, added.Add(time.Second), 2, "twice"},
		{entry(3, "c"), false, added, 1, "it has no price"},
	}
	page := func(after uint64, limit int) []DeadLetter {
		list, err := c.DeadLetters(ctx, after, limit)
		require.NoError(t, err)
		return list
	}
	require.Equal(t, letters, page(0, 0))
	require.Equal(t, letters[1:2], page(1, 1))
	require.Empty(t, page(3, 0))
	require.Equal(t, []uint64{3, 0, 4}, []uint64{h.info(c).Dead, h.info(c).AckPending, h.info(c).AckFloor})
	// Replayed, dropped, and nothing that is not there.
	done, err := c.RetryDead(ctx, engine.WAL, 1, 3, 4)
	require.NoError(t, err)
	require.Equal(t, 2, done)
	done, err = c.DropDead(ctx, engine.WAL, 2, 2, 1)
	require.NoError(t, err)
	require.Equal(t, 1, done)
	require.Empty(t, page(0, 0))
	got = h.fetch(c, 0)
	require.Equal(t, "1:a×1 3:c×1", shown(got), "as often as others")
	h.ack(c, got...)
	require.Equal(t, []uint64{0, 0}, []uint64{h.info(c).Dead, h.info(c).AckPending})
}

// An entry that is a dead letter once more, since its consumer began again, is one.
func TestT68ADeadLetterThatDiesAgain(t *testing.T) {
	h := newHost(t)
	h.create(kv.StreamLimits{})
	c := h.consumer(Config{Name: "c"})
	h.add("a")
	for _, reason := range []string{"first", "second"} {
		require.NoError(t, c.Replay(ctx, engine.WAL, Start{}))
		require.NoError(t, c.Terminate(ctx, engine.WAL, h.fetch(c, 1)[0].Ref(), reason))
		require.EqualValues(t, 1, h.info(c).Dead)
		list, err := c.DeadLetters(ctx, 0, 0)
		require.NoError(t, err)
		require.Equal(t, reason, list[0].Reason)
	}
}

// A stream that is limited loses nothing of a consumer without a word.
func TestT68WhatTheStreamNoLongerKeepsIsADeadLetterToo(t *testing.T) {
	h := newHost(t)
	h.create(kv.StreamLimits{Entries: 2})
	c := h.consumer(Config{Name: "c", AckWait: time.Second})
	h.add("a", "b")
	got := h.fetch(c, 0)
	require.NoError(t, c.Terminate(ctx, engine.WAL, got[0].Ref(), "no"))
	h.add("c", "d")
	h.clock.Oversleep(time.Second)
	require.Equal(t, "3:c×1 4:d×1", shown(h.fetch(c, 0)))
	list, err := c.DeadLetters(ctx, 0, 0)
	require.NoError(t, err)
	require.Equal(t, []DeadLetter{
		{got[0].Entry, false, h.clock.Now().Add(-time.Second), 1, "no"}, // which is there still
		{Entry{Number: 2}, true, h.clock.Now(), 1, reasonTrimmed},
	}, list)
	_, err = c.RetryDead(ctx, engine.WAL, 1)
	require.ErrorIs(t, err, ErrTrimmed)
	require.EqualValues(t, 2, h.info(c).Dead)
	existed, err := h.DeleteConsumer(ctx, engine.WAL, "s", "c")
	require.NoError(t, err)
	require.True(t, existed)
	_, err = c.Info(ctx)
	require.ErrorIs(t, err, ErrNotFound)
	c = h.consumer(Config{Name: "c"})
	require.Zero(t, h.info(c).Dead)
}

// Where there is no room for a dead letter its consumer says so, and goes on with none.
func TestT68DeadLettersAreBounded(t *testing.T) {
	enginetest.SkipUnderRace(t, "thousands of calls one after the other")
	h := newHost(t)
	h.create(kv.StreamLimits{})
	c := h.consumer(Config{Name: "c", MaxDeliver: 1, AckWait: time.Second})
	many := make([]string, MaxBatch)
	for i := range many {
		many[i] = "a"
	}
	for range MaxDead / MaxBatch {
		h.add(many...)
		require.Len(t, h.fetch(c, MaxBatch), MaxBatch)
		h.clock.Oversleep(time.Second)
		require.Empty(t, h.fetch(c, MaxBatch))
	}
	h.add("b")
	got := h.fetch(c, 0)
	require.ErrorIs(t, c.Terminate(ctx, engine.WAL, got[0].Ref(), ""), ErrTooMany)
	h.clock.Oversleep(time.Second)
	_, err := c.Fetch(ctx, engine.WAL, FetchOptions{})
	require.ErrorIs(t, err, ErrTooMany)
	_, err = c.DropDead(ctx, engine.WAL, 1)
	require.NoError(t, err)
	require.Empty(t, h.fetch(c, 0))
	require.EqualValues(t, MaxDead, h.info(c).Dead)
	existed, err := h.Delete(ctx, engine.WAL, "s")
	require.NoError(t, err)
	require.True(t, existed)
}

func TestT68AConsumerIsGivenWhatItsFilterSays(t *testing.T) {
	h := newHost(t)
	h.create(kv.StreamLimits{Entries: 4})
	c := h.consumer(Config{Name: "c", Filter: "orders.*"})
	h.add("users.1", "orders.1", "users.2", "orders.2")
	require.Equal(t, "2:orders.1×1", shown(h.fetch(c, 1)))
	require.EqualValues(t, 3, h.info(c).Delivered, "past what it is not given")
	require.Equal(t, "4:orders.2×1", shown(h.fetch(c, 1)))
	for n := range 20 {
		h.add(fmt.Sprint("users.", n), fmt.Sprint("users.", n, ".a"))
		require.Empty(t, h.fetch(c, 1), "and nothing is lost to the trim")
	}
	require.NoError(t, h.UpdateConsumer(ctx, engine.WAL, "s", Config{Name: "c", Filter: "users.*", MaxAckPending: 3, Start: Start{Policy: DeliverNew}}))
	require.Equal(t, Config{"c", Start{}, "users.*", PlainAckWait, PlainDeliver, 3}, h.info(c).Config)
	h.add("orders.3", "users.3", "users.4")
	require.Equal(t, "46:users.3×1", shown(h.fetch(c, 0)), "three are not acknowledged")
	require.Empty(t, h.fetch(c, 0))
}

// One entry is with one caller at a time, also where many ask at once.
func TestT68AnEntryIsWithOneCallerAtATime(t *testing.T) {
	h := newHost(t)
	h.create(kv.StreamLimits{})
	c := h.consumer(Config{Name: "c"})
	const callers, entries = 8, 400
	got := make(chan Delivery, entries)
	for range callers {
		go func() {
			for {
				list, err := c.Fetch(ctx, engine.WAL, FetchOptions{Limit: 3, Wait: MaxWait})
				if err != nil {
					close(got) // which fails the test
					return
				}
				for _, d := range list {
					if d.Subject == "end" {
						got <- d
						return
					}
					got <- d
				}
			}
		}()
	}
	for range entries / 4 {
		h.add("a", "b", "c", "d")
	}
	seen := map[uint64]bool{}
	for range entries {
		d := <-got
		require.False(t, seen[d.Number], "twice")
		require.Equal(t, 1, d.Deliveries)
		seen[d.Number] = true
		h.ack(c, d)
	}
	for range callers {
		h.add("end")
		<-got
	}
}

// What is delivered again beside what comes next is delivered once, where it is both.
func TestT68ADeadLetterThatIsReplayedInFrontOfTheConsumer(t *testing.T) {
	h := newHost(t)
	h.create(kv.StreamLimits{})
	c := h.consumer(Config{Name: "c"})
	h.add("a", "b", "c")
	got := h.fetch(c, 2)
	require.NoError(t, c.Terminate(ctx, engine.WAL, got[1].Ref(), "no"))
	require.NoError(t, c.Replay(ctx, engine.WAL, Start{}))
	_, err := c.RetryDead(ctx, engine.WAL, 2)
	require.NoError(t, err)
	require.Equal(t, "2:b×1 1:a×1 3:c×1", shown(h.fetch(c, 0)))
	require.EqualValues(t, 3, h.info(c).AckPending)
}

// interrupted is a context that ends once it was looked at so often.
type interrupted struct {
	context.Context
	looks int
}

func (c *interrupted) Err() error {
	if c.looks--; c.looks < 0 {
		return context.Canceled
	}
	return nil
}

// A consumer whose deletion is interrupted is sound, and deleted again.
func TestADeletionThatIsInterrupted(t *testing.T) {
	enginetest.SkipUnderRace(t, "thousands of calls one after the other")
	h := newHost(t)
	h.create(kv.StreamLimits{})
	c := h.consumer(Config{Name: "c", MaxDeliver: 1, AckWait: time.Second, MaxAckPending: MaxUnacked})
	many := make([]string, MaxBatch)
	for i := range many {
		many[i] = "a"
	}
	for range 3 {
		h.add(many...)
		require.Len(t, h.fetch(c, MaxBatch), MaxBatch)
	}
	h.clock.Oversleep(time.Second)
	for range 3 {
		require.Empty(t, h.fetch(c, MaxBatch))
	}
	require.EqualValues(t, 3*MaxBatch, h.info(c).Dead)
	left := uint64(3 * MaxBatch)
	for looks := 1; left == 3*MaxBatch; looks++ {
		_, err := h.DeleteConsumer(&interrupted{ctx, looks}, engine.WAL, "s", "c")
		require.ErrorIs(t, err, context.Canceled)
		left = h.info(c).Dead
	}
	require.EqualValues(t, 2*MaxBatch, left)
	h.reopen() // which checks
	existed, err := h.Delete(ctx, engine.WAL, "s")
	require.NoError(t, err)
	require.True(t, existed)
}

// As many wait for an acknowledgement as can be looked over.
func TestT68WhatIsReplayedIsBounded(t *testing.T) {
	enginetest.SkipUnderRace(t, "thousands of calls one after the other")
	h := newHost(t)
	h.create(kv.StreamLimits{})
	c := h.consumer(Config{Name: "c", MaxAckPending: MaxUnacked})
	many := make([]string, MaxBatch)
	for i := range many {
		many[i] = "a"
	}
	h.add("dead")
	require.NoError(t, c.Terminate(ctx, engine.WAL, h.fetch(c, 1)[0].Ref(), "no"))
	for range MaxUnacked / MaxBatch {
		h.add(many...)
		require.Len(t, h.fetch(c, MaxBatch), MaxBatch)
	}
	_, err := c.RetryDead(ctx, engine.WAL, 1)
	require.ErrorIs(t, err, ErrTooMany)
	require.EqualValues(t, 1, h.info(c).Dead)
	h.add("more")
	require.Empty(t, h.fetch(c, 1))
}

// What was looked up and is otherwise by the time of the batch is not delivered, or as it is by
// then.
func TestT68WhatChangesBetweenLookAndDelivery(t *testing.T) {
	h := newHost(t)
	h.create(kv.StreamLimits{})
	c := h.consumer(Config{Name: "c", AckWait: time.Second, MaxAckPending: 3})
	h.add("a", "b", "c", "d", "e")
	got := h.fetch(c, 2)
	h.clock.Oversleep(time.Second)
	wanted := FetchOptions{Limit: 10}
	look := func() (p prospect) {
		require.NoError(t, c.streams.view(func(view *kv.View) (err error) {
			p, err = c.look(ctx, view, wanted)
			return err
		}))
		return p
	}
	deliver := func(p prospect) (list []Delivery, err error) {
		err = c.update(ctx, engine.WAL, func(w *work) (err error) {
			list, err = w.deliver(&p, wanted)
			return err
		})
		return list, err
	}
	p := look()
	require.Equal(t, prospect{due: []uint64{1, 2}, cursor: 2, fresh: []uint64{3}, past: 3}, p)
	h.ack(c, got[0])
	require.NoError(t, c.InProgress(ctx, engine.WAL, got[1].Ref()))
	list, err := deliver(p)
	require.NoError(t, err)
	require.Equal(t, "3:c×1", shown(list), "one is acknowledged, one has its time")
	list, err = deliver(p)
	require.NoError(t, err)
	require.Empty(t, list, "another was quicker")
	// Less room than there was.
	p = prospect{cursor: 3, fresh: []uint64{4, 5}, past: 5}
	list, err = deliver(p)
	require.NoError(t, err)
	require.Equal(t, "4:d×1", shown(list))
	require.EqualValues(t, 4, h.info(c).Delivered)
	// Trimmed.
	h.ack(c, list...)
	p = look()
	require.NoError(t, h.Limit(ctx, engine.WAL, "s", kv.StreamLimits{Entries: 1}))
	h.add("f")
	_, err = deliver(p)
	require.ErrorIs(t, err, ErrTrimmed)
	require.EqualValues(t, 4, h.info(c).Delivered)
	list, err = deliver(prospect{cursor: 4, fresh: []uint64{5, 6}, past: 6})
	require.ErrorIs(t, err, ErrTrimmed)
	require.Empty(t, list)
}

// What is as long as may be is delivered some at a time.
func TestADeliveryHasSoManyBytes(t *testing.T) {
	h := newHost(t)
	h.create(kv.StreamLimits{})
	c := h.consumer(Config{Name: "c", AckWait: time.Second})
	for range 10 {
		_, err := h.Publish(ctx, engine.WAL, "s", AppendOptions{}, Message{"a", make([]byte, MaxPayload)})
		require.NoError(t, err)
	}
	require.Len(t, h.fetch(c, 0), 8)
	require.Len(t, h.fetch(c, 0), 2)
	h.clock.Oversleep(time.Second)
	require.Len(t, h.fetch(c, 0), 8)
	list, next, err := h.Range(ctx, "s", RangeOptions{})
	require.NoError(t, err)
	require.Len(t, list, 8)
	require.EqualValues(t, 9, next)
}

// A delivery is of the consumer that made it, and of no later one of its name.
func TestADeliveryIsOfNoLaterConsumer(t *testing.T) {
	h := newHost(t)
	h.create(kv.StreamLimits{})
	h.add("a", "b")
	old := h.fetch(h.consumer(Config{Name: "c"}), 2)
	_, err := h.DeleteConsumer(ctx, engine.WAL, "s", "c")
	require.NoError(t, err)
	_, err = h.DeleteConsumer(ctx, engine.WAL, "s", h.consumer(Config{Name: "idle"}).name)
	require.NoError(t, err)
	c := h.consumer(Config{Name: "c"})
	require.EqualValues(t, 3, h.fetch(c, 1)[0].Token)
	require.Len(t, h.fetch(c, 1), 1)
	done, err := c.Ack(ctx, engine.WAL, old[0].Ref(), old[1].Ref())
	require.NoError(t, err)
	require.Zero(t, done)
	require.ErrorIs(t, c.InProgress(ctx, engine.WAL, old[0].Ref()), ErrFenced)
	_, err = h.Delete(ctx, engine.WAL, "s")
	require.NoError(t, err)
	h.create(kv.StreamLimits{})
	h.add("a", "b")
	again := h.consumer(Config{Name: "c"})
	require.Len(t, h.fetch(again, 2), 2)
	require.ErrorIs(t, again.InProgress(ctx, engine.WAL, old[0].Ref()), ErrFenced)
}
