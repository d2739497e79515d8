package hlc

import "time"

// NTP64 is a point in time as [codec.HybridTimestamp] has it: seconds since 1970
// in the upper 32 bits, and fractions of a second, in units of 2^-32 s, in the
// lower. In stamps the lowest 16 bits are a logical counter, so that physical
// time advances in steps of 2^-16 s, about 15 µs.
type NTP64 uint64

// counterMask covers the logical counter of a stamp.
const counterMask NTP64 = 1<<16 - 1

// second is one second.
const second NTP64 = 1 << 32

// ToNTP64 returns t, rounded down to 2^-32 s. Times before 1970 become 0, times
// after the year 2105, which have no form, the greatest.
func ToNTP64(t time.Time) NTP64 {
	s := t.Unix()
	switch {
	case s < 0:
		return 0
	case s >= 1<<32:
		return ^NTP64(0)
	}
	return NTP64(s)<<32 | NTP64(uint64(t.Nanosecond())<<32/1e9)
}

// Time returns t in UTC, rounded down to a nanosecond.
func (t NTP64) Time() time.Time {
	return time.Unix(int64(t>>32), int64(uint64(t&(second-1))*1e9>>32)).UTC()
}

// Sub returns t-u, rounded up to a nanosecond; 0 if u is not before t.
func (t NTP64) Sub(u NTP64) time.Duration {
	if u >= t {
		return 0
	}
	d := t - u
	fraction := (uint64(d&(second-1))*1e9 + 1<<32 - 1) >> 32
	return time.Duration(d>>32)*time.Second + time.Duration(fraction)
}

// Latest returns the latest stamp that has the physical time of t: its counter is full.
func (t NTP64) Latest() NTP64 { return t | counterMask }

// add returns t+d; the greatest time where that has no form.
func (t NTP64) add(d NTP64) NTP64 {
	if sum := t + d; sum >= t {
		return sum
	}
	return ^NTP64(0)
}
