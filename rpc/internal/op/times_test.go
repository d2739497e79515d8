package op

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTimesAreWholeMillisecondsAndNoneIsZero(t *testing.T) {
	for ms, of := range map[uint64]time.Time{0: {}, 1: time.Unix(-5, 0), 1500: time.UnixMicro(1_499_001), 2000: time.Unix(2, 0)} {
		require.Equal(t, ms, Millis(of))
	}
	require.Equal(t, time.UnixMilli(1500).UTC(), Time(1500))
	require.True(t, Time(0).IsZero())
}

func TestDurationsAreRoundedUpAndHaveAnEnd(t *testing.T) {
	for d, ms := range map[time.Duration]uint64{-1: math.MaxUint64, 0: 0, 1: 1, time.Millisecond: 1, time.Millisecond + 1: 2, time.Hour: 3_600_000, math.MaxInt64: math.MaxInt64/1_000_000 + 1} {
		require.Equal(t, ms, InMs(d))
	}
	require.Equal(t, time.Minute, FromMs(60_000))
	require.Greater(t, FromMs(math.MaxUint64), 290*365*24*time.Hour)
}
