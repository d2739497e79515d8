package document

import (
	"errors"
	"regexp"
	"time"
)

// isInstant is what an instant looks like: ISO 8601 as RFC 3339 has it, with an offset
// of any amount.
var isInstant = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$`)

// ErrInstant is returned for a text that is no instant.
var ErrInstant = errors.New("not an instant: write it as 2025-11-30T12:00:00Z, or with an offset as 2025-11-30T14:00:00.250+02:00")

// ParseInstant returns the moment that a text of ISO 8601 names, in UTC: a date, a time
// with up to nine digits behind the second, and Z or an offset. It returns ErrInstant
// for anything else, and for what is not in the years 0000 to 9999 of UTC.
func ParseInstant(text string) (time.Time, error) {
	if !isInstant.MatchString(text) {
		return time.Time{}, ErrInstant
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if t = t.UTC(); err != nil || t.Year() < 0 || t.Year() > 9999 {
		return time.Time{}, ErrInstant
	}
	return t, nil
}

// FormatInstant returns the one form in which an instant is kept: in UTC with Z, and
// no more digits behind the second than it needs.
func FormatInstant(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
