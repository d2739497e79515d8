package hlc

import (
	"time"
)

// Uptime is a clock that nobody sets: it counts what has passed since some moment,
// also while the machine sleeps. The physical clock is held against it.
type Uptime struct {
	// Boot says from what moment Elapsed counts: two readings with one Boot may be
	// subtracted, by whatever process they were made.
	Boot [16]byte
	// Elapsed is what has passed since that moment. It never goes back.
	Elapsed func() time.Duration
}
