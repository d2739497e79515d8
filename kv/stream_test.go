package kv

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
)

func appendTo(t *testing.T, s *Space, stream string, limits StreamLimits, payloads ...string) StreamInfo {
	t.Helper()
	var info StreamInfo
	require.NoError(t, s.Update(ctx, engine.WAL, func(tx *Tx) (err error) {
		var list [][]byte
		for _, p := range payloads {
			list = append(list, []byte(p))
		}
		info, err = tx.AppendAll(stream, limits, list...)
		return err
	}))
	return info
}

// What is kept is exact, and the rows of what is not go a 64th of that at a time.
func TestAStreamKeepsExactlyTheNewest(t *testing.T) {
	h := newTestStore(t)
	s := h.space("a", "plain")
	limits := StreamLimits{Entries: 640, Age: time.Hour}
	for n := range uint64(2000) {
		info := appendTo(t, s, "s", limits, "x")
		require.Equal(t, n+1, info.Last)
		require.Equal(t, max(int(n)+2, 641)-640, int(info.First))
		require.Less(t, h.count(ShapeEntry), 640+10)
		require.Equal(t, 1, h.count(ShapeDue), "armed once, not with each entry")
	}
	list, err := s.Entries(ctx, "s", 0, MaxPage)
	require.NoError(t, err)
	require.Len(t, list, 640)
	require.EqualValues(t, 1361, list[0].Number)
	back, err := s.now().EntriesBack(ctx, "s", 0, MaxPage)
	require.NoError(t, err)
	slices.Reverse(back)
	require.Equal(t, list, back)
	// More than a batch adds go as a range; what is left is as exact.
	appendTo(t, s, "s", limits, slices.Repeat([]string{"y"}, 5000)...)
	list, err = s.Entries(ctx, "s", 0, MaxPage)
	require.NoError(t, err)
	require.Len(t, list, 640)
	require.EqualValues(t, 7000, list[639].Number)
	h.sound()
}

// Entries that were too many for limits stay gone when others hold.
func TestEntriesThatAreGoneDoNotComeBackWithNewLimits(t *testing.T) {
	h := newTestStore(t)
	s := h.space("a", "plain")
	for range 200 {
		appendTo(t, s, "s", StreamLimits{Entries: 128}, "x")
	}
	require.EqualValues(t, 73, appendTo(t, s, "s", StreamLimits{}, "x").First)
	h.sound()
}

func TestTimesOfEntriesDoNotGoBack(t *testing.T) {
	h := newTestStore(t)
	first := appendTo(t, h.space("a", "plain"), "s", StreamLimits{Age: time.Hour}, "1")
	h.clock.Set(-10 * time.Minute)
	h = h.reopen()
	s := h.space("a", "plain")
	require.Equal(t, first.Newest, appendTo(t, s, "s", StreamLimits{Age: time.Hour}, "2").Newest)
	h.clock.Pass(11 * time.Minute)
	require.Equal(t, first.Newest.Add(time.Minute), appendTo(t, s, "s", StreamLimits{Age: time.Hour}, "3").Newest)
	h.sound()
}

func TestAnEntryByItsNumber(t *testing.T) {
	h := newTestStore(t)
	s := h.space("a", "plain")
	appendTo(t, s, "s", StreamLimits{}, "1", "2")
	e, err := s.now().Entry("s", 2)
	require.NoError(t, err)
	require.Equal(t, Entry{2, h.Now(), []byte("2")}, e)
	_, err = s.now().Entry("s", 3)
	require.ErrorIs(t, err, ErrTrimmed)
}

func TestAwaitLooksOnceAndAfterEachChange(t *testing.T) {
	h := newTestStore(t)
	s := h.space("a", "plain")
	look := func(found *int, enough int) func() (bool, error) {
		return func() (bool, error) {
			list, err := s.Entries(ctx, "s", 0, 0)
			*found = len(list)
			return *found >= enough, err
		}
	}
	var found int
	require.NoError(t, s.Await(ctx, h.Now(), look(&found, 1)), "the moment is now")
	require.Zero(t, found)
	done := make(chan error)
	go func() { done <- s.Await(ctx, h.Now().Add(time.Hour), look(&found, 2)) }()
	appendTo(t, s, "s", StreamLimits{}, "1")
	appendTo(t, s, "s", StreamLimits{}, "2")
	require.NoError(t, <-done)
	require.Equal(t, 2, found)
	// Nothing comes until the moment does, which is rounded up to a millisecond.
	go func() { done <- s.Await(ctx, h.Now().Add(1500*time.Microsecond), look(&found, 3)) }()
	require.True(t, h.clock.Until(func() bool {
		select {
		case err := <-done:
			require.NoError(t, err)
			return true
		default:
			return false
		}
	}))
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, s.Await(cancelled, time.Time{}, look(&found, 3)), context.Canceled)
	go func() { done <- s.Await(ctx, time.Time{}, look(&found, 3)) }()
	_, err := h.DropTenant(ctx, "a")
	require.NoError(t, err)
	require.ErrorIs(t, <-done, ErrSpaceNotFound)
}

