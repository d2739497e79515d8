package stream

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/faulty"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/kv"
	"github.com/stoadb/stoa/kv/kvtest"
)

// count is a projection to a space: how often each subject was seen, and when last, which an
// entry that is applied twice, or not in its place, changes.
func count(space *kv.Space) Projection {
	return func(w *kv.Work, e Entry) error {
		tx, err := w.In(space)
		if err != nil {
			return err
		}
		before := 0
		if r, err := tx.Get([]byte(e.Subject)); err == nil {
			before, _ = strconv.Atoi(string(r.Value))
		} else if !errors.Is(err, kv.ErrNotFound) {
			return err
		}
		if _, err := tx.Put([]byte(e.Subject), fmt.Append(nil, before+1), kv.PutOptions{}); err != nil {
			return err
		}
		_, err = tx.Put([]byte("last"), fmt.Append(nil, e.Number), kv.PutOptions{})
		return err
	}
}

// counted is what count has written.
func counted(t tester, space *kv.Space) map[string]string {
	all := map[string]string{}
	for r, err := range space.All(ctx, nil) {
		require.NoError(t, err)
		all[string(r.Key)] = string(r.Value)
	}
	return all
}

// project runs a projection until a consumer is past an entry, and everything is handled, while
// no time passes.
func (h *host) project(c *Consumer, last uint64, apply Projection) {
	h.t.Helper()
	h.projectUntil(c, apply, func() error {
		return h.space.Await(ctx, time.Time{}, func() (bool, error) {
			info, err := c.Info(ctx)
			return info.AckFloor >= last, err
		})
	})
}

// projectUntil runs a projection until wait returns.
func (h *host) projectUntil(c *Consumer, apply Projection, wait func() error) {
	h.t.Helper()
	within, end := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- c.Project(within, engine.WAL, apply) }()
	require.NoError(h.t, wait())
	end()
	require.ErrorIs(h.t, <-done, context.Canceled)
}

func TestT66AProjectionOfAStream(t *testing.T) {
	h := newHost(t)
	h.create(kv.StreamLimits{})
	c := h.consumer(Config{Name: "counts"})
	want := map[string]string{"last": "300"}
	random := enginetest.Random(t)
	for range 300 {
		s := fmt.Sprint("k", random.IntN(20))
		n, _ := strconv.Atoi(want[s])
		want[s] = fmt.Sprint(n + 1)
		h.add(s)
	}
	h.project(c, 300, count(h.bound))
	require.Equal(t, want, counted(t, h.bound))
	// From the first one on into another space, which has the same in the end: the stream is the truth.
	require.NoError(t, h.kv.Declare(kv.Type{System: kv.SystemTest, Space: "other"}))
	other, err := h.kv.CreateSpace(ctx, "t", kv.SystemTest, "other", kv.Quota{})
	require.NoError(t, err)
	require.NoError(t, c.Replay(ctx, engine.WAL, Start{}))
	h.project(c, 300, count(other))
	require.Equal(t, want, counted(t, other))
	require.EqualValues(t, 600, h.info(c).Deliveries)
}

// A plain write of a record is told in no stream.
func TestT69WhoWritesDirectlyLeavesNoEntries(t *testing.T) {
	h := newHost(t)
	h.create(kv.StreamLimits{})
	before, err := h.List(ctx)
	require.NoError(t, err)
	for n := range 10 {
		_, err := h.bound.Put(ctx, fmt.Append(nil, "k", n), []byte("v"), kv.PutOptions{})
		require.NoError(t, err)
	}
	_, err = h.bound.Delete(ctx, []byte("k1"))
	require.NoError(t, err)
	after, err := h.List(ctx)
	require.NoError(t, err)
	require.Equal(t, before, after)
	stats, err := h.space.Stats()
	require.NoError(t, err)
	require.EqualValues(t, 1, stats.Revision, "the stream's own record")
}

// An entry that a projection fails on is tried again, later each time, and those behind it wait;
// what it has done is not there; and at last it is a dead letter, and the next has its turn.
func TestT67AProjectionThatFails(t *testing.T) {
	h := newHost(t)
	h.create(kv.StreamLimits{})
	c := h.consumer(Config{Name: "c", MaxDeliver: 4})
	h.add("a", "bad", "b")
	type try struct {
		number uint64
		after  time.Duration // the first one
	}
	var tries []try
	var begun time.Time
	failed := errors.New("it has no price")
	h.projectUntil(c, func(w *kv.Work, e Entry) error {
		if begun.IsZero() {
			begun = w.Now()
		}
		tries = append(tries, try{e.Number, w.Now().Sub(begun)})
		if err := count(h.bound)(w, e); err != nil {
			return err
		}
		if e.Subject == "bad" {
			return failed
		}
		return nil
	}, func() error {
		require.True(t, h.clock.Until(func() bool { return h.info(c).AckFloor == 3 }))
		return nil
	})
	wanted := []try{{1, 0}, {2, 0}, {2, time.Second}, {2, 3 * time.Second}, {2, 7 * time.Second}, {3, 7 * time.Second}}
	require.Len(t, tries, len(wanted))
	for i, want := range wanted {
		require.Equal(t, want.number, tries[i].number)
		require.InDelta(t, want.after, tries[i].after, float64(time.Second/2), "others of the process sleep for some ms too")
	}
	require.Equal(t, map[string]string{"a": "1", "b": "1", "last": "3"}, counted(t, h.bound))
	list, err := c.DeadLetters(ctx, 0, 0)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, []any{uint64(2), "it has no price", 4, "bad"}, []any{list[0].Number, list[0].Reason, list[0].Deliveries, list[0].Subject})
	// Replayed once it is seen to, it is applied.
	_, err = c.RetryDead(ctx, engine.WAL, 2)
	require.NoError(t, err)
	h.project(c, 3, count(h.bound))
	require.Equal(t, map[string]string{"a": "1", "bad": "1", "b": "1", "last": "2"}, counted(t, h.bound))
}

