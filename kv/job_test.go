package kv

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
)

// A job may be due later than there are moments, and is still one that is read, replaced
// and cancelled.
func TestAJobIsDueByTheLastMomentThatThereIs(t *testing.T) {
	h := newTestStore(t)
	s := h.space("tenant", "words")
	for _, at := range []time.Time{time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC), timeOf(maxTime), time.Unix(-5, 0)} {
		for range 2 {
			require.NoError(t, s.Update(ctx, engine.Synced, func(tx *Tx) error { return tx.Schedule("later", at, nil) }), at)
		}
		h.sound()
	}
	require.NoError(t, s.Update(ctx, engine.Synced, func(tx *Tx) error {
		_, err := tx.Cancel("later")
		return err
	}))
}
