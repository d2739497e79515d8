package subject

import (
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// IDs makes ULIDs, each of which is after all that it has made before. Any number of
// goroutines may use it at once.
type IDs struct {
	mu      sync.Mutex
	entropy *ulid.MonotonicEntropy
	last    uint64 // the ms of the last one
}

// NewIDs returns what makes ULIDs of a source of random bytes, which is crypto/rand.Reader
// but in tests.
func NewIDs(random io.Reader) *IDs { return &IDs{entropy: ulid.Monotonic(random, 0)} }

// New returns a new ULID of a time, in its 26 characters. Those of one millisecond count up
// from a random number; one of a time before that of the last has the time of the last. It returns
// ErrULID for a time before 1970 or after 10889, and an error of the source of random bytes.
func (ids *IDs) New(at time.Time) (string, error) {
	ms := uint64(at.UnixMilli())
	if ms > ulid.MaxTime() { // so is one before 1970
		return "", refuse(KindULID, 0, "a ULID has a time from 1970 to 10889")
	}
	ids.mu.Lock()
	defer ids.mu.Unlock()
	for ids.last = max(ids.last, ms); ; ids.last++ {
		id, err := ulid.New(ids.last, ids.entropy)
		if errors.Is(err, ulid.ErrMonotonicOverflow) {
			continue // nothing is left of this millisecond
		}
		if err != nil {
			return "", err
		}
		return id.String(), nil
	}
}

// ParseULID returns the time of a ULID. It returns ErrULID unless a text is one in the 26
// characters of upper case that [IDs.New] makes.
func ParseULID(text string) (time.Time, error) {
	if len(text) != ulid.EncodedSize {
		return time.Time{}, refuse(KindULID, min(len(text), ulid.EncodedSize), "a ULID has %d characters, this has %d", ulid.EncodedSize, len(text))
	}
	for i := range len(text) {
		if !strings.Contains(ulid.Encoding, text[i:i+1]) {
			return time.Time{}, refuse(KindULID, i, "a ULID has no %s: it is in Crockford's base 32, which is digits, and letters of upper case but I, L, O and U", character(text, i))
		}
	}
	id, err := ulid.ParseStrict(text)
	if err != nil {
		return time.Time{}, refuse(KindULID, 0, "the last ULID is 7ZZZZZZZZZZZZZZZZZZZZZZZZZ")
	}
	return id.Timestamp().UTC(), nil
}