// That somebody else's delivery is over, or a lock, is a failure as any.
func TestT67AProjectionThatIsFencedByOthers(t *testing.T) {
	h := newHost(t)
	h.create(kv.StreamLimits{})
	c := h.consumer(Config{Name: "c", MaxDeliver: 1})
	h.add("a")
	h.project(c, 1, func(*kv.Work, Entry) error { return fenced() })
	require.EqualValues(t, 1, h.info(c).Dead)
}

func TestTheReasonOfALongError(t *testing.T) {
	require.Equal(t, "short", ReasonOf(errors.New("short")))
	long := ReasonOf(errors.New(strings.Repeat("ä", MaxReason)))
	require.Equal(t, strings.Repeat("ä", MaxReason/2), long)
	require.NoError(t, checkReason(long))
	require.Equal(t, strings.Repeat("ä", MaxReason/2-1)+"a", ReasonOf(errors.New(strings.Repeat("ä", MaxReason/2-1)+"aä")))
	require.Equal(t, "ab", ReasonOf(errors.New("a\xffb")))
}

// What is refused of what a projection does is a failure of it too.
func TestT67AProjectionBeyondAQuota(t *testing.T) {
	h := newHost(t)
	h.create(kv.StreamLimits{})
	c := h.consumer(Config{Name: "c", MaxDeliver: 1})
	h.add("a", "b", "a")
	require.NoError(t, h.bound.SetQuota(ctx, kv.Quota{Keys: 2}))
	h.project(c, 3, count(h.bound))
	require.Equal(t, map[string]string{"a": "2", "last": "3"}, counted(t, h.bound))
	list, err := c.DeadLetters(ctx, 0, 0)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Contains(t, list[0].Reason, "QUOTA_EXHAUSTED")
}

// Several that project one consumer share it: each entry is applied once, in order.
func TestT67ProjectionsOfOneConsumerAtOnce(t *testing.T) {
	h := newHost(t)
	h.create(kv.StreamLimits{})
	c := h.consumer(Config{Name: "c"})
	want := map[string]string{"last": "200"}
	for n := range 200 {
		h.add(fmt.Sprint("k", n))
		want[fmt.Sprint("k", n)] = "1"
	}
	within, end := context.WithCancel(ctx)
	defer end()
	done := make(chan error, 3)
	for range cap(done) {
		go func() { done <- c.Project(within, engine.WAL, count(h.bound)) }()
	}
	h.project(c, 200, count(h.bound))
	end()
	for range cap(done) {
		require.ErrorIs(t, <-done, context.Canceled)
	}
	require.Equal(t, want, counted(t, h.bound))
	require.EqualValues(t, 200, h.info(c).Deliveries)
}

// Who ends while it applies an entry gives it back, as if it had never had it.
func TestT67AProjectionThatEndsGivesItsEntryBack(t *testing.T) {
	h := newHost(t)
	h.create(kv.StreamLimits{})
	c := h.consumer(Config{Name: "c", MaxDeliver: 1})
	h.add("a")
	within, end := context.WithCancel(ctx)
	require.ErrorIs(t, c.Project(within, engine.WAL, func(*kv.Work, Entry) error { end(); return within.Err() }), context.Canceled)
	require.Equal(t, "1:a×1", shown(h.fetch(c, 0)), "at once, and its first delivery still")
}

// An entry that takes the process with it whenever it is applied has its turn so often, and
// those behind it are not the ones that die of it.
func TestT67AnEntryThatProcessesDieOf(t *testing.T) {
	h := newHost(t)
	h.create(kv.StreamLimits{})
	c := h.consumer(Config{Name: "c", MaxDeliver: 3, AckWait: time.Second})
	h.add("bad", "a")
	for n := range 3 {
		list, err := c.Fetch(ctx, engine.WAL, FetchOptions{InOrder: true})
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint("1:bad×", n+1), shown(list))
		h.reopen() // before it is applied
		c = h.find("c")
		list, err = c.Fetch(ctx, engine.WAL, FetchOptions{InOrder: true})
		require.NoError(t, err)
		require.Empty(t, list)
		h.clock.Oversleep(time.Second)
	}
	h.project(c, 2, count(h.bound))
	require.Equal(t, map[string]string{"a": "1", "last": "2"}, counted(t, h.bound))
	require.EqualValues(t, 1, h.info(c).Dead)
}

