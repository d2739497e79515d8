package record

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ID says what the ids of a collection are.
type ID struct {
	Field  string `json:"field"` // of the document, at its top
	Kind   string `json:"kind"`  // given, dated or daily
	Prefix string `json:"prefix"`
	// Pattern is the regular expression of an id, in place of that of its kind. A colon
	// is never in one.
	Pattern string `json:"pattern"`

	pattern string            // the regular expression
	matches func(string) bool // whether a text matches it
}

// The kinds of ids.
const (
	idGiven = "given" // by the caller
	idDated = "dated" // prefix-YYYYMMDD-xxxxxx: made at random if the caller gives none
	idDaily = "daily" // prefix-YYYYMMDD-NNNNNN: counted within the day, by the store alone
)

// dayLayout is how a day is written in ids.
const dayLayout = "20060102"

// maxID is how many bytes an id has at most.
const maxID = 128

// anyID is the pattern of ids for which nothing else is declared.
const anyID = `^[A-Za-z0-9_][A-Za-z0-9_.-]*$`

var idPrefix = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z]{1,16}$`) })

func (d *ID) compile() *Error {
	if d.Field == "" || strings.Contains(d.Field, ".") {
		return invalid("id.field", "the id is a field at the top of the document")
	}
	if d.Kind != idGiven && !idPrefix().MatchString(d.Prefix) {
		return invalid("id.prefix", "ids of this kind begin with %s", idPrefix())
	}
	pattern := d.Pattern
	switch d.Kind {
	case idGiven:
	case idDated:
		if pattern == "" {
			pattern = `^` + d.Prefix + `-\d{8}-[a-z0-9]{6}$`
		}
	case idDaily:
		if pattern != "" {
			return invalid("id.pattern", "daily ids have a form of their own")
		}
		pattern = `^` + d.Prefix + `-\d{8}-(\d{6}|[1-9]\d{6,17})$`
	default:
		return invalid("id.kind", "the kinds are %s, %s and %s", idGiven, idDated, idDaily)
	}
	if pattern == "" {
		pattern = anyID
	}
	m, err := newMatcher(pattern)
	if err != nil {
		return invalid("id.pattern", "%s", err)
	}
	d.pattern, d.matches = pattern, m.matches
	if d.Kind == idDaily {
		d.matches = d.isDaily
	}
	return nil
}

// isDaily reports whether a text matches the pattern of daily ids.
func (d *ID) isDaily(id string) bool {
	rest, ok := strings.CutPrefix(id, d.Prefix+"-")
	if !ok || len(rest) < 9 || rest[8] != '-' || !digits(rest[:8]) {
		return false
	}
	n := len(rest) - 9
	return digits(rest[9:]) && (n == 6 || n > 6 && n <= 18 && rest[9] != '0')
}

func digits(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return true
}

// fits reports whether a text may be an id of the collection.
func (d *ID) fits(id string) bool {
	return id != "" && len(id) <= maxID && !strings.ContainsAny(id, ":\x00") && d.matches(id)
}

// dated makes an id of a day.
func (d *ID) dated(day time.Time, random io.Reader) (string, error) {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	id := fmt.Appendf(nil, "%s-%s-", d.Prefix, day.Format(dayLayout))
	for b := make([]byte, 1); len(id) < len(d.Prefix)+1+8+1+6; {
		if _, err := io.ReadFull(random, b); err != nil {
			return "", fmt.Errorf("record: no randomness for an id: %w", err)
		}
		if most := 256 / len(letters) * len(letters); int(b[0]) < most { // each letter as likely
			id = append(id, letters[int(b[0])%len(letters)])
		}
	}
	return string(id), nil
}

// daily is the n-th id of a day.
func (d *ID) daily(day string, n uint64) string { return fmt.Sprintf("%s-%s-%06d", d.Prefix, day, n) }

// ofDay is what the daily ids of a day begin with, and the keys of their rows.
func (d *ID) ofDay(day time.Time) string { return d.Prefix + "-" + day.Format(dayLayout) + "-" }

// number is the day and the number of a daily id that fits.
func (d *ID) number(id string) (day string, n uint64) {
	rest := id[len(d.Prefix)+1:]
	n, _ = strconv.ParseUint(rest[9:], 10, 64) // the pattern has seen to it
	return rest[:8], n
}

// Keys of rows are ids; a daily id has the count of its digits before them, so that
// rows stand in order of the numbers. How many ids a day has been given is kept under
// counterName and the day.
const counterName = "counter:"

// key is the key of a record's row.
func (d *ID) key(id string) []byte {
	if d.Kind != idDaily {
		return []byte(id)
	}
	at := len(d.Prefix) + 10
	return append(append([]byte(id[:at]), byte(len(id)-at)), id[at:]...)
}

// of is the id of the record of a row.
func (d *ID) of(key []byte) string {
	at := len(d.Prefix) + 10
	if d.Kind != idDaily || len(key) <= at {
		return string(key)
	}
	return string(key[:at]) + string(key[at+1:])
}
