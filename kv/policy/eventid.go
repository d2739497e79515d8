package policy

import (
	"cmp"
	"strconv"
	"strings"
	"time"
)

// EventID is the place of an event in the ledger: its day, and how many of that
// day it is. The zero EventID is before all others.
type EventID struct {
	Day    string // YYYYMMDD, of UTC
	Number uint64 // from 1 on
}

// dayLayout is how a day is written in ids.
const dayLayout = "20060102"

// ParseEventID returns the id that a text is: evt-YYYYMMDD-NNNNNN, with six digits
// or as many more as the number needs.
func ParseEventID(text string) (EventID, bool) {
	day, digits, _ := strings.Cut(strings.TrimPrefix(text, "evt-"), "-")
	number, err := strconv.ParseUint(digits, 10, 64)
	id := EventID{day, number}
	var room [40]byte
	if err != nil || number == 0 || !isDay(day) || string(id.append(room[:0])) != text {
		return EventID{}, false
	}
	return id, true
}

// isDay reports whether a text is a day as dayLayout has it. One is asked about with each
// event that is appended, while other writes wait.
func isDay(text string) bool {
	var n [8]int
	if len(text) != len(n) {
		return false
	}
	for i := range n {
		if n[i] = int(text[i]) - '0'; n[i] < 0 || n[i] > 9 {
			return false
		}
	}
	year, month, day := 1000*n[0]+100*n[1]+10*n[2]+n[3], 10*n[4]+n[5], 10*n[6]+n[7]
	y, m, d := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Date()
	return y == year && int(m) == month && d == day
}

// String is the id as events have it.
func (id EventID) String() string { return string(id.append(nil)) }

func (id EventID) append(dst []byte) []byte {
	dst = append(append(append(dst, "evt-"...), id.Day...), '-')
	for least := uint64(100_000); least > max(id.Number, 1); least /= 10 { // six digits at least
		dst = append(dst, '0')
	}
	return strconv.AppendUint(dst, id.Number, 10)
}

// Compare orders ids as the events were appended.
func (id EventID) Compare(other EventID) int {
	return cmp.Or(cmp.Compare(id.Day, other.Day), cmp.Compare(id.Number, other.Number))
}

// follows reports whether id may come right after other.
func (id EventID) follows(other EventID) bool {
	next := uint64(1)
	if id.Day == other.Day {
		next = other.Number + 1
	}
	return id.Day >= other.Day && id.Number == next
}
