package op

import (
	"math"
	"time"
)

var (
	_ = Pair(func(t *time.Time) uint64 { return Millis(*t) }, Always(Time))
	_ = Pair(func(d *time.Duration) uint64 { return InMs(*d) }, Always(FromMs))
)

// Millis returns the first millisecond since 1970 that is not before a time. The zero Time,
// which is none, is 0, and no other is.
func Millis(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(max(t.Add(time.Millisecond-1).UnixMilli(), 1))
}

// Time returns the time of a millisecond since 1970; 0 is the zero Time.
func Time(ms uint64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms)).UTC()
}

// InMs returns a duration in ms, rounded up. What is negative is more than any duration may
// be, which the daemon refuses unless who calls has before.
func InMs(d time.Duration) uint64 {
	if d < 0 {
		return math.MaxUint64
	}
	ms := d / time.Millisecond
	if d%time.Millisecond > 0 {
		ms++
	}
	return uint64(ms)
}

// FromMs returns a duration of so many ms, or the longest.
func FromMs(ms uint64) time.Duration {
	const longest = uint64(1<<63-1) / uint64(time.Millisecond)
	return time.Duration(min(ms, longest)) * time.Millisecond
}