// Limits hold from when they are set, whether something has been added or not.
func TestAStreamIsLimitedWithoutAnEntry(t *testing.T) {
	h := newTestStore(t)
	s := h.space("a", "plain")
	limit := func(limits StreamLimits) (info StreamInfo) {
		require.NoError(t, s.Update(ctx, engine.WAL, func(tx *Tx) (err error) {
			info, err = tx.LimitStream("s", limits)
			return err
		}))
		return info
	}
	limits := StreamLimits{Entries: 5}
	require.Equal(t, limits, limit(limits).Limits)
	info, err := s.now().Stream("s")
	require.NoError(t, err)
	require.Equal(t, limits, info.Limits)
	require.EqualValues(t, 1, info.First)
	h.sound()
	appendTo(t, s, "s", limits, "1", "2", "3", "4", "5", "6")
	require.EqualValues(t, 2, limit(limits).First)
	require.EqualValues(t, 5, limit(StreamLimits{Entries: 2}).First)
	require.Equal(t, 2, h.count(ShapeEntry))
	h.clock.Oversleep(time.Hour)
	require.EqualValues(t, 7, limit(StreamLimits{Age: time.Hour}).First)
	require.Zero(t, h.count(ShapeDue))
	require.NoError(t, s.Update(ctx, engine.WAL, func(tx *Tx) error {
		_, err := tx.LimitStream("s", StreamLimits{Age: time.Microsecond})
		require.ErrorIs(t, err, ErrInvalidArgument)
		_, err = tx.AppendAll("s", StreamLimits{Age: -1})
		require.ErrorIs(t, err, ErrInvalidArgument)
		return nil
	}))
	h.sound()
}

func TestATransactionReadsEntries(t *testing.T) {
	h := newTestStore(t)
	s := h.space("a", "plain")
	limits := StreamLimits{Age: time.Minute}
	appendTo(t, s, "s", limits, "1")
	h.clock.Oversleep(30 * time.Second)
	appendTo(t, s, "s", limits, "2")
	h.clock.Oversleep(30 * time.Second)
	require.NoError(t, s.Update(ctx, engine.WAL, func(tx *Tx) error {
		first, err := tx.FirstEntry("s")
		require.NoError(t, err)
		require.EqualValues(t, 2, first)
		e, err := tx.Entry("s", 2)
		require.NoError(t, err)
		require.Equal(t, "2", string(e.Payload))
		for _, n := range []uint64{1, 3} { // too old, and not there yet
			_, err := tx.Entry("s", n)
			require.ErrorIs(t, err, ErrTrimmed)
		}
		return nil
	}))
}

// An acknowledgement wakes nobody by itself.
func TestWhoAwaitsASpaceIsWokenByATransaction(t *testing.T) {
	h := newTestStore(t)
	s := h.space("a", "plain")
	appendTo(t, s, "s", StreamLimits{}, "1")
	group := func(fn func(tx *Tx) error) { require.NoError(t, s.Update(ctx, engine.WAL, fn)) }
	group(func(tx *Tx) error { _, err := tx.CreateGroup("s", "g", 0); return err })
	group(func(tx *Tx) error { _, err := tx.Deliver("s", "g", "c", 1); return err })
	looked, done := make(chan bool, 1), make(chan error)
	go func() {
		done <- s.Await(ctx, time.Time{}, func() (bool, error) {
			info, err := s.now().Group("s", "g")
			select {
			case looked <- true:
			default:
			}
			return info.Pending == 0, err
		})
	}()
	<-looked
	group(func(tx *Tx) error { tx.Wake(); _, err := tx.Acknowledge("s", "g", 1); return err })
	require.NoError(t, <-done)
}