// The batch that applies an entry delivers the next, if a filter leaves few out before it.
func TestT67AProjectionGoesOnInTheBatchOfTheLast(t *testing.T) {
	h := newHost(t)
	h.create(kv.StreamLimits{})
	c := h.consumer(Config{Name: "c", Filter: "a", AckWait: time.Second})
	h.add("a", "b", "a")
	for range lookFollowing {
		h.add("b")
	}
	h.add("a")
	got := &h.fetch(c, 1)[0]
	var applied []uint64
	for got != nil {
		var err error
		got, err = c.apply(ctx, engine.WAL, got, func(_ *kv.Work, e Entry) error { applied = append(applied, e.Number); return nil })
		require.NoError(t, err)
	}
	require.Equal(t, []uint64{1, 3}, applied)
	info := h.info(c)
	require.Equal(t, []uint64{3, 2, 0}, []uint64{info.Delivered, info.Deliveries, info.AckPending})
	last := fmt.Sprint(4+lookFollowing, ":a×1")
	got = &h.fetch(c, 1)[0]
	require.Equal(t, last, shown([]Delivery{*got}))
	// Not where the stream no longer keeps what comes next, which Fetch says.
	require.NoError(t, h.Limit(ctx, engine.WAL, "s", kv.StreamLimits{Entries: 1}))
	h.add("a", "a")
	none, err := c.apply(ctx, engine.WAL, got, func(*kv.Work, Entry) error { return nil })
	require.NoError(t, err)
	require.Nil(t, none)
	require.NoError(t, h.Limit(ctx, engine.WAL, "s", kv.StreamLimits{}))
	require.NoError(t, c.Replay(ctx, engine.WAL, Start{}))
	got = &h.fetch(c, 1)[0]
	// Not where something else is delivered.
	h.add("a", "a")
	other := h.fetch(c, 1)
	got, err = c.apply(ctx, engine.WAL, got, func(*kv.Work, Entry) error { return nil })
	require.NoError(t, err)
	require.Nil(t, got)
	h.ack(c, other...)
}

// An entry that somebody else has by now is not applied.
func TestT67WhoIsLateAppliesNothing(t *testing.T) {
	h := newHost(t)
	h.create(kv.StreamLimits{})
	c := h.consumer(Config{Name: "c", AckWait: time.Second})
	h.add("a")
	late := h.fetch(c, 0)[0]
	h.clock.Oversleep(time.Second)
	require.Len(t, h.fetch(c, 0), 1)
	next, err := c.apply(ctx, engine.WAL, &late, func(*kv.Work, Entry) error { return errors.New("it is called") })
	require.NoError(t, err)
	require.Nil(t, next)
	require.EqualValues(t, 1, h.info(c).AckPending)
	require.Empty(t, counted(t, h.bound))
}

// Wherever a process dies, each entry that is there is applied once, in order.
func TestT67WhereverTheProcessDiesEachEntryIsAppliedOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(67, 68))
	for range enginetest.Scale(100) {
		db, clock := mem.New(), kvtest.New()
		h := openHost(t, db, clock)
		h.create(kv.StreamLimits{})
		h.consumer(Config{Name: "c", MaxDeliver: MaxDelivered})
		h.end()
		f := faulty.New(db, faulty.Options{At: 1 + random.IntN(60), Fault: faulty.CrashBefore + faulty.Fault(random.IntN(2))})
		n := 0
		live := func(db engine.Engine) {
			h, err := tryHost(t, db, clock)
			if err != nil {
				return
			}
			defer func() { require.NoError(t, h.kv.Close()) }()
			c := h.find("c")
			for range 15 {
				n++
				var list []Message
				for i := range 1 + random.IntN(3) {
					list = append(list, Message{fmt.Sprint("k", n, "-", i), nil})
				}
				if _, err := h.Publish(ctx, engine.WAL, "s", AppendOptions{}, list...); err != nil {
					return
				}
				delivered, err := c.Fetch(ctx, engine.WAL, FetchOptions{InOrder: true})
				if err != nil {
					return
				}
				for i := range delivered {
					for got := &delivered[i]; got != nil; {
						if got, err = c.apply(ctx, engine.WAL, got, count(h.bound)); err != nil {
							return
						}
					}
				}
			}
		}
		live(f)
		clock.Oversleep(PlainAckWait)
		live(f.Restart())
		clock.Oversleep(PlainAckWait)
		h = openHost(t, db, clock)
		info, err := h.Info(ctx, "s")
		require.NoError(t, err)
		h.project(h.find("c"), info.Last, count(h.bound))
		want := map[string]string{}
		entries, _, err := h.Range(ctx, "s", RangeOptions{})
		require.NoError(t, err)
		for _, e := range entries {
			want[e.Subject], want["last"] = "1", fmt.Sprint(e.Number)
		}
		require.Equal(t, want, counted(t, h.bound))
		require.Zero(t, h.info(h.find("c")).Dead)
		h.end()
		require.NoError(t, db.Close())
	}
}
