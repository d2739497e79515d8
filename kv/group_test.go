package kv

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
)

func TestAGroupThatIsNotThereGivesNothingAway(t *testing.T) {
	h := newTestStore(t)
	s := h.space("a", "plain")
	require.NoError(t, s.Update(ctx, engine.WAL, func(tx *Tx) error {
		_, err := tx.Append("s", []byte("1"), StreamLimits{})
		require.NoError(t, err)
		_, err = tx.Deliver("s", "none", "c", 1)
		require.ErrorIs(t, err, ErrNotFound)
		_, _, err = tx.Claim("s", "none", "c", 0, 1)
		require.ErrorIs(t, err, ErrNotFound)
		_, err = tx.Acknowledge("s", "none", 1)
		require.ErrorIs(t, err, ErrNotFound)
		return nil
	}))
	for _, stream := range []string{"s", "none"} {
		_, _, err := s.ClaimIdle(ctx, engine.WAL, stream, "none", "c", 0, 10)
		require.ErrorIs(t, err, ErrNotFound)
		_, err = s.now().Pending(ctx, stream, "none", 0, 0)
		require.ErrorIs(t, err, ErrNotFound)
	}
}

// Whoever asks for what is behind the last number that there can be is not given the page
// from the beginning again.
func TestNothingIsPendingBehindTheLastNumber(t *testing.T) {
	h := newTestStore(t)
	s := h.space("a", "plain")
	require.NoError(t, s.Update(ctx, engine.WAL, func(tx *Tx) error {
		_, err := tx.Append("s", []byte("1"), StreamLimits{})
		require.NoError(t, err)
		_, err = tx.CreateGroup("s", "g", 0)
		require.NoError(t, err)
		_, err = tx.Deliver("s", "g", "c", 1)
		return err
	}))
	list, err := s.now().Pending(ctx, "s", "g", 0, 0)
	require.NoError(t, err)
	require.Len(t, list, 1)
	list, err = s.now().Pending(ctx, "s", "g", math.MaxUint64, 0)
	require.NoError(t, err)
	require.Empty(t, list)
}

// A page of what is pending has as many entries as were asked for, 100 if nobody said, and
// the next one goes on behind it.
func TestWhatIsPendingComesInPages(t *testing.T) {
	h := newTestStore(t)
	s := h.space("a", "plain")
	const entries = defaultPage + 20
	require.NoError(t, s.Update(ctx, engine.WAL, func(tx *Tx) error {
		_, err := tx.CreateGroup("s", "g", 0)
		require.NoError(t, err)
		for range entries {
			_, err := tx.Append("s", []byte("1"), StreamLimits{})
			require.NoError(t, err)
		}
		_, err = tx.Deliver("s", "g", "c", entries)
		return err
	}))
	for limit, want := range map[int]int{0: defaultPage, 1: 1, entries: entries, MaxPage: entries} {
		list, err := s.now().Pending(ctx, "s", "g", 0, limit)
		require.NoError(t, err)
		require.Len(t, list, want)
		rest, err := s.now().Pending(ctx, "s", "g", list[len(list)-1].Number, MaxPage)
		require.NoError(t, err)
		require.Len(t, rest, entries-want)
	}
	for _, limit := range []int{-1, MaxPage + 1} {
		_, err := s.now().Pending(ctx, "s", "g", 0, limit)
		require.ErrorIs(t, err, ErrInvalidArgument)
	}
}

func TestWhatIsPendingIsSetByWhoGivesEntriesItself(t *testing.T) {
	h := newTestStore(t)
	s := h.space("a", "plain")
	appendTo(t, s, "s", StreamLimits{}, "1", "2")
	p := Pending{Number: 2, Consumer: "7", Since: h.Now().Add(time.Minute), Deliveries: 3}
	require.NoError(t, s.Update(ctx, engine.WAL, func(tx *Tx) error {
		require.ErrorIs(t, tx.SetPending("s", "g", p), ErrNotFound)
		_, err := tx.CreateGroup("s", "g", 0)
		require.NoError(t, err)
		require.NoError(t, tx.SetPending("s", "g", Pending{Number: 2, Consumer: "6"}))
		require.NoError(t, tx.SetPending("s", "g", p), "once more")
		for _, bad := range []Pending{{Number: 3, Consumer: "7"}, {Consumer: "7"}, {Number: 1}} {
			require.ErrorIs(t, tx.SetPending("s", "g", bad), ErrInvalidArgument)
		}
		got, err := tx.Pending("s", "g", 2)
		require.NoError(t, err)
		require.Equal(t, p, got)
		_, err = tx.Pending("s", "g", 1)
		require.ErrorIs(t, err, ErrNotFound)
		return nil
	}))
	info, err := s.now().Group("s", "g")
	require.NoError(t, err)
	require.Equal(t, GroupInfo{Pending: 1}, info)
	h.sound()
}
