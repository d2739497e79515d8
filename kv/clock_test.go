package kv

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stoadb/stoa/kv/kvtest"
)

func TestTimeNeverGoesBackAndNeverStandsStill(t *testing.T) {
	h := kvtest.New()
	line := timeline{clock: h}
	line.begin(0)
	start := line.now()
	require.Equal(t, uint64(h.Now().UnixMilli()), start)
	h.Set(-10 * time.Minute)
	require.Equal(t, start, line.now())
	h.Pass(2 * time.Second)
	require.Equal(t, start+2000, line.now(), "it goes on at the rate of the clock")
	h.Set(20 * time.Minute)
	require.Equal(t, uint64(h.Now().UnixMilli()), line.now(), "it follows a clock that is ahead")

	later := timeline{clock: h}
	later.begin(start + 1<<40)
	require.Equal(t, start+1<<40, later.now(), "nor does it go back across a restart")
	later.begin(^uint64(0))
	require.NotZero(t, later.now())
}

// slowClock is a clock whose reader is held up at every reading.
type slowClock struct {
	*kvtest.Clock
	by time.Duration
}

func (c *slowClock) Now() time.Time { defer c.Pass(c.by); return c.Clock.Now() }

func (c *slowClock) Elapsed() time.Duration { defer c.Pass(c.by); return c.Clock.Elapsed() }

func TestTimeIsNotCountedTwice(t *testing.T) {
	h := &slowClock{kvtest.New(), 0}
	line := timeline{clock: h}
	line.begin(0)
	h.by = time.Second
	line.now()
	h.by = 0
	require.LessOrEqual(t, line.now(), uint64(h.Now().UnixMilli()))
}

func TestNothingExpiresEarly(t *testing.T) {
	require.Equal(t, uint64(1000+1+2000), after(1000, 2*time.Second), "now was rounded down by up to a millisecond")
	require.Equal(t, uint64(1000+1+1), after(1000, time.Nanosecond))
}
