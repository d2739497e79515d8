package kv

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
)

func TestAGroupThatIsNotThereGivesNothingAway(t *testing.T) {
	h := newHouse(t)
	s := h.space("a", "plain")
	require.NoError(t, s.Update(ctx, engine.WAL, func(tx *Tx) error {
		_, err := tx.Append("s", []byte("1"), StreamLimits{})
		require.NoError(t, err)
		_, err = tx.Deliver("s", "none", "c", 1)
		require.ErrorIs(t, err, ErrNotFound)
		_, err = tx.Claim("s", "none", "c", 0, 1)
		require.ErrorIs(t, err, ErrNotFound)
		_, err = tx.Acknowledge("s", "none", 1)
		require.ErrorIs(t, err, ErrNotFound)
		return nil
	}))
	for _, stream := range []string{"s", "none"} {
		_, err := s.ClaimIdle(ctx, engine.WAL, stream, "none", "c", 0, 10)
		require.ErrorIs(t, err, ErrNotFound)
		_, err = s.now().Pending(ctx, stream, "none", 0, 0)
		require.ErrorIs(t, err, ErrNotFound)
	}
}
