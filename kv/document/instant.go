package document

import (
	"errors"
	"time"
)

// isInstant reports whether a text looks like an instant: ISO 8601 as RFC 3339 has it, with
// an offset of any amount.
func isInstant(text string) bool {
	rest, ok := shaped(text, "0000-00-00T00:00:00")
	if ok && rest != "" && rest[0] == '.' {
		n := 1
		for n < len(rest) && n <= 9 && isDigit(rest[n]) {
			n++
		}
		rest, ok = rest[n:], n > 1
	}
	if !ok || rest == "" || rest == "Z" {
		return ok && rest == "Z"
	}
	if rest[0] != '+' && rest[0] != '-' {
		return false
	}
	rest, ok = shaped(rest[1:], "00:00")
	return ok && rest == ""
}

// shaped returns what follows a shape in a text, in which 0 is any digit; false if the
// text does not begin with it.
func shaped(text, shape string) (rest string, ok bool) {
	if len(text) < len(shape) {
		return "", false
	}
	for i := range len(shape) {
		if shape[i] != text[i] && !(shape[i] == '0' && isDigit(text[i])) {
			return "", false
		}
	}
	return text[len(shape):], true
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

// ErrInstant is returned for a text that is no instant.
var ErrInstant = errors.New("not an instant: write it as 2025-11-30T12:00:00Z, or with an offset as 2025-11-30T14:00:00.250+02:00")

// ParseInstant returns the moment that a text of ISO 8601 names, in UTC: a date, a time
// with up to nine digits behind the second, and Z or an offset. It returns ErrInstant
// for anything else, and for what is not in the years 0000 to 9999 of UTC.
func ParseInstant(text string) (time.Time, error) {
	if !isInstant(text) {
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
