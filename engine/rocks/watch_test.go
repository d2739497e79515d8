//go:build linux && cgo

package rocks

import (
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/engine"
)

// What computes on and on without touching a file is given up, and what it returns
// after all is given back.
func TestAnOpeningThatDoesNotEndIsGivenUp(t *testing.T) {
	t.Parallel()
	var stop atomic.Bool
	dropped := make(chan int, 1)
	_, err := watched("dir", 50*time.Millisecond, time.Millisecond, func() (int, error) {
		for !stop.Load() {
		}
		return 7, nil
	}, func(n int) { dropped <- n })
	require.ErrorIs(t, err, engine.ErrCorrupt)
	require.ErrorIs(t, err, errStuck)
	require.ErrorContains(t, err, "stoa salvage dir NEW")
	stop.Store(true)
	require.Equal(t, 7, <-dropped)
}

// A long opening reads as it goes.
func TestAnOpeningThatReadsIsNotGivenUp(t *testing.T) {
	t.Parallel()
	const limit = 100 * time.Millisecond
	f, err := os.Open("/dev/zero")
	require.NoError(t, err)
	defer f.Close()
	n, err := watched("dir", limit, time.Millisecond, func() (int, error) {
		m := meterOfThisThread()
		for b := make([]byte, 1); ; {
			if _, err := f.Read(b); err != nil {
				return 0, err
			}
			if used, _, ok := m.read(); ok && used > 3*limit {
				return 7, nil
			}
		}
	}, func(int) {})
	require.NoError(t, err)
	require.Equal(t, 7, n)
}
