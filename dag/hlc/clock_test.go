package hlc

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stoadb/stoa/codec"
	"github.com/stoadb/stoa/column"
	"github.com/stoadb/stoa/engine"
	"github.com/stoadb/stoa/engine/enginetest"
	"github.com/stoadb/stoa/engine/mem"
	"github.com/stoadb/stoa/keys"
)

var (
	epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	node1 = codec.NodeID{Lo: 1}
	node2 = codec.NodeID{Hi: 7, Lo: 2}
)

// wall is a physical clock in the hands of a test.
type wall struct {
	mu  sync.Mutex
	now time.Time
}

func (w *wall) Now() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return w.now }

func (w *wall) move(d time.Duration) { w.mu.Lock(); defer w.mu.Unlock(); w.now = w.now.Add(d) }

func open(t require.TestingT, e engine.Engine, w *wall) *Clock {
	c, err := Open(e, e, Options{Node: node1, Now: w.Now})
	require.NoError(t, err)
	return c
}

func at(d time.Duration, id codec.NodeID) codec.HybridTimestamp {
	return codec.HybridTimestamp{Time: uint64(ToNTP64(epoch.Add(d))), ID: id}
}

func TestNTP64RoundsDownAndComesBack(t *testing.T) {
	enginetest.Check(t, 100, func(t *rapid.T) {
		when := time.Unix(rapid.Int64Range(0, 1<<32-1).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns"))
		back := ToNTP64(when).Time()
		require.False(t, back.After(when))
		require.LessOrEqual(t, when.Sub(back), time.Nanosecond)
	})
	require.Zero(t, ToNTP64(time.Unix(-1, 999)))
	require.Equal(t, ^NTP64(0), ToNTP64(time.Unix(1<<32, 0)))
	require.Equal(t, NTP64(1)<<32|1<<31, ToNTP64(time.Unix(1, 5e8)))
	require.Equal(t, 1500*time.Millisecond, (3 * second).Sub(second+second/2))
	require.Equal(t, time.Nanosecond, NTP64(1).Sub(0))
	require.Zero(t, NTP64(1).Sub(2))
}

// A clock is stamped, observed, restarted and killed while the physical clock
// stands, jumps and runs back: every stamp is after every earlier one and after
// all that was observed.
func TestTheLatestStampOfATimeHasAFullCounter(t *testing.T) {
	require.Equal(t, NTP64(0x1_0002_ffff), NTP64(0x1_0002_0003).Latest())
}

func TestStampsIncreaseWhateverThePhysicalClockDoes(t *testing.T) {
	enginetest.Check(t, 100, func(t *rapid.T) {
		e, w := mem.New(), &wall{now: epoch}
		defer e.Close()
		c := open(t, e, w)
		var last uint64
		jump := rapid.Int64Range(-int64(8*time.Second), int64(8*time.Second))
		t.Repeat(map[string]func(*rapid.T){
			"stamp": func(t *rapid.T) {
				s, err := c.Stamp()
				if err != nil {
					var ahead *Ahead
					require.ErrorAs(t, err, &ahead)
					require.ErrorIs(t, err, ErrAhead)
					w.move(ahead.RetryAfter + time.Microsecond)
					s, err = c.Stamp()
					require.NoError(t, err, "after the time it said")
				}
				require.Greater(t, s.Time, last)
				require.Equal(t, node1, s.ID)
				require.LessOrEqual(t, NTP64(s.Time), ToNTP64(w.Now())+maxDrift)
				last = s.Time
			},
			"observe": func(t *rapid.T) {
				s := codec.HybridTimestamp{Time: uint64(ToNTP64(w.Now().Add(time.Duration(jump.Draw(t, "ahead"))))), ID: node2}
				err := c.Observe(s)
				if NTP64(s.Time) > ToNTP64(w.Now())+maxDrift {
					var early *Early
					require.ErrorAs(t, err, &early)
					require.ErrorIs(t, err, ErrEarly)
					w.move(early.RetryAfter)
					err = c.Observe(s)
				}
				require.NoError(t, err)
				last = max(last, s.Time)
			},
			"jump": func(t *rapid.T) { w.move(time.Duration(jump.Draw(t, "by"))) },
			"tick": func(t *rapid.T) { w.move(time.Duration(rapid.IntRange(0, 40_000).Draw(t, "ns"))) },
			"kill": func(t *rapid.T) { c = open(t, e, w) },
		})
	})
}

// A store is opened again and again, each time after the clock before it was
// killed, while the physical clock stands or hardly moves: stamps increase, and
// are never further ahead than one reservation, and a step of the next for each
// time.
func TestQuickRestartsDoNotAddUp(t *testing.T) {
	enginetest.Check(t, 100, func(t *rapid.T) {
		e, w := mem.New(), &wall{now: epoch}
		defer e.Close()
		var last, steps NTP64
		for range rapid.IntRange(1, 400).Draw(t, "restarts") {
			c := open(t, e, w)
			for range rapid.IntRange(1, 3).Draw(t, "stamps") {
				s, err := c.Stamp()
				require.NoError(t, err)
				require.Greater(t, NTP64(s.Time), last)
				last = NTP64(s.Time)
				require.LessOrEqual(t, last, ToNTP64(w.Now())+second+steps)
				w.move(time.Duration(rapid.IntRange(0, 1).Draw(t, "µs")) * time.Microsecond)
			}
			steps += leastReservation
		}
		w.move(steps.Sub(0)) // what quick restarts took is soon given back
		s, err := open(t, e, w).Stamp()
		require.NoError(t, err)
		require.LessOrEqual(t, NTP64(s.Time), ToNTP64(w.Now())+second)
	})
}

// Where a clock needs to be ahead of the physical one for long, its steps grow: it
// soon writes no more than one reservation a second.
func TestAClockThatIsAheadReservesMoreAndMore(t *testing.T) {
	e, w := mem.New(), &wall{now: epoch}
	defer e.Close()
	counted := &brokenWriter{Writer: e}
	c, err := Open(e, counted, Options{Node: node1, Now: w.Now})
	require.NoError(t, err)
	const perSecond = 1000
	for i := range 60 * perSecond { // a peer that is three seconds ahead sends a thousand deltas a second
		w.move(time.Second / perSecond)
		require.NoError(t, c.Observe(codec.HybridTimestamp{Time: uint64(ToNTP64(w.Now().Add(3 * time.Second))), ID: node2}), i)
	}
	require.InDelta(t, 60+16, counted.writes, 2)
}

func TestTenMillionStampsASecondCarryIntoPhysicalTime(t *testing.T) {
	e, w := mem.New(), &wall{now: epoch}
	defer e.Close()
	n := enginetest.Scale(1_000_000) // all ten million at a scale of 10
	step := 0
	c, err := Open(e, e, Options{Node: node1, Now: func() time.Time {
		step++
		return epoch.Add(time.Duration(step) * 100) // 10 million a second
	}})
	require.NoError(t, err)
	last := uint64(0)
	for range n {
		s, err := c.Stamp()
		require.NoError(t, err)
		if s.Time <= last {
			t.Fatalf("%d after %d", s.Time, last)
		}
		last = s.Time
	}
	require.LessOrEqual(t, NTP64(last), ToNTP64(epoch.Add(time.Duration(step)*100))+1, "keeps up")

	// Frozen, the counter has to carry.
	f := open(t, e, w)
	w.now = NTP64(last).Time().Add(2 * time.Second)
	first, err := f.Stamp()
	require.NoError(t, err)
	require.Zero(t, NTP64(first.Time)&counterMask)
	s := first
	for range n {
		s, err = f.Stamp()
		require.NoError(t, err)
	}
	require.Equal(t, first.Time+uint64(n), s.Time)
}

func TestStampsOfManyGoroutinesDiffer(t *testing.T) {
	e, w := mem.New(), &wall{now: epoch}
	defer e.Close()
	c := open(t, e, w)
	const each = 2000
	var wg sync.WaitGroup
	got := make([][]uint64, 8)
	for g := range got {
		wg.Go(func() {
			for range each {
				s, err := c.Stamp()
				if err != nil || c.Observe(codec.HybridTimestamp{Time: s.Time + 3, ID: node2}) != nil {
					return
				}
				got[g] = append(got[g], s.Time)
			}
		})
	}
	wg.Wait()
	seen := map[uint64]bool{}
	for _, times := range got {
		require.Len(t, times, each)
		for i, s := range times {
			require.False(t, seen[s])
			require.True(t, i == 0 || s > times[i-1])
			seen[s] = true
		}
	}
}

func TestStampComesAfterAGivenTime(t *testing.T) {
	e, w := mem.New(), &wall{now: epoch}
	defer e.Close()
	c := open(t, e, w)
	parent := ToNTP64(epoch.Add(time.Second))
	s, err := c.StampAfter(parent)
	require.NoError(t, err)
	require.Equal(t, uint64(parent+1), s.Time)
	_, err = c.StampAfter(^NTP64(0))
	require.ErrorIs(t, err, ErrAhead)
	_, err = c.StampAfter(ToNTP64(epoch.Add(5 * time.Second)))
	require.EqualError(t, err, "dag: clock ahead: the next stamp would be 2026-03-01T12:00:05Z, more than 5s after the "+
		"physical clock, 2026-03-01T12:00:00Z: set the clock right, confirm that it is, or try again in 1ns")
}

func TestEarlySaysWhenToRetryAndChangesNothing(t *testing.T) {
	e, w := mem.New(), &wall{now: epoch}
	defer e.Close()
	c := open(t, e, w)
	err := c.Observe(at(7*time.Second, node2))
	require.EqualError(t, err, "dag: early: stamp 2026-03-01T12:00:07Z of node 129127208515966861314 is more than 5s ahead "+
		"of this node's clock: offer it again in 2s")
	const wrong = "; the clock of one of the two nodes is wrong, or was when the delta was made"
	require.NotContains(t, c.Check(at(time.Minute+5*time.Second, node2)).Error(), wrong)
	require.Contains(t, c.Check(at(time.Minute+6*time.Second, node2)).Error(), "offer it again in 1m1s"+wrong)
	s, err := c.Stamp()
	require.NoError(t, err)
	require.Equal(t, at(0, node1), s)
	require.NoError(t, c.Check(at(5*time.Second, node2)))
	require.ErrorIs(t, c.Check(codec.HybridTimestamp{Time: ^uint64(0), ID: node2}), ErrEarly)
}

func TestAStampIsMadeOnlyOnceItsReservationIsStored(t *testing.T) {
	e, w := mem.New(), &wall{now: epoch}
	defer e.Close()
	broken := &brokenWriter{Writer: e}
	c, err := Open(e, broken, Options{Node: node1, Now: w.Now})
	require.NoError(t, err)
	s, err := c.Stamp()
	require.NoError(t, err)
	require.Equal(t, 1, broken.writes)
	broken.err = errors.New("the disk is gone")
	w.move(999 * time.Millisecond)
	_, err = c.Stamp()
	require.NoError(t, err, "within the second that is reserved")
	w.move(time.Millisecond)
	_, err = c.Stamp()
	require.ErrorIs(t, err, broken.err)
	require.ErrorIs(t, c.Observe(at(3*time.Second, node2)), broken.err)
	broken.err = nil
	next, err := c.Stamp()
	require.NoError(t, err)
	require.Equal(t, at(time.Second, node1), next, "nothing was lost but the second")
	require.Greater(t, next.Time, s.Time)
	require.Equal(t, 2, broken.writes)
}

func TestADamagedReservationIsReported(t *testing.T) {
	e := mem.New()
	defer e.Close()
	var b engine.Batch
	b.Put(column.Generic, reservationKey, []byte{1})
	require.NoError(t, e.Apply(&b))
	_, err := Open(e, e, Options{Node: node1})
	require.ErrorIs(t, err, engine.ErrCorrupt)
	_, err = Open(e, e, Options{})
	require.EqualError(t, err, "dag: clock: no node id")
}

func TestTheReservationIsARowThatMayBeWritten(t *testing.T) {
	e, w := mem.New(), &wall{now: epoch}
	defer e.Close()
	_, err := open(t, e, w).Stamp()
	require.NoError(t, err)
	row, err := e.Get(nil, column.Generic, reservationKey)
	require.NoError(t, err)
	require.NoError(t, keys.Check(column.Generic, reservationKey, row))
	require.Error(t, keys.Check(column.Generic, reservationKey, row[1:]))
	require.Error(t, keys.Check(column.Generic, append(reservationKey[:16:16], 0), row))
}

// brokenWriter fails on demand and counts what got through.
type brokenWriter struct {
	engine.Writer
	err    error
	writes int
}

func (w *brokenWriter) Apply(b *engine.Batch) error {
	if w.err != nil {
		return w.err
	}
	w.writes++
	return w.Writer.Apply(b)
}

func BenchmarkStamp(b *testing.B) {
	e := mem.New()
	defer e.Close()
	c, err := Open(e, e, Options{Node: node1})
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Stamp(); err != nil {
			b.Fatal(err)
		}
	}
}
