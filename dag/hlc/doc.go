// Package hlc is the hybrid logical clock of a node: it makes stamps that increase
// strictly, whatever the physical clock does and however often the process ends, and
// that come after every stamp of another node that it has observed.
//
// Start at [Open] and [Clock.Stamp]. [NTP64] is the time in a stamp. [Clock.State]
// says what the clock is held against, and [Clock.Confirm] ends a jump of the physical
// clock. README.md defines stamps, limits and rows.
package hlc
